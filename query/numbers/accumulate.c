#include "config.h"

#include "query/numbers/accumulate.h"

#include <math.h>
#include <string.h>

#include "query/numbers/aggregator_priv.h"
#include "query/numbers/numbers_priv.h"

/*
 * A moment's state is a count and one or two numbers, so that a series' values
 * are folded in with short loops over arrays; only what must sort its values
 * keeps them all, in rows:
 *
 *     rows   moment 0: v v v .  moment 1: v v . .  moment 2: ...
 *            <- series ------>
 */

#define MOMENTS_MAX    1024
#define ROWS_MAX_BYTES ((size_t)1 << 20)

bool
accumulator_init(struct accumulator *c, const struct aggregator *aggregator,
                 size_t series, size_t len, struct arena *a)
{
    size_t cap = len < MOMENTS_MAX ? len : MOMENTS_MAX;

    *c = (struct accumulator){ .aggregator = aggregator, .series = series };
    if (aggregator_sorts(aggregator)) {
        size_t fit = ROWS_MAX_BYTES / sizeof *c->rows / series;

        cap = fit == 0 ? 1 : fit < cap ? fit : cap;
        c->rows =
            (union number *)column_array(a, series, cap * sizeof *c->rows);
        if (c->rows == NULL)
            return false;
    }
    c->cap = cap;
    c->count = (uint32_t *)column_array(a, cap, sizeof *c->count);
    c->a = (union number *)column_array(a, cap, sizeof *c->a);
    c->b = (union number *)column_array(a, cap, sizeof *c->b);
    return c->count != NULL && c->a != NULL && c->b != NULL;
}

static void
begin(struct accumulator *c, size_t len, union number a)
{
    c->len = len;
    for (size_t k = 0; k < len; k++) {
        c->count[k] = 0;
        c->a[k] = a;
        c->b[k].i = 0; /* which is 0.0, too */
    }
}

void
accumulator_begin_ints(struct accumulator *c, size_t len)
{
    enum aggregator_kind kind = aggregator_kind(c->aggregator);
    union number a = { .i = 0 };

    if (kind == KIND_MIN)
        a.i = INT64_MAX;
    else if (kind == KIND_MAX)
        a.i = INT64_MIN;
    else if (kind == KIND_MULT)
        a.i = 1;
    begin(c, len, a);
}

void
accumulator_begin_doubles(struct accumulator *c, size_t len)
{
    enum aggregator_kind kind = aggregator_kind(c->aggregator);
    union number a = { .d = 0 };

    if (kind == KIND_MIN)
        a.d = INFINITY;
    else if (kind == KIND_MAX)
        a.d = -INFINITY;
    else if (kind == KIND_MULT)
        a.d = 1;
    begin(c, len, a);
}

/* -- one more series ------------------------------------------------------ */

static void
add_row(struct accumulator *c, size_t from, const union number *v, size_t len)
{
    for (size_t k = from; k < from + len; k++)
        c->rows[k * c->series + c->count[k]++] = v[k - from];
}

/* One step of Welford's running variance; 'n' counts 'x' already. */
static inline void
dev_step(double *mean, double *squares, uint32_t n, double x)
{
    double next;

    if (n == 1) {
        *mean = x;
        return;
    }
    next = *mean + (x - *mean) / (double)n;
    *squares += (x - *mean) * (x - next);
    *mean = next;
}

