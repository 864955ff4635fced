#include "query/aggregate/accumulate.h"
#include "query/aggregate/aggregate_priv.h"

/* A timestamp's state is a count and one or two numbers, so that a series'
 * values are added with short loops over arrays; only what must sort its values
 * keeps them all, in rows:
 *
 *     rows   timestamp 0: v v v .  timestamp 1: v v . .  timestamp 2: ...
 *            <- series ------> */

#define TIMESTAMPS_MAX 4096
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
        c->rows = arena_array_raw(a, series, cap * sizeof *c->rows);
        if (c->rows == NULL)
            return false;
    }
    c->cap = cap;
    c->count = arena_array_raw(a, cap, sizeof *c->count);
    c->a = arena_array_raw(a, cap, sizeof *c->a);
    c->b = arena_array_raw(a, cap, sizeof *c->b);
    return c->count != NULL && c->a != NULL && c->b != NULL;
}

void
accumulator_begin(struct accumulator *c, bool doubles, size_t len)
{
    union number start = arithmetic_of(c->aggregator)->start[doubles];

    c->doubles = doubles;
    c->len = len;
    for (size_t k = 0; k < len; k++) {
        c->count[k] = 0;
        c->a[k] = start;
        c->b[k].i = 0; /* which is 0.0, too */
    }
}

void
accumulator_add(struct accumulator *c, size_t from, const union number *v,
                size_t len)
{
    if (c->rows == NULL) {
        arithmetic_of(c->aggregator)
            ->each[c->doubles](c->count + from, c->a + from, c->b + from, v,
                               len);
        return;
    }
    for (size_t k = from; k < from + len; k++)
        c->rows[k * c->series + c->count[k]++] = v[k - from];
}

void
accumulator_merge(struct accumulator *c, const struct accumulator *more)
{
    const struct arithmetic *m = arithmetic_of(c->aggregator);

    m->each[false](c->count, c->a, c->b, more->a, c->len);
    if (m->pairs)
        m->each[false](c->count, c->a, c->b, more->b, c->len);
    for (size_t k = 0; k < c->len; k++)
        c->count[k] += more->count[k] - 1 - m->pairs;
}

void
accumulator_end(struct accumulator *c, union number *out)
{
    if (c->rows == NULL)
        arithmetic_of(c->aggregator)
            ->ends[c->doubles](c->count, c->a, c->b, c->len, out);
    else
        for (size_t k = 0; k < c->len; k++)
            out[k] = aggregator_run(c->aggregator, c->doubles,
                                    &c->rows[k * c->series], c->count[k]);
}
