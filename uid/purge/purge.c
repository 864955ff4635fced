/* See uid/purge/purge.h.  Series are known by 64-bit hashes: two that have the
 * same one keep each other alive, which loses nothing. */
#include "uid/purge/purge.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "storage/store/cuts.h"
#include "uid/meta/annotation.h"
#include "uid/names/uid_names.h"
#include "uid/series/tagk_sets.h"

#define BATCH_SERIES      256
#define ENTRIES_UNCHECKED 4096

/* A set of numbers: ids, or hashes. */
struct numbers {
    struct hash_table table;
    uint64_t *list;
    size_t cap;
};

struct purging {
    struct purge *p;
    struct store *store;
    struct kv *kv;
    struct uid_table *uids;
    const struct key_layout *layout;
    uint64_t seed;
    size_t steps;
    struct numbers alive;            /* series, by their hashes */
    struct numbers used[UID_KINDS];  /* ids of these */
    struct numbers freed[UID_KINDS]; /* ids of those that are forgotten */
    struct tagk_sets *tagk_sets;
    struct kv_batch *batch;
    size_t batch_series;
};

/* -- numbers --------------------------------------------------------------- */

static bool
is_number(const void *list, uint32_t i, const void *key)
{
    return ((const uint64_t *)list)[i] == *(const uint64_t *)key;
}

static bool
numbers_have(const struct numbers *n, uint64_t v)
{
    return table_find(&n->table, hash_bytes(&v, sizeof v, 0), is_number,
                      n->list, &v) != TABLE_NONE;
}

static void
numbers_add(struct numbers *n, uint64_t v)
{
    size_t len = n->table.len;

    if (numbers_have(n, v))
        return;
    n->list = mem_grow(n->list, len, &n->cap, sizeof *n->list);
    n->list[len] = v;
    table_add(&n->table, hash_bytes(&v, sizeof v, 0), (uint32_t)len);
}

static void
numbers_fini(struct numbers *n)
{
    table_fini(&n->table);
    free(n->list);
}

/* -- reading --------------------------------------------------------------- */

typedef enum status entry_fn(struct purging *x, struct slice key,
                             struct slice value, struct error *e);

static enum status
each_entry(struct purging *x, uint8_t table, entry_fn *f, struct error *e)
{
    struct kv_iter *it = kv_iter_open(x->kv, KEY_TABLE(table));
    enum status st = ST_OK;

    for (bool on = kv_iter_seek(it, KEY_TABLE(table)); on && st == ST_OK;
         on = kv_iter_next(it)) {
        st = f(x, kv_iter_key(it), kv_iter_value(it), e);
        if (st == ST_OK && ++x->steps % ENTRIES_UNCHECKED == 0 &&
            cancel_asked(x->p->cancel))
            st = error_set(e, ST_BUSY, "cancelled");
    }
    return kv_iter_end(&it, st, e);
}

static void
add_alive(struct purging *x, struct slice tsuid)
{
    numbers_add(&x->alive, hash_slice(tsuid, x->seed));
}

/* What is malformed is fsck's, which is to be asked first. */
static enum status
damaged(const char *what, struct error *e)
{
    return error_set(e, ST_CORRUPT,
                     "%s is damaged: nothing is forgotten (see: halite fsck)",
                     what);
}

static enum status
take_row(struct purging *x, struct slice key, struct slice value,
         struct error *e)
{
    struct tsuid tsuid;
    uint32_t base;
    enum status st = key_row_parse(x->layout, key, &base, &tsuid, e);

    (void)value;
    if (st != ST_OK)
        return damaged("a row", e);
    add_alive(x, tsuid_slice(&tsuid));
    return ST_OK;
}

/* Hourly values may be all that is left of a series. */
static enum status
take_week(struct purging *x, struct slice key, struct slice value,
          struct error *e)
{
    struct tsuid tsuid;
    uint32_t base;

    if (value.size == 0 || key.size <= 1u + x->layout->salt_width)
        return ST_OK;
    if (key_week_parse(x->layout, key, &base, &tsuid, e) != ST_OK)
        return damaged("the entry of a week", e);
    add_alive(x, tsuid_slice(&tsuid));
    return ST_OK;
}

