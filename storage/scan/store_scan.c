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

/* -- keys ------------------------------------------------------------------ */

static void
walk_seek(struct store_scan *scan, struct key_walk *w, struct slice key)
{
    if (w->ended)
        return;
    scan->counts.seeks++;
    w->on_key =
        !store_scan_is_over(scan, STEPS_OF_A_SEEK) && kv_iter_seek(w->it, key);
    w->ended = !w->on_key;
    scan->counts.keys += w->on_key;
}

static void
walk_step(struct store_scan *scan, struct key_walk *w)
{
    w->on_key = !store_scan_is_over(scan, 1) && kv_iter_next(w->it);
    w->ended = !w->on_key;
    scan->counts.keys += w->on_key;
}

/* Seeks the first key, as that of a row at or after 'row', that a mask could
 * take. Returns false if there is none. */
static bool
walk_to_hint(struct store_scan *scan, struct key_walk *w, struct slice row)
{
    size_t tags_at = scan->end_size;
    uint8_t hint[ROW_KEY_MAX];
    size_t size = mask_set_hint(scan->spec.masks, row, hint);

    if (size == 0)
        return false;
    if (w->table == TABLE_WEEKS) {
        if (size < tags_at || memcmp(hint, row.data, tags_at) != 0)
            return false; /* it is of another span */
        hint[0] = TABLE_WEEKS;
        key_put_uint(hint + tags_at - 4, w->from, 4);
    }
    /* The walk over the week before has mostly arrived there already. */
    if (!w->on_key || slice_cmp(kv_iter_key(w->it), slice_of(hint, size)) < 0)
        walk_seek(scan, w, slice_of(hint, size));
    return true;
}

/* Moves from the key where the iterator stands, by steps or by hints, to the
 * first one that a mask takes. */
static bool
walk_by_masks(struct store_scan *scan, struct key_walk *w)
{
    uint8_t bytes[ROW_KEY_MAX];
    size_t tags_at = scan->end_size;

    while (w->on_key) {
        struct slice row = kv_iter_key(w->it);

        if (w->table == TABLE_WEEKS) {
            if (row.size < tags_at || row.size > ROW_KEY_MAX ||
                memcmp(row.data + 1, scan->begin + 1, tags_at - 5) != 0 ||
                key_get_uint(row.data + tags_at - 4, 4) != w->from)
                return false; /* it is of another week */
            memcpy(bytes, scan->begin, tags_at);
            memcpy(bytes + tags_at, row.data + tags_at, row.size - tags_at);
            row.data = bytes;
        }
        if (mask_set_match(scan->spec.masks, row)) {
            if (scan->weeks == NULL || store_scan_takes(scan, row))
                return true;
            walk_step(scan, w);
        } else if (w->path == SCAN_RANGE) {
            walk_step(scan, w);
        } else if (!walk_to_hint(scan, w, row)) {
            return false;
        }
    }
    return false;
}

/* The next (base, series), in order of keys. */
static bool
next_target(const struct store_scan *scan, struct key_walk *w)
{
    if (++w->seek_at < w->series_len)
        return true;
    w->seek_at = 0;
    if (w->seek_base >= w->to)
        return false;
    w->seek_base += key_span_s(scan->layout);
    return true;
}

/* Seeks one target after the other until one exists.  The key where the last
 * seek arrived shows which spans and series do not exist; these cost no seek.
 */
static bool
walk_by_seeks(struct store_scan *scan, struct key_walk *w)
{
    uint8_t bytes[ROW_KEY_MAX];

    while (!store_scan_is_over(scan, 1)) {
        struct slice target = { bytes, 0 }, key;
        uint32_t base;
        int order = -1;

        target.size =
            key_row(scan->layout, w->series[w->seek_at], w->seek_base, bytes);
        bytes[0] = w->table;
        if (w->on_key)
            order = slice_cmp(kv_iter_key(w->it), target);
        if (order < 0)
            walk_seek(scan, w, target);
        if (!w->on_key)
            return false;
        key = kv_iter_key(w->it);
        if (order == 0 || slice_eq(key, target))
            return true;
        if (!key_base(scan->layout, key, &base))
            return false;
        base = key_span_base(scan->layout, base);
        if (base > w->to)
            return false;
        if (base > w->seek_base) {
            w->seek_base = base;
            w->seek_at = 0;
        } else if (!next_target(scan, w)) {
            return false;
        }
    }
    return false;
}

