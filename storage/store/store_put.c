/* Series handles, and how a batch of points gets into the head and, as a record
 * (storage/wal/wal_points.h), into the WAL.  What differs in a store of several
 * owners is in store_forward.c. */
#include "storage/store/store_put_priv.h"

#include "base/process/counters.h"

#define DEFINE_EVERY 32 /* times their bytes TSUIDs are in the WAL again */
#define ROOM_WAIT_MS 100
#define ROOM_WAITS   50
#define BULK_POINTS  256 /* a put of so many waits before the head is full */

enum status
store_series(struct store *s, struct slice tsuid, bool is_new, series_ref *out,
             struct error *e)
{
    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    /* Where a bucket comes and goes, others may have written its rows. */
    *out =
        head_series(s->head, tsuid, is_new && s->remote == NULL, store_now_s());
    return ST_OK;
}

bool
store_has_series(struct store *s, struct slice tsuid, uint64_t *evictions)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return head_has_series(s->head, tsuid, evictions);
}

/* -- ids ------------------------------------------------------------------- */

void
store_forget_ids(struct wal_bucket *w)
{
    if (++w->epoch == 0)
        w->epoch = 1;
    w->defined_bytes = w->bytes = 0;
}

void
store_begin_ids(struct wal_bucket *w, struct id_range *ids, uint64_t of)
{
    if (ids->of != of) {
        *ids = (struct id_range){ .of = of };
        store_forget_ids(w);
    } else if (w->last != ids) {
        store_forget_ids(w);
    }
    w->last = ids;
}

struct slice
store_write_record(struct wal_bucket *w, struct id_range *range,
                   const struct head_put *p, struct head_log_id *const *ids)
{
    wal_points_begin(&w->writer, p->bucket);
    for (size_t i = 0; i < p->len; i++) {
        struct slice tsuid = { NULL, 0 }; /* empty: the id is known */

        if (ids[i] == NULL)
            continue;
        if (ids[i]->epoch != w->epoch) {
            *ids[i] = (struct head_log_id){ range->next++, w->epoch };
            tsuid = head_log_tsuid(ids[i]);
            w->defined_bytes += tsuid.size;
        }
        wal_points_add(&w->writer, ids[i]->id, tsuid,
                       &p->points[p->order[i]].point);
    }
    return wal_points_end(&w->writer);
}

/* -- local buckets --------------------------------------------------------- */

/* A record is of the segment that its ids are of; so it is written again when
 * another one begins before it is appended. */
enum status
store_log_points(void *ctx, const struct head_put *p,
                 struct head_log_id *const *ids, struct error *e)
{
    struct store_log *log = ctx;
    struct wal *wal = log->s->wal;
    struct wal_bucket *w = &log->s->wal_buckets[p->bucket];
    uint8_t type = log->s->remote == NULL ? RECORD_POINTS : RECORD_OWNED;
    struct error why;
    enum status st;

    do {
        uint64_t segment = wal_segment_now(wal);
        struct slice record;

        store_begin_ids(w, &w->ids, segment);
        if (w->bytes > DEFINE_EVERY * w->defined_bytes)
            store_forget_ids(w);
        record = store_write_record(w, &w->ids, p, ids);
        if (log->s->remote != NULL) { /* an heir knows it by the epoch */
            buf_clear(&w->owned_record);
            record_owned(&w->owned_record, w->owned, RECORD_POINTS);
            buf_put_slice(&w->owned_record, record);
            record = buf_slice(&w->owned_record);
        }
        st = w->writer.record.failed || w->owned_record.failed
                 ? error_set(&why, ST_BUSY, "no memory for a record")
                 : wal_append(wal, segment, type, record, &log->lsn, &why);
    } while (st == ST_NOT_FOUND);
    if (st == ST_OK) {
        w->bytes += w->writer.record.size;
        return ST_OK;
    }
    store_forget_ids(w);
    st = store_disk_failed(st, &why);
    return error_set(e, st, "%s", why.text);
}

/* -- a batch --------------------------------------------------------------- */

/* The points order[0..len) of one bucket.  False: 'epoch' is over; check them
 * again. */
static bool
put_checked(struct put *p, unsigned bucket, const uint16_t *order, size_t len,
            uint64_t epoch)
{
    struct store *s = p->log.s;
    bool logs = s->wal != NULL;
    struct head_put put = {
        .bucket = bucket,
        .points = p->points + p->at,
        .order = order,
        .len = len,
        /* A later one may have begun when the record is appended: then the
         * rows keep the WAL for longer than they need it. */
        .segment = logs ? wal_segment_now(s->wal) : 0,
        .now_s = p->now_s,
        .log = logs ? store_log_points : NULL,
        .epoch = epoch,
        .ctx = p,
    };
    bool first = store_put_is_first_failure(p);
    size_t taken;
    enum status status;

    do {
        if (p->others != NULL && store_put_elsewhere(p, &put))
            return true;
        status = head_put(s->head, &put, &taken, first ? p->e : NULL);
    } while (status == ST_MOVED); /* meanwhile */
    if (status == ST_CONFLICT)
        return false;
    p->taken += taken;
    if (first && status != ST_OK)
        p->status = status;
    return true;
}

