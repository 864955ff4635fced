/*
 * The journal's records beside those of points (store_points.c): batches of
 * the engine and deletions, how they are written down and applied again after
 * a crash (docs/FORMAT.md, "Journal records").
 */
#include "config.h"

#include "base/cursor.h"
#include "base/log.h"
#include "storage/store_priv.h"

/* The number of the newest batch lies under this key, put by the batch itself.
 * So the engine knows which it has; it may have more of them than the journal,
 * if power failed before that was synced, and an older one would take back what
 * a newer one did. */
static struct slice
batch_key(void)
{
    static const uint8_t key[1] = { TABLE_BATCHES };

    return slice_of(key, sizeof key);
}

static void
put_sized(struct buf *b, struct slice s)
{
    buf_put_varint(b, s.size);
    buf_put_slice(b, s);
}

/* -- batches --------------------------------------------------------------- */

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
    put_sized(b, slice_of(s.data + front, s.size - front - back));
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
    kv_batch_put(batch, batch_key(), value);
    record_operation(&x, batch_key(), &value);
}

void
record_delete(struct buf *b, struct slice tsuid, int64_t from_ms, int64_t to_ms)
{
    put_sized(b, tsuid);
    buf_put_zigzag(b, from_ms);
    buf_put_zigzag(b, to_ms);
}

static struct slice
get_sized(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    return cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);
}

/* A batch while it is read: the operation that was read last. */
struct operations {
    struct cursor c;
    bool plain; /* as up to version 6: keys and values are whole */
    bool puts;
    struct buf key, value;
};

static void
operations_init(struct operations *x, uint8_t type, struct slice payload)
{
    *x = (struct operations){ .c = cursor_of(payload),
                              .plain = type == RECORD_PLAIN_BATCH };
    buf_init(&x->key, 0);
    buf_init(&x->value, 0);
}

static void
operations_fini(struct operations *x)
{
    buf_fini(&x->key);
    buf_fini(&x->value);
}

/* Makes of the last one the next one, in its place. */
static bool
get_alike(struct operations *x, struct buf *last)
{
    uint64_t front = x->plain ? 0 : cursor_varint(&x->c);
    uint64_t back = x->plain ? 0 : cursor_varint(&x->c);
    struct slice middle = get_sized(&x->c);

    if (x->c.failed || front > last->size || back > last->size - front ||
        buf_reserve(last, middle.size) == NULL)
        return false;
    if (back > 0)
        memmove(last->data + front + middle.size,
                last->data + last->size - back, back);
    if (middle.size > 0)
        memcpy(last->data + front, middle.data, middle.size);
    last->size = front + middle.size + back;
    return true;
}

/* False behind the last one, or when they are damaged: 'c' has failed. */
static bool
operations_next(struct operations *x)
{
    if (x->c.failed || cursor_left(&x->c) == 0)
        return false;
    x->puts = cursor_u8(&x->c) != 0;
    if (!get_alike(x, &x->key) || (x->puts && !get_alike(x, &x->value)))
        x->c.failed = true;
    return !x->c.failed;
}

/* -- checking -------------------------------------------------------------- */

static bool
batch_is_whole(uint8_t type, struct slice payload)
{
    struct operations x;
    bool whole;

    operations_init(&x, type, payload);
    while (operations_next(&x))
        ;
    whole = !x.c.failed;
    operations_fini(&x);
    return whole;
}

static bool
delete_is_whole(const struct key_shape *shape, struct cursor *c)
{
    struct slice tsuid = get_sized(c);

    (void)cursor_zigzag(c);
    (void)cursor_zigzag(c);
    return !c->failed && tsuid_is_valid(shape, tsuid);
}

enum status
record_check(const struct key_shape *shape, uint8_t type, struct slice payload,
             struct error *e)
{
    struct cursor c = cursor_of(payload);
    bool whole = false;

    /* Points say something to those who know what was before. */
    if (record_is_points(type))
        whole =
            record_points_bucket(type, &c) < shape->salt_buckets && !c.failed;
    else if (type == RECORD_BATCH || type == RECORD_PLAIN_BATCH)
        whole = batch_is_whole(type, payload);
    else if (type == RECORD_DELETE)
        whole = delete_is_whole(shape, &c);
    else
        whole = type == RECORD_FORGET && payload.size == 0;

    return whole ? ST_OK
                 : error_set(e, ST_CORRUPT,
                             "a record of type %u and %zu bytes that makes no "
                             "sense",
                             type, payload.size);
}

/* -- replay ---------------------------------------------------------------- */

