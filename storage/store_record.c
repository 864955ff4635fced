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

static void
record_operation(void *ctx, struct slice key, const struct slice *value)
{
    struct buf *b = ctx;

    buf_put_u8(b, value != NULL);
    put_sized(b, key);
    if (value != NULL)
        put_sized(b, *value);
}

void
record_batch(struct buf *b, const struct kv_batch *batch)
{
    kv_batch_each(batch, record_operation, b);
}

void
record_batch_number(struct buf *b, struct kv_batch *batch, uint64_t number)
{
    uint8_t bytes[8] = { 0 };
    struct slice value = slice_of(bytes, sizeof bytes);

    key_put_uint(bytes, number, sizeof bytes);
    kv_batch_put(batch, batch_key(), value);
    record_operation(b, batch_key(), &value);
}

void
record_delete(struct buf *b, struct slice tsuid, int64_t from_ms, int64_t to_ms)
{
    put_sized(b, tsuid);
    buf_put_zigzag(b, from_ms);
    buf_put_zigzag(b, to_ms);
}

/* -- checking -------------------------------------------------------------- */

static struct slice get_sized(struct cursor *c);

static bool
batch_is_whole(struct cursor *c)
{
    while (!c->failed && cursor_left(c) > 0) {
        bool puts = cursor_u8(c) != 0;

        (void)get_sized(c);
        if (puts)
            (void)get_sized(c);
    }
    return !c->failed;
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
    if (type == RECORD_POINTS || type == RECORD_PLAIN_POINTS)
        whole = cursor_u8(&c) < shape->salt_buckets && !c.failed;
    else if (type == RECORD_BATCH)
        whole = batch_is_whole(&c);
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

static struct slice
get_sized(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    return cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);
}

/* Reads the operations; '*number' is the batch's own, or 0. */
static bool
read_batch(struct slice payload, struct kv_batch *b, uint64_t *number)
{
    struct cursor c = cursor_of(payload);

    *number = 0;
    while (!c.failed && cursor_left(&c) > 0) {
        bool puts = cursor_u8(&c) != 0;
        struct slice key = get_sized(&c);
        struct slice value = puts ? get_sized(&c) : (struct slice){ NULL, 0 };

        if (c.failed)
            return false;
        if (puts)
            kv_batch_put(b, key, value);
        else
            kv_batch_delete(b, key);
        if (puts && slice_eq(key, batch_key()) && value.size == 8)
            *number = key_get_uint(value.data, 8);
    }
    return !c.failed;
}

static enum status
replay_batch(struct replay *r, struct slice payload, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint64_t number;
    enum status status = ST_OK;

    lock_take(&r->s->write_lock);
    if (!read_batch(payload, b, &number))
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
    case RECORD_PLAIN_POINTS:
    case RECORD_POINTS:
        status = record_points_replay(r, segment, payload,
                                      type == RECORD_PLAIN_POINTS, e);
        break;
    case RECORD_BATCH:
        status = replay_batch(r, payload, e);
        break;
    case RECORD_DELETE:
        status = replay_delete(r, payload, e);
        break;
    case RECORD_FORGET:
        replay_forget(r);
        status = ST_OK;
        break;
    default:
        status = error_set(e, ST_CORRUPT, "a record of unknown type %u", type);
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
    if (r.points > 0)
        log_info("store", "took %llu points from the journal in %lld ms",
                 (unsigned long long)r.points,
                 (long long)(clock_monotonic_us() - from_us) / 1000);
    return ST_OK;
}
