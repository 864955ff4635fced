/* Deleting points of rows. */
#include "storage/head/head_priv.h"

#include <stdlib.h>

#include "base/obj.h"
#include "storage/block/row_value.h"

/* The row is written again with the points that stay; false: no memory. */
static bool
delete_from_row(struct head *h, const struct head_deletion *d,
                struct head_row *r)
{
    struct open_row fresh = { .base = r->open.base };
    struct points all = { 0 }, kept = { 0 };
    bool good = open_row_unpack(slice_of(r->open.bytes, r->open.size),
                                r->open.count, r->open.base, &all) &&
                points_split(&all, d->from_ms, d->to_ms, d->deleted, &kept);

    for (size_t i = 0; good && i < kept.len; i++)
        good = open_row_append(&fresh, points_at(&kept, i));
    if (good) {
        atomic_fetch_sub(&h->bytes, open_row_held(&r->open));
        atomic_fetch_add(&h->bytes, open_row_held(&fresh));
        atomic_fetch_sub(&h->points, r->open.count - fresh.count);
        open_row_fini(&r->open);
        r->open = fresh;
    } else {
        open_row_fini(&fresh);
    }
    points_fini(&all);
    points_fini(&kept);
    return good;
}

/* The blocks of an encoded row without those points. */
static enum status
delete_from_encoded(struct head *h, struct head_bucket *b,
                    const struct head_deletion *d, struct head_row *r,
                    struct error *e) REQUIRES(b->lock)
{
    uint32_t span = r->open.base - 1;
    struct buf blocks[ROW_HOURS_MAX] = { { 0 } }, value = BUF_INIT;
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };
    enum status status = row_blocks_delete(
        h->layout, span, slice_of(r->open.bytes, r->open.size), d->from_ms,
        d->to_ms, &parts, blocks, d->deleted, e);
    struct slice copy;

    if (status == ST_OK)
        row_value_put(h->layout, span, &parts, &value);
    copy = head_copy_value(&value);
    if (status == ST_OK && (value.failed || copy.size < value.size))
        status = error_set(e, ST_BUSY, "no memory to delete points");
    if (status == ST_OK)
        head_set_encoded(h, b, r, copy,
                         (uint32_t)row_points(h->layout, span, copy));
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        buf_fini(&blocks[i]);
    buf_fini(&value);
    row_blocks_fini(&parts);
    return status;
}

static bool
overlaps(const struct head *h, const struct head_deletion *d,
         const struct head_row *r)
{
    uint32_t hours = r->encoded ? h->layout->row_hours : 1;
    int64_t base_ms = (int64_t)(r->open.base - r->encoded) * 1000;

    return base_ms <= d->to_ms && base_ms + hours * HOUR_MS > d->from_ms;
}

static enum status
delete_from_rows(struct head *h, struct head_bucket *b,
                 const struct head_deletion *d, struct error *e)
    REQUIRES(b->lock)
{
    struct head_series *series = head_find(h, b, d->tsuid);
    struct head_row *next;
    enum status status = ST_OK;

    for (struct head_row *r = series == NULL ? NULL : series->rows;
         r != NULL && status == ST_OK; r = next) {
        next = r->next;
        INSIST(!r->immutable);
        if (!overlaps(h, d, r))
            continue;
        if (r->encoded)
            status = delete_from_encoded(h, b, d, r, e);
        else if (!delete_from_row(h, d, r))
            status = error_set(e, ST_BUSY, "no memory to delete points");
        if (status == ST_OK && r->open.count == 0)
            head_drop_row(h, b, r);
    }
    return status;
}

enum status
head_delete(struct head *h, const struct head_deletion *d, struct error *e)
{
    struct head_bucket *b = head_bucket_of(h, d->tsuid);
    enum status status = ST_OK;

    lock_take(&b->lock);
    if (d->log != NULL)
        status = d->log(d->ctx, e);
    if (status == ST_OK)
        status = delete_from_rows(h, b, d, e);
    lock_drop(&b->lock);
    return status;
}
