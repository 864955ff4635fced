/* Annotations, metadata, trees; and what lies in no table at all. */
#include "config.h"

#include "uid/fsck/uid_fsck_priv.h"

#include "uid/meta/annotation_codec.h"
#include "uid/meta/meta_codec.h"
#include "uid/meta/tree_codec.h"

static enum status
judge(struct tables *t, const char *code, struct slice key, struct slice value,
      enum status st, const struct error *why, struct error *e)
{
    if (st == ST_CORRUPT)
        check_drops_bad(t, code, key, value, "%s", why->text);
    else if (st != ST_OK)
        return error_set(e, st, "%s", why->text);
    return ST_OK;
}

static enum status
take_note(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    struct annotation n;
    struct slice tsuid;
    struct error why;
    int64_t ms;
    enum status st = annotation_key_parse(key, &tsuid, &ms, &why);

    t->n.notes++;
    if (st == ST_OK)
        st = annotation_decode(value, t->arena, &n, &why);
    return judge(t, "note-entry", key, value, st, &why, e);
}

static enum status
check_meta_key(const struct tables *t, struct slice key, bool *of_series,
               struct error *e)
{
    struct slice id = slice_of(key.data + 2, key.size < 2 ? 0 : key.size - 2);
    uint8_t kind = key.size < 2 ? 0 : key.data[1];
    bool good;

    *of_series = kind == 't';
    if (kind == 't')
        good = id.size <= TSUID_MAX && tsuid_is_valid(t->layout, id);
    else
        good = id.size == (kind == 'm'   ? t->layout->metric_width
                           : kind == 'k' ? t->layout->tagk_width
                           : kind == 'v' ? t->layout->tagv_width
                                         : SIZE_MAX);
    return good ? ST_OK
                : error_set(e, ST_CORRUPT, "%zu bytes are no key of metadata",
                            key.size);
}

static enum status
take_meta(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    struct meta m;
    struct error why;
    bool of_series;
    enum status st = check_meta_key(t, key, &of_series, &why);

    t->n.others++;
    if (st == ST_OK)
        st = meta_decode(value, of_series, t->arena, &m, &why);
    if (st == ST_NOT_FOUND) /* a tombstone */
        st = ST_OK;
    return judge(t, "meta-entry", key, value, st, &why, e);
}

static enum status
check_rule(struct tables *t, struct slice key, struct error *e)
{
    struct buf tree = BUF_INIT;
    enum status st = check_get(t, slice_of(key.data, TREE_KEY_SIZE), &tree, e);

    buf_fini(&tree);
    return st == ST_NOT_FOUND
               ? error_set(e, ST_CORRUPT, "a rule of a tree that is not there")
               : st;
}

static enum status
take_tree(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    struct tree tree;
    struct tree_rule rule;
    struct error why;
    bool is_rule;
    enum status st = tree_key_parse(key, &is_rule, &rule, &why);

    t->n.others++;
    if (st == ST_OK && !is_rule)
        st = tree_decode(value, &tree, &why);
    else if (st == ST_OK)
        st = tree_rule_decode(value, &rule, &why);
    if (st == ST_OK && is_rule)
        st = check_rule(t, key, &why);
    return judge(t, "tree-entry", key, value, st, &why, e);
}

static enum status
take_unknown(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    (void)e;
    check_drops_bad(t, "no-table", key, value,
                    "a key that belongs to no table");
    return ST_OK;
}

/* One number; see storage/wal/wal_record.c. */
static enum status
take_batches(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    if (key.size != 1 || value.size != 8)
        check_drops_bad(t, "batches", key, value,
                        "no number of the newest batch");
    return ST_OK;
}

static enum status
take_quarantined(struct tables *t, struct slice key, struct slice value,
                 struct error *e)
{
    (void)e;
    check_drops_bad(t, "quarantine", key, value,
                    "the damaged value of a row, which a flush put aside");
    return ST_OK;
}

static bool
is_table(unsigned byte)
{
    static const uint8_t tables[] = {
        TABLE_UID,         TABLE_SERIES,  TABLE_TAGK_SETS,  TABLE_ROWS,
        TABLE_ANNOTATIONS, TABLE_META,    TABLE_TREES,      TABLE_ROLLUPS,
        TABLE_HISTOGRAMS,  TABLE_BATCHES, TABLE_QUARANTINE,
    };

    return memchr(tables, (int)byte, sizeof tables) != NULL;
}

enum status
check_notes(struct tables *t, struct error *e)
{
    const uint8_t notes[] = { TABLE_ANNOTATIONS }, metas[] = { TABLE_META };
    const uint8_t trees[] = { TABLE_TREES }, batches[] = { TABLE_BATCHES };
    const uint8_t quarantine[] = { TABLE_QUARANTINE };
    enum status st = check_each(t, slice_of(notes, 1), take_note, e);

    if (st == ST_OK)
        st = check_each(t, slice_of(metas, 1), take_meta, e);
    if (st == ST_OK)
        st = check_each(t, slice_of(trees, 1), take_tree, e);
    if (st == ST_OK)
        st = check_each(t, slice_of(batches, 1), take_batches, e);
    if (st == ST_OK)
        st = check_each(t, slice_of(quarantine, 1), take_quarantined, e);
    for (unsigned byte = 0; byte < 256 && st == ST_OK; byte++) {
        const uint8_t table[] = { (uint8_t)byte };

        if (!is_table(byte))
            st = check_each(t, slice_of(table, 1), take_unknown, e);
    }
    return st;
}