static enum status
take_quarantined(struct purging *x, struct slice key, struct slice value,
                 struct error *e)
{
    return key.size <= 1 + 8
               ? damaged("an entry of the quarantine", e)
               : take_row(x, slice_of(key.data + 1, key.size - 1 - 8), value,
                          e);
}

/* An annotation, or a histogram: their keys are alike. */
static enum status
take_counted(struct purging *x, struct slice key, struct slice value,
             struct error *e)
{
    size_t size = key.size < 3 ? 0 : (size_t)key_get_uint(key.data + 1, 2);

    (void)value;
    if (key.size != 3 + size + 8)
        return damaged("an annotation or a histogram", e);
    if (size > 0)
        add_alive(x, slice_of(key.data + 3, size));
    return ST_OK;
}

static enum status
take_count(struct purging *x, struct slice key, struct slice value,
           struct error *e)
{
    if (!tagk_sets_key_is_valid(x->layout, false, key) || value.size != 8)
        return damaged("the count of a tag-key set", e);
    tagk_sets_set(x->tagk_sets, key, key_get_uint(value.data, 8));
    return ST_OK;
}

static enum status
find_alive(struct purging *x, struct error *e)
{
    static const struct {
        uint8_t table;
        entry_fn *f;
    } tables[] = {
        { TABLE_ROWS, take_row },
        { TABLE_WEEKS, take_week },
        { TABLE_QUARANTINE, take_quarantined },
        { TABLE_HISTOGRAMS, take_counted },
        { TABLE_ANNOTATIONS, take_counted },
        { TABLE_TAGK_SETS, take_count },
    };
    enum status st = ST_OK;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && st == ST_OK; i++)
        st = each_entry(x, tables[i].table, tables[i].f, e);
    return st;
}

/* -- series ---------------------------------------------------------------- */

/* The ids of clients' names: a rollup's kind is none of them. */
static void
add_ids(const struct purging *x, struct numbers sets[UID_KINDS],
        struct slice tsuid)
{
    const struct key_layout *w = x->layout;

    numbers_add(&sets[UID_METRIC], tsuid_metric_id(w, tsuid));
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        uint64_t tagk = tsuid_tagk_id(w, tsuid, i);

        if (tagk == 0)
            continue;
        numbers_add(&sets[UID_TAGK], tagk);
        numbers_add(&sets[UID_TAGV], tsuid_tagv_id(w, tsuid, i));
    }
}

static enum status
write_batch(struct purging *x, struct error *e)
{
    uint64_t lsn;
    enum status st = ST_OK;

    if (kv_batch_len(x->batch) > 0)
        st = store_write(x->store, x->batch, &lsn, e);
    if (st == ST_OK && kv_batch_len(x->batch) > 0)
        st = store_commit(x->store, lsn, false, e);
    kv_batch_clear(x->batch);
    x->batch_series = 0;
    return st;
}

static enum status
forget_series(struct purging *x, struct slice key, struct slice tsuid,
              struct error *e)
{
    uint8_t set_key[TAGK_SETS_KEY_MAX],
        meta[2 + TSUID_MAX] = { TABLE_META, 't' };
    struct slice set = tagk_sets_key(x->layout, false, tsuid, set_key);
    uint64_t left = tagk_sets_get(x->tagk_sets, set);
    uint8_t count[8];

    if (left == 0)
        return damaged("the count of a tag-key set", e);
    tagk_sets_set(x->tagk_sets, set, left - 1);
    kv_batch_delete(x->batch, key);
    memcpy(meta + 2, tsuid.data, tsuid.size);
    kv_batch_delete(x->batch, slice_of(meta, 2 + tsuid.size));
    key_put_uint(count, left - 1, sizeof count);
    if (left == 1)
        kv_batch_delete(x->batch, set);
    else
        kv_batch_put(x->batch, set, slice_of(count, sizeof count));
    return ++x->batch_series < BATCH_SERIES ? ST_OK : write_batch(x, e);
}

static enum status
take_series(struct purging *x, struct slice key, struct slice value,
            struct error *e)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);
    struct purge *p = x->p;

    (void)value;
    if (tsuid.size > TSUID_MAX || !tsuid_is_valid(x->layout, tsuid))
        return damaged("an entry of a series", e);
    p->looked_at++;
    if (numbers_have(&x->alive, hash_slice(tsuid, x->seed)) ||
        (p->takes != NULL &&
         !p->takes(p->ctx, tsuid_metric_id(x->layout, tsuid)))) {
        add_ids(x, x->used, tsuid);
        return ST_OK;
    }
    add_ids(x, x->freed, tsuid);
    p->forgotten++;
    if (p->series != NULL)
        p->series(p->ctx, tsuid);
    return p->dry_run ? ST_OK : forget_series(x, key, tsuid, e);
}

