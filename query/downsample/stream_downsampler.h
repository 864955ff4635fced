/* Downsampling while rows are read: a series' rows go in, in the order of time,
 * and its buckets come out, the same to the last bit as if all points had been
 * kept and downsampled at the end (downsample.h).  A row whose points all fall
 * into one bucket may go in as its block summary alone, where that has the
 * same.
 *
 * A running number or two are enough for sum, avg, min, max, count, first, last
 * and their kin.  Others, as percentiles, collect: they want all points of a
 * bucket at once, so that whoever reads keeps the rows of the bucket that is
 * not complete, unless buckets end with rows.
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

/* One series; begins as zeros. */
struct bucket_acc {
    /* Times of complete buckets: they are located in the list, unless the
     * series 'owns' them. */
    const int64_t *ts;
    union number *v;
    uint32_t len, cap;
    uint64_t count; /* points of the bucket that are not NaN */
    struct bucket bucket;
    double value;
    double bound; /* of the sum's absolute value while it is of integers */
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

/* False: this row must be unpacked; nothing has changed. */
bool bucket_acc_summary(const struct fold *f, struct bucket_acc *s,
                        const struct summary *row, struct arena *a);
void bucket_acc_points(const struct fold *f, struct bucket_acc *s,
                       const struct points *p, struct arena *a);
/* The same of points that are even, by their values alone. */
void bucket_acc_spaced(const struct fold *f, struct bucket_acc *s,
                       const struct spacing *spacing, const union number *v,
                       size_t len, struct arena *a);
/* The same for those that collect: of the buckets that end before 'end_ms' all
 * points are there.  Returns how many points these were; the others are to come
 * again.  'scratch' has room for the values of all. */
size_t bucket_acc_collect(const struct fold *f, struct bucket_acc *s,
                          const struct points *p, int64_t end_ms,
                          union number *scratch, struct arena *a);
/* The same of such buckets, and an even row; 'scratch' has room for 'len'. */
void bucket_acc_collect_spaced(const struct fold *f, struct bucket_acc *s,
                               const struct spacing *spacing,
                               const union number *v, size_t len,
                               union number *scratch, struct arena *a);
/* Ends the last bucket.  False when the arena was too small. */
bool bucket_acc_end(const struct fold *f, struct bucket_acc *s,
                    struct arena *a);
/* What comes out, once it has ended: lent. */
struct column bucket_acc_column(const struct bucket_acc *s);
