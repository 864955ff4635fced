/* /api/tree: definitions and rules.  What looks at series is in
 * tsd/api/tree/api_tree_view.c. */
#include "config.h"

#include "tsd/api/tree/api_tree.h"

#include <jansson.h>

#include "tsd/api/tree/tree_json.h"

#define SCRATCH_BYTES ((size_t)64 << 20)

static void serve_tree(const struct api_call *w);
static void serve_rule(const struct api_call *w);
static void serve_rules(const struct api_call *w);

void
api_tree(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api_call w = { ctx, r, out, http_arena(r) };
    struct slice what = api_sub_path(r);

    if (what.size == 0)
        serve_tree(&w);
    else if (slice_eq_str(what, "rule"))
        serve_rule(&w);
    else if (slice_eq_str(what, "rules"))
        serve_rules(&w);
    else if (!api_tree_view(&w, what))
        http_reply_error(out, 404, "This endpoint is not supported", NULL);
}

void
api_tree_reject_method(struct http_reply *out)
{
    http_reply_error(out, 400, "Unsupported HTTP request method", NULL);
}

static bool
is_write(const struct api_call *w)
{
    return http_method(w->r) == HTTP_POST || http_method(w->r) == HTTP_PUT;
}

/* -- a tree ---------------------------------------------------------------- */

static void
get_tree(const struct api_call *w, int64_t id)
{
    struct tree tree;
    struct error e;

    if (tree_get(w->a->records, id, w->arena, &tree, &e) == ST_OK)
        tree_write(http_reply_body(w->out), &tree);
    else
        api_reject(w->out, &e);
}

static void
list_trees(const struct api_call *w)
{
    struct buf *b = http_reply_body(w->out);
    struct tree *trees;
    size_t len;
    struct error e;

    if (tree_list(w->a->records, w->arena, &trees, &len, &e) != ST_OK) {
        api_reject(w->out, &e);
        return;
    }
    buf_put_u8(b, '[');
    for (size_t i = 0; i < len; i++)
        tree_write(b, &trees[i]);
    buf_put_u8(b, ']');
}

static void
put_tree(const struct api_call *w, struct tree_request *t)
{
    bool changed = true;
    struct error e;
    enum status st;

    t->tree.created = clock_now_ms(w->a->clock) / 1000;
    if (t->tree.id > 0)
        st = tree_put(w->a->records, &t->tree, t->fields,
                      http_method(w->r) == HTTP_PUT, w->arena, &changed, &e);
    else
        st = tree_create(w->a->records, &t->tree, &e);
    if (st != ST_OK)
        api_reject(w->out, &e);
    else if (!changed)
        http_reply_empty(w->out, 304);
    else
        get_tree(w, t->tree.id);
}

static void
delete_tree(const struct api_call *w, const struct tree_request *t)
{
    struct error e;

    if (tree_delete(w->a->records, t->tree.id, t->definition, w->arena, &e) ==
        ST_OK)
        http_reply_empty(w->out, 204);
    else
        api_reject(w->out, &e);
}

static void
serve_tree(const struct api_call *w)
{
    struct tree_request t;

    if (!tree_read(w->r, &t, w->out))
        return;
    if (is_write(w))
        put_tree(w, &t);
    else if (http_method(w->r) == HTTP_DELETE)
        delete_tree(w, &t);
    else if (http_method(w->r) != HTTP_GET)
        api_tree_reject_method(w->out);
    else if (t.tree.id == 0)
        list_trees(w);
    else
        get_tree(w, t.tree.id);
}

/* -- a rule ---------------------------------------------------------------- */

static void
put_rule(const struct api_call *w, struct tree_rule *rule)
{
    bool changed;
    struct error e;

    if (tree_rule_put(w->a->records, rule, http_method(w->r) == HTTP_PUT,
                      w->arena, &changed, &e) != ST_OK)
        api_reject(w->out, &e);
    else if (changed)
        tree_rule_write(http_reply_body(w->out), rule);
    else
        http_reply_empty(w->out, 304);
}

