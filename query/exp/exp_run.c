/* The numbers of expressions, row by row.  A row is a moment at which any of
 * the metrics has a point.  Another expression is not asked for that moment: it
 * gives its next row, whatever its time is, as in OpenTSDB. */
#include "config.h"

#include "query/exp/exp_priv.h"

#include <math.h>

#define NEVER INT64_MAX

/* An operand being read. */
struct feed {
    const struct exp_operand *operand;
    size_t *at;              /* of a metric: where each series is */
    const bool *is_left_out; /* of a metric, or NULL: see query/exp/join.h */
    double *now;             /* of a metric: each series' value in this row */
    size_t row;              /* of an expression */
    const double *values;
};

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the expressions need too much memory");
}

static bool
series_left(const struct feed *f, size_t i, int64_t *ts)
{
    const struct dps *dps = &f->operand->table->groups[i].dps;

    if ((f->is_left_out != NULL && f->is_left_out[i]) || f->at[i] == dps->len)
        return false;
    *ts = dps->ts_ms[f->at[i]];
    return true;
}

static int64_t
feed_next_time(const struct feed *f)
{
    const struct exp_table *t = f->operand->table;
    int64_t first = NEVER, ts;

    if (!f->operand->is_metric)
        return f->row < t->rows ? t->ts_ms[f->row] : NEVER;
    for (size_t i = 0; i < t->len; i++)
        if (series_left(f, i, &ts) && ts < first)
            first = ts;
    return first;
}

static double
dp_double(const struct dps *dps, size_t i)
{
    switch ((enum dp_kind)dps->kind[i]) {
    case DP_INT:
        return (double)dps->v[i].i;
    case DP_DOUBLE:
        return dps->v[i].d;
    case DP_NULL:
        break;
    }
    return NAN;
}

static enum status
feed_step(struct feed *f, int64_t now_ms, struct error *e)
{
    const struct exp_table *t = f->operand->table;
    int64_t ts;

    if (!f->operand->is_metric) {
        if (f->row == t->rows)
            return error_set(e, ST_INVALID,
                             "No more data of the expression %.*s",
                             SLICE_ARG(f->operand->name));
        f->values = t->values + f->row++ * t->len;
        return ST_OK;
    }
    for (size_t i = 0; i < t->len; i++) {
        f->now[i] = f->operand->fill;
        if (series_left(f, i, &ts) && ts <= now_ms)
            f->now[i] = dp_double(&t->groups[i].dps, f->at[i]++);
    }
    f->values = f->now;
    return ST_OK;
}

static void
feeds_rewind(struct feed *feeds, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        feeds[i].row = 0;
        if (feeds[i].operand->is_metric)
            memset(feeds[i].at, 0,
                   feeds[i].operand->table->len * sizeof *feeds[i].at);
    }
}

static int64_t
feeds_next_time(const struct feed *feeds, size_t len)
{
    int64_t first = NEVER;

    for (size_t i = 0; i < len; i++) {
        int64_t ts = feed_next_time(&feeds[i]);

        if (ts < first)
            first = ts;
    }
    return first;
}

/* A row costs a look at each series of each operand. */
static enum status
feeds_step(struct feed *feeds, size_t len, int64_t now_ms, struct deadline *p,
           struct error *e)
{
    size_t series = 0;
    enum status st;

    for (size_t i = 0; i < len; i++)
        series += 1 + feeds[i].operand->table->len;
    st = deadline_tick(p, series, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        st = feed_step(&feeds[i], now_ms, e);
    return st;
}

/* OpenTSDB computes the numbers of series only when they are read. */
static enum status
check_numbers(const struct feed *f, struct error *e)
{
    for (size_t i = 0; i < f->operand->table->len; i++) {
        const struct error *failed = f->operand->table->groups[i].failed;

        if (failed != NULL && (f->is_left_out == NULL || !f->is_left_out[i])) {
            *e = *failed;
            return e->status;
        }
    }
    return ST_OK;
}

static enum status
feeds_open(const struct exp_node *node, struct arena *a, struct feed **out,
           struct error *e)
{
    struct feed *feeds = arena_array(a, node->operands_len, sizeof *feeds);
    enum status st;

