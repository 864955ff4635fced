/* Points: series handles, and how a batch gets into head and WAL. */
#include "storage/store/store_priv.h"

#include <string.h>

#include "base/counters.h"
#include "base/crash.h"

#define POINTS_CHUNK 1024 /* points that are sorted by bucket at a time */
#define DEFINE_EVERY 32   /* times their bytes TSUIDs are in the WAL again */
#define PREFETCHED   64   /* points whose rows are fetched at a time */

/* A series_ref: bucket in the top byte, generation in 24 bits, index in 32. */
static series_ref
ref_of(unsigned bucket, const struct head_series *s)
{
    return (uint64_t)bucket << 56 | (uint64_t)s->generation << 32 | s->index;
}

/* What has its index: the series, another one by now, or NULL. */
static inline struct head_series *
series_at(const struct head_bucket *b, series_ref ref) REQUIRES(b->lock)
{
    return (uint32_t)ref < b->series_len ? b->series[(uint32_t)ref] : NULL;
}

enum status
store_series(struct store *s, struct slice tsuid, bool is_new, series_ref *out,
             struct error *e)
{
    unsigned bucket = key_salt(&s->layout, tsuid);
    struct head_bucket *b = &s->head.buckets[bucket];
    struct head_series *found;
    size_t before;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    lock_take(&b->lock);
    before = b->series_live;
    found = head_series(&s->head, b, tsuid);
    if (b->series_live > before)
        found->never_flushed = is_new;
    found->touched_s = store_now_s();
    *out = ref_of(bucket, found);
    lock_drop(&b->lock);
    return ST_OK;
}

bool
store_has_series(struct store *s, struct slice tsuid, bool *all)
{
    struct head_bucket *b = head_bucket_of(&s->head, tsuid);
    bool has;

    OBJ_CHECK(s, STORE_MAGIC);
    lock_take(&b->lock);
    has = head_find(&s->head, b, tsuid) != NULL;
    *all = !atomic_load(&s->series_evicted);
    lock_drop(&b->lock);
    return has;
}

struct put {
    struct store *s;
    uint64_t segment;
    uint32_t now_s;
    uint64_t lsn;
    size_t taken;
    enum status status; /* the first failure */
    struct error *e;
};

static void
put_failed(struct put *p, struct store_point *x, enum status status,
           const char *why)
{
    x->status = status;
    if (p->status == ST_OK)
        p->status = error_set(p->e, status, "%s", why);
}

static void
put_point(struct put *p, struct head_bucket *b, struct head_row *row,
          struct store_point *x) REQUIRES(b->lock)
{
    struct head_series *series = series_at(b, x->series);

    if (series == NULL ||
        series->generation != (x->series >> 32 & HEAD_GENERATION_MAX)) {
        put_failed(p, x, ST_NOT_FOUND, "the series was forgotten");
    } else if (x->point.ts_ms < 0 || x->point.ts_ms > POINT_MAX_TS_MS) {
        put_failed(p, x, ST_INVALID, "a time that no row can hold");
    } else if (!head_append(&p->s->head, b, series, row, x->point, p->segment,
                            p->now_s)) {
        put_failed(p, x, ST_BUSY, "no memory for a point");
    } else {
        x->status = ST_OK;
        p->taken++;
    }
}

/* What an append needs of it: one line, or two. */
static inline void
fetch_row(const struct head_row *r)
{
    __builtin_prefetch(r, 1);
    __builtin_prefetch((const uint8_t *)&r->series - 1, 1);
}

static inline void
fetch_end(const struct head_row *r)
{
    if (r != NULL)
        __builtin_prefetch(r->open.bytes + r->open.size, 1);
}

/* The rows of points that do not go to their series' newest row: the index
 * has them. */
static inline __attribute__((always_inline)) void
fetch_others(const struct head *h, const struct head_bucket *b,
             struct head_series *const *series, const uint32_t *bases,
             const uint8_t *others, size_t len, struct head_row **rows)
    REQUIRES(b->lock)
{
    for (size_t i = 0; i < len; i++) {
        size_t at = others[i];

        rows[at] = head_newest_row(h, b, series[at], bases[at]);
        if (rows[at] != NULL)
            fetch_row(rows[at]);
    }
    for (size_t i = 0; i < len; i++)
        fetch_end(rows[others[i]]);
}

/* Between a reference and the end of its open row lie five lines of memory,
 * each named by the one before, and of many series none is near.  So each pass
 * asks for one of them for all points, and the next finds it there.  'rows' are
 * those that are there.  Always inline: gcc takes a function that only fetches
 * for one without effects, and leaves out its calls. */
static inline __attribute__((always_inline)) void
fetch_rows(const struct head *h, const struct head_bucket *b,
           const struct store_point *points, const uint16_t *order, size_t len,
           struct head_row **rows) REQUIRES(b->lock)
{
    struct head_series *series[PREFETCHED];
    uint32_t bases[PREFETCHED];
    uint8_t others[PREFETCHED];
    size_t others_len = 0;

