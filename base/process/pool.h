/* A pool of threads, to fan a query out over the salt buckets.
 *
 * pool_run() lends the calling thread to its own tasks too, so a pool of zero
 * threads works, and a run cannot starve behind another.
 *
 * Threads: pool_run(): any.  pool_free(): when no run is under way. */
#pragma once

#include <stddef.h>

struct pool; /* opaque */

struct pool *pool_new(size_t threads);
void pool_free(struct pool **p);

/* Calls f(ctx, 0) .. f(ctx, len - 1), several at a time, in any order, and
 * returns when all have returned. */
void pool_run(struct pool *p, size_t len, void (*f)(void *ctx, size_t i),
              void *ctx);
