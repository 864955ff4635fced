/* Deleting a range of a series, exactly: points in the head and rows in the
 * engine, after the WAL has it. */
#include <stdlib.h>

#include "storage/store/store_weeks_priv.h"
#include "base/process/crash.h"
#include "storage/block/row_parts.h"

struct deletion {
    struct store *s;
    struct slice tsuid;
    int64_t from_ms, to_ms;
    struct points scratch;
    struct deleted_hours from_head; /* ascending */
    size_t at;                      /* those before it are counted */
    struct points deleted;          /* of the hour at hand */
    uint64_t count;                 /* points deleted so far */
    struct row_blocks parts;        /* of the row at hand */
    struct buf blocks[ROW_HOURS_MAX], value, part; /* of the row at hand */
    struct kv_batch *batch, *stale;
    const struct buf *record; /* NULL: the WAL has it */
    uint64_t *lsn;
};

/* -- counting -------------------------------------------------------------- */

/* A point may have been in the head and in the engine, and an hour of the head
 * in several open rows: each is counted once, hour by hour, ascending.
 *
 * 'd->deleted' has the points of the hour at 'base' that the engine had. */
static enum status
count_hour(struct deletion *d, uint32_t base, struct error *e)
{
    struct deleted_hours *head = &d->from_head;
    bool good = true;

    for (; good && d->at < head->len && head->hours[d->at].base == base;
         d->at++) {
        struct open_row *hour = &head->hours[d->at];

        good = open_row_unpack(slice_of(hour->bytes, hour->size), hour->count,
                               base, &d->deleted);
        open_row_fini(hour);
    }
    if (!good || !points_sort_unique(&d->deleted))
        return error_set(e, ST_BUSY, "no memory to count deleted points");
    d->count += d->deleted.len;
    points_clear(&d->deleted);
    return ST_OK;
}

/* Hours before 'base' of which the engine had nothing. */
static enum status
count_before(struct deletion *d, uint64_t base, struct error *e)
{
    const struct deleted_hours *head = &d->from_head;
    enum status status = ST_OK;

    points_clear(&d->deleted);
    while (status == ST_OK && d->at < head->len &&
           head->hours[d->at].base < base)
        status = count_hour(d, head->hours[d->at].base, e);
    return status;
}

static int
compare_hours(const void *a, const void *b)
{
    const struct open_row *x = a, *y = b;

    return (x->base > y->base) - (x->base < y->base);
}

/* -- rows of the engine ---------------------------------------------------- */

static enum status
write_row(struct deletion *d, struct error *e) REQUIRES(d->s->flush_lock)
{
    enum status status = store_weeks_mark_stale(d->s, d->stale, e);

    if (status == ST_OK)
        status = store_write_owned(d->s, d->batch, e);
    crash_point("delete-written");
    kv_batch_clear(d->batch);
    return status;
}

/* '*changes': the row's value. */
static enum status
delete_from_hour(struct deletion *d, uint32_t span, unsigned i, bool *changes,
                 bool *emptied, struct error *e) REQUIRES(d->s->flush_lock)
{
    const struct key_layout *layout = &d->s->layout;
    const struct row_of_parts row = { d->s->kv, layout, d->tsuid, span };
    struct slice *block = &d->parts.blocks[i], stored = *block;
    uint32_t base = span + i * HOUR_S;
    uint8_t key[ROW_KEY_MAX];
    bool is_part = row_hour_is_elsewhere(stored);
    enum status status = count_before(d, base, e);

    if (status == ST_OK && is_part)
        status = row_part_read(&row, base, &d->part, &stored, e);
    if (status == ST_OK && stored.size > 0)
        status = row_block_delete(&stored, base, d->from_ms, d->to_ms,
                                  &d->blocks[i], &d->deleted, e);
    if (status != ST_OK || d->deleted.len == 0)
        return status;
    store_weeks_collect_stale(d->s, d->tsuid, span, d->stale);
    /* Of a part what stays is written.  If nothing does, the row no longer
     * refers to it, and it goes together with the row's new value. */
    *emptied = is_part && stored.size == 0;
    *changes |= !is_part || *emptied;
    if (is_part && !*emptied) {
        row_part_encode(layout, base, stored, &d->part);
        if (d->part.failed)
            return error_set(e, ST_BUSY, "no memory to delete points");
        kv_batch_put(d->batch,
                     slice_of(key, key_row_part(layout, d->tsuid, base, key)),
                     buf_slice(&d->part));
        stored = row_hour_elsewhere();
        status = write_row(d, e);
    }
    *block = stored;
    return status == ST_OK ? count_hour(d, base, e) : status;
}

