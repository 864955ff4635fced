/* What belongs to what: each expression's operands, in the order in which
 * OpenTSDB's maps list them, and their series joined; expressions that use
 * others after those. */
#include "config.h"

#include "query/exp/exp_priv.h"
#include "query/model/java_order.h"

#define STEPS_OF_A_SERIES 512 /* its names are looked up */

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the expressions need too much memory");
}

static const struct exp_metric *
find_metric(const struct exp_query *q, struct slice id)
{
    for (size_t i = 0; i < q->metrics_len; i++)
        if (slice_eq(q->metrics[i].id, id))
            return &q->metrics[i];
    return NULL;
}

struct exp_node *
exp_node_find(struct exp_plan *p, struct slice id)
{
    for (size_t i = 0; i < p->nodes_len; i++)
        if (slice_eq(p->nodes[i].x->id, id))
            return &p->nodes[i];
    return NULL;
}

/* -- metrics --------------------------------------------------------------- */

static enum status
make_metric_table(struct exp_plan *p, const struct query_result *result,
                  struct uid_table *uids, size_t at, struct error *e)
{
    const struct sub_query *sub = p->q->metrics[at].sub;
    struct exp_table *t = &p->metrics[at];
    struct series_meta *meta;
    size_t first = 0;
    enum status st = ST_OK;

    while (first < result->groups_len && result->groups[first].sub != sub)
        first++;
    t->groups = result->groups + first;
    while (first + t->len < result->groups_len && t->groups[t->len].sub == sub)
        t->len++;
    meta = arena_array(p->arena, t->len, sizeof *meta);
    if (meta == NULL)
        return no_memory(e);
    for (size_t i = 0; i < t->len && st == ST_OK; i++) {
        st = deadline_tick(&p->deadline, STEPS_OF_A_SERIES, e);
        if (st == ST_OK)
            st = series_meta_of(uids, &t->groups[i], p->arena, &meta[i], e);
    }
    t->series = meta;
    return st;
}

static int
compare_ids(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static enum status
find_query_tagks(struct exp_plan *p, struct uid_table *uids, size_t at,
                 struct error *e)
{
    const struct sub_query *sub = p->q->metrics[at].sub;
    struct query_tagks *out = &p->query_tagks[at];

    out->ids = arena_array(p->arena, sub->filters_len, sizeof *out->ids);
    if (out->ids == NULL)
        return no_memory(e);
    for (size_t i = 0; i < sub->filters_len; i++) {
        enum status st = uid_find(uids, UID_TAGK, sub->filters[i].tagk,
                                  &out->ids[out->len], e);

        if (st == ST_OK)
            out->len++;
        else if (st != ST_NOT_FOUND)
            return st;
    }
    qsort(out->ids, out->len, sizeof *out->ids, compare_ids);
    return ST_OK;
}

/* -- circles --------------------------------------------------------------- */

/* 'reaches' is a square of booleans: which nodes each one uses, by others too.
 * One more use makes those that reach 'at' reach what 'to' does. */
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
note_uses(struct exp_plan *p, size_t at, uint8_t *reaches, struct error *e)
{
    size_t n = p->nodes_len, len;
    const struct exp_node *node = &p->nodes[at];
    const struct slice *names = expression_names(node->x->parsed, &len);

    for (size_t i = 0; i < len; i++) {
        const struct exp_node *used = exp_node_find(p, names[i]);
        size_t to;

        if (used == NULL)
            continue;
        if (used == node)
            return error_set(e, ST_INVALID,
                             "Self referencing expression found: %.*s",
                             SLICE_ARG(node->x->id));
        to = (size_t)(used - p->nodes);
        if (reaches[to * n + at] != 0)
            return error_set(e, ST_INVALID, "Circular reference found: %.*s",
                             SLICE_ARG(node->x->id));
        add_use(reaches, n, at, to);
    }
    return ST_OK;
}

/* Puts the nodes in an order in which none uses a later one. */
static void
sort_nodes(struct exp_plan *p, const uint8_t *reaches)
{
    size_t n = p->nodes_len, len = 0;
    bool done[EXP_IDS_MAX] = { false };

    while (len < n) {
        for (size_t i = 0; i < n; i++) {
            bool ready = !done[i];

            for (size_t k = 0; k < n && ready; k++)
                ready = reaches[i * n + k] == 0 || done[k];
            if (ready) {
                done[i] = true;
                p->order[len++] = i;
            }
        }
    }
}

static enum status
order_nodes(struct exp_plan *p, struct error *e)
{
    size_t n = p->nodes_len, order[EXP_IDS_MAX];
    struct slice ids[EXP_IDS_MAX];
    uint8_t *reaches = arena_array(p->arena, n * n, 1);
    enum status st = ST_OK;

    p->order = arena_array(p->arena, n, sizeof *p->order);
    if (reaches == NULL || p->order == NULL)
        return no_memory(e);
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        ids[i] = p->nodes[i].x->id;
    }
    java_order(ids, n, order, n);
    for (size_t i = 0; i < n && st == ST_OK; i++)
        st = note_uses(p, order[i], reaches, e);
    if (st == ST_OK)
        sort_nodes(p, reaches);
    return st;
}

/* -- operands -------------------------------------------------------------- */

