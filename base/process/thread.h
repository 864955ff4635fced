/* A thread, and whether it runs.
 *
 * Threads: owner. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/obj.h"

struct thread {
    pthread_t id;
    bool runs;
};

/* ST_IO: "start the thread of 'what': .." */
MUST_CHECK static inline enum status
thread_start(struct thread *t, void *(*run)(void *ctx), void *ctx,
             const char *what, struct error *e)
{
    int rc = pthread_create(&t->id, NULL, run, ctx);

    t->runs = rc == 0;
    return rc == 0 ? ST_OK
                   : error_set(e, ST_IO, "start the thread of %s: %s", what,
                               strerror(rc));
}

/* Waits for its end, if it runs. */
static inline void
thread_join(struct thread *t)
{
    if (t->runs)
        INSIST(pthread_join(t->id, NULL) == 0);
    t->runs = false;
}