/* The rule that is there, or the reply that there is none. */
static const struct tree_rule *
find_rule(const struct api_call *w, const struct tree *tree,
          const struct tree_rule *asked)
{
    const struct tree_rule *found =
        tree_rule_at(tree, asked->level, asked->order);
    char text[120];

    if (found != NULL)
        return found;
    (void)snprintf(text, sizeof text,
                   "Unable to locate rule: [%lld:%lld:%lld:%s]",
                   (long long)asked->tree, (long long)asked->level,
                   (long long)asked->order, tree_rule_type_name(asked->type));
    http_reply_error(w->out, 404, text, NULL);
    return NULL;
}

static void
delete_rule(const struct api_call *w, const struct tree_rule *rule)
{
    struct error e;

    if (tree_rule_delete(w->a->records, rule->tree, rule->level, rule->order,
                         &e) == ST_OK)
        http_reply_empty(w->out, 204);
    else
        api_reject(w->out, &e);
}

static void
serve_rule(const struct api_call *w)
{
    const struct tree_rule *found;
    struct tree_rule rule;
    struct tree tree;
    struct error e;

    if (!tree_rule_read(w->r, &rule, w->out))
        return;
    if (tree_get(w->a->records, rule.tree, w->arena, &tree, &e) != ST_OK) {
        api_reject(w->out, &e);
        return;
    }
    if (is_write(w)) {
        put_rule(w, &rule);
        return;
    }
    if (http_method(w->r) != HTTP_GET && http_method(w->r) != HTTP_DELETE) {
        api_tree_reject_method(w->out);
        return;
    }
    found = find_rule(w, &tree, &rule);
    if (found == NULL)
        return;
    if (http_method(w->r) == HTTP_GET)
        tree_rule_write(http_reply_body(w->out), found);
    else
        delete_rule(w, found);
}

/* -- rules ----------------------------------------------------------------- */

static enum status
read_rule_list(const struct api_call *w, const struct json_t *body,
               struct tree_rule **out, size_t *len, struct error *e)
{
    enum status st = ST_OK;

    if (!json_is_array(body))
        return error_set(e, ST_INVALID, "an array of rules is wanted");
    *len = json_array_size(body);
    *out = arena_array(w->arena, *len, sizeof **out);
    if (*out == NULL)
        return api_no_memory(e);
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
static void
put_rules(const struct api_call *w, const struct tree *tree,
          struct tree_rule *rules, size_t len)
{
    bool overwrite = http_method(w->r) == HTTP_PUT, changed;
    struct arena *scratch = arena_new(SCRATCH_BYTES);
    struct error e;
    enum status st = ST_OK;

    if (overwrite)
        st = delete_rules(w, tree, &e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        arena_reset(scratch);
        st = tree_rule_put(w->a->records, &rules[i], overwrite, scratch,
                           &changed, &e);
        if (st == ST_OK && !changed)
            st = error_set(&e, ST_INVALID, "No changes detected in the rule");
    }
    arena_free(&scratch);
    if (st == ST_OK)
        http_reply_empty(w->out, 204);
    else
        api_reject(w->out, &e);
}

static const struct field rules_fields[] = {
    { "treeid", NULL, FIELD_INT, 0, FIELD_DETAILS, 0,
      "Unable to parse 'tree' value" },
};

static void
serve_rules(const struct api_call *w)
{
    unsigned seen;
    struct tree_rule *rules = NULL;
    size_t len = 0;
    int64_t id = 0;
    struct tree tree;
    struct error e;

    if (http_body(w->r).size > 0) {
        if (!read_rules(w, &rules, &len))
            return;
        id = rules[0].tree;
    } else if (!fields_read_params(w->r, FIELDS(rules_fields), &id, &seen,
                                   w->out)) {
        return;
    }
    if (tree_get(w->a->records, id, w->arena, &tree, &e) != ST_OK)
        api_reject(w->out, &e);
    else if (is_write(w) && len == 0)
        http_reply_error(w->out, 400, "Missing tree rules", NULL);
    else if (is_write(w))
        put_rules(w, &tree, rules, len);
    else if (http_method(w->r) != HTTP_DELETE)
        api_tree_reject_method(w->out);
    else if (delete_rules(w, &tree, &e) != ST_OK)
        api_reject(w->out, &e);
    else
        http_reply_empty(w->out, 204);
}
