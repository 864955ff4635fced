/* Metadata in the store.  Defaults are made when they are asked for, from the
 * times that the UID table and the directory keep anyway, so that a name or a
 * series costs nothing here until it is described. */
#include "config.h"

#include "uid/meta/meta.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define METAS_MAGIC FOURCC('M', 'E', 'T', 'A')

#define META_GRAVE 0 /* in the place of the version: deleted */

#define META_KEY_MAX (2 + TSUID_MAX)

static const uint8_t kind_bytes[META_KINDS] = { 'm', 'k', 'v', 't' };

struct metas {
    uint32_t magic;
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct lock lock; /* from reading a record to rewriting it */
};

void
metas_open(struct store *s, struct uid_table *u, struct series_directory *d,
           struct metas **out)
{
    struct metas *m = mem_new(sizeof *m);

    m->magic = METAS_MAGIC;
    m->store = s;
    m->uids = u;
    m->series = d;
    lock_init(&m->lock);
    *out = m;
}

void
metas_close(struct metas **mp)
{
    struct metas *m = OBJ_TAKE(mp, METAS_MAGIC);

    if (m == NULL)
        return;
    lock_fini(&m->lock);
    OBJ_FREE(m);
}

struct meta
meta_empty(void)
{
    struct slice none = slice_str("");

    return (struct meta){ .display_name = none,
                          .description = none,
                          .notes = none,
                          .units = none,
                          .data_type = none,
                          .max = NAN,
                          .min = NAN };
}

/* -- bytes ----------------------------------------------------------------- */

static struct slice
make_key(struct meta_of of, uint8_t out[META_KEY_MAX])
{
    INSIST(of.id.size <= TSUID_MAX);
    out[0] = TABLE_META;
    out[1] = kind_bytes[of.kind];
    if (of.id.size > 0)
        memcpy(out + 2, of.id.data, of.id.size);
    return slice_of(out, 2 + of.id.size);
}

static const struct record_field meta_fields[] = {
    RECORD(INT, meta, created, META_CREATED),
    RECORD(TEXT_OR_NULL, meta, display_name, META_DISPLAY_NAME),
    RECORD(TEXT_OR_NULL, meta, description, META_DESCRIPTION),
    RECORD(TEXT_OR_NULL, meta, notes, META_NOTES),
    RECORD(PAIRS, meta, custom, META_CUSTOM),
    /* Of a series alone. */
    RECORD(TEXT_OR_NULL, meta, units, META_UNITS),
    RECORD(TEXT_OR_NULL, meta, data_type, META_DATA_TYPE),
    RECORD(INT, meta, retention, META_RETENTION),
    RECORD(DOUBLE, meta, max, META_MAX),
    RECORD(DOUBLE, meta, min, META_MIN),
};

static const struct record_format name_format = { "metadata", meta_fields, 5 };
static const struct record_format series_format = { "metadata", meta_fields,
                                                    10 };

static const struct record_format *
format_of(bool of_series)
{
    return of_series ? &series_format : &name_format;
}

enum status
meta_decode(struct slice bytes, bool of_series, struct arena *arena,
            struct meta *out, struct error *e)
{
    *out = meta_empty();
    if (bytes.size == 1 && bytes.data[0] == META_GRAVE)
        return ST_NOT_FOUND;
    return record_decode(format_of(of_series), bytes, arena, out, e);
}

/* -- get ------------------------------------------------------------------- */

/* What is not described. */
static enum status
get_default(struct metas *m, struct meta_of of, struct meta *out,
            struct error *e)
{
    uint32_t created_s = 0;
    enum status st;

    *out = meta_empty();
    if (of.kind == META_SERIES)
        st = series_created(m->series, of.id, &created_s, e);
    else
        st = uid_created(m->uids, (enum uid_kind)of.kind,
                         key_get_uint(of.id.data, (unsigned)of.id.size),
                         &created_s, e);
    out->created = created_s;
    return st;
}

/* A name must exist; a series may have metadata before it has points. */
static enum status
check_name(struct metas *m, struct meta_of of, struct error *e)
{
    enum uid_kind kind = (enum uid_kind)of.kind;
    struct buf name = BUF_INIT;
    enum status st;

    if (of.kind == META_SERIES)
        return tsuid_is_valid(store_layout(m->store), of.id) &&
                       tsuid_tags(store_layout(m->store), of.id) > 0
                   ? ST_OK
                   : error_set(e, ST_NOT_FOUND, "no such series");
    INSIST(of.id.size == uid_width(m->uids, kind));
    st = uid_name(m->uids, kind, key_get_uint(of.id.data, (unsigned)of.id.size),
                  &name, e);
    buf_fini(&name);
    return st;
}

