/* Scans: the rows of one salt bucket that a mask takes, from head and engine as
 * one, ordered by key, hour by hour.  store_scan_weeks.c lends weeks in their
 * place: then the range is read in stretches, one after the other.
 *
 * Rows of a bucket that another process owns are copied by that one.
 *
 * The head is copied first and the engine looked at after, so that a row which
 * is flushed in between is seen in at least one of them; in both, the head's
 * points win, and they are the same. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "storage/scan/store_scan_priv.h"

/* A millisecond of work, about. */
#define STEPS_BETWEEN_LOOKS 8192

bool
store_scan_is_over(struct store_scan *scan, unsigned steps)
{
    scan->unchecked += steps;
    if (scan->unchecked < STEPS_BETWEEN_LOOKS)
        return false;
    scan->unchecked = 0;
    if (!cancel_asked(scan->spec.cancel))
        return false;
    if (scan->error.status == ST_OK)
        (void)error_set(&scan->error, ST_BUSY, "the scan was cancelled");
    return true;
}

/* -- the engine's part ----------------------------------------------------- */

static void
seek(struct store_scan *scan, struct slice key)
{
    scan->counts.seeks++;
    scan->on_key = !store_scan_is_over(scan, STEPS_OF_A_SEEK) &&
                   kv_iter_seek(scan->it, key);
    scan->counts.keys += scan->on_key;
}

static void
step(struct store_scan *scan)
{
    scan->on_key = !store_scan_is_over(scan, 1) && kv_iter_next(scan->it);
    scan->counts.keys += scan->on_key;
}

/* From a key on which the iterator stands to the next one that a mask takes: by
 * steps, or by hints. */
static void
advance_by_masks(struct store_scan *scan)
{
    uint8_t hint[ROW_KEY_MAX];

    while (scan->on_key) {
        struct slice key = kv_iter_key(scan->it);
        size_t size;

        if (mask_set_match(scan->spec.masks, key)) {
            if (scan->weeks == NULL || store_scan_takes(scan, key))
                return;
            step(scan);
        } else if (scan->path == SCAN_RANGE) {
            step(scan);
        } else {
            size = mask_set_hint(scan->spec.masks, key, hint);
            scan->on_key = false;
            if (size > 0)
                seek(scan, slice_of(hint, size));
        }
    }
}

/* The next (span, series), in order of keys. */
static bool
next_target(struct store_scan *scan)
{
    if (++scan->seek_at < scan->series_len)
        return true;
    scan->seek_at = 0;
    if (scan->seek_base >= scan->to_row)
        return false;
    scan->seek_base += key_span_s(scan->layout);
    return true;
}

/* Seeks target after target until one is there.  Spans and series that are not
 * there, by the key where the last seek arrived, cost no seek. */
static void
advance_by_seeks(struct store_scan *scan)
{
    const struct key_layout *layout = scan->layout;
    uint8_t bytes[ROW_KEY_MAX];

    for (;;) {
        struct slice target = { bytes, 0 }, key;
        uint32_t span;
        int order = -1;

        if (store_scan_is_over(scan, 1)) {
            scan->on_key = false;
            return;
        }
        target.size = key_row(layout, scan->series[scan->seek_at],
                              scan->seek_base, bytes);
        if (scan->on_key)
            order = slice_cmp(kv_iter_key(scan->it), target);
        if (order < 0) {
            seek(scan, target);
            if (!scan->on_key)
                return;
        }
        key = kv_iter_key(scan->it);
        if (order == 0 || slice_eq(key, target))
            return;
        scan->on_key = key_base(layout, key, &span);
        if (!scan->on_key)
            return;
        span = key_span_base(layout, span);
        if (span > scan->seek_base) {
            scan->seek_base = span;
            scan->seek_at = 0;
        } else if (!next_target(scan)) {
            scan->on_key = false;
            return;
        }
    }
}

static void
next_key(struct store_scan *scan)
{
    bool first = !scan->begun;
    uint8_t hint[ROW_KEY_MAX];
    size_t size;

    scan->begun = true;
    if (first)
        kv_iter_bound(scan->it, slice_of(scan->end, scan->end_size));
    if (scan->path == SCAN_SEEKS) {
        if (scan->series_len > 0 && (first || next_target(scan)))
            advance_by_seeks(scan);
        else
            scan->on_key = false;
        return;
    }
    if (first) {
        size = mask_set_hint(scan->spec.masks,
                             slice_of(scan->begin, scan->end_size), hint);
        if (size > 0)
            seek(scan, slice_of(hint, size));
    } else {
        step(scan);
    }
    advance_by_masks(scan);
}

/* -- the engine's hours ---------------------------------------------------- */

