#include "storage/wal/wal_record.h"

#include "base/cursor.h"
#include "storage/wal/wal_points.h"

/* The number of the newest batch lies under this key, put by the batch itself.
 * So the engine knows which it has; it may have more of them than the WAL,
 * if power failed before that was synced, and an older one would take back what
 * a newer one did. */
struct slice
record_batch_key(void)
{
    static const uint8_t key[1] = { TABLE_BATCHES };

    return slice_of(key, sizeof key);
}

/* Keys and values of a batch are alike: of each, what it shares with the one
 * before is counted, at both ends, and the middle is written. */
struct alike {
    struct buf *out;
    struct slice key, value; /* of the operation before */
};

static void
put_alike(struct buf *b, struct slice last, struct slice s)
{
    size_t most = last.size < s.size ? last.size : s.size, front = 0, back = 0;

    while (front < most && last.data[front] == s.data[front])
        front++;
    while (back < most - front &&
           last.data[last.size - 1 - back] == s.data[s.size - 1 - back])
        back++;
    buf_put_varint(b, front);
    buf_put_varint(b, back);
    buf_put_sized(b, slice_of(s.data + front, s.size - front - back));
}

static void
record_operation(void *ctx, struct slice key, const struct slice *value)
{
    struct alike *x = ctx;

    buf_put_u8(x->out, value != NULL);
    put_alike(x->out, x->key, key);
    x->key = key;
    if (value == NULL)
        return;
    put_alike(x->out, x->value, *value);
    x->value = *value;
}

void
record_batch(struct buf *b, const struct kv_batch *batch)
{
    struct alike x = { .out = b };

    kv_batch_each(batch, record_operation, &x);
}

void
record_batch_number(struct buf *b, struct kv_batch *batch, uint64_t number)
{
    struct alike x = { .out = b };
    uint8_t bytes[8] = { 0 };
    struct slice value = slice_of(bytes, sizeof bytes);

    key_put_uint(bytes, number, sizeof bytes);
    kv_batch_put(batch, record_batch_key(), value);
    record_operation(&x, record_batch_key(), &value);
}

void
record_delete(struct buf *b, struct slice tsuid, int64_t from_ms, int64_t to_ms)
{
    buf_put_sized(b, tsuid);
    buf_put_zigzag(b, from_ms);
    buf_put_zigzag(b, to_ms);
}

void
record_owned(struct buf *b, uint64_t epoch, uint8_t type)
{
    buf_put_varint(b, epoch);
    buf_put_u8(b, type);
}

/* Makes of the last key or value the next one, in its place. */
static bool
get_alike(struct cursor *c, struct buf *last)
{
    uint64_t front = cursor_varint(c);
    uint64_t back = cursor_varint(c);
    struct slice middle = cursor_sized(c);

    if (c->failed || front > last->size || back > last->size - front)
        return false;
    buf_make_room(last, middle.size); /* a lack of it is no damage */
    if (back > 0)
        memmove(last->data + front + middle.size,
                last->data + last->size - back, back);
    if (middle.size > 0)
        memcpy(last->data + front, middle.data, middle.size);
    last->size = front + middle.size + back;
    return true;
}

bool
record_read_batch(struct slice payload, struct kv_batch *b, uint64_t *number)
{
    struct cursor c = cursor_of(payload);
    struct buf key = BUF_INIT, value = BUF_INIT;
    bool whole = true;

    *number = 0;
    while (whole && cursor_left(&c) > 0) {
        bool puts = cursor_u8(&c) != 0;

        whole = get_alike(&c, &key) && (!puts || get_alike(&c, &value));
        if (!whole)
            break;
        if (puts)
            kv_batch_put(b, buf_slice(&key), buf_slice(&value));
        else
            kv_batch_delete(b, buf_slice(&key));
        if (puts && slice_eq(buf_slice(&key), record_batch_key()) &&
            value.size == 8)
            *number = key_get_uint(value.data, 8);
    }
    buf_fini(&key);
    buf_fini(&value);
    return whole;
}

bool
record_read_delete(const struct key_layout *layout, struct slice payload,
                   struct slice *tsuid, int64_t *from_ms, int64_t *to_ms)
{
    struct cursor c = cursor_of(payload);

    *tsuid = cursor_sized(&c);
    *from_ms = cursor_zigzag(&c);
    *to_ms = cursor_zigzag(&c);
    return !c.failed && tsuid_is_valid(layout, *tsuid);
}

bool
record_read_owned(struct slice payload, uint64_t *epoch, uint8_t *type,
                  struct slice *record)
{
    struct cursor c = cursor_of(payload);

    *epoch = cursor_varint(&c);
    *type = cursor_u8(&c);
    *record = cursor_bytes(&c, cursor_left(&c));
    return !c.failed && (*type == RECORD_POINTS || *type == RECORD_DELETE);
}

static bool
batch_is_whole(struct slice payload)
{
    struct kv_batch *b = kv_batch_new();
    uint64_t number;
    bool whole = record_read_batch(payload, b, &number);

    kv_batch_free(&b);
    return whole;
}

enum status
record_check(const struct key_layout *layout, uint8_t type,
             struct slice payload, struct error *e)
{
    struct slice tsuid, record = payload;
    int64_t from_ms, to_ms;
    uint64_t epoch;
    uint8_t kind = type;
    bool whole = false;

    if (type == RECORD_OWNED &&
        !record_read_owned(payload, &epoch, &kind, &record))
        kind = RECORD_OWNED;
    if (kind == RECORD_POINTS) {
        struct wal_points_reader r;

        wal_points_read(&r, record);
        while (wal_points_next(&r))
            ;
        whole = !r.c.failed && r.bucket < layout->salt_buckets;
    } else if (kind == RECORD_BATCH)
        whole = batch_is_whole(record);
    else if (kind == RECORD_DELETE)
        whole = record_read_delete(layout, record, &tsuid, &from_ms, &to_ms);
    return whole ? ST_OK
                 : error_set(e, ST_CORRUPT,
                             "malformed WAL record of type %u, %zu bytes", type,
                             payload.size);
}
