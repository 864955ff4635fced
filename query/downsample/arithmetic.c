#include <math.h>
#include <string.h>

#include "base/text/java.h"
#include "query/downsample/arithmetic.h"

/* Each function of values is written once, as a step that adds one value to the
 * state of one timestamp: a count, two numbers.  STEP() makes two loops of it:
 *
 *     each   a value to each of many timestamps: a series joins its group
 *     all    many values to one timestamp: a bucket, or a timestamp by itself
 *
 * Order and roundings are the same in both, so their results are equal to the
 * last bit.  NaNs are skipped where OpenTSDB skips them.  Longs wrap as Java's
 * do, so they are added and multiplied as unsigned numbers. */

#define UNUSED __attribute__((unused))

#define STEP(step)                                                          \
    static inline __attribute__((always_inline)) void step(                 \
        uint32_t *n, union number *a, union number *b, union number v);     \
                                                                            \
    static void each_##step(uint32_t *n, union number *a, union number *b,  \
                            const union number *v, size_t len)              \
    {                                                                       \
        for (size_t k = 0; k < len; k++)                                    \
            step(&n[k], &a[k], &b[k], v[k]);                                \
    }                                                                       \
                                                                            \
    static void all_##step(uint32_t *n, union number *a, union number *b,   \
                           const union number *v, size_t len)               \
    {                                                                       \
        uint32_t count = *n;                                                \
        union number x = *a, y = *b;                                        \
                                                                            \
        for (size_t k = 0; k < len; k++)                                    \
            step(&count, &x, &y, v[k]);                                     \
        *n = count;                                                         \
        *a = x;                                                             \
        *b = y;                                                             \
    }                                                                       \
                                                                            \
    static inline __attribute__((always_inline)) void step(                 \
        UNUSED uint32_t *n, UNUSED union number *a, UNUSED union number *b, \
        UNUSED union number v)

STEP(sum_int)
{
    a->i = (int64_t)((uint64_t)a->i + (uint64_t)v.i);
    ++*n;
}

STEP(sum_double)
{
    if (isnan(v.d))
        return;
    a->d += v.d;
    ++*n;
}

STEP(squares_int)
{
    a->i = (int64_t)((uint64_t)a->i + (uint64_t)v.i * (uint64_t)v.i);
    ++*n;
}

STEP(squares_double)
{
    sum_double(n, a, b, (union number){ .d = v.d * v.d });
}

STEP(mult_int)
{
    a->i = (int64_t)((uint64_t)a->i * (uint64_t)v.i);
    ++*n;
}

STEP(mult_double)
{
    a->d *= v.d;
    ++*n;
}

STEP(min_int)
{
    a->i = v.i < a->i ? v.i : a->i;
    ++*n;
}

STEP(min_double)
{
    a->d = v.d < a->d ? v.d : a->d;
    ++*n;
}

STEP(max_int)
{
    a->i = v.i > a->i ? v.i : a->i;
    ++*n;
}

STEP(max_double)
{
    a->d = v.d > a->d ? v.d : a->d;
    ++*n;
}

/* Welford's running variance of the whole population: 'a' is the mean. */
STEP(dev_double)
{
    double next;

    if (isnan(v.d))
        return;
    if (++*n == 1) {
        a->d = v.d;
        return;
    }
    next = a->d + (v.d - a->d) / (double)*n;
    b->d += (v.d - a->d) * (v.d - next);
    a->d = next;
}

STEP(dev_int)
{
    dev_double(n, a, b, (union number){ .d = (double)v.i });
}

/* From the first that is no NaN to the very last, even if that is a NaN. */
STEP(diff_double)
{
    if (*n > 0) {
        *n = 2;
        b->d = v.d;
    } else if (!isnan(v.d)) {
        *n = 1;
        a->d = v.d;
    }
}

/* 'a' is the least value, 'b' the greatest. */
STEP(range_int)
{
    a->i = *n == 0 || v.i < a->i ? v.i : a->i;
    b->i = *n == 0 || v.i > b->i ? v.i : b->i;
    ++*n;
}

