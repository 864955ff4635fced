/* See uid/fsck/uid_fsck.h.  The order of things, and how they are repaired. */
#include "uid/fsck/uid_fsck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "uid/fsck/uid_fsck_priv.h"
#include "uid/series/series.h"

#define BATCH_BYTES ((size_t)1 << 20)
#define LOST_MAX    1000000 /* ids above the highest that is known */

/* -- reading --------------------------------------------------------------- */

/* What is moved aside is on the disk before it leaves the store. */
static enum status
flush(struct tables *t, bool all, struct error *e)
{
    uint64_t lsn;
    enum status st;

    if (t->aside_error.status != ST_OK) {
        *e = t->aside_error;
        return e->status;
    }
    if (kv_batch_len(t->batch) == 0 || (!all && t->batch_bytes < BATCH_BYTES))
        return ST_OK;
    if (t->aside != NULL && (ferror(t->aside) || fflush(t->aside) != 0 ||
                             fsync(fileno(t->aside)) != 0))
        return error_set(e, ST_IO, "%s/entries: %m", t->c->aside);
    st = store_write(t->store, t->batch, &lsn, e);
    if (st == ST_OK)
        st = store_commit(t->store, lsn, true, e);
    kv_batch_clear(t->batch);
    t->batch_bytes = 0;
    return st;
}

enum status
check_each(struct tables *t, struct slice prefix, check_entry_fn *f,
           struct error *e)
{
    struct kv_iter *it = kv_iter_open(t->kv, prefix);
    enum status st = ST_OK;

    for (bool on = kv_iter_seek(it, prefix); on && st == ST_OK;
         on = kv_iter_next(it)) {
        st = f(t, kv_iter_key(it), kv_iter_value(it), e);
        arena_reset(t->arena);
        if (st == ST_OK)
            st = flush(t, false, e);
    }
    return kv_iter_end(&it, st, e);
}

/* -- repairing ------------------------------------------------------------ */

enum status
check_undecoded(struct tables *t, const char *code, struct slice key,
                struct slice value, const struct error *why, struct error *e)
{
    if (why->status == ST_CORRUPT)
        return check_drops_bad(t, code, key, value, "%s", why->text);
    return error_set(e, why->status, "%s", why->text);
}

void
check_puts(struct tables *t, struct slice key, struct slice value)
{
    if (!check_repairs(t))
        return;
    kv_batch_put(t->batch, key, value);
    t->batch_bytes += key.size + value.size;
}

static void
put_hex(FILE *f, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        (void)fprintf(f, "%02x", s.data[i]);
}

void
check_drops(struct tables *t, struct slice key, struct slice value)
{
    if (!check_repairs(t))
        return;
    /* The file is made for the first entry: a repair that finds nothing leaves
     * no folder. */
    if (t->aside == NULL && t->aside_error.status == ST_OK) {
        struct buf path = BUF_INIT;

        buf_printf(&path, "%s/entries", t->c->aside);
        if (mkdir(t->c->aside, 0777) != 0 && errno != EEXIST)
            (void)error_set(&t->aside_error, ST_IO, "make %s: %m", t->c->aside);
        else if ((t->aside = fopen(buf_cstr(&path), "abe")) == NULL)
            (void)error_set(&t->aside_error, ST_IO, "open %s: %m",
                            buf_cstr(&path));
        buf_fini(&path);
    }
    if (t->aside == NULL)
        return; /* flush() says why, and nothing is written */
    put_hex(t->aside, key);
    (void)fputc(' ', t->aside);
    put_hex(t->aside, value);
    (void)fputc('\n', t->aside);
    kv_batch_delete(t->batch, key);
    t->batch_bytes += key.size;
}

/* -- ids ------------------------------------------------------------------- */

void
check_puts_counter(struct tables *t, enum uid_kind kind, uint64_t highest)
{
    uint8_t key[UID_KEY_MAX], counter[8];

    key_put_uint(counter, highest, sizeof counter);
    (void)uid_key(t->layout, kind, 'c', 0, key);
    check_puts(t, slice_of(key, 3), slice_of(counter, sizeof counter));
}

