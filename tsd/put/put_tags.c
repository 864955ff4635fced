/* See tsd/put/put_tags.h.  A HashMap has 16 buckets, and twice as many each
 * time that it gets more than three quarters full; a bucket keeps the order in
 * which its keys came.  The hash of a string is that of its UTF-16 units. */
#include "config.h"

#include "tsd/put/put_tags.h"

#include "base/text/java.h"

struct put_tag *
put_tags_find(struct put_tags *t, struct slice key)
{
    for (size_t i = 0; i < t->len; i++)
        if (slice_eq(t->tags[i].key, key))
            return &t->tags[i];
    return NULL;
}

void
put_tags_add(struct put_tags *t, struct slice key, struct slice value,
             bool null)
{
    if (t->len == PUT_TAGS_MAX) {
        t->more++;
        return;
    }
    t->tags[t->len++] =
        (struct put_tag){ key, value, null, java_map_hash(key) };
}

static bool
fail(struct buf *why, const char *what, struct slice word)
{
    buf_put_str(why, what);
    buf_put_slice(why, word);
    return false;
}

bool
put_tags_parse(struct put_tags *t, struct slice word, struct buf *why)
{
    const uint8_t *eq = memchr(word.data, '=', word.size);
    struct slice key, value;
    struct put_tag *old;

    if (eq == NULL)
        return fail(why, "invalid tag: ", word);
    key = slice_of(word.data, (size_t)(eq - word.data));
    value = slice_of(eq + 1, word.size - key.size - 1);
    if (key.size == 0 || value.size == 0 ||
        memchr(value.data, '=', value.size) != NULL)
        return fail(why, "invalid tag: ", word);
    old = put_tags_find(t, key);
    if (old == NULL) {
        put_tags_add(t, key, value, false);
        return true;
    }
    if (slice_eq(old->value, value))
        return true;
    (void)fail(why, "duplicate tag: ", word);
    buf_put_str(why, ", tags=");
    put_tags_print(t, why);
    return false;
}

void
put_tags_order(const struct put_tags *t, uint8_t order[PUT_TAGS_MAX])
{
    size_t buckets = 16, len = 0;

    while (t->len > buckets / 4 * 3)
        buckets *= 2;
    for (size_t b = 0; b < buckets && len < t->len; b++)
        for (size_t i = 0; i < t->len; i++)
            if ((t->tags[i].hash & (buckets - 1)) == b)
                order[len++] = (uint8_t)i;
}

void
put_tags_print(const struct put_tags *t, struct buf *out)
{
    uint8_t order[PUT_TAGS_MAX];

    put_tags_order(t, order);
    buf_put_str(out, "{");
    for (size_t i = 0; i < t->len; i++) {
        const struct put_tag *tag = &t->tags[order[i]];

        if (i > 0)
            buf_put_str(out, ", ");
        buf_put_slice(out, tag->key);
        buf_put_str(out, "=");
        if (tag->null)
            buf_put_str(out, "null");
        else
            buf_put_slice(out, tag->value);
    }
    buf_put_str(out, t->more > 0 ? ", ...}" : "}");
}
