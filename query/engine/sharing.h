/* Which sub-queries read the same: the same series, the same range, and of them
 * the same points, in buckets of the same times if there are any.  They differ
 * in what is made of that: the function that downsamples, the aggregator, the
 * fill policy, mostly the rate.  One scan is enough for them.
 *
 * Threads: any. */
#pragma once

#include "query/downsample/reading.h"

/* Sub-queries of one scan: their places in the query, ascending. */
struct shared_scan {
    const size_t *subs;
    size_t len;
    struct query_reading reading; /* of all of them */
};

/* The scans of a query, in the order of their first sub-queries; without
 * 'share' each sub-query has its own.  NULL: the arena is full. */
struct shared_scan *shared_scans(const struct query *q, bool share,
                                 struct arena *a, size_t *len);
