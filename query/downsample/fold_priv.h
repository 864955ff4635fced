/* What both halves of the fold do with buckets: that of points (fold.c), and
 * that of summaries (fold_summaries.c).
 *
 * A sum is of doubles, added one by one in the order of time.  While all values
 * are integers and the sum of their magnitudes stays within 2^53, each step is
 * exact, so they may be added in any order, or as integers, or be a block
 * summary's. The sum in a block summary of doubles was added one by one from 0,
 * so it stands for the points of a bucket only when nothing was added before
 * it. */
#pragma once

#include "query/downsample/arithmetic.h"
#include "query/downsample/fold.h"

/* Adds doubles to the bucket that is filled. */
void bucket_acc_doubles(const struct arithmetic *m, struct bucket_acc *s,
                        const union number *v, size_t len);

/* Room for 'n' complete buckets that follow each other, the first at 'at', and
 * their times; the values, from v[len] on, and 'len' are the caller's.  False:
 * the arena is full. */
bool bucket_acc_room(const struct fold *f, struct bucket_acc *s, int64_t at,
                     size_t n, struct arena *a);
/* Ends the bucket that is filled, if it has points. */
void bucket_acc_close(const struct fold *f, struct bucket_acc *s,
                      struct arena *a);
/* Ends it, and begins the one that holds 'ms', which is behind it. */
void bucket_acc_next(const struct fold *f, struct bucket_acc *s, int64_t ms,
                     struct arena *a);

/* Makes the bucket that holds 'ms' the one that is filled. */
static inline void
bucket_acc_move(const struct fold *f, struct bucket_acc *s, int64_t ms,
                struct arena *a)
{
    if (ms >= s->bucket.next)
        bucket_acc_next(f, s, ms, a);
}

/* There were points from one time to the other. */
static inline void
bucket_acc_note(struct bucket_acc *s, int64_t first_ms, int64_t last_ms)
{
    if (!s->some)
        s->first_ms = first_ms;
    s->last_ms = last_ms;
    s->some = true;
}
