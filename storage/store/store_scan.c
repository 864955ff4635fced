/*
 * Scans: the rows of one salt bucket that a mask takes, from head and engine as
 * one, ordered by key, hour by hour.
 *
 * The head is copied first and the engine looked at after, so that a row which
 * is flushed in between is seen in at least one of them; in both, the head's
 * points win, and they are the same.
 */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "storage/store/store_priv.h"

#define SCAN_MAGIC FOURCC('S', 'C', 'A', 'N')

/* A row of the head, as copied, and the key of the row in the engine that has
 * its hour.  Two may be of one hour: an immutable one and, made later, the open
 * one. */
struct copied {
    uint8_t *key;
    size_t key_size;
    uint32_t base;
    uint8_t *bytes;
    size_t bytes_size;
    uint32_t count;
    const struct summary *summary; /* NULL: not known */
    size_t order;                  /* of making, within an hour */
};

struct store_scan {
    uint32_t magic;
    struct store *s;
    struct scan_spec spec;
    struct arena *arena;
    struct copied **head; /* in order of keys */
    size_t head_len, head_cap, head_at;
    struct points points; /* of the head's row that is lent */
    struct kv_iter *it;
    bool shares; /* the iterator is closed with a later scan */
    bool begun;
    bool on_key; /* the iterator stands on a row whose hours are lent */
    struct row_hours hours; /* of it, that are to come */
    bool has_block;         /* the one to be lent next */
    struct slice block;
    uint32_t block_base;
    struct slice tsuid; /* of the row that the iterator stands on */
    struct slice predicted_tsuid;
    struct slice matched_prediction; /* of the iterator's row; or empty */
    uint32_t from_row, to_row;       /* the range's first and last row */
    uint32_t seek_base;
    size_t seek_at; /* of spec.series, for SCAN_SEEKS */
    uint8_t engine_tsuid[TSUID_MAX], head_tsuid[TSUID_MAX];
    struct scan_counts counts;
    enum status status;
    struct error error;
};

static void
fail(struct store_scan *scan, enum status status, const char *text)
{
    if (scan->status == ST_OK)
        scan->status = error_set(&scan->error, status, "%s", text);
}

/* -- the head's part ------------------------------------------------------- */

/* NULL when it is not wanted, or there is none. */
static const struct summary *
copy_summary(struct store_scan *scan, struct head_bucket *b, struct head_row *r)
    REQUIRES(b->lock)
{
    struct summary s, *copy = NULL;

    if (scan->spec.summaries && head_row_summary(&scan->s->head, b, r, &s))
        copy = arena_alloc(scan->arena, sizeof *copy);
    if (copy != NULL)
        *copy = s;
    return copy;
}

static void
copy_row(struct store_scan *scan, struct head_bucket *b, struct head_row *r,
         struct slice key, size_t order) REQUIRES(b->lock)
{
    struct copied *c = arena_alloc(scan->arena, sizeof *c);
    uint8_t *copy = arena_alloc(scan->arena, key.size + r->open.size);

    if (c == NULL || copy == NULL) {
        fail(scan, ST_LIMIT, "copies of open rows take more than they may");
        return;
    }
    scan->head =
        mem_grow(scan->head, scan->head_len, &scan->head_cap, sizeof c);
    scan->head[scan->head_len++] = c;
    *c = (struct copied){ .key = copy,
                          .key_size = key.size,
                          .base = r->open.base,
                          .bytes = copy + key.size,
                          .bytes_size = r->open.size,
                          .count = r->open.count,
                          .summary = copy_summary(scan, b, r),
                          .order = order };
    memcpy(c->key, key.data, key.size);
    memcpy(c->bytes, r->open.bytes, r->open.size);
}

static void
copy_series(struct store_scan *scan, struct head_bucket *b,
            const struct head_series *series, bool match) REQUIRES(b->lock)
{
    uint8_t bytes[ROW_KEY_MAX];
    size_t order = SIZE_MAX;

    /* The newest made comes first in the list: 'order' counts down. */
    for (struct head_row *r = series->rows; r != NULL && scan->status == ST_OK;
         r = r->next, order--) {
        struct slice key = { bytes, 0 };

        if (r->open.base < scan->spec.from_base ||
            r->open.base > scan->spec.to_base)
            continue;
        key.size =
            key_row(&scan->s->layout, head_tsuid(series), r->open.base, bytes);
        if (!match || mask_set_match(scan->spec.masks, key))
            copy_row(scan, b, r, key, order);
    }
}

