/* The ranges of a sub-query: what is scanned, and what of it is shown.  What
 * lies between feeds interpolation, rates and the last bucket, so both are
 * OpenTSDB's to the second.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "query/model/query.h"
#include "storage/scan/column.h"

/* The hour-aligned range [from_base, to_base] of base times (both included)
 * that must be scanned for a sub-query: OpenTSDB's scan start and stop, which
 * depend on downsampling. */
void numbers_scan_range(const struct query *q, const struct sub_query *sq,
                        uint32_t *from_base, uint32_t *to_base);

/* Is a series part of its group?  It must have points between the start of the
 * scan and its end, which the scanned rows may exceed.  A series that is not
 * counts neither for tags nor for numbers; a group of no series has neither
 * metric nor tags, and is answered all the same. */
struct numbers_bounds {
    int64_t first_most, last_least; /* ms, included */
};
struct numbers_bounds numbers_bounds(const struct query *q,
                                     const struct sub_query *sq);
bool series_in_range(const struct numbers_bounds *b, const struct column *s);

/* What was scanned, and of it what the query wants; in ms, ends included. */
struct window {
    int64_t scan_start_ms, scan_end_ms;
    int64_t start_ms, end_ms;
    /* Points from this time on are in no bucket: the last calendar bucket ends
     * with the query.  INT64_MAX for other buckets.  Not for "0all". */
    int64_t buckets_end_ms;
};
struct window numbers_window(const struct query *q, const struct sub_query *sq);

/* What of a series the numbers need; false: all that was scanned. */
bool numbers_crop(const struct query *q, const struct sub_query *sq,
                  struct column_window *out);
