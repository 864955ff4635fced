/* The buckets of a downsampling: of equal length from 1970 on, of the calendar,
 * or a single one for all points ("0all").  A bucket is its start and the start
 * of the next one.  Where buckets start does not depend on the series
 * (base/time/timezone.h), so a query lists them once for all of its series.
 *
 * Threads: struct buckets: frozen once made.  struct bucket: owner. */
#pragma once

#include "base/arena.h"
#include "query/model/query.h"

/* What was scanned, and of it what the query wants; in ms, ends included. */
struct window {
    int64_t scan_start_ms, scan_end_ms;
    int64_t start_ms, end_ms;
    /* Points from this time on are in no bucket: the last calendar bucket ends
     * with the query.  INT64_MAX for other buckets.  Not for "0all". */
    int64_t buckets_end_ms;
};

struct buckets {
    const struct downsample *spec;
    int64_t length;   /* of each bucket; 0: lengths differ, or "0all" */
    int64_t from, to; /* points with from <= time < to take part */
    int64_t start;    /* of the single bucket of "0all" */
    size_t most;      /* buckets that a series can have; calendar: about */
    /* The starts of consecutive buckets from 'from' on; NULL: no list. */
    const int64_t *starts;
    size_t starts_len;
};

/* Where the walk over a series is; begins as zeros. */
struct bucket {
    int64_t start, next;
};

/* Makes the buckets of the window 'w', which is what was scanned. The spec is
 * lent. */
struct buckets buckets_make(const struct downsample *spec,
                            const struct window *w);
/* Makes the buckets of the points from 'first_ms' to 'last_ms', all of which
 * are downsampled. The spec is lent. */
struct buckets buckets_between(const struct downsample *spec, int64_t first_ms,
                               int64_t last_ms);
/* Lists their starts in the arena, unless there are too many. */
void buckets_list(struct buckets *b, struct arena *a);

/* From a bucket to a later one which holds 'ms', if it does not hold it. */
void bucket_move(const struct buckets *b, struct bucket *at, int64_t ms);

/* All points before 'ms' are known, and 'at' is a bucket before that: returns
 * the time before which all buckets are complete. */
int64_t buckets_complete(const struct buckets *b, struct bucket at, int64_t ms);

/* The start of the bucket that contains 'ms', and the start of the bucket after
 * the one that starts at 'start'.  Not for "0all". */
int64_t bucket_floor(const struct buckets *b, int64_t ms);
int64_t bucket_next(const struct buckets *b, int64_t start);
