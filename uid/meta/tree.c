/* Definitions of trees.  They are few, small and seldom asked for, so nothing
 * is kept in memory. */
#include "uid/meta/tree.h"

#include "base/cursor.h"

static const char *const type_names[] = {
    [TREE_RULE_NONE] = "null",
    [TREE_RULE_METRIC] = "METRIC",
    [TREE_RULE_METRIC_CUSTOM] = "METRIC_CUSTOM",
    [TREE_RULE_TAGK] = "TAGK",
    [TREE_RULE_TAGK_CUSTOM] = "TAGK_CUSTOM",
    [TREE_RULE_TAGV_CUSTOM] = "TAGV_CUSTOM",
};

const char *
tree_rule_type_name(enum tree_rule_type type)
{
    return type_names[type];
}

enum status
tree_rule_type_parse(struct slice name, enum tree_rule_type *out,
                     struct error *e)
{
    if (name.size == 0)
        return error_set(e, ST_INVALID, "Rule type was empty");
    for (int i = TREE_RULE_METRIC; i <= TREE_RULE_TAGV_CUSTOM; i++) {
        if (slice_eq_nocase(name, slice_str(type_names[i]))) {
            *out = (enum tree_rule_type)i;
            return ST_OK;
        }
    }
    return error_set(e, ST_INVALID, "Unrecognized rule type");
}

/* -- bytes ----------------------------------------------------------------- */

struct slice
tree_key(int64_t id, uint8_t *out)
{
    INSIST(id > 0 && id <= TREE_ID_MAX);
    out[0] = TABLE_TREES;
    key_put_uint(out + 1, (uint64_t)id, 2);
    return slice_of(out, TREE_KEY_SIZE);
}

struct slice
tree_rule_key(int64_t tree, int64_t level, int64_t order, uint8_t *out)
{
    INSIST(level >= 0 && level <= INT32_MAX);
    INSIST(order >= 0 && order <= INT32_MAX);
    (void)tree_key(tree, out);
    key_put_uint(out + TREE_KEY_SIZE, (uint64_t)level, 4);
    key_put_uint(out + TREE_KEY_SIZE + 4, (uint64_t)order, 4);
    return slice_of(out, TREE_RULE_KEY_SIZE);
}

enum status
tree_key_parse(struct slice key, bool *is_rule, struct tree_rule *out,
               struct error *e)
{
    struct cursor c = cursor_of(key);

    *is_rule = key.size == TREE_RULE_KEY_SIZE;
    (void)cursor_u8(&c);
    out->tree = cursor_u16(&c);
    out->level = *is_rule ? cursor_u32(&c) : 0;
    out->order = *is_rule ? cursor_u32(&c) : 0;
    if (c.failed || cursor_left(&c) > 0 || out->tree == 0 ||
        out->level > INT32_MAX || out->order > INT32_MAX)
        return error_set(e, ST_CORRUPT, "tree key of %zu bytes", key.size);
    return ST_OK;
}

static const struct record_field tree_fields[] = {
    RECORD(BOOL, tree, strict_match, "strictMatch", TREE_STRICT_MATCH),
    RECORD(BOOL, tree, enabled, "enabled", TREE_ENABLED),
    RECORD(BOOL, tree, store_failures, "storeFailures", TREE_STORE_FAILURES),
    RECORD(BOOL, tree, emptied, "emptied", 0),
    RECORD(UINT, tree, created, "created", 0),
    RECORD(TEXT, tree, name, "name", TREE_NAME),
    RECORD(TEXT, tree, description, "description", TREE_DESCRIPTION),
    RECORD(TEXT, tree, notes, "notes", TREE_NOTES),
};

const struct record_format tree_format = {
    "tree",
    "tree",
    tree_fields,
    sizeof tree_fields / sizeof tree_fields[0],
};

/* A request names members of a rule by giving them a value. */
static const struct record_field rule_fields[] = {
    RECORD(BYTE, tree_rule, type, "ruleType", 1),
    RECORD(UINT, tree_rule, group, "regexGroupIdx", 1 << 1),
    RECORD(TEXT, tree_rule, field, "field", 1 << 2),
    RECORD(TEXT, tree_rule, custom_field, "customField", 1 << 3),
    RECORD(TEXT, tree_rule, regex, "regex", 1 << 4),
    RECORD(TEXT, tree_rule, separator, "separator", 1 << 5),
    RECORD(TEXT, tree_rule, display_format, "displayFormat", 1 << 6),
    RECORD(TEXT, tree_rule, description, "description", 1 << 7),
    RECORD(TEXT, tree_rule, notes, "notes", 1 << 8),
};

const struct record_format tree_rule_format = {
    "tree rule",
    "rule",
    rule_fields,
    sizeof rule_fields / sizeof rule_fields[0],
};

enum status
tree_rule_decode(struct slice bytes, struct tree_rule *out, struct error *e)
{
    enum status st = record_decode(&tree_rule_format, bytes, NULL, out, e);

    if (st == ST_OK &&
        (out->type < TREE_RULE_METRIC || out->type > TREE_RULE_TAGV_CUSTOM ||
         out->group > INT32_MAX))
        return error_set(e, ST_CORRUPT, "tree rule of type %d and group %lld",
                         (int)out->type, (long long)out->group);
    return st;
}