STEP(range_double)
{
    if (isnan(v.d))
        return;
    a->d = *n == 0 || v.d < a->d ? v.d : a->d;
    b->d = *n == 0 || v.d > b->d ? v.d : b->d;
    ++*n;
}

STEP(count_int)
{
    ++*n;
}

STEP(count_double)
{
    *n += isnan(v.d) ? 0 : 1;
}

/* The first and the last, of either kind. */
STEP(ends)
{
    a->i = *n == 0 ? v.i : a->i;
    b->i = v.i;
    ++*n;
}

typedef double doubles __attribute__((vector_size(16)));
typedef int64_t longs __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));

/* All ones where there is a number, zeros where not. */
static inline longs
add_two(union number *a, const union number *v)
{
    doubles x, sum;
    longs there;

    memcpy(&x, v, sizeof x);
    memcpy(&sum, a, sizeof sum);
    there = x == x; /* NOLINT(misc-redundant-expression): no NaN */
    sum += (doubles)((longs)x & there);
    memcpy(a, &sum, sizeof sum);
    return there;
}

/* The sums of doubles are most of the work of most groups: gcc makes no
 * vectors of each_sum_double(). */
static void
each_sum_vectors(uint32_t *n, union number *a, union number *b,
                 const union number *v, size_t len)
{
    size_t k = 0;

    for (; len - k >= 4; k += 4) {
        longs x = add_two(a + k, v + k), y = add_two(a + k + 2, v + k + 2);
        ints four;

        memcpy(&four, n + k, sizeof four);
        four -= __builtin_shufflevector((ints)x, (ints)y, 0, 2, 4, 6);
        memcpy(n + k, &four, sizeof four);
    }
    each_sum_double(n + k, a + k, b + k, v + k, len - k);
}

#define LANES 4

/* The i-th values of so many lists. */
static inline void
take_lanes(const union number *v, size_t every, doubles out[LANES / 2])
{
    for (size_t k = 0; k < LANES / 2; k++)
        out[k] = (doubles){ v[2 * k * every].d, v[(2 * k + 1) * every].d };
}

size_t
deviations(const union number *v, size_t every, size_t len, union number *out)
{
    size_t n = 0;

    for (; len - n >= LANES; n += LANES, v += LANES * every) {
        doubles mean[LANES / 2], squares[LANES / 2] = { { 0, 0 }, { 0, 0 } };
        doubles x[LANES / 2];

        take_lanes(v, every, mean);
        for (size_t i = 1; i < every; i++) {
            take_lanes(v + i, every, x);
            for (size_t k = 0; k < LANES / 2; k++) {
                doubles next = mean[k] + (x[k] - mean[k]) / (double)(i + 1);

                squares[k] += (x[k] - mean[k]) * (x[k] - next);
                mean[k] = next;
            }
        }
        for (size_t k = 0; k < LANES; k++) {
            /* There may be a NaN, which is to be skipped. */
            if (isnan(mean[k / 2][k % 2]))
                return n;
            out[n + k].d = sqrt(squares[k / 2][k % 2] / (double)every);
        }
    }
    return n;
}

/* -- results --------------------------------------------------------------- */

/* END() makes two functions of a result, as STEP() does of a step: one for a
 * state, and a loop over many. */
#define END(name, result)                                                    \
    static union number end_##name(UNUSED uint64_t n, UNUSED union number a, \
                                   UNUSED union number b)                    \
    {                                                                        \
        return result;                                                       \
    }                                                                        \
                                                                             \
    static void ends_##name(const uint32_t *n, const union number *a,        \
                            const union number *b, size_t len,               \
                            union number *out)                               \
    {                                                                        \
        for (size_t k = 0; k < len; k++)                                     \
            out[k] = end_##name(n[k], a[k], b[k]);                           \
    }

