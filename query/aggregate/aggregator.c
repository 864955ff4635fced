#include "config.h"

#include "query/aggregate/aggregator.h"

#include <math.h>
#include <stdlib.h>

#include "query/aggregate/aggregator_priv.h"

/*
 * One row a name.  What must sort its values is done here, all else by
 * arithmetic.c.
 */

/* How a percentile's place in the sorted values is found: types of Hyndman and
 * Fan (1996); LEGACY is the (n + 1) p of commons-math, their type 6. */
enum estimation { EST_LEGACY, EST_R3, EST_R7 };

struct aggregator {
    const char *name;
    enum aggregator_kind kind;
    enum interpolation interpolation;
    double percentile;
    enum estimation estimation; /* of integers; doubles: always LEGACY */
};

/* In the order in which OpenTSDB lists them (that of a hash table). */
static const struct aggregator aggregators[] = {
    { "mult", KIND_MULT, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "p90", KIND_PERCENTILE, INTERPOLATE_LERP, 90, EST_LEGACY },
    { "zimsum", KIND_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "mimmax", KIND_MAX, INTERPOLATE_MIN, 0, EST_LEGACY },
    { "sum", KIND_SUM, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "p50", KIND_PERCENTILE, INTERPOLATE_LERP, 50, EST_LEGACY },
    { "none", KIND_NONE, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "p95", KIND_PERCENTILE, INTERPOLATE_LERP, 95, EST_LEGACY },
    { "ep99r7", KIND_PERCENTILE, INTERPOLATE_LERP, 99, EST_R7 },
    { "pfsum", KIND_SUM, INTERPOLATE_PREV, 0, EST_LEGACY },
    { "p75", KIND_PERCENTILE, INTERPOLATE_LERP, 75, EST_LEGACY },
    { "p99", KIND_PERCENTILE, INTERPOLATE_LERP, 99, EST_LEGACY },
    { "ep99r3", KIND_PERCENTILE, INTERPOLATE_LERP, 99, EST_R3 },
    { "ep95r7", KIND_PERCENTILE, INTERPOLATE_LERP, 95, EST_R7 },
    { "min", KIND_MIN, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "avg", KIND_AVG, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "ep75r7", KIND_PERCENTILE, INTERPOLATE_LERP, 75, EST_R7 },
    { "dev", KIND_DEV, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "ep95r3", KIND_PERCENTILE, INTERPOLATE_LERP, 95, EST_R3 },
    { "ep75r3", KIND_PERCENTILE, INTERPOLATE_LERP, 75, EST_R3 },
    { "ep50r7", KIND_PERCENTILE, INTERPOLATE_LERP, 50, EST_R7 },
    { "ep90r7", KIND_PERCENTILE, INTERPOLATE_LERP, 90, EST_R7 },
    { "mimmin", KIND_MIN, INTERPOLATE_MAX, 0, EST_LEGACY },
    { "p999", KIND_PERCENTILE, INTERPOLATE_LERP, 99.9, EST_LEGACY },
    { "ep50r3", KIND_PERCENTILE, INTERPOLATE_LERP, 50, EST_R3 },
    { "ep90r3", KIND_PERCENTILE, INTERPOLATE_LERP, 90, EST_R3 },
    { "ep999r7", KIND_PERCENTILE, INTERPOLATE_LERP, 99.9, EST_R7 },
    { "last", KIND_LAST, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "max", KIND_MAX, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "count", KIND_COUNT, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "diff", KIND_DIFF, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "median", KIND_MEDIAN, INTERPOLATE_LERP, 0, EST_LEGACY },
    { "squareSum", KIND_SQUARE_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "ep999r3", KIND_PERCENTILE, INTERPOLATE_LERP, 99.9, EST_R3 },
    { "first", KIND_FIRST, INTERPOLATE_ZIM, 0, EST_LEGACY },
};

#define AGGREGATORS_LEN (sizeof aggregators / sizeof aggregators[0])

const struct aggregator *
aggregator_find(struct slice name)
{
    for (size_t i = 0; i < AGGREGATORS_LEN; i++)
        if (slice_eq_str(name, aggregators[i].name))
            return &aggregators[i];
    return NULL;
}

const char *
aggregator_name(const struct aggregator *a)
{
    return a->name;
}

enum interpolation
aggregator_interpolation(const struct aggregator *a)
{
    return a->interpolation;
}

bool
aggregator_is_none(const struct aggregator *a)
{
    return a->kind == KIND_NONE;
}

const struct aggregator *
aggregator_at(size_t i)
{
    return i < AGGREGATORS_LEN ? &aggregators[i] : NULL;
}

enum aggregator_kind
aggregator_kind(const struct aggregator *a)
{
    return a->kind;
}

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
aggregator_fold(const struct aggregator *a, const double *v, size_t len)
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
        return aggregator_fold(a, v, len);
    len = drop_nans(v, len);
    if (len == 0)
        return NAN;
    if (a->kind == KIND_PERCENTILE)
        return percentile_doubles(a, v, len);
    sort_doubles(v, len);
    return v[len / 2];
}
