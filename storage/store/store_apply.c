/* Applies records: those of the WAL in recovery, and points that other
 * processes send.
 *
 * A record of points names series by ids that one segment, or one connection,
 * defines.  What a record defines is learnt also where its points are not
 * taken, since those behind it count on it.  An id without a definition is of a
 * record that was lost: its points are skipped, and counted.
 *
 * Recovery applies the WAL's records to head and engine, in their order.  What
 * was flushed already is written over with the same, and changes nothing.
 *
 * The same for some buckets of a dead owner's WAL.  A bucket may have moved
 * away from that owner and come back: what it logged in an earlier ownership is
 * in the engine, and older than what others wrote there since.  So records
 * carry the epoch of their bucket, and only those of the last one count. */
#include <stdlib.h>

#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "storage/store/store_put_priv.h"

#define MAX_IDS ((uint32_t)1 << 26) /* of a bucket, in a segment */

/* The ids of a connection count on from 0; what a peer says takes memory as
 * what it has defined does. */
#define LINK_GAP ((size_t)1 << 12)

/* The series of a bucket's ids; SERIES_REF_NONE when unknown. */
struct applier_bucket {
    series_ref *series;
    size_t len;
};

/* Records of points that are applied, of one WAL or one connection. */
struct applier {
    struct store_log log;
    struct applier_bucket *buckets; /* by salt bucket */
    uint64_t segment;               /* rows need the WAL from this one on */
    /* Others' points, to be logged, if the bucket is local; or else what a WAL
     * has, which is put into rows in any case. */
    bool logs;
    uint64_t points, skipped; /* skipped: their series is unknown */
    struct series_point put[HEAD_PUT_MAX]; /* that wait, of one bucket */
    size_t put_len;
};

static void
applier_init(struct applier *r, struct store *s)
{
    *r = (struct applier){ .log.s = s };
    r->buckets = mem_new_array(s->layout.salt_buckets, sizeof *r->buckets);
}

/* Ids begin anew. */
static void
applier_forget_ids(struct applier *r)
{
    for (size_t i = 0; i < r->log.s->layout.salt_buckets; i++) {
        free(r->buckets[i].series);
        r->buckets[i] = (struct applier_bucket){ 0 };
    }
}

static void
applier_fini(struct applier *r)
{
    applier_forget_ids(r);
    free(r->buckets);
}

/* Puts the points that wait.  The sender has checked its points against the
 * hourly values of that time; rows may have been dropped since, so this checks
 * again. */
static enum status
put_waiting(struct applier *r, unsigned bucket, struct error *e) NO_TS_CHECK
{
    struct store *s = r->log.s;
    struct put checked = { .log.s = s, .points = r->put };
    uint16_t order[HEAD_PUT_MAX];
    size_t taken, len = r->put_len;
    struct head_put put = {
        .bucket = bucket,
        .points = r->put,
        .order = order,
        .segment = r->segment,
        .now_s = store_now_s(),
        .log = r->logs && s->wal != NULL ? store_log_points : NULL,
        .is_replay = !r->logs,
        .ctx = r,
    };
    enum status st;

    do {
        int64_t cut_ms = 0;
        bool may_be_late = false;

        put.epoch = r->logs ? head_epoch(s->head) : 0;
        put.len = len;
        if (r->logs)
            cut_ms = atomic_load(&s->cuts.youngest_ms);
        for (size_t i = 0; i < len; i++) {
            order[i] = (uint16_t)i;
            may_be_late |= r->put[i].point.ts_ms < cut_ms;
        }
        if (r->logs && may_be_late) {
            lock_take(&s->late_lock);
            put.epoch = 0;
            put.len = store_put_check_late(&checked, order, len);
        }
        st = head_put(s->head, &put, &taken, e);
        if (r->logs && may_be_late)
            lock_drop(&s->late_lock);
    } while (st == ST_CONFLICT && r->logs);
    if (st == ST_OK && put.len != len)
        st = error_set(e, ST_CONFLICT,
                       "the raw points of some hours were dropped, and their "
                       "hourly values stay as they are");
    r->points += taken;
    r->put_len = 0;
    return st == ST_INVALID ? error_wrap(e, ST_CORRUPT, "a record of points")
                            : st;
}

/* What is to be done with a point that was read. */
static enum status
take_point(struct applier *r, const struct wal_points_reader *in, bool discards,
           struct error *e)
{
    struct store *s = r->log.s;
    const struct key_layout *layout = &s->layout;
    struct applier_bucket *m = &r->buckets[in->bucket];
    series_ref series;