static bool
check_id(struct tables *t, enum uid_kind kind, struct slice bytes,
         char what[64])
{
    uint64_t id = key_get_uint(bytes.data, (unsigned)bytes.size);
    unsigned width = uid_key_width(t->layout, kind);
    uint8_t key[UID_KEY_MAX], forward[64], entry[8 + 4] = { 0 };
    struct slice back = uid_key(t->layout, kind, 'i', id, key);
    char *name = (char *)forward + 3, repaired[80];
    int size;

    if (numbers_have(&t->ids[kind], id))
        return true;
    /* Not what no counter can have given. */
    if (id == 0 || id > t->highest[kind] + LOST_MAX) {
        (void)snprintf(what, 64, "the id %llx of %s has no name",
                       (unsigned long long)id, uid_kind_name(kind));
        return false;
    }
    /* Both directions are gone, and something uses the id: a name that says so
     * lets it be found, and renamed. */
    size = snprintf(name, sizeof forward - 3, "lost.%s.%llx",
                    uid_kind_name(kind), (unsigned long long)id);
    memcpy(forward, key, 2);
    forward[2] = 'n';
    key_put_uint(entry, id, width);
    (void)snprintf(repaired, sizeof repaired, "called %s now", name);
    check_puts(t, back, slice_of(name, (size_t)size));
    check_puts(t, slice_of(forward, 3 + (size_t)size),
               slice_of(entry, width + 4));
    check_found(t->c, "uid-lost", back, repaired,
                "the id %llx of %s is used and has no name",
                (unsigned long long)id, uid_kind_name(kind));
    numbers_add(&t->ids[kind], id);
    if (id > t->highest[kind] && kind != UID_METRIC && check_repairs(t)) {
        t->highest[kind] = id;
        check_puts_counter(t, kind, id);
    }
    return true;
}

bool
check_ids(struct tables *t, struct slice tsuid, char what[64])
{
    const struct key_layout *w = t->layout;

    if (!check_id(t, UID_METRIC, tsuid_metric(w, tsuid), what))
        return false;
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        struct slice tagk = tsuid_tagk(w, tsuid, i);
        struct slice tagv = tsuid_tagv(w, tsuid, i);

        if (i == 0 && key_get_uint(tagk.data, w->tagk_width) == 0) {
            uint64_t kind = key_get_uint(tagv.data, w->tagv_width);

            if (numbers_have(&t->ids[UID_ROLLUP], kind))
                continue;
            (void)snprintf(what, 64, "there is no kind of rollups %llu",
                           (unsigned long long)kind);
            return false;
        }
        if (!check_id(t, UID_TAGK, tagk, what) ||
            !check_id(t, UID_TAGV, tagv, what))
            return false;
    }
    return true;
}

static bool
is_deleted(const struct tables *t, enum uid_kind kind, struct slice bytes)
{
    uint64_t id = key_get_uint(bytes.data, (unsigned)bytes.size);

    return numbers_have(&t->deleted[kind], id);
}

/* Which of its names was deleted, in OpenTSDB's words; NULL: none was. */
static const char *
deleted_name(const struct tables *t, struct slice tsuid)
{
    const struct key_layout *w = t->layout;

    if (is_deleted(t, UID_METRIC, tsuid_metric(w, tsuid)))
        return "metric";
    if (t->deleted[UID_TAGK].table.len + t->deleted[UID_TAGV].table.len == 0)
        return NULL;
    /* The kind of a rollup is no name of a client. */
    for (size_t i = series_has_kind(w, tsuid) ? 1 : 0; i < tsuid_tags(w, tsuid);
         i++)
        if (is_deleted(t, UID_TAGK, tsuid_tagk(w, tsuid, i)) ||
            is_deleted(t, UID_TAGV, tsuid_tagv(w, tsuid, i)))
            return "tagk or tagv";
    return NULL;
}

static bool
drops_orphans(const struct tables *t)
{
    return t->c->drops_orphans && check_repairs(t);
}

bool
check_orphan(struct tables *t, const char *code, struct slice key,
             struct slice value, struct slice tsuid)
{
    const char *what = deleted_name(t, tsuid);
    char name[CHECK_TEXT_MAX];

    if (what == NULL)
        return false;
    if (!t->c->finds_orphans) {
        t->orphans++;
        return false;
    }
    if (drops_orphans(t))
        check_drops(t, key, value);
    check_found(t->c, code, key, drops_orphans(t) ? "moved aside" : NULL,
                "Unable to resolve the %s from the row key: %s", what,
                check_describe(t, tsuid, name));
    return drops_orphans(t);
}

bool
check_drops_orphan(struct tables *t, struct slice key, struct slice value,
                   struct slice tsuid)
{
    if (!drops_orphans(t) || deleted_name(t, tsuid) == NULL)
        return false;
    check_drops(t, key, value);
    return true;
}

bool
check_drops_metric(const struct tables *t, uint64_t metric)
{
    return drops_orphans(t) && numbers_have(&t->deleted[UID_METRIC], metric);
}

static void
put_name(struct tables *t, enum uid_kind kind, struct slice bytes,
         struct buf *out)
{
    uint64_t id = key_get_uint(bytes.data, (unsigned)bytes.size);
    uint8_t key[UID_KEY_MAX];
    struct buf name = BUF_INIT;

    if (kv_get(t->kv, uid_key(t->layout, kind, 'i', id, key), &name, NULL) ==
            ST_OK &&
        name.size > 0 && name.size < 100)
        buf_put_slice(out, buf_slice(&name));
    else
        buf_printf(out, "#%llx", (unsigned long long)id);
    buf_fini(&name);
}

