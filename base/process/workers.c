/* Runs are queued; an idle thread takes the next index of the first run. */
#include "base/process/workers.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/process/lock.h"
#include "base/mem.h"

#define WORKERS_MAGIC FOURCC('W', 'R', 'K', 'S')

struct run {
    struct run *next;
    void (*f)(void *ctx, size_t i);
    void *ctx;
    size_t len;
    size_t taken;
    size_t done;
};

struct workers {
    uint32_t magic;
    struct lock lock;
    struct cond work;                  /* a run was queued, or all stop */
    struct cond done;                  /* a run may be complete */
    struct run *runs GUARDED_BY(lock); /* those with indexes left */
    bool stopping GUARDED_BY(lock);
    pthread_t *threads;
    size_t threads_len;
};

/* Takes one index of 'r' and runs it without the lock; others are woken without
 * it too, as they would wait for it.  True: the run is complete. */
static bool
step(struct workers *w, struct run *r, size_t wanted) REQUIRES(w->lock)
{
    size_t i = r->taken++;

    if (r->taken == r->len) {
        struct run **at = &w->runs;

        while (*at != r)
            at = &(*at)->next;
        *at = r->next;
    }
    lock_drop(&w->lock);
    if (wanted == 1)
        cond_signal(&w->work);
    else if (wanted > 1)
        cond_broadcast(&w->work);
    r->f(r->ctx, i);
    lock_take(&w->lock);
    return ++r->done == r->len;
}

/* One index of the first run; who waits for the run is told when it was the
 * last one. */
static void
help(struct workers *w) REQUIRES(w->lock)
{
    if (!step(w, w->runs, 0))
        return;
    lock_drop(&w->lock);
    cond_broadcast(&w->done);
    lock_take(&w->lock);
}

static void *
worker(void *arg)
{
    struct workers *w = arg;

    lock_take(&w->lock);
    for (;;) {
        if (w->runs != NULL)
            help(w);
        else if (w->stopping)
            break;
        else
            cond_wait(&w->work, &w->lock);
    }
    lock_drop(&w->lock);
    return NULL;
}

struct workers *
workers_new(size_t threads)
{
    struct workers *w = mem_new(sizeof *w);

    w->magic = WORKERS_MAGIC;
    lock_init(&w->lock);
    cond_init(&w->work);
    cond_init(&w->done);
    w->threads = mem_new_array(threads, sizeof *w->threads);
    /* Fewer threads than asked for still do all the work. */
    while (w->threads_len < threads &&
           pthread_create(&w->threads[w->threads_len], NULL, worker, w) == 0)
        w->threads_len++;
    return w;
}

void
workers_free(struct workers **wp)
{
    struct workers *w = OBJ_TAKE(wp, WORKERS_MAGIC);

    if (w == NULL)
        return;
    lock_take(&w->lock);
    w->stopping = true;
    cond_broadcast(&w->work);
    lock_drop(&w->lock);
    for (size_t i = 0; i < w->threads_len; i++)
        INSIST(pthread_join(w->threads[i], NULL) == 0);
    cond_fini(&w->done);
    cond_fini(&w->work);
    lock_fini(&w->lock);
    free(w->threads);
    OBJ_FREE(w);
}

void
workers_run(struct workers *w, size_t len, void (*f)(void *ctx, size_t i),
            void *ctx)
{
    struct run r = { .f = f, .ctx = ctx, .len = len };
    struct run **at;
    size_t wanted;

    OBJ_CHECK(w, WORKERS_MAGIC);
    if (len == 1)
        f(ctx, 0);
    if (len <= 1)
        return;
    lock_take(&w->lock);
    for (at = &w->runs; *at != NULL; at = &(*at)->next)
        continue;
    *at = &r;
    wanted = len - 1 < w->threads_len ? len - 1 : w->threads_len;
    for (; r.taken < r.len; wanted = 0)
        (void)step(w, &r, wanted);
    while (r.done < r.len)
        cond_wait(&w->done, &w->lock);
    lock_drop(&w->lock);
}