/* -- reading --------------------------------------------------------------- */

/* Reads all records whose keys start with 'prefix': a tree, then its rules. */
static enum status
read_trees(struct records *r, struct slice prefix, struct arena *a,
           struct tree **out, size_t *len, struct error *e)
{
    struct kv_iter *it = kv_iter_open(store_kv(r->store), prefix);
    size_t cap = 0, rules_cap = 0;
    enum status st = ST_OK;

    *out = NULL;
    *len = 0;
    for (bool on = kv_iter_seek(it, prefix); on && st == ST_OK;
         on = kv_iter_next(it)) {
        struct slice value = kv_iter_value(it);
        struct tree_rule rule = { 0 };
        struct tree *tree;
        bool is_rule;

        st = tree_key_parse(kv_iter_key(it), &is_rule, &rule, e);
        if (st == ST_OK && !arena_keep(a, &value))
            st = error_no_memory(e);
        if (st != ST_OK)
            break;
        if (!is_rule) {
            *out = arena_grow(a, *out, *len, &cap, sizeof **out);
            if (*out == NULL) {
                st = error_no_memory(e);
                break;
            }
            tree = &(*out)[(*len)++];
            *tree = (struct tree){ .id = rule.tree };
            rules_cap = 0;
            st = record_decode(&tree_format, value, NULL, tree, e);
            continue;
        }
        tree = *len == 0 ? NULL : &(*out)[*len - 1];
        if (tree == NULL || tree->id != rule.tree) {
            st = error_set(e, ST_CORRUPT, "rule of a tree that does not exist");
            break;
        }
        tree->rules = arena_grow(a, tree->rules, tree->rules_len, &rules_cap,
                                 sizeof rule);
        if (tree->rules == NULL) {
            st = error_no_memory(e);
            break;
        }
        tree->rules[tree->rules_len] = rule;
        st = tree_rule_decode(value, &tree->rules[tree->rules_len++], e);
    }
    return kv_iter_end(&it, st, e);
}

static enum status
check_id(int64_t id, struct error *e)
{
    if (id < 1 || id > TREE_ID_MAX)
        return error_set(e, ST_INVALID, "Invalid Tree ID");
    return ST_OK;
}

enum status
tree_get(struct records *r, int64_t id, struct arena *arena, struct tree *out,
         struct error *e)
{
    struct tree *trees;
    size_t len;
    uint8_t key[TREE_KEY_SIZE];
    enum status st;

    st = check_id(id, e);
    if (st == ST_OK)
        st = read_trees(r, tree_key(id, key), arena, &trees, &len, e);
    if (st != ST_OK)
        return st;
    if (len == 0)
        return error_set(e, ST_NOT_FOUND, "Unable to locate tree: %lld",
                         (long long)id);
    *out = trees[0];
    return ST_OK;
}

enum status
tree_list(struct records *r, struct arena *arena, struct tree **out,
          size_t *len, struct error *e)
{
    return read_trees(r, KEY_TABLE(TABLE_TREES), arena, out, len, e);
}

const struct tree_rule *
tree_rule_at(const struct tree *tree, int64_t level, int64_t order)
{
    for (size_t i = 0; i < tree->rules_len; i++)
        if (tree->rules[i].level == level && tree->rules[i].order == order)
            return &tree->rules[i];
    return NULL;
}

/* -- writing --------------------------------------------------------------- */

static enum status
batch_tree(struct kv_batch *b, const struct tree *tree, struct error *e)
{
    uint8_t key[TREE_KEY_SIZE];

    return record_put(b, tree_key(tree->id, key), &tree_format, tree, e);
}

static void
batch_delete_rules(struct kv_batch *b, const struct tree *tree)
{
    uint8_t key[TREE_RULE_KEY_SIZE];

    for (size_t i = 0; i < tree->rules_len; i++)
        kv_batch_delete(b, tree_rule_key(tree->id, tree->rules[i].level,
                                         tree->rules[i].order, key));
}

enum status
tree_create(struct records *r, struct tree *tree, struct error *e)
{
    struct arena *arena = arena_new(0);
    struct kv_batch *b = change_begin(r);
    struct tree *all;
    size_t len;
    enum status st = tree->name.size == 0
                         ? error_set(e, ST_INVALID, "Tree was missing the name")
                         : tree_list(r, arena, &all, &len, e);

    if (st == ST_OK) {
        tree->id = len == 0 ? 1 : all[len - 1].id + 1;
        st = tree->id > TREE_ID_MAX
                 ? error_set(e, ST_INVALID, "Exhausted all Tree IDs")
                 : batch_tree(b, tree, e);
    }
    arena_free(&arena);
    return change_end(r, b, st, e);
}

