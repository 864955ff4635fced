/* /api/tree: definitions and rules.  What looks at series is in
 * tsd/api/tree/api_tree_view.c. */

#include <jansson.h>

#include "tsd/api/tree/tree_json.h"

typedef void serve(const struct api_call *w);

static serve serve_tree, serve_rule, serve_rules;

#define WRITES (HTTP_POST | HTTP_PUT)

static const struct {
    const char *name; /* what comes behind "/api/tree/" */
    unsigned methods;
    serve *serve;
} endpoints[] = {
    { "", HTTP_GET | WRITES | HTTP_DELETE, serve_tree },
    { "rule", HTTP_GET | WRITES | HTTP_DELETE, serve_rule },
    { "rules", ~0u, serve_rules },
    { "branch", HTTP_GET, api_tree_branch },
    { "test", HTTP_GET | WRITES, api_tree_test },
    { "collisions", HTTP_GET | WRITES, api_tree_collisions },
    { "notmatched", HTTP_GET | WRITES, api_tree_unmatched },
};

static void
reject_method(const struct api_call *w)
{
    http_reply_error(w->out, 400, "Unsupported HTTP request method", NULL);
}

void
api_tree(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api_call w = { ctx, r, out, http_arena(r) };
    struct slice what = api_sub_path(r);

    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        if (slice_eq_str(what, endpoints[i].name)) {
            if (endpoints[i].methods & http_method(r))
                endpoints[i].serve(&w);
            else
                reject_method(&w);
            return;
        }
    http_reply_error(out, 404, "This endpoint is not supported", NULL);
}

static bool
is_write(const struct api_call *w)
{
    return (http_method(w->r) & WRITES) != 0;
}

/* The end of a request whose body, if it has one, is written. */
static void
end(const struct api_call *w, enum status st, bool changed,
    const struct error *e)
{
    if (st != ST_OK)
        api_reject(w->out, e);
    else if (!changed)
        http_reply_empty(w->out, 304);
    else if (http_reply_body(w->out)->size == 0)
        http_reply_empty(w->out, 204);
}

static enum status
get_tree(const struct api_call *w, int64_t id, struct error *e)
{
    struct tree tree;
    enum status st = tree_get(w->a->records, id, w->arena, &tree, e);

    if (st == ST_OK)
        tree_write(http_reply_body(w->out), &tree);
    return st;
}

static enum status
list_trees(const struct api_call *w, struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    struct tree *trees;
    size_t len;
    enum status st = tree_list(w->a->records, w->arena, &trees, &len, e);

    buf_put_u8(b, '[');
    for (size_t i = 0; st == ST_OK && i < len; i++)
        tree_write(b, &trees[i]);
    buf_put_u8(b, ']');
    return st;
}

static void
serve_tree(const struct api_call *w)
{
    struct tree_request t;
    bool changed = true;
    struct error e;
    enum status st;

    if (!tree_read(w->r, &t, w->out))
        return;
    if (is_write(w)) {
        t.tree.created = clock_now_ms(w->a->clock) / 1000;
        if (t.tree.id > 0)
            st = tree_put(
                w->a->records, &t.tree,
                &(struct record_change){
                    t.fields, http_method(w->r) == HTTP_PUT, w->arena },
                &changed, &e);
        else
            st = tree_create(w->a->records, &t.tree, &e);
        st = st == ST_OK && changed ? get_tree(w, t.tree.id, &e) : st;
    } else if (http_method(w->r) == HTTP_DELETE)
        st = tree_delete(w->a->records, t.tree.id, t.definition, w->arena, &e);
    else
        st = t.tree.id == 0 ? list_trees(w, &e) : get_tree(w, t.tree.id, &e);
    end(w, st, changed, &e);
}

static void
serve_rule(const struct api_call *w)
{
    struct tree_rule rule;
    struct tree tree;
    bool changed = true;
    struct error e;
    enum status st;

    if (!tree_rule_read(w->r, &rule, w->out))
        return;
    st = tree_get(w->a->records, rule.tree, w->arena, &tree, &e);
    if (st == ST_OK && is_write(w)) {
        st = tree_rule_put(w->a->records, &rule, http_method(w->r) == HTTP_PUT,
                           w->arena, &changed, &e);
        tree_rule_write(http_reply_body(w->out), &rule);
    } else if (st == ST_OK) {
        const struct tree_rule *found =
            tree_rule_at(&tree, rule.level, rule.order);

        if (found == NULL)
            st = error_set(
                &e, ST_NOT_FOUND, "Unable to locate rule: [%lld:%lld:%lld:%s]",
                (long long)rule.tree, (long long)rule.level,
                (long long)rule.order, tree_rule_type_name(rule.type));
        else if (http_method(w->r) == HTTP_DELETE)
            st = tree_rule_delete(w->a->records, found->tree, found->level,
                                  found->order, &e);
        else
            tree_rule_write(http_reply_body(w->out), found);
    }
    end(w, st, changed, &e);
}