/* store_apply_delete() has the flush lock. */
static enum status
delete_from_stored(struct deletion *d, struct slice key, uint32_t span,
                   struct slice value, struct error *e) NO_TS_CHECK
{
    const struct key_layout *layout = &d->s->layout;
    bool changes = false, emptied[ROW_HOURS_MAX] = { false };
    uint8_t part[ROW_KEY_MAX];
    enum status status = row_blocks_of(layout, span, value, &d->parts, e);

    kv_batch_clear(d->batch);
    for (unsigned i = 0; i < layout->row_hours && status == ST_OK; i++) {
        if (d->parts.blocks[i].size > 0 &&
            hour_overlaps(span + i * HOUR_S, d->from_ms, d->to_ms))
            status = delete_from_hour(d, span, i, &changes, &emptied[i], e);
    }
    if (status != ST_OK || !changes)
        return status;
    buf_clear(&d->value);
    row_value_pack(layout, span, &d->parts, &d->scratch, &d->value);
    if (d->value.failed)
        return error_set(e, ST_BUSY, "no memory to delete points");
    if (d->value.size == 0)
        kv_batch_delete(d->batch, key);
    else
        kv_batch_put(d->batch, key, buf_slice(&d->value));
    for (unsigned i = 0; i < layout->row_hours; i++)
        if (emptied[i])
            kv_batch_delete(
                d->batch,
                slice_of(part, key_row_part(layout, d->tsuid, span + i * HOUR_S,
                                            part)));
    return write_row(d, e);
}

/* From row to row of the series.  A damaged row stays, and is reported when
 * the others are done. */
static enum status
delete_from_engine(struct deletion *d, struct error *e)
{
    const struct key_layout *layout = &d->s->layout;
    struct kv_iter *it = kv_iter_open(d->s->kv, KEY_TABLE(TABLE_ROWS));
    uint64_t span = key_span_base(layout, hour_base(d->from_ms));
    uint8_t bytes[ROW_KEY_MAX];
    struct error why, damage = { .status = ST_OK };
    enum status status = ST_OK;

    while (status == ST_OK && span <= hour_base(d->to_ms)) {
        size_t size = key_row(layout, d->tsuid, (uint32_t)span, bytes);
        struct slice found, key = slice_of(bytes, size);
        uint32_t base;

        if (!kv_iter_seek(it, key))
            break;
        found = kv_iter_key(it);
        if (!key_base(layout, found, &base) ||
            memcmp(found.data, bytes, key_base_at(layout)) != 0)
            break; /* behind all rows of the metric */
        base = key_span_base(layout, base);
        if (base > span) {
            span = base;
            continue;
        }
        if (slice_eq(found, key))
            status = delete_from_stored(d, key, base, kv_iter_value(it), &why);
        if (status == ST_CORRUPT) {
            damage = why;
            status = ST_OK;
        }
        span += key_span_s(layout);
    }
    status = kv_iter_end(&it, status, &why);
    if (status != ST_OK)
        return error_set(e, status, "%s", why.text);
    return damage.status == ST_OK ? ST_OK
                                  : error_set(e, ST_CORRUPT, "%s", damage.text);
}

/* As store_log_points(). */
static enum status
log_delete(void *ctx, struct error *e)
{
    struct deletion *d = ctx;

    return wal_append(d->s->wal, 0,
                      d->s->remote == NULL ? RECORD_DELETE : RECORD_OWNED,
                      buf_slice(d->record), d->lsn, e);
}

