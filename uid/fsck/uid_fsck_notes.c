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
    return st == ST_OK ? ST_OK
                       : check_undecoded(t, "note-entry", key, value, &why, e);
}

enum status
check_meta(struct tables *t, struct slice key, struct slice value,
           struct error *e)
{
    struct meta_of of = { .kind = META_SERIES };
    struct meta m;
    struct error why;
    enum status st = meta_key_parse(key, &of, &why);
    bool of_series = of.kind == META_SERIES;

    t->n.others++;
    if (st == ST_OK &&
        (of_series
             ? !tsuid_is_valid(t->layout, of.id)
             : of.id.size != uid_key_width(t->layout, (enum uid_kind)of.kind)))
        st = error_set(&why, ST_CORRUPT, "%zu bytes are no key of metadata",
                       key.size);
    if (st == ST_OK && of_series && check_drops_orphan(t, key, value, of.id))
        return ST_OK;
    if (st == ST_OK)
        st = record_decode(of_series ? &meta_series_format : &meta_name_format,
                           value, t->arena, &m, &why);
    return st == ST_OK ? ST_OK
                       : check_undecoded(t, "meta-entry", key, value, &why, e);
}

enum status
check_tree(struct tables *t, struct slice key, struct slice value,
           struct error *e)
{
    struct tree tree;
    struct tree_rule rule;
    struct buf of = BUF_INIT;
    struct error why;
    bool is_rule;
    enum status st = tree_key_parse(key, &is_rule, &rule, &why);

    t->n.others++;
    if (st == ST_OK && !is_rule)
        st = record_decode(&tree_format, value, NULL, &tree, &why);
    else if (st == ST_OK)
        st = tree_rule_decode(value, &rule, &why);
    if (st == ST_OK && is_rule) {
        st = kv_get(t->kv, slice_of(key.data, TREE_KEY_SIZE), &of, &why);
        if (st == ST_NOT_FOUND)
            st = error_set(&why, ST_CORRUPT,
                           "a rule of a tree that is not there");
        buf_fini(&of);
    }
    return st == ST_OK ? ST_OK
                       : check_undecoded(t, "tree-entry", key, value, &why, e);
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
    if (st == ST_OK && !numbers_have(&t->ids[UID_METRIC], metric))
        st = error_set(&why, ST_CORRUPT, "a cut of a metric that has no id");
    return st == ST_OK ? ST_OK
                       : check_undecoded(t, "cut-entry", key, value, &why, e);
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
