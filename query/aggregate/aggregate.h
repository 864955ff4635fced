/* The numbers of a query: one group of series in, one series of answers out.
 * Order of work, as OpenTSDB 2.4 does it: each series is downsampled, then its
 * rate taken, then the group is interpolated and aggregated.  Odd as they are,
 * its numbers are the contract (docs/NUMBERS.md).
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID (an infinite value: "Got Infinity"), ST_LIMIT (arena). */
#pragma once

#include "base/process/workers.h"
#include "query/model/deadline.h"
#include "query/model/query.h"
#include "query/model/dps.h"
#include "query/downsample/reading.h"

/* The integer at x of the line through (x0, y0) and (x1, y1); products and sums
 * wrap as Java's do. */
int64_t interpolate_linear_int(int64_t x, int64_t x0, int64_t y0, int64_t x1,
                               int64_t y1);

/* Input that the groups of one sub-query share.  The caller owns the pointers'
 * targets. */
struct aggregate_job {
    const struct query *q;
    const struct sub_query *sq;
    const struct query_reading *reading;
    struct workers *workers;   /* they help with a large group; or NULL */
    struct deadline *deadline; /* of one group after the other */
};

/* Computes the numbers of a group.  Arrays of '*out' are in the arena.
 * 'series' are those that reading_has(), in the order of their TSUIDs, and are
 * used up.  With the aggregator "none" there is one. */
MUST_CHECK enum status aggregate_group(const struct aggregate_job *job,
                                       struct column *series, size_t len,
                                       struct arena *a, struct dps *out,
                                       struct error *e);
