/*
 * The directory of series, with tag-key sets and kinds.  Tag-key sets are
 * counted as the series go by and compared when they are all counted; which
 * series there are is kept for those who come after.
 */
#include "config.h"

#include "uid/fsck/uid_fsck_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "uid/series/rollup_ids.h"

#define SLOTS_MAX ((size_t)64 << 20) /* 512 MB */

/* -- kinds ----------------------------------------------------------------- */

struct numbers {
    uint64_t list[KINDS_MAX];
    size_t len;
};

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

enum status
check_kinds(struct tables *t, struct error *e)
{
    const uint8_t table[] = { TABLE_ROLLUPS };
    struct slice prefix = slice_of(table, 1);
    struct kv_iter *it = kv_iter_open(t->kv, slice_str(""));
    struct numbers *n = mem_new(sizeof *n);

    for (bool on = kv_iter_seek(it, prefix);
         on && slice_starts(kv_iter_key(it), prefix); on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        t->n.others++;
        if (key.size < 2 || key.size > KIND_NAME_MAX || value.size != 4 ||
            n->len == KINDS_MAX || key_get_uint(value.data, 4) == 0)
            check_drops_bad(t, "kind-entry", key, value,
                            "a kind of rollups with %zu and %zu bytes",
                            key.size, value.size);
        else
            n->list[n->len++] = key_get_uint(value.data, 4);
    }
    qsort(n->list, n->len, sizeof n->list[0], compare);
    for (size_t i = 0; i < n->len; i++) {
        if (i > 0 && n->list[i] == n->list[i - 1])
            check_says(t, "kind-number", prefix, NULL,
                       "two kinds of rollups have the number %llu",
                       (unsigned long long)n->list[i]);
        id_ranges_add(&t->kinds, n->list[i]);
    }
    free(n);
    return kv_iter_close(&it, e);
}

/* -- the set of series ----------------------------------------------------- */

static void
insert(uint64_t *slots, size_t len, uint64_t h)
{
    size_t i = h & (len - 1);

    while (slots[i] != 0 && slots[i] != h)
        i = (i + 1) & (len - 1);
    slots[i] = h;
}

static uint64_t
hash_of(const struct tsuid_set *s, struct slice tsuid)
{
    uint64_t h = hash_slice(tsuid, s->seed);

    return h == 0 ? 1 : h;
}

static void
grow(struct tsuid_set *s)
{
    size_t len = s->slots_len == 0 ? 1024 : s->slots_len * 2;
    uint64_t *slots = len > SLOTS_MAX ? NULL : calloc(len, sizeof *slots);

    if (slots == NULL) { /* from now on the directory is asked */
        s->is_full = true;
        return;
    }
    for (size_t i = 0; i < s->slots_len; i++)
        if (s->slots[i] != 0)
            insert(slots, len, s->slots[i]);
    free(s->slots);
    s->slots = slots;
    s->slots_len = len;
}

void
check_add_series(struct tables *t, struct slice tsuid)
{
    struct tsuid_set *s = &t->series;

    if ((s->len + 1) * 2 > s->slots_len && !s->is_full)
        grow(s);
    if (s->is_full)
        return;
    insert(s->slots, s->slots_len, hash_of(s, tsuid));
    s->len++;
}

enum status
check_has_series(struct tables *t, struct slice tsuid, bool *out,
                 struct error *e)
{
    const struct tsuid_set *s = &t->series;
    uint64_t h = hash_of(s, tsuid);
    struct buf value = BUF_INIT;
    uint8_t key[1 + TSUID_MAX];
    enum status st;

    *out = false;
    if (s->slots_len > 0)
        for (size_t i = h & (s->slots_len - 1); s->slots[i] != 0;
             i = (i + 1) & (s->slots_len - 1))
            if (s->slots[i] == h) {
                *out = true;
                return ST_OK;
            }
    if (!s->is_full)
        return ST_OK;
    st = check_get(t, slice_of(key, key_series(tsuid, key)), &value, e);
    *out = st == ST_OK;
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* -- series and tag-key sets
 * ----------------------------------------------------- */

/* Without the table's byte. */
static struct slice
tagk_set_of(const struct tables *t, struct slice tsuid, uint8_t *out)
{
    const struct key_layout *w = t->layout;
    size_t n = w->metric_width;

    memcpy(out, tsuid.data, n);
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        memcpy(out + n, tsuid_tagk(w, tsuid, i).data, w->tagk_width);
        n += w->tagk_width;
    }
    return slice_of(out, n);
}

static void
count(struct tables *t, struct slice tsuid)
{
    uint8_t bytes[TSUID_MAX];
    struct slice tagk_set = tagk_set_of(t, tsuid, bytes);

    tagk_sets_set(t->tagk_sets, tagk_set,
                  tagk_sets_get(t->tagk_sets, tagk_set) + 1);
}

