/*
 * The store's front: open and close, series handles, and the way of a batch of
 * points into head and WAL.
 */
#include "config.h"

#include "storage/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/counters.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/durable.h"
#include "storage/store/format.h"
#include "storage/store/store_priv.h"

#define MB           ((size_t)1 << 20)
#define POINTS_CHUNK 1024 /* points that are sorted by bucket at a time */
#define DEFINE_EVERY 32   /* times their bytes TSUIDs are in the WAL again */
#define PREFETCHED   64   /* points whose rows are fetched at a time */

/* A series_ref: bucket in the top byte, generation in 24 bits, index in 32. */
#define GENERATION_BITS 24

uint32_t
store_now_s(void)
{
    return (uint32_t)(clock_monotonic_us() / 1000000) + 1;
}

/* -- open and close -------------------------------------------------------- */

static void
fill_defaults(struct store_options *o)
{
    if (o->sync_interval_ms == 0)
        o->sync_interval_ms = 1000;
    if (o->head_bytes == 0)
        o->head_bytes = 192 * MB;
    if (o->head_series == 0)
        o->head_series = 4000000;
    if (o->wal_bytes == 0)
        o->wal_bytes = 512 * MB;
    if (o->wal_segment_bytes == 0)
        o->wal_segment_bytes = 64 * MB;
    if (o->flush_delay_ms == 0)
        o->flush_delay_ms = 60000;
    if (o->min_free_bytes == 0)
        o->min_free_bytes = 64 * MB;
    if (o->clock == NULL)
        o->clock = &clock_system;
}

/* True when nothing but what an earlier, unfinished creation made lies there.
 */
static enum status
check_may_create(const char *dir, struct error *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    enum status status = ST_OK;

    if (d == NULL)
        return error_set(e, ST_IO, "%s: %s", dir, strerror(errno));
    while (status == ST_OK && (entry = readdir(d)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            strcmp(name, "LOCK") != 0 && strcmp(name, "FORMAT.1.tmp") != 0)
            status = error_set(
                e, ST_INVALID,
                "%s holds \"%s\" but no FORMAT file: this is no Halite "
                "folder, or a damaged one",
                dir, name);
    }
    (void)closedir(d);
    return status;
}

static enum status
open_format(struct store *s, struct format *f, struct error *e)
{
    enum status status = format_read(s->dir, f, e);

    if (status == ST_NOT_FOUND) {
        status = check_may_create(s->dir, e);
        if (status != ST_OK)
            return status;
        log_info("store", "making a new store in %s", s->dir);
        format_new(f, &s->options.layout);
        status = format_write(s->dir, f, e);
    } else if (status == ST_OK && f->damaged && f->complete) {
        log_warn("store",
                 "%s: FORMAT or its copy FORMAT.1 is damaged: both are "
                 "written again from the one that checks",
                 s->dir);
        status = format_write(s->dir, f, e);
    }
    if (status == ST_OK)
        s->layout = f->layout;
    return status;
}

static enum status
open_engine(struct store *s, struct format *f, struct error *e)
{
    char engine[4096], wal[4096];
    struct kv_options ko = {
        .dir = engine,
        .create = !f->complete,
        .write_buffer_bytes = s->options.engine_write_buffer_bytes,
        .cache_bytes = s->options.engine_cache_bytes,
    };
    struct wal_options jo = {
        .dir = wal,
        .sync = s->options.sync,
        .interval_ms = s->options.sync_interval_ms,
        .segment_bytes = s->options.wal_segment_bytes,
    };
    enum status status;

    if (snprintf(engine, sizeof engine, "%s/engine", s->dir) >=
            (int)sizeof engine ||
        snprintf(wal, sizeof wal, "%s/journal", s->dir) >= (int)sizeof wal)
        return error_set(e, ST_INVALID, "%s: the path is too long", s->dir);
    status = kv_open(&ko, &s->kv, e);
    if (status == ST_OK)
        status = wal_open(&jo, &s->wal, e);
    if (status == ST_OK && !f->complete) {
        f->complete = true;
        status = format_write(s->dir, f, e);
    }
    return status;
}

/* Before LOCK is made: nothing is written into a folder that is no store. */
static enum status
check_is_ours(const char *dir, struct error *e)
{
    struct format f;

    return format_read(dir, &f, NULL) == ST_NOT_FOUND ? check_may_create(dir, e)
                                                      : ST_OK;
}

static enum status
open_files(struct store *s, struct error *e)
{
    struct format f;
    enum status status = files_make_dir(s->dir, e);

    if (status == ST_OK)
        status = check_is_ours(s->dir, e);
    if (status == ST_OK)
        status = format_lock(s->dir, &s->lock_fd, e);
    if (status == ST_OK)
        status = open_format(s, &f, e);
    if (status == ST_OK)
        status = open_engine(s, &f, e);
    return status;
}

