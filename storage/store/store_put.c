/* Points: series handles, and how a batch gets into head and WAL. */
#include "storage/store/store_priv.h"

#include "base/counters.h"

#define DEFINE_EVERY 32 /* times their bytes TSUIDs are in the WAL again */

enum status
store_series(struct store *s, struct slice tsuid, bool is_new, series_ref *out,
             struct error *e)
{
    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    *out = head_series(s->head, tsuid, is_new, store_now_s());
    return ST_OK;
}

bool
store_has_series(struct store *s, struct slice tsuid, bool *all)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return head_has_series(s->head, tsuid, all);
}

struct put {
    struct store *s;
    uint32_t now_s;
    uint64_t lsn;
    size_t taken;
    enum status status; /* the first failure; ST_NOT_FOUND if no other */
    struct error *e;
};

/* The id of a series in the WAL's records; it is new when 'tsuid' is not
 * empty. */
static inline uint32_t
wal_id(struct wal_bucket *w, struct head_log_id *known, struct slice *tsuid)
{
    *tsuid = (struct slice){ NULL, 0 };
    if (known->epoch != w->epoch) {
        *known = (struct head_log_id){ w->next_id++, w->epoch };
        *tsuid = head_log_tsuid(known);
        w->defined_bytes += tsuid->size;
    }
    return known->id;
}

/* From here on each series is defined again: a segment begins, a record that
 * defined some was not appended, or they were defined long ago.  An id is never
 * used twice in a segment. */
static void
wal_forget_ids(struct wal_bucket *w)
{
    if (++w->epoch == 0)
        w->epoch = 1;
    w->defined_bytes = w->bytes = 0;
}

static struct slice
write_record(struct wal_bucket *w, uint64_t segment, const struct head_put *p,
             struct head_log_id *const *ids)
{
    if (w->segment != segment) {
        w->segment = segment;
        w->next_id = 0;
        wal_forget_ids(w);
    } else if (w->bytes > DEFINE_EVERY * w->defined_bytes) {
        wal_forget_ids(w);
    }
    wal_points_begin(&w->writer, p->bucket);
    for (size_t i = 0; i < p->len; i++) {
        struct slice tsuid;
        uint32_t id;

        if (ids[i] == NULL)
            continue;
        id = wal_id(w, ids[i], &tsuid);
        wal_points_add(&w->writer, id, tsuid, &p->points[p->order[i]].point);
    }
    return wal_points_end(&w->writer);
}

/* Called by the head, under the bucket's lock: so a replay sees the order that
 * queries saw.  A record is of the segment that its ids are of; so it is
 * written again when another one begins before it is appended. */
static enum status
log_points(void *ctx, const struct head_put *p, struct head_log_id *const *ids,
           struct error *e)
{
    struct put *put = ctx;
    struct wal *wal = put->s->wal;
    struct wal_bucket *w = &put->s->wal_buckets[p->bucket];
    struct error why;
    enum status st;

    do {
        uint64_t segment = wal_segment(wal);
        struct slice record = write_record(w, segment, p, ids);

        st = w->writer.record.failed
                 ? error_set(&why, ST_BUSY, "no memory for a record")
                 : wal_append(wal, segment, RECORD_POINTS, record, &put->lsn,
                              &why);
    } while (st == ST_NOT_FOUND);
    if (st == ST_OK) {
        w->bytes += w->writer.record.size;
        return ST_OK;
    }
    wal_forget_ids(w);
    st = store_disk_failed(st, &why);
    return error_set(e, st, "%s", why.text);
}

/* The points order[0..len) of one bucket. */
static void
put_bucket(struct put *p, unsigned bucket, struct series_point *points,
           const uint16_t *order, size_t len)
{
    bool logs = p->s->wal != NULL;
    struct head_put put = {
        .bucket = bucket,
        .points = points,
        .order = order,
        .len = len,
        /* A later one may have begun when the record is appended: then the
         * rows keep the WAL for longer than they need it. */
        .segment = logs ? wal_segment(p->s->wal) : 0,
        .now_s = p->now_s,
        .log = logs ? log_points : NULL,
        .ctx = p,
    };
    /* Points of a forgotten series are put again: other failures matter more.
     */
    bool first = p->status == ST_OK || p->status == ST_NOT_FOUND;
    size_t taken;
    enum status status =
        head_put(p->s->head, &put, &taken, first ? p->e : NULL);

    p->taken += taken;
    if (first && status != ST_OK)
        p->status = status;
}

/* Sorts a chunk by bucket (counting sort, stable) and hands over each bucket's
 * part. */
static void
put_chunk(struct put *p, struct series_point *points, size_t len)
{
    size_t buckets = p->s->layout.salt_buckets;
    uint16_t starts[257] = { 0 }, order[HEAD_PUT_MAX], fill[256];

    for (size_t i = 0; i < len; i++) {
        unsigned bucket = (unsigned)(points[i].series >> 56);

        if (bucket >= buckets) {
            bucket = 0; /* found out there: no such series */
            points[i].series = SERIES_REF_NONE;
        }
        starts[bucket + 1]++;
    }
    for (size_t i = 0; i < buckets; i++) {
        starts[i + 1] = (uint16_t)(starts[i + 1] + starts[i]);
        fill[i] = starts[i];
    }
    for (size_t i = 0; i < len; i++)
        order[fill[points[i].series >> 56]++] = (uint16_t)i;
    for (size_t i = 0; i < buckets; i++)
        if (starts[i + 1] > starts[i])
            put_bucket(p, (unsigned)i, points, order + starts[i],
                       (size_t)(starts[i + 1] - starts[i]));
}

enum status
store_put(struct store *s, struct series_point *points, size_t len,
          uint64_t *lsn, struct error *e)
{
    struct put p = { .s = s, .e = e, .now_s = store_now_s() };
    enum status room;
    size_t at = 0;

    OBJ_CHECK(s, STORE_MAGIC);
    room = store_wait_for_room(s, e);
    while (at < len && room == ST_OK) {
        size_t n = len - at < HEAD_PUT_MAX ? len - at : HEAD_PUT_MAX;

        /* No bucket is locked here: queries go on while the disk is slow. */
        if (s->wal != NULL)
            room = store_disk_failed(wal_wait_for_room(s->wal, e), e);
        if (room == ST_OK) {
            put_chunk(&p, points + at, n);
            at += n;
        }
    }
    if (room != ST_OK)
        p.status = room;
    for (; at < len; at++)
        points[at].status = room;
    atomic_fetch_add(&s->points_added, p.taken);
    counter_add(CNT_POINTS_ADDED, p.taken);
    if (lsn != NULL)
        *lsn = p.lsn;
    return p.status;
}

bool
store_is_quick(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return !atomic_load(&s->rejecting) && s->options.sync != WAL_SYNC_ALWAYS &&
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
    return store_disk_failed(status, e);
}
