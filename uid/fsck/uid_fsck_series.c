/* The directory of series, and the table of tag-key sets, which follows from
 * it: series are counted as the directory is checked and repaired, and in the
 * end the table becomes what was counted.  The set of series that exist is kept
 * for the checks of other tables. */
#include "uid/fsck/uid_fsck_priv.h"

#include "base/hash.h"

#define SERIES_MAX ((size_t)16 << 20) /* some 320 MB */

enum status
check_has_series(struct tables *t, struct slice tsuid, bool *out,
                 struct error *e)
{
    struct buf value = BUF_INIT;
    uint8_t key[1 + TSUID_MAX];
    enum status st;

    *out = numbers_have(&t->series, hash_slice(tsuid, t->seed));
    if (*out || t->series.table.len < SERIES_MAX)
        return ST_OK;
    st = kv_get(t->kv, slice_of(key, key_series(tsuid, key)), &value, e);
    *out = st == ST_OK;
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static void
count_series(struct tables *t, struct slice tsuid)
{
    uint8_t bytes[TAGK_SETS_KEY_MAX];
    struct slice key = tagk_sets_key(t->layout, tsuid, bytes);

    tagk_sets_set(t->tagk_sets, key, tagk_sets_get(t->tagk_sets, key) + 1);
    if (t->series.table.len < SERIES_MAX)
        numbers_add(&t->series, hash_slice(tsuid, t->seed));
}

void
check_enter_series(struct tables *t, struct slice tsuid, uint32_t created_s)
{
    uint8_t key[1 + TSUID_MAX], value[4];

    key_put_uint(value, created_s, 4);
    check_puts(t, slice_of(key, key_series(tsuid, key)), slice_of(value, 4));
    count_series(t, tsuid);
    t->directory_changes = true;
}

enum status
check_series(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);
    char what[64], name[CHECK_TEXT_MAX];

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
    if (check_drops_orphan(t, key, value, tsuid))
        t->directory_changes = true;
    else
        count_series(t, tsuid);
    return ST_OK;
}

/* Compares an entry with what was counted.  Sets that have the right entry, or
 * the entry of no series, are done with: the count in memory is 0 then. */
static enum status
compare_tagk_set(struct tables *t, struct slice key, struct slice value,
                 struct error *e)
{
    uint64_t count = tagk_sets_is_valid(t->layout, key, 0)
                         ? tagk_sets_get(t->tagk_sets, key)
                         : 0;

    (void)e;
    t->n.tagk_sets++;
    if (count == 0) {
        check_drops(t, key, value);
        t->wrong_sets++;
    } else if (value.size == 8 && key_get_uint(value.data, 8) == count) {
        tagk_sets_set(t->tagk_sets, key, 0);
    }
    return ST_OK;
}

/* Writes the set of a series if it has no entry, or a wrong one. */
static enum status
put_tagk_set(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1), set;
    uint8_t bytes[TAGK_SETS_KEY_MAX], count[8];

    (void)value;
    (void)e;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(t->layout, tsuid))
        return ST_OK;
    set = tagk_sets_key(t->layout, tsuid, bytes);
    key_put_uint(count, tagk_sets_get(t->tagk_sets, set), 8);
    if (key_get_uint(count, 8) == 0)
        return ST_OK;
    check_puts(t, set, slice_of(count, 8));
    tagk_sets_set(t->tagk_sets, set, 0);
    t->wrong_sets++;
    return ST_OK;
}

/* If the check changed the directory, it is no wonder that the table differs.
 */
enum status
check_tagk_sets(struct tables *t, struct error *e)
{
    struct slice table = KEY_TABLE(TABLE_TAGK_SETS);
    enum status st = check_each(t, table, compare_tagk_set, e);

    if (st == ST_OK && tagk_sets_total(t->tagk_sets) > 0)
        st = check_each(t, KEY_TABLE(TABLE_SERIES), put_tagk_set, e);
    if (st != ST_OK || t->wrong_sets == 0 || t->directory_changes)
        return st;
    return check_found(t->c, "tagk-sets", table, "written again",
                       "the directory of series has %llu other tag-key sets: "
                       "queries may not find their series",
                       (unsigned long long)t->wrong_sets);
}
