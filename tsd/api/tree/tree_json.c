#include "tsd/api/tree/tree_json.h"

#include "base/text/java.h"
#include "query/model/regexp.h"
#include "web/json/json.h"

/* A rule as a request has it: its type still text. */
struct rule_request {
    struct tree_rule rule;
    struct slice type;
};

static const struct field of_tree[] = {
#define AT(member) offsetof(struct tree_request, member)
#define TREE_FIELD(param, json, type, member, bit)                         \
    {                                                                      \
        param, json, type, AT(member), FIELD_IF_SET | FIELD_ANY_CASE, bit, \
            NULL                                                           \
    }
#define TREE_SWITCH(param, json, member, bit)                            \
    {                                                                    \
        param, json, FIELD_SWITCH, AT(member), FIELD_ANY_CASE, bit, NULL \
    }
    TREE_FIELD("treeid", "treeId", FIELD_TEXT, id_text, 0),
    TREE_FIELD("name", "name", FIELD_TEXT, tree.name, TREE_NAME),
    TREE_FIELD("description", "description", FIELD_TEXT, tree.description,
               TREE_DESCRIPTION),
    TREE_FIELD("notes", "notes", FIELD_TEXT, tree.notes, TREE_NOTES),
    TREE_SWITCH("strict_match", "strictMatch", tree.strict_match,
                TREE_STRICT_MATCH),
    TREE_SWITCH("enabled", "enabled", tree.enabled, TREE_ENABLED),
    TREE_SWITCH("store_failures", "storeFailures", tree.store_failures,
                TREE_STORE_FAILURES),
    TREE_SWITCH("definition", "definition", definition, 0),
    /* No rules are taken here, but it must be a text or null. */
    TREE_FIELD(NULL, "rules", FIELD_TEXT, rules_text, 0),
#undef AT
};

const struct field_table tree_fields = { FIELDS(of_tree) };

static const struct field of_rule[] = {
#define AT(member) offsetof(struct rule_request, member)
#define RULE_TEXT(param, json, member)                  \
    {                                                   \
        param, json, FIELD_TEXT, AT(member), 0, 0, NULL \
    }
    { "treeid", "treeId", FIELD_INT, AT(rule.tree),
      FIELD_NEEDED | FIELD_DETAILS, 0, "Unable to parse 'tree' value" },
    { "type", "type", FIELD_TEXT, AT(type), 0, 1, NULL },
    RULE_TEXT("field", "field", rule.field),
    RULE_TEXT("custom_field", "customField", rule.custom_field),
    RULE_TEXT("regex", "regex", rule.regex),
    RULE_TEXT("separator", "separator", rule.separator),
    RULE_TEXT("description", "description", rule.description),
    RULE_TEXT("notes", "notes", rule.notes),
    RULE_TEXT("display_format", "displayFormat", rule.display_format),
    { "regex_group_idx", "regexGroupIdx", FIELD_INT, AT(rule.group),
      FIELD_DETAILS, 0, "Unable to parse the 'regex_group_idx' parameter" },
    { "level", "level", FIELD_INT, AT(rule.level), FIELD_NEEDED | FIELD_DETAILS,
      0, "Unable to parse the 'level' parameter" },
    { "order", "order", FIELD_INT, AT(rule.order), FIELD_NEEDED | FIELD_DETAILS,
      0, "Unable to parse the 'order' parameter" },
#undef AT
};

const struct field_table tree_rule_fields = { FIELDS(of_rule) };

bool
tree_read(const struct http_request *r, struct tree_request *out,
          struct http_reply *reply)
{
    char details[200];

    *out = (struct tree_request){ 0 };
    if (!fields_read(r, FIELDS(of_tree), out, &out->fields, reply))
        return false;
    if (out->id_text.data == NULL || api_parse_int(out->id_text, &out->tree.id))
        return true;
    (void)snprintf(details, sizeof details, "For input string: \"%.*s\"",
                   out->id_text.size > 100 ? 100 : (int)out->id_text.size,
                   (const char *)out->id_text.data);
    http_reply_error(reply, 400, "Unable to parse 'tree' value",
                     http_body(r).size > 0 ? NULL : details);
    return false;
}

/* Checks what the table cannot.  '*fault' is what OpenTSDB says of the
 * parameter. */
static enum status
check_rule(struct rule_request *n, unsigned seen, const char **fault,
           struct error *e)
{
    enum status st = ST_OK;
    struct regexp *r;