bool
store_scan_walk(struct store_scan *scan, struct key_walk *w)
{
    bool first = !w->begun;

    w->begun = true;
    if (first)
        kv_iter_bound(w->it, slice_of(w->end, scan->end_size));
    if (w->path == SCAN_SEEKS)
        return w->series_len > 0 && (first || next_target(scan, w)) &&
               walk_by_seeks(scan, w);
    if (!first)
        walk_step(scan, w);
    else if (!walk_to_hint(scan, w, slice_of(scan->begin, scan->end_size)))
        return false;
    return walk_by_masks(scan, w);
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

/* One block has all hours of the row at hand. */
static inline bool
is_one_block(const struct store_scan *scan)
{
    return scan->hours.block_s != HOUR_S;
}

/* Sets 'part' to those points of the row at hand, which is one block, that lie
 * in the stretch.  Returns false if there are none, or if the block is damaged.
 */
static bool
has_part(struct store_scan *scan)
{
    int64_t from_ms = (int64_t)scan->from_base * 1000;
    int64_t to_ms = ((int64_t)scan->to_base + HOUR_S) * 1000 - 1;
    struct points *p = &scan->scratch;
    struct spacing even;
    struct summary s;
    size_t skip, end;

    scan->part = (struct block_part){ .count = 0 };
    if (scan->from_base <= scan->span &&
        scan->to_base - scan->span >= scan->hours.block_s - HOUR_S)
        return true;
    if (!check_row(scan, block_spacing(scan->block, scan->span, &even, &s,
                                       &scan->error)) ||
        s.first_ms > to_ms || s.last_ms < from_ms)
        return false;
    if (s.first_ms >= from_ms && s.last_ms <= to_ms)
        return true;
    if (even.even) {
        skip = even_seek(even.first_ms, even.step_ms, s.count, from_ms);
        end = even_seek(even.first_ms, even.step_ms, s.count, to_ms + 1);
    } else {
        points_clear(p);
        if (!check_row(scan,
                       block_decode(scan->block, scan->span, p, &scan->error)))
            return false;
        skip = times_seek(p->ts_ms, p->len, from_ms);
        end = times_seek(p->ts_ms, p->len, to_ms + 1);
    }
    if (skip >= end)
        return false;
    scan->part = (struct block_part){
        .count = (uint32_t)(end - skip),
        .skip = (uint32_t)skip,
        .of = s.count,
        .first_ms = even.even ? even.first_ms + (int64_t)skip * even.step_ms
                              : p->ts_ms[skip],
        .last_ms = even.even ? even.first_ms + (int64_t)(end - 1) * even.step_ms
                             : p->ts_ms[end - 1],
    };
    return true;
}

/* Returns whether the hour at hand lies in the stretch and exists.  If it is
 * stored in a part of the row, 'block' is read from there. */
static bool
has_hour(struct store_scan *scan)
{
    const struct row_of_parts row = { store_kv(scan->s), scan->layout,
                                      scan->tsuid, scan->span };
    struct error why;
    enum status status;

    if (scan->block_base < scan->from_base || scan->block_base > scan->to_base)
        return false;
    if (!row_hour_is_elsewhere(scan->block))
        return true;
    /* A failure of the scan sticks, and an engine that looks in two places may
     * fill in an error on its way to success. */
    status = row_part_read(&row, scan->block_base, &scan->part_value,
                           &scan->block, &why);
    if (status != ST_OK)
        scan->error = why;
    return check_row(scan, status) && scan->block.size > 0;
}

static bool
next_hour(struct store_scan *scan)
{
    while (scan->error.status == ST_OK &&
           row_hours_next(&scan->hours, &scan->block_base, &scan->block))
        if (is_one_block(scan) ? has_part(scan) : has_hour(scan))
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
    scan->has_block = scan->on_row && next_hour(scan);
    while (!scan->has_block && scan->error.status == ST_OK) {
        struct slice key;
        enum status status;

        scan->on_row = store_scan_walk(scan, &scan->rows);
        if (!scan->on_row)
            return;
        key = kv_iter_key(scan->rows.it);
        status = key_row_parse(scan->layout, key, &scan->span,
                               &scan->engine_tsuid, &scan->error);
        scan->tsuid = tsuid_slice(&scan->engine_tsuid);
        scan->counts.bytes += key.size;
        if (status != ST_OK)
            return;
        status = row_hours_begin(scan->layout, scan->span,
                                 kv_iter_value(scan->rows.it), &scan->hours,
                                 &scan->error);
        if (!check_row(scan, status))
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
    buf_init_within(&scan->copies, 0, spec->budget);
    buf_init_within(&scan->part_value, 0, spec->budget);
    scan->end_size = key_place(store_layout(s), &place, scan->begin);
    memcpy(scan->rows.end, scan->begin, scan->end_size);
    scan->rows.table = TABLE_ROWS;
    scan->rows.path = spec->path;
    scan->rows.series = spec->series;
    scan->rows.series_len = spec->series_len;
    return scan;
}

void
store_scan_stretch(struct store_scan *scan, uint32_t from_base,
                   uint32_t to_base)
{
    struct key_walk *w = &scan->rows;

    scan->from_base = from_base;
    scan->to_base = to_base;
    w->from = w->seek_base = key_span_base(scan->layout, from_base);
    w->to = key_span_base(scan->layout, to_base);
    w->seek_at = 0;
    key_put_uint(scan->begin + scan->end_size - 4, w->from, 4);
    key_put_uint(w->end + scan->end_size - 4, w->to + 1u, 4);
    w->begun = w->on_key = w->ended = scan->on_row = scan->has_block = false;
    for (scan->head_end = scan->head_at;
         scan->head_end < scan->head_len &&
         scan->head[scan->head_end].span <= w->to;)
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
        out[i]->rows.it = it;
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
    const struct open_copy *c = &scan->head[scan->head_at];
    int order; /* < 0: the engine's hour is next; > 0: the head's */

    if (!scan->has_block && (scan->on_row || !scan->rows.begun))
        next_block(scan);
    if (scan->error.status != ST_OK ||
        (!scan->has_block && scan->head_at == scan->head_end))
        return false;
    *row = (struct store_row){ 0 };
    if (scan->head_at == scan->head_end || !scan->has_block) {
        order = scan->has_block ? -1 : 1;
    } else if (scan->span != c->span) {
        order = scan->span < c->span ? -1 : 1;
    } else {
        order = slice_cmp(scan->tsuid, c->tsuid);
        if (order == 0 && !is_one_block(scan))
            order = (scan->block_base > c->base) - (scan->block_base < c->base);
    }
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
    buf_fini(&scan->copies);
    if (status == ST_OK && scan->error.status != ST_OK) {
        status = scan->error.status;
        if (e != NULL)
            *e = scan->error;
    }
    if (scan->rows.it != NULL && !scan->shares)
        status = kv_iter_end(&scan->rows.it, status, e);
    if (counts != NULL)
        *counts = scan->counts;
    if (scan->spec.arena == NULL)
        arena_free(&scan->arena);
    OBJ_FREE(scan);
    return status;
}
