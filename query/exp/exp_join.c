/* What belongs to what: each expression's operands, in the order in which
 * OpenTSDB's maps list them, and their series joined; expressions that use
 * others after those. */
#include "query/exp/exp_priv.h"

#include <ctype.h>

#include "base/text/java.h"

static enum status
make_metric(struct exp_plan *p, const struct exp_metric *m,
            const struct query_result *result, struct uid_table *uids,
            struct error *e)
{
    struct exp_node *node = &p->nodes[p->nodes_len++];
    uint64_t *tagks = arena_array(p->arena, m->sub->filters_len, sizeof *tagks);
    enum status st;

    *node = (struct exp_node){
        .id = m->id,
        .fill = m->fill.given ? m->fill.value : 0,
        .side.query_tagks = tagks,
        .operands = arena_array(p->arena, 1, sizeof *node->operands),
        .operands_len = 1,
    };
    st = exp_list_read(result, m->sub, uids, &p->deadline, p->arena,
                       &node->side.list, e);
    if (st != ST_OK)
        return st;
    node->joined.is_left_out =
        arena_array(p->arena, node->side.list.len, sizeof(bool));
    if (tagks == NULL || node->operands == NULL ||
        node->joined.is_left_out == NULL)
        return error_no_memory(e);
    node->operands->node = node;
    for (size_t i = 0; i < m->sub->filters_len; i++) {
        st = uid_find(uids, UID_TAGK, m->sub->filters[i].tagk,
                      &tagks[node->side.query_tagks_len], e);
        if (st == ST_OK)
            node->side.query_tagks_len++;
        else if (st != ST_NOT_FOUND)
            return st;
    }
    return ST_OK;
}

/* 'reaches' is a square of booleans: which expressions each one uses, by others
 * too.  One more use makes those that reach 'at' reach what 'to' does. */
static void
add_use(uint8_t *reaches, size_t n, size_t at, size_t to)
{
    for (size_t i = 0; i < n; i++) {
        if ((i != at && reaches[i * n + at] == 0) || reaches[i * n + to] != 0)
            continue;
        reaches[i * n + to] = 1;
        for (size_t k = 0; k < n; k++)
            reaches[i * n + k] |= reaches[to * n + k];
    }
}

static enum status
note_uses(const struct exp_query *q, size_t at, uint8_t *reaches,
          struct error *e)
{
    const struct exp_expression *all = q->expressions, *x = &all[at], *used;
    size_t n = q->expressions_len, len;
    const struct slice *names = expression_names(x->parsed, &len);

    for (size_t i = 0; i < len; i++) {
        used = EXP_FIND(all, n, names[i]);
        if (used == NULL)
            continue;
        if (used == x || reaches[(size_t)(used - all) * n + at] != 0)
            return error_set(e, ST_INVALID, "%s found: %.*s",
                             used == x ? "Self referencing expression"
                                       : "Circular reference",
                             SLICE_ARG(x->id));
        add_use(reaches, n, at, (size_t)(used - all));
    }
    return ST_OK;
}

/* Makes the nodes of expressions, in an order in which none uses a later one.
 */
static enum status
make_nodes(struct exp_plan *p, const struct exp_query *q, struct error *e)
{
    size_t n = q->expressions_len, order[EXP_IDS_MAX];
    struct slice ids[EXP_IDS_MAX];
    bool done[EXP_IDS_MAX] = { false };
    uint8_t *reaches = arena_array(p->arena, n * n, 1);

    if (reaches == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        ids[i] = q->expressions[i].id;
    }
    java_order(ids, n, order, n);
    for (size_t i = 0; i < n; i++) {
        enum status st = note_uses(q, order[i], reaches, e);

        if (st != ST_OK)
            return st;
    }
    while (p->nodes_len < q->metrics_len + n)
        for (size_t i = 0; i < n; i++) {
            bool ready = !done[i];

            for (size_t k = 0; k < n && ready; k++)
                ready = reaches[i * n + k] == 0 || done[k];
            if (!ready)
                continue;
            done[i] = true;
            p->nodes[p->nodes_len++] =
                (struct exp_node){ .id = ids[i], .x = &q->expressions[i] };
        }
    return ST_OK;
}

