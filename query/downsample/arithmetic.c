#include <math.h>
#include <string.h>

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

#define LOOPS(ints, doubles)                 \
    .each = { each_##ints, each_##doubles }, \
    .all = { all_##ints, all_##doubles }

#define SUMS                                                 \
    {                                                        \
        .each = { each_sum_int, each_sum_vectors }, .all = { \
            all_sum_int,                                     \
            all_sum_double                                   \
        }                                                    \
    }

const struct arithmetic aggregator_arithmetic[KIND_PERCENTILE + 1] = {
    [KIND_SUM] = SUMS,
    [KIND_AVG] = SUMS,
    [KIND_SQUARE_SUM] = { LOOPS(squares_int, squares_double) },
    [KIND_MULT] = { LOOPS(mult_int, mult_double), { { .i = 1 }, { .d = 1 } } },
    [KIND_MIN] = { LOOPS(min_int, min_double),
                   { { .i = INT64_MAX }, { .d = INFINITY } } },
    [KIND_MAX] = { LOOPS(max_int, max_double),
                   { { .i = INT64_MIN }, { .d = -INFINITY } } },
    [KIND_DEV] = { LOOPS(dev_int, dev_double) },
    [KIND_DIFF] = { LOOPS(ends, diff_double) },
    [KIND_COUNT] = { LOOPS(count_int, count_double) },
    [KIND_FIRST] = { LOOPS(ends, ends) },
    [KIND_LAST] = { LOOPS(ends, ends) },
    [KIND_NONE] = { LOOPS(ends, ends) },
    /* KIND_MEDIAN, KIND_PERCENTILE: see aggregator_sorts() */
};