static void
destroy(struct store *s)
{
    struct error e;

    if (s->wal != NULL && wal_close(&s->wal, &e) != ST_OK)
        log_error("store", "closing the WAL: %s", e.text);
    kv_close(&s->kv);
    format_unlock(&s->lock_fd);
    for (size_t i = 0; s->wal_buckets != NULL && i < s->head.buckets_len; i++)
        wal_points_fini(&s->wal_buckets[i].writer);
    free(s->wal_buckets);
    if (s->head.buckets != NULL)
        head_fini(&s->head);
    cond_fini(&s->wake);
    cond_fini(&s->room);
    lock_fini(&s->wake_lock);
    lock_fini(&s->write_lock);
    lock_fini(&s->flush_lock);
    free(s->dir);
    OBJ_CLEAR(s);
    free(s);
}

enum status
store_open(const struct store_options *o, struct store **out, struct error *e)
{
    struct store *s = mem_new(sizeof *s);
    enum status status;

    *out = NULL;
    s->magic = STORE_MAGIC;
    s->options = *o;
    fill_defaults(&s->options);
    s->lock_fd = -1;
    lock_init(&s->flush_lock);
    lock_init(&s->write_lock);
    lock_init(&s->wake_lock);
    cond_init(&s->wake);
    cond_init(&s->room);
    if (!key_layout_is_valid(&o->layout)) {
        status = error_set(e, ST_INVALID,
                           "salt and UID widths: 0 or 1 salt bytes of at most "
                           "256 buckets, 1 to 8 bytes for each id; 1, 2, 3, "
                           "4, 6, 8, 12 or 24 hours in a row");
    } else if (o->dir == NULL) {
        s->layout = o->layout;
        status = kv_open(&(struct kv_options){ 0 }, &s->kv, e);
    } else {
        s->dir = mem_strdup(o->dir);
        status = open_files(s, e);
    }
    if (status == ST_OK) {
        head_init(&s->head, &s->layout);
        if (s->wal != NULL)
            s->wal_buckets =
                mem_new_array(s->head.buckets_len, sizeof *s->wal_buckets);
        status = store_replay(s, e);
    }
    if (status == ST_OK)
        status = store_flusher_start(s, e);
    if (status != ST_OK) {
        destroy(s);
        return status;
    }
    *out = s;
    return ST_OK;
}

enum status
store_close(struct store **sp, struct error *e)
{
    struct store *s = *sp;
    enum status status;

    *sp = NULL;
    if (s == NULL)
        return ST_OK;
    OBJ_CHECK(s, STORE_MAGIC);
    store_flusher_stop(s);
    crash_point("close-begun");
    status = store_flush(s, e);
    crash_point("close-flushed");
    kv_settle(s->kv, 0);
    crash_point("close-settled");
    if (s->wal != NULL) {
        struct error close_error;
        enum status closed = wal_close(&s->wal, &close_error);

        if (status == ST_OK && closed != ST_OK)
            status = error_set(e, closed, "%s", close_error.text);
    }
    destroy(s);
    return status;
}

void
store_announce(struct store *s, const char *address)
{
    OBJ_CHECK(s, STORE_MAGIC);
    if (s->lock_fd >= 0)
        format_lock_note(s->lock_fd, address);
}

const struct key_layout *
store_layout(const struct store *s)
{
    return &s->layout;
}

struct kv *
store_kv(struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->kv;
}

/* The disk's fault, which may pass: the client is to try again. */
static enum status
disk_failed(enum status status, struct error *e)
{
    return status == ST_IO ? error_wrap(e, ST_BUSY, "not acknowledged")
                           : status;
}

/* -- other tables ---------------------------------------------------------- */

/* The write lock is held across WAL and engine, so that both see batches
 * in one order and the flusher never trims a batch that the engine lacks.  The
 * batch's number is in it for that time. */
static enum status
write_both(struct store *s, struct kv_batch *b, struct buf *record,
           uint64_t *lsn, struct error *e)
{
    struct kv_batch_mark mark = kv_batch_mark(b);
    enum status status;

    *lsn = 0;
    lock_take(&s->write_lock);
    record_batch_number(record, b, s->batches + 1);
    /* What the engine rejects must not come back from the WAL. */
    status = kv_batch_check(b, e);
    if (status == ST_OK && record->failed)
        status = error_set(e, ST_BUSY, "no memory for a batch");
    if (status == ST_OK)
        status = wal_append(s->wal, RECORD_BATCH, buf_slice(record), lsn, e);
    if (status == ST_OK)
        s->batches++;
    status = disk_failed(status, e);
    crash_point("batch-logged");
    if (status == ST_OK)
        status = kv_gather(s->kv, b, e);
    crash_point("batch-written");
    lock_drop(&s->write_lock);
    kv_batch_rewind(b, mark);
    return status;
}

