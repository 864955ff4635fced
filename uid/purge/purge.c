/* See uid/purge/purge.h.  Series are known by 64-bit hashes: two that have the
 * same one keep each other alive, which loses nothing. */
#include "uid/purge/purge.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/arena.h"
#include "base/numbers.h"
#include "storage/store/cuts.h"
#include "uid/meta/annotation.h"
#include "uid/names/uid_marks.h"
#include "uid/names/uid.h"
#include "uid/series/series_purge.h"

#define BATCH_SERIES      256
#define BATCH_NAMES       256
#define ENTRIES_UNCHECKED 4096

struct purging {
    struct purge *p;
    struct store *store;
    struct kv *kv;
    struct uid_table *uids;
    struct series_directory *directory;
    const struct key_layout *layout;
    uint64_t seed;
    size_t steps;
    struct numbers alive;             /* series, by their hashes */
    struct numbers used[UID_KINDS];   /* ids of these */
    struct numbers freed[UID_KINDS];  /* ids of those that are forgotten */
    struct numbers marked[UID_KINDS]; /* on a shared engine: ids of names */
    /* Series that nothing was found of, and that are not taken out yet. */
    struct slice waiting[BATCH_SERIES];
    size_t waiting_len;
    struct arena *arena; /* their TSUIDs */
};

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
take_timed(struct purging *x, struct slice key, struct slice value,
           struct error *e)
{
    struct slice tsuid;
    int64_t ms;

    (void)value;
    if (annotation_key_parse(key, &tsuid, &ms, e) != ST_OK)
        return damaged("an annotation or a histogram", e);
    if (tsuid.size > 0)
        add_alive(x, tsuid);
    return ST_OK;
}

/* -- series ---------------------------------------------------------------- */

static bool
add_id(void *ctx, enum uid_kind kind, uint64_t id)
{
    struct numbers *sets = ctx;

    numbers_add(&sets[kind], id);
    return true;
}

static void
add_ids(const struct purging *x, struct numbers sets[UID_KINDS],
        struct slice tsuid)
{
    (void)series_each_id(x->layout, tsuid, add_id, sets);
}

