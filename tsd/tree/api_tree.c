/* /api/tree: definitions and rules.  What looks at series is in
 * tsd/tree/api_tree_view.c. */
#include "config.h"

#include "tsd/tree/api_tree.h"

#include <jansson.h>

#include "tsd/tree/tree_json.h"

#define SCRATCH_BYTES ((size_t)64 << 20)

struct work {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena;
    enum http_method method;
};

static void serve_tree(const struct work *w);
static void serve_rule(const struct work *w);
static void serve_rules(const struct work *w);

void
api_tree(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct work w = { ctx, r, out, http_arena(r), http_method(r) };
    struct slice what = api_sub_path(r);

    if (what.size == 0)
        serve_tree(&w);
    else if (slice_eq_str(what, "rule"))
        serve_rule(&w);
    else if (slice_eq_str(what, "rules"))
        serve_rules(&w);
    else if (!api_tree_view(ctx, what, r, out))
        http_reply_error(out, 404, "This endpoint is not supported", NULL);
}

void
api_tree_refuse(struct http_reply *out, const struct error *e)
{
    if (e->status == ST_INVALID)
        http_reply_error(out, 400, e->text, e->text);
    else
        http_reply_failure(out, e);
}

void
api_tree_refuse_method(struct http_reply *out)
{
    http_reply_error(out, 400, "Unsupported HTTP request method", NULL);
}

static void
refuse(const struct work *w, const struct error *e)
{
    api_tree_refuse(w->out, e);
}

static bool
is_write(const struct work *w)
{
    return w->method == HTTP_POST || w->method == HTTP_PUT;
}

/* -- numbers of parameters ------------------------------------------------- */

/* 'message' when it is no number; absent: '*out' stays. */
static bool
read_int_param(const struct http_request *r, const char *name,
               const char *message, int64_t *out, struct http_reply *reply)
{
    struct slice text;
    char details[200];

    if (!http_param(r, name, &text) || api_parse_int(text, out))
        return true;
    (void)snprintf(details, sizeof details, "For input string: \"%.*s\"",
                   text.size > 100 ? 100 : (int)text.size,
                   (const char *)text.data);
    http_reply_error(reply, 400, message, details);
    return false;
}

bool
api_tree_read_id(const struct http_request *r, bool needed, int64_t *out,
                 struct http_reply *reply)
{
    struct slice text;

    *out = 0;
    if (needed && !api_need_param(r, "treeid", &text, reply))
        return false;
    return read_int_param(r, "treeid", "Unable to parse 'tree' value", out,
                          reply);
}

/* -- a tree ---------------------------------------------------------------- */

static bool
read_tree_params(const struct work *w, struct tree_request *t)
{
    static const struct {
        const char *name;
        enum tree_field field;
        bool is_switch;
    } params[] = {
        { "name", TREE_NAME, false },
        { "description", TREE_DESCRIPTION, false },
        { "notes", TREE_NOTES, false },
        { "strict_match", TREE_STRICT_MATCH, true },
        { "enabled", TREE_ENABLED, true },
        { "store_failures", TREE_STORE_FAILURES, true },
    };
    struct slice text;

    *t = (struct tree_request){ 0 };
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        if (!http_param(w->r, params[i].name, &text))
            continue;
        if (params[i].is_switch)
            tree_set_switch(t, params[i].field, text);
        else
            tree_set_text(t, params[i].field, text);
    }
    if (http_param(w->r, "definition", &text))
        t->definition = tree_is_true(text);
    return api_tree_read_id(w->r, false, &t->tree.id, w->out);
}

static bool
read_tree(const struct work *w, struct tree_request *t)
{
    struct json_t *body;
    struct error e;
    enum status st;

    if (http_body(w->r).size == 0)
        return read_tree_params(w, t);
    body = api_parse_body(w->r, w->out);
    if (body == NULL)
        return false;
    st = tree_read(body, w->arena, t, &e);
    json_decref(body);
    if (st == ST_INVALID && e.text[0] == 0)
        http_reply_error(w->out, 400, "Unable to parse 'tree' value", NULL);
    else if (st == ST_INVALID)
        http_reply_error(w->out, 400, "Unable to parse the given JSON", e.text);
    else if (st != ST_OK)
        http_reply_failure(w->out, &e);
    return st == ST_OK;
}

static void
get_tree(const struct work *w, int64_t id)
{
    struct tree tree;
    struct error e;

    if (tree_get(w->a->trees, id, w->arena, &tree, &e) == ST_OK)
        tree_write(http_reply_body(w->out), &tree);
    else
        refuse(w, &e);
}