    if (feeds == NULL)
        return no_memory(e);
    for (size_t i = 0; i < node->operands_len; i++) {
        size_t len = node->operands[i].table->len;

        feeds[i].operand = &node->operands[i];
        if (!feeds[i].operand->is_metric)
            continue;
        feeds[i].at = arena_array(a, len, sizeof *feeds[i].at);
        feeds[i].now = arena_array(a, len, sizeof *feeds[i].now);
        if (node->joined.is_left_out != NULL)
            feeds[i].is_left_out = node->joined.is_left_out[i];
        if (feeds[i].at == NULL || feeds[i].now == NULL)
            return no_memory(e);
        st = check_numbers(&feeds[i], e);
        if (st != ST_OK)
            return st;
    }
    *out = feeds;
    return ST_OK;
}

/* The value of an operand for a result.  OpenTSDB has no value for the NaN of
 * an expression: it fails, and so do we. */
static enum status
operand_value(const struct feed *f, size_t pick, int64_t ts, double *out,
              struct error *e)
{
    *out = 0; /* a union's missing series, whatever the fill policy is */
    if (pick == JOIN_NONE)
        return ST_OK;
    *out = f->values[pick];
    if (!isnan(*out))
        return ST_OK;
    if (!f->operand->is_metric)
        return error_set(e, ST_INVALID,
                         "The expression %.*s has no value at %lld, which "
                         "another expression needs",
                         SLICE_ARG(f->operand->name), (long long)ts);
    *out = f->operand->fill;
    return ST_OK;
}

static enum status
run_row(const struct exp_node *node, const struct feed *feeds, int64_t ts,
        double *variables, double *row, struct deadline *p, struct error *e)
{
    const struct joined *j = &node->joined;
    size_t steps = expression_steps(node->x->parsed);

    for (size_t i = 0; i < j->len; i++) {
        enum status st = deadline_tick(p, steps, e);

        for (size_t k = 0; k < j->operands && st == ST_OK; k++) {
            size_t operand = node->variables[k];

            st = operand_value(&feeds[operand],
                               j->picks[i * j->operands + operand], ts,
                               &variables[k], e);
        }
        if (st == ST_OK)
            st = expression_run(node->x->parsed, variables, &row[i], e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
count_rows(struct feed *feeds, size_t len, struct deadline *p, size_t *out,
           struct error *e)
{
    enum status st = ST_OK;
    int64_t ts;

    *out = 0;
    while (st == ST_OK && (ts = feeds_next_time(feeds, len)) != NEVER) {
        st = feeds_step(feeds, len, ts, p, e);
        ++*out;
    }
    feeds_rewind(feeds, len);
    return st;
}

/* All rows of the operands: the results of the node's expression, or, without
 * one, the only operand's values. */
static enum status
run_rows(struct exp_plan *p, const struct exp_node *node, struct exp_table *t,
         struct error *e)
{
    size_t len = node->operands_len, cells;
    double *variables = arena_array(p->arena, len, sizeof *variables), *values;
    int64_t *ts;
    struct feed *feeds = NULL;
    enum status st = feeds_open(node, p->arena, &feeds, e);

    if (st == ST_OK)
        st = count_rows(feeds, len, &p->deadline, &t->rows, e);
    if (st != ST_OK)
        return st;
    if (__builtin_mul_overflow(t->rows, t->len, &cells))
        return no_memory(e);
    ts = arena_array(p->arena, t->rows, sizeof *ts);
    values = arena_array(p->arena, cells, sizeof *values);
    if (variables == NULL || ts == NULL || values == NULL)
        return no_memory(e);
    for (size_t i = 0; i < t->rows && st == ST_OK; i++) {
        double *row = values + i * t->len;

        ts[i] = feeds_next_time(feeds, len);
        st = feeds_step(feeds, len, ts[i], &p->deadline, e);
        if (st == ST_OK && node->x != NULL)
            st = run_row(node, feeds, ts[i], variables, row, &p->deadline, e);
        else if (st == ST_OK)
            memcpy(row, feeds->values, t->len * sizeof *row);
    }
    t->ts_ms = ts;
    t->values = values;
    t->is_run = true;
    return st;
}

/* The node and all that it uses, these first. */
static enum status
run_needed(struct exp_plan *p, struct exp_node *target, struct error *e)
{
    bool needed[EXP_IDS_MAX] = { false };
    enum status st = ST_OK;

    needed[target - p->nodes] = true;
    for (size_t i = p->nodes_len; i-- > 0;) {
        const struct exp_node *node = &p->nodes[p->order[i]];

        for (size_t k = 0; needed[p->order[i]] && k < node->operands_len; k++)
            if (!node->operands[k].is_metric)
                needed[exp_node_find(p, node->operands[k].name) - p->nodes] =
                    true;
    }
    for (size_t i = 0; i < p->nodes_len && st == ST_OK; i++)
        if (needed[p->order[i]] && !p->nodes[p->order[i]].table.is_run)
            st = run_rows(p, &p->nodes[p->order[i]],
                          &p->nodes[p->order[i]].table, e);
    return st;
}

/* A metric as rows: every series at every moment, 0 where it has no point. */
static enum status
run_metric(struct exp_plan *p, size_t at, struct error *e)
{
    const struct exp_table *from = &p->metrics[at];
    struct exp_operand operand = { .name = p->q->metrics[at].id,
                                   .is_metric = true,
                                   .table = from };
    struct exp_node node = { .operands = &operand, .operands_len = 1 };
    struct exp_table t = *from;
    size_t empty = 0;
    enum status st;

    for (size_t i = 0; i < t.len; i++)
        empty += t.groups[i].dps.len == 0 && t.groups[i].failed == NULL;
    if (empty > 0 && empty < t.len)
        return error_set(e, ST_INVALID,
                         "The metric %.*s has a series without points in the "
                         "range",
                         SLICE_ARG(operand.name));
    st = run_rows(p, &node, &t, e);
    if (st == ST_OK)
        p->metrics[at] = t;
    return st;
}

enum status
exp_run(struct exp_plan *p, struct slice id, const struct exp_table **out,
        bool *is_metric, struct error *e)
{
    struct exp_node *node = exp_node_find(p, id);
    enum status st;

    *out = NULL;
    *is_metric = node == NULL;
    if (node != NULL) {
        st = run_needed(p, node, e);
        /* OpenTSDB reads an expression once; shown again it is at its end. */
        if (st == ST_OK && node->is_shown) {
            struct exp_table *t = arena_array(p->arena, 1, sizeof *t);

            if (t == NULL)
                return no_memory(e);
            *t = node->table;
            t->rows = 0;
            *out = t;
            return ST_OK;
        }
        node->is_shown = true;
        *out = &node->table;
        return st;
    }
    for (size_t i = 0; i < p->q->metrics_len; i++)
        if (slice_eq(p->q->metrics[i].id, id)) {
            *out = &p->metrics[i];
            return p->metrics[i].is_run ? ST_OK : run_metric(p, i, e);
        }
    return ST_OK;
}
