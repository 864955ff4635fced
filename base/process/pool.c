/* Runs are queued; an idle thread takes the next index of the first run. */
#include "base/process/pool.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/process/lock.h"
#include "base/mem.h"

#define POOL_MAGIC FOURCC('P', 'O', 'O', 'L')

struct run {
    struct run *next;
    void (*f)(void *ctx, size_t i);
    void *ctx;
    size_t len;
    size_t taken;
    size_t done;
};

struct pool {
    uint32_t magic;
    struct lock lock;
    struct cond work;                  /* a run was queued, or the pool stops */
    struct cond done;                  /* a run may be complete */
    struct run *runs GUARDED_BY(lock); /* those with indexes left */
    bool stopping GUARDED_BY(lock);
    pthread_t *threads;
    size_t threads_len;
};

/* Takes one index of 'r' and runs it without the lock; others are woken without
 * it too, as they would wait for it.  True: the run is complete. */
static bool
step(struct pool *p, struct run *r, size_t wanted) REQUIRES(p->lock)
{
    size_t i = r->taken++;

    if (r->taken == r->len) {
        struct run **at = &p->runs;

        while (*at != r)
            at = &(*at)->next;
        *at = r->next;
    }
    lock_drop(&p->lock);
    if (wanted == 1)
        cond_signal(&p->work);
    else if (wanted > 1)
        cond_broadcast(&p->work);
    r->f(r->ctx, i);
    lock_take(&p->lock);
    return ++r->done == r->len;
}

/* One index of the first run; who waits for the run is told when it was the
 * last one. */
static void
help(struct pool *p) REQUIRES(p->lock)
{
    if (!step(p, p->runs, 0))
        return;
    lock_drop(&p->lock);
    cond_broadcast(&p->done);
    lock_take(&p->lock);
}

static void *
worker(void *arg)
{
    struct pool *p = arg;

    lock_take(&p->lock);
    for (;;) {
        if (p->runs != NULL)
            help(p);
        else if (p->stopping)
            break;
        else
            cond_wait(&p->work, &p->lock);
    }
    lock_drop(&p->lock);
    return NULL;
}

struct pool *
pool_new(size_t threads)
{
    struct pool *p = mem_new(sizeof *p);

    p->magic = POOL_MAGIC;
    lock_init(&p->lock);
    cond_init(&p->work);
    cond_init(&p->done);
    p->threads = mem_new_array(threads, sizeof *p->threads);
    /* Fewer threads than asked for still do all the work. */
    while (p->threads_len < threads &&
           pthread_create(&p->threads[p->threads_len], NULL, worker, p) == 0)
        p->threads_len++;
    return p;
}

void
pool_free(struct pool **pp)
{
    struct pool *p = OBJ_TAKE(pp, POOL_MAGIC);

    if (p == NULL)
        return;
    lock_take(&p->lock);
    p->stopping = true;
    cond_broadcast(&p->work);
    lock_drop(&p->lock);
    for (size_t i = 0; i < p->threads_len; i++)
        INSIST(pthread_join(p->threads[i], NULL) == 0);
    cond_fini(&p->done);
    cond_fini(&p->work);
    lock_fini(&p->lock);
    free(p->threads);
    OBJ_FREE(p);
}

void
pool_run(struct pool *p, size_t len, void (*f)(void *ctx, size_t i), void *ctx)
{
    struct run r = { .f = f, .ctx = ctx, .len = len };
    struct run **at;
    size_t wanted;

    OBJ_CHECK(p, POOL_MAGIC);
    if (len == 1)
        f(ctx, 0);
    if (len <= 1)
        return;
    lock_take(&p->lock);
    for (at = &p->runs; *at != NULL; at = &(*at)->next)
        continue;
    *at = &r;
    wanted = len - 1 < p->threads_len ? len - 1 : p->threads_len;
    for (; r.taken < r.len; wanted = 0)
        (void)step(p, &r, wanted);
    while (r.done < r.len)
        cond_wait(&p->done, &p->lock);
    lock_drop(&p->lock);
}
