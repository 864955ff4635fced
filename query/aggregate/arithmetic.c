#include "config.h"

#include <math.h>
#include <string.h>

#include "query/aggregate/arithmetic.h"

/*
 * Each function of values is written once, as a step that adds one value to the
 * state of one moment: a count and two numbers.  LOOPS() makes two loops of it:
 *
 *     each   a value to each of many timestamps: a series joins its group
 *     all    many values to one moment: a bucket, or a moment by itself
 *
 * Order and roundings are the same in both, so their results are equal to the
 * last bit.  NaNs are skipped where OpenTSDB skips them.  Longs wrap as Java's
 * do, so they are added and multiplied as unsigned numbers.
 */

#define STEP static inline __attribute__((always_inline)) void

#define LOOPS(step)                                                        \
    static void each_##step(uint32_t *n, union number *a, union number *b, \
                            const union number *v, size_t len)             \
    {                                                                      \
        for (size_t k = 0; k < len; k++)                                   \
            step(&n[k], &a[k], &b[k], v[k]);                               \
    }                                                                      \
    ALL_LOOP(step)

#define ALL_LOOP(step)                                                    \
    static void all_##step(uint32_t *n, union number *a, union number *b, \
                           const union number *v, size_t len)             \
    {                                                                     \
        uint32_t count = *n;                                              \
        union number x = *a, y = *b;                                      \
                                                                          \
        for (size_t k = 0; k < len; k++)                                  \
            step(&count, &x, &y, v[k]);                                   \
        *n = count;                                                       \
        *a = x;                                                           \
        *b = y;                                                           \
    }

/* -- steps ---------------------------------------------------------------- */

STEP
sum_int(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->i = (int64_t)((uint64_t)a->i + (uint64_t)v.i);
    ++*n;
}

STEP
sum_double(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    if (isnan(v.d))
        return;
    a->d += v.d;
    ++*n;
}

STEP
squares_int(uint32_t *n, union number *a, union number *b, union number v)
{
    v.i = (int64_t)((uint64_t)v.i * (uint64_t)v.i);
    sum_int(n, a, b, v);
}

STEP
squares_double(uint32_t *n, union number *a, union number *b, union number v)
{
    v.d *= v.d;
    sum_double(n, a, b, v);
}

STEP
mult_int(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->i = (int64_t)((uint64_t)a->i * (uint64_t)v.i);
    ++*n;
}

STEP
mult_double(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->d *= v.d;
    ++*n;
}

STEP
min_int(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->i = v.i < a->i ? v.i : a->i;
    ++*n;
}

STEP
min_double(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->d = v.d < a->d ? v.d : a->d;
    ++*n;
}

STEP
max_int(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->i = v.i > a->i ? v.i : a->i;
    ++*n;
}

STEP
max_double(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)b;
    a->d = v.d > a->d ? v.d : a->d;
    ++*n;
}

/* Welford's running variance of the whole population: 'a' is the mean. */
STEP
dev_double(uint32_t *n, union number *a, union number *b, union number v)
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

STEP
dev_int(uint32_t *n, union number *a, union number *b, union number v)
{
    dev_double(n, a, b, (union number){ .d = (double)v.i });
}

/* From the first that is no NaN to the very last, even if that is a NaN. */
STEP
diff_double(uint32_t *n, union number *a, union number *b, union number v)
{
    if (*n > 0) {
        *n = 2;
        b->d = v.d;
    } else if (!isnan(v.d)) {
        *n = 1;
        a->d = v.d;
    }
}

STEP
count_int(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)a;
    (void)b;
    (void)v;
    ++*n;
}

STEP
count_double(uint32_t *n, union number *a, union number *b, union number v)
{
    (void)a;
    (void)b;
    *n += isnan(v.d) ? 0 : 1;
}

/* The first and the last, of either kind. */
STEP
ends(uint32_t *n, union number *a, union number *b, union number v)
{
    a->i = *n == 0 ? v.i : a->i;
    b->i = v.i;
    ++*n;
}