/* Whose ids are used though they have no entry: notes may be of any TSUID. */
static enum status
take_note(struct purging *x, struct slice key, struct slice value,
          struct error *e)
{
    struct slice tsuid;
    int64_t ms;
    enum status st = annotation_key_parse(key, &tsuid, &ms, e);

    (void)value;
    if (st != ST_OK)
        return damaged("an annotation", e);
    if (tsuid.size > 0 && tsuid_is_valid(x->layout, tsuid))
        add_ids(x, x->used, tsuid);
    return ST_OK;
}

/* -- names ----------------------------------------------------------------- */

static enum status
forget_name(struct purging *x, enum uid_kind kind, struct slice name,
            uint64_t id, struct error *e)
{
    unsigned width = uid_key_width(x->layout, kind);
    uint8_t meta[2 + 8] = { TABLE_META, (uint8_t)UID_KIND_BYTES[kind] };
    uint8_t cut[CUTS_KEY_MAX];
    enum status st = uid_delete(x->uids, kind, name, e);

    key_put_uint(meta + 2, id, width);
    kv_batch_delete(x->batch, slice_of(meta, 2 + width));
    if (kind == UID_METRIC)
        kv_batch_delete(x->batch, slice_of(cut, cuts_key(x->layout, id, cut)));
    return st == ST_OK ? write_batch(x, e) : st;
}

/* A name's entry goes while the iterator is behind it, which sees what was
 * there when it was opened. */
static enum status
forget_names(struct purging *x, enum uid_kind kind, struct error *e)
{
    struct uid_names *names = uid_names_open(x->uids, kind, slice_str(""));
    struct purge *p = x->p;
    struct buf copy = BUF_INIT;
    struct slice name;
    uint64_t id;
    enum status st = ST_OK, closed;
    struct error why;

    while (st == ST_OK && uid_names_next(names, &name, &id)) {
        if (numbers_have(&x->used[kind], id) ||
            (!p->unused_names && !numbers_have(&x->freed[kind], id)))
            continue;
        buf_clear(&copy);
        buf_put_slice(&copy, name);
        p->names[kind]++;
        if (p->name != NULL)
            p->name(p->ctx, kind, buf_slice(&copy), id);
        if (!p->dry_run)
            st = forget_name(x, kind, buf_slice(&copy), id, e);
        if (st == ST_OK && cancel_asked(p->cancel))
            st = error_set(e, ST_BUSY, "cancelled");
    }
    closed = uid_names_close(&names, &why);
    buf_fini(&copy);
    return st == ST_OK && closed != ST_OK ? error_set(e, closed, "%s", why.text)
                                          : st;
}

enum status
purge_run(struct purge *p, struct store *s, struct uid_table *u,
          struct error *e)
{
    struct purging x = { .p = p, .store = s, .kv = store_kv(s), .uids = u };
    enum status st;

    if (kv_traits(x.kv)->shared)
        return error_set(e, ST_INVALID,
                         "names and series of a store in a pool are not "
                         "forgotten: other servers may use them");
    x.layout = store_layout(s);
    x.seed = hash_random_seed();
    x.tagk_sets = tagk_sets_new(x.layout, false);
    x.batch = kv_batch_new();
    st = store_flush(s, e);
    if (st == ST_OK)
        st = find_alive(&x, e);
    if (st == ST_OK)
        st = each_entry(&x, TABLE_SERIES, take_series, e);
    if (st == ST_OK)
        st = write_batch(&x, e);
    if (st == ST_OK)
        st = each_entry(&x, TABLE_ANNOTATIONS, take_note, e);
    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++)
        st = forget_names(&x, (enum uid_kind)kind, e);
    numbers_fini(&x.alive);
    for (int kind = 0; kind < UID_KINDS; kind++) {
        numbers_fini(&x.used[kind]);
        numbers_fini(&x.freed[kind]);
    }
    tagk_sets_free(&x.tagk_sets);
    kv_batch_free(&x.batch);
    return st;
}
