#include "uid/meta/record.h"

#include "base/process/clock.h"
#include "base/process/crash.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "uid/names/uid_events.h"
#include "uid/series/series_purge.h"

#define RECORDS_MAGIC  FOURCC('R', 'E', 'C', 'S')
#define RECORD_VERSION 1
#define EXCLUSIVE      "records"
#define EXCLUSIVE_US   (INT64_C(8) * 1000 * 1000) /* shorter than kv.h's */

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

static void
put_text(struct buf *out, struct slice s)
{
    buf_put_varint(out, annotation_is_null(s) ? 0 : s.size + 1);
    buf_put_slice(out, s);
}

static void
put_pairs(struct buf *out, struct text_pairs p)
{
    buf_put_varint(out, p.has ? p.len + 1 : 0);
    for (size_t i = 0; p.has && i < p.len; i++) {
        put_text(out, p.pairs[i].key);
        put_text(out, p.pairs[i].value);
    }
}

void
record_encode(const struct record_format *f, const void *record,
              struct buf *out)
{
    buf_put_u8(out, RECORD_VERSION);
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
            put_text(out, v.text.size == 0 ? slice_str("") : v.text);
            break;
        case RECORD_TEXT_OR_NULL:
            put_text(out, v.text);
            break;
        case RECORD_PAIRS:
            put_pairs(out, v.pairs);
            break;
        }
    }
}

static struct slice
take_text(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    return size == 0 ? (struct slice){ NULL, 0 } : cursor_bytes(c, size - 1);
}

static struct text_pairs
take_pairs(struct cursor *c, struct arena *arena)
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
        p.pairs[i].key = take_text(c);
        p.pairs[i].value = take_text(c);
    }
    return p;
}

enum status
record_decode(const struct record_format *f, struct slice bytes,
              struct arena *arena, void *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);

    c.failed |= version != RECORD_VERSION;
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
            v.text = take_text(&c);
            break;
        case RECORD_PAIRS:
            v.pairs = take_pairs(&c, arena);
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

enum status
records_open(struct store *s, struct uid_table *u, struct series_directory *d,
             struct records **out, struct error *e)
{
    struct slice notes = KEY_TABLE(TABLE_ANNOTATIONS);
    struct records *r = mem_new(sizeof *r);
    struct kv_iter *it = kv_iter_open(store_kv(s), notes);
    enum status st;

    r->magic = RECORDS_MAGIC;
    r->store = s;
    r->uids = u;
    r->series = d;
    lock_init(&r->lock);
    atomic_store(&r->annotated, kv_iter_seek(it, notes));
    atomic_store(&r->announced, atomic_load(&r->annotated));
    st = kv_iter_close(&it, e);
    if (st != ST_OK)
        records_close(&r);
    *out = r;
    return st;
}

void
records_close(struct records **rp)
{
    struct records *r = OBJ_TAKE(rp, RECORDS_MAGIC);

    if (r == NULL)
        return;
    lock_fini(&r->lock);
    OBJ_FREE(r);
}

enum status
record_read(struct records *r, struct slice key, const struct record_format *f,
            struct arena *arena, void *out, struct error *e)
{
    struct buf value = BUF_INIT;
    struct slice copy;
    enum status st;

    OBJ_CHECK(r, RECORDS_MAGIC);
    st = kv_get(store_kv(r->store), key, &value, e);
    copy = arena_take(arena, &value);
    if (st == ST_OK && copy.data == NULL)
        st = error_no_memory(e);
    return st == ST_OK ? record_decode(f, copy, arena, out, e) : st;
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

enum status
records_annotate(struct records *r, struct error *e)
{
    enum status st;

    OBJ_CHECK(r, RECORDS_MAGIC);
    if (atomic_load(&r->announced))
        return ST_OK;
    atomic_store(&r->annotated, true);
    st = uid_announce(r->uids, UID_EVENT_ANNOTATED, slice_str(""), NULL, e);
    if (st == ST_OK)
        atomic_store(&r->announced, true);
    return st;
}

struct kv_batch *
change_begin(struct records *r)
{
    OBJ_CHECK(r, RECORDS_MAGIC);
    lock_take(&r->lock);
    r->begun = (struct error){ .status = ST_OK };
    r->begun_us = clock_monotonic_us();
    (void)!kv_exclusive_begin(store_kv(r->store), EXCLUSIVE, &r->ticket,
                              &r->begun);
    return kv_batch_new();
}

enum status
change_end(struct records *r, struct kv_batch *b, enum status st,
           struct error *e)
{
    bool any = st == ST_OK && kv_batch_len(b) > 0;
    uint64_t lsn = 0;

    if (any && r->begun.status != ST_OK)
        st = error_set(e, r->begun.status, "%s", r->begun.text);
    else if (any && r->ticket != 0 &&
             clock_monotonic_us() - r->begun_us >= EXCLUSIVE_US)
        /* Whoever has the part for too long may have lost it. */
        st = error_set(e, ST_BUSY, "a change took too long, try again");
    if (any && st == ST_OK)
        st = store_write(r->store, b, &lsn, e);
    crash_point("record-written");
    if (r->begun.status == ST_OK)
        kv_exclusive_end(store_kv(r->store), EXCLUSIVE, r->ticket);
    lock_drop(&r->lock);
    kv_batch_free(&b);
    return any && st == ST_OK ? store_commit(r->store, lsn, false, e) : st;
}

enum status
records_restore(struct records *r, struct kv_batch *b, uint64_t *lsn,
                struct error *e)
{
    enum status st;

    OBJ_CHECK(r, RECORDS_MAGIC);
    st = records_annotate(r, e);
    if (st != ST_OK)
        return st;
    lock_take(&r->lock);
    st = store_write(r->store, b, lsn, e);
    lock_drop(&r->lock);
    return st;
}

/* -- events ---------------------------------------------------------------- */

enum status
uid_events_hear(struct records *r, unsigned kind, struct slice payload,
                struct buf *answer, struct error *e)
{
    OBJ_CHECK(r, RECORDS_MAGIC);
    switch (kind) {
    case UID_EVENT_NAMES:
        return uid_hear_names(r->uids, payload, e);
    case UID_EVENT_SERIES:
        return series_hear(r->series, payload, e);
    case UID_EVENT_ANNOTATED:
        atomic_store(&r->annotated, true);
        return ST_OK;
    case UID_EVENT_PURGE:
        return series_hear_purge(r->series, payload, answer, e);
    default:
        return error_set(e, ST_CORRUPT, "an event of kind %u is not known",
                         kind);
    }
}

void
uid_events_missed(struct records *r)
{
    OBJ_CHECK(r, RECORDS_MAGIC);
    uid_drop_caches(r->uids);
    series_missed(r->series);
    atomic_store(&r->annotated, true);
}