static enum status
read_rule_list(const struct api_call *w, const struct json_t *body,
               struct tree_rule **out, size_t *len, struct error *e)
{
    enum status st = ST_OK;

    if (!json_is_array(body) && !json_is_null(body))
        return error_set(e, ST_INVALID, "an array of rules is wanted");
    *len = json_array_size(body); /* 0 of null */
    *out = arena_array(w->arena, *len, sizeof **out);
    if (*out == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < *len && st == ST_OK; i++)
        st = tree_rule_read_json(json_array_get(body, i), w->arena, &(*out)[i],
                                 e);
    return st;
}

static bool
read_rules(const struct api_call *w, struct tree_rule **rules, size_t *len)
{
    struct json_t *body = api_parse_body(w->r, w->out);
    struct error e;
    enum status st;

    if (body == NULL)
        return false;
    st = read_rule_list(w, body, rules, len, &e);
    json_decref(body);
    if (st != ST_OK) {
        api_reject_json(w->out, &e);
        return false;
    }
    for (size_t i = 0; i < *len; i++) {
        if ((*rules)[i].tree != (*rules)[0].tree) {
            http_reply_error(w->out, 400,
                             "All rules must belong to the same tree", NULL);
            return false;
        }
    }
    if (*len == 0)
        http_reply_error(w->out, 400, "Missing tree rules", NULL);
    return *len > 0;
}

/* OpenTSDB fails, too, when there is none to delete. */
static enum status
delete_rules(const struct api_call *w, const struct tree *tree, struct error *e)
{
    if (tree->rules_len == 0)
        return error_set(e, ST_INVALID, "Tree %lld has no rules to delete",
                         (long long)tree->id);
    return tree_rules_delete(w->a->records, tree->id, e);
}

/* One after the other, as OpenTSDB does: those before one that fails stay. */
static enum status
put_rules(const struct api_call *w, const struct tree *tree,
          struct tree_rule *rules, size_t len, struct error *e)
{
    bool overwrite = http_method(w->r) == HTTP_PUT, changed;
    struct arena *scratch = http_arena_new(w->r);
    enum status st = overwrite ? delete_rules(w, tree, e) : ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        arena_reset(scratch);
        st = tree_rule_put(w->a->records, &rules[i], overwrite, scratch,
                           &changed, e);
        if (st == ST_OK && !changed)
            st = error_set(e, ST_INVALID, "No changes detected in the rule");
    }
    arena_free(&scratch);
    return st;
}

static const struct field of_rules[] = {
    { "treeid", NULL, FIELD_INT, 0, FIELD_DETAILS, 0,
      "Unable to parse 'tree' value" },
};

const struct field_table tree_rules_fields = { FIELDS(of_rules) };

/* As OpenTSDB's, which looks at the method last. */
static void
serve_rules(const struct api_call *w)
{
    unsigned seen;
    struct tree_rule *rules = NULL;
    size_t len = 0;
    int64_t id = 0;
    struct tree tree;
    struct error e;
    enum status st;

    if (http_body(w->r).size > 0) {
        if (!read_rules(w, &rules, &len))
            return;
        id = rules[0].tree;
    } else if (!fields_read_params(w->r, FIELDS(of_rules), &id, &seen,
                                   w->out)) {
        return;
    }
    st = tree_get(w->a->records, id, w->arena, &tree, &e);
    if (st == ST_OK && !is_write(w) && http_method(w->r) != HTTP_DELETE) {
        reject_method(w);
        return;
    }
    if (st == ST_OK && is_write(w) && len == 0) {
        http_reply_error(w->out, 400, "Missing tree rules", NULL);
        return;
    }
    if (st == ST_OK)
        st = is_write(w) ? put_rules(w, &tree, rules, len, &e)
                         : delete_rules(w, &tree, &e);
    end(w, st, true, &e);
}
