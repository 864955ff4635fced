/* Deleting points of open rows. */
#include "storage/head/head_priv.h"

/* The row is written again with the points that stay; false: no memory. */
static bool
delete_from_row(struct head *h, const struct head_deletion *d,
                struct head_row *r)
{
    struct open_row fresh = { .base = r->open.base };
    struct points all = { 0 }, kept = { 0 };
    bool good = open_row_unpack(slice_of(r->open.bytes, r->open.size),
                                r->open.count, r->open.base, &all) &&
                points_part(&all, d->from_ms, d->to_ms, d->gone, &kept);

    for (size_t i = 0; good && i < kept.len; i++)
        good = open_row_append(&fresh, points_at(&kept, i));
    if (good) {
        atomic_fetch_sub(&h->bytes, open_row_held(&r->open));
        atomic_fetch_add(&h->bytes, fresh.cap);
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

static enum status
delete_from_rows(struct head *h, struct head_bucket *b,
                 const struct head_deletion *d, struct error *e)
    REQUIRES(b->lock)
{
    struct head_series *series = head_find(h, b, d->tsuid);
    struct head_row *next;

    for (struct head_row *r = series == NULL ? NULL : series->rows; r != NULL;
         r = next) {
        next = r->next;
        INSIST(!r->immutable);
        if (!hour_overlaps(r->open.base, d->from_ms, d->to_ms))
            continue;
        if (!delete_from_row(h, d, r))
            return error_set(e, ST_BUSY, "no memory to delete points");
        if (r->open.count == 0)
            head_drop_row(h, b, r);
    }
    return ST_OK;
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
