#include "query/exp/gexp.h"
#include "query/exp/gexp_priv.h"

#include <math.h>

#include "base/text/number.h"

/* A run; 'lists' are the series of each sub-query, then the results of each
 * node. */
struct run {
    const struct gexp *g;
    const struct query *q;
    struct arena *arena;
    struct deadline deadline;
    struct exp_list *lists;
    struct error *e;
};

enum status
gexp_own_points(const struct gexp_call *c, struct exp_list *l, struct error *e)
{
    for (size_t i = 0; i < l->len; i++) {
        struct dps from = l->series[i].dps;

        if (!dps_copy(c->arena, &from, &l->series[i].dps))
            return error_no_memory(e);
    }
    return ST_OK;
}

enum status
gexp_call(const struct gexp_call *c, struct exp_list *out, struct error *e)
{
    size_t total = 0, points = 0;
    enum status st;

    if (c->function->missing != NULL && c->params_len == 0)
        return error_set(e, ST_INVALID, "%s", c->function->missing);
    for (size_t i = 0; i < c->lists_len; i++)
        total += c->lists[i].len;
    *out = (struct exp_list){ 0 };
    out->series = arena_array(c->arena, total, sizeof *out->series);
    if (out->series == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < c->lists_len; i++)
        for (size_t k = 0; k < c->lists[i].len; k++) {
            out->series[out->len++] = c->lists[i].series[k];
            points += c->lists[i].series[k].dps.len + 1;
        }
    st = deadline_tick(c->deadline, points, e);
    return st == ST_OK ? c->function->run(c, out, e) : st;
}

bool
gexp_parse_int(struct slice digits, int64_t *out)
{
    uint64_t n;

    if (!number_parse_u64(digits, &n) || n > INT32_MAX)
        return false;
    *out = (int64_t)n;
    return true;
}

enum status
gexp_parse_count(struct slice text, const char *what, int64_t *out,
                 struct error *e)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return error_set(e, ST_INVALID, "%s%.*s", what, SLICE_ARG(text));
    return gexp_parse_int(text, out)
               ? ST_OK
               : error_set(e, ST_INVALID,
                           "Invalid parameter, must be an integer");
}

/* -- the way through the nodes --------------------------------------------- */

/* Series come first, parameters behind. */
static enum status
make_call(struct run *r, const struct gexp_node *n, struct gexp_call *c)
{
    struct exp_list *lists = arena_array(r->arena, n->args_len, sizeof *lists);
    struct slice *params = arena_array(r->arena, n->args_len, sizeof *params);

    *c = (struct gexp_call){ .function = n->function,
                             .q = r->q,
                             .arena = r->arena,
                             .deadline = &r->deadline };
    if (lists == NULL || params == NULL)
        return error_no_memory(r->e);
    for (size_t i = 0; i < n->args_len; i++) {
        const struct gexp_arg *arg = &n->args[i];
        size_t at = arg->index;

        if (arg->kind == ARG_PARAM) {
            params[c->params_len++] = arg->text;
            continue;
        }
        if (c->params_len > 0)
            return error_set(r->e, ST_INVALID,
                             "The parameters of %s must follow its series",
                             n->function->name);
        if (arg->kind == ARG_METRIC && at >= r->q->subs_len)
            return error_set(r->e, ST_INVALID,
                             "Index %zu out of bounds for length %zu: a metric "
                             "may be named only once",
                             at, r->q->subs_len);
        at += arg->kind == ARG_NODE ? r->q->subs_len : 0;
        lists[c->lists_len++] = r->lists[at];
    }
    c->lists = lists;
    c->params = params;
    return ST_OK;
}

/* -- answers --------------------------------------------------------------- */

/* "name_@host" with the tags filled in. */
static enum status
expand_alias(const struct run *r, const struct series_meta *m,
             struct slice *text)
{
    for (size_t i = 0; i < m->tags_len; i++) {
        struct buf b = BUF_INIT;

        /* Writes 'text' with '@key' filled in. */
        for (size_t at = 0; at < text->size; at++)
            if (text->data[at] == '@' &&
                slice_starts(slice_of(text->data + at + 1, text->size - at - 1),
                             m->tags[i].key.name)) {
                buf_put_slice(&b, m->tags[i].value.name);
                at += m->tags[i].key.name.size;
            } else {
                buf_put_u8(&b, text->data[at]);
            }
        *text = arena_take(r->arena, &b);
        if (text->data == NULL)
            return error_no_memory(r->e);
    }
    return ST_OK;
}

