/* The numbers of a query: one group of series in, one series of answers out.
 * Order of work, as OpenTSDB 2.4 does it: each series is downsampled, then its
 * rate taken, then the group is interpolated and aggregated.  Odd as they are,
 * its numbers are the contract (docs/NUMBERS.md).
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID (an infinite value: "Got Infinity"), ST_LIMIT (arena). */
#pragma once

#include "base/process/pool.h"
#include "query/aggregate/buckets.h"
#include "query/model/deadline.h"
#include "query/model/query.h"
#include "query/model/dps.h"
#include "storage/scan/column.h"

/* The hour-aligned range [from_base, to_base] of base times (both included)
 * that must be scanned for a sub-query: OpenTSDB's scan start and stop, which
 * depend on downsampling. */
void numbers_scan_range(const struct query *q, const struct sub_query *sq,
                        uint32_t *from_base, uint32_t *to_base);

/* Is a series part of its group?  Nearly always when it has points in the
 * scanned rows; but times before 1970-02-19 and ranges that reach beyond 2106
 * are misread (seconds for ms and the reverse) as OpenTSDB misreads them.  A
 * series that is not counts neither for tags nor for numbers; a group of no
 * series has neither metric nor tags, and is answered all the same. */
struct numbers_bounds {
    int64_t first_most, last_least; /* of times as they are misread */
};
struct numbers_bounds numbers_bounds(const struct query *q,
                                     const struct sub_query *sq);
bool series_in_range(const struct numbers_bounds *b, const struct column *s);

struct window numbers_window(const struct query *q, const struct sub_query *sq);

/* What of a series the numbers need; false: all that was scanned. */
bool numbers_crop(const struct query *q, const struct sub_query *sq,
                  struct column_window *out);

/* The starts of the buckets of 'len' ascending times go to 'starts', but for
 * those times that are left out at the beginning: returns how many.  Not for
 * one bucket for all. */
size_t downsample_starts(const struct downsample *spec, const struct window *w,
                         const int64_t *ts, size_t len, int64_t *starts);

/* The integer at x of the line through (x0, y0) and (x1, y1); products and sums
 * wrap as Java's do. */
int64_t interpolate_linear_int(int64_t x, int64_t x0, int64_t y0, int64_t x1,
                               int64_t y1);

/* Arrays of '*out' are in the arena.  The work counts against the deadline,
 * which is the caller's, for one group after the other.  'series' are in range
 * (above), in the order of their TSUIDs.  With the aggregator "none" there is
 * one.  Threads of 'pool', which may be NULL, help with a large group. */
MUST_CHECK enum status
aggregate_group(const struct query *q, const struct sub_query *sq,
                const struct column *series, size_t len, struct pool *pool,
                struct deadline *deadline, struct arena *a, struct dps *out,
                struct error *e);
