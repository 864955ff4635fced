#include "config.h"

#include "query/aggregate/accumulate.h"

#include "query/aggregate/arithmetic.h"
#include "query/aggregate/aggregate_priv.h"

/*
 * A moment's state is a count and one or two numbers, so that a series' values
 * are added with short loops over arrays; only what must sort its values
 * keeps them all, in rows:
 *
 *     rows   moment 0: v v v .  moment 1: v v . .  moment 2: ...
 *            <- series ------>
 */

#define TIMESTAMPS_MAX 1024
#define ROWS_MAX_BYTES ((size_t)1 << 20)

bool
accumulator_init(struct accumulator *c, const struct aggregator *aggregator,
                 size_t series, size_t len, struct arena *a)
{
    size_t cap = len < TIMESTAMPS_MAX ? len : TIMESTAMPS_MAX;

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

static const struct arithmetic *
arithmetic_of(const struct accumulator *c)
{
    return &aggregator_arithmetic[c->aggregator->kind];
}

void
accumulator_begin_ints(struct accumulator *c, size_t len)
{
    begin(c, len, arithmetic_of(c)->start_int);
}

void
accumulator_begin_doubles(struct accumulator *c, size_t len)
{
    begin(c, len, arithmetic_of(c)->start_double);
}

/* -- one more series ------------------------------------------------------ */

static void
add_row(struct accumulator *c, size_t from, const union number *v, size_t len)
{
    for (size_t k = from; k < from + len; k++)
        c->rows[k * c->series + c->count[k]++] = v[k - from];
}

void
accumulator_add_ints(struct accumulator *c, size_t from, const union number *v,
                     size_t len)
{
    if (c->rows != NULL)
        add_row(c, from, v, len);
    else
        arithmetic_of(c)->each_int(c->count + from, c->a + from, c->b + from, v,
                                   len);
}

void
accumulator_add_doubles(struct accumulator *c, size_t from,
                        const union number *v, size_t len)
{
    if (c->rows != NULL)
        add_row(c, from, v, len);
    else
        arithmetic_of(c)->each_double(c->count + from, c->a + from, c->b + from,
                                      v, len);
}

/* -- the results ---------------------------------------------------------- */

void
accumulator_end_ints(struct accumulator *c, union number *out)
{
    enum aggregator_kind kind = c->aggregator->kind;

    for (size_t k = 0; k < c->len; k++)
        out[k].i =
            c->rows != NULL
                ? aggregator_run_int(c->aggregator, &c->rows[k * c->series].i,
                                     c->count[k])
                : arithmetic_end_int(kind, c->count[k], c->a[k], c->b[k]);
}

void
accumulator_end_doubles(struct accumulator *c, union number *out)
{
    enum aggregator_kind kind = c->aggregator->kind;

    for (size_t k = 0; k < c->len; k++)
        out[k].d =
            c->rows != NULL
                ? aggregator_run_double(c->aggregator,
                                        &c->rows[k * c->series].d, c->count[k])
                : arithmetic_end_double(kind, c->count[k], c->a[k], c->b[k]);
}
