/* A HashMap of Java keeps its entries by bucket, and within a bucket in the
 * order of their arrival (chains of more than eight, which become trees, do not
 * occur with so few tags, unless a test asks for it). */
#include "uid/series/tag_set.h"

#include "base/text/java.h"

/* Puts the tags, so far in the order of arrival, into the map's order. */
static void
sort(struct tag_set *set)
{
    const struct tag *arrived[TAG_SET_MAX];
    size_t order[TAG_SET_MAX];

    for (size_t i = 0; i < set->len; i++) {
        arrived[i] = set->tags[i];
        order[i] = i;
    }
    java_order_hashed(set->hashes, JAVA_DEFAULT_SIZE, order, set->len);
    for (size_t i = 0; i < set->len; i++)
        set->tags[i] = arrived[order[i]];
}

static enum status
duplicate(struct tag_set *set, const struct tag *tag, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    sort(set);
    tag_set_print(set->tags, set->len, &text);
    st = error_set(e, ST_INVALID, "duplicate tag: %.*s=%.*s, tags=%s",
                   SLICE_ARG(tag->key), SLICE_ARG(tag->value), buf_cstr(&text));
    buf_fini(&text);
    return st;
}

enum status
tag_set_make(const struct tag *tags, size_t len, struct tag_set *out,
             struct error *e)
{
    out->len = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t hash = java_map_hash(tags[i].key);
        const struct tag *old = NULL; /* of the same key */

        for (size_t k = 0; k < out->len && old == NULL; k++)
            if (out->hashes[k] == hash &&
                slice_eq(out->tags[k]->key, tags[i].key))
                old = out->tags[k];

        if (old != NULL && !slice_eq(old->value, tags[i].value))
            return duplicate(out, &tags[i], e);
        if (old != NULL)
            continue;
        if (out->len == TAG_SET_MAX)
            return ST_LIMIT;
        out->tags[out->len] = &tags[i];
        out->hashes[out->len++] = hash;
    }
    sort(out);
    return ST_OK;
}

void
tag_set_print(const struct tag *const *tags, size_t len, struct buf *out)
{
    buf_put_u8(out, '{');
    for (size_t i = 0; i < len && out->size < sizeof(struct error); i++) {
        if (i > 0)
            buf_put_str(out, ", ");
        buf_put_slice(out, tags[i]->key);
        buf_put_u8(out, '=');
        buf_put_slice(out, tags[i]->value.data == NULL ? slice_str("null")
                                                       : tags[i]->value);
    }
    buf_put_u8(out, '}');
}
