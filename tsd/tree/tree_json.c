/* See tsd/tree/tree_json.h. */
#include "config.h"

#include "tsd/tree/tree_json.h"

#include <jansson.h>

#include "base/java.h"
#include "base/number.h"
#include "query/regexp.h"
#include "tsd/api/api.h"
#include "tsd/tree/tree_build.h"
#include "web/json.h"

static bool
equals_ignoring_case(struct slice s, const char *lower)
{
    if (s.size != strlen(lower))
        return false;
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != lower[i])
            return false;
    }
    return true;
}

/* A copy of the member's text; false, with '*st', when there is none. */
static bool
take_text(const struct json_t *json, const char *name, struct arena *a,
          struct slice *out, enum status *st, struct error *e)
{
    const json_t *v = json_object_get(json, name);
    char number[NUMBER_TEXT_MAX];
    struct slice text;
    const char *copy;

    if (*st != ST_OK || v == NULL || json_is_null(v))
        return false;
    if (!api_json_text(json, name, number, &text)) {
        *st = error_set(e, ST_INVALID, "'%s' must be a text", name);
        return false;
    }
    copy = arena_strdup(a, text);
    if (copy == NULL)
        *st = error_set(e, ST_LIMIT, "the request needs too much memory");
    else
        *out = slice_of(copy, text.size);
    return copy != NULL;
}

/* -- a tree ---------------------------------------------------------------- */

static const struct {
    const char *name; /* in lower case */
    enum tree_field field;
    bool is_switch;
} members[] = {
    { "name", TREE_NAME, false },
    { "description", TREE_DESCRIPTION, false },
    { "notes", TREE_NOTES, false },
    { "strictmatch", TREE_STRICT_MATCH, true },
    { "enabled", TREE_ENABLED, true },
    { "storefailures", TREE_STORE_FAILURES, true },
};

void
tree_set_text(struct tree_request *t, enum tree_field field, struct slice text)
{
    struct slice *to = field == TREE_NAME          ? &t->tree.name
                       : field == TREE_DESCRIPTION ? &t->tree.description
                                                   : &t->tree.notes;

    if (slice_eq(*to, text))
        return;
    *to = text;
    t->fields |= field;
}

void
tree_set_switch(struct tree_request *t, enum tree_field field,
                struct slice text)
{
    bool *to = field == TREE_STRICT_MATCH ? &t->tree.strict_match
               : field == TREE_ENABLED    ? &t->tree.enabled
                                          : &t->tree.store_failures;

    *to = tree_is_true(text);
    t->fields |= field;
}

bool
tree_is_true(struct slice text)
{
    return equals_ignoring_case(text, "true");
}

static enum status
read_member(struct tree_request *t, struct slice name, struct slice text,
            struct error *e)
{
    if (equals_ignoring_case(name, "treeid") &&
        !api_parse_int(text, &t->tree.id))
        return error_set(e, ST_INVALID, "%s", "");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!equals_ignoring_case(name, members[i].name))
            continue;
        if (members[i].is_switch)
            tree_set_switch(t, members[i].field, text);
        else
            tree_set_text(t, members[i].field, text);
    }
    if (slice_eq_str(name, "definition"))
        t->definition = tree_is_true(text);
    return ST_OK;
}

enum status
tree_read(const struct json_t *json, struct arena *a, struct tree_request *out,
          struct error *e)
{
    enum status st = ST_OK;
    void *it;

    *out = (struct tree_request){ 0 };
    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "a tree is an object");
    for (it = json_object_iter((json_t *)(uintptr_t)json);
         it != NULL && st == ST_OK;
         it = json_object_iter_next((json_t *)(uintptr_t)json, it)) {
        const char *name = json_object_iter_key(it);
        struct slice text;

        if (take_text(json, name, a, &text, &st, e))
            st = read_member(out, slice_str(name), text, e);
    }
    return st;
}

/* -- a rule ---------------------------------------------------------------- */

static void
take_int(const struct json_t *json, const char *name, int64_t *out,
         enum status *st, struct error *e)
{
    const json_t *v = json_object_get(json, name);
    struct slice text = { json_string_value(v) == NULL
                              ? NULL
                              : (const uint8_t *)json_string_value(v),
                          json_string_length(v) };
    bool good = false;

    if (*st != ST_OK || v == NULL || json_is_null(v))
        return;
    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        good = *out >= INT32_MIN && *out <= INT32_MAX;
    } else if (json_is_real(v) && json_real_value(v) > -2e9 &&
               json_real_value(v) < 2e9) {
        *out = (int64_t)json_real_value(v);
        good = true;
    } else if (json_is_string(v)) {
        good = api_parse_int(text, out);
    }
    if (!good)
        *st = error_set(e, ST_INVALID, "'%s' must be a whole number", name);
}

enum status
tree_rule_read(const struct json_t *json, struct arena *a,
               struct tree_rule *out, struct error *e)
{
    struct slice type;
    enum status st = ST_OK;

