/* Arithmetic of two to 26 operands, each of which is a set of series.  Series
 * with the same tags belong together; where an operand has none, 0 stands for
 * it.  As in OpenTSDB, series of the same number of points are taken point by
 * point, whatever their times are.  Others, at which it fails, are taken by
 * time, with 0 where one has no point. */
#include "config.h"

#include "query/exp/gexp_priv.h"
#include "query/model/java_order.h"

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

static double
operand_value(const struct dps *d, size_t i)
{
    double v = gexp_double(d, i);

    return isnan(v) ? 0 : v;
}

static bool
have_same_length(const struct operands *o, size_t *len)
{
    bool any = false;

    *len = 0;
    for (size_t i = 0; i < o->len; i++) {
        if (o->dps[i] == NULL)
            continue;
        if (any && o->dps[i]->len != *len)
            return false;
        *len = o->dps[i]->len;
        any = true;
    }
    return true;
}

static enum status
combine_by_place(const struct operands *o, struct deadline *p, struct dps *out,
                 struct error *e)
{
    enum status st = ST_OK;

    for (size_t at = 0; at < out->len && st == ST_OK; at++) {
        int64_t ts = NEVER;
        double v = 0;

        for (size_t i = 0; i < o->len; i++) {
            const struct dps *d = o->dps[i];
            double x = d == NULL ? 0 : operand_value(d, at);

            if (d != NULL && d->ts_ms[at] < ts)
                ts = d->ts_ms[at];
            v = i == 0 ? x : combine(o->operator, v, x);
        }
        gexp_put_double(out, at, ts, v);
        st = deadline_tick(p, o->len, e);
    }
    return st;
}

/* 'at' is where each operand is; false at the end of all. */
static bool
combine_next(const struct operands *o, size_t *at, int64_t *ts, double *v)
{
    *ts = NEVER;
    for (size_t i = 0; i < o->len; i++)
        if (o->dps[i] != NULL && at[i] < o->dps[i]->len &&
            o->dps[i]->ts_ms[at[i]] < *ts)
            *ts = o->dps[i]->ts_ms[at[i]];
    for (size_t i = 0; i < o->len && *ts != NEVER; i++) {
        const struct dps *d = o->dps[i];
        double x = 0;

        if (d != NULL && at[i] < d->len && d->ts_ms[at[i]] == *ts)
            x = operand_value(d, at[i]++);
        *v = i == 0 ? x : combine(o->operator, * v, x);
    }
    return *ts != NEVER;
}

static enum status
combine_by_time(const struct operands *o, const struct gexp_call *c,
                struct dps *out, struct error *e)
{
    size_t at[OPERANDS_MAX] = { 0 }, total = 0, n = 0;
    int64_t ts;
    double v = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < o->len; i++)
        total += o->dps[i] == NULL ? 0 : o->dps[i]->len;
    if (!gexp_new_points(c->arena, total, out))
        return gexp_no_memory(e);
    while (st == ST_OK && combine_next(o, at, &ts, &v)) {
        gexp_put_double(out, n++, ts, v);
        st = deadline_tick(c->deadline, o->len, e);
    }
    out->len = n;
    return st;
}

/* -- joining --------------------------------------------------------------- */

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
    java_order(names, JAVA_DEFAULT_SIZE, order, len);
    java_order(names, len, order, len);
}

/* An aliased series is a metric of its own name, without keys that differ. */
static enum status
operand_metas(const struct gexp_list *l, struct arena *a,
              struct series_meta **out, struct error *e)
{
    struct series_meta *metas = arena_array(a, l->len, sizeof *metas);

    *out = metas;
    if (metas == NULL)
        return gexp_no_memory(e);
    for (size_t i = 0; i < l->len; i++) {
        metas[i] = l->series[i].meta;
        if (l->series[i].alias.data == NULL)
            continue;
        metas[i].aggregate_tags_len = 0;
        metas[i].metrics = arena_array(a, 1, sizeof *metas[i].metrics);
        if (metas[i].metrics == NULL)
            return gexp_no_memory(e);
        metas[i].metrics[0].name = l->series[i].alias;
        metas[i].metrics_len = 1;
    }
    return ST_OK;
}

static enum status
combine_one(const struct gexp_call *c, int operator, const size_t * order,
            const size_t *picks, struct gexp_series *out, struct error *e)
{
    struct operands o = { .len = c->lists_len, .operator= operator};
    size_t len;

    for (size_t i = 0; i < c->lists_len; i++)
        if (picks[i] != JOIN_NONE)
            o.dps[order[i]] = &c->lists[order[i]].series[picks[i]].dps;
    if (!have_same_length(&o, &len))
        return combine_by_time(&o, c, &out->dps, e);
    if (!gexp_new_points(c->arena, len, &out->dps))
        return gexp_no_memory(e);
    return combine_by_place(&o, c->deadline, &out->dps, e);
}

enum status
gexp_combine(const struct gexp_call *c, int variant, struct gexp_list *out,
             struct error *e)
{
    struct join_operand operands[OPERANDS_MAX] = { 0 };
    struct join_options options = { .name = slice_str(""),
                                    .deadline = c->deadline };
    size_t order[OPERANDS_MAX];
    struct joined j;
    enum status st = ST_OK;

    if (c->lists_len < OPERANDS_MIN || c->lists_len > OPERANDS_MAX)
        return error_set(e, ST_INVALID,
                         "Must have 2 to 26 series, got %zu instead",
                         c->lists_len);
    list_operands(order, c->lists_len);
    for (size_t i = 0; i < c->lists_len && st == ST_OK; i++) {
        struct series_meta *metas;

        st = operand_metas(&c->lists[order[i]], c->arena, &metas, e);
        operands[i].series = metas;
        operands[i].len = c->lists[order[i]].len;
    }
    if (st == ST_OK)
        st = join_series(operands, c->lists_len, &options, c->arena, &j, e);
    if (st != ST_OK)
        return st;
    out->series = arena_array(c->arena, j.len, sizeof *out->series);
    if (out->series == NULL)
        return gexp_no_memory(e);
    out->len = j.len;
    for (size_t i = 0; i < j.len && st == ST_OK; i++) {
        out->series[i].meta = j.meta[i];
        st = combine_one(c, variant, order, j.picks + i * j.operands,
                         &out->series[i], e);
    }
    return st;
}
