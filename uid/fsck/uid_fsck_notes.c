/* Annotations, metadata, trees, and the tables of one kind of entry. */
#include "uid/fsck/uid_fsck_priv.h"

#include "storage/store/cuts.h"
#include "uid/meta/annotation.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"

enum status
check_annotation(struct tables *t, struct slice key, struct slice value,
                 struct error *e)
{
    struct annotation n;
    struct slice tsuid;
    struct error why;
    int64_t ms;
    enum status st = annotation_key_parse(key, &tsuid, &ms, &why);

    t->n.notes++;
    if (st == ST_OK && tsuid.size > 0 && tsuid_is_valid(t->layout, tsuid) &&
        check_orphan(t, "note-orphan", key, value, tsuid))
        return ST_OK;
    if (st == ST_OK)
        st = annotation_decode(value, t->arena, &n, &why);
    return check_decoded(t, "note-entry", key, value, st, &why, e);
}

static enum status
parse_meta_key(const struct tables *t, struct slice key, bool *of_series,
               struct error *e)
{
    struct slice id = slice_of(key.data + 2, key.size < 2 ? 0 : key.size - 2);
    uint8_t kind = key.size < 2 ? 0 : key.data[1];
    const char *at = memchr(UID_KIND_BYTES, kind, UID_KINDS);
    bool good;

    *of_series = kind == 't';
    if (kind == 't')
        good = id.size <= TSUID_MAX && tsuid_is_valid(t->layout, id);
    else
        good = at != NULL &&
               id.size == uid_key_width(t->layout,
                                        (enum uid_kind)(at - UID_KIND_BYTES));
    return good ? ST_OK
                : error_set(e, ST_CORRUPT, "%zu bytes are no key of metadata",
                            key.size);
}

enum status
check_meta(struct tables *t, struct slice key, struct slice value,
           struct error *e)
{
    struct meta m;
    struct error why;
    bool of_series;
    enum status st = parse_meta_key(t, key, &of_series, &why);

    t->n.others++;
    if (st == ST_OK && of_series &&
        check_drops_orphan(t, key, value, slice_of(key.data + 2, key.size - 2)))
        return ST_OK;
    if (st == ST_OK)
        st = record_decode(of_series ? &meta_series_format : &meta_name_format,
                           value, t->arena, &m, &why);
    return check_decoded(t, "meta-entry", key, value, st, &why, e);
}

static enum status
has_tree(struct tables *t, struct slice key, struct error *e)
{
    struct buf tree = BUF_INIT;
    enum status st = kv_get(t->kv, slice_of(key.data, TREE_KEY_SIZE), &tree, e);

    buf_fini(&tree);
    return st == ST_NOT_FOUND
               ? error_set(e, ST_CORRUPT, "a rule of a tree that is not there")
               : st;
}

enum status
check_tree(struct tables *t, struct slice key, struct slice value,
           struct error *e)
{
    struct tree tree;
    struct tree_rule rule;
    struct error why;
    bool is_rule;
    enum status st = tree_key_parse(key, &is_rule, &rule, &why);

    t->n.others++;
    if (st == ST_OK && !is_rule)
        st = record_decode(&tree_format, value, NULL, &tree, &why);
    else if (st == ST_OK)
        st = tree_rule_decode(value, &rule, &why);
    if (st == ST_OK && is_rule)
        st = has_tree(t, key, &why);
    return check_decoded(t, "tree-entry", key, value, st, &why, e);
}

/* One number; see storage/wal/wal_record.c. */
enum status
check_batches(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    if (key.size != 1 || value.size != 8)
        check_drops_bad(t, "batches", key, value,
                        "no number of the newest batch");
    return ST_OK;
}

/* The policies are the daemon's, which tells what is wrong with them. */
enum status
check_cut(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    uint64_t metric;
    struct cut_times cut;
    struct error why;
    enum status st;

    t->n.others++;
    if (cuts_is_other_key(key))
        return ST_OK;
    st = cuts_parse(t->layout, key, value, &metric, &cut, &why);
    if (st == ST_OK && check_drops_metric(t, metric)) {
        check_drops(t, key, value);
        return ST_OK;
    }
    if (st == ST_OK && !id_ranges_have(&t->ids[UID_METRIC], metric))
        st = error_set(&why, ST_CORRUPT, "a cut of a metric that has no id");
    return check_decoded(t, "cut-entry", key, value, st, &why, e);
}

enum status
check_quarantined(struct tables *t, struct slice key, struct slice value,
                  struct error *e)
{
    (void)e;
    return check_drops_bad(
        t, "quarantine", key, value,
        "the damaged value of a row, which a flush put aside");
}