    *out = (struct tree_rule){ 0 };
    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "a rule is an object");
    take_int(json, "treeId", &out->tree, &st, e);
    take_int(json, "level", &out->level, &st, e);
    take_int(json, "order", &out->order, &st, e);
    take_int(json, "regexGroupIdx", &out->group, &st, e);
    if (take_text(json, "type", a, &type, &st, e))
        st = tree_rule_type_parse(type, &out->type, e);
    (void)take_text(json, "field", a, &out->field, &st, e);
    (void)take_text(json, "customField", a, &out->custom_field, &st, e);
    (void)take_text(json, "regex", a, &out->regex, &st, e);
    (void)take_text(json, "separator", a, &out->separator, &st, e);
    (void)take_text(json, "displayFormat", a, &out->display_format, &st, e);
    (void)take_text(json, "description", a, &out->description, &st, e);
    (void)take_text(json, "notes", a, &out->notes, &st, e);
    if (st == ST_OK && out->level < 0)
        st = error_set(e, ST_INVALID, "Negative levels are not allowed");
    return st == ST_OK ? tree_rule_check_regex(out, e) : st;
}

enum status
tree_rule_check_regex(const struct tree_rule *rule, struct error *e)
{
    struct regexp *r;
    enum status st;

    if (rule->regex.size == 0)
        return ST_OK;
    st = regexp_new(rule->regex, &r, e);
    regexp_free(&r);
    return st;
}

/* -- writing --------------------------------------------------------------- */

static void
put_member(struct buf *b, const char *name, struct slice text)
{
    buf_put_str(b, name);
    json_put_string(b, text);
}

void
tree_rule_write(struct buf *b, const struct tree_rule *rule)
{
    put_member(b, "{\"type\":", slice_str(tree_rule_type_name(rule->type)));
    put_member(b, ",\"field\":", rule->field);
    put_member(b, ",\"regex\":", rule->regex);
    put_member(b, ",\"separator\":", rule->separator);
    put_member(b, ",\"description\":", rule->description);
    put_member(b, ",\"notes\":", rule->notes);
    buf_printf(b, ",\"level\":%lld,\"order\":%lld,\"treeId\":%lld",
               (long long)rule->level, (long long)rule->order,
               (long long)rule->tree);
    put_member(b, ",\"customField\":", rule->custom_field);
    buf_printf(b, ",\"regexGroupIdx\":%lld", (long long)rule->group);
    put_member(b, ",\"displayFormat\":", rule->display_format);
    buf_put_u8(b, '}');
}

/* {"0":{"0":rule,"1":rule},"1":..}: by level, then by order. */
static void
write_rules(struct buf *b, const struct tree *tree)
{
    for (size_t i = 0; i < tree->rules_len; i++) {
        const struct tree_rule *r = &tree->rules[i];
        bool first = i == 0 || r[-1].level != r->level;

        if (first)
            buf_printf(b, "%s\"%lld\":{", i == 0 ? "{" : "},",
                       (long long)r->level);
        buf_printf(b, "%s\"%lld\":", first ? "" : ",", (long long)r->order);
        tree_rule_write(b, r);
    }
    buf_put_str(b, tree->rules_len == 0 ? "null" : "}}");
}

static const char *
boolean(bool is)
{
    return is ? "true" : "false";
}

void
tree_write(struct buf *b, const struct tree *tree)
{
    put_member(b, "{\"name\":", tree->name);
    put_member(b, ",\"description\":", tree->description);
    put_member(b, ",\"notes\":", tree->notes);
    buf_printf(b, ",\"enabled\":%s,\"rules\":", boolean(tree->enabled));
    write_rules(b, tree);
    buf_printf(b,
               ",\"created\":%lld,\"treeId\":%lld,\"strictMatch\":%s,"
               "\"storeFailures\":%s}",
               (long long)tree->created, (long long)tree->id,
               boolean(tree->strict_match), boolean(tree->store_failures));
}

void
tree_write_branch_id(struct buf *b, int64_t tree, const struct slice *path,
                     size_t path_len)
{
    buf_printf(b, "%04llX", (unsigned long long)tree);
    for (size_t i = 1; i < path_len; i++)
        buf_printf(b, "%08X", (unsigned)java_hash(path[i]));
}

void
tree_write_branch_end(struct buf *b, int64_t tree, const struct slice *path,
                      size_t path_len)
{
    buf_put_str(b, ",\"path\":{");
    for (size_t i = 0; i < path_len; i++) {
        buf_printf(b, "%s\"%zu\":", i == 0 ? "" : ",", i);
        json_put_string(b, path[i]);
    }
    put_member(b, "},\"displayName\":", path[path_len - 1]);
    buf_printf(b, ",\"treeId\":%lld,\"branchId\":\"", (long long)tree);
    tree_write_branch_id(b, tree, path, path_len);
    buf_printf(b, "\",\"depth\":%zu}", path_len - 1);
}
