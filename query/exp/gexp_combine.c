/* Arithmetic of two to 26 operands, each of which is a set of series.  Series
 * with the same tags belong together; where an operand has none, 0 stands for
 * it.  As in OpenTSDB, series of the same number of points are taken point by
 * point, whatever their times are.  Others, at which it fails, are taken by
 * time, with 0 where one has no point. */
#include "query/exp/gexp_priv.h"

#include <math.h>

#include "base/text/java.h"
#include "query/exp/rows.h"

#define OPERANDS_MIN 2
#define OPERANDS_MAX 26

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

/* Computes one result of its series, one of each operand. */
static enum status
combine_one(const struct gexp_call *c, struct row_series *series,
            struct dps *out, struct error *e)
{
    size_t len = c->lists_len, n = 0, total = 0, most = 0, with_points = 0;
    int64_t ts;
    bool by_place;
    enum status st = ST_OK;

    for (size_t i = 0; i < len; i++)
        if (series[i].dps != NULL) {
            total += series[i].dps->len;
            most = series[i].dps->len > most ? series[i].dps->len : most;
            with_points++;
        }
    /* Series of equal length are taken point by point. */
    by_place = total == with_points * most;
    for (size_t i = 0; i < len; i++)
        series[i].by_place = by_place;
    if (!dps_alloc(c->arena, by_place ? most : total, out))
        return error_no_memory(e);
    rows_open(series, len);
    while (st == ST_OK && rows_next(series, len, &ts)) {
        double v = 0;

        for (size_t i = 0; i < len; i++) {
            double x = isnan(series[i].value) ? 0 : series[i].value;

            v = i == 0 ? x : combine(c->function->variant, v, x);
        }
        gexp_put_double(out, n++, ts, v);
        st = deadline_tick(c->deadline, len, e);
    }
    out->len = n;
    return st;
}

enum status
gexp_combine(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    struct join_operand operands[OPERANDS_MAX] = { 0 };
    struct join_options options = { .deadline = c->deadline };
    size_t order[OPERANDS_MAX];
    struct joined j;
    enum status st;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    struct slice names[OPERANDS_MAX];

    if (c->lists_len < OPERANDS_MIN || c->lists_len > OPERANDS_MAX)
        return error_set(e, ST_INVALID,
                         "Must have 2 to 26 series, got %zu instead",
                         c->lists_len);
    /* The operands are called a, b, c .. in OpenTSDB's maps, and the first that
     * these list gives its tags. */
    for (size_t i = 0; i < c->lists_len; i++) {
        names[i] = slice_of(&letters[i], 1);
        order[i] = i;
    }
    java_order(names, c->lists_len, order, c->lists_len);
    for (size_t i = 0; i < c->lists_len; i++)
        operands[i].list = c->lists[order[i]];
    st = join_series(operands, c->lists_len, &options, c->arena, &j, e);
    if (st != ST_OK)
        return st;
    *out = j.list;
    for (size_t i = 0; i < out->len && st == ST_OK; i++) {
        const size_t *picks = j.picks + i * j.operands;
        struct row_series series[OPERANDS_MAX] = { 0 };

        for (size_t k = 0; k < c->lists_len; k++)
            if (picks[k] != JOIN_NONE)
                series[order[k]].dps = &operands[k].list.series[picks[k]].dps;
        st = combine_one(c, series, &out->series[i].dps, e);
    }
    return st;
}