/* Those that are in use again stay. */
static enum status
forget_waiting(struct purging *x, struct error *e)
{
    bool kept[BATCH_SERIES] = { false };
    struct purge *p = x->p;
    enum status st = ST_OK;

    if (!p->dry_run && x->waiting_len > 0)
        st = series_purge_series(x->directory, x->waiting, x->waiting_len, kept,
                                 e);
    for (size_t i = 0; i < x->waiting_len && st == ST_OK; i++) {
        add_ids(x, kept[i] ? x->used : x->freed, x->waiting[i]);
        p->forgotten += !kept[i];
        if (!kept[i] && p->series != NULL)
            p->series(p->ctx, x->waiting[i]);
    }
    x->waiting_len = 0;
    arena_reset(x->arena);
    return st;
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
    x->waiting[x->waiting_len] =
        slice_of(arena_copy(x->arena, tsuid.data, tsuid.size), tsuid.size);
    if (x->waiting[x->waiting_len].data == NULL)
        return error_no_memory(e);
    return ++x->waiting_len < BATCH_SERIES ? ST_OK : forget_waiting(x, e);
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

/* Adds what removes the rest of an id whose name was removed. */
static void
forget_id(struct purging *x, enum uid_kind kind, uint64_t id,
          struct kv_batch *b)
{
    unsigned width = uid_key_width(x->layout, kind);
    uint8_t meta[2 + 8] = { TABLE_META, (uint8_t)UID_KIND_BYTES[kind] };
    uint8_t cut[CUTS_KEY_MAX];

    key_put_uint(meta + 2, id, width);
    kv_batch_delete(b, slice_of(meta, 2 + width));
    uid_deleted_forget(x->uids, kind, id, b);
    if (kind == UID_METRIC)
        kv_batch_delete(b, slice_of(cut, cuts_key(x->layout, id, cut)));
}

static enum status
write_batch(struct purging *x, struct kv_batch **b, struct error *e)
{
    uint64_t lsn;
    enum status st = store_write(x->store, *b, &lsn, e);

    kv_batch_free(b);
    return st == ST_OK ? store_commit(x->store, lsn, false, e) : st;
}

static void
report_name(struct purging *x, enum uid_kind kind, struct slice name,
            uint64_t id)
{
    struct purge *p = x->p;

    p->names[kind]++;
    if (p->name != NULL)
        p->name(p->ctx, kind, name, id);
}

/* Returns whether no series is known that uses the id, and its name may go. */
static bool
may_go(const struct purging *x, enum uid_kind kind, uint64_t id)
{
    return !numbers_have(&x->used[kind], id) &&
           (x->p->unused_names || numbers_have(&x->freed[kind], id));
}

/* A name's entry goes while the iterator is behind it, which sees what was
 * there when it was opened. */
static enum status
forget_names(struct purging *x, enum uid_kind kind, struct error *e)
{
    struct uid_names *names = uid_names_open(x->uids, kind, slice_str(""));
    struct buf copy = BUF_INIT;
    struct slice name;
    uint64_t id;
    enum status st = ST_OK, closed;
    struct error why;

    while (st == ST_OK && uid_names_next(names, &name, &id)) {
        bool kept = false;

        if (!may_go(x, kind, id))
            continue;
        buf_clear(&copy);
        buf_put_slice(&copy, name);
        if (!x->p->dry_run)
            st = series_purge_name(x->directory, kind, buf_slice(&copy), id,
                                   &kept, e);
        if (st == ST_OK && !kept && !x->p->dry_run) {
            struct kv_batch *b = kv_batch_new();

            forget_id(x, kind, id, b);
            st = write_batch(x, &b, e);
        }
        if (st == ST_OK && !kept)
            report_name(x, kind, buf_slice(&copy), id);
        if (st == ST_OK && cancel_asked(x->p->cancel))
            st = error_set(e, ST_BUSY, "cancelled");
    }
    closed = uid_names_close(&names, &why);
    buf_fini(&copy);
    return st == ST_OK && closed != ST_OK ? error_set(e, closed, "%s", why.text)
                                          : st;
}

/* -- names on a shared engine ---------------------------------------------- */

/* The entries of the removed ids stay, without a name, so that no process gives
 * these ids to other names. */
static enum status
forget_removed(struct purging *x, const struct uid_marking *m, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[UID_KEY_MAX];

    for (size_t i = 0; i < m->len; i++) {
        uint64_t id = m->names[i].id;

        if (!m->names[i].done)
            continue;
        kv_batch_put(b, uid_key(x->layout, m->kind, 'i', id, key),
                     slice_of("", 0));
        forget_id(x, m->kind, id, b);
        report_name(x, m->kind, m->names[i].name, id);
    }
    return write_batch(x, &b, e);
}

static enum status
change_names(struct purging *x, struct uid_marking *m, struct error *e)
{
    enum status st = ST_OK;

    /* Others look for marks only until the time limit of the purge. */
    if (m->what == UID_REMOVE && m->len > 0)
        st = series_purge_check(x->directory, e);
    if (st == ST_OK && m->len > 0)
        st = uid_mark_names(x->uids, m, e);
    for (size_t i = 0; i < m->len && m->what == UID_MARK; i++)
        if (m->names[i].done)
            numbers_add(&x->marked[m->kind], m->names[i].id);
    if (st == ST_OK && m->what == UID_REMOVE && m->len > 0)
        st = forget_removed(x, m, e);
    m->len = 0;
    arena_reset(x->arena);
    return st == ST_OK && cancel_asked(x->p->cancel)
               ? error_set(e, ST_BUSY, "cancelled")
               : st;
}

static enum status
change_kinds(struct purging *x, enum uid_marking_what what, struct error *e)
{
    struct uid_marked marked[BATCH_NAMES];
    enum status st = ST_OK, closed;

    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++) {
        struct uid_marking m = { .what = what,
                                 .kind = (enum uid_kind)kind,
                                 .mark = series_purge_mark(x->directory),
                                 .names = marked };
        struct uid_names *names =
            uid_names_open(x->uids, m.kind, slice_str(""));
        struct slice name;
        uint64_t id;
        struct error why;

        while (st == ST_OK && uid_names_next(names, &name, &id)) {
            bool changes = what == UID_MARK
                               ? may_go(x, m.kind, id)
                               : numbers_have(&x->marked[kind], id) &&
                                     numbers_have(&x->used[kind], id) ==
                                         (what == UID_UNMARK);

            if (!changes)
                continue;
            if (!arena_keep(x->arena, &name)) {
                st = error_no_memory(e);
                break;
            }
            m.names[m.len++] = (struct uid_marked){ name, id, false };
            if (m.len == BATCH_NAMES)
                st = change_names(x, &m, e);
        }
        closed = uid_names_close(&names, &why);
        if (st == ST_OK && closed != ST_OK)
            st = error_set(e, closed, "%s", why.text);
        if (st == ST_OK)
            st = change_names(x, &m, e);
    }
    return st;
}

