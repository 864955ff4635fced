/* The rows of the head.  Where a series has one row alone, the index does not
 * know it: most have, and need no more memory.  With a second one both go in,
 * of each hour the row that was made last; so years of a series, or points in
 * any order, take no longer than the newest hour.  Of each span it has the
 * encoded row, too. */
#include "storage/head/head_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"

#define FIRST_SLOTS 64

/* The slot of that hour, or the free one where it would go. */
static struct head_slot *
slot_of(const struct head *h, const struct head_bucket *b, uint32_t series,
        uint32_t base) REQUIRES(b->lock)
{
    size_t at = head_home(h, b, series, base);

    while (b->index[at].row != NULL &&
           (b->index[at].series != series || b->index[at].base != base))
        at = (at + 1) & (b->index_len - 1);
    return &b->index[at];
}

void
head_index_rebuild(const struct head *h, struct head_bucket *b,
                   const uint32_t *map)
{
    struct head_slot *old = b->index;
    size_t old_len = b->index_len;

    if (old == NULL)
        return;
    while (b->index_len > FIRST_SLOTS && b->index_used * 4 <= b->index_len)
        b->index_len /= 2;
    b->index = mem_new_array(b->index_len, sizeof *b->index);
    for (size_t i = 0; i < old_len; i++) {
        struct head_slot x = old[i];

        if (x.row == NULL)
            continue;
        if (map != NULL)
            x.series = map[x.series];
        *slot_of(h, b, x.series, x.base) = x;
    }
    free(old);
}

/* In the place of an older one of its hour, if there is one. */
static void
index_row(const struct head *h, struct head_bucket *b, struct head_row *r)
    REQUIRES(b->lock)
{
    struct head_slot *slot;

    if ((b->index_used + 1) * 2 > b->index_len) {
        struct head_slot *old = b->index;
        size_t old_len = b->index_len;

        b->index_len = old_len == 0 ? FIRST_SLOTS : old_len * 2;
        b->index = mem_new_array(b->index_len, sizeof *b->index);
        for (size_t i = 0; i < old_len; i++)
            if (old[i].row != NULL)
                *slot_of(h, b, old[i].series, old[i].base) = old[i];
        free(old);
    }
    slot = slot_of(h, b, r->series->index, r->open.base);
    if (slot->row != NULL)
        slot->row->indexed = false;
    else
        b->index_used++;
    *slot = (struct head_slot){ r, r->series->index, r->open.base };
    r->indexed = true;
}

/* Those behind it that would not be found any more move up. */
static void
free_slot(const struct head *h, struct head_bucket *b, struct head_slot *slot)
    REQUIRES(b->lock)
{
    size_t mask = b->index_len - 1, hole = (size_t)(slot - b->index);

    if (--b->index_used == 0) {
        free(b->index);
        b->index = NULL;
        b->index_len = 0;
        return;
    }
    for (size_t at = (hole + 1) & mask; b->index[at].row != NULL;
         at = (at + 1) & mask) {
        const struct head_slot *x = &b->index[at];
        size_t home = head_home(h, b, x->series, x->base);

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            b->index[hole] = *x;
            hole = at;
        }
    }
    b->index[hole] = (struct head_slot){ 0 };
}

struct head_row *
head_predecessor(const struct head_row *r)
{
    struct head_row *x = r->behind ? r->next : NULL;

    while (x != NULL && x->open.base != r->open.base)
        x = x->next;
    return x;
}

static void
unindex_row(const struct head *h, struct head_bucket *b, struct head_row *r)
    REQUIRES(b->lock)
{
    struct head_slot *slot = slot_of(h, b, r->series->index, r->open.base);
    struct head_row *predecessor = head_predecessor(r);

    INSIST(slot->row == r);
    if (predecessor == NULL) {
        free_slot(h, b, slot);
    } else {
        slot->row = predecessor;
        predecessor->indexed = true;
    }
}

struct head_row *
head_newest_row(const struct head *h, const struct head_bucket *b,
                const struct head_series *s, uint32_t base)
{
    struct head_row *r = s->rows;

    if (r == NULL || r->open.base == base)
        return r;
    return r->next == NULL ? NULL : slot_of(h, b, s->index, base)->row;
}

static struct head_row *
new_row(struct head *h, struct head_bucket *b, struct head_series *s,
        uint32_t base, uint64_t segment) REQUIRES(b->lock)
{
    struct head_row *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->open.base = base;
    /* The bucket's rows are in the order of segments.  A put that stood still
     * between asking for the segment and taking the lock may come with an older
     * one than the youngest row has; its record will be behind that row's. */
    r->segment = (uint32_t)segment;
    if (b->youngest != NULL && b->youngest->segment > r->segment)
        r->segment = b->youngest->segment;
    r->series = s;
    r->behind = head_newest_row(h, b, s, base) != NULL;
    r->next = s->rows;
    if (s->rows != NULL) {
        s->rows->newer = r;
        if (s->rows->next == NULL && !s->rows->indexed)
            index_row(h, b, s->rows);
        index_row(h, b, r);
    }
    s->rows = r;
    r->older = b->youngest;
    if (b->youngest != NULL)
        b->youngest->younger = r;
    else
        b->oldest = r;
    b->youngest = r;
    b->rows_len++;
    atomic_fetch_add(&h->rows, 1);
    atomic_fetch_add(&h->bytes, sizeof *r);
    return r;
}