static int
compare_copied(const void *a, const void *b)
{
    const struct copied *x = *(struct copied *const *)a;
    const struct copied *y = *(struct copied *const *)b;
    int c =
        slice_cmp(slice_of(x->key, x->key_size), slice_of(y->key, y->key_size));

    if (c != 0)
        return c;
    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void
copy_head(struct store_scan *scan)
{
    struct head *h = &scan->s->head;
    struct head_bucket *b = &h->buckets[scan->spec.bucket];
    const struct scan_spec *spec = &scan->spec;

    lock_take(&b->lock);
    if (spec->way == SCAN_SEEKS) {
        for (size_t i = 0; i < spec->series_len; i++) {
            struct head_series *series = head_find(h, b, spec->series[i]);

            if (series != NULL)
                copy_series(scan, b, series, false);
        }
    } else {
        uint64_t id =
            key_get_uint(spec->metric.data, (unsigned)spec->metric.size);

        for (const struct head_series *series = head_of_metric(b, id);
             series != NULL && scan->status == ST_OK;
             series = series->metric_next)
            if (series->rows != NULL)
                copy_series(scan, b, series, true);
    }
    lock_drop(&b->lock);
    if (scan->head_len > 1)
        qsort(scan->head, scan->head_len, sizeof *scan->head, compare_copied);
}

/* -- the engine's part ----------------------------------------------------- */

static void
seek(struct store_scan *scan, struct slice key)
{
    scan->counts.seeks++;
    scan->on_key = kv_iter_seek(scan->it, key);
    scan->counts.keys += scan->on_key;
}

static void
step(struct store_scan *scan)
{
    scan->on_key = kv_iter_next(scan->it);
    scan->counts.keys += scan->on_key;
}

/* Is it a row of the series that is expected?  A mask took one of another time,
 * and the range of times is all that masks say of them. */
static bool
is_predicted(const struct store_scan *scan, struct slice key)
{
    const struct key_layout *layout = &scan->s->layout;
    size_t head = 1u + layout->salt_width, width = layout->metric_width;
    const uint8_t *tsuid = scan->predicted_tsuid.data,
                  *base = key.data + head + width;
    uint32_t begins;

    if (scan->predicted_tsuid.size == 0 ||
        key.size != head + scan->predicted_tsuid.size + 4)
        return false;
    begins = (uint32_t)key_get_uint(base, 4);
    return key.data[0] == TABLE_ROWS &&
           (layout->salt_width == 0 || key.data[1] == scan->spec.bucket) &&
           begins >= scan->from_row && begins <= scan->to_row &&
           begins == key_span_base(layout, begins) &&
           memcmp(key.data + head, tsuid, width) == 0 &&
           memcmp(base + 4, tsuid + width,
                  scan->predicted_tsuid.size - width) == 0;
}

static bool
matches(struct store_scan *scan, struct slice key)
{
    bool expected = is_predicted(scan, key);

    scan->matched_prediction =
        expected ? scan->predicted_tsuid : (struct slice){ NULL, 0 };
    return expected || mask_set_match(scan->spec.masks, key);
}

/* From a key on which the iterator stands to the next one that a mask takes. */
static void
advance_skip_scan(struct store_scan *scan)
{
    uint8_t hint[ROW_KEY_MAX];

    while (scan->on_key) {
        struct slice key = kv_iter_key(scan->it);
        size_t size;

        if (matches(scan, key))
            return;
        size = mask_set_hint(scan->spec.masks, key, hint);
        if (size == 0)
            scan->on_key = false;
        else
            seek(scan, slice_of(hint, size));
    }
}

/* Steps over everything; the metric's rows of the time range lie together. */
static void
advance_range_scan(struct store_scan *scan)
{
    const struct key_layout *layout = &scan->s->layout;
    size_t head = 1u + layout->salt_width;
    size_t base_at = head + layout->metric_width;

    while (scan->on_key) {
        struct slice key = kv_iter_key(scan->it);

        if (matches(scan, key))
            return;
        if (key.size < base_at + 4 || key.data[0] != TABLE_ROWS ||
            (layout->salt_width == 1 && key.data[1] != scan->spec.bucket) ||
            memcmp(key.data + head, scan->spec.metric.data,
                   scan->spec.metric.size) != 0 ||
            key_get_uint(key.data + base_at, 4) > scan->to_row) {
            scan->on_key = false;
            return;
        }
        step(scan);
    }
}

/* The next (span, series), in order of keys. */
static bool
next_target(struct store_scan *scan)
{
    if (++scan->seek_at < scan->spec.series_len)
        return true;
    scan->seek_at = 0;
    if (scan->seek_base >= scan->to_row)
        return false;
    scan->seek_base += key_span_s(&scan->s->layout);
    return true;
}

/* Forward to the first target at or behind the key where a seek arrived: spans
 * and series that are not there cost nothing. False when none is left. */
static bool
skip_targets(struct store_scan *scan, struct slice found)
{
    const struct key_layout *layout = &scan->s->layout;
    size_t base_at = 1u + layout->salt_width + layout->metric_width;
    uint8_t bytes[ROW_KEY_MAX];
    uint64_t base;

    if (found.size < base_at + 4)
        return false;
    (void)key_row(layout, scan->spec.series[0], 0, bytes);
    if (memcmp(found.data, bytes, base_at) != 0)
        return false; /* behind all rows of this metric */
    base = key_get_uint(found.data + base_at, 4);
    if (base > scan->to_row)
        return false;
    if (base > scan->seek_base) {
        scan->seek_base = key_span_base(layout, (uint32_t)base);
        scan->seek_at = 0;
    }
    for (;;) {
        size_t size = key_row(layout, scan->spec.series[scan->seek_at],
                              scan->seek_base, bytes);

        if (slice_cmp(slice_of(bytes, size), found) >= 0)
            return true;
        if (!next_target(scan))
            return false;
    }
}

/* Seeks target after target until one is there. */
static void
advance_point_lookups(struct store_scan *scan)
{
    uint8_t bytes[ROW_KEY_MAX];

    for (;;) {
        struct slice target = { bytes, 0 };

        target.size =
            key_row(&scan->s->layout, scan->spec.series[scan->seek_at],
                    scan->seek_base, bytes);
        if (!scan->on_key || slice_cmp(kv_iter_key(scan->it), target) < 0)
            seek(scan, target);
        if (!scan->on_key || slice_eq(kv_iter_key(scan->it), target))
            return;
        if (!skip_targets(scan, kv_iter_key(scan->it))) {
            scan->on_key = false;
            return;
        }
    }
}

static void
first_key(struct store_scan *scan)
{
    uint8_t hint[ROW_KEY_MAX];
    size_t size;

    if (scan->spec.way == SCAN_SEEKS) {
        scan->seek_base = scan->from_row;
        if (scan->spec.series_len > 0)
            advance_point_lookups(scan);
        return;
    }
    size = mask_set_hint(scan->spec.masks, (struct slice){ NULL, 0 }, hint);
    if (size == 0)
        return;
    seek(scan, slice_of(hint, size));
    if (scan->spec.way == SCAN_HINTS)
        advance_skip_scan(scan);
    else
        advance_range_scan(scan);
}

static void
next_key(struct store_scan *scan)
{
    switch (scan->spec.way) {
    case SCAN_HINTS:
        step(scan);
        advance_skip_scan(scan);
        break;
    case SCAN_RANGE:
        step(scan);
        advance_range_scan(scan);
        break;
    case SCAN_SEEKS:
        if (next_target(scan))
            advance_point_lookups(scan);
        else
            scan->on_key = false;
        break;
    }
}

/* -- the engine's hours ---------------------------------------------------- */

static uint32_t
base_of(const struct store_scan *scan, struct slice key)
{
    const struct key_layout *layout = &scan->s->layout;

    return (uint32_t)key_get_uint(
        key.data + 1 + layout->salt_width + layout->metric_width, 4);
}

/* The iterator stands on a row: whose is it, and what is in it? */
static bool
begin_row(struct store_scan *scan)
{
    const struct key_layout *layout = &scan->s->layout;
    struct slice key = kv_iter_key(scan->it);
    enum status status = ST_OK;
    uint32_t base = 0;
    unsigned salt;

    if (scan->matched_prediction.size > 0) {
        scan->tsuid = scan->matched_prediction;
        base = base_of(scan, key);
    } else {
        scan->tsuid.data = scan->engine_tsuid;
        status = key_row_parse(layout, key, &salt, &base, scan->engine_tsuid,
                               &scan->tsuid.size, &scan->error);
    }
    if (status == ST_OK)
        status = row_hours_begin(layout, base, kv_iter_value(scan->it),
                                 &scan->hours, &scan->error);
    if (status == ST_OK)
        scan->counts.bytes += key.size;
    else
        scan->status = status;
    return status == ST_OK;
}

/* The next hour of the range in the row on which the iterator stands. */
static bool
next_hour(struct store_scan *scan)
{
    while (row_hours_next(&scan->hours, &scan->block_base, &scan->block))
        if (scan->block_base >= scan->spec.from_base &&
            scan->block_base <= scan->spec.to_base)
            return true;
    if (scan->status == ST_OK)
        scan->status = row_hours_end(&scan->hours, &scan->error);
    return false;
}

/* What the engine has to lend next, in 'block', 'block_base' and 'tsuid'.  The
 * row that was lent last is left only here. */
static void
next_block(struct store_scan *scan)
{
    scan->has_block = scan->on_key && next_hour(scan);
    while (!scan->has_block && scan->status == ST_OK) {
        if (scan->begun)
            next_key(scan);
        else
            first_key(scan);
        scan->begun = true;
        if (!scan->on_key || !begin_row(scan))
            return;
        scan->has_block = next_hour(scan);
    }
}

/* -- both together --------------------------------------------------------- */

static struct store_scan *
open_head(struct store *s, const struct scan_spec *spec, size_t taken)
{
    struct store_scan *scan = mem_new(sizeof *scan);

    INSIST(spec->bucket < s->head.buckets_len);
    scan->magic = SCAN_MAGIC;
    scan->s = s;
    scan->spec = *spec;
    scan->arena =
        arena_new_within(spec->max_bytes > taken ? spec->max_bytes - taken
                                                 : spec->max_bytes != 0,
                         spec->budget);
    scan->from_row = key_span_base(&s->layout, spec->from_base);
    scan->to_row = key_span_base(&s->layout, spec->to_base);
    copy_head(scan);
    return scan;
}

enum status
store_scans_open(struct store *s, const struct scan_spec *specs, size_t len,
                 struct store_scan **out, struct error *e)
{
    enum status status = ST_OK;
    size_t taken = 0;
    struct kv_iter *it;

    OBJ_CHECK(s, STORE_MAGIC);
    for (size_t i = 0; i < len; i++) {
        out[i] = open_head(s, &specs[i], taken);
        taken += arena_used(out[i]->arena);
        if (status == ST_OK && out[i]->status != ST_OK) {
            status = out[i]->status;
            *e = out[i]->error;
        }
    }
    /* Behind all heads; before it, what is flushed meanwhile would be missed.
     */
    it = kv_iter_open(s->kv, KEY_TABLE(TABLE_ROWS));
    for (size_t i = 0; i < len; i++) {
        out[i]->it = it;
        out[i]->shares = i + 1 < len;
    }
    for (size_t i = 0; i < len && status != ST_OK; i++) {
        enum status closed = store_scan_close(&out[i], NULL, NULL);

        status = status == ST_OK ? closed : status;
    }
    return status;
}

enum status
store_scan_open(struct store *s, const struct scan_spec *spec,
                struct store_scan **out, struct error *e)
{
    return store_scans_open(s, spec, 1, out, e);
}

/* Are both of the same hour of a row? */
static bool
same_hour(const struct copied *a, const struct copied *b)
{
    return a->base == b->base && slice_eq(slice_of(a->key, a->key_size),
                                          slice_of(b->key, b->key_size));
}

/* An hour of the head of which there is nothing else is lent as it is. */
static bool
lend_single_source(struct store_scan *scan, struct store_row *row)
{
    const struct copied *c = scan->head[scan->head_at];

    if (row->block.size > 0 || (scan->head_at + 1 < scan->head_len &&
                                same_hour(c, scan->head[scan->head_at + 1])))
        return false;
    row->open = slice_of(c->bytes, c->bytes_size);
    row->open_len = c->count;
    row->summary = c->summary;
    scan->head_at++;
    return true;
}

/* Unpacks the head's rows of one hour, all of them. */
static void
take_head(struct store_scan *scan)
{
    const struct copied *first = scan->head[scan->head_at];

    points_clear(&scan->points);
    for (; scan->head_at < scan->head_len; scan->head_at++) {
        const struct copied *c = scan->head[scan->head_at];

        if (!same_hour(first, c))
            break;
        if (!open_row_unpack(slice_of(c->bytes, c->bytes_size), c->count,
                             c->base, &scan->points))
            fail(scan, ST_BUSY, "no memory to read a row");
    }
    points_sort_unique(&scan->points);
}

/* < 0: the engine's hour is next; > 0: the head's; 0: they are the same. */
static int
compare_hours(const struct store_scan *scan)
{
    const struct copied *c;
    int order;

    if (scan->head_at == scan->head_len)
        return -1;
    if (!scan->has_block)
        return 1;
    c = scan->head[scan->head_at];
    order = slice_cmp(kv_iter_key(scan->it), slice_of(c->key, c->key_size));
    if (order != 0)
        return order;
    return (scan->block_base > c->base) - (scan->block_base < c->base);
}

/* Whose the head's next row is. */
static bool
parse_head_key(struct store_scan *scan, struct store_row *row)
{
    const struct copied *c = scan->head[scan->head_at];
    uint32_t begins;
    unsigned salt;

    row->base = c->base;
    row->tsuid.data = scan->head_tsuid;
    if (key_row_parse(&scan->s->layout, slice_of(c->key, c->key_size), &salt,
                      &begins, scan->head_tsuid, &row->tsuid.size,
                      &scan->error) == ST_OK)
        return true;
    scan->status = ST_CORRUPT;
    return false;
}

bool
store_scan_next(struct store_scan *scan, struct store_row *row)
{
    int order;

    OBJ_CHECK(scan, SCAN_MAGIC);
    if (!scan->has_block && (scan->on_key || !scan->begun))
        next_block(scan);
    if (scan->status != ST_OK ||
        (!scan->has_block && scan->head_at == scan->head_len))
        return false;
    *row = (struct store_row){ 0 };
    order = compare_hours(scan);
    if (order <= 0) {
        row->tsuid = scan->tsuid;
        row->base = scan->block_base;
        row->block = scan->block;
        scan->counts.bytes += scan->block.size;
        scan->has_block = false; /* the next call goes on */
    } else if (!parse_head_key(scan, row)) {
        return false;
    }
    if (order >= 0) {
        scan->counts.head_rows++;
        if (!lend_single_source(scan, row)) {
            take_head(scan);
            row->head = &scan->points;
        }
    }
    scan->counts.rows++;
    return scan->status == ST_OK;
}

void
store_scan_expect(struct store_scan *scan, struct slice tsuid)
{
    OBJ_CHECK(scan, SCAN_MAGIC);
    scan->predicted_tsuid = tsuid;
}

enum status
store_scan_close(struct store_scan **sp, struct scan_counts *counts,
                 struct error *e)
{
    struct store_scan *scan = *sp;
    enum status status, closed = ST_OK;

    *sp = NULL;
    if (scan == NULL)
        return ST_OK;
    OBJ_CHECK(scan, SCAN_MAGIC);
    status = scan->status;
    if (status != ST_OK && e != NULL)
        *e = scan->error;
    if (scan->it != NULL && !scan->shares)
        closed = kv_iter_close(&scan->it, status == ST_OK ? e : NULL);
    if (counts != NULL)
        *counts = scan->counts;
    points_fini(&scan->points);
    free(scan->head);
    arena_free(&scan->arena);
    OBJ_CLEAR(scan);
    free(scan);
    return status != ST_OK ? status : closed;
}

/* Appends them as they came; if that was in no order, they are put in order. */
static bool
unpack_open(const struct store_row *row, struct points *out)
{
    size_t from = out->len;
    struct points mine;

    if (!open_row_unpack(row->open, row->open_len, row->base, out))
        return false;
    mine = (struct points){ .ts_ms = out->ts_ms + from,
                            .v = out->v + from,
                            .is_float = out->is_float + from,
                            .len = out->len - from };
    points_sort_unique(&mine);
    out->len = from + mine.len;
    return true;
}

enum status
store_row_points(const struct store_row *row, struct points *out,
                 struct error *e)
{
    struct points stored = { 0 };
    enum status status;

    if (row->open.size > 0)
        return unpack_open(row, out)
                   ? ST_OK
                   : error_set(e, ST_BUSY, "no memory for points");
    /* With neither the engine's value is empty, which is no block. */
    if (row->block.size == 0 && row->head != NULL)
        return points_append(out, row->head)
                   ? ST_OK
                   : error_set(e, ST_BUSY, "no memory for points");
    if (row->head == NULL || row->head->len == 0)
        return block_decode(row->block, row->base, out, e);
    status = block_decode(row->block, row->base, &stored, e);
    if (status == ST_OK && !points_merge(&stored, row->head, out))
        status = error_set(e, ST_BUSY, "no memory for points");
    points_fini(&stored);
    return status;
}

bool
store_row_is_block(const struct store_row *row)
{
    return row->block.size > 0 && (row->head == NULL || row->head->len == 0);
}

enum status
store_row_spaced(const struct store_row *row, struct points *out,
                 struct spacing *s, struct error *e)
{
    if (store_row_is_block(row))
        return block_decode_spaced(row->block, row->base, out, s, e);
    if (open_row_unpack_even(row->open, row->open_len, row->base, out, s))
        return ST_OK;
    *s = (struct spacing){ .even = false };
    return store_row_points(row, out, e);
}

enum status
store_row_summary(const struct store_row *row, struct summary *out, bool *known,
                  struct error *e)
{
    *known = row->summary != NULL || store_row_is_block(row);
    if (row->summary != NULL) {
        *out = *row->summary;
        return ST_OK;
    }
    return *known ? block_summary(row->block, row->base, out, e) : ST_OK;
}