/* A failure names the row at hand. */
static bool
check_row(struct store_scan *scan, enum status status)
{
    if (status != ST_OK)
        scan->error.status =
            key_row_error(scan->tsuid, scan->span, status, &scan->error);
    return status == ST_OK;
}

static bool
begin_row(struct store_scan *scan)
{
    const struct key_layout *layout = scan->layout;
    struct slice key = kv_iter_key(scan->it);
    enum status status = key_row_parse(layout, key, &scan->span,
                                       &scan->engine_tsuid, &scan->error);

    scan->tsuid = tsuid_slice(&scan->engine_tsuid);
    scan->counts.bytes += key.size;
    if (status != ST_OK)
        return false;
    status = row_hours_begin(layout, scan->span, kv_iter_value(scan->it),
                             &scan->hours, &scan->error);
    return check_row(scan, status);
}

/* One block has all hours of the row at hand. */
static inline bool
is_one_block(const struct store_scan *scan)
{
    return scan->hours.block_s != HOUR_S;
}

static inline bool
has_hour(const struct store_scan *scan)
{
    return scan->block_base >= scan->from_base &&
           scan->block_base <= scan->to_base;
}

/* The block of an hour that is stored in a part of the row at hand; false if
 * there is none any more, or after a failure. */
static bool
read_part(struct store_scan *scan)
{
    const struct row_of_parts row = { store_kv(scan->s), scan->layout,
                                      scan->tsuid, scan->span };
    /* A failure of the scan sticks, and an engine that looks in two places may
     * fill in an error on its way to success. */
    struct error why;
    enum status status = row_part_read(&row, scan->block_base,
                                       &scan->part_value, &scan->block, &why);

    if (status != ST_OK)
        scan->error = why;
    return check_row(scan, status) && scan->block.size > 0;
}

static bool
next_hour(struct store_scan *scan)
{
    while (scan->error.status == ST_OK &&
           row_hours_next(&scan->hours, &scan->block_base, &scan->block))
        if (is_one_block(scan)
                ? store_scan_has_part(scan)
                : has_hour(scan) &&
                      (!row_hour_is_elsewhere(scan->block) || read_part(scan)))
            return true;
    if (scan->error.status == ST_OK)
        (void)check_row(scan, row_hours_end(&scan->hours, &scan->error));
    return false;
}

/* What the engine has to lend next, in 'block', 'block_base' and 'tsuid'.  The
 * row that was lent last is left only here. */
static void
next_block(struct store_scan *scan)
{
    scan->has_block = scan->on_key && next_hour(scan);
    while (!scan->has_block && scan->error.status == ST_OK) {
        next_key(scan);
        if (!scan->on_key || !begin_row(scan))
            return;
        scan->has_block = next_hour(scan);
    }
}

/* -- both together --------------------------------------------------------- */

static struct store_scan *
new_scan(struct store *s, const struct scan_spec *spec)
{
    struct store_scan *scan = mem_new(sizeof *scan);
    const struct key_place place = {
        .table = TABLE_ROWS,
        .bucket = spec->bucket,
        .metric =
            key_get_uint(spec->metric.data, store_layout(s)->metric_width),
    };

    INSIST(spec->bucket < store_layout(s)->salt_buckets);
    scan->magic = SCAN_MAGIC;
    scan->s = s;
    scan->layout = store_layout(s);
    scan->spec = *spec;
    buf_init_within(&scan->part_value, 0, spec->budget);
    scan->end_size = key_place(store_layout(s), &place, scan->end);
    memcpy(scan->begin, scan->end, scan->end_size);
    scan->series = spec->series;
    scan->series_len = spec->series_len;
    scan->path = spec->path;
    return scan;
}

void
store_scan_stretch(struct store_scan *scan, uint32_t from_base,
                   uint32_t to_base)
{
    const struct key_layout *layout = scan->layout;

    scan->from_base = from_base;
    scan->to_base = to_base;
    scan->seek_base = key_span_base(layout, from_base);
    scan->seek_at = 0;
    scan->to_row = key_span_base(layout, to_base);
    key_put_uint(scan->begin + scan->end_size - 4, scan->seek_base, 4);
    key_put_uint(scan->end + scan->end_size - 4, scan->to_row + 1u, 4);
    scan->begun = scan->on_key = scan->has_block = false;
    for (scan->head_end = scan->head_at;
         scan->head_end < scan->head_len &&
         scan->head[scan->head_end].span <= scan->to_row;)
        scan->head_end++;
}

enum status
store_scans_open(struct store *s, const struct scan_spec *specs, size_t len,
                 struct store_scan **out, struct error *e)
{
    enum status status;
    struct kv_iter *it;

