/* Arithmetic of two to 26 operands, each of which is a set of series.  Series
 * with the same tags belong together; where an operand has none, 0 stands for
 * it.  As in OpenTSDB, series of the same number of points are taken point by
 * point, whatever their times are.  Others, at which it fails, are taken by
 * time, with 0 where one has no point. */
#include "query/exp/gexp_priv.h"
#include "base/text/java.h"

#include <math.h>

#define OPERANDS_MIN 2
#define OPERANDS_MAX 26

#define NEVER INT64_MAX

/* The series of one result; NULL where an operand has none. */
struct operands {
    const struct dps *dps[OPERANDS_MAX];
    size_t len;
    int operator;
};

/* NaN counts as 0, and so does a division by 0. */
static double
combine(int operator, double l, double r)
{
    switch (operator) {
    case '+':
        return l + r;
    case '-':
        return l - r;
    case '*':
        return l * r;
    default:
        return r == 0 ? 0 : l / r;
    }
}

/* Are they taken point by point?  '*len' is how many points that makes. */
static bool
is_by_place(const struct operands *o, size_t *len)
{
    size_t total = 0, most = 0, n = 0;

    for (size_t i = 0; i < o->len; i++)
        if (o->dps[i] != NULL) {
            total += o->dps[i]->len;
            most = o->dps[i]->len > most ? o->dps[i]->len : most;
            n++;
        }
    *len = total == n * most ? most : total;
    return total == n * most;
}

/* The next point of the result; 'at' is where each operand is.  False at the
 * end of all. */
static bool
combine_next(const struct operands *o, bool by_place, size_t *at, int64_t *ts,
             double *v)
{
    *ts = NEVER;
    for (size_t i = 0; i < o->len; i++)
        if (o->dps[i] != NULL && at[i] < o->dps[i]->len &&
            o->dps[i]->ts_ms[at[i]] < *ts)
            *ts = o->dps[i]->ts_ms[at[i]];
    for (size_t i = 0; i < o->len && *ts != NEVER; i++) {
        const struct dps *d = o->dps[i];
        double x = 0;

        if (d != NULL && at[i] < d->len && (by_place || d->ts_ms[at[i]] == *ts))
            x = exp_double(d, at[i]++);
        x = isnan(x) ? 0 : x;
        *v = i == 0 ? x : combine(o->operator, * v, x);
    }
    return *ts != NEVER;
}

static enum status
combine_one(const struct gexp_call *c, const struct operands *o,
            struct dps *out, struct error *e)
{
    size_t at[OPERANDS_MAX] = { 0 }, len, n = 0;
    bool by_place = is_by_place(o, &len);
    int64_t ts;
    double v = 0;
    enum status st = ST_OK;

    if (!dps_alloc(c->arena, len, out))
        return error_no_memory(e);
    while (st == ST_OK && combine_next(o, by_place, at, &ts, &v)) {
        gexp_put_double(out, n++, ts, v);
        st = deadline_tick(c->deadline, o->len, e);
    }
    out->len = n;
    return st;
}

/* The operands are called a, b, c .. in OpenTSDB's maps, and the first that
 * these list gives its tags. */
static void
list_operands(size_t *order, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    struct slice names[OPERANDS_MAX];

    for (size_t i = 0; i < len; i++) {
        names[i] = slice_of(&letters[i], 1);
        order[i] = i;
    }
    java_order(names, len, order, len);
}

enum status
gexp_combine(const struct gexp_call *c, struct gexp_list *out, struct error *e)
{
    struct join_operand operands[OPERANDS_MAX] = { 0 };
    struct join_options options = { .deadline = c->deadline };
    size_t order[OPERANDS_MAX];
    struct joined j;
    enum status st;

    if (c->lists_len < OPERANDS_MIN || c->lists_len > OPERANDS_MAX)
        return error_set(e, ST_INVALID,
                         "Must have 2 to 26 series, got %zu instead",
                         c->lists_len);
    list_operands(order, c->lists_len);
    for (size_t i = 0; i < c->lists_len; i++) {
        const struct gexp_list *l = &c->lists[order[i]];
        struct series_meta *metas =
            arena_array(c->arena, l->len, sizeof *metas);

        if (metas == NULL)
            return error_no_memory(e);
        for (size_t k = 0; k < l->len; k++)
            metas[k] = l->series[k].meta;
        operands[i].series = metas;
        operands[i].len = l->len;
    }
    st = join_series(operands, c->lists_len, &options, c->arena, &j, e);
    if (st != ST_OK)
        return st;
    out->series = arena_array(c->arena, j.len, sizeof *out->series);
    if (out->series == NULL)
        return error_no_memory(e);
    out->len = j.len;
    for (size_t i = 0; i < j.len && st == ST_OK; i++) {
        const size_t *picks = j.picks + i * j.operands;
        struct operands o = { .len = c->lists_len,
                              .operator= c->function->variant };

        for (size_t k = 0; k < o.len; k++)
            if (picks[k] != JOIN_NONE)
                o.dps[order[k]] = &c->lists[order[k]].series[picks[k]].dps;
        out->series[i].meta = j.meta[i];
        st = combine_one(c, &o, &out->series[i].dps, e);
    }
    return st;
}
