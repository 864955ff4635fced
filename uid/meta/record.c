/* See uid/meta/record.h. */
#include "config.h"

#include "uid/meta/record.h"

#include "base/crash.h"
#include "base/cursor.h"

#define RECORD_VERSION 1
#define RECORD_NULLS   2

static const size_t sizes[] = {
    [RECORD_BOOL] = sizeof(bool),
    [RECORD_BYTE] = sizeof(int),
    [RECORD_INT] = sizeof(int64_t),
    [RECORD_UINT] = sizeof(int64_t),
    [RECORD_DOUBLE] = sizeof(double),
    [RECORD_TEXT] = sizeof(struct slice),
    [RECORD_TEXT_OR_NULL] = sizeof(struct slice),
    [RECORD_PAIRS] = sizeof(struct text_pairs),
};

/* A member's value. */
union value {
    bool flag;
    int byte;
    int64_t number;
    uint64_t bits; /* of a double */
    struct slice text;
    struct text_pairs pairs;
};

static union value
get(const struct record_field *f, const void *record)
{
    union value v = { .pairs = { 0 } };

    memcpy(&v, (const uint8_t *)record + f->offset, sizes[f->type]);
    return v;
}

static bool
has_nulls(const struct record_format *f, const void *record)
{
    for (size_t i = 0; i < f->len; i++) {
        union value v = get(&f->fields[i], record);

        if (f->fields[i].type == RECORD_TEXT_OR_NULL &&
            annotation_is_null(v.text))
            return true;
        for (size_t k = 0; f->fields[i].type == RECORD_PAIRS && k < v.pairs.len;
             k++)
            if (annotation_is_null(v.pairs.pairs[k].value))
                return true;
    }
    return false;
}

static void
put_text(struct buf *out, struct slice s, bool nulls)
{
    buf_put_varint(out, nulls && !annotation_is_null(s) ? s.size + 1 : s.size);
    buf_put_slice(out, s);
}

static void
put_pairs(struct buf *out, struct text_pairs p, bool nulls)
{
    buf_put_varint(out, p.has ? p.len + 1 : 0);
    for (size_t i = 0; p.has && i < p.len; i++) {
        put_text(out, p.pairs[i].key, nulls);
        put_text(out, p.pairs[i].value, nulls);
    }
}

void
record_encode(const struct record_format *f, const void *record,
              struct buf *out)
{
    bool nulls = has_nulls(f, record);

    buf_put_u8(out, nulls ? RECORD_NULLS : RECORD_VERSION);
    for (size_t i = 0; i < f->len; i++) {
        union value v = get(&f->fields[i], record);

        switch (f->fields[i].type) {
        case RECORD_BOOL:
            buf_put_u8(out, v.flag);
            break;
        case RECORD_BYTE:
            buf_put_u8(out, (uint8_t)v.byte);
            break;
        case RECORD_INT:
            buf_put_zigzag(out, v.number);
            break;
        case RECORD_UINT:
            buf_put_varint(out, (uint64_t)v.number);
            break;
        case RECORD_DOUBLE:
            buf_put_u64(out, v.bits);
            break;
        case RECORD_TEXT:
        case RECORD_TEXT_OR_NULL:
            put_text(out, v.text, nulls);
            break;
        case RECORD_PAIRS:
            put_pairs(out, v.pairs, nulls);
            break;
        }
    }
}

static struct slice
take_text(struct cursor *c, bool nulls)
{
    uint64_t size = cursor_varint(c);

    if (nulls && size == 0)
        return (struct slice){ NULL, 0 };
    return cursor_bytes(c, nulls ? size - 1 : size);
}

static struct text_pairs
take_pairs(struct cursor *c, bool nulls, struct arena *arena)
{
    uint64_t len = cursor_varint(c);
    struct text_pairs p = { .has = len > 0, .len = len > 0 ? len - 1 : 0 };

    /* Each pair takes two bytes at least. */
    if (c->failed || p.len > cursor_left(c) / 2) {
        c->failed = true;
        return (struct text_pairs){ 0 };
    }
    p.pairs = arena_array(arena, p.len, sizeof *p.pairs);
    c->no_memory |= p.pairs == NULL;
    for (size_t i = 0; p.pairs != NULL && i < p.len; i++) {
        p.pairs[i].key = take_text(c, nulls);
        p.pairs[i].value = take_text(c, nulls);
    }
    return p;
}