static enum status
read_record(struct metas *m, struct meta_of of, struct arena *arena,
            struct meta *out, struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct buf value = BUF_INIT;
    enum status st = kv_get(store_kv(m->store), make_key(of, key), &value, e);

    if (st == ST_NOT_FOUND) {
        st = get_default(m, of, out, e);
    } else if (st == ST_OK) {
        const char *copy = arena_strdup(arena, buf_slice(&value));

        st = copy == NULL ? error_no_memory(e)
                          : meta_decode(slice_of(copy, value.size),
                                        of.kind == META_SERIES, arena, out, e);
        if (st == ST_NOT_FOUND)
            st = of.kind != META_SERIES
                     ? ST_OK
                     : error_set(e, st, "the metadata was deleted");
    }
    buf_fini(&value);
    return st;
}

enum status
meta_get(struct metas *m, struct meta_of of, struct arena *arena,
         struct meta *out, struct error *e)
{
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    return st == ST_OK ? read_record(m, of, arena, out, e) : st;
}

enum status
meta_has_record(struct metas *m, struct meta_of of, bool *out, struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct buf value = BUF_INIT;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = kv_get(store_kv(m->store), make_key(of, key), &value, e);
    buf_fini(&value);
    *out = st == ST_OK;
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* -- put ------------------------------------------------------------------- */

static enum status
batch_meta(struct kv_batch *b, struct meta_of of, const struct meta *n,
           struct error *e)
{
    uint8_t key[META_KEY_MAX];

    return record_put(b, make_key(of, key), format_of(of.kind == META_SERIES),
                      n, e);
}

static enum status
batch_merged(struct metas *m, struct kv_batch *b, struct meta_of of,
             struct meta *n, unsigned fields, bool overwrite,
             struct arena *arena, struct error *e)
{
    struct meta old, none = meta_empty();
    enum status st = read_record(m, of, arena, &old, e);

    if (st != ST_OK)
        return st;
    if (!(fields & META_CREATED))
        n->created = 0;
    if (old.created > 0 && (old.created < n->created || n->created == 0))
        n->created = old.created;
    record_merge(&series_format, n, overwrite ? &none : &old,
                 ~(fields | META_CREATED));
    return batch_meta(b, of, n, e);
}

enum status
meta_put(struct metas *m, struct meta_of of, struct meta *n, unsigned fields,
         bool overwrite, struct arena *arena, struct error *e)
{
    struct change c;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st;
    c = change_begin(m->store, &m->lock);
    st = batch_merged(m, c.batch, of, n, fields, overwrite, arena, e);
    return change_end(&c, &m->lock, st, e);
}

enum status
meta_create(struct metas *m, struct meta_of of, const struct meta *n,
            struct error *e)
{
    struct change c;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st;
    c = change_begin(m->store, &m->lock);
    st = batch_meta(c.batch, of, n, e);
    return change_end(&c, &m->lock, st, e);
}

/* -- delete ---------------------------------------------------------------- */

enum status
meta_delete(struct metas *m, struct meta_of of, struct error *e)
{
    const uint8_t grave[1] = { META_GRAVE };
    uint8_t key[META_KEY_MAX];
    struct arena *arena;
    struct change c;
    struct meta old;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    arena = arena_new(0);
    c = change_begin(m->store, &m->lock);
    st = read_record(m, of, arena, &old, e);
    if (st == ST_OK)
        kv_batch_put(c.batch, make_key(of, key), slice_of(grave, 1));
    arena_free(&arena);
    return change_end(&c, &m->lock, st == ST_NOT_FOUND ? ST_OK : st, e);
}

/* -- each ------------------------------------------------------------------ */

enum status
meta_each_series(struct metas *m, struct slice prefix,
                 bool (*f)(void *ctx, struct slice tsuid), void *ctx,
                 struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct kv_iter *it;
    struct slice start;

    OBJ_CHECK(m, METAS_MAGIC);
    start = make_key((struct meta_of){ META_SERIES, prefix }, key);
    it = kv_iter_open(store_kv(m->store), KEY_TABLE(TABLE_META));
    for (bool on = kv_iter_seek(it, start);
         on && slice_starts(kv_iter_key(it), start); on = kv_iter_next(it)) {
        struct slice found = kv_iter_key(it), value = kv_iter_value(it);

        if (value.size > 0 && value.data[0] != META_GRAVE &&
            !f(ctx, slice_of(found.data + 2, found.size - 2)))
            break;
    }
    return kv_iter_close(&it, e);
}
