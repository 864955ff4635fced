#include "tsd/forget.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/process/lock.h"
#include "base/process/signals.h"
#include "base/process/thread.h"
#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "storage/store/owners.h"
#include "tsd/put/put.h"
#include "uid/purge/purge.h"

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
    /* The store's counts when the caches were last emptied. */
    uint64_t forgotten, renumbered;
    int64_t purged_us; /* monotonic: when the last purge ended */
    uint64_t dropped;  /* rows that retention had dropped when the last purge
                          that succeeded began */
};

/* Empties the caches if at least half as many series have left memory as are
 * still there, or if the handles in the caches have become invalid.  Emptying
 * costs time, because names that are still sent are looked up again. */
static void
empty_caches(struct forgetting *f)
{
    struct store_counts now = store_counts(f->api->store);
    uint64_t idle = now.series_forgotten - f->forgotten;

    if (idle < WORTH_IT ||
        (idle < now.head_series / 2 && now.series_renumbered == f->renumbered))
        return;
    f->forgotten = now.series_forgotten;
    f->renumbered = now.series_renumbered;
    put_path_drop_cache(f->api->put);
    uid_shrink_caches(f->api->uids);
    mem_give_back();
}

/* -- what is gone ---------------------------------------------------------- */

static bool
is_stopping(void *ctx)
{
    struct forgetting *f = ctx;
    bool stopping;

    lock_take(&f->lock);
    stopping = f->stopping;
    lock_drop(&f->lock);
    return stopping;
}

static void
purge_what_is_gone(struct forgetting *f)
{
    struct purge p = { .cancel = { is_stopping, f } };
    const struct api *a = f->api;
    int64_t every_us = (int64_t)a->settings->purge_interval_ms * 1000;
    uint64_t dropped = counter_get(CNT_RETENTION_ROWS);
    struct error e;

    /* One server of a pool does it for all. */
    if (every_us == 0 || clock_monotonic_us() - f->purged_us < every_us ||
        dropped == f->dropped || a->settings->mode == MODE_RO ||
        !store_bucket_is_local(a->store, 0))
        return;
    if (purge_run(&p, a->series, a->store, a->uids, &e) == ST_OK) {
        f->dropped = dropped;
        log_info("purge",
                 "removed %llu of %llu series, %llu metrics, %llu tag keys and "
                 "%llu tag values that have no points any more",
                 (unsigned long long)p.forgotten,
                 (unsigned long long)p.looked_at,
                 (unsigned long long)p.names[UID_METRIC],
                 (unsigned long long)p.names[UID_TAGK],
                 (unsigned long long)p.names[UID_TAGV]);
    } else if (!is_stopping(f)) {
        log_warn("purge",
                 "removing series without points stopped after %llu series; "
                 "the others stay until the next attempt, in "
                 "halite.purge.interval_ms: %s",
                 (unsigned long long)p.forgotten, e.text);
    }
    f->purged_us = clock_monotonic_us();
}

static void *
forgetting_thread(void *arg)
{
    struct forgetting *f = arg;

    signals_block();
    for (;;) {
        lock_take(&f->lock);
        if (!f->stopping)
            cond_wait_ms(&f->wake, &f->lock, LOOK_EVERY_MS);
        lock_drop(&f->lock);
        if (is_stopping(f))
            return NULL;
        empty_caches(f);
        purge_what_is_gone(f);
    }
}

enum status
forgetting_start(const struct api *a, struct forgetting **out, struct error *e)
{
    struct forgetting *f = mem_new(sizeof *f);
    enum status st;

    f->magic = FORGETTING_MAGIC;
    f->api = a;
    f->purged_us = clock_monotonic_us();
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
