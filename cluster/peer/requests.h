/* The requests of a connection that wait for a worker, and which of them may
 * begin.
 *
 *     add (who reads frames) -> take (a worker) -> done
 *
 * A HEAD is answered from memory.  What else a worker serves may itself wait
 * for the HEAD of another daemon, as of a bucket that has just moved: so one
 * worker is left for HEADs, or two daemons could wait for each other.  DELETE
 * and FLUSH write to the engine; queries do not wait behind them, since one of
 * them is served at a time.
 *
 * Owns:    the requests, also those that were taken.
 * Threads: any; init and fini: the owner.
 * Bounds:  REQUESTS_MAX of them and 'max_bytes' of payloads; one that is larger
 *          waits alone. */
#pragma once

#include "base/process/lock.h"
#include "cluster/peer/frame.h"

#define REQUESTS_MAX 64

struct request {
    struct request *next;
    uint64_t number;
    uint8_t type;
    struct slice payload; /* behind it */
};

struct requests {
    unsigned workers;
    size_t max_bytes;
    struct lock lock;
    struct cond changed; /* for workers, and who waits for room */
    struct request *first GUARDED_BY(lock), **last GUARDED_BY(lock);
    size_t len GUARDED_BY(lock), bytes GUARDED_BY(lock);
    unsigned long_running GUARDED_BY(lock), others_running GUARDED_BY(lock);
    bool ended GUARDED_BY(lock);
};

/* 'workers' threads, two at least, take them. */
void requests_init(struct requests *q, unsigned workers, size_t max_bytes);
void requests_fini(struct requests *q);

/* Copies a request.  Waits while too many wait. */
void requests_add(struct requests *q, const struct frame *f);
/* The first that may begin.  Waits for it; NULL after requests_end(). */
struct request *requests_take(struct requests *q);
/* One that was taken is served. */
void requests_done(struct requests *q, struct request *r);
/* Nothing more is taken. */
void requests_end(struct requests *q);
