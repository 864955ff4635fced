/* The numbers of expressions, row by row.  A row is a time at which any of the
 * metrics has a point.  Another expression is not read at that time: it gives
 * its next row, whatever its time is, as in OpenTSDB. */
#include "query/exp/exp_priv.h"

#include <math.h>

#define NEVER INT64_MAX

static bool
series_left(const struct exp_operand *o, size_t i, int64_t *ts)
{
    const struct dps *dps = &o->node->groups[i].dps;

    if (o->is_left_out[i] || o->at[i] == dps->len)
        return false;
    *ts = dps->ts_ms[o->at[i]];
    return true;
}

static int64_t
operand_next_time(const struct exp_operand *o)
{
    const struct exp_table *t = &o->node->table;
    int64_t first = NEVER, ts;

    if (o->node->x != NULL)
        return o->row < t->rows ? t->ts_ms[o->row] : NEVER;
    for (size_t i = 0; i < o->node->side.len; i++)
        if (series_left(o, i, &ts) && ts < first)
            first = ts;
    return first;
}

static enum status
operand_step(struct exp_operand *o, int64_t now_ms, struct error *e)
{
    const struct exp_node *node = o->node;
    int64_t ts;

    if (node->x != NULL) {
        if (o->row == node->table.rows)
            return error_set(e, ST_INVALID,
                             "No more data of the expression %.*s",
                             SLICE_ARG(node->id));
        o->values = node->table.values + o->row++ * node->side.len;
        return ST_OK;
    }
    for (size_t i = 0; i < node->side.len; i++) {
        o->now[i] = o->fill;
        if (series_left(o, i, &ts) && ts <= now_ms)
            o->now[i] = exp_double(&node->groups[i].dps, o->at[i]++);
    }
    o->values = o->now;
    return ST_OK;
}

/* Goes before the first row.  OpenTSDB computes the numbers of series only when
 * they are read. */
static enum status
operand_open(struct exp_operand *o, const bool *is_left_out, struct arena *a,
             struct error *e)
{
    size_t len = o->node->side.len;

    o->row = 0;
    o->is_left_out = is_left_out;
    if (o->node->x != NULL)
        return ST_OK;
    if (o->at == NULL) {
        o->at = arena_array(a, len, sizeof *o->at);
        o->now = arena_array(a, len, sizeof *o->now);
    }
    if (o->at == NULL || o->now == NULL)
        return error_no_memory(e);
    memset(o->at, 0, len * sizeof *o->at);
    for (size_t i = 0; i < len; i++)
        if (o->node->groups[i].failed != NULL && !is_left_out[i]) {
            *e = *o->node->groups[i].failed;
            return e->status;
        }
    return ST_OK;
}

/* The value of an operand for a result.  OpenTSDB has no value for the NaN of
 * an expression: it fails, and so do we. */
static enum status
operand_value(const struct exp_operand *o, size_t pick, int64_t ts, double *out,
              struct error *e)
{
    *out = 0; /* a union's missing series, whatever the fill policy is */
    if (pick == JOIN_NONE)
        return ST_OK;
    *out = o->values[pick];
    if (!isnan(*out))
        return ST_OK;
    if (o->node->x != NULL)
        return error_set(e, ST_INVALID,
                         "The expression %.*s has no value at %lld, which "
                         "another expression needs",
                         SLICE_ARG(o->node->id), (long long)ts);
    *out = o->fill;
    return ST_OK;
}

/* Goes to the next row of all operands, which costs a look at each of their
 * series; NEVER when there is none. */
static enum status
next_row(const struct exp_node *node, struct deadline *d, int64_t *ts,
         struct error *e)
{
    size_t series = 0;
    enum status st;

    *ts = NEVER;
    for (size_t i = 0; i < node->operands_len; i++) {
        int64_t next = operand_next_time(&node->operands[i]);

        *ts = next < *ts ? next : *ts;
        series += 1 + node->operands[i].node->side.len;
    }
    if (*ts == NEVER)
        return ST_OK;
    st = deadline_tick(d, series, e);
    for (size_t i = 0; i < node->operands_len && st == ST_OK; i++)
        st = operand_step(&node->operands[i], *ts, e);
    return st;
}

/* Of a metric its values are the row. */
static enum status
run_row(const struct exp_node *node, int64_t ts, double *variables, double *row,
        struct deadline *d, struct error *e)
{
    const struct joined *j = &node->joined;

