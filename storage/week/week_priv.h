/* Bytes of a week (docs/FORMAT.md, "Weeks"):
 *
 *     <version:1> <flags:1> [<scale:1>] <days> <hours> <crc:4>
 *
 * in columns, each as integers or, where they are no decimals, as doubles.
 * Sums of decimals were added one by one, as doubles: they are written as the
 * nearest decimal, and their distance from it. */
#pragma once

#include <math.h>

#include "storage/block/block_columns.h"
#include "storage/week/week.h"

#define WEEK_VERSION 2
#define ALL_HOURS    0xffffffu

enum week_flag {
    WEEK_INT = 1,
    WEEK_PLAIN = 2, /* doubles as they are */
    WEEK_UNFIT = 4,
    /* Beside the others: enum row_state; neither is WEEK_ROWS_DROPPED. */
    WEEK_FLAG_KEPT = 8,
    WEEK_FLAG_LATE = WEEK_LATE_BIT,
};

static inline uint8_t
week_rows_flag(enum row_state rows)
{
    return rows == WEEK_ROWS_KEPT   ? WEEK_FLAG_KEPT
           : rows == WEEK_ROWS_LATE ? WEEK_FLAG_LATE
                                    : 0;
}

/* Values are integers, decimals of a scale, or plain doubles. */
struct form {
    bool is_int, plain;
    unsigned scale;
};

/* What is written or read, one column after the other. */
struct codec {
    struct buf *out;  /* writing */
    struct cursor *c; /* reading */
    struct form f;
    /* Days and hours that have points, ascending. */
    size_t days, hours;
    uint8_t day[WEEK_DAYS], hour[WEEK_HOURS];
    int64_t column[WEEK_HOURS];
    uint64_t guess[WEEK_HOURS]; /* of sums */
    uint64_t scratch[WEEK_HOURS];
};

#define FOR_DAYS(x, i) for (size_t i = 0; i < (x)->days; i++)

/* Without columns: they are large, and written before they are read. */
static inline void
codec_init(struct codec *x, struct buf *out, struct cursor *c)
{
    x->out = out;
    x->c = c;
    x->f = (struct form){ .scale = 0 };
    x->days = x->hours = 0;
}

/* Of an hour, but for its times. */
static inline struct summary
week_hour(const struct week *w, size_t i)
{
    return (struct summary){ .count = w->count[i],
                             .all_int = w->all_int,
                             .sum = w->hour.sum[i],
                             .first = w->hour.first[i],
                             .last = w->hour.last[i],
                             .min = w->hour.min[i],
                             .max = w->hour.max[i] };
}

static inline bool
are_decimals(const struct form *f)
{
    return !f->is_int && !f->plain;
}

/* -- sums ------------------------------------------------------------------ */

static inline int64_t
plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t
minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The nearest decimal to a sum, which is not one itself. */
static inline bool
sum_decimal(double sum, unsigned scale, int64_t *m)
{
    double scaled = sum / block_decimal_value(1, scale);

    if (!(fabs(scaled) < (double)DECIMAL_MAX))
        return false;
    *m = (int64_t)nearbyint(scaled);
    return true;
}

/* What a sum would be if each of 'count' values were 'mean'. */
static inline uint64_t
guess(uint32_t count, int64_t mean)
{
    return (uint64_t)count * (uint64_t)mean;
}

static inline int64_t
middle(int64_t a, int64_t b)
{
    return plus(a, minus(b, a) / 2);
}

/* The mean of the day's values: an hour's are near it. */
static inline int64_t
day_mean(const struct form *f, const struct summary *s)
{
    int64_t sum = s->sum.i;

    if (!f->is_int && (f->plain || !sum_decimal(s->sum.d, f->scale, &sum)))
        return 0;
    return sum / (int64_t)s->count;
}