static void
list_trees(const struct work *w)
{
    struct buf *b = http_reply_body(w->out);
    struct tree *trees;
    size_t len;
    struct error e;

    if (tree_list(w->a->trees, w->arena, &trees, &len, &e) != ST_OK) {
        refuse(w, &e);
        return;
    }
    buf_put_u8(b, '[');
    for (size_t i = 0; i < len; i++) {
        if (i > 0)
            buf_put_u8(b, ',');
        tree_write(b, &trees[i]);
    }
    buf_put_u8(b, ']');
}

static void
put_tree(const struct work *w, struct tree_request *t)
{
    bool changed = true;
    struct error e;
    enum status st;

    t->tree.created = clock_now_ms(w->a->clock) / 1000;
    if (t->tree.id > 0)
        st = tree_put(w->a->trees, &t->tree, t->fields, w->method == HTTP_PUT,
                      w->arena, &changed, &e);
    else
        st = tree_create(w->a->trees, &t->tree, &e);
    if (st != ST_OK)
        refuse(w, &e);
    else if (!changed)
        http_reply_empty(w->out, 304);
    else
        get_tree(w, t->tree.id);
}

static void
delete_tree(const struct work *w, const struct tree_request *t)
{
    struct error e;

    if (tree_delete(w->a->trees, t->tree.id, t->definition, w->arena, &e) ==
        ST_OK)
        http_reply_empty(w->out, 204);
    else
        refuse(w, &e);
}

static void
serve_tree(const struct work *w)
{
    struct tree_request t;

    if (!read_tree(w, &t))
        return;
    if (is_write(w))
        put_tree(w, &t);
    else if (w->method == HTTP_DELETE)
        delete_tree(w, &t);
    else if (w->method != HTTP_GET)
        api_tree_refuse_method(w->out);
    else if (t.tree.id == 0)
        list_trees(w);
    else
        get_tree(w, t.tree.id);
}

/* -- a rule ---------------------------------------------------------------- */

static bool
read_rule_texts(const struct work *w, struct tree_rule *rule)
{
    const struct {
        const char *name;
        struct slice *out;
    } params[] = {
        { "field", &rule->field },
        { "custom_field", &rule->custom_field },
        { "regex", &rule->regex },
        { "separator", &rule->separator },
        { "description", &rule->description },
        { "notes", &rule->notes },
        { "display_format", &rule->display_format },
    };
    struct slice type;
    struct error e;

    if (http_param(w->r, "type", &type) &&
        tree_rule_type_parse(type, &rule->type, &e) != ST_OK) {
        http_reply_error(w->out, 400, "Unable to parse the 'type' parameter",
                         e.text);
        return false;
    }
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        (void)http_param(w->r, params[i].name, params[i].out);
    if (tree_rule_check_regex(rule, &e) != ST_OK) {
        http_reply_error(w->out, 400, "Unable to parse the 'regex' parameter",
                         e.text);
        return false;
    }
    return true;
}

static bool
read_rule_params(const struct work *w, struct tree_rule *rule)
{
    struct slice text;

    *rule = (struct tree_rule){ 0 };
    if (!api_tree_read_id(w->r, true, &rule->tree, w->out) ||
        !read_rule_texts(w, rule) ||
        !read_int_param(w->r, "regex_group_idx",
                        "Unable to parse the 'regex_group_idx' parameter",
                        &rule->group, w->out) ||
        !api_need_param(w->r, "level", &text, w->out) ||
        !read_int_param(w->r, "level", "Unable to parse the 'level' parameter",
                        &rule->level, w->out))
        return false;
    if (rule->level < 0) {
        http_reply_error(w->out, 400, "Negative levels are not allowed", NULL);
        return false;
    }
    return api_need_param(w->r, "order", &text, w->out) &&
           read_int_param(w->r, "order",
                          "Unable to parse the 'order' parameter", &rule->order,
                          w->out);
}

static void
refuse_json(const struct work *w, const struct error *e)
{
    if (e->status == ST_INVALID)
        http_reply_error(w->out, 400, "Unable to parse the given JSON",
                         e->text);
    else
        http_reply_failure(w->out, e);
}

static bool
read_rule(const struct work *w, struct tree_rule *rule)
{
    struct json_t *body;
    struct error e;
    enum status st;

    if (http_body(w->r).size == 0)
        return read_rule_params(w, rule);
    body = api_parse_body(w->r, w->out);
    if (body == NULL)
        return false;
    st = tree_rule_read(body, w->arena, rule, &e);
    json_decref(body);
    if (st != ST_OK)
        refuse_json(w, &e);
    return st == ST_OK;
}