static enum status
take_series(struct tables *t, struct slice key, struct slice value,
            struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);
    char what[64], name[CHECK_TEXT_MAX];

    (void)e;
    t->n.series++;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(t->layout, tsuid) ||
        tsuid_tags(t->layout, tsuid) == 0) {
        check_drops_bad(t, "series-key", key, value,
                        "%zu bytes are no TSUID with ascending tags",
                        tsuid.size);
        return ST_OK;
    }
    if (!check_ids(t, tsuid, what)) {
        check_drops_bad(t, "series-id", key, value, "%s: %s",
                        check_describe(t, tsuid, name), what);
        return ST_OK;
    }
    if (value.size != 4) {
        if (check_repairs(t))
            check_puts(t, key, slice_of("\0\0\0\0", 4));
        check_says(t, "series-entry", key,
                   check_repairs(t) ? "its creation is unknown now" : NULL,
                   "the entry of %s has %zu bytes, not 4",
                   check_describe(t, tsuid, name), value.size);
    }
    check_add_series(t, tsuid);
    count(t, tsuid);
    return ST_OK;
}

/* What was counted is set to 0 when it was compared: what is left has no
 * entry. */
static enum status
take_tagk_set(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    struct slice tagk_set = slice_of(key.data + 1, key.size - 1);
    size_t tagks = tagk_set.size - t->layout->metric_width;
    uint8_t bytes[8];
    uint64_t series;

    (void)e;
    t->n.tagk_sets++;
    if (tagk_set.size <= t->layout->metric_width || tagk_set.size > TSUID_MAX ||
        tagks % t->layout->tagk_width != 0 || value.size != 8) {
        check_drops_bad(t, "tagk_set-entry", key, value,
                        "a tag-key set with %zu and %zu bytes", key.size,
                        value.size);
        return ST_OK;
    }
    series = tagk_sets_get(t->tagk_sets, tagk_set);
    if (series == 0) {
        check_drops_bad(t, "tagk_set-unused", key, value,
                        "no series has this set of tags");
        return ST_OK;
    }
    tagk_sets_set(t->tagk_sets, tagk_set, 0);
    if (series == key_get_uint(value.data, 8))
        return ST_OK;
    key_put_uint(bytes, series, 8);
    if (check_repairs(t))
        check_puts(t, key, slice_of(bytes, 8));
    check_says(t, "tagk_set-count", key, check_repairs(t) ? "set" : NULL,
               "%llu series have this set of tags, not %llu",
               (unsigned long long)series,
               (unsigned long long)key_get_uint(value.data, 8));
    return ST_OK;
}

static void
add_tagk_set(struct tables *t, struct slice tagk_set, uint64_t series)
{
    uint8_t key[1 + TSUID_MAX] = { TABLE_TAGK_SETS }, value[8];

    memcpy(key + 1, tagk_set.data, tagk_set.size);
    key_put_uint(value, series, 8);
    if (check_repairs(t))
        check_puts(t, slice_of(key, 1 + tagk_set.size), slice_of(value, 8));
    check_says(t, "tagk_set-missing", slice_of(key, 1 + tagk_set.size),
               check_repairs(t) ? "entered" : NULL,
               "%llu series have a set of tags that is not entered, and are "
               "not found",
               (unsigned long long)series);
}

/* Again all series, for those whose tag-key sets have no entry. */
static enum status
find_tagk_set(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);
    uint8_t bytes[TSUID_MAX];
    struct slice tagk_set;
    uint64_t series;

    (void)value;
    (void)e;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(t->layout, tsuid))
        return ST_OK;
    tagk_set = tagk_set_of(t, tsuid, bytes);
    series = tagk_sets_get(t->tagk_sets, tagk_set);
    if (series == 0)
        return ST_OK;
    tagk_sets_set(t->tagk_sets, tagk_set, 0);
    add_tagk_set(t, tagk_set, series);
    return ST_OK;
}

enum status
check_series(struct tables *t, struct error *e)
{
    const uint8_t series[] = { TABLE_SERIES },
                  tagk_sets[] = { TABLE_TAGK_SETS };
    enum status st = check_each(t, slice_of(series, 1), take_series, e);

    if (st == ST_OK)
        st = check_each(t, slice_of(tagk_sets, 1), take_tagk_set, e);
    if (st == ST_OK && tagk_sets_total(t->tagk_sets) > 0)
        st = check_each(t, slice_of(series, 1), find_tagk_set, e);
    return st;
}

/* -- series that were found elsewhere -------------------------------------- */

/* The tag-key set's count is put right by the next round: it is not known here
 * which others of its series were found so. */
enum status
check_enter_series(struct tables *t, struct slice tsuid, uint32_t created_s,
                   struct error *e)
{
    uint8_t key[1 + TSUID_MAX], value[4];

    (void)e;
    key_put_uint(value, created_s, 4);
    check_puts(t, slice_of(key, key_series(tsuid, key)), slice_of(value, 4));
    check_add_series(t, tsuid);
    return ST_OK;
}
