/* Deleting points of rows. */
#include "storage/head/head_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "storage/block/row_value.h"

void
deleted_hours_fini(struct deleted_hours *d)
{
    for (size_t i = 0; i < d->len; i++)
        open_row_fini(&d->hours[i]);
    free(d->hours);
    *d = (struct deleted_hours){ 0 };
}

/* False when there is no memory. */
static bool
add_hour(struct deleted_hours *d, uint32_t base, const struct points *points)
{
    struct open_row hour = { .base = base };
    bool good = true;

    if (points->len == 0)
        return true;
    if (d->len == d->cap) {
        size_t cap = d->cap == 0 ? 8 : 2 * d->cap;
        struct open_row *hours =
            mem_try_resize(d->hours, cap * sizeof *d->hours);

        if (hours == NULL)
            return false;
        d->hours = hours;
        d->cap = cap;
    }
    for (size_t i = 0; i < points->len && good; i++)
        good =
            open_row_append(&hour, (struct point){ .ts_ms = points->ts_ms[i] });
    d->hours[d->len++] = hour;
    return good;
}

/* The row is written again with the points that stay; false: no memory. */
static bool
delete_from_row(struct head *h, const struct head_deletion *d,
                struct head_row *r)
{
    struct open_row fresh = { .base = r->open.base };
    struct points all = { 0 }, deleted = { 0 }, kept = { 0 };
    bool good = open_row_unpack(slice_of(r->open.bytes, r->open.size),
                                r->open.count, r->open.base, &all) &&
                points_split(&all, d->from_ms, d->to_ms, &deleted, &kept) &&
                add_hour(d->deleted, r->open.base, &deleted);

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
    points_fini(&deleted);
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
    enum status status = row_blocks_of(
        h->layout, span, slice_of(r->open.bytes, r->open.size), &parts, e);
    struct slice copy;

    if (status == ST_OK) {
        struct points deleted = { 0 };

        for (unsigned i = 0; i < h->layout->row_hours && status == ST_OK; i++) {
            uint32_t base = span + i * HOUR_S;

            if (parts.blocks[i].size == 0 ||
                !hour_overlaps(base, d->from_ms, d->to_ms))
                continue;
            status = row_block_delete(&parts.blocks[i], base, d->from_ms,
                                      d->to_ms, &blocks[i], &deleted, e);
            if (status == ST_OK && !add_hour(d->deleted, base, &deleted))
                status = error_set(e, ST_BUSY, "no memory to delete points");
        }
        points_fini(&deleted);
    }
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

enum status
head_delete(struct head *h, const struct head_deletion *d, struct error *e)
{
    struct head_bucket *b = head_bucket_of(h, d->tsuid);
    enum status status = ST_OK;

    lock_take(&b->lock);
    if (d->log != NULL)
        status = d->log(d->ctx, e);
    if (status == ST_OK) {
        struct head_series *series = head_find(h, b, d->tsuid);
        struct head_row *next;

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
    }
    lock_drop(&b->lock);
    return status;
}