static void
put_bucket(struct put *p, unsigned bucket, const uint16_t *order, size_t len)
{
    struct store *s = p->log.s;
    uint16_t young[HEAD_PUT_MAX];
    struct late_order late;

    /* There is no room here; the points of other owners need none. */
    if (p->room != ST_OK && store_bucket_state(s, bucket) == BUCKET_LOCAL) {
        for (size_t i = 0; i < len; i++)
            p->points[p->at + order[i]].status = p->room;
        p->status = p->room;
        return;
    }
    for (;;) {
        const uint16_t *checked = order;
        size_t n = len;
        /* Before what they are checked by. */
        uint64_t epoch = head_epoch(s->head);

        p->old_before_ms = store_old_before_ms(s, p->points + p->at, p->len);
        late.len = 0;
        if (p->old_before_ms > 0 && store_put_has_old(p, order, len)) {
            n = store_put_split_old(p, order, len, young, &late);
            checked = young;
        }
        if (n == 0 || put_checked(p, bucket, checked, n, epoch))
            break;
    }
    if (late.len == 0)
        return;
    /* While they are checked and put, no hour of theirs is dropped or counted.
     */
    lock_take(&p->log.s->late_lock);
    late.len = store_put_check_late(p, late.order, late.len);
    if (late.len > 0)
        (void)put_checked(p, bucket, late.order, late.len, 0);
    lock_drop(&p->log.s->late_lock);
}

/* Sorts each chunk by bucket (counting sort, stable), and puts the part of one
 * bucket after the other. */
void
store_put_chunks(struct put *p, size_t len)
{
    struct store *s = p->log.s;
    size_t buckets = s->layout.salt_buckets;

    for (p->at = 0; p->at < len; p->at += p->len) {
        struct series_point *points = p->points + p->at;
        uint16_t starts[257] = { 0 }, order[HEAD_PUT_MAX], fill[256];

        p->len = len - p->at < HEAD_PUT_MAX ? len - p->at : HEAD_PUT_MAX;
        /* No bucket is locked here: queries go on while the disk is slow. */
        if (s->wal != NULL && p->room == ST_OK)
            p->room = store_disk_failed(wal_wait_for_room(s->wal, p->e), p->e);
        for (size_t i = 0; i < p->len; i++) {
            unsigned bucket = series_ref_bucket(points[i].series);

            if (bucket >= buckets) {
                bucket =
                    0; /* the head finds out that there is no such series */
                points[i].series = SERIES_REF_NONE;
            }
            starts[bucket + 1]++;
        }
        for (size_t i = 0; i < buckets; i++) {
            starts[i + 1] = (uint16_t)(starts[i + 1] + starts[i]);
            fill[i] = starts[i];
        }
        for (size_t i = 0; i < p->len; i++)
            order[fill[series_ref_bucket(points[i].series)]++] = (uint16_t)i;
        for (size_t i = 0; i < buckets; i++)
            if (starts[i + 1] > starts[i])
                put_bucket(p, (unsigned)i, order + starts[i],
                           (size_t)(starts[i + 1] - starts[i]));
    }
}

enum status
store_wait_for_room(struct store *s, size_t points, struct error *e)
{
    size_t most = s->options.head_bytes;
    enum status status = ST_OK;

    if (store_may_write(s, e) != ST_OK)
        return ST_IO;
    if (points >= BULK_POINTS)
        most = most / 8 * 7;
    if (head_bytes(s->head) <= most)
        return ST_OK;
    lock_take(&s->wake_lock);
    for (int i = 0; head_bytes(s->head) > most; i++) {
        if (i == ROOM_WAITS) {
            status = error_set(e, ST_BUSY,
                               "Please throttle writes: the head "
                               "is full, flushing is behind");
            break;
        }
        s->flush_requested = true;
        cond_signal(&s->wake);
        cond_wait_ms(&s->room, &s->wake_lock, ROOM_WAIT_MS);
        if (s->flush_error.status != ST_OK) {
            status = error_set(e, ST_BUSY, "cannot make room: %s",
                               s->flush_error.text);
            break;
        }
    }
    lock_drop(&s->wake_lock);
    return status;
}

enum status
store_put(struct store *s, struct series_point *points, size_t len,
          uint64_t *lsn, struct error *e)
{
    struct put p = {
        .log.s = s,
        .points = points,
        .e = e,
        .now_s = store_now_s(),
    };

    OBJ_CHECK(s, STORE_MAGIC);
    p.room = store_wait_for_room(s, len, e);
    if (s->remote == NULL)
        store_put_chunks(&p, len);
    else
        store_put_to_owners(&p, len);
    store_count_added(s, p.taken);
    if (lsn != NULL)
        *lsn = p.log.lsn;
    return p.status;
}

void
store_count_added(struct store *s, size_t points)
{
    atomic_fetch_add(&s->points_added, points);
    counter_add(CNT_POINTS_ADDED, points);
}

bool
store_is_quick(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return !atomic_load(&s->rejecting) && s->remote == NULL &&
           s->options.sync != WAL_SYNC_ALWAYS &&
           head_bytes(s->head) < s->options.head_bytes / 4 * 3;
}

enum status
store_commit(struct store *s, uint64_t lsn, bool sync, struct error *e)
{
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    if (s->wal == NULL)
        return ST_OK;
    status = wal_commit(s->wal, lsn, sync, e);
    if (status == ST_OK)
        status = store_owns(s, e);
    return store_disk_failed(status, e);
}
