/*
 * Deleting a range of a series, exactly: points in the head and rows in the
 * engine, after the WAL has it.
 */
#include "config.h"

#include <stdlib.h>

#include "storage/store/store_priv.h"
#include "base/crash.h"

/* Points of 'in' outside the range go to 'out'; returns how many were inside.
 */
static uint64_t
keep_outside(const struct points *in, int64_t from_ms, int64_t to_ms,
             struct points *out)
{
    uint64_t inside = 0;

    for (size_t i = 0; i < in->len; i++) {
        if (in->ts_ms[i] >= from_ms && in->ts_ms[i] <= to_ms)
            inside++;
        else if (!points_add(out, points_at(in, i)))
            return UINT64_MAX;
    }
    return inside;
}

static bool
overlaps(uint32_t base, int64_t from_ms, int64_t to_ms)
{
    int64_t base_ms = (int64_t)base * 1000;

    return base_ms <= to_ms && base_ms + HOUR_MS > from_ms;
}

/* An open row is written anew with the points that stay. */
static bool
delete_from_row(struct store *s, struct head_row *r, int64_t from_ms,
                int64_t to_ms, struct points *gone)
{
    struct points all = { 0 }, kept = { 0 };
    struct open_row fresh = { .base = r->open.base };
    bool good = open_row_unpack(slice_of(r->open.bytes, r->open.size),
                                r->open.count, r->open.base, &all);

    for (size_t i = 0; good && i < all.len; i++)
        if (all.ts_ms[i] >= from_ms && all.ts_ms[i] <= to_ms)
            good = points_add(gone, points_at(&all, i));
    good = good && keep_outside(&all, from_ms, to_ms, &kept) != UINT64_MAX;
    for (size_t i = 0; good && i < kept.len; i++)
        good = open_row_append(&fresh, points_at(&kept, i));
    if (good) {
        atomic_fetch_sub(&s->head.bytes, open_row_held(&r->open));
        atomic_fetch_add(&s->head.bytes, fresh.cap);
        atomic_fetch_sub(&s->head.points, r->open.count - fresh.count);
        open_row_fini(&r->open);
        r->open = fresh;
    } else {
        open_row_fini(&fresh);
    }
    points_fini(&all);
    points_fini(&kept);
    return good;
}

static bool
delete_from_head(struct store *s, struct head_bucket *b, struct slice tsuid,
                 int64_t from_ms, int64_t to_ms, struct points *gone)
    REQUIRES(b->lock)
{
    struct head_series *series = head_find(&s->head, b, tsuid);
    struct head_row *next;

    for (struct head_row *r = series == NULL ? NULL : series->rows; r != NULL;
         r = next) {
        next = r->next;
        INSIST(!r->immutable); /* the flush lock is held */
        if (!overlaps(r->open.base, from_ms, to_ms))
            continue;
        if (!delete_from_row(s, r, from_ms, to_ms, gone))
            return false;
        if (r->open.count == 0)
            head_drop_row(&s->head, b, r);
    }
    return true;
}

/* What stays of an hour's block is appended to 'out': nothing if nothing does,
 * the block itself if all does. */
static enum status
delete_from_block(struct slice block, uint32_t base, int64_t from_ms,
                  int64_t to_ms, struct points *gone, struct buf *out,
                  struct error *e)
{
    struct points all = { 0 }, kept = { 0 };
    enum status status = ST_OK;

    if (!overlaps(base, from_ms, to_ms)) {
        buf_put_slice(out, block);
        return ST_OK;
    }
    status = block_decode(block, base, &all, e);
    if (status == ST_OK &&
        keep_outside(&all, from_ms, to_ms, &kept) == UINT64_MAX)
        status = error_set(e, ST_BUSY, "no memory to delete points");
    for (size_t i = 0; i < all.len && status == ST_OK; i++)
        if (all.ts_ms[i] >= from_ms && all.ts_ms[i] <= to_ms &&
            !points_add(gone, points_at(&all, i)))
            status = error_set(e, ST_BUSY, "no memory to delete points");
    if (status == ST_OK && kept.len == all.len)
        buf_put_slice(out, block);
    else if (status == ST_OK && kept.len > 0)
        block_encode(&kept, base, out);
    points_fini(&all);
    points_fini(&kept);
    return status;
}

/* Puts the row back without the points of the range. */
static enum status
delete_from_stored(struct store *s, struct slice key, uint32_t base,
                   struct slice value, int64_t from_ms, int64_t to_ms,
                   struct points *gone, struct error *e)
{
    struct row_parts parts;
    size_t ends[ROW_HOURS_MAX], before = gone->len;
    struct buf blocks = BUF_INIT, out = BUF_INIT;
    struct kv_batch *batch = kv_batch_new();
    enum status status = row_parts_of(&s->layout, base, value, &parts, e);

    for (unsigned i = 0; i < s->layout.row_hours && status == ST_OK; i++) {
        if (parts.blocks[i].size > 0)
            status = delete_from_block(parts.blocks[i], base + i * HOUR_S,
                                       from_ms, to_ms, gone, &blocks, e);
        ends[i] = blocks.size;
    }
    if (status == ST_OK && blocks.failed)
        status = error_set(e, ST_BUSY, "no memory to delete points");
    if (status == ST_OK && gone->len > before) {
        for (size_t i = 0, from = 0; i < s->layout.row_hours; from = ends[i++])
            parts.blocks[i] = slice_of(blocks.data + from, ends[i] - from);
        row_value_put(&s->layout, base, &parts, &out);
        if (out.size == 0)
            kv_batch_delete(batch, key);
        else
            kv_batch_put(batch, key, buf_slice(&out));
        status = out.failed
                     ? error_set(e, ST_BUSY, "no memory to delete points")
                     : kv_write(s->kv, batch, false, e);
        crash_point("delete-written");
    }
    kv_batch_free(&batch);
    buf_fini(&blocks);
    buf_fini(&out);
    return status;
}