/* OpenTSDB puts results into a map first by metric, in the order in which that
 * map lists metrics, then by expression; and copies it to one of exact size. */
static enum status
make_operands(struct exp_plan *p, const struct exp_query *q,
              struct exp_node *node, struct error *e)
{
    /* So large that the map of all metrics has room for them. */
    size_t len, n = 0, all_metrics = (q->metrics_len * 4 + 2) / 3;
    const struct slice *names = expression_names(node->x->parsed, &len);
    size_t *order = arena_array(p->arena, len, sizeof *order);

    node->operands = arena_array(p->arena, len, sizeof *node->operands);
    node->variables = arena_array(p->arena, len, sizeof *node->variables);
    if (order == NULL || node->operands == NULL || node->variables == NULL)
        return error_no_memory(e);
    for (size_t pass = 0; pass < 2; pass++) {
        size_t from = n;

        for (size_t i = 0; i < len; i++)
            if ((EXP_FIND(p->nodes, q->metrics_len, names[i]) != NULL) ==
                (pass == 0))
                order[n++] = i;
        java_order(names, pass == 0 ? all_metrics : JAVA_DEFAULT_SIZE,
                   order + from, n - from);
    }
    java_order(names, JAVA_DEFAULT_SIZE, order, len);
    java_order(names, len, order, len);
    node->operands_len = len;
    for (size_t i = 0; i < len; i++) {
        const struct exp_node *used =
            EXP_FIND(p->nodes, p->nodes_len, names[order[i]]);

        node->operands[i].node = &p->nodes[used - p->nodes];
        node->operands[i].fill = used->fill;
        node->variables[order[i]] = i;
    }
    return ST_OK;
}

static bool
is_lower_of(struct slice lower, struct slice name)
{
    for (size_t i = 0; i < name.size && lower.size == name.size; i++)
        if (lower.data[i] != tolower(name.data[i]))
            return false;
    return lower.size == name.size;
}

/* It looks for the results of a variable by its name in lower case. */
static enum status
check_operands(const struct exp_node *node, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < node->operands_len && st == ST_OK; i++) {
        const struct exp_node *o = node->operands[i].node;
        size_t k = 0;

        while (k < node->operands_len &&
               !is_lower_of(node->operands[k].node->id, o->id))
            k++;
        if (k == node->operands_len)
            return error_set(e, ST_INVALID, "Missing results for variable %.*s",
                             SLICE_ARG(o->id));
        st = exp_check_empty(o, false, e);
    }
    return st;
}

enum status
exp_join(const struct exp_query *q, const struct query_result *result,
         struct uid_table *uids, struct arena *a, struct exp_plan **out,
         struct error *e)
{
    struct exp_plan *p = arena_array(a, 1, sizeof *p);
    enum status st = ST_OK;

    *out = p;
    if (p == NULL)
        return error_no_memory(e);
    *p = (struct exp_plan){ .arena = a, .deadline = result->deadline };
    p->nodes =
        arena_array(a, q->metrics_len + q->expressions_len, sizeof *p->nodes);
    if (p->nodes == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < q->metrics_len && st == ST_OK; i++)
        st = make_metric(p, &q->metrics[i], result, uids, e);
    if (st == ST_OK)
        st = make_nodes(p, q, e);
    for (size_t i = q->metrics_len; i < p->nodes_len && st == ST_OK; i++) {
        st = make_operands(p, q, &p->nodes[i], e);
        if (st == ST_OK) {
            struct exp_node *node = &p->nodes[i];
            const struct join_options o = {
                .intersection = node->x->intersection,
                .use_query_tags = node->x->use_query_tags,
                .include_agg_tags = node->x->include_agg_tags,
                .name = node->id,
                .deadline = &p->deadline,
            };
            struct join_operand *sides =
                arena_array(p->arena, node->operands_len, sizeof *sides);

            st = check_operands(node, e);
            if (st == ST_OK && sides == NULL)
                st = error_no_memory(e);
            for (size_t k = 0; k < node->operands_len && st == ST_OK; k++)
                sides[k] = node->operands[k].node->side;
            if (st == ST_OK)
                st = join_series(sides, node->operands_len, &o, p->arena,
                                 &node->joined, e);
            node->side.list = node->joined.list;
        }
    }
    return st;
}
