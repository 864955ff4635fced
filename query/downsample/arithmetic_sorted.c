/* Aggregators that sort their values, and one timestamp at a time of any. */
#include "base/text/java.h"
#include "query/downsample/arithmetic.h"

#include <math.h>
#include <stdlib.h>

#define FEW 24 /* sorted faster than selected */

/* Doubles as integers of the same order, -0.0 before 0.0, and back. */
static inline int64_t
order_of(int64_t bits)
{
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

/* Moves what is no NaN to the front, as integers of their order; returns how
 * many there are. */
static size_t
order_doubles(union number *v, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        if (!isnan(v[i].d))
            v[n++].i = order_of(v[i].i);
    return n;
}

static int
compare_ints(const void *pa, const void *pb)
{
    int64_t a = ((const union number *)pa)->i;
    int64_t b = ((const union number *)pb)->i;

    return (a > b) - (a < b);
}

/* Moves those below 'x' to the front, or with 'equal' 1 those up to it; returns
 * how many there are. */
static inline size_t
partition(union number *v, size_t len, int64_t x, size_t equal)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        union number y = v[i];

        v[i] = v[n];
        v[n] = y;
        n += (size_t)(y.i < x) | ((size_t)(y.i == x) & equal);
    }
    return n;
}

static int64_t
median_of_three(int64_t a, int64_t b, int64_t c)
{
    int64_t low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

/* Brings the n-th to its place, behind none that is greater. */
static void
select_nth(union number *v, size_t len, size_t nth)
{
    /* Values may come in an order that is bad for it. */
    for (unsigned rounds = 64; len > FEW && rounds > 0; rounds--) {
        int64_t x = median_of_three(v[0].i, v[len / 2].i, v[len - 1].i);
        size_t below = partition(v, len, x, 0), equal;

        if (nth < below) {
            len = below;
            continue;
        }
        equal = partition(v + below, len - below, x, 1);
        if (nth < below + equal)
            return;
        v += below + equal;
        len -= below + equal;
        nth -= below + equal;
    }
    if (len > FEW)
        qsort(v, len, sizeof *v, compare_ints);
    else {
        for (size_t i = 1; i < len; i++) {
            union number x = v[i];
            size_t j = i;

            for (; j > 0 && v[j - 1].i > x.i; j--)
                v[j] = v[j - 1];
            v[j] = x;
        }
    }
}

/* Of selected values, the least from 'from' on. */
static int64_t
least(const union number *v, size_t from, size_t len)
{
    int64_t x = v[from].i;

    for (size_t i = from + 1; i < len; i++)
        x = v[i].i < x ? v[i].i : x;
    return x;
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

static double
as_double(int64_t x, bool doubles)
{
    union number n = { .i = order_of(x) };

    return doubles ? n.d : (double)x;
}

union number
aggregator_run(const struct aggregator *a, bool doubles, union number *v,
               size_t len)
{
    if (!aggregator_sorts(a)) {
        const struct arithmetic *m = arithmetic_of(a);
        union number x = m->start[doubles], y = { .i = 0 };
        uint32_t n = 0;

        m->all[doubles](&n, &x, &y, v, len);
        return m->end[doubles](n, x, y);
    }
    if (doubles) {
        len = order_doubles(v, len);
        if (len == 0)
            return (union number){ .d = NAN };
    }
    if (a->kind != KIND_MEDIAN) {
        size_t low, high;
        double part, bottom;
        double place = percentile_place(doubles ? EST_LEGACY : a->estimation,
                                        a->percentile / 100, len);

        /* Finds the two sorted values between which the percentile lies, and
         * where: it is v[low] + part * (v[high] - v[low]). */
        part = 0;
        if (len == 1 || place < 1) {
            low = high = 0;
        } else if (place >= (double)len) {
            low = high = len - 1;
        } else {
            high = (size_t)floor(place);
            low = high - 1;
            part = place - floor(place);
        }
        select_nth(v, len, low);
        bottom = as_double(v[low].i, doubles);
        if (low != high)
            bottom += part * (as_double(least(v, high, len), doubles) - bottom);
        if (doubles)
            return (union number){ .d = bottom };
        return (union number){ .i = java_long(bottom) };
    }
    select_nth(v, len, len / 2);
    return doubles ? (union number){ .i = order_of(v[len / 2].i) } : v[len / 2];
}
