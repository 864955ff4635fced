/* A series alone: there is nothing to interpolate, and nothing to add up. */
#include <string.h>

#include "query/aggregate/interpolate_priv.h"

#define ALONE_MAX 128 /* points that are done together */

/* How many points from 'at' on, at most 'most', give timestamps of one kind:
 * one before a float is of doubles. */
static size_t
same_kind(const struct column *c, size_t at, size_t most, bool *doubles)
{
    const uint8_t *f = c->is_float == NULL ? NULL : c->is_float + at, *other;
    size_t seen = most < c->len - at ? most + 1 : most;

    *doubles = f == NULL ? !c->all_int : f[0] != 0 || (seen > 1 && f[1] != 0);
    if (f == NULL)
        return most;
    other = memchr(f, !f[0], seen);
    if (other == NULL)
        return most;
    return other - f > 1 ? (size_t)(other - f) - 1 : 1;
}

/* Points i .. i + len - 1, of one kind, each by itself. */
static void
aggregate_each(const struct aggregator *aggregator, const struct column *c,
               size_t i, size_t len, bool doubles, union number *out)
{
    uint32_t count[ALONE_MAX];
    union number a[ALONE_MAX], b[ALONE_MAX], rows[ALONE_MAX];
    struct accumulator acc = {
        .aggregator = aggregator,
        .series = 1,
        .count = count,
        .a = a,
        .b = b,
        .rows = aggregator_sorts(aggregator) ? rows : NULL,
    };
    const union number *v = aggregation_own_values(c, i, len, doubles, out);

    if (aggregator->kind == KIND_NONE) {
        memmove(out, v, len * sizeof *v);
        return;
    }
    accumulator_begin(&acc, doubles, len);
    accumulator_add(&acc, 0, v, len);
    accumulator_end(&acc, out);
}

enum status
aggregate_single(const struct aggregate_spec *spec, const struct column *column,
                 struct points *scratch, struct dps *out, struct error *e)
{
    struct column unpacked = *column, *c = &unpacked;
    size_t first = column_seek(c, spec->window.start_ms), len;
    struct times t;
    enum status st;

    /* The first rate is never a timestamp. */
    if (spec->rate != NULL && first == 0)
        first = 1;
    if (first >= c->len)
        return ST_OK;
    len = column_seek(c, spec->window.end_ms + 1);
    len = len > first ? len - first : 0;
    t = (struct times){ c->ts_ms == NULL ? NULL : c->ts_ms + first,
                        column_time(c, first), c->step_ms, len };
    st = aggregation_dps(t, spec->arena, out, e);
    if (st == ST_OK && len > 0)
        st = aggregation_values(spec, column, c->len, scratch, &c->v, e);
    while (st == ST_OK && out->len < len) {
        size_t at = first + out->len, n = len - out->len;
        bool doubles;

        n = same_kind(c, at, n < ALONE_MAX ? n : ALONE_MAX, &doubles);
        aggregate_each(spec->aggregator, c, at, n, doubles, out->v + out->len);
        st = aggregation_show(spec, out, out->len, n, doubles, e);
        out->len += n;
        if (st == ST_OK)
            st = deadline_tick(spec->deadline, n, e);
    }
    return st;
}
