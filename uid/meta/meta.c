/* Metadata in the store.  Defaults are made when they are asked for, from the
 * times that the UID table and the directory keep anyway, so that a name or a
 * series costs nothing here until it is described. */
#include "config.h"

#include "uid/meta/meta.h"

#include <math.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/lock.h"
#include "base/mem.h"
#include "uid/meta/annotation_codec.h"

#define METAS_MAGIC FOURCC('M', 'E', 'T', 'A')

#define META_VERSION 1
#define META_NULLS   2 /* a version, too: some text is null */
#define META_GRAVE   0 /* in the place of the version: deleted */

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
    struct metas *m = *mp;

    *mp = NULL;
    if (m == NULL)
        return;
    OBJ_CHECK(m, METAS_MAGIC);
    lock_fini(&m->lock);
    OBJ_CLEAR(m);
    free(m);
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

static void
put_double(struct buf *b, double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    buf_put_u64(b, bits);
}

static double
take_double(struct cursor *c)
{
    uint64_t bits = cursor_u64(c);
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

static bool
has_nulls(const struct meta *n)
{
    for (size_t i = 0; n->has_custom && i < n->custom_len; i++)
        if (annotation_is_null(n->custom[i].value))
            return true;
    return annotation_is_null(n->display_name) ||
           annotation_is_null(n->description) || annotation_is_null(n->notes) ||
           annotation_is_null(n->units) || annotation_is_null(n->data_type);
}

static void
encode(const struct meta *n, bool of_series, struct buf *b)
{
    bool nulls = has_nulls(n);

    buf_put_u8(b, nulls ? META_NULLS : META_VERSION);
    buf_put_zigzag(b, n->created);
    null_text_put(b, n->display_name, nulls);
    null_text_put(b, n->description, nulls);
    null_text_put(b, n->notes, nulls);
    buf_put_varint(b, n->has_custom ? n->custom_len + 1 : 0);
    for (size_t i = 0; n->has_custom && i < n->custom_len; i++) {
        null_text_put(b, n->custom[i].key, nulls);
        null_text_put(b, n->custom[i].value, nulls);
    }
    if (!of_series)
        return;
    null_text_put(b, n->units, nulls);
    null_text_put(b, n->data_type, nulls);
    buf_put_zigzag(b, n->retention);
    put_double(b, n->max);
    put_double(b, n->min);
}

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the request needs too much memory");
}

static enum status
corrupt(struct slice bytes, struct error *e)
{
    return error_set(e, ST_CORRUPT, "metadata of %zu bytes", bytes.size);
}

