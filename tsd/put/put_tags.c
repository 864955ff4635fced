#include "tsd/put/put_tags.h"

struct tag *
put_tags_find(struct put_tags *t, struct slice key)
{
    for (size_t i = 0; i < t->len; i++)
        if (slice_eq(t->tags[i].key, key))
            return &t->tags[i];
    return NULL;
}

void
put_tags_set(struct put_tags *t, struct slice key, struct slice value)
{
    struct tag *old = put_tags_find(t, key);

    if (old != NULL)
        old->value = value;
    else if (t->len < PUT_TAGS_MAX)
        t->tags[t->len++] = (struct tag){ key, value };
}

bool
put_tags_parse(struct put_tags *t, struct slice word, struct buf *why)
{
    const uint8_t *eq = memchr(word.data, '=', word.size);
    struct tag tag = { { NULL, 0 }, { NULL, 0 } };
    struct tag *old;

    if (eq != NULL) {
        tag.key = slice_of(word.data, (size_t)(eq - word.data));
        tag.value = slice_of(eq + 1, word.size - tag.key.size - 1);
    }
    if (tag.key.size == 0 || tag.value.size == 0 ||
        memchr(tag.value.data, '=', tag.value.size) != NULL) {
        buf_printf(why, "invalid tag: %.*s", SLICE_ARG(word));
        return false;
    }
    old = put_tags_find(t, tag.key);
    if (old != NULL && !slice_eq(old->value, tag.value)) {
        buf_printf(why, "duplicate tag: %.*s, tags=", SLICE_ARG(word));
        put_tags_print(t, why);
        return false;
    }
    put_tags_set(t, tag.key, tag.value);
    return true;
}

void
put_tags_sort(struct put_tags *t)
{
    struct put_tags sorted = { .len = 0 };
    struct tag_set set;

    if (tag_set_make(t->tags, t->len, &set, NULL) != ST_OK)
        return; /* too many */
    for (size_t i = 0; i < set.len; i++)
        sorted.tags[sorted.len++] = *set.tags[i];
    *t = sorted;
}

void
put_tags_print(const struct put_tags *t, struct buf *out)
{
    struct tag_set set;

    (void)!tag_set_make(t->tags, t->len, &set, NULL);
    tag_set_print(set.tags, set.len, out);
}
