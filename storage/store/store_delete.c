/* Deleting a range of a series, exactly: points in the head and rows in the
 * engine, after the WAL has it. */
#include <stdlib.h>

#include "storage/store/store_weeks_priv.h"
#include "base/process/crash.h"

struct deletion {
    struct store *s;
    struct slice tsuid;
    int64_t from_ms, to_ms;
    struct points scratch;
    struct points deleted;                   /* of all */
    struct row_blocks parts;                 /* of the row at hand */
    struct buf blocks[ROW_HOURS_MAX], value; /* of the row at hand */
    struct kv_batch *batch, *stale;
    const struct buf *record; /* NULL: the WAL has it */
    uint64_t *lsn;
};

/* store_apply_delete() has the flush lock. */
static enum status
delete_from_stored(struct deletion *d, struct slice key, uint32_t base,
                   struct slice value, struct error *e) NO_TS_CHECK
{
    const struct key_layout *layout = &d->s->layout;
    struct row_blocks *parts = &d->parts;
    size_t before = d->deleted.len;
    enum status status =
        row_blocks_delete(layout, base, value, d->from_ms, d->to_ms, parts,
                          d->blocks, &d->deleted, e);

    buf_clear(&d->value);
    kv_batch_clear(d->batch);
    if (status != ST_OK || d->deleted.len == before)
        return status;
    row_value_pack(layout, base, parts, &d->scratch, &d->value);
    if (d->value.failed)
        return error_set(e, ST_BUSY, "no memory to delete points");
    if (d->value.size == 0)
        kv_batch_delete(d->batch, key);
    else
        kv_batch_put(d->batch, key, buf_slice(&d->value));
    store_weeks_collect_stale(d->s, d->tsuid, base, d->stale);
    status = store_weeks_mark_stale(d->s, d->stale, e);
    if (status == ST_OK)
        status = store_write_owned(d->s, d->batch, e);
    crash_point("delete-written");
    return status;
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

static enum status
delete_in_order(struct deletion *d, struct error *e)
{
    struct wal *wal = d->s->wal;
    struct head_deletion from_head = {
        .tsuid = d->tsuid,
        .from_ms = d->from_ms,
        .to_ms = d->to_ms,
        .deleted = &d->deleted,
        .log = d->record == NULL ? NULL : log_delete,
        .ctx = d,
    };
    enum status status = d->record == NULL ? ST_OK : wal_wait_for_room(wal, e);

    if (status == ST_OK)
        status = head_delete(d->s->head, &from_head, e);
    /* In the WAL before the engine changes, so that a crash half-way is
     * completed by the replay. */
    if (status == ST_OK && d->record != NULL)
        status = wal_commit(wal, *d->lsn, false, e);
    crash_point("delete-logged");
    return status;
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
    enum status status;

    if (d.from_ms > d.to_ms)
        return ST_OK;
    d.batch = kv_batch_new();
    d.stale = kv_batch_new();
    kv_batch_set_bucket(d.batch, key_salt(&s->layout, tsuid));
    status = delete_in_order(&d, e);
    if (status == ST_OK)
        status = store_weeks_delete(s, tsuid, d.from_ms, d.to_ms, e);
    if (status == ST_OK)
        status = delete_from_engine(&d, e);
    /* A point may have been in both: counted once. */
    (void)!points_sort_unique(&d.deleted);
    *deleted = d.deleted.len;
    points_fini(&d.scratch);
    points_fini(&d.deleted);
    row_blocks_fini(&d.parts);
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        buf_fini(&d.blocks[i]);
    buf_fini(&d.value);
    kv_batch_free(&d.batch);
    kv_batch_free(&d.stale);
    return status;
}

/* Under the flush lock a bucket neither comes nor goes. */
static enum status
delete_here(struct store *s, struct slice tsuid, int64_t from_ms, int64_t to_ms,
            uint64_t *deleted, uint64_t *lsn, struct error *e)
    REQUIRES(s->flush_lock)
{
    unsigned bucket = key_salt(&s->layout, tsuid);
    struct buf record = BUF_INIT;
    enum status status;

    if (store_bucket_state(s, bucket) != BUCKET_LOCAL)
        return store_not_owner(bucket, e);
    status = store_owns(s, e);
    if (s->remote != NULL)
        record_owned(&record, s->wal_buckets[bucket].owned, RECORD_DELETE);
    record_delete(&record, tsuid, from_ms, to_ms);
    if (status == ST_OK)
        status = store_apply_delete(s, tsuid, from_ms, to_ms,
                                    s->wal == NULL ? NULL : &record, deleted,
                                    lsn, e);
    buf_fini(&record);
    return status;
}

enum status
store_owner_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, uint64_t *deleted, uint64_t *lsn,
                   struct error *e)
{
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    if (store_may_write(s, e) != ST_OK)
        return ST_BUSY;
    lock_take(&s->flush_lock);
    status = delete_here(s, tsuid, from_ms, to_ms, deleted, lsn, e);
    lock_drop(&s->flush_lock);
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
        if (status == ST_NOT_FOUND)
            status = r->delete_points(r->ctx, tsuid, from_ms, to_ms, &count,
                                      store_retry_end(s, &retry), e);
    } while (status == ST_NOT_FOUND && store_retry(s, &retry));
    if (status == ST_NOT_FOUND)
        status = store_no_owner(key_salt(&s->layout, tsuid), e);
    if (deleted != NULL)
        *deleted = count;
    if (lsn != NULL)
        *lsn = at;
    return status;
}