enum status
meta_decode(struct slice bytes, bool of_series, struct arena *arena,
            struct meta *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    bool nulls = version == META_NULLS;
    uint64_t custom;

    *out = meta_empty();
    if (version == META_GRAVE && bytes.size == 1)
        return ST_NOT_FOUND;
    out->created = cursor_zigzag(&c);
    out->display_name = null_text_take(&c, nulls);
    out->description = null_text_take(&c, nulls);
    out->notes = null_text_take(&c, nulls);
    custom = cursor_varint(&c);
    /* Each pair takes two bytes at least. */
    if ((version != META_VERSION && !nulls) || c.failed ||
        custom / 2 > cursor_left(&c))
        return corrupt(bytes, e);
    out->has_custom = custom > 0;
    out->custom_len = out->has_custom ? (size_t)custom - 1 : 0;
    out->custom = arena_array(arena, out->custom_len, sizeof *out->custom);
    if (out->custom == NULL)
        return no_memory(e);
    for (size_t i = 0; i < out->custom_len; i++) {
        out->custom[i].key = null_text_take(&c, nulls);
        out->custom[i].value = null_text_take(&c, nulls);
    }
    if (of_series) {
        out->units = null_text_take(&c, nulls);
        out->data_type = null_text_take(&c, nulls);
        out->retention = cursor_zigzag(&c);
        out->max = take_double(&c);
        out->min = take_double(&c);
    }
    return c.failed || cursor_left(&c) > 0 ? corrupt(bytes, e) : ST_OK;
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

        st = copy == NULL ? no_memory(e)
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

/* Members without a new value take the old one. */
static void
merge(struct meta *n, const struct meta *old, unsigned fields)
{
    if (!(fields & META_DISPLAY_NAME))
        n->display_name = old->display_name;
    if (!(fields & META_DESCRIPTION))
        n->description = old->description;
    if (!(fields & META_NOTES))
        n->notes = old->notes;
    if (!(fields & META_CUSTOM)) {
        n->has_custom = old->has_custom;
        n->custom = old->custom;
        n->custom_len = old->custom_len;
    }
    if (!(fields & META_UNITS))
        n->units = old->units;
    if (!(fields & META_DATA_TYPE))
        n->data_type = old->data_type;
    if (!(fields & META_RETENTION))
        n->retention = old->retention;
    if (!(fields & META_MAX))
        n->max = old->max;
    if (!(fields & META_MIN))
        n->min = old->min;
}

static enum status
write_bytes(struct metas *m, struct meta_of of, struct slice value,
            uint64_t *lsn, struct error *e)
{
    uint8_t key[META_KEY_MAX];
    struct kv_batch *b = kv_batch_new();
    enum status st;

    kv_batch_put(b, make_key(of, key), value);
    st = store_write(m->store, b, lsn, e);
    kv_batch_free(&b);
    return st;
}

static enum status
write_record(struct metas *m, struct meta_of of, const struct meta *n,
             uint64_t *lsn, struct error *e)
{
    struct buf value;
    enum status st;

    buf_init(&value, META_BYTES);
    encode(n, of.kind == META_SERIES, &value);
    st = value.failed ? error_set(e, ST_LIMIT,
                                  "metadata of more than %zu bytes", META_BYTES)
                      : write_bytes(m, of, buf_slice(&value), lsn, e);
    buf_fini(&value);
    return st;
}

static enum status
put_locked(struct metas *m, struct meta_of of, struct meta *n, unsigned fields,
           bool overwrite, struct arena *arena, uint64_t *lsn, struct error *e)
    REQUIRES(m->lock)
{
    struct meta old, none = meta_empty();
    enum status st = read_record(m, of, arena, &old, e);

    if (st != ST_OK)
        return st;
    if (!(fields & META_CREATED))
        n->created = 0;
    if (old.created > 0 && (old.created < n->created || n->created == 0))
        n->created = old.created;
    merge(n, overwrite ? &none : &old, fields);
    return write_record(m, of, n, lsn, e);
}

enum status
meta_put(struct metas *m, struct meta_of of, struct meta *n, unsigned fields,
         bool overwrite, struct arena *arena, struct error *e)
{
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st;
    lock_take(&m->lock);
    st = put_locked(m, of, n, fields, overwrite, arena, &lsn, e);
    lock_drop(&m->lock);
    return st == ST_OK ? store_commit(m->store, lsn, false, e) : st;
}

enum status
meta_create(struct metas *m, struct meta_of of, const struct meta *n,
            struct error *e)
{
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st;
    lock_take(&m->lock);
    st = write_record(m, of, n, &lsn, e);
    lock_drop(&m->lock);
    return st == ST_OK ? store_commit(m->store, lsn, false, e) : st;
}

/* -- delete ---------------------------------------------------------------- */

enum status
meta_delete(struct metas *m, struct meta_of of, struct error *e)
{
    const uint8_t grave[1] = { META_GRAVE };
    struct arena *arena;
    struct meta old;
    uint64_t lsn = 0;
    enum status st;

    OBJ_CHECK(m, METAS_MAGIC);
    st = check_name(m, of, e);
    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    arena = arena_new(0);
    lock_take(&m->lock);
    st = read_record(m, of, arena, &old, e);
    if (st == ST_OK)
        st = write_bytes(m, of, slice_of(grave, sizeof grave), &lsn, e);
    lock_drop(&m->lock);
    arena_free(&arena);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    return st == ST_OK ? store_commit(m->store, lsn, false, e) : st;
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
