/* Aggregators that sort their values, and one moment at a time of any. */
#include "query/aggregate/arithmetic.h"

#include <math.h>
#include <stdlib.h>

static int
compare_ints(const void *pa, const void *pb)
{
    int64_t a = ((const union number *)pa)->i;
    int64_t b = ((const union number *)pb)->i;

    return (a > b) - (a < b);
}

/* Ascending, -0.0 before 0.0; there are no NaNs. */
static int
compare_doubles(const void *pa, const void *pb)
{
    double a = ((const union number *)pa)->d, b = ((const union number *)pb)->d;

    if (a < b)
        return -1;
    if (a > b)
        return 1;
    return (signbit(a) == 0) - (signbit(b) == 0);
}

static void
sort_doubles(union number *v, size_t len)
{
    if (len > 32) {
        qsort(v, len, sizeof *v, compare_doubles);
        return;
    }
    for (size_t i = 1; i < len; i++) {
        union number x = v[i];
        size_t j = i;

        for (; j > 0 && compare_doubles(&v[j - 1], &x) > 0; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Moves what is no NaN to the front; returns how many there are. */
static size_t
drop_nans(union number *v, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        if (!isnan(v[i].d))
            v[n++] = v[i];
    return n;
}

/* The place of quantile 'p' among 'len' sorted values, counted from 1. */
static double
percentile_place(enum estimation est, double p, size_t len)
{
    double n = (double)len;

    switch (est) {
    case EST_R3:
        return p <= 0.5 / n ? 0 : rint(n * p);
    case EST_R7:
        return 1 + (n - 1) * p;
    case EST_LEGACY:
        break;
    }
    return p * (n + 1);
}

/* Which of 'len' sorted values a percentile lies between, and where: it is
 * v[*low] + *part * (v[*high] - v[*low]). */
static void
percentile_find(double p, enum estimation est, size_t len, size_t *low,
                size_t *high, double *part)
{
    double place = percentile_place(est, p / 100, len);

    *part = 0;
    if (len == 1 || place < 1) {
        *low = *high = 0;
    } else if (place >= (double)len) {
        *low = *high = len - 1;
    } else {
        *high = (size_t)floor(place);
        *low = *high - 1;
        *part = place - floor(place);
    }
}

static union number
percentile(const struct aggregator *a, bool doubles, const union number *v,
           size_t len)
{
    size_t low, high;
    double part, bottom, top;
    union number out;

    percentile_find(a->percentile, doubles ? EST_LEGACY : a->estimation, len,
                    &low, &high, &part);
    bottom = doubles ? v[low].d : (double)v[low].i;
    top = doubles ? v[high].d : (double)v[high].i;
    if (low != high)
        bottom += part * (top - bottom);
    if (doubles)
        out.d = bottom;
    else
        out.i = java_long(bottom);
    return out;
}

union number
aggregator_run_unsorted(const struct aggregator *a, bool doubles,
                        const union number *v, size_t len)
{
    const struct arithmetic *m = &aggregator_arithmetic[a->kind];
    union number x = m->start[doubles], y = { .i = 0 };
    uint32_t n = 0;

    m->all[doubles](&n, &x, &y, v, len);
    return arithmetic_end(a->kind, doubles, n, x, y);
}

union number
aggregator_run(const struct aggregator *a, bool doubles, union number *v,
               size_t len)
{
    if (!aggregator_sorts(a))
        return aggregator_run_unsorted(a, doubles, v, len);
    if (doubles) {
        len = drop_nans(v, len);
        if (len == 0)
            return (union number){ .d = NAN };
        sort_doubles(v, len);
    } else {
        qsort(v, len, sizeof *v, compare_ints);
    }
    return a->kind == KIND_MEDIAN ? v[len / 2] : percentile(a, doubles, v, len);
}
