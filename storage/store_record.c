/*
 * The journal's records: how points, batches and deletions are written down,
 * and how they are applied again after a crash (docs/FORMAT.md, "Journal
 * records").
 *
 *     points:  <bucket:1> entry...
 *     entry:   varint (index << 2 | defines << 1 | double)
 *              [defines: varint size, TSUID]
 *              zig-zag varint: time - time of the entry before, ms
 *              a zig-zag varint, or the 8 bytes of a double
 *     batch:   ( 1 varint size, key, varint size, value | 0 varint size, key
 * )... delete:  varint size, TSUID, zig-zag from_ms, zig-zag to_ms
 *
 * An index is short for a series, within one run of the server.  Each segment
 * defines a series at its first use in it; the one exception (a segment began
 * between the look at its number and the append) leans on the segment before,
 * which is kept as long as the row that caused it is open.  So on replay an
 * unknown index belongs to points that are sealed, and is passed over.
 */
#include "config.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/varint.h"
#include "storage/store_priv.h"

#define ENTRY_DOUBLE  1u
#define ENTRY_DEFINES 2u
#define ENTRY_MAX     (4 * VARINT_MAX) /* but for the TSUID */

void
record_points_start(struct buf *b, unsigned bucket)
{
    buf_put_u8(b, (uint8_t)bucket);
}

void
record_points_add(struct buf *b, struct head_series *s, uint64_t segment,
                  struct point p, int64_t *last_ts_ms)
{
    bool defines = s->defined_segment != segment;
    uint8_t *at = buf_reserve(b, ENTRY_MAX + (defines ? s->tsuid_size : 0));
    uint64_t bits;

    if (at == NULL)
        return;
    at =
        varint_put(at, (uint64_t)s->index << 2 | (defines ? ENTRY_DEFINES : 0) |
                           (p.is_float ? ENTRY_DOUBLE : 0));
    if (defines) {
        at = varint_put(at, s->tsuid_size);
        memcpy(at, s->tsuid, s->tsuid_size);
        at += s->tsuid_size;
        s->defined_segment = segment;
    }
    at = varint_put(at, varint_zigzag(p.ts_ms - *last_ts_ms));
    *last_ts_ms = p.ts_ms;
    if (p.is_float) {
        memcpy(&bits, &p.v.d, sizeof bits);
        for (unsigned i = 8; i-- > 0;)
            *at++ = (uint8_t)(bits >> (8 * i));
    } else {
        at = varint_put(at, varint_zigzag(p.v.i));
    }
    b->size = (size_t)(at - b->data);
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
record_delete(struct buf *b, struct slice tsuid, int64_t from_ms, int64_t to_ms)
{
    put_sized(b, tsuid);
    buf_put_zigzag(b, from_ms);
    buf_put_zigzag(b, to_ms);
}

/* -- replay ---------------------------------------------------------------- */

/* What the indexes of one bucket mean, so far. */
struct meaning {
    struct head_series **series;
    size_t len;
};

struct replay {
    struct store *s;
    struct meaning *buckets;
    uint64_t points, passed_over;
};

static struct slice
get_sized(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    return cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);
}

static bool
define(struct replay *r, struct head_bucket *b, struct meaning *m,
       uint64_t index, struct slice tsuid) REQUIRES(b->lock)
{
    if (!tsuid_is_valid(&r->s->shape, tsuid) ||
        head_bucket_of(&r->s->head, tsuid) != b || index > UINT32_MAX)
        return false;
    if (index >= m->len) {
        size_t len = m->len == 0 ? 64 : m->len;

        while (len <= index)
            len *= 2;
        m->series = mem_resize(m->series, len, sizeof(struct head_series *));
        memset(m->series + m->len, 0,
               (len - m->len) * sizeof(struct head_series *));
        m->len = len;
    }
    m->series[index] = head_series(&r->s->head, b, tsuid);
    return true;
}

