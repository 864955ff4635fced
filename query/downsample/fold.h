/* Downsampling: the points of a series go in, in the order of time, row by row
 * or all at once, and its buckets come out.  The result is the same to the last
 * bit.  A row whose points all fall into one bucket may go in as its block
 * summary alone, and whole days as a week, where these have the same.
 *
 * A running number or two are enough for functions that fold (arithmetic.h):
 * sum, avg, min, max, count, first, last and their kin.  All others collect, as
 * percentiles do: each call must give them whole buckets, so the reader keeps
 * the rows of the bucket that is not complete, unless buckets end with rows.
 *
 * Owns:    what comes out lies in the arena.
 * Threads: struct bucket_acc: owner. */
#pragma once

#include "base/arena.h"
#include "query/downsample/reading.h"
#include "storage/week/week.h"

/* One function and the buckets that it makes; both are lent.  If the starts of
 * the buckets are listed, a series without gaps has its times in that list. */
struct fold {
    const struct aggregator *function;
    const struct buckets *buckets;
};

static inline struct fold
reading_fold(const struct query_reading *r, size_t k)
{
    return (struct fold){ r->functions[k], &r->buckets };
}

/* Points of a series, ascending: lent. */
struct batch {
    struct times times;
    const union number *v;
    const uint8_t *is_float; /* NULL: all are of one kind ... */
    bool doubles;            /* ... which is this one */
    uint64_t greatest;       /* then no integer is farther from 0 */
};

/* The points of a decoded row; 'spacing' as its decoder has set it. */
struct batch batch_of_row(const struct points *p,
                          const struct spacing *spacing);

/* Returns 'len' of its points, from the place 'from' on. */
struct batch batch_part(const struct batch *p, size_t from, size_t len);

/* One series; begins as zeros. */
struct bucket_acc {
    /* Times of complete buckets: they are located in the list, unless the
     * series 'owns' them. */
    const int64_t *ts;
    union number *v;
    uint32_t len, cap;
    uint64_t count; /* points of the bucket that are not NaN */
    struct bucket bucket;
    union number a; /* of the bucket, as struct arithmetic has it */
    union {
        union number b;
        double bound; /* of sums: the absolute value of 'a' is not greater while
                       * it is of integers only */
    };
    int64_t first_ms, last_ms; /* of all points that were given */
    bool some;                 /* there was one */
    bool owns;                 /* 'ts' is the series' own array */
    bool filled;               /* the bucket has points, NaN included */
    bool loose;  /* sums of doubles are added that are no sums in their order */
    bool failed; /* the arena is full; later calls do nothing */
};

/* Adds the days 'day' <= i < 'day_end' of a week.  Returns false if the rows
 * must be read instead; nothing has changed then.
 *
 * 'loose': the rows may be gone, so the function never returns false.  Sums of
 * doubles are then added in another order, and an hour whose points may belong
 * to two buckets, or may be outside the range, is left out: '*left_out' is set.
 */
bool bucket_acc_week(const struct fold *f, struct bucket_acc *s,
                     const struct week *w, unsigned day, unsigned day_end,
                     bool loose, bool *left_out, struct arena *a);

/* Adds the points of a row by its block summary.  Returns false if the row must
 * be unpacked instead; nothing has changed then. */
bool bucket_acc_summary(const struct fold *f, struct bucket_acc *s,
                        const struct summary *row, struct arena *a);

/* Adds points.  For a function that collects, they are all points of their
 * buckets, and 'scratch' has room for as many values. */
void bucket_acc_add(const struct fold *f, struct bucket_acc *s,
                    const struct batch *p, union number *scratch,
                    struct arena *a);

/* Ends the last bucket.  Returns false if the arena was too small. */
bool bucket_acc_end(const struct fold *f, struct bucket_acc *s,
                    struct arena *a);

/* Returns the buckets, once they have ended: lent. */
struct column bucket_acc_column(const struct bucket_acc *s);