static enum status
use_series(struct purging *x, struct slice key, struct slice value,
           struct error *e)
{
    (void)value;
    (void)e;
    add_ids(x, x->used, slice_of(key.data + 1, key.size - 1));
    return ST_OK;
}

/* -- all together ---------------------------------------------------------- */

static enum status
purge_all(struct purging *x, struct error *e)
{
    static const struct {
        uint8_t table;
        entry_fn *f;
    } alive[] = {
        { TABLE_ROWS, take_row },
        { TABLE_WEEKS, take_week },
        { TABLE_QUARANTINE, take_quarantined },
        { TABLE_HISTOGRAMS, take_timed },
        { TABLE_ANNOTATIONS, take_timed },
    };
    bool marks = kv_traits(x->kv)->shared && !x->p->dry_run;
    enum status st = store_flush_owners(x->store, e);

    for (size_t i = 0; i < sizeof alive / sizeof alive[0] && st == ST_OK; i++)
        st = each_entry(x, alive[i].table, alive[i].f, e);
    if (st == ST_OK)
        st = each_entry(x, TABLE_SERIES, take_series, e);
    if (st == ST_OK)
        st = forget_waiting(x, e);
    if (st == ST_OK)
        st = each_entry(x, TABLE_ANNOTATIONS, take_note, e);
    for (int kind = 0; kind < UID_KINDS && st == ST_OK && !marks; kind++)
        st = forget_names(x, (enum uid_kind)kind, e);
    if (st != ST_OK || !marks)
        return st;
    /* See uid/names/uid_marks.h.  The ids that are used are found again after
     * the names were marked. */
    st = change_kinds(x, UID_MARK, e);
    if (st == ST_OK)
        st = series_purge_check(x->directory, e);
    if (st == ST_OK)
        st = each_entry(x, TABLE_SERIES, use_series, e);
    if (st == ST_OK)
        st = each_entry(x, TABLE_ANNOTATIONS, take_note, e);
    if (st == ST_OK)
        st = change_kinds(x, UID_REMOVE, e);
    return st == ST_OK ? change_kinds(x, UID_UNMARK, e) : st;
}

enum status
purge_run(struct purge *p, struct series_directory *d, struct store *s,
          struct uid_table *u, struct error *e)
{
    struct purging *x = mem_new(sizeof *x);
    enum status st = series_purge_begin(d, e);

    *x = (struct purging){ .p = p,
                           .store = s,
                           .kv = store_kv(s),
                           .uids = u,
                           .directory = d,
                           .layout = store_layout(s),
                           .seed = hash_random_seed(),
                           .arena = arena_new(0) };
    if (st == ST_OK) {
        st = purge_all(x, e);
        series_purge_end(d);
    }
    numbers_fini(&x->alive);
    for (int kind = 0; kind < UID_KINDS; kind++) {
        numbers_fini(&x->used[kind]);
        numbers_fini(&x->freed[kind]);
        numbers_fini(&x->marked[kind]);
    }
    arena_free(&x->arena);
    free(x);
    return st;
}
