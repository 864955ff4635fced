/* Locks, with clang's thread-safety annotations: a member says which lock
 * guards it, and clang -Wthread-safety checks every access.
 *
 * The order in which locks may be taken, outermost first; a thread holding one
 * may take only those below it:
 *
 *     uid table          assigns ids; held across one WAL append
 *     series refresh     tag-key sets are read again; held across that
 *     series directory   new series; held across one WAL append
 *     records            changes annotations, metadata, trees; held across one
 *                        WAL append
 *     store flush         one flushing, deletion or trim at a time
 *     store late         a batch of rows is dropped, or late points are put
 *     store write        batches: the WAL's order is the engine's
 *     head bucket        rows of one salt bucket
 *     bucket owners      which peer is asked for a salt bucket
 *     peer               a link, and what waits to be sent on it
 *     WAL            the buffer of what is not yet written
 *     kv swap            one swap; held across an engine write
 *     kv LevelDB write   one write at a time
 *     kv memory engine   its map
 *     log                the line being written
 *
 * Others (counters, caches, pools, connection lists) are leaves: no lock is
 * taken while one of them is held.
 *
 * Threads: any. */
#pragma once

#include <pthread.h>

#include "base/obj.h"

#if defined(__clang__)
#define TS_ATTR(x) __attribute__((x))
#else
#define TS_ATTR(x)
#endif

#define CAPABILITY(x) TS_ATTR(capability(x))
/* In C a member's attribute cannot name another member before clang 20 with
 * -fexperimental-late-parse-attributes; until then these are for the reader. */
#if defined(HALITE_LATE_PARSE)
#define GUARDED_BY(x) TS_ATTR(guarded_by(x))
#else
#define GUARDED_BY(x)
#endif
#define REQUIRES(...)        TS_ATTR(requires_capability(__VA_ARGS__))
#define ACQUIRE(...)         TS_ATTR(acquire_capability(__VA_ARGS__))
#define RELEASE(...)         TS_ATTR(release_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) TS_ATTR(requires_shared_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...)  TS_ATTR(acquire_shared_capability(__VA_ARGS__))
#define RELEASE_SHARED(...)  TS_ATTR(release_shared_capability(__VA_ARGS__))
#define EXCLUDES(...)        TS_ATTR(locks_excluded(__VA_ARGS__))
#define NO_TS_CHECK          TS_ATTR(no_thread_safety_analysis)

struct CAPABILITY("mutex") lock {
    pthread_mutex_t m;
};

#define LOCK_INIT                 \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }

static inline void
lock_init(struct lock *l)
{
    INSIST(pthread_mutex_init(&l->m, NULL) == 0);
}

static inline void
lock_fini(struct lock *l)
{
    INSIST(pthread_mutex_destroy(&l->m) == 0);
}

static inline void
lock_take(struct lock *l) ACQUIRE(l) NO_TS_CHECK
{
    INSIST(pthread_mutex_lock(&l->m) == 0);
}

static inline void
lock_drop(struct lock *l) RELEASE(l) NO_TS_CHECK
{
    INSIST(pthread_mutex_unlock(&l->m) == 0);
}

/* Many readers or one writer.  A waiting writer goes before new readers, so a
 * thread that reads must not take it again. */
struct CAPABILITY("mutex") rwlock {
    pthread_rwlock_t rw;
};

static inline void
rwlock_init(struct rwlock *l)
{
    pthread_rwlockattr_t attr;

    INSIST(pthread_rwlockattr_init(&attr) == 0);
#ifdef __GLIBC__
    INSIST(pthread_rwlockattr_setkind_np(
               &attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
#endif
    INSIST(pthread_rwlock_init(&l->rw, &attr) == 0);
    (void)pthread_rwlockattr_destroy(&attr);
}

static inline void
rwlock_fini(struct rwlock *l)
{
    INSIST(pthread_rwlock_destroy(&l->rw) == 0);
}

static inline void
rwlock_take_read(struct rwlock *l) ACQUIRE_SHARED(l) NO_TS_CHECK
{
    INSIST(pthread_rwlock_rdlock(&l->rw) == 0);
}

static inline void
rwlock_drop_read(struct rwlock *l) RELEASE_SHARED(l) NO_TS_CHECK
{
    INSIST(pthread_rwlock_unlock(&l->rw) == 0);
}

static inline void
rwlock_take_write(struct rwlock *l) ACQUIRE(l) NO_TS_CHECK
{
    INSIST(pthread_rwlock_wrlock(&l->rw) == 0);
}

static inline void
rwlock_drop_write(struct rwlock *l) RELEASE(l) NO_TS_CHECK
{
    INSIST(pthread_rwlock_unlock(&l->rw) == 0);
}

/* A condition on the monotonic clock. */
struct cond {
    pthread_cond_t c;
};

static inline void
cond_init(struct cond *c)
{
    pthread_condattr_t attr;

    INSIST(pthread_condattr_init(&attr) == 0);
    INSIST(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    INSIST(pthread_cond_init(&c->c, &attr) == 0);
    (void)pthread_condattr_destroy(&attr);
}

static inline void
cond_fini(struct cond *c)
{
    INSIST(pthread_cond_destroy(&c->c) == 0);
}

static inline void
cond_wait(struct cond *c, struct lock *l) REQUIRES(l) NO_TS_CHECK
{
    INSIST(pthread_cond_wait(&c->c, &l->m) == 0);
}

/* Returns when signalled, or after about 'ms' milliseconds. */
void cond_wait_ms(struct cond *c, struct lock *l, unsigned ms) REQUIRES(l);

static inline void
cond_signal(struct cond *c)
{
    INSIST(pthread_cond_signal(&c->c) == 0);
}

static inline void
cond_broadcast(struct cond *c)
{
    INSIST(pthread_cond_broadcast(&c->c) == 0);
}
