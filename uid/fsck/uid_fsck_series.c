/* The directory of series, with tag-key sets.  Tag-key sets are
 * counted as the series go by and compared when they are all counted; which
 * series there are is kept for those who come after. */
#include "uid/fsck/uid_fsck_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define SERIES_MAX ((size_t)16 << 20) /* some 500 MB */

static bool
is_hash(const void *hashes, uint32_t i, const void *key)
{
    return ((const uint64_t *)hashes)[i] == *(const uint64_t *)key;
}

static void
add_series(struct tables *t, struct slice tsuid)
{
    struct tsuid_set *s = &t->series;
    uint64_t hash = hash_slice(tsuid, t->seed);
    size_t len = s->table.len;

    s->is_full = len == SERIES_MAX;
    if (s->is_full)
        return;
    if (len == s->cap) {
        s->cap = len == 0 ? 1024 : 2 * len;
        s->hashes = mem_resize(s->hashes, s->cap, sizeof *s->hashes);
    }
    s->hashes[len] = hash;
    table_add(&s->table, hash, (uint32_t)len);
}

enum status
check_has_series(struct tables *t, struct slice tsuid, bool *out,
                 struct error *e)
{
    uint64_t hash = hash_slice(tsuid, t->seed);
    struct buf value = BUF_INIT;
    uint8_t key[1 + TSUID_MAX];
    enum status st;

    *out = table_find(&t->series.table, hash, is_hash, t->series.hashes,
                      &hash) != TABLE_NONE;
    if (*out || !t->series.is_full)
        return ST_OK;
    st = kv_get(t->kv, slice_of(key, key_series(tsuid, key)), &value, e);
    *out = st == ST_OK;
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* The tag-key set's count is put right by the next round: it is not known here
 * which others of its series were found so. */
void
check_enter_series(struct tables *t, struct slice tsuid, uint32_t created_s)
{
    uint8_t key[1 + TSUID_MAX], value[4];

    key_put_uint(value, created_s, 4);
    check_puts(t, slice_of(key, key_series(tsuid, key)), slice_of(value, 4));
    add_series(t, tsuid);
}

static enum status
take_series(struct tables *t, struct slice key, struct slice value,
            struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1), set;
    char what[64], name[CHECK_TEXT_MAX];
    uint8_t set_key[TAGK_SETS_KEY_MAX];

    (void)e;
    t->n.series++;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(t->layout, tsuid) ||
        tsuid_tags(t->layout, tsuid) == 0)
        return check_drops_bad(t, "series-key", key, value,
                               "%zu bytes are no TSUID with ascending tags",
                               tsuid.size);
    if (!check_ids(t, tsuid, what))
        return check_drops_bad(t, "series-id", key, value, "%s: %s",
                               check_describe(t, tsuid, name), what);
    if (value.size != 4) {
        check_puts(t, key, slice_of("\0\0\0\0", 4));
        check_found(t->c, "series-entry", key, "its creation is unknown now",
                    "the entry of %s has %zu bytes, not 4",
                    check_describe(t, tsuid, name), value.size);
    }
    set = tagk_sets_key(t->layout, tsuid, set_key);
    tagk_sets_set(t->tagk_sets, set, tagk_sets_get(t->tagk_sets, set) + 1);
    if (check_drops_orphan(t, key, value, tsuid))
        tagk_sets_set(t->dropped_sets, set,
                      tagk_sets_get(t->dropped_sets, set) + 1);
    else
        add_series(t, tsuid);
    return ST_OK;
}

/* So many series of a tag-key set are left. */
static void
keep_tagk_set(struct tables *t, struct slice key, struct slice value,
              uint64_t series)
{
    uint8_t bytes[8];

    if (series == 0) {
        check_drops(t, key, value);
        return;
    }
    key_put_uint(bytes, series, 8);
    check_puts(t, key, slice_of(bytes, 8));
}

/* What was counted is set to 0 when it was compared: what is left has no
 * entry. */
static enum status
take_tagk_set(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    uint64_t series, dropped;

    (void)e;
    t->n.tagk_sets++;
    if (value.size != 8 ||
        !tagk_sets_is_valid(t->layout, key, key_get_uint(value.data, 8)))
        return check_drops_bad(t, "tagk-set-entry", key, value,
                               "a tag-key set with %zu and %zu bytes", key.size,
                               value.size);
    series = tagk_sets_get(t->tagk_sets, key);
    dropped = tagk_sets_get(t->dropped_sets, key);
    if (series == 0)
        return check_drops_bad(t, "tagk-set-unused", key, value,
                               "no series has this set of tags");
    tagk_sets_set(t->tagk_sets, key, 0);
    if (dropped > 0 || series != key_get_uint(value.data, 8))
        keep_tagk_set(t, key, value, series - dropped);
    if (series == key_get_uint(value.data, 8))
        return ST_OK;
    return check_found(t->c, "tagk-set-count", key, "set",
                       "%llu series have this set of tags, not %llu",
                       (unsigned long long)series,
                       (unsigned long long)key_get_uint(value.data, 8));
}

/* Again all series, for those whose tag-key sets have no entry. */
static enum status
find_tagk_set(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1), set;
    uint8_t set_key[TAGK_SETS_KEY_MAX], bytes[8];
    uint64_t series;

    (void)value;
    (void)e;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(t->layout, tsuid))
        return ST_OK;
    set = tagk_sets_key(t->layout, tsuid, set_key);
    series = tagk_sets_get(t->tagk_sets, set);
    if (series == 0 || series == tagk_sets_get(t->dropped_sets, set))
        return ST_OK;
    series -= tagk_sets_get(t->dropped_sets, set);
    tagk_sets_set(t->tagk_sets, set, 0);
    key_put_uint(bytes, series, 8);
    check_puts(t, set, slice_of(bytes, 8));
    return check_found(
        t->c, "tagk-set-missing", set, "entered",
        "%llu series have a set of tags that is not entered, and are "
        "not found",
        (unsigned long long)series);
}

enum status
check_series(struct tables *t, struct error *e)
{
    enum status st = check_each(t, KEY_TABLE(TABLE_SERIES), take_series, e);

    if (st == ST_OK)
        st = check_each(t, KEY_TABLE(TABLE_TAGK_SETS), take_tagk_set, e);
    if (st == ST_OK && tagk_sets_total(t->tagk_sets) > 0)
        st = check_each(t, KEY_TABLE(TABLE_SERIES), find_tagk_set, e);
    return st;
}
