/* The numbers of expressions, row by row. */
#include "query/exp/exp_priv.h"

#include <math.h>

/* Goes before the first row.  OpenTSDB computes the numbers of series only when
 * they are read, so this is where it fails if it cannot. */
static enum status
open_rows(struct exp_plan *p, struct exp_node *node, struct error *e)
{
    const bool *is_left_out = node->joined.is_left_out;
    struct row_series *row;

    node->rows_len = 0;
    for (size_t i = 0; i < node->operands_len; i++)
        node->rows_len += node->operands[i].node->side.list.len;
    if (node->rows == NULL)
        node->rows = arena_array(p->arena, node->rows_len, sizeof *row);
    if (node->rows == NULL)
        return error_no_memory(e);
    row = node->rows;
    for (size_t i = 0; i < node->operands_len; i++) {
        struct exp_operand *o = &node->operands[i];
        bool is_metric = o->node->x == NULL;
        const struct exp_list *list =
            is_metric ? &o->node->side.list : &o->node->table.list;

        o->series = row;
        for (size_t k = 0; k < list->len; k++, row++, is_left_out++) {
            const struct exp_series *s = &list->series[k];
            bool counts = !is_metric || !*is_left_out;

            if (is_metric && counts && s->base->failed != NULL) {
                *e = *s->base->failed;
                return e->status;
            }
            *row = (struct row_series){ .dps = counts ? &s->dps : NULL,
                                        .by_place = !is_metric,
                                        .fill = o->fill };
        }
    }
    rows_open(node->rows, node->rows_len);
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
    *out = o->series[pick].value;
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
 * series; '*found' is whether there is one. */
static enum status
next_row(const struct exp_node *node, struct deadline *d, int64_t *ts,
         bool *found, struct error *e)
{
    enum status st = deadline_tick(d, node->operands_len + node->rows_len, e);

    *found = st == ST_OK && rows_next(node->rows, node->rows_len, ts);
    for (size_t i = 0; i < node->operands_len && *found; i++) {
        const struct exp_operand *o = &node->operands[i];

        if (o->node->x != NULL &&
            (o->node->side.list.len == 0 || !o->series->has_value))
            return error_set(e, ST_INVALID,
                             "No more data of the expression %.*s",
                             SLICE_ARG(o->node->id));
    }
    return st;
}

/* Makes room for the points of all series, which have the same times. */
static bool
alloc_table(const struct exp_node *node, struct arena *a, struct exp_table *t)
{
    const struct exp_list *list = &node->side.list;
    struct dps all;
    size_t cells;

    if (__builtin_mul_overflow(t->rows, list->len, &cells))
        return false;
    all = (struct dps){ .ts_ms = arena_array(a, t->rows, sizeof *all.ts_ms),
                        .v = arena_array(a, cells, sizeof *all.v),
                        .kind = arena_array(a, t->rows, sizeof *all.kind),
                        .len = t->rows };
    t->ts_ms = all.ts_ms;
    t->list.series =
        arena_copy(a, list->series, list->len * sizeof *list->series);
    t->list.len = list->len;
    if (all.ts_ms == NULL || all.v == NULL || all.kind == NULL ||
        t->list.series == NULL)
        return false;
    memset(all.kind, DP_DOUBLE, t->rows);
    for (size_t i = 0; i < list->len; i++, all.v += t->rows)
        t->list.series[i].dps = all;
    return true;
}

/* Counts the rows, then computes them. */
static enum status
run_rows(struct exp_plan *p, struct exp_node *node, struct error *e)
{
    struct exp_table t = { .is_metric = node->x == NULL };
    double *variables =
        arena_array(p->arena, node->operands_len, sizeof *variables);
    bool found = true;
    int64_t ts;
    enum status st = open_rows(p, node, e);

    for (; st == ST_OK && found; t.rows += found)
        st = next_row(node, &p->deadline, &ts, &found, e);
    if (st != ST_OK)
        return st;
    if (variables == NULL || !alloc_table(node, p->arena, &t))
        return error_no_memory(e);
    st = open_rows(p, node, e);
    for (size_t i = 0; i < t.rows && st == ST_OK; i++) {
        st = next_row(node, &p->deadline, &t.ts_ms[i], &found, e);
        if (st == ST_OK) {
            const struct joined *j = &node->joined;

            /* Computes row 'i' of the table. */
            for (size_t m = 0; m < t.list.len && st == ST_OK; m++) {
                double *out = &t.list.series[m].dps.v[i].d;

                if (node->x == NULL) { /* its values are the row */
                    *out = node->rows[m].value;
                    continue;
                }
                st = deadline_tick(&p->deadline,
                                   expression_steps(node->x->parsed), e);
                for (size_t k = 0; k < j->operands && st == ST_OK; k++) {
                    size_t o = node->variables[k];

                    st = operand_value(&node->operands[o],
                                       j->picks[m * j->operands + o],
                                       t.ts_ms[i], &variables[k], e);
                }
                if (st == ST_OK)
                    st = expression_run(node->x->parsed, variables, out, e);
            }
        }
    }
    node->table = t;
    node->is_run = true;
    return st;
}

enum status
exp_check_empty(const struct exp_node *node, bool all_may, struct error *e)
{
    const struct exp_series *series = node->side.list.series;
    size_t empty = 0, len = node->x == NULL ? node->side.list.len : 0;

    for (size_t i = 0; i < len; i++)
        empty += series[i].dps.len == 0 && series[i].base->failed == NULL;
    if (empty == 0 || (all_may && empty == len))
        return ST_OK;
    return error_set(
        e, ST_INVALID,
        "The metric %.*s has a series without points, or rates, in the range",
        SLICE_ARG(node->id));
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
    if (st == ST_OK) {
        size_t target = (size_t)(named - p->nodes);
        bool needed[2 * EXP_IDS_MAX] = { false };

        /* The node and all expressions that it uses, these first. */
        needed[target] = true;
        for (size_t i = target + 1; i-- > 0;)
            for (size_t k = 0; needed[i] && k < p->nodes[i].operands_len; k++)
                needed[p->nodes[i].operands[k].node - p->nodes] |=
                    p->nodes[i].operands[k].node->x != NULL;
        for (size_t i = 0; i <= target && st == ST_OK; i++)
            if (needed[i] && !p->nodes[i].is_run)
                st = run_rows(p, &p->nodes[i], e);
    }
    *out = node->table;
    /* OpenTSDB reads an expression once; shown again it is at its end. */
    if (node->is_shown && node->x != NULL)
        out->rows = 0;
    node->is_shown = true;
    return st;
}