enum status
tree_put(struct records *r, const struct tree *tree,
         const struct record_change *c, bool *changed, struct error *e)
{
    struct kv_batch *b = change_begin(r);
    struct tree old;
    enum status st = tree_get(r, tree->id, c->arena, &old, e);

    if (st == ST_OK && c->fields != 0) {
        record_merge(&tree_format, &old, tree,
                     c->overwrite ? TREE_MEMBERS : c->fields);
        old.emptied = false;
        st = batch_tree(b, &old, e);
    }
    st = change_end(r, b, st, e);
    *changed = st == ST_OK && c->fields != 0;
    return st;
}

enum status
tree_delete(struct records *r, int64_t id, bool definition, struct arena *arena,
            struct error *e)
{
    uint8_t key[TREE_KEY_SIZE];
    struct kv_batch *b = change_begin(r);
    struct tree old;
    enum status st = tree_get(r, id, arena, &old, e);

    if (st == ST_OK && definition) {
        kv_batch_delete(b, tree_key(id, key));
        batch_delete_rules(b, &old);
    } else if (st == ST_OK) {
        old.emptied = true;
        st = batch_tree(b, &old, e);
    }
    return change_end(r, b, st, e);
}

/* -- rules ----------------------------------------------------------------- */

static enum status
check_rule(const struct tree_rule *r, struct error *e)
{
    const char *type = tree_rule_type_name(r->type);

    if (r->type == TREE_RULE_NONE)
        return error_set(e, ST_INVALID, "Missing rule type");
    if (r->type != TREE_RULE_METRIC && r->field.size == 0)
        return error_set(e, ST_INVALID,
                         "Missing field name required for %s rule", type);
    if (r->type != TREE_RULE_METRIC && r->type != TREE_RULE_TAGK &&
        r->custom_field.size == 0)
        return error_set(e, ST_INVALID,
                         "Missing custom field name required for %s rule",
                         type);
    if (r->group < 0)
        return error_set(e, ST_INVALID,
                         "Invalid regex group index. Cannot be less than 0");
    return ST_OK;
}

static enum status
batch_rule(struct records *r, struct kv_batch *b, struct tree_rule *rule,
           const struct record_change *c, bool *changed, struct error *e)
{
    uint8_t key[TREE_RULE_KEY_SIZE];
    const struct tree_rule *at;
    struct tree tree;
    enum status st = tree_get(r, rule->tree, c->arena, &tree, e);

    if (st != ST_OK)
        return st;
    at = tree_rule_at(&tree, rule->level, rule->order);
    if (at != NULL && !c->overwrite) {
        struct buf before = BUF_INIT, after = BUF_INIT;
        struct tree_rule merged = *at;
        bool same;

        record_merge(&tree_rule_format, &merged, rule,
                     record_given(&tree_rule_format, rule));
        record_encode(&tree_rule_format, at, &before);
        record_encode(&tree_rule_format, &merged, &after);
        same = slice_eq(buf_slice(&before), buf_slice(&after));
        buf_fini(&before);
        buf_fini(&after);
        if (same)
            return ST_OK;
        *rule = merged;
    }
    *changed = true;
    st = check_rule(rule, e);
    if (st == ST_OK)
        st = record_put(
            b, tree_rule_key(rule->tree, rule->level, rule->order, key),
            &tree_rule_format, rule, e);
    if (st != ST_OK || !tree.emptied)
        return st;
    tree.emptied = false; /* it has branches again */
    return batch_tree(b, &tree, e);
}

enum status
tree_rule_put(struct records *r, struct tree_rule *rule, bool overwrite,
              struct arena *arena, bool *changed, struct error *e)
{
    struct kv_batch *b;
    enum status st;

    *changed = false;
    st = check_id(rule->tree, e);
    if (st != ST_OK)
        return st;
    if (rule->level == 0 && rule->order == 0 &&
        record_given(&tree_rule_format, rule) == 0)
        return ST_OK;
    if (rule->level < 0 || rule->level > INT32_MAX)
        return error_set(e, ST_INVALID, "Invalid rule level");
    if (rule->order < 0 || rule->order > INT32_MAX)
        return error_set(e, ST_INVALID, "Invalid rule order");
    b = change_begin(r);
    st = batch_rule(r, b, rule, &(struct record_change){ 0, overwrite, arena },
                    changed, e);
    st = change_end(r, b, st, e);
    *changed = *changed && st == ST_OK;
    return st;
}

enum status
tree_rule_delete(struct records *r, int64_t tree, int64_t level, int64_t order,
                 struct error *e)
{
    uint8_t key[TREE_RULE_KEY_SIZE];
    struct kv_batch *b;
    enum status st = check_id(tree, e);

    if (st != ST_OK)
        return st;
    b = change_begin(r);
    if (level >= 0 && level <= INT32_MAX && order >= 0 && order <= INT32_MAX)
        kv_batch_delete(b, tree_rule_key(tree, level, order, key));
    return change_end(r, b, ST_OK, e);
}

enum status
tree_rules_delete(struct records *r, int64_t tree, struct error *e)
{
    struct arena *arena = arena_new(0);
    struct kv_batch *b = change_begin(r);
    struct tree old;
    enum status st = tree_get(r, tree, arena, &old, e);

    if (st == ST_OK)
        batch_delete_rules(b, &old);
    arena_free(&arena);
    return change_end(r, b, st, e);
}