/* Of several series: the metric that was first known names them all. */
static bool
describe_computed(const struct run *r, const struct exp_series *s,
                  struct result_group *g)
{
    const struct series_meta *m = &s->meta;

    *g = (struct result_group){ .sub = &r->q->subs[0], .lists_notes = true };
    g->tag_keys = arena_array(r->arena, m->tags_len, sizeof *g->tag_keys);
    g->tag_values = arena_array(r->arena, m->tags_len, sizeof *g->tag_values);
    g->aggregate_tags =
        arena_array(r->arena, m->aggregate_tags_len, sizeof(struct slice));
    if (g->tag_keys == NULL || g->tag_values == NULL ||
        g->aggregate_tags == NULL)
        return false;
    if (m->metrics_len > 0)
        g->metric = m->metrics[0].name;
    for (size_t i = 0; i < m->tags_len; i++) {
        g->tag_keys[i] = m->tags[i].key.name;
        g->tag_values[i] = m->tags[i].value.name;
    }
    for (size_t i = 0; i < m->aggregate_tags_len; i++)
        g->aggregate_tags[i] = m->aggregate_tags[i].name;
    g->tags_len = m->tags_len;
    g->aggregate_tags_len = m->aggregate_tags_len;
    return true;
}

static enum status
answer_series(const struct run *r, const struct exp_series *s,
              struct result_group *g)
{
    enum status st = ST_OK;

    if (s->base != NULL)
        *g = *s->base;
    else if (!describe_computed(r, s, g))
        return error_no_memory(r->e);
    g->dps = s->dps;
    if (s->alias.data != NULL) {
        g->tags_len = g->aggregate_tags_len = 0;
        g->metric = s->alias;
    }
    if ((s->base == NULL || s->alias.data != NULL) && !s->alias_is_plain)
        st = expand_alias(r, &s->meta, &g->metric);
    if (st == ST_OK && g->sub->downsample.on &&
        g->sub->downsample.fill == FILL_NULL) {
        uint8_t *kind = arena_array(r->arena, g->dps.len, sizeof *kind);

        /* NaN of a query that fills with nothing is shown as nothing. */
        if (kind == NULL)
            return error_no_memory(r->e);
        for (size_t i = 0; i < g->dps.len; i++)
            kind[i] = isnan(exp_double(&g->dps, i)) ? DP_NULL : g->dps.kind[i];
        g->dps.kind = kind;
    }
    return st;
}

enum status
gexp_run(const struct gexp *g, const struct query *q,
         struct query_result *result, struct uid_table *uids, struct arena *a,
         struct error *e)
{
    struct run r = {
        .g = g, .q = q, .arena = a, .deadline = result->deadline, .e = e
    };
    enum status st = ST_OK;
    const struct exp_list *results;
    size_t total = 0;

    r.lists = arena_array(a, q->subs_len + g->nodes_len, sizeof *r.lists);
    if (r.lists == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < q->subs_len && st == ST_OK; i++)
        st = exp_list_read(result, &q->subs[i], uids, &r.deadline, a,
                           &r.lists[i], e);
    for (size_t i = 0; i < g->nodes_len && st == ST_OK; i++) {
        struct gexp_call c;

        st = make_call(&r, &r.g->nodes[i], &c);
        if (st == ST_OK && c.lists_len > 0)
            st = gexp_call(&c, &r.lists[r.q->subs_len + i], r.e);
    }
    if (st != ST_OK)
        return st;
    /* Replaces the groups of the metrics by those of the texts. */
    results = r.lists + r.q->subs_len;
    for (size_t i = 0; i < r.g->roots_len; i++)
        total += results[r.g->roots[i]].len;
    result->groups = arena_array(r.arena, total, sizeof *result->groups);
    result->groups_len = 0;
    if (result->groups == NULL)
        return error_no_memory(r.e);
    for (size_t i = 0; i < r.g->roots_len; i++) {
        const struct exp_list *l = &results[r.g->roots[i]];

        for (size_t k = 0; k < l->len && st == ST_OK; k++)
            st = answer_series(&r, &l->series[k],
                               &result->groups[result->groups_len++]);
    }
    return st;
}
