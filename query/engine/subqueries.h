/* The scheduler of sub-queries: it runs one after the other while they are
 * quick, and the rest in parallel when they are not.
 *
 * Results and their order are the same either way; of several failures the
 * first in order is reported, of scans where sub-queries share them.  All
 * sub-queries share the memory of the query.  If one that ran beside others was
 * refused memory, then it and all behind it run again, one after the other:
 * what fits into the memory does not depend on who runs beside it.
 *
 * Threads: subqueries_run(): any. */
#pragma once

#include "base/process/workers.h"
#include "query/fetch/fetch.h"
#include "query/answer/rollup_raw_merge.h"

/* The limits of a sub-query, and its results. */
struct subquery_run {
    struct fetch_limits limits;
    struct arena *arena; /* of what it answers */
    struct subquery_result result;
    struct result_stats stats;
    struct error error;
};

struct subqueries {
    size_t len;
    /* Runs one; called from several threads. */
    enum status (*run)(void *ctx, size_t i, struct subquery_run *r);
    void *ctx;
    struct workers *workers;
    /* When the next ones would take so long together, others are asked to
     * help. */
    int64_t worth_us;
    struct budget *budget; /* the memory of the query, or NULL */
    struct deadline deadline;
};

/* '*results' and 'stats' have room for all, zeroed; what they point to is in
 * the arena. */
MUST_CHECK enum status subqueries_run(const struct subqueries *s,
                                      struct arena *a,
                                      struct subquery_result *results,
                                      struct result_stats *stats,
                                      struct error *e);
