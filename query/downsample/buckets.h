/* The buckets of a downsampling, and the walk over those of a series: of equal
 * length from 1970 on, the calendar's, or one for all.  Each is a start and the
 * next one's start, whatever their kind.
 *
 * The calendar of a series begins at its first point, and goes on from there:
 * it is walked, not asked again, since from a day that begins at 1 o'clock the
 * next ones do too.  Where it comes by a start that is listed, it goes on along
 * the list.
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

/* Of what was scanned; of all times when 'w' is NULL.  The spec is lent. */
struct buckets buckets_make(const struct downsample *spec,
                            const struct window *w);
/* Lists their starts in the arena, unless there are too many. */
void buckets_list(struct buckets *b, struct arena *a);

/* From a bucket to a later one which holds 'ms', if it does not hold it. */
void bucket_move(const struct buckets *b, struct bucket *at, int64_t ms);

/* The start of the bucket that holds 'ms'; and that of the bucket after the one
 * that starts at 'start', or with 'by' -1 before it.  Not of one for all. */
int64_t bucket_floor(const struct buckets *b, int64_t ms);
int64_t bucket_step(const struct buckets *b, int64_t start, int by);