enum status
store_write(struct store *s, struct kv_batch *b, uint64_t *lsn, struct error *e)
{
    struct buf record = BUF_INIT;
    uint64_t unused;
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    if (store_may_write(s, e) != ST_OK)
        return ST_BUSY;
    if (lsn == NULL)
        lsn = &unused;
    *lsn = 0;
    if (s->wal == NULL)
        return kv_write(s->kv, b, false, e);
    record_batch(&record, b);
    status = write_both(s, b, &record, lsn, e);
    buf_fini(&record);
    return status;
}

/* -- points ---------------------------------------------------------------- */

static series_ref
ref_of(unsigned bucket, const struct head_series *s)
{
    return (uint64_t)bucket << 56 |
           (uint64_t)(s->generation & ((1u << GENERATION_BITS) - 1)) << 32 |
           s->index;
}

static struct head_series *
series_of(const struct head_bucket *b, series_ref ref) REQUIRES(b->lock)
{
    uint32_t index = (uint32_t)ref;
    uint32_t mask = (1u << GENERATION_BITS) - 1;
    uint32_t generation = (uint32_t)(ref >> 32) & mask;

    if (index >= b->series_len ||
        (b->generations[index] & mask) != generation || generation == 0)
        return NULL;
    return b->series[index];
}

static enum status
get_series(struct store *s, struct slice tsuid, bool rowless, series_ref *out,
           struct error *e)
{
    unsigned bucket;
    struct head_bucket *b;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    bucket = key_salt(&s->layout, tsuid);
    b = &s->head.buckets[bucket];
    lock_take(&b->lock);
    {
        size_t before = b->series_live;
        struct head_series *found = head_series(&s->head, b, tsuid);

        if (b->series_live > before)
            found->rowless = rowless;
        found->touched_s = store_now_s();
        /* A generation of 0 in a reference would mean none at all. */
        if ((found->generation & ((1u << GENERATION_BITS) - 1)) == 0)
            found->generation = ++b->generations[found->index];
        *out = ref_of(bucket, found);
    }
    lock_drop(&b->lock);
    return ST_OK;
}

enum status
store_series(struct store *s, struct slice tsuid, series_ref *out,
             struct error *e)
{
    return get_series(s, tsuid, false, out, e);
}

enum status
store_series_new(struct store *s, struct slice tsuid, series_ref *out,
                 struct error *e)
{
    return get_series(s, tsuid, true, out, e);
}

bool
store_has_series(struct store *s, struct slice tsuid, bool *all)
{
    struct head_bucket *b = &s->head.buckets[key_salt(&s->layout, tsuid)];
    bool has;

    OBJ_CHECK(s, STORE_MAGIC);
    lock_take(&b->lock);
    has = head_find(&s->head, b, tsuid) != NULL;
    *all = !atomic_load(&s->series_evicted);
    lock_drop(&b->lock);
    return has;
}

/* What is true of a whole call of store_put(). */
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
    struct head_series *series = series_of(b, x->series);

    if (series == NULL) {
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

        if (index < b->series_len) {
            __builtin_prefetch(&b->series[index]);
            __builtin_prefetch(&b->generations[index]);
        }
    }
    for (size_t i = 0; i < len; i++) {
        series[i] = series_of(b, points[order[i]].series);
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

/* A record of the points that were taken, for this segment. */
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
                 : wal_append_now(p->s->wal, p->segment, RECORD_POINTS, record,
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
    status = disk_failed(status, p->e);
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
            room = disk_failed(wal_wait_for_room(s->wal, e), e);
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
    return disk_failed(status, e);
}

struct store_counts
store_counts(struct store *s)
{
    struct store_counts c = {
        .points_added = atomic_load(&s->points_added),
        .head_series = atomic_load(&s->head.series),
        .head_rows = atomic_load(&s->head.rows),
        .head_points = atomic_load(&s->head.points),
        .head_bytes = atomic_load(&s->head.bytes),
        .rows_flushed = atomic_load(&s->rows_flushed),
        .rows_merged = atomic_load(&s->rows_merged),
        .rows_rewritten = atomic_load(&s->rows_rewritten),
        .rows_quarantined = atomic_load(&s->rows_quarantined),
        .rows_unreadable = atomic_load(&s->rows_unreadable),
    };

    OBJ_CHECK(s, STORE_MAGIC);
    if (s->wal != NULL)
        c.wal = wal_counts(s->wal);
    return c;
}
