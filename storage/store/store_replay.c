/* Recovery: applies the WAL's records to head and engine, in their order.
 * What was flushed already is written over with the same, and changes nothing.
 *
 * A record names series by ids that one segment defines.  An id without a
 * definition is of a record that was lost with a damaged one: its points are
 * skipped, and counted. */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/store/store_priv.h"

#define MAX_IDS ((uint32_t)1 << 26) /* of a bucket, in a segment */

/* The series of a bucket's ids; SERIES_REF_NONE when unknown. */
struct replay_bucket {
    series_ref *series;
    size_t len;
};

struct replay {
    struct store *s;
    struct replay_bucket *buckets;
    uint64_t segment; /* whose ids these are */
    uint64_t points, skipped;
    struct series_point put[HEAD_PUT_MAX]; /* that wait, of one bucket */
    size_t put_len;
};

static void
forget_ids(struct replay *r)
{
    for (size_t i = 0; i < r->s->layout.salt_buckets; i++) {
        free(r->buckets[i].series);
        r->buckets[i] = (struct replay_bucket){ 0 };
    }
}

static void
define_id(struct replay_bucket *m, uint32_t id, series_ref series)
{
    size_t len = m->len == 0 ? 64 : m->len;

    while (len <= id)
        len *= 2;
    if (len > m->len) {
        m->series = mem_resize(m->series, len, sizeof *m->series);
        for (; m->len < len; m->len++)
            m->series[m->len] = SERIES_REF_NONE;
    }
    m->series[id] = series;
}

static enum status
put_waiting(struct replay *r, unsigned bucket, struct error *e)
{
    uint16_t order[HEAD_PUT_MAX];
    struct head_put put = {
        .bucket = bucket,
        .points = r->put,
        .order = order,
        .len = r->put_len,
        .segment = r->segment,
        .now_s = store_now_s(),
    };
    size_t taken;
    enum status st;

    for (size_t i = 0; i < r->put_len; i++)
        order[i] = (uint16_t)i;
    st = head_put(r->s->head, &put, &taken, e);
    r->points += taken;
    r->put_len = 0;
    return st == ST_INVALID ? error_wrap(e, ST_CORRUPT, "a record of points")
                            : st;
}

static enum status
take_point(struct replay *r, const struct wal_points_reader *in,
           struct error *e)
{
    const struct key_layout *layout = &r->s->layout;
    struct replay_bucket *m = &r->buckets[in->bucket];
    series_ref series;

    if (in->tsuid.size > 0) {
        if (!tsuid_is_valid(layout, in->tsuid) ||
            key_salt(layout, in->tsuid) != in->bucket ||
            in->state.id >= MAX_IDS)
            return error_set(e, ST_CORRUPT,
                             "a record of points with an id that is too large "
                             "or a TSUID of another salt bucket");
        define_id(m, in->state.id,
                  head_series(r->s->head, in->tsuid, false, store_now_s()));
    }
    series = in->state.id < m->len ? m->series[in->state.id] : SERIES_REF_NONE;
    if (series == SERIES_REF_NONE) {
        r->skipped++;
        return ST_OK;
    }
    r->put[r->put_len++] = (struct series_point){ series, in->point, ST_OK };
    return r->put_len < HEAD_PUT_MAX ? ST_OK : put_waiting(r, in->bucket, e);
}

static enum status
replay_points(struct replay *r, struct slice payload, struct error *e)
{
    struct wal_points_reader in;
    enum status st = ST_OK, put;

    wal_points_read(&in, payload);
    if (in.bucket >= r->s->layout.salt_buckets)
        return error_set(e, ST_CORRUPT, "points of salt bucket %u of %u",
                         in.bucket, (unsigned)r->s->layout.salt_buckets);
    while (st == ST_OK && wal_points_next(&in))
        st = take_point(r, &in, e);
    put = put_waiting(r, in.bucket, st == ST_OK ? e : NULL);
    if (st == ST_OK)
        st = put;
    if (st == ST_OK && in.c.failed)
        st = error_set(e, ST_CORRUPT, "a malformed record of points");
    return st;
}