static inline union number
number_if(bool is_there, double d)
{
    return (union number){ .d = is_there ? d : (double)NAN };
}

static inline union number
integer(int64_t i)
{
    return (union number){ .i = i };
}

END(first, a)
END(last, b)
END(sum, number_if(n > 0, a.d))
END(mean_of_ints, integer(a.i / (int64_t)n))
END(mean, number_if(n > 0, a.d / (double)n))
/* Unless nothing was less, or more, than the start. */
END(least, number_if(a.d != (double)INFINITY, a.d))
END(greatest, number_if(a.d != -(double)INFINITY, a.d))
END(deviation, number_if(n > 0, sqrt(b.d / (double)n)))
END(deviation_of_ints, integer(java_long(sqrt(b.d / (double)n))))
/* From 'a' to 'b'. */
END(rise_of_ints, integer((int64_t)((uint64_t)b.i - (uint64_t)a.i)))
END(rise, number_if(n > 0, n == 1 ? 0 : b.d - a.d))
END(count_of_ints, integer((int64_t)n))
END(count, number_if(true, (double)n))

/* -- the table ------------------------------------------------------------- */

#define LOOPS(ints, doubles)                 \
    .each = { each_##ints, each_##doubles }, \
    .all = { all_##ints, all_##doubles }
#define RESULTS(ints, doubles)            \
    .end = { end_##ints, end_##doubles }, \
    .ends = { ends_##ints, ends_##doubles }
#define SUMS                                                             \
    .each = { each_sum_int, each_sum_vectors },                          \
    .all = { all_sum_int, all_sum_double }, .folds = true, .adds = true, \
    .any_order = true, .values = { SUMMARY_SUM }

const struct arithmetic aggregator_arithmetic[KIND_PERCENTILE + 1] = {
    [KIND_SUM] = { SUMS, RESULTS(first, sum) },
    [KIND_AVG] = { SUMS, RESULTS(mean_of_ints, mean) },
    [KIND_SQUARE_SUM] = { LOOPS(squares_int, squares_double),
                          RESULTS(first, sum) },
    [KIND_MULT] = { LOOPS(mult_int, mult_double), RESULTS(first, first),
                    .start = { { .i = 1 }, { .d = 1 } } },
    [KIND_MIN] = { LOOPS(min_int, min_double), RESULTS(first, least),
                   .start = { { .i = INT64_MAX }, { .d = INFINITY } },
                   .folds = true, .any_order = true,
                   .values = { SUMMARY_MIN } },
    [KIND_MAX] = { LOOPS(max_int, max_double), RESULTS(first, greatest),
                   .start = { { .i = INT64_MIN }, { .d = -INFINITY } },
                   .folds = true, .any_order = true,
                   .values = { SUMMARY_MAX } },
    [KIND_RANGE] = { LOOPS(range_int, range_double),
                     RESULTS(rise_of_ints, rise), .folds = true,
                     .any_order = true, .pairs = true,
                     .values = { SUMMARY_MIN, SUMMARY_MAX } },
    [KIND_DEV] = { LOOPS(dev_int, dev_double),
                   RESULTS(deviation_of_ints, deviation) },
    [KIND_DIFF] = { LOOPS(ends, diff_double), RESULTS(rise_of_ints, rise) },
    [KIND_COUNT] = { LOOPS(count_int, count_double),
                     RESULTS(count_of_ints, count), .folds = true,
                     .any_order = true },
    [KIND_FIRST] = { LOOPS(ends, ends), RESULTS(first, first), .folds = true,
                     .pairs = true, .values = { SUMMARY_FIRST } },
    [KIND_LAST] = { LOOPS(ends, ends), RESULTS(last, last), .folds = true,
                    .pairs = true, .values = { SUMMARY_LAST } },
    [KIND_NONE] = { LOOPS(ends, ends), RESULTS(first, first) },
    /* KIND_MEDIAN, KIND_PERCENTILE: see aggregator_sorts() */
};