    if (node->x == NULL)
        memcpy(row, node->operands->values, node->side.len * sizeof *row);
    for (size_t i = 0; i < j->len; i++) {
        enum status st = deadline_tick(d, expression_steps(node->x->parsed), e);

        for (size_t k = 0; k < j->operands && st == ST_OK; k++) {
            size_t at = node->variables[k];

            st = operand_value(&node->operands[at],
                               j->picks[i * j->operands + at], ts,
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
open_operands(struct exp_plan *p, const struct exp_node *node, struct error *e)
{
    const bool *is_left_out = node->joined.is_left_out;
    enum status st = ST_OK;

    for (size_t i = 0; i < node->operands_len && st == ST_OK; i++) {
        st = operand_open(&node->operands[i], is_left_out, p->arena, e);
        is_left_out += node->operands[i].node->side.len;
    }
    return st;
}

/* Counts the rows, then computes them. */
static enum status
run_rows(struct exp_plan *p, struct exp_node *node, struct error *e)
{
    struct exp_table t = { .series = node->side.series,
                           .len = node->side.len,
                           .is_metric = node->x == NULL };
    double *variables, *values;
    size_t cells;
    int64_t *times, ts = 0;
    enum status st = open_operands(p, node, e);

    for (t.rows = 0; st == ST_OK && ts != NEVER; t.rows += ts != NEVER)
        st = next_row(node, &p->deadline, &ts, e);
    if (st != ST_OK)
        return st;
    if (__builtin_mul_overflow(t.rows, t.len, &cells))
        return error_no_memory(e);
    variables = arena_array(p->arena, node->operands_len, sizeof *variables);
    t.ts_ms = times = arena_array(p->arena, t.rows, sizeof *times);
    t.values = values = arena_array(p->arena, cells, sizeof *values);
    if (variables == NULL || times == NULL || values == NULL)
        return error_no_memory(e);
    st = open_operands(p, node, e);
    for (size_t i = 0; i < t.rows && st == ST_OK; i++) {
        st = next_row(node, &p->deadline, &times[i], e);
        if (st == ST_OK)
            st = run_row(node, times[i], variables, values + i * t.len,
                         &p->deadline, e);
    }
    node->table = t;
    node->is_run = true;
    return st;
}

enum status
exp_check_empty(const struct exp_node *node, bool all_may, struct error *e)
{
    size_t empty = 0, len = node->x == NULL ? node->side.len : 0;

    for (size_t i = 0; i < len; i++)
        empty += node->groups[i].dps.len == 0 && node->groups[i].failed == NULL;
    if (empty == 0 || (all_may && empty == len))
        return ST_OK;
    return error_set(
        e, ST_INVALID,
        "The metric %.*s has a series without points, or rates, in the range",
        SLICE_ARG(node->id));
}

/* The node and all expressions that it uses, these first. */
static enum status
run_needed(struct exp_plan *p, size_t target, struct error *e)
{
    bool needed[2 * EXP_IDS_MAX] = { false };
    enum status st = ST_OK;

    needed[target] = true;
    for (size_t i = target + 1; i-- > 0;)
        for (size_t k = 0; needed[i] && k < p->nodes[i].operands_len; k++)
            needed[p->nodes[i].operands[k].node - p->nodes] |=
                p->nodes[i].operands[k].node->x != NULL;
    for (size_t i = 0; i <= target && st == ST_OK; i++)
        if (needed[i] && !p->nodes[i].is_run)
            st = run_rows(p, &p->nodes[i], e);
    return st;
}

enum status
exp_run(struct exp_plan *p, struct slice id, bool *found, struct exp_table *out,
        struct error *e)
{
    const struct exp_node *named = EXP_FIND(p->nodes, p->nodes_len, id);
    struct exp_node *node;
    enum status st = ST_OK;

    *found = named != NULL;
    if (named == NULL)
        return ST_OK;
    node = &p->nodes[named - p->nodes];
    if (node->x == NULL)
        st = exp_check_empty(node, true, e);
    if (st == ST_OK)
        st = run_needed(p, (size_t)(named - p->nodes), e);
    *out = node->table;
    /* OpenTSDB reads an expression once; shown again it is at its end. */
    if (node->is_shown && node->x != NULL)
        out->rows = 0;
    node->is_shown = true;
    return st;
}
