/* The scheduler of sub-queries: it runs one after the other while they are
 * quick, and the rest in parallel when they are not.
 *
 * What they answer, and its order, is the same either way; of several failures
 * the first in order is reported, of scans where sub-queries share them.  All
 * sub-queries share the memory of the query.  If one that ran beside others was
 * refused memory, the scheduler goes on from it with one at a time: what fits
 * into the memory does not depend on who runs beside it.
 *
 * Threads: subqueries_run(): any. */
#pragma once

#include "base/process/workers.h"
#include "query/fetch/fetch.h"

/* What a sub-query runs with, and its error. */
struct subquery_run {
    struct fetch_limits limits;
    struct arena *arena; /* of what it answers, and of its stats */
    struct error error;
};

struct subqueries {
    size_t len;
    /* Runs one; called from several threads.  When it is called again for the
     * same one, what it made before is gone. */
    enum status (*run)(void *ctx, size_t i, struct subquery_run *r);
    void *ctx;
    struct workers *workers;
    /* When the next ones would take so long together, others are asked to
     * help. */
    int64_t worth_us;
    struct budget *budget; /* the memory of the query, or NULL */
    struct deadline deadline;
};

/* Runs all, or those up to the first that fails.  What the first '*kept'
 * made is in the arena; that of others is gone, though they may have run. */
MUST_CHECK enum status subqueries_run(const struct subqueries *s,
                                      struct arena *a, size_t *kept,
                                      struct error *e);
