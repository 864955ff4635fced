/* Dropping expired rows, under the flush lock: a flush writes a row again that
 * it has read before.  A batch is small, so that the flusher, and deletions,
 * wait for milliseconds. */
#include "storage/store/store_retention.h"

#include <time.h>

#include "storage/store/store_priv.h"

#define BATCH_ROWS  512
#define BATCH_BYTES ((uint64_t)1 << 20) /* read */

/* Of a bucket and metric, in a pass. */
#define WORTH_COMPACTING ((uint64_t)256 << 10)

/* Others may read a cut so much later than it is written; and so long after
 * this process knows it, rows may go. */
#define SHARED_READ_US   (INT64_C(30) * 1000000)
#define SHARED_SETTLE_US (INT64_C(120) * 1000000)

/* -- cuts ------------------------------------------------------------------ */

static int64_t
settles_us(const struct store *s)
{
    return kv_traits(s->kv)->shared ? clock_monotonic_us() + SHARED_SETTLE_US
                                    : 0;
}

enum status
store_cuts_read(struct store *s, struct error *e)
{
    return cuts_read(&s->cuts, &s->layout, s->kv, settles_us(s), e);
}

int64_t
store_cut_ms(struct store *s, uint64_t metric)
{
    OBJ_CHECK(s, STORE_MAGIC);
    /* What cannot be read now is read by a later one: this is asked by queries,
     * which then fail by themselves. */
    if (kv_traits(s->kv)->shared &&
        clock_monotonic_us() - atomic_load(&s->cuts.read_us) > SHARED_READ_US)
        (void)(store_cuts_read(s, NULL) == ST_OK);
    return (int64_t)cuts_get(&s->cuts, metric) * 1000;
}

int64_t
store_cut_floor(const struct store *s, int64_t time_ms)
{
    int64_t s_max = UINT32_MAX;
    int64_t time_s = time_ms / 1000;

    if (time_ms <= 0)
        return 0;
    return (int64_t)key_span_base(&s->layout,
                                  (uint32_t)(time_s < s_max ? time_s : s_max)) *
           1000;
}

enum status
store_cuts_set(struct store *s, const struct store_cut *cuts, size_t len,
               struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[CUTS_KEY_MAX], value[4];
    uint64_t lsn = 0;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    for (size_t i = 0; i < len; i++) {
        INSIST(cuts[i].cut_ms == store_cut_floor(s, cuts[i].cut_ms));
        if (cuts[i].cut_ms <= store_cut_ms(s, cuts[i].metric))
            continue;
        key_put_uint(value, (uint64_t)cuts[i].cut_ms / 1000, sizeof value);
        kv_batch_put(b,
                     slice_of(key, cuts_key(&s->layout, cuts[i].metric, key)),
                     slice_of(value, sizeof value));
    }
    if (kv_batch_len(b) > 0)
        st = store_write(s, b, &lsn, e);
    if (st == ST_OK && lsn != 0)
        st = store_commit(s, lsn, true, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        cuts_raise(&s->cuts, cuts[i].metric, (uint32_t)(cuts[i].cut_ms / 1000),
                   settles_us(s));
    kv_batch_free(&b);
    return st;
}

/* -- rows ------------------------------------------------------------------ */

struct dropping {
    struct store *s;
    struct store_drop *d;
    uint8_t table; /* rows, and then weeks */
    unsigned bucket;
    uint32_t end;     /* of the spans that go; one begins at it */
    struct buf from;  /* the key where the next batch begins */
    size_t head_size; /* of a key: table, salt, metric */
    struct kv_batch *batch;
    struct store_dropped in_batch;
};

/* The key behind the rows that go. */
static struct slice
end_key(const struct dropping *x, uint8_t out[ROW_KEY_MAX])
{
    memcpy(out, x->from.data, x->head_size);
    key_put_uint(out + x->head_size, x->end, 4);
    return slice_of(out, x->head_size + 4);
}

static uint64_t
points_of(const struct dropping *x, uint32_t base, struct slice value)
{
    struct row_hours hours;
    struct slice block;
    struct summary s;
    uint64_t points = 0;

    if (row_hours_begin(&x->s->layout, base, value, &hours, NULL) != ST_OK)
        return 0;
    while (row_hours_next(&hours, &base, &block))
        if (block_summary(block, base, &s, NULL) == ST_OK)
            points += s.count;
    return points;
}

/* From a row of a rollup to the span's first one of raw points. */
static bool
skip_rollups(const struct dropping *x, struct kv_iter *it)
{
    uint8_t key[ROW_KEY_MAX];
    size_t size = x->head_size + 4;

    memcpy(key, kv_iter_key(it).data, size);
    key_put_uint(key + size, 1, x->s->layout.tagk_width);
    return kv_iter_seek(it, slice_of(key, size + x->s->layout.tagk_width));
}

/* Takes the row where the iterator stands, and steps on.  What is malformed is
 * fsck's. */
static bool
take_row(struct dropping *x, struct kv_iter *it)
{
    const struct key_layout *layout = &x->s->layout;
    struct slice key = kv_iter_key(it), value = kv_iter_value(it);
    uint8_t tsuid[TSUID_MAX];
    uint32_t base;
    size_t size;

    if (x->table == TABLE_WEEKS) {
        x->in_batch.bytes += key.size + value.size;
        kv_batch_delete(x->batch, key);
        return kv_iter_next(it);
    }
    if (key_row_parse(layout, key, &base, tsuid, &size, NULL) != ST_OK)
        return kv_iter_next(it);
    if (!tsuid_tags_begin_at(layout, slice_of(tsuid, size), 1))
        return skip_rollups(x, it);
    x->in_batch.rows++;
    x->in_batch.points += points_of(x, base, value);
    x->in_batch.bytes += key.size + value.size;
    if (!x->d->dry_run)
        kv_batch_delete(x->batch, key);
    return kv_iter_next(it);
}

static bool
has_enough(const struct dropping *x)
{
    const struct store_drop *d = x->d;

    return d->max_rows != 0 &&
           d->dropped.rows + x->in_batch.rows >= d->max_rows;
}

/* Gathers a batch; '*more': it did not come to the end. */
static enum status
gather(struct dropping *x, bool *more, struct error *e)
{
    struct kv_iter *it =
        kv_iter_open(x->s->kv, slice_of(x->from.data, x->head_size));
    uint8_t end[ROW_KEY_MAX];
    size_t steps = 0;
    bool on;

    kv_iter_bound(it, end_key(x, end));
    on = kv_iter_seek(it, buf_slice(&x->from));
    while (on && !has_enough(x) && steps++ < BATCH_ROWS &&
           x->in_batch.bytes < BATCH_BYTES)
        on = take_row(x, it);
    *more = on && !has_enough(x);
    if (on) {
        buf_clear(&x->from);
        buf_put_slice(&x->from, kv_iter_key(it));
    }
    return kv_iter_close(&it, e);
}

static enum status
drop_gathered(struct dropping *x, bool *more, struct error *e)
    REQUIRES(x->s->flush_lock)
{
    struct store *s = x->s;
    enum status st;

    if (store_bucket_state(s, x->bucket) != BUCKET_LOCAL)
        return ST_OK;
    st = gather(x, more, e);
    if (st != ST_OK || kv_batch_len(x->batch) == 0)
        return st;
    st = store_owns(s, e);
    if (st == ST_OK)
        st = kv_write(s->kv, x->batch, e);
    return st;
}

static enum status
next_batch(struct dropping *x, bool *more, struct error *e)
{
    struct store_dropped *sum = &x->d->dropped;
    enum status st;

    *more = false;
    kv_batch_clear(x->batch);
    kv_batch_set_bucket(x->batch, x->bucket);
    if (x->d->dry_run) {
        st = gather(x, more, e); /* no row is written again */
    } else {
        lock_take(&x->s->flush_lock);
        st = drop_gathered(x, more, e);
        lock_drop(&x->s->flush_lock);
    }
    if (st == ST_OK) {
        sum->rows += x->in_batch.rows;
        sum->points += x->in_batch.points;
        sum->bytes += x->in_batch.bytes;
    }
    x->in_batch = (struct store_dropped){ 0 };
    return st;
}

/* Others have the lock, and the disk, between two batches. */
static enum status
breathe(const struct store_drop *d, struct error *e)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    (void)nanosleep(&pause, NULL);
    return d->go_on == NULL || d->go_on(d->ctx)
               ? ST_OK
               : error_set(e, ST_BUSY, "the dropping of rows was cancelled");
}