/* A mask of this one series, over the rows of the range. */
static struct mask *
series_mask(const struct store *s, struct slice tsuid, int64_t from_ms,
            int64_t to_ms)
{
    struct mask *m = mask_new();
    uint8_t start[ROW_KEY_MAX];
    size_t head = 1u + s->layout.salt_width + s->layout.metric_width;

    (void)key_row(&s->layout, tsuid, 0, start);
    mask_add_fixed(m, slice_of(start, head));
    mask_add_steps(m, key_span_base(&s->layout, hour_base(from_ms)),
                   key_span_base(&s->layout, hour_base(to_ms)),
                   key_span_s(&s->layout), 4);
    mask_add_fixed(m, slice_of(tsuid.data + s->layout.metric_width,
                               tsuid.size - s->layout.metric_width));
    return m;
}

/* A damaged row stays, and is told when the others are done. */
static enum status
delete_from_engine(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, struct points *gone, struct error *e)
{
    struct mask *m = series_mask(s, tsuid, from_ms, to_ms);
    size_t size = mask_key_size(m);
    size_t base_at = 1u + s->layout.salt_width + s->layout.metric_width;
    struct kv_iter *it = kv_iter_open(s->kv, KEY_TABLE(TABLE_ROWS));
    uint8_t hint[ROW_KEY_MAX];
    enum status status = ST_OK, closed, one;
    struct error why;
    bool damaged = false;
    bool more = mask_hint(m, (struct slice){ NULL, 0 }, hint) &&
                kv_iter_seek(it, slice_of(hint, size));

    while (more && status == ST_OK) {
        struct slice key = kv_iter_key(it);

        if (mask_match(m, key)) {
            one = delete_from_stored(
                s, key, (uint32_t)key_get_uint(key.data + base_at, 4),
                kv_iter_value(it), from_ms, to_ms, gone, damaged ? NULL : &why);
            if (one == ST_CORRUPT)
                damaged = true;
            else if (one != ST_OK)
                status = error_set(e, one, "%s",
                                   damaged ? "deleting points" : why.text);
            more = kv_iter_next(it);
        } else {
            more = mask_hint(m, key, hint) &&
                   kv_iter_seek(it, slice_of(hint, size));
        }
    }
    closed = kv_iter_close(&it, status == ST_OK ? e : NULL);
    mask_free(&m);
    if (status == ST_OK && closed == ST_OK && damaged)
        status = error_set(e, ST_CORRUPT, "%s", why.text);
    return status != ST_OK ? status : closed;
}

/* WAL and head change under one lock: a replay sees the order that queries
 * saw. */
static enum status
delete_in_order(struct store *s, struct slice tsuid, int64_t from_ms,
                int64_t to_ms, const struct buf *record, struct points *gone,
                uint64_t *lsn, struct error *e)
{
    struct head_bucket *b = head_bucket_of(&s->head, tsuid);
    enum status status = record == NULL ? ST_OK : wal_wait_for_room(s->wal, e);

    if (status != ST_OK)
        return status;
    lock_take(&b->lock);
    if (record != NULL)
        status =
            wal_append(s->wal, 0, RECORD_DELETE, buf_slice(record), lsn, e);
    if (status == ST_OK && !delete_from_head(s, b, tsuid, from_ms, to_ms, gone))
        status = error_set(e, ST_BUSY, "no memory to delete points");
    lock_drop(&b->lock);
    return status;
}

enum status
store_apply_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, const struct buf *record, uint64_t *deleted,
                   uint64_t *lsn, struct error *e)
{
    struct points gone = { 0 };
    enum status status;

    if (from_ms < 0)
        from_ms = 0;
    if (to_ms > POINT_MAX_TS_MS)
        to_ms = POINT_MAX_TS_MS;
    if (from_ms > to_ms)
        return ST_OK;
    status = delete_in_order(s, tsuid, from_ms, to_ms, record, &gone, lsn, e);
    /* In the WAL before the engine changes, so that a crash half-way is
     * completed by the replay. */
    if (status == ST_OK && record != NULL)
        status = wal_commit(s->wal, *lsn, false, e);
    crash_point("delete-logged");
    if (status == ST_OK)
        status = delete_from_engine(s, tsuid, from_ms, to_ms, &gone, e);
    /* A point may have been in both: counted once. */
    points_sort_unique(&gone);
    *deleted = gone.len;
    points_fini(&gone);
    return status;
}

enum status
store_delete(struct store *s, struct slice tsuid, int64_t from_ms,
             int64_t to_ms, uint64_t *deleted, uint64_t *lsn, struct error *e)
{
    struct buf record = BUF_INIT;
    uint64_t at = 0, gone = 0;
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    if (store_may_write(s, e) != ST_OK)
        return ST_BUSY;
    record_delete(&record, tsuid, from_ms, to_ms);
    lock_take(&s->flush_lock);
    status = store_apply_delete(s, tsuid, from_ms, to_ms,
                                s->wal == NULL ? NULL : &record, &gone, &at, e);
    lock_drop(&s->flush_lock);
    buf_fini(&record);
    if (deleted != NULL)
        *deleted = gone;
    if (lsn != NULL)
        *lsn = at;
    return status;
}