static enum status
replay_batch(struct store *s, struct slice payload, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint64_t number;
    enum status st = ST_OK;

    lock_take(&s->write_lock);
    if (!record_read_batch(payload, b, &number))
        st = error_set(e, ST_CORRUPT, "a malformed record of a batch");
    else if (number == 0 || number > s->batches)
        st = kv_write(s->kv, b, e);
    if (st == ST_OK && number > s->batches)
        s->batches = number;
    lock_drop(&s->write_lock);
    kv_batch_free(&b);
    return st;
}

static enum status
replay_delete(struct store *s, struct slice payload, struct error *e)
{
    struct slice tsuid;
    int64_t from_ms, to_ms;
    uint64_t deleted = 0, lsn = 0;
    enum status st;

    if (!record_read_delete(&s->layout, payload, &tsuid, &from_ms, &to_ms))
        return error_set(e, ST_CORRUPT, "a malformed record of a deletion");
    lock_take(&s->flush_lock);
    st = store_apply_delete(s, tsuid, from_ms, to_ms, NULL, &deleted, &lsn, e);
    lock_drop(&s->flush_lock);
    /* The client was told so; it must not keep the store from opening. */
    if (st == ST_CORRUPT) {
        log_error("store", "replay: a deletion skips a damaged row: %s",
                  e->text);
        st = ST_OK;
    }
    return st;
}

static enum status
replay_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
              struct error *e)
{
    struct replay *r = ctx;
    struct store *s = r->s;
    enum status st;

    if (segment != r->segment)
        forget_ids(r);
    r->segment = segment;
    switch (type) {
    case RECORD_POINTS:
        st = replay_points(r, payload, e);
        break;
    case RECORD_BATCH:
        st = replay_batch(s, payload, e);
        break;
    case RECORD_DELETE:
        st = replay_delete(s, payload, e);
        break;
    default:
        st = error_set(e, ST_CORRUPT, "a record of unknown type %u", type);
        break;
    }
    if (st == ST_OK && head_bytes(s->head) > s->options.head_bytes)
        st = store_flush_until(s, s->options.head_bytes / 2, e);
    return st;
}

static enum status
find_newest_batch(struct store *s, struct error *e)
{
    struct buf value = BUF_INIT;
    enum status st = kv_get(s->kv, record_batch_key(), &value, e);

    if (st == ST_OK && value.size != 8)
        st = error_set(e, ST_CORRUPT,
                       "the number of the newest batch has %zu "
                       "bytes, not 8",
                       value.size);
    lock_take(&s->write_lock);
    if (st == ST_OK)
        s->batches = key_get_uint(value.data, 8);
    lock_drop(&s->write_lock);
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

enum status
store_replay(struct store *s, struct error *e)
{
    struct replay r = { .s = s };
    int64_t from_us = clock_monotonic_us();
    enum status st;

    if (s->wal == NULL)
        return ST_OK;
    st = find_newest_batch(s, e);
    if (st != ST_OK)
        return st;
    r.buckets = mem_new_array(s->layout.salt_buckets, sizeof *r.buckets);
    st = wal_replay(s->wal, replay_record, &r, e);
    s->replay_us = clock_monotonic_us() - from_us;
    forget_ids(&r);
    free(r.buckets);
    if (st != ST_OK)
        return error_wrap(e, st, "cannot replay the WAL");
    if (r.skipped > 0)
        log_warn("store",
                 "skipped %llu points of the WAL, whose series was defined "
                 "in a record that is lost",
                 (unsigned long long)r.skipped);
    if (r.points > 0)
        log_info("store", "took %llu points from the WAL in %lld ms",
                 (unsigned long long)r.points, (long long)s->replay_us / 1000);
    return ST_OK;
}