    for (size_t i = 0; i < len; i++)
        out[i] = new_scan(s, &specs[i]);
    status = store_scans_copy_heads(s, specs, out, len, e);
    for (size_t i = 0; i < len; i++)
        store_scan_stretch(out[i], specs[i].from_base, specs[i].to_base);
    /* After all heads, or what is flushed meanwhile would be missed; before the
     * entries of weeks, or a row that is merged into one meanwhile would be. */
    it = kv_iter_open(store_kv(s), KEY_TABLE(TABLE_ROWS));
    kv_iter_deadline(it, len == 0 ? 0 : specs[0].end_us);
    for (size_t i = 0; i < len; i++) {
        out[i]->it = it;
        out[i]->shares = i + 1 < len;
    }
    if (status == ST_OK)
        status = store_scans_begin_weeks(s, out, len, e);
    /* What is asked for was found in memory: do we hear what others change? */
    if (status == ST_OK)
        status = store_owns(s, e);
    for (size_t i = 0; i < len && status != ST_OK; i++)
        status = store_scan_close(&out[i], NULL, status, NULL);
    return status;
}

/* < 0: the engine's hour is next; > 0: the head's; 0: they are the same. */
static int
compare_hours(const struct store_scan *scan)
{
    const struct open_copy *c;
    int order;

    if (scan->head_at == scan->head_end)
        return -1;
    if (!scan->has_block)
        return 1;
    c = &scan->head[scan->head_at];
    if (scan->span != c->span)
        return scan->span < c->span ? -1 : 1;
    order = slice_cmp(scan->tsuid, c->tsuid);
    if (order != 0 || is_one_block(scan))
        return order;
    return (scan->block_base > c->base) - (scan->block_base < c->base);
}

/* Those of the hour at hand; where one block has all hours of a row, of all. */
static void
take_head(struct store_scan *scan, struct store_row *row)
{
    const struct open_copy *c = &scan->head[scan->head_at];
    bool all = row->block.size > 0 && is_one_block(scan);
    size_t n = 1;

    while (scan->head_at + n < scan->head_end &&
           (all ? c[n].span == c->span : c[n].base == c->base) &&
           slice_eq(c[n].tsuid, c->tsuid))
        n++;
    if (row->block.size == 0) {
        row->tsuid = c->tsuid;
        row->base = c->base;
    }
    row->open = c;
    row->open_len = n;
    if (c->is_block && row->block.size == 0) {
        row->block = c->bytes;
        row->open++;
        row->open_len--;
    }
    scan->head_at += n;
    scan->counts.head_rows++;
}

/* Of the stretch at hand. */
static bool
next_hour_of_both(struct store_scan *scan, struct store_row *row)
{
    int order;

    if (!scan->has_block && (scan->on_key || !scan->begun))
        next_block(scan);
    if (scan->error.status != ST_OK ||
        (!scan->has_block && scan->head_at == scan->head_end))
        return false;
    *row = (struct store_row){ 0 };
    order = compare_hours(scan);
    if (order <= 0) {
        row->tsuid = scan->tsuid;
        row->base = scan->block_base;
        row->block = scan->block;
        if (is_one_block(scan))
            row->part = scan->part;
        scan->counts.bytes += scan->block.size;
        scan->has_block = false; /* the next call goes on */
    }
    if (order >= 0)
        take_head(scan, row);
    scan->counts.rows++;
    return true;
}

bool
store_scan_next(struct store_scan *scan, struct store_row *row)
{
    OBJ_CHECK(scan, SCAN_MAGIC);
    do
        if (scan->weeks != NULL && store_scan_next_week(scan, row))
            return true;
        else if (next_hour_of_both(scan, row))
            return true;
    while (scan->error.status == ST_OK && scan->weeks != NULL &&
           store_scan_next_stretch(scan));
    return false;
}

enum status
store_scan_close(struct store_scan **sp, struct scan_counts *counts,
                 enum status status, struct error *e)
{
    struct store_scan *scan = OBJ_TAKE(sp, SCAN_MAGIC);

    if (scan == NULL)
        return status;
    store_scan_end_weeks(scan);
    points_fini(&scan->scratch);
    buf_fini(&scan->part_value);
    if (status == ST_OK && scan->error.status != ST_OK) {
        status = scan->error.status;
        if (e != NULL)
            *e = scan->error;
    }
    if (scan->it != NULL && !scan->shares)
        status = kv_iter_end(&scan->it, status, e);
    if (counts != NULL)
        *counts = scan->counts;
    if (scan->spec.arena == NULL)
        arena_free(&scan->arena);
    OBJ_FREE(scan);
    return status;
}
