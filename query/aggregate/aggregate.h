/*
 * The numbers of a query: one group of series in, one series of answers out.
 * Order of work, as OpenTSDB 2.4 does it: each series is downsampled, then its
 * rate taken, then the group is interpolated and aggregated.  Odd as they are,
 * its numbers are the contract (docs/PROTOCOL.md, "Numbers").
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID (an infinite value: "Got Infinity"), ST_LIMIT (arena).
 */
#ifndef QUERY_AGGREGATE_AGGREGATE_H
#define QUERY_AGGREGATE_AGGREGATE_H

#include "query/model/query.h"

/* One series' points, ascending and unique, of all hour rows that the scan
 * range touches: also those before 'start' and after 'end', which feed
 * interpolation, rates and the last bucket. */
struct span {
    const int64_t *ts_ms;
    const union number *v;
    const uint8_t *is_float;
    size_t len;
    /* Of averages over rollups: how many points each sum is of; else NULL. */
    const int64_t *counts;
    /* Buckets instead of points, all doubles: what downsampler.h made of points
     * from first_ms to last_ms, if the series 'has_points' in the scanned rows.
     */
    bool folded, has_points;
    int64_t first_ms, last_ms;
};

/* The answer: ascending times in ms, each an integer, a double, or nothing
 * (null fill). */
enum dp_kind { DP_INT, DP_DOUBLE, DP_NULL };
struct dps {
    int64_t *ts_ms;
    union number *v;
    uint8_t *kind; /* enum dp_kind */
    size_t len;
};

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
bool numbers_takes(const struct numbers_bounds *b, const struct span *s);

/* The integer at x of the line through (x0, y0) and (x1, y1); products and sums
 * wrap as Java's do. */
int64_t numbers_lerp(int64_t x, int64_t x0, int64_t y0, int64_t x1, int64_t y1);

/* Arrays of '*out' are in the arena.  'spans' come in the order of their
 * TSUIDs; those without points, and those not taken (above), count for nothing.
 * With the aggregator "none" there is one. */
MUST_CHECK enum status numbers_run(const struct query *q,
                                   const struct sub_query *sq,
                                   const struct span *spans, size_t len,
                                   struct arena *a, struct dps *out,
                                   struct error *e);

#endif
