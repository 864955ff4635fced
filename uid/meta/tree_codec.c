/* See uid/meta/tree_codec.h. */
#include "config.h"

#include "uid/meta/tree_codec.h"

#include "base/cursor.h"
#include "base/obj.h"

#define TREE_VERSION 1

enum {
    STRICT_MATCH = 1,
    ENABLED = 2,
    STORE_FAILURES = 4,
    EMPTIED = 8,
};

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

static void
put_text(struct buf *out, struct slice s)
{
    buf_put_varint(out, s.size);
    buf_put_slice(out, s);
}

static struct slice
take_text(struct cursor *c)
{
    return cursor_bytes(c, cursor_varint(c));
}

void
tree_encode(const struct tree *tree, struct buf *out)
{
    buf_put_u8(out, TREE_VERSION);
    buf_put_u8(out, (uint8_t)((tree->strict_match ? STRICT_MATCH : 0) |
                              (tree->enabled ? ENABLED : 0) |
                              (tree->store_failures ? STORE_FAILURES : 0) |
                              (tree->emptied ? EMPTIED : 0)));
    buf_put_varint(out, (uint64_t)tree->created);
    put_text(out, tree->name);
    put_text(out, tree->description);
    put_text(out, tree->notes);
}

enum status
tree_decode(struct slice bytes, struct tree *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    uint8_t flags = cursor_u8(&c);

    out->strict_match = (flags & STRICT_MATCH) != 0;
    out->enabled = (flags & ENABLED) != 0;
    out->store_failures = (flags & STORE_FAILURES) != 0;
    out->emptied = (flags & EMPTIED) != 0;
    out->created = (int64_t)cursor_varint(&c);
    out->name = take_text(&c);
    out->description = take_text(&c);
    out->notes = take_text(&c);
    if (version != TREE_VERSION || c.failed || cursor_left(&c) > 0 ||
        out->created < 0)
        return error_set(e, ST_CORRUPT, "tree of version %u and %zu bytes",
                         version, bytes.size);
    return ST_OK;
}

void
tree_rule_encode(const struct tree_rule *rule, struct buf *out)
{
    buf_put_u8(out, TREE_VERSION);
    buf_put_u8(out, (uint8_t)rule->type);
    buf_put_varint(out, (uint64_t)rule->group);
    put_text(out, rule->field);
    put_text(out, rule->custom_field);
    put_text(out, rule->regex);
    put_text(out, rule->separator);
    put_text(out, rule->display_format);
    put_text(out, rule->description);
    put_text(out, rule->notes);
}

enum status
tree_rule_decode(struct slice bytes, struct tree_rule *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    uint8_t type = cursor_u8(&c);

    out->group = (int64_t)cursor_varint(&c);
    out->field = take_text(&c);
    out->custom_field = take_text(&c);
    out->regex = take_text(&c);
    out->separator = take_text(&c);
    out->display_format = take_text(&c);
    out->description = take_text(&c);
    out->notes = take_text(&c);
    if (version != TREE_VERSION || c.failed || cursor_left(&c) > 0 ||
        type < TREE_RULE_METRIC || type > TREE_RULE_TAGV_CUSTOM ||
        out->group < 0 || out->group > INT32_MAX)
        return error_set(e, ST_CORRUPT, "tree rule of version %u and %zu bytes",
                         version, bytes.size);
    out->type = (enum tree_rule_type)type;
    return ST_OK;
}
