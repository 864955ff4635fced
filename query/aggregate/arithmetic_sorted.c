/* Aggregators that sort their values, and one moment at a time of any. */
#include "config.h"

#include "query/aggregate/arithmetic.h"

#include <math.h>
#include <stdlib.h>

int64_t
aggregator_to_int(double d)
{
    if (isnan(d))
        return 0;
    if (d >= 0x1p63)
        return INT64_MAX;
    if (d <= -0x1p63)
        return INT64_MIN;
    return (int64_t)d;
}

/* -- helpers -------------------------------------------------------------- */

static int
compare_ints(const void *pa, const void *pb)
{
    const int64_t *a = (const int64_t *)pa, *b = (const int64_t *)pb;

    return (*a > *b) - (*a < *b);
}

/* Ascending, -0.0 before 0.0; there are no NaNs. */
static int
compare_doubles(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    if (a < b)
        return -1;
    if (a > b)
        return 1;
    return (signbit(a) == 0) - (signbit(b) == 0);
}

static void
sort_doubles(double *v, size_t len)
{
    if (len > 32) {
        qsort(v, len, sizeof *v, compare_doubles);
        return;
    }
    for (size_t i = 1; i < len; i++) {
        double x = v[i];
        size_t j = i;

        for (; j > 0 && compare_doubles(&v[j - 1], &x) > 0; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Moves what is no NaN to the front; returns how many there are. */
static size_t
drop_nans(double *v, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        if (!isnan(v[i]))
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

/* -- integers ------------------------------------------------------------- */

static int64_t
percentile_ints(const struct aggregator *a, int64_t *v, size_t len)
{
    size_t low, high;
    double part, bottom, top;

    qsort(v, len, sizeof *v, compare_ints);
    percentile_find(a->percentile, a->estimation, len, &low, &high, &part);
    bottom = (double)v[low];
    top = (double)v[high];
    return aggregator_to_int(bottom + part * (top - bottom));
}

int64_t
aggregator_run_int(const struct aggregator *a, int64_t *v, size_t len)
{
    const struct arithmetic *m;
    union number x, y = { .i = 0 };
    uint32_t n = 0;

    if (a->kind == KIND_PERCENTILE)
        return percentile_ints(a, v, len);
    if (a->kind == KIND_MEDIAN) {
        qsort(v, len, sizeof *v, compare_ints);
        return v[len / 2];
    }
    m = &aggregator_arithmetic[a->kind];
    x = m->start_int;
    m->all_ints(&n, &x, &y, (const union number *)v, len);
    return arithmetic_end_int(a->kind, n, x, y);
}

/* -- doubles -------------------------------------------------------------- */

static double
percentile_doubles(const struct aggregator *a, double *v, size_t len)
{
    size_t low, high;
    double part;

    sort_doubles(v, len);
    percentile_find(a->percentile, EST_LEGACY, len, &low, &high, &part);
    if (low == high)
        return v[low];
    return v[low] + part * (v[high] - v[low]);
}

double
aggregator_run_unsorted(const struct aggregator *a, const double *v, size_t len)
{
    const struct arithmetic *m = &aggregator_arithmetic[a->kind];
    union number x = m->start_double, y = { .i = 0 };
    uint32_t n = 0;

    m->all_doubles(&n, &x, &y, (const union number *)v, len);
    return arithmetic_end_double(a->kind, n, x, y);
}

double
aggregator_run_double(const struct aggregator *a, double *v, size_t len)
{
    if (!aggregator_sorts(a))
        return aggregator_run_unsorted(a, v, len);
    len = drop_nans(v, len);
    if (len == 0)
        return NAN;
    if (a->kind == KIND_PERCENTILE)
        return percentile_doubles(a, v, len);
    sort_doubles(v, len);
    return v[len / 2];
}