const char *
check_describe(struct tables *t, struct slice tsuid, char out[CHECK_TEXT_MAX])
{
    const struct key_layout *w = t->layout;
    struct buf b = BUF_INIT;

    put_name(t, UID_METRIC, tsuid_metric(w, tsuid), &b);
    buf_put_u8(&b, '{');
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        if (i > 0)
            buf_put_u8(&b, ',');
        put_name(t, UID_TAGK, tsuid_tagk(w, tsuid, i), &b);
        buf_put_u8(&b, '=');
        put_name(t, UID_TAGV, tsuid_tagv(w, tsuid, i), &b);
    }
    buf_put_u8(&b, '}');
    (void)snprintf(out, CHECK_TEXT_MAX, "%s", buf_cstr(&b));
    for (char *p = out; *p != '\0'; p++)
        if ((uint8_t)*p < ' ' || *p == 0x7f)
            *p = '?';
    buf_fini(&b);
    return out;
}

/* -- all of it ------------------------------------------------------------- */

/* Each table is one, whose entries are looked at one by one, or all together.
 */
static const struct step {
    uint8_t table;
    check_entry_fn *entry;
    enum status (*whole)(struct tables *t, struct error *e);
} steps[] = {
    { TABLE_UID, NULL, check_names },
    { TABLE_SERIES, check_series, NULL },
    { TABLE_ROWS, check_row, NULL },
    { TABLE_WEEKS, NULL, check_weeks },
    { TABLE_HISTOGRAMS, check_histogram, NULL },
    { TABLE_ANNOTATIONS, check_annotation, NULL },
    { TABLE_META, check_meta, NULL },
    { TABLE_TREES, check_tree, NULL },
    { TABLE_BATCHES, check_batches, NULL },
    { TABLE_RETENTION, check_cut, NULL },
    { TABLE_QUARANTINE, check_quarantined, NULL },
    { TABLE_TAGK_SETS, NULL, check_tagk_sets }, /* when series are repaired */
};
#define STEPS (sizeof steps / sizeof steps[0])

static enum status
check_unknown(struct tables *t, struct slice key, struct slice value,
              struct error *e)
{
    (void)e;
    return check_drops_bad(t, "no-table", key, value,
                           "a key that belongs to no table");
}

static enum status
check_table(struct tables *t, const struct step *s, struct error *e)
{
    enum status st = s->whole != NULL ? s->whole(t, e) : ST_OK;

    if (s->entry != NULL)
        st = check_each(t, KEY_TABLE(s->table), s->entry, e);
    return st == ST_OK ? flush(t, true, e) : st;
}

static void
fini(struct tables *t)
{
    kv_batch_free(&t->batch);
    arena_free(&t->arena);
    tagk_sets_free(&t->tagk_sets);
    points_fini(&t->points);
    numbers_fini(&t->series);
    for (int i = 0; i < UID_KINDS_ALL; i++) {
        numbers_fini(&t->ids[i]);
        numbers_fini(&t->deleted[i]);
    }
    if (t->aside != NULL)
        (void)fclose(t->aside);
}

static void
init(struct tables *t, struct store *s, struct check *c)
{
    *t = (struct tables){ .c = c, .store = s };
    t->kv = store_kv(s);
    t->layout = store_layout(s);
    t->seed = hash_random_seed();
    t->arena = arena_new(0);
    t->batch = kv_batch_new();
    t->tagk_sets = tagk_sets_new(t->layout);
}

enum status
check_tables(struct store *s, struct check *c, struct check_counts *out,
             struct error *e)
{
    struct tables t;
    bool known[256] = { false };
    enum status st = ST_OK;

    init(&t, s, c);
    for (size_t i = 0; i < STEPS && st == ST_OK; i++) {
        known[steps[i].table] = true;
        st = check_table(&t, &steps[i], e);
    }
    for (unsigned byte = 0; byte < 256 && st == ST_OK; byte++)
        if (!known[byte])
            st = check_table(
                &t, &(struct step){ (uint8_t)byte, check_unknown, NULL }, e);
    if (t.expired > 0)
        check_note(c, "row-expired",
                   "%llu rows lie before the cut of their metric: a server "
                   "drops them, where its policies still say so",
                   (unsigned long long)t.expired);
    if (t.orphans > 0)
        check_note(c, "row-orphan",
                   "%llu rows, histograms and annotations are of names that "
                   "were deleted: 'tsdb fsck --full-scan --fix "
                   "--delete-orphans' removes them",
                   (unsigned long long)t.orphans);
    *out = t.n;
    fini(&t);
    return st;
}

enum status
check_uids(struct store *s, struct check *c, struct check_counts *out,
           struct error *e)
{
    struct tables t;
    enum status st;

    init(&t, s, c);
    st = check_table(&t, &steps[0], e);
    *out = t.n;
    fini(&t);
    return st;
}