static void
make_operand(struct exp_plan *p, struct slice name, struct exp_operand *out)
{
    const struct exp_metric *m = find_metric(p->q, name);

    *out = (struct exp_operand){ .name = name };
    if (m == NULL) {
        out->table = &exp_node_find(p, name)->table;
        return;
    }
    out->is_metric = true;
    out->fill = m->fill.given ? m->fill.value : 0;
    out->table = &p->metrics[m - p->q->metrics];
    out->tagks = &p->query_tagks[m - p->q->metrics];
}

/* OpenTSDB puts results into a map first by metric, in the order in which that
 * map lists metrics, then by expression; and copies it to one of exact size. */
static enum status
make_operands(struct exp_plan *p, struct exp_node *node, struct error *e)
{
    /* So large that the map of all metrics has room for them. */
    size_t len, n = 0, all_metrics = (p->q->metrics_len * 4 + 2) / 3;
    const struct slice *names = expression_names(node->x->parsed, &len);
    size_t *order = arena_array(p->arena, len, sizeof *order);

    node->operands = arena_array(p->arena, len, sizeof *node->operands);
    node->variables = arena_array(p->arena, len, sizeof *node->variables);
    if (order == NULL || node->operands == NULL || node->variables == NULL)
        return no_memory(e);
    for (size_t pass = 0; pass < 2; pass++) {
        size_t from = n;

        for (size_t i = 0; i < len; i++)
            if ((find_metric(p->q, names[i]) != NULL) == (pass == 0))
                order[n++] = i;
        java_order(names, pass == 0 ? all_metrics : JAVA_DEFAULT_SIZE,
                   order + from, n - from);
    }
    java_order(names, JAVA_DEFAULT_SIZE, order, len);
    java_order(names, len, order, len);
    for (size_t i = 0; i < len; i++) {
        make_operand(p, names[order[i]], &node->operands[i]);
        node->variables[order[i]] = i;
    }
    node->operands_len = len;
    return ST_OK;
}

/* It looks for the results of a variable by its name in lower case. */
static enum status
check_operands(const struct exp_node *node, struct error *e)
{
    for (size_t i = 0; i < node->operands_len; i++) {
        const struct exp_operand *o = &node->operands[i];
        size_t k = 0;

        while (k < node->operands_len &&
               !exp_is_lower_of(node->operands[k].name, o->name))
            k++;
        if (k == node->operands_len)
            return error_set(e, ST_INVALID, "Missing results for variable %.*s",
                             SLICE_ARG(o->name));
        for (size_t s = 0; o->is_metric && s < o->table->len; s++)
            if (o->table->groups[s].dps.len == 0 &&
                o->table->groups[s].failed == NULL)
                return error_set(e, ST_INVALID,
                                 "The metric %.*s has a series without points "
                                 "in the range",
                                 SLICE_ARG(o->name));
    }
    return ST_OK;
}

bool
exp_is_lower_of(struct slice lower, struct slice name)
{
    if (lower.size != name.size)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (lower.data[i] != (c >= 'A' && c <= 'Z' ? c + 32 : c))
            return false;
    }
    return true;
}

static enum status
join_node(struct exp_plan *p, struct exp_node *node, struct error *e)
{
    const struct join_options o = {
        .intersection = node->x->intersection,
        .use_query_tags = node->x->use_query_tags,
        .include_agg_tags = node->x->include_agg_tags,
        .name = node->x->id,
        .deadline = &p->deadline,
    };
    struct join_operand *operands;
    enum status st = make_operands(p, node, e);

    if (st == ST_OK)
        st = check_operands(node, e);
    if (st != ST_OK)
        return st;
    operands = arena_array(p->arena, node->operands_len, sizeof *operands);
    if (operands == NULL)
        return no_memory(e);
    for (size_t i = 0; i < node->operands_len; i++) {
        const struct exp_operand *from = &node->operands[i];

        operands[i].series = from->table->series;
        operands[i].len = from->table->len;
        if (from->tagks != NULL) {
            operands[i].query_tagks = from->tagks->ids;
            operands[i].query_tagks_len = from->tagks->len;
        }
    }
    st = join_series(operands, node->operands_len, &o, p->arena, &node->joined,
                     e);
    node->table.series = node->joined.meta;
    node->table.len = node->joined.len;
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
        return no_memory(e);
    p->q = q;
    p->arena = a;
    p->deadline = result->deadline;
    p->metrics = arena_array(a, q->metrics_len, sizeof *p->metrics);
    p->query_tagks = arena_array(a, q->metrics_len, sizeof *p->query_tagks);
    p->nodes = arena_array(a, q->expressions_len, sizeof *p->nodes);
    if (p->metrics == NULL || p->query_tagks == NULL || p->nodes == NULL)
        return no_memory(e);
    for (size_t i = 0; i < q->metrics_len && st == ST_OK; i++) {
        st = make_metric_table(p, result, uids, i, e);
        if (st == ST_OK)
            st = find_query_tagks(p, uids, i, e);
    }
    p->nodes_len = q->expressions_len;
    for (size_t i = 0; i < p->nodes_len; i++)
        p->nodes[i].x = &q->expressions[i];
    if (st == ST_OK)
        st = order_nodes(p, e);
    for (size_t i = 0; i < p->nodes_len && st == ST_OK; i++)
        st = join_node(p, &p->nodes[p->order[i]], e);
    return st;
}