    if (in->tsuid.size > 0) {
        if (!tsuid_is_valid(layout, in->tsuid) ||
            key_salt(layout, in->tsuid) != in->bucket ||
            in->state.id >= MAX_IDS ||
            (r->logs && in->state.id >= m->len + LINK_GAP))
            return error_set(e, ST_CORRUPT,
                             "a record of points with an id that is too large "
                             "or a TSUID of another salt bucket");
        if (in->state.id >= m->len) {
            size_t len = m->len == 0 ? 64 : m->len, from = m->len;

            while (len <= in->state.id)
                len *= 2;
            m->series = mem_resize(m->series, len, sizeof *m->series);
            for (m->len = len; from < len; from++)
                m->series[from] = SERIES_REF_NONE;
        }
        m->series[in->state.id] =
            head_series(s->head, in->tsuid, false, store_now_s());
    }
    series = in->state.id < m->len ? m->series[in->state.id] : SERIES_REF_NONE;
    if (discards)
        return ST_OK;
    if (series == SERIES_REF_NONE) {
        r->skipped++;
        return ST_OK;
    }
    r->put[r->put_len++] = (struct series_point){ series, in->point, ST_OK };
    return r->put_len < HEAD_PUT_MAX ? ST_OK : put_waiting(r, in->bucket, e);
}

/* With 'discards' only what the record defines is learnt.  A failure other than
 * ST_CORRUPT ends the record's points, but not what it defines. */
static enum status
applier_take(struct applier *r, struct slice payload, bool discards,
             struct error *e)
{
    struct wal_points_reader in;
    enum status first = ST_OK, st = ST_OK;

    wal_points_read(&in, payload);
    if (in.bucket >= r->log.s->layout.salt_buckets)
        return error_set(e, ST_CORRUPT, "points of salt bucket %u of %u",
                         in.bucket, (unsigned)r->log.s->layout.salt_buckets);
    while (st != ST_CORRUPT && wal_points_next(&in)) {
        struct error why;

        st = take_point(r, &in, discards || first != ST_OK, &why);
        if (st != ST_OK && (first == ST_OK || st == ST_CORRUPT))
            first = error_set(e, st, "%s", why.text);
    }
    if (in.c.failed)
        first = error_set(e, ST_CORRUPT, "a malformed record of points");
    st = put_waiting(r, in.bucket, first == ST_OK ? e : NULL);
    return first == ST_OK ? st : first;
}

/* -- sessions -------------------------------------------------------------- */

#define SESSION_MAGIC FOURCC('S', 'E', 'S', 'S')

struct store_session {
    uint32_t magic;
    struct applier applier;
};

struct store_session *
store_session_new(struct store *s)
{
    struct store_session *ss = mem_new(sizeof *ss);

    OBJ_CHECK(s, STORE_MAGIC);
    ss->magic = SESSION_MAGIC;
    applier_init(&ss->applier, s);
    ss->applier.logs = true;
    return ss;
}

void
store_session_free(struct store_session **ref)
{
    struct store_session *ss = OBJ_TAKE(ref, SESSION_MAGIC);

    if (ss == NULL)
        return;
    applier_fini(&ss->applier);
    OBJ_FREE(ss);
}

enum status
store_session_put(struct store_session *ss, struct slice record, uint64_t *lsn,
                  struct error *e)
{
    struct applier *r = &ss->applier;
    struct store *s = r->log.s;
    struct error why;
    enum status room, st;

    OBJ_CHECK(ss, SESSION_MAGIC);
    room = store_wait_for_room(s, 0, &why);
    if (room == ST_OK && s->wal != NULL)
        room = store_disk_failed(wal_wait_for_room(s->wal, &why), &why);
    r->points = r->skipped = 0;
    r->log.lsn = 0;
    r->segment = s->wal == NULL ? 0 : wal_segment_now(s->wal);
    st = applier_take(r, record, room != ST_OK, e);
    store_count_added(s, r->points);
    counter_add(CNT_POINTS_TAKEN, r->points);
    *lsn = r->log.lsn;
    if (st == ST_OK && room != ST_OK)
        st = error_set(e, room, "%s", why.text);
    /* Skipped, or forgotten since: the sender is to define its ids again. */
    if (st == ST_NOT_FOUND || (st == ST_OK && r->skipped > 0))
        st = error_set(e, ST_MOVED, "points of series that are not known");
    return st;
}

/* -- recovery -------------------------------------------------------------- */

struct replay {
    struct applier applier;
    uint64_t segment;                  /* of the last record */
    const struct bucket_claim *claims; /* NULL: it is this process's WAL */
    size_t len;
};

/* The claim on a bucket; NULL: it is not taken. */
static const struct bucket_claim *
claim_of(const struct replay *r, unsigned bucket)
{
    for (size_t i = 0; i < r->len; i++)
        if (r->claims[i].bucket == bucket)
            return &r->claims[i];
    return NULL;
}