static enum status
drop_bucket(struct dropping *x, struct error *e)
{
    const struct key_layout *layout = &x->s->layout;
    uint8_t head[1 + 1 + 8] = { x->table, (uint8_t)x->bucket };
    uint8_t end[ROW_KEY_MAX];
    uint64_t bytes = x->d->dropped.bytes;
    enum status st = ST_OK;
    bool more = true;

    key_put_uint(head + 1 + layout->salt_width, x->d->metric,
                 layout->metric_width);
    x->head_size = 1u + layout->salt_width + layout->metric_width;
    buf_clear(&x->from);
    buf_put(&x->from, head, x->head_size);
    while (st == ST_OK && more) {
        st = next_batch(x, &more, e);
        if (st == ST_OK && more)
            st = breathe(x->d, e);
    }
    /* LevelDB keeps deleted rows until it has another reason to look there,
     * and steps over them whenever the metric's first row is looked for. */
    if (!x->d->dry_run && x->d->dropped.bytes - bytes >= WORTH_COMPACTING)
        kv_compact(x->s->kv, slice_of(head, x->head_size), end_key(x, end));
    return st;
}

static enum status
drop_table(struct dropping *x, uint8_t table, uint32_t end, struct error *e)
{
    const struct store_drop *d = x->d;
    size_t buckets = x->s->layout.salt_buckets;
    enum status st = ST_OK;

    x->table = table;
    x->end = end;
    for (x->bucket = 0;
         x->bucket < buckets && x->end > 0 && st == ST_OK && !has_enough(x);
         x->bucket++)
        if ((d->dry_run && d->all_buckets) ||
            store_bucket_state(x->s, x->bucket) == BUCKET_LOCAL)
            st = drop_bucket(x, e);
    return st;
}

enum status
store_drop_rows(struct store *s, struct store_drop *d, struct error *e)
{
    struct dropping x = { .s = s, .d = d, .batch = kv_batch_new() };
    uint32_t end = (uint32_t)(store_cut_floor(s, d->before_ms) / 1000);
    enum status st;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!d->dry_run && end > cuts_settled(&s->cuts, d->metric))
        end = cuts_settled(&s->cuts, d->metric);
    st = drop_table(&x, TABLE_ROWS, end, e);
    if (st == ST_OK && !d->dry_run)
        st = drop_table(&x, TABLE_WEEKS, end - end % WEEK_S, e);
    if (st == ST_OK && x.from.failed)
        st = error_set(e, ST_BUSY, "no memory to drop rows");
    buf_fini(&x.from);
    kv_batch_free(&x.batch);
    return st;
}