    *fault = "Unable to parse the 'type' parameter";
    if (seen != 0)
        st = tree_rule_type_parse(n->type, &n->rule.type, e);
    if (st != ST_OK)
        return st;
    *fault = "Unable to parse the 'regex' parameter";
    if (n->rule.regex.size > 0) {
        st = regexp_new(n->rule.regex, &r, e);
        regexp_free(&r);
    }
    if (st != ST_OK || n->rule.level >= 0)
        return st;
    *fault = NULL;
    return error_set(e, ST_INVALID, "Negative levels are not allowed");
}

enum status
tree_rule_read_json(const struct json_t *json, struct arena *a,
                    struct tree_rule *out, struct error *e)
{
    struct rule_request n = { .type = slice_str("") };
    const char *fault;
    unsigned seen;
    enum status st = fields_read_json(json, FIELDS(of_rule), a, &n, &seen, e);

    if (st == ST_OK)
        st = check_rule(&n, seen, &fault, e);
    *out = n.rule;
    return st;
}

bool
tree_rule_read(const struct http_request *r, struct tree_rule *out,
               struct http_reply *reply)
{
    struct rule_request n = { .type = slice_str("") };
    const char *fault;
    unsigned seen;
    struct error e;

    if (!fields_read(r, FIELDS(of_rule), &n, &seen, reply))
        return false;
    if (check_rule(&n, seen, &fault, &e) == ST_OK) {
        *out = n.rule;
        return true;
    }
    if (http_body(r).size > 0)
        api_reject_json(reply, &e);
    else
        http_reply_error(reply, 400, fault == NULL ? e.text : fault,
                         fault == NULL ? NULL : e.text);
    return false;
}

void
tree_rule_write(struct buf *b, const struct tree_rule *rule)
{
    json_open(b, NULL, '{');
    json_put_text(b, "type", slice_str(tree_rule_type_name(rule->type)));
    json_put_member(b, "field", rule->field);
    json_put_member(b, "regex", rule->regex);
    json_put_member(b, "separator", rule->separator);
    json_put_member(b, "description", rule->description);
    json_put_member(b, "notes", rule->notes);
    json_put_int(b, "level", rule->level);
    json_put_int(b, "order", rule->order);
    json_put_int(b, "treeId", rule->tree);
    json_put_member(b, "customField", rule->custom_field);
    json_put_int(b, "regexGroupIdx", rule->group);
    json_put_member(b, "displayFormat", rule->display_format);
    buf_put_u8(b, '}');
}

void
tree_write(struct buf *b, const struct tree *tree)
{
    json_open(b, NULL, '{');
    json_put_member(b, "name", tree->name);
    json_put_member(b, "description", tree->description);
    json_put_member(b, "notes", tree->notes);
    json_put_bool(b, "enabled", tree->enabled);
    json_name(b, "rules");
    /* {"0":{"0":rule,"1":rule},"1":..}: by level, then by order. */
    for (size_t i = 0; i < tree->rules_len; i++) {
        const struct tree_rule *r = &tree->rules[i];
        bool first = i == 0 || r[-1].level != r->level;

        if (first)
            buf_printf(b, "%s\"%lld\":{", i == 0 ? "{" : "},",
                       (long long)r->level);
        json_next(b);
        buf_printf(b, "\"%lld\":", (long long)r->order);
        tree_rule_write(b, r);
    }
    buf_put_str(b, tree->rules_len == 0 ? "null" : "}}");
    json_put_int(b, "created", tree->created);
    json_put_int(b, "treeId", tree->id);
    json_put_bool(b, "strictMatch", tree->strict_match);
    json_put_bool(b, "storeFailures", tree->store_failures);
    buf_put_u8(b, '}');
}

void
tree_write_branch_end(struct buf *b, int64_t tree, const struct slice *path,
                      size_t path_len)
{
    json_open(b, "path", '{');
    for (size_t i = 0; i < path_len; i++) {
        json_next(b);
        buf_printf(b, "\"%zu\":", i);
        json_put_string(b, path[i]);
    }
    buf_put_u8(b, '}');
    json_put_text(b, "displayName", path[path_len - 1]);
    json_put_int(b, "treeId", tree);
    json_open(b, "branchId", '"');
    /* "0001" and four bytes for each name but the root's, which 'path' starts
     * with. */
    buf_printf(b, "%04llX", (unsigned long long)tree);
    for (size_t i = 1; i < path_len; i++)
        buf_printf(b, "%08X", (unsigned)java_hash(path[i]));
    buf_printf(b, "\",\"depth\":%zu}", path_len - 1);
}