static enum status
replay_delete(struct replay *r, uint64_t epoch, struct slice payload,
              struct error *e)
{
    struct store *s = r->applier.log.s;
    const struct bucket_claim *claim;
    struct slice tsuid;
    int64_t from_ms, to_ms;
    uint64_t deleted = 0, lsn = 0;
    enum status st;

    if (!record_read_delete(&s->layout, payload, &tsuid, &from_ms, &to_ms))
        return error_set(e, ST_CORRUPT, "a malformed record of a deletion");
    claim = claim_of(r, key_salt(&s->layout, tsuid));
    if (r->claims != NULL && (claim == NULL || epoch != claim->from_epoch))
        return ST_OK;
    lock_take(&s->flush_lock);
    st = store_apply_delete(s, tsuid, from_ms, to_ms, NULL, &deleted, &lsn, e);
    lock_drop(&s->flush_lock);
    /* The client had that answer; it must not keep the store from opening. */
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
    struct store *s = r->applier.log.s;
    const struct bucket_claim *claim;
    struct wal_points_reader in;
    struct kv_batch *b;
    uint64_t epoch = 0, number;
    enum status st = ST_OK;

    if (segment != r->segment)
        applier_forget_ids(&r->applier);
    r->segment = segment;
    if (r->claims == NULL)
        r->applier.segment = segment;
    if (type == RECORD_OWNED &&
        !record_read_owned(payload, &epoch, &type, &payload))
        return error_set(e, ST_CORRUPT, "a malformed record of an owner");
    switch (type) {
    case RECORD_POINTS:
        wal_points_read(&in, payload);
        claim = claim_of(r, in.bucket);
        /* Of another epoch it may still define ids of those behind it. */
        if (r->claims == NULL || claim != NULL)
            st = applier_take(&r->applier, payload,
                              claim != NULL && epoch != claim->from_epoch, e);
        break;
    case RECORD_BATCH:
        if (r->claims != NULL)
            break;
        b = kv_batch_new();
        lock_take(&s->write_lock);
        if (!record_read_batch(payload, b, &number))
            st = error_set(e, ST_CORRUPT, "a malformed record of a batch");
        else if (number == 0 || number > s->batches)
            st = kv_write(s->kv, b, e);
        if (st == ST_OK && number > s->batches)
            s->batches = number;
        lock_drop(&s->write_lock);
        kv_batch_free(&b);
        break;
    case RECORD_DELETE:
        st = replay_delete(r, epoch, payload, e);
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
replay_wal(struct replay *r, struct wal *wal, struct error *e)
{
    enum status st = wal_replay(wal, replay_record, r, e);

    applier_fini(&r->applier);
    if (st != ST_OK)
        return error_wrap(e, st, "cannot replay the WAL");
    if (r->applier.skipped > 0)
        log_warn("store",
                 "skipped %llu points of the WAL, whose series was defined "
                 "in a record that is lost",
                 (unsigned long long)r->applier.skipped);
    return ST_OK;
}

enum status
store_replay(struct store *s, struct error *e)
{
    struct replay r = { .segment = 0 };
    struct buf value = BUF_INIT;
    int64_t from_us = clock_monotonic_us();
    enum status st;

    if (s->wal == NULL)
        return ST_OK;
    st = kv_get(s->kv, record_batch_key(), &value, e);
    if (st == ST_OK && value.size != 8)
        st = error_set(e, ST_CORRUPT,
                       "the number of the newest batch has %zu bytes, not 8",
                       value.size);
    lock_take(&s->write_lock);
    if (st == ST_OK)
        s->batches = key_get_uint(value.data, 8);
    lock_drop(&s->write_lock);
    buf_fini(&value);
    if (st != ST_OK && st != ST_NOT_FOUND)
        return st;
    applier_init(&r.applier, s);
    st = replay_wal(&r, s->wal, e);
    s->replay_us = clock_monotonic_us() - from_us;
    if (st == ST_OK && r.applier.points > 0)
        log_info("store", "took %llu points from the WAL in %lld ms",
                 (unsigned long long)r.applier.points,
                 (long long)s->replay_us / 1000);
    return st;
}

enum status
store_replay_dead(struct store *s, const struct bucket_claim *claims,
                  size_t len, struct wal *dead, struct error *e)
{
    struct replay r = { .claims = claims, .len = len };
    enum status st;

    atomic_fetch_add(&s->replays, 1);
    applier_init(&r.applier, s);
    st = replay_wal(&r, dead, e);
    atomic_fetch_sub(&s->replays, 1);
    if (st == ST_OK)
        log_info("store",
                 "took %llu points of %zu salt buckets from the WAL of a "
                 "dead owner",
                 (unsigned long long)r.applier.points, len);
    return st;
}
