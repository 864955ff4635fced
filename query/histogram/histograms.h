/* Queries of histograms: percentiles and buckets of the series that a plan
 * takes, in place of the points of a plain query.
 *
 *     histograms of each series -> downsampled, by sum -> summed over the group
 *       -> a result group for each percentile, then one for each bucket
 *
 * There is no interpolation: a timestamp's sum is of those that have one then.
 * Rates and fill policies count for nothing.  Which buckets there are, the
 * first histogram of the group says, be it outside of what was asked for.
 *
 * Threads: any.
 * Fails:   ST_INVALID for histograms of a codec that is not configured;
 *          otherwise as the engine. */
#pragma once

#include "query/fetch/fetch.h"

struct histograms_job {
    const struct plan_context *context;
    const struct query *q;
    const struct sub_query *sq;
    const struct plan *plan;
    const struct query_reading *reading;
    struct fetch_limits *limits;
    int codec; /* the id of those that we can read; < 0: none */
    struct arena *arena;
};

/* '*groups' lie in the arena. */
MUST_CHECK enum status histograms_run(const struct histograms_job *job,
                                      struct result_group **groups, size_t *len,
                                      struct result_stats *stats,
                                      struct error *e);