    for (size_t i = 0; i < len; i++) {
        uint32_t index = (uint32_t)points[order[i]].series;

        if (index < b->series_len)
            __builtin_prefetch(&b->series[index]);
    }
    for (size_t i = 0; i < len; i++) {
        series[i] = series_at(b, points[order[i]].series);
        if (series[i] != NULL)
            __builtin_prefetch(&series[i]->tsuid_size, 1);
        __builtin_prefetch(series[i], 1);
    }
    for (size_t i = 0; i < len; i++) {
        rows[i] = series[i] == NULL ? NULL : series[i]->rows;
        if (rows[i] != NULL)
            fetch_row(rows[i]);
    }
    for (size_t i = 0; i < len; i++) {
        struct head_row *r = rows[i];

        if (r == NULL)
            continue;
        bases[i] = hour_base(points[order[i]].point.ts_ms);
        if (r->open.base == bases[i]) {
            fetch_end(r);
            continue;
        }
        rows[i] = NULL;
        if (r->next != NULL) {
            others[others_len++] = (uint8_t)i;
            __builtin_prefetch(
                &b->index[head_home(h, b, series[i]->index, bases[i])]);
        }
    }
    fetch_others(h, b, series, bases, others, others_len, rows);
}

/* The id of a series in the WAL's records; it is new when 'tsuid' is not
 * empty. */
static inline uint32_t
wal_id(struct wal_bucket *w, struct head_series *s, struct slice *tsuid)
{
    *tsuid = (struct slice){ NULL, 0 };
    if (s->wal_epoch != w->epoch) {
        s->wal_epoch = w->epoch;
        s->wal_id = w->next_id++;
        *tsuid = head_tsuid(s);
        w->defined_bytes += s->tsuid_size;
    }
    return s->wal_id;
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
write_record(struct put *p, const struct head_bucket *b, unsigned bucket,
             const struct store_point *points, const uint16_t *order,
             size_t len) REQUIRES(b->lock)
{
    struct wal_bucket *w = &p->s->wal_buckets[bucket];

    if (w->segment != p->segment) {
        w->segment = p->segment;
        w->next_id = 0;
        wal_forget_ids(w);
    } else if (w->bytes > DEFINE_EVERY * w->defined_bytes) {
        wal_forget_ids(w);
    }
    wal_points_begin(&w->writer, bucket);
    for (size_t i = 0; i < len; i++) {
        const struct store_point *x = &points[order[i]];
        struct slice tsuid;
        uint32_t id;

        if (x->status != ST_OK)
            continue;
        id = wal_id(w, b->series[(uint32_t)x->series], &tsuid);
        wal_points_add(&w->writer, id, tsuid, &x->point);
    }
    return wal_points_end(&w->writer);
}

/* A record is of the segment that its ids are of; so it is written again when
 * another one begins before it is appended. */
static enum status
append_points(struct put *p, const struct head_bucket *b, unsigned bucket,
              const struct store_point *points, const uint16_t *order,
              size_t len) REQUIRES(b->lock)
{
    struct wal_bucket *w = &p->s->wal_buckets[bucket];
    enum status st;

    do {
        struct slice record = write_record(p, b, bucket, points, order, len);

        st = w->writer.record.failed
                 ? error_set(p->e, ST_BUSY, "no memory for a record")
                 : wal_append(p->s->wal, p->segment, RECORD_POINTS, record,
                              &p->lsn, p->e);
        if (st == ST_NOT_FOUND)
            p->segment = wal_segment(p->s->wal);
    } while (st == ST_NOT_FOUND);
    if (st != ST_OK)
        wal_forget_ids(w);
    else
        w->bytes += w->writer.record.size;
    return st;
}

/* The points order[0..len) of one bucket.  Head and WAL change under the
 * same lock, so a replay sees the order that queries saw. */
static void
put_bucket(struct put *p, unsigned bucket, struct store_point *points,
           const uint16_t *order, size_t len)
{
    struct head_bucket *b = &p->s->head.buckets[bucket];
    struct head_row *rows[PREFETCHED];
    size_t before = p->taken;
    enum status status = ST_OK;

    lock_take(&b->lock);
    if (p->s->wal != NULL)
        p->segment = wal_segment(p->s->wal);
    for (size_t i = 0; i < len; i++) {
        if (i % PREFETCHED == 0)
            fetch_rows(&p->s->head, b, points, order + i,
                       len - i < PREFETCHED ? len - i : PREFETCHED, rows);
        put_point(p, b, rows[i % PREFETCHED], &points[order[i]]);
    }
    if (p->s->wal != NULL && p->taken > before)
        status = append_points(p, b, bucket, points, order, len);
    /* Rejected or not, the rows hold them; and no row of them is dropped before
     * the lock is. */
    atomic_fetch_add(&p->s->head.points, p->taken - before);
    status = store_disk_failed(status, p->e);
    if (status != ST_OK) {
        p->taken = before;
        p->status = status;
        for (size_t i = 0; i < len; i++)
            points[order[i]].status = status;
    }
    lock_drop(&b->lock);
}

/* Sorts a chunk by bucket (counting sort, stable) and hands over each bucket's
 * part. */
static void
put_chunk(struct put *p, struct store_point *points, size_t len)
{
    size_t buckets = p->s->head.buckets_len;
    uint16_t starts[257] = { 0 }, order[POINTS_CHUNK], fill[256];

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
store_put(struct store *s, struct store_point *points, size_t len,
          uint64_t *lsn, struct error *e)
{
    struct put p = { .s = s, .e = e, .now_s = store_now_s() };
    enum status room;
    size_t at = 0;

    OBJ_CHECK(s, STORE_MAGIC);
    room = store_wait_for_room(s, e);
    while (at < len && room == ST_OK) {
        size_t n = len - at < POINTS_CHUNK ? len - at : POINTS_CHUNK;

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
           atomic_load(&s->head.bytes) < s->options.head_bytes / 4 * 3;
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