enum status
record_decode(const struct record_format *f, struct slice bytes,
              struct arena *arena, void *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    bool nulls = version == RECORD_NULLS;

    c.failed |= version != RECORD_VERSION && !nulls;
    for (size_t i = 0; i < f->len && !c.failed && !c.no_memory; i++) {
        enum record_member type = f->fields[i].type;
        union value v;

        switch (type) {
        case RECORD_BOOL:
            v.flag = cursor_u8(&c) != 0;
            break;
        case RECORD_BYTE:
            v.byte = cursor_u8(&c);
            break;
        case RECORD_INT:
            v.number = cursor_zigzag(&c);
            break;
        case RECORD_UINT:
            v.number = (int64_t)cursor_varint(&c);
            break;
        case RECORD_DOUBLE:
            v.bits = cursor_u64(&c);
            break;
        case RECORD_TEXT:
        case RECORD_TEXT_OR_NULL:
            v.text = take_text(&c, nulls);
            break;
        case RECORD_PAIRS:
            v.pairs = take_pairs(&c, nulls, arena);
            break;
        }
        c.failed |= type == RECORD_UINT && v.number < 0;
        memcpy((uint8_t *)out + f->fields[i].offset, &v, sizes[type]);
    }
    if (c.no_memory)
        return error_no_memory(e);
    return c.failed || cursor_left(&c) > 0
               ? error_set(e, ST_CORRUPT, "%s of version %u and %zu bytes",
                           f->what, version, bytes.size)
               : ST_OK;
}

unsigned
record_given(const struct record_format *f, const void *record)
{
    unsigned bits = 0;

    for (size_t i = 0; i < f->len; i++) {
        union value v = get(&f->fields[i], record);
        enum record_member type = f->fields[i].type;
        bool given = v.number != 0;

        if (type == RECORD_TEXT || type == RECORD_TEXT_OR_NULL)
            given = v.text.size > 0;
        /* A null is one: it empties what is stored. */
        if (type == RECORD_TEXT_OR_NULL && annotation_is_null(v.text))
            given = true;
        if (type == RECORD_PAIRS)
            given = v.pairs.has;
        if (given)
            bits |= f->fields[i].bit;
    }
    return bits;
}

void
record_merge(const struct record_format *f, void *to, const void *from,
             unsigned bits)
{
    for (size_t i = 0; i < f->len; i++)
        if (f->fields[i].bit & bits)
            memcpy((uint8_t *)to + f->fields[i].offset,
                   (const uint8_t *)from + f->fields[i].offset,
                   sizes[f->fields[i].type]);
}

/* -- in the store ---------------------------------------------------------- */

enum status
record_read(struct store *s, struct slice key, const struct record_format *f,
            struct arena *arena, void *out, struct error *e)
{
    struct buf value = BUF_INIT;
    enum status st = kv_get(store_kv(s), key, &value, e);

    if (st == ST_OK) {
        const char *copy = arena_strdup(arena, buf_slice(&value));

        st = copy == NULL
                 ? error_no_memory(e)
                 : record_decode(f, slice_of(copy, value.size), arena, out, e);
    }
    buf_fini(&value);
    return st;
}

enum status
record_put(struct kv_batch *b, struct slice key, const struct record_format *f,
           const void *record, struct error *e)
{
    struct buf value;
    bool fits;

    buf_init(&value, RECORD_BYTES);
    record_encode(f, record, &value);
    fits = !value.failed;
    if (fits)
        kv_batch_put(b, key, buf_slice(&value));
    buf_fini(&value);
    return fits ? ST_OK
                : error_set(e, ST_LIMIT, "%s of more than %zu bytes", f->what,
                            RECORD_BYTES);
}

struct change
change_begin(struct store *s, struct lock *lock)
{
    lock_take(lock);
    return (struct change){ s, kv_batch_new() };
}

enum status
change_end(struct change *c, struct lock *lock, enum status st, struct error *e)
{
    bool any = st == ST_OK && kv_batch_len(c->batch) > 0;
    uint64_t lsn = 0;

    if (any)
        st = store_write(c->store, c->batch, &lsn, e);
    crash_point("record-written");
    lock_drop(lock);
    kv_batch_free(&c->batch);
    return any && st == ST_OK ? store_commit(c->store, lsn, false, e) : st;
}