static void
put_rule(const struct work *w, struct tree_rule *rule)
{
    bool changed;
    struct error e;

    if (tree_rule_put(w->a->trees, rule, w->method == HTTP_PUT, w->arena,
                      &changed, &e) != ST_OK)
        refuse(w, &e);
    else if (changed)
        tree_rule_write(http_reply_body(w->out), rule);
    else
        http_reply_empty(w->out, 304);
}

/* The rule that is there, or the reply that there is none. */
static const struct tree_rule *
find_rule(const struct work *w, const struct tree *tree,
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
delete_rule(const struct work *w, const struct tree_rule *rule)
{
    struct error e;

    if (tree_rule_delete(w->a->trees, rule->tree, rule->level, rule->order,
                         &e) == ST_OK)
        http_reply_empty(w->out, 204);
    else
        refuse(w, &e);
}

static void
serve_rule(const struct work *w)
{
    const struct tree_rule *found;
    struct tree_rule rule;
    struct tree tree;
    struct error e;

    if (!read_rule(w, &rule))
        return;
    if (tree_get(w->a->trees, rule.tree, w->arena, &tree, &e) != ST_OK) {
        refuse(w, &e);
        return;
    }
    if (is_write(w)) {
        put_rule(w, &rule);
        return;
    }
    if (w->method != HTTP_GET && w->method != HTTP_DELETE) {
        api_tree_refuse_method(w->out);
        return;
    }
    found = find_rule(w, &tree, &rule);
    if (found == NULL)
        return;
    if (w->method == HTTP_GET)
        tree_rule_write(http_reply_body(w->out), found);
    else
        delete_rule(w, found);
}

/* -- rules ----------------------------------------------------------------- */

static enum status
read_rule_list(const struct work *w, const struct json_t *body,
               struct tree_rule **out, size_t *len, struct error *e)
{
    enum status st = ST_OK;

    if (!json_is_array(body))
        return error_set(e, ST_INVALID, "an array of rules is wanted");
    *len = json_array_size(body);
    *out = arena_array(w->arena, *len, sizeof **out);
    if (*out == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    for (size_t i = 0; i < *len && st == ST_OK; i++)
        st = tree_rule_read(json_array_get(body, i), w->arena, &(*out)[i], e);
    return st;
}

static bool
read_rules(const struct work *w, struct tree_rule **rules, size_t *len)
{
    struct json_t *body = api_parse_body(w->r, w->out);
    struct error e;
    enum status st;

    if (body == NULL)
        return false;
    st = read_rule_list(w, body, rules, len, &e);
    json_decref(body);
    if (st != ST_OK) {
        refuse_json(w, &e);
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
delete_rules(const struct work *w, const struct tree *tree, struct error *e)
{
    if (tree->rules_len == 0)
        return error_set(e, ST_INVALID, "Tree %lld has no rules to delete",
                         (long long)tree->id);
    return tree_rules_delete(w->a->trees, tree->id, e);
}

/* One after the other, as OpenTSDB does: those before one that fails stay. */
static void
put_rules(const struct work *w, const struct tree *tree,
          struct tree_rule *rules, size_t len)
{
    bool overwrite = w->method == HTTP_PUT, changed;
    struct arena *scratch = arena_new(SCRATCH_BYTES);
    struct error e;
    enum status st = ST_OK;

    if (overwrite)
        st = delete_rules(w, tree, &e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        arena_reset(scratch);
        st = tree_rule_put(w->a->trees, &rules[i], overwrite, scratch, &changed,
                           &e);
        if (st == ST_OK && !changed)
            st = error_set(&e, ST_INVALID, "No changes detected in the rule");
    }
    arena_free(&scratch);
    if (st == ST_OK)
        http_reply_empty(w->out, 204);
    else
        refuse(w, &e);
}

static void
serve_rules(const struct work *w)
{
    struct tree_rule *rules = NULL;
    size_t len = 0;
    int64_t id;
    struct tree tree;
    struct error e;

    if (http_body(w->r).size > 0) {
        if (!read_rules(w, &rules, &len))
            return;
        id = rules[0].tree;
    } else if (!api_tree_read_id(w->r, false, &id, w->out)) {
        return;
    }
    if (tree_get(w->a->trees, id, w->arena, &tree, &e) != ST_OK)
        refuse(w, &e);
    else if (is_write(w) && len == 0)
        http_reply_error(w->out, 400, "Missing tree rules", NULL);
    else if (is_write(w))
        put_rules(w, &tree, rules, len);
    else if (w->method != HTTP_DELETE)
        api_tree_refuse_method(w->out);
    else if (delete_rules(w, &tree, &e) != ST_OK)
        refuse(w, &e);
    else
        http_reply_empty(w->out, 204);
}
