/* The buckets of a downsampling: of equal length from 1970 on, the calendar's,
 * or one for all.  Each is a start and the next one's start, whatever their
 * kind. Where they start depends on no series and no range
 * (base/time/timezone.h), so those of a query can be listed once for all of its
 * series.
 *
 * Threads: struct buckets: frozen once made.  struct bucket: owner. */
#pragma once

#include "base/arena.h"
#include "query/model/query.h"

struct window;

struct buckets {
    const struct downsample *spec;
    int64_t length;   /* of each; 0: of unequal ones, or one for all */
    int64_t from, to; /* points with from <= time < to take part */
    int64_t start;    /* of the one for all */
    size_t most;      /* that a series can have; about, by the calendar */
    /* Those from 'from' on, each the next of the one before; or NULL. */
    const int64_t *starts;
    size_t starts_len;
};

/* Where the walk over a series is; begins as zeros. */
struct bucket {
    int64_t start, next;
};

/* Of what was scanned.  The spec is lent. */
struct buckets buckets_make(const struct downsample *spec,
                            const struct window *w);
/* Of points from 'first_ms' to 'last_ms', which all take part. */
struct buckets buckets_between(const struct downsample *spec, int64_t first_ms,
                               int64_t last_ms);
/* Lists their starts in the arena, unless there are too many. */
void buckets_list(struct buckets *b, struct arena *a);

/* From a bucket to a later one which holds 'ms', if it does not hold it. */
void bucket_move(const struct buckets *b, struct bucket *at, int64_t ms);

/* The start of the bucket that holds 'ms'; and that of the bucket after the one
 * that starts at 'start', which is later.  Not of one for all. */
int64_t bucket_floor(const struct buckets *b, int64_t ms);
int64_t bucket_next(const struct buckets *b, int64_t start);

/* From when on points count in the numbers that are shown, in ms.  Buckets
 * before the start of the query do where there are rates, and where a group
 * joins series, which are interpolated. */
int64_t numbers_needed_from(const struct query *q, const struct sub_query *sq,
                            bool joins_series);