/* -- sums, two at once ---------------------------------------------------- */

typedef double doubles __attribute__((vector_size(16)));
typedef int64_t longs __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));

/* All ones where there is a number, zeros where not. */
static inline longs
add_two(union number *a, const union number *v, bool squares)
{
    doubles x, sum;
    longs there;

    memcpy(&x, v, sizeof x);
    memcpy(&sum, a, sizeof sum);
    there = x == x; /* NOLINT(misc-redundant-expression): no NaN */
    x = squares ? x * x : x;
    sum += (doubles)((longs)x & there);
    memcpy(a, &sum, sizeof sum);
    return there;
}

/* 'squares' is a constant where this is called, and so is not tested. */
static inline void
add_sums(uint32_t *n, union number *a, union number *b, const union number *v,
         size_t len, bool squares)
{
    size_t k = 0;

    for (; len - k >= 4; k += 4) {
        longs x = add_two(a + k, v + k, squares);
        longs y = add_two(a + k + 2, v + k + 2, squares);
        ints four;

        memcpy(&four, n + k, sizeof four);
        four -= __builtin_shufflevector((ints)x, (ints)y, 0, 2, 4, 6);
        memcpy(n + k, &four, sizeof four);
    }
    for (; k < len; k++)
        if (squares)
            squares_double(&n[k], &a[k], &b[k], v[k]);
        else
            sum_double(&n[k], &a[k], &b[k], v[k]);
}

static void
each_sum_double(uint32_t *n, union number *a, union number *b,
                const union number *v, size_t len)
{
    add_sums(n, a, b, v, len, false);
}

static void
each_squares_double(uint32_t *n, union number *a, union number *b,
                    const union number *v, size_t len)
{
    add_sums(n, a, b, v, len, true);
}

/* -- the table ------------------------------------------------------------ */

LOOPS(sum_int)
ALL_LOOP(sum_double)
LOOPS(squares_int)
ALL_LOOP(squares_double)
LOOPS(mult_int)
LOOPS(mult_double)
LOOPS(min_int)
LOOPS(min_double)
LOOPS(max_int)
LOOPS(max_double)
LOOPS(dev_int)
LOOPS(dev_double)
LOOPS(diff_double)
LOOPS(count_int)
LOOPS(count_double)
LOOPS(ends)

#define INTS(step)    .each_int = each_##step, .all_ints = all_##step
#define DOUBLES(step) .each_double = each_##step, .all_doubles = all_##step
#define ENDS                      \
    {                             \
        INTS(ends), DOUBLES(ends) \
    }

const struct arithmetic aggregator_arithmetic[KIND_PERCENTILE + 1] = {
    [KIND_SUM] = { INTS(sum_int), DOUBLES(sum_double) },
    [KIND_AVG] = { INTS(sum_int), DOUBLES(sum_double) },
    [KIND_SQUARE_SUM] = { INTS(squares_int), DOUBLES(squares_double) },
    [KIND_MULT] = { INTS(mult_int),
                    DOUBLES(mult_double),
                    { .i = 1 },
                    { .d = 1 } },
    [KIND_MIN] = { INTS(min_int),
                   DOUBLES(min_double),
                   { .i = INT64_MAX },
                   { .d = INFINITY } },
    [KIND_MAX] = { INTS(max_int),
                   DOUBLES(max_double),
                   { .i = INT64_MIN },
                   { .d = -INFINITY } },
    [KIND_DEV] = { INTS(dev_int), DOUBLES(dev_double) },
    [KIND_DIFF] = { INTS(ends), DOUBLES(diff_double) },
    [KIND_COUNT] = { INTS(count_int), DOUBLES(count_double) },
    [KIND_FIRST] = ENDS,
    [KIND_LAST] = ENDS,
    [KIND_NONE] = ENDS,
    /* KIND_MEDIAN, KIND_PERCENTILE: see aggregator_sorts() */
};
