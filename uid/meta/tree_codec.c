/* See uid/meta/tree_codec.h. */
#include "config.h"

#include "uid/meta/tree_codec.h"

#include "base/cursor.h"
#include "base/obj.h"

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
    RECORD(BOOL, tree, strict_match, TREE_STRICT_MATCH),
    RECORD(BOOL, tree, enabled, TREE_ENABLED),
    RECORD(BOOL, tree, store_failures, TREE_STORE_FAILURES),
    RECORD(BOOL, tree, emptied, 0),
    RECORD(UINT, tree, created, 0),
    RECORD(TEXT, tree, name, TREE_NAME),
    RECORD(TEXT, tree, description, TREE_DESCRIPTION),
    RECORD(TEXT, tree, notes, TREE_NOTES),
};

const struct record_format tree_format = {
    "tree",
    tree_fields,
    sizeof tree_fields / sizeof tree_fields[0],
};

/* A request names members of a rule by giving them a value. */
static const struct record_field rule_fields[] = {
    RECORD(BYTE, tree_rule, type, 1),
    RECORD(UINT, tree_rule, group, 1 << 1),
    RECORD(TEXT, tree_rule, field, 1 << 2),
    RECORD(TEXT, tree_rule, custom_field, 1 << 3),
    RECORD(TEXT, tree_rule, regex, 1 << 4),
    RECORD(TEXT, tree_rule, separator, 1 << 5),
    RECORD(TEXT, tree_rule, display_format, 1 << 6),
    RECORD(TEXT, tree_rule, description, 1 << 7),
    RECORD(TEXT, tree_rule, notes, 1 << 8),
};

const struct record_format tree_rule_format = {
    "tree rule",
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
