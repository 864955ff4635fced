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
#include "query/downsample/ranges.h"

/* The integer at x of the line through (x0, y0) and (x1, y1); products and sums
 * wrap as Java's do. */
int64_t interpolate_linear_int(int64_t x, int64_t x0, int64_t y0, int64_t x1,
                               int64_t y1);

/* Arrays of '*out' are in the arena.  The work counts against the deadline,
 * which is the caller's, for one group after the other.  'series' are in range
 * (ranges.h), in the order of their TSUIDs, and are used up.  With the
 * aggregator "none" there is one.  'workers', which may be NULL, help with a
 * large group. */
MUST_CHECK enum status
aggregate_group(const struct query *q, const struct sub_query *sq,
                struct column *series, size_t len, struct workers *workers,
                struct deadline *deadline, struct arena *a, struct dps *out,
                struct error *e);