/* Longs wrap, so they are added and multiplied as unsigned numbers. */
static inline int64_t
wrap_add(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static inline int64_t
wrap_mul(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

void
accumulator_add_ints(struct accumulator *c, size_t from, const union number *v,
                     size_t len)
{
    uint32_t *count = c->count + from;
    union number *a = c->a + from, *b = c->b + from;

    switch (aggregator_kind(c->aggregator)) {
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        add_row(c, from, v, len);
        return;
    case KIND_SUM:
    case KIND_AVG:
        for (size_t k = 0; k < len; k++)
            a[k].i = wrap_add(a[k].i, v[k].i);
        break;
    case KIND_SQUARE_SUM:
        for (size_t k = 0; k < len; k++)
            a[k].i = wrap_add(a[k].i, wrap_mul(v[k].i, v[k].i));
        break;
    case KIND_MULT:
        for (size_t k = 0; k < len; k++)
            a[k].i = wrap_mul(a[k].i, v[k].i);
        break;
    case KIND_MIN:
        for (size_t k = 0; k < len; k++)
            a[k].i = v[k].i < a[k].i ? v[k].i : a[k].i;
        break;
    case KIND_MAX:
        for (size_t k = 0; k < len; k++)
            a[k].i = v[k].i > a[k].i ? v[k].i : a[k].i;
        break;
    case KIND_DEV:
        for (size_t k = 0; k < len; k++)
            dev_step(&a[k].d, &b[k].d, count[k] + 1, (double)v[k].i);
        break;
    case KIND_DIFF:
    case KIND_FIRST:
    case KIND_LAST:
    case KIND_NONE:
        for (size_t k = 0; k < len; k++) {
            a[k].i = count[k] == 0 ? v[k].i : a[k].i;
            b[k].i = v[k].i;
        }
        break;
    case KIND_COUNT:
        break;
    }
    for (size_t k = 0; k < len; k++)
        count[k]++;
}

/* Two at once, where the compiler finds instructions for it. */
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

/* As below, of so many that four divides them. */
static inline void
add_fours(uint32_t *count, union number *a, const union number *v, size_t len,
          bool squares)
{
    for (size_t k = 0; k < len; k += 4) {
        longs x = add_two(a + k, v + k, squares);
        longs y = add_two(a + k + 2, v + k + 2, squares);
        ints n;

        memcpy(&n, count + k, sizeof n);
        n -= __builtin_shufflevector((ints)x, (ints)y, 0, 2, 4, 6);
        memcpy(count + k, &n, sizeof n);
    }
}

/* 'squares' is a constant where this is called, and so is not tested. */
static inline void
add_sums(uint32_t *count, union number *a, const union number *v, size_t len,
         bool squares)
{
    size_t fours = len - len % 4;

    add_fours(count, a, v, fours, squares);
    for (size_t k = fours; k < len; k++) {
        bool there = !isnan(v[k].d);
        double x = squares ? v[k].d * v[k].d : v[k].d;

        a[k].d += there ? x : 0;
        count[k] += there;
    }
}

static void
add_diffs(uint32_t *count, union number *a, union number *b,
          const union number *v, size_t len)
{
    for (size_t k = 0; k < len; k++) {
        if (count[k] > 0) {
            count[k] = 2;
            b[k].d = v[k].d;
        } else if (!isnan(v[k].d)) {
            count[k] = 1;
            a[k].d = v[k].d;
        }
    }
}

void
accumulator_add_doubles(struct accumulator *c, size_t from,
                        const union number *v, size_t len)
{
    uint32_t *count = c->count + from;
    union number *a = c->a + from, *b = c->b + from;

    switch (aggregator_kind(c->aggregator)) {
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        add_row(c, from, v, len);
        break;
    case KIND_SUM:
    case KIND_AVG:
        add_sums(count, a, v, len, false);
        break;
    case KIND_SQUARE_SUM:
        add_sums(count, a, v, len, true);
        break;
    case KIND_MULT:
        for (size_t k = 0; k < len; k++)
            a[k].d *= v[k].d;
        break;
    case KIND_MIN:
        for (size_t k = 0; k < len; k++)
            a[k].d = v[k].d < a[k].d ? v[k].d : a[k].d;
        break;
    case KIND_MAX:
        for (size_t k = 0; k < len; k++)
            a[k].d = v[k].d > a[k].d ? v[k].d : a[k].d;
        break;
    case KIND_DEV:
        for (size_t k = 0; k < len; k++)
            if (!isnan(v[k].d))
                dev_step(&a[k].d, &b[k].d, ++count[k], v[k].d);
        break;
    case KIND_DIFF:
        add_diffs(count, a, b, v, len);
        break;
    case KIND_COUNT:
        for (size_t k = 0; k < len; k++)
            count[k] += isnan(v[k].d) ? 0 : 1;
        break;
    case KIND_FIRST:
    case KIND_LAST:
    case KIND_NONE:
        for (size_t k = 0; k < len; k++) {
            a[k].d = count[k] == 0 ? v[k].d : a[k].d;
            b[k].d = v[k].d;
            count[k]++;
        }
        break;
    }
}

/* -- the results ---------------------------------------------------------- */

static int64_t
end_int(struct accumulator *c, size_t k)
{
    switch (aggregator_kind(c->aggregator)) {
    case KIND_AVG:
        return c->a[k].i / (int64_t)c->count[k];
    case KIND_COUNT:
        return (int64_t)c->count[k];
    case KIND_DEV:
        return aggregator_to_int(sqrt(c->b[k].d / (double)c->count[k]));
    case KIND_DIFF:
        return (int64_t)((uint64_t)c->b[k].i - (uint64_t)c->a[k].i);
    case KIND_LAST:
        return c->b[k].i;
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        return aggregator_run_int(c->aggregator, &c->rows[k * c->series].i,
                                  c->count[k]);
    case KIND_SUM:
    case KIND_SQUARE_SUM:
    case KIND_MULT:
    case KIND_MIN:
    case KIND_MAX:
    case KIND_FIRST:
    case KIND_NONE:
        break;
    }
    return c->a[k].i;
}

static double
end_double(struct accumulator *c, size_t k)
{
    uint32_t n = c->count[k];
    double a = c->a[k].d;

    switch (aggregator_kind(c->aggregator)) {
    case KIND_SUM:
    case KIND_SQUARE_SUM:
        return n == 0 ? (double)NAN : a;
    case KIND_AVG:
        return n == 0 ? (double)NAN : a / (double)n;
    case KIND_MIN:
        return a == INFINITY ? (double)NAN : a;
    case KIND_MAX:
        return a == -INFINITY ? (double)NAN : a;
    case KIND_DEV:
        return n == 0 ? (double)NAN : sqrt(c->b[k].d / (double)n);
    case KIND_DIFF:
        return n == 0 ? (double)NAN : n == 1 ? 0 : c->b[k].d - a;
    case KIND_COUNT:
        return (double)n;
    case KIND_LAST:
        return c->b[k].d;
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        return aggregator_run_double(c->aggregator, &c->rows[k * c->series].d,
                                     n);
    case KIND_MULT:
    case KIND_FIRST:
    case KIND_NONE:
        break;
    }
    return a;
}

void
accumulator_end_ints(struct accumulator *c, union number *out)
{
    for (size_t k = 0; k < c->len; k++)
        out[k].i = end_int(c, k);
}

void
accumulator_end_doubles(struct accumulator *c, union number *out)
{
    for (size_t k = 0; k < c->len; k++)
        out[k].d = end_double(c, k);
}