static bool
replay_entry(struct replay *r, struct head_bucket *b, struct meaning *m,
             struct cursor *c, uint64_t segment, int64_t *ts_ms)
    REQUIRES(b->lock)
{
    uint64_t head = cursor_varint(c), index = head >> 2, bits;
    struct point p = { .is_float = (head & ENTRY_DOUBLE) != 0 };

    if ((head & ENTRY_DEFINES) != 0 && !define(r, b, m, index, get_sized(c)))
        return false;
    *ts_ms += cursor_zigzag(c);
    p.ts_ms = *ts_ms;
    if (p.is_float) {
        bits = cursor_u64(c);
        memcpy(&p.v.d, &bits, sizeof bits);
    } else {
        p.v.i = cursor_zigzag(c);
    }
    if (c->failed || p.ts_ms < 0 || p.ts_ms > POINT_MAX_TS_MS)
        return false;
    if (index >= m->len || m->series[index] == NULL) {
        r->passed_over++;
        return true;
    }
    r->points++;
    if (!head_append(&r->s->head, b, m->series[index], p, segment,
                     store_now_s()))
        return false;
    atomic_fetch_add(&r->s->head.points, 1);
    return true;
}

static enum status
replay_points(struct replay *r, uint64_t segment, struct slice payload,
              struct error *e)
{
    struct cursor c = cursor_of(payload);
    unsigned bucket = cursor_u8(&c);
    struct head_bucket *b;
    int64_t ts_ms = 0;
    bool good = true;

    if (c.failed || bucket >= r->s->head.buckets_len)
        return error_set(e, ST_CORRUPT, "points of no salt bucket");
    b = &r->s->head.buckets[bucket];
    lock_take(&b->lock);
    while (good && cursor_left(&c) > 0)
        good = replay_entry(r, b, &r->buckets[bucket], &c, segment, &ts_ms);
    lock_drop(&b->lock);
    return good ? ST_OK : error_set(e, ST_CORRUPT, "a record of points");
}

static enum status
replay_batch(struct replay *r, struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);
    struct kv_batch *b = kv_batch_new();
    enum status status;

    while (!c.failed && cursor_left(&c) > 0) {
        bool puts = cursor_u8(&c) != 0;
        struct slice key = get_sized(&c);

        if (puts) {
            struct slice value = get_sized(&c);

            if (!c.failed)
                kv_batch_put(b, key, value);
        } else if (!c.failed) {
            kv_batch_delete(b, key);
        }
    }
    status = c.failed ? error_set(e, ST_CORRUPT, "a record of a batch")
                      : kv_write(r->s->kv, b, false, e);
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
    case RECORD_POINTS:
        status = replay_points(r, segment, payload, e);
        break;
    case RECORD_BATCH:
        status = replay_batch(r, payload, e);
        break;
    case RECORD_DELETE:
        status = replay_delete(r, payload, e);
        break;
    default:
        status = error_set(e, ST_CORRUPT, "a record of unknown type %u", type);
        break;
    }
    if (status == ST_OK && atomic_load(&s->head.bytes) > s->options.head_bytes)
        status = store_seal_until(s, s->options.head_bytes / 2, e);
    return status;
}

enum status
store_replay(struct store *s, struct error *e)
{
    struct replay r = { .s = s };
    int64_t from_us = clock_monotonic_us();
    enum status status;

    if (s->journal == NULL)
        return ST_OK;
    r.buckets = mem_new_array(s->head.buckets_len, sizeof *r.buckets);
    status = journal_replay(s->journal, replay_record, &r, e);
    for (size_t i = 0; i < s->head.buckets_len; i++)
        free(r.buckets[i].series);
    free(r.buckets);
    if (status != ST_OK)
        return error_wrap(e, status, "cannot replay the journal");
    if (r.points > 0)
        log_info("store", "took %llu points from the journal in %lld ms",
                 (unsigned long long)r.points,
                 (long long)(clock_monotonic_us() - from_us) / 1000);
    return ST_OK;
}
