/* Metadata in the store.  Defaults are made when they are asked for, from the
 * times that the UID table and the directory keep anyway, so that a name or a
 * series costs nothing here until it is described. */
#include "uid/meta/meta.h"

#include <math.h>

static const uint8_t kind_bytes[META_KINDS] = { 'm', 'k', 'v', 't' };

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

struct slice
meta_key(struct meta_of of, uint8_t out[META_KEY_MAX])
{
    INSIST(of.id.size <= TSUID_MAX);
    out[0] = TABLE_META;
    out[1] = kind_bytes[of.kind];
    if (of.id.size > 0)
        memcpy(out + 2, of.id.data, of.id.size);
    return slice_of(out, 2 + of.id.size);
}

enum status
meta_key_parse(struct slice key, struct meta_of *out, struct error *e)
{
    if (key.size > 2 && key.size <= META_KEY_MAX)
        for (int kind = 0; kind < META_KINDS; kind++)
            if (key.data[1] == kind_bytes[kind]) {
                *out = (struct meta_of){ (enum meta_kind)kind,
                                         slice_of(key.data + 2, key.size - 2) };
                return ST_OK;
            }
    return error_set(e, ST_CORRUPT, "metadata key of %zu bytes", key.size);
}

static const struct record_field meta_fields[] = {
    RECORD(BOOL, meta, deleted, "deleted", 0),
    RECORD(INT, meta, created, "created", META_CREATED),
    RECORD(TEXT_OR_NULL, meta, display_name, "displayName", META_DISPLAY_NAME),
    RECORD(TEXT_OR_NULL, meta, description, "description", META_DESCRIPTION),
    RECORD(TEXT_OR_NULL, meta, notes, "notes", META_NOTES),
    RECORD(PAIRS, meta, custom, "custom", META_CUSTOM),
    /* Of a series alone. */
    RECORD(TEXT_OR_NULL, meta, units, "units", META_UNITS),
    RECORD(TEXT_OR_NULL, meta, data_type, "dataType", META_DATA_TYPE),
    RECORD(INT, meta, retention, "retention", META_RETENTION),
    RECORD(DOUBLE, meta, max, "max", META_MAX),
    RECORD(DOUBLE, meta, min, "min", META_MIN),
};

const struct record_format meta_name_format = { "metadata", "uidmeta",
                                                meta_fields, 6 };
const struct record_format meta_series_format = { "metadata", "tsmeta",
                                                  meta_fields, 11 };

static const struct record_format *
format_of(struct meta_of of)
{
    return of.kind == META_SERIES ? &meta_series_format : &meta_name_format;
}

/* A name must exist; a series may have metadata before it has points. */
static enum status
check_name(struct records *r, struct meta_of of, struct error *e)
{
    enum uid_kind kind = (enum uid_kind)of.kind;
    struct buf name = BUF_INIT;
    enum status st;

    if (of.kind == META_SERIES)
        return tsuid_is_valid(store_layout(r->store), of.id) &&
                       tsuid_tags(store_layout(r->store), of.id) > 0
                   ? ST_OK
                   : error_set(e, ST_NOT_FOUND, "no such series");
    INSIST(of.id.size == uid_width(r->uids, kind));
    st = uid_name(r->uids, kind, key_get_uint(of.id.data, (unsigned)of.id.size),
                  &name, e);
    buf_fini(&name);
    return st;
}

static enum status
read_record(struct records *r, struct meta_of of, struct arena *arena,
            struct meta *out, struct error *e)
{
    uint8_t key[META_KEY_MAX];
    uint32_t created_s = 0;
    enum status st;

    *out = meta_empty();
    st = record_read(r, meta_key(of, key), format_of(of), arena, out, e);
    if (st == ST_NOT_FOUND) { /* it is not described */
        *out = meta_empty();
        st = of.kind == META_SERIES
                 ? series_created(r->series, of.id, &created_s, e)
                 : uid_created(r->uids, (enum uid_kind)of.kind,
                               key_get_uint(of.id.data, (unsigned)of.id.size),
                               &created_s, e);
        out->created = created_s;
        return st;
    }
    return st == ST_OK && out->deleted && of.kind == META_SERIES
               ? error_set(e, ST_NOT_FOUND, "the metadata was deleted")
               : st;
}

enum status
meta_get(struct records *r, struct meta_of of, struct arena *arena,
         struct meta *out, struct error *e)
{
    enum status st = check_name(r, of, e);

    return st == ST_OK ? read_record(r, of, arena, out, e) : st;
}

enum status
meta_has_record(struct records *r, struct meta_of of, bool *out,
                struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct buf value = BUF_INIT;
    enum status st;

    st = kv_get(store_kv(r->store), meta_key(of, key), &value, e);
    buf_fini(&value);
    *out = st == ST_OK;
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status
batch_meta(struct kv_batch *b, struct meta_of of, const struct meta *n,
           struct error *e)
{
    uint8_t key[META_KEY_MAX];

    return record_put(b, meta_key(of, key), format_of(of), n, e);
}

enum status
meta_put(struct records *r, struct meta_of of, struct meta *n,
         const struct record_change *c, struct error *e)
{
    struct meta old, none = meta_empty();
    struct kv_batch *b;
    enum status st = check_name(r, of, e);

    if (st != ST_OK)
        return st;
    b = change_begin(r);
    st = read_record(r, of, c->arena, &old, e);
    if (st == ST_OK) {
        if (!(c->fields & META_CREATED))
            n->created = 0;
        if (old.created > 0 && (old.created < n->created || n->created == 0))
            n->created = old.created;
        record_merge(&meta_series_format, n, c->overwrite ? &none : &old,
                     ~(c->fields | META_CREATED));
        st = batch_meta(b, of, n, e);
    }
    return change_end(r, b, st, e);
}

enum status
meta_create(struct records *r, struct meta_of of, const struct meta *n,
            struct error *e)
{
    struct kv_batch *b;
    enum status st = check_name(r, of, e);

    if (st != ST_OK)
        return st;
    b = change_begin(r);
    st = batch_meta(b, of, n, e);
    return change_end(r, b, st, e);
}

enum status
meta_delete(struct records *r, struct meta_of of, struct error *e)
{
    struct meta old, none = meta_empty();
    struct arena *arena;
    struct kv_batch *b;
    enum status st = check_name(r, of, e);

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    none.deleted = true;
    arena = arena_new(0);
    b = change_begin(r);
    st = read_record(r, of, arena, &old, e);
    if (st == ST_OK)
        st = batch_meta(b, of, &none, e);
    arena_free(&arena);
    return change_end(r, b, st == ST_NOT_FOUND ? ST_OK : st, e);
}

enum status
meta_each_series(struct records *r, struct slice prefix,
                 bool (*f)(void *ctx, struct slice tsuid), void *ctx,
                 struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct kv_iter *it;
    struct slice start;

    start = meta_key((struct meta_of){ META_SERIES, prefix }, key);
    it = kv_iter_open(store_kv(r->store), KEY_TABLE(TABLE_META));
    for (bool on = kv_iter_seek(it, start);
         on && slice_starts(kv_iter_key(it), start); on = kv_iter_next(it)) {
        struct slice found = kv_iter_key(it);

        if (!f(ctx, slice_of(found.data + 2, found.size - 2)))
            break;
    }
    return kv_iter_close(&it, e);
}