enum status
store_apply_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, const struct buf *record, uint64_t *deleted,
                   uint64_t *lsn, struct error *e)
{
    struct deletion d = {
        .s = s,
        .tsuid = tsuid,
        .from_ms = from_ms < 0 ? 0 : from_ms,
        .to_ms = to_ms > POINT_MAX_TS_MS ? POINT_MAX_TS_MS : to_ms,
        .record = record,
        .lsn = lsn,
    };
    struct head_deletion from_head = {
        .tsuid = tsuid,
        .from_ms = d.from_ms,
        .to_ms = d.to_ms,
        .deleted = &d.from_head,
        .log = record == NULL ? NULL : log_delete,
        .ctx = &d,
    };
    enum status status = ST_OK;

    if (d.from_ms > d.to_ms)
        return ST_OK;
    d.batch = kv_batch_new();
    d.stale = kv_batch_new();
    kv_batch_set_bucket(d.batch, key_salt(&s->layout, tsuid));
    if (record != NULL)
        status = wal_wait_for_room(s->wal, e);
    if (status == ST_OK)
        status = head_delete(s->head, &from_head, e);
    if (d.from_head.len > 0)
        qsort(d.from_head.hours, d.from_head.len, sizeof *d.from_head.hours,
              compare_hours);
    /* In the WAL before the engine changes, so that a crash half-way is
     * completed by the replay. */
    if (status == ST_OK && record != NULL)
        status = wal_commit(s->wal, *lsn, false, e);
    crash_point("delete-logged");
    if (status == ST_OK)
        status = store_weeks_delete(s, tsuid, d.from_ms, d.to_ms, e);
    if (status == ST_OK)
        status = delete_from_engine(&d, e);
    if (status == ST_OK)
        status = count_before(&d, UINT64_MAX, e);
    *deleted = d.count;
    deleted_hours_fini(&d.from_head);
    points_fini(&d.scratch);
    points_fini(&d.deleted);
    row_blocks_fini(&d.parts);
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        buf_fini(&d.blocks[i]);
    buf_fini(&d.value);
    buf_fini(&d.part);
    kv_batch_free(&d.batch);
    kv_batch_free(&d.stale);
    return status;
}

enum status
store_owner_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, uint64_t *deleted, uint64_t *lsn,
                   struct error *e)
{
    struct buf record = BUF_INIT;
    enum status status;
    unsigned bucket;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    if (store_may_write(s, e) != ST_OK)
        return ST_BUSY;
    bucket = key_salt(&s->layout, tsuid);
    /* Under the flush lock a bucket neither comes nor goes. */
    lock_take(&s->flush_lock);
    status = store_bucket_state(s, bucket) == BUCKET_LOCAL
                 ? store_owns(s, e)
                 : store_not_owner(bucket, e);
    if (s->remote != NULL)
        record_owned(&record, s->wal_buckets[bucket].owned, RECORD_DELETE);
    record_delete(&record, tsuid, from_ms, to_ms);
    if (status == ST_OK)
        status = store_apply_delete(s, tsuid, from_ms, to_ms,
                                    s->wal == NULL ? NULL : &record, deleted,
                                    lsn, e);
    lock_drop(&s->flush_lock);
    buf_fini(&record);
    return status;
}

enum status
store_delete(struct store *s, struct slice tsuid, int64_t from_ms,
             int64_t to_ms, uint64_t *deleted, uint64_t *lsn, struct error *e)
{
    const struct store_remote *r = s->remote;
    struct store_retry retry = { .end_us = 0 };
    uint64_t at = 0, count = 0;
    enum status status;

    do {
        status = store_owner_delete(s, tsuid, from_ms, to_ms, &count, &at, e);
        if (status == ST_MOVED)
            status = r->delete_points(r->ctx, tsuid, from_ms, to_ms, &count,
                                      store_retry_end(s, &retry), e);
    } while (status == ST_MOVED && store_retry(s, &retry));
    if (status == ST_MOVED)
        status = store_no_owner(key_salt(&s->layout, tsuid), e);
    if (deleted != NULL)
        *deleted = count;
    if (lsn != NULL)
        *lsn = at;
    return status;
}
