#include "tsd/forget.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/process/lock.h"
#include "base/process/signals.h"
#include "base/process/thread.h"
#include "tsd/put/put.h"

#define FORGETTING_MAGIC FOURCC('F', 'O', 'R', 'G')

#define LOOK_EVERY_MS 2000
#define WORTH_IT      10000 /* series; the caches of fewer are small */

struct forgetting {
    uint32_t magic;
    const struct api *api;
    struct thread thread;
    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock);
    /* As the store counted when the caches were emptied last. */
    uint64_t forgotten, renumbered;
};

/* When the caches know as many series that left memory as ones that are still
 * there: then what is read again costs less than was saved.  And when their
 * handles are invalid anyway. */
static bool
is_worth_it(const struct forgetting *f, const struct store_counts *now)
{
    uint64_t idle = now->series_forgotten - f->forgotten;

    return idle >= WORTH_IT && (idle >= now->head_series / 2 ||
                                now->series_renumbered != f->renumbered);
}

static void
empty_caches(struct forgetting *f)
{
    struct store_counts now = store_counts(f->api->store);

    if (!is_worth_it(f, &now))
        return;
    f->forgotten = now.series_forgotten;
    f->renumbered = now.series_renumbered;
    put_path_drop_cache(f->api->put);
    uid_shrink_caches(f->api->uids);
    (void)malloc_trim(0);
}

static bool
wait_for_a_look(struct forgetting *f)
{
    bool stop;

    lock_take(&f->lock);
    if (!f->stopping)
        cond_wait_ms(&f->wake, &f->lock, LOOK_EVERY_MS);
    stop = f->stopping;
    lock_drop(&f->lock);
    return !stop;
}

static void *
forgetting_thread(void *arg)
{
    struct forgetting *f = arg;

    signals_block();
    while (wait_for_a_look(f))
        empty_caches(f);
    return NULL;
}

enum status
forgetting_start(const struct api *a, struct forgetting **out, struct error *e)
{
    struct forgetting *f = mem_new(sizeof *f);
    enum status st;

    f->magic = FORGETTING_MAGIC;
    f->api = a;
    lock_init(&f->lock);
    cond_init(&f->wake);
    *out = f;
    st = thread_start(&f->thread, forgetting_thread, f, "forgetting", e);
    if (st != ST_OK)
        forgetting_stop(out);
    return st;
}

void
forgetting_stop(struct forgetting **ref) NO_TS_CHECK
{
    struct forgetting *f = OBJ_TAKE(ref, FORGETTING_MAGIC);

    if (f == NULL)
        return;
    lock_take(&f->lock);
    f->stopping = true;
    cond_signal(&f->wake);
    lock_drop(&f->lock);
    thread_join(&f->thread);
    cond_fini(&f->wake);
    lock_fini(&f->lock);
    OBJ_FREE(f);
}
