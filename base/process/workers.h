/* Threads to fan a query out over the salt buckets, or an import over files.
 *
 * workers_run() lends the calling thread to its own tasks too, so zero threads
 * work, and a run cannot starve behind another.
 *
 * Threads: workers_run(): any.  workers_free(): when no run is under way. */
#pragma once

#include <stddef.h>

struct workers; /* opaque */

struct workers *workers_new(size_t threads);
void workers_free(struct workers **w);

/* Calls f(ctx, 0) .. f(ctx, len - 1), several at a time, in any order, and
 * returns when all have returned. */
void workers_run(struct workers *w, size_t len, void (*f)(void *ctx, size_t i),
                 void *ctx);