/* Reads the operations; '*number' is the batch's own, or 0. */
static bool
read_batch(uint8_t type, struct slice payload, struct kv_batch *b,
           uint64_t *number)
{
    struct operations x;
    bool whole;

    *number = 0;
    operations_init(&x, type, payload);
    while (operations_next(&x)) {
        if (x.puts)
            kv_batch_put(b, buf_slice(&x.key), buf_slice(&x.value));
        else
            kv_batch_delete(b, buf_slice(&x.key));
        if (x.puts && slice_eq(buf_slice(&x.key), batch_key()) &&
            x.value.size == 8)
            *number = key_get_uint(x.value.data, 8);
    }
    whole = !x.c.failed;
    operations_fini(&x);
    return whole;
}

static enum status
replay_batch(struct replay *r, uint8_t type, struct slice payload,
             struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint64_t number;
    enum status status = ST_OK;

    lock_take(&r->s->write_lock);
    if (!read_batch(type, payload, b, &number))
        status = error_set(e, ST_CORRUPT, "a record of a batch");
    else if (number == 0 || number > r->s->batches)
        status = kv_write(r->s->kv, b, false, e);
    if (status == ST_OK && number > r->s->batches)
        r->s->batches = number;
    lock_drop(&r->s->write_lock);
    kv_batch_free(&b);
    return status;
}

static enum status
replay_delete(struct replay *r, struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);
    struct slice tsuid = get_sized(&c);
    int64_t from_ms = cursor_zigzag(&c), to_ms = cursor_zigzag(&c);
    uint64_t deleted = 0, lsn = 0;
    enum status status;

    if (c.failed || !tsuid_is_valid(&r->s->shape, tsuid))
        return error_set(e, ST_CORRUPT, "a record of a deletion");
    lock_take(&r->s->seal_lock);
    status = store_apply_delete(r->s, tsuid, from_ms, to_ms, NULL, &deleted,
                                &lsn, e);
    lock_drop(&r->s->seal_lock);
    /* Who asked for it was told so; it must not keep the store from opening. */
    if (status == ST_CORRUPT) {
        log_error("store", "a deletion passes over what is damaged: %s",
                  e->text);
        status = ST_OK;
    }
    return status;
}

static enum status
replay_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
              struct error *e)
{
    struct replay *r = ctx;
    struct store *s = r->s;
    enum status status;

    switch (type) {
    case RECORD_PLAIN_BATCH:
    case RECORD_BATCH:
        status = replay_batch(r, type, payload, e);
        break;
    case RECORD_DELETE:
        status = replay_delete(r, payload, e);
        break;
    case RECORD_FORGET:
        replay_forget(r);
        status = ST_OK;
        break;
    default:
        status =
            record_is_points(type)
                ? record_points_replay(r, segment, type, payload, e)
                : error_set(e, ST_CORRUPT, "a record of unknown type %u", type);
        break;
    }
    if (status == ST_OK && atomic_load(&s->head.bytes) > s->options.head_bytes)
        status = store_seal_until(s, s->options.head_bytes / 2, e);
    return status;
}

/* Which batches the engine has. */
static enum status
find_newest_batch(struct store *s, struct error *e)
{
    struct buf value = BUF_INIT;
    enum status status = kv_get(s->kv, batch_key(), &value, e);

    if (status == ST_OK && value.size != 8)
        status = error_set(e, ST_CORRUPT, "the number of the newest batch");
    lock_take(&s->write_lock);
    if (status == ST_OK)
        s->batches = key_get_uint(value.data, 8);
    lock_drop(&s->write_lock);
    buf_fini(&value);
    return status == ST_NOT_FOUND ? ST_OK : status;
}

enum status
store_replay(struct store *s, struct error *e)
{
    struct replay r;
    int64_t from_us = clock_monotonic_us();
    enum status status;

    if (s->journal == NULL)
        return ST_OK;
    status = find_newest_batch(s, e);
    if (status != ST_OK)
        return status;
    replay_init(&r, s);
    status = journal_replay(s->journal, replay_record, &r, e);
    replay_fini(&r);
    if (status != ST_OK)
        return error_wrap(e, status, "cannot replay the journal");
    if (r.passed_over > 0)
        log_info("store", "passed over %llu points that are sealed",
                 (unsigned long long)r.passed_over);
    if (r.points > 0)
        log_info("store", "took %llu points from the journal in %lld ms",
                 (unsigned long long)r.points,
                 (long long)(clock_monotonic_us() - from_us) / 1000);
    return ST_OK;
}