bool
head_append(struct head *h, struct head_bucket *b, struct head_series *s,
            struct head_row *r, struct point p, uint64_t segment,
            uint32_t now_s)
{
    uint32_t held;

    if (r == NULL || r->immutable)
        r = head_newest_row(h, b, s, hour_base(p.ts_ms));
    if (r == NULL || r->immutable)
        r = new_row(h, b, s, hour_base(p.ts_ms), segment);
    if (r == NULL)
        return false;
    held = open_row_held(&r->open);
    if (!open_row_append(&r->open, p)) {
        if (r->open.count == 0) /* it was made for this point */
            head_drop_row(h, b, r);
        return false;
    }
    if (open_row_held(&r->open) != held)
        atomic_fetch_add(&h->bytes, open_row_held(&r->open) - (size_t)held);
    if (open_row_is_crowded(&r->open))
        b->crowded = true;
    r->touched_s = now_s & TOUCHED_MASK;
    s->touched_s = now_s;
    s->is_touched = true;
    return true;
}

struct slice
head_copy_value(const struct buf *value)
{
    uint8_t *bytes =
        value->failed || value->size == 0 ? NULL : malloc(value->size);

    if (bytes == NULL)
        return (struct slice){ NULL, 0 };
    memcpy(bytes, value->data, value->size);
    return slice_of(bytes, value->size);
}

void
head_set_encoded(struct head *h, struct head_bucket *b, struct head_row *r,
                 struct slice value, uint32_t count)
{
    const struct head_series *s = r->series;
    uint32_t size = (uint32_t)value.size;
    uint32_t span = key_span_base(h->layout, r->open.base);

    atomic_fetch_add(&h->bytes, size - (size_t)open_row_held(&r->open));
    atomic_fetch_add(&h->points, count - (size_t)r->open.count);
    if (!r->encoded && r->indexed)
        unindex_row(h, b, r);
    open_row_fini(&r->open);
    r->open = (struct open_row){ .bytes = (uint8_t *)(uintptr_t)value.data,
                                 .size = size,
                                 .cap = size,
                                 .count = count & OPEN_ROW_POINTS_MAX,
                                 .base = ENCODED_BASE(span) };
    if (!r->encoded) {
        r->encoded = true;
        r->immutable = r->indexed = r->behind = false;
        if (s->rows->next != NULL)
            index_row(h, b, r);
    }
}

/* What flushes an immutable row reads it without the lock. */
bool
head_row_summary(struct head *h, struct head_row *r, struct summary *out)
{
    uint32_t held = open_row_held(&r->open);
    bool known = open_row_summary(&r->open, !r->immutable, out);

    if (open_row_held(&r->open) != held)
        atomic_fetch_add(&h->bytes, open_row_held(&r->open) - held);
    return known;
}

void
head_drop_row(struct head *h, struct head_bucket *b, struct head_row *r)
{
    if (r->indexed)
        unindex_row(h, b, r);
    if (r->newer != NULL)
        r->newer->next = r->next;
    else
        r->series->rows = r->next;
    if (r->next != NULL)
        r->next->newer = r->newer;
    if (r->older != NULL)
        r->older->younger = r->younger;
    else
        b->oldest = r->younger;
    if (r->younger != NULL)
        r->younger->older = r->older;
    else
        b->youngest = r->older;
    b->rows_len--;
    atomic_fetch_sub(&h->rows, 1);
    atomic_fetch_sub(&h->points, r->open.count);
    atomic_fetch_sub(&h->bytes, sizeof *r + open_row_held(&r->open));
    open_row_fini(&r->open);
    free(r);
}

/* Series under one lock: some milliseconds of full rows. */
#define TIMES_SERIES 512

static bool
block_times(void *ctx, const struct head_row_view *v)
{
    struct summary s;

    INSIST(block_summary(v->bytes, v->base, &s, NULL) == ST_OK);
    point_times_widen(ctx, s.first_ms, s.last_ms);
    return true;
}

static bool
bucket_times(const struct head *h, struct head_bucket *b,
             const struct head_times_visit *visit, struct point_times *times)
{
    bool more = true;

    for (size_t at = 0; more;) {
        if (cancel_asked(visit->cancel))
            return false;
        lock_take(&b->lock);
        for (size_t n = 0; n < TIMES_SERIES && at < b->series_len; n++, at++) {
            const struct head_series *s = b->series[at];

            if (s != NULL && s->rows != NULL &&
                visit->takes(visit->ctx, head_tsuid(s))) {
                for (struct head_row *r = s->rows; r != NULL; r = r->next) {
                    int64_t base_ms = (int64_t)r->open.base * 1000;
                    struct spacing spacing;

                    if (r->encoded)
                        head_each_block(
                            h, r,
                            &(struct head_visit){ .to_base = UINT32_MAX,
                                                  .f = block_times,
                                                  .ctx = times });
                    else if (base_ms < times->oldest_ms ||
                             base_ms + HOUR_MS > times->newest_ms)
                        open_row_describe(slice_of(r->open.bytes, r->open.size),
                                          r->open.base, &spacing, times);
                }
            }
        }
        more = at < b->series_len;
        lock_drop(&b->lock);
    }
    return true;
}

bool
head_times(struct head *h, const struct head_times_visit *visit,
           struct point_times *times)
{
    for (size_t i = 0; i < h->buckets_len; i++)
        if (!bucket_times(h, &h->buckets[i], visit, times))
            return false;
    return true;
}
