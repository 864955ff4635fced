/*
 * The newest point of a series: from row to row of its metric, the newest one
 * first, until one has it.
 */
#include "config.h"

#include "storage/store/store_priv.h"

/* The newest of 'p' at or before 'until_ms'. */
static bool
newest_in(const struct points *p, int64_t until_ms, struct point *out)
{
    for (size_t i = p->len; i-- > 0;)
        if (p->ts_ms[i] <= until_ms) {
            *out = points_at(p, i);
            return true;
        }
    return false;
}

/* The newest hour of a series between two, both included: its points go to
 * 'out'; none is no failure. */
static enum status
read_newest(struct store *s, struct slice tsuid, uint32_t from_base,
            uint32_t to_base, uint32_t *base, struct points *out,
            struct error *e)
{
    struct scan_spec spec = {
        .bucket = key_salt(&s->layout, tsuid),
        .way = SCAN_SEEKS,
        .from_base = from_base,
        .to_base = to_base,
        .series = &tsuid,
        .series_len = 1,
        .metric = { tsuid.data, s->layout.metric_width },
    };
    struct buf block = BUF_INIT; /* of the newest hour, if all of it is one */
    struct store_scan *scan;
    struct store_row row;
    enum status status = store_scan_open(s, &spec, &scan, e), closed;

    if (status != ST_OK)
        return status;
    while (status == ST_OK && store_scan_next(scan, &row)) {
        points_clear(out);
        buf_clear(&block);
        *base = row.base;
        if (store_row_is_block(&row))
            buf_put_slice(&block, row.block);
        else
            status = store_row_points(&row, out, e);
    }
    closed = store_scan_close(&scan, NULL, status == ST_OK ? e : NULL);
    if (status == ST_OK)
        status = closed;
    if (status == ST_OK && block.failed)
        status = error_set(e, ST_BUSY, "no memory for a row");
    if (status == ST_OK && block.size > 0)
        status = block_decode(buf_slice(&block), *base, out, e);
    buf_fini(&block);
    return status;
}

/* The rows of a metric in the engine, in one bucket. */
struct metric_rows {
    struct kv_iter *it;
    uint32_t span;  /* seconds */
    size_t base_at; /* in 'key', where the base begins */
    uint8_t key[ROW_KEY_MAX];
};

/* The first span between two, both included, that the metric has a row in. */
static bool
first_span(struct metric_rows *m, uint32_t from, uint32_t to, uint32_t *out)
{
    struct slice key;

    for (unsigned i = 0; i < 4; i++)
        m->key[m->base_at + i] = (uint8_t)(from >> (24 - 8 * i));
    if (!kv_iter_seek(m->it, slice_of(m->key, m->base_at + 4)))
        return false;
    key = kv_iter_key(m->it);
    if (key.size < m->base_at + 4 || memcmp(key.data, m->key, m->base_at) != 0)
        return false;
    *out = (uint32_t)key_get_uint(key.data + m->base_at, 4);
    *out -= *out % m->span;
    return *out <= to;
}

/* The last one.  An engine seeks forwards only: steps back, each twice as long
 * as the one before, until there is a row, and then halves what is left. */
static bool
last_span(struct metric_rows *m, uint32_t from, uint32_t to, uint32_t *out)
{
    const uint32_t span = m->span;
    uint64_t step = span;
    uint32_t low = to, found;

    while (!first_span(m, low, to, out)) {
        if (low <= from)
            return false;
        to = low - span;
        low = low - from > step ? low - (uint32_t)step : from;
        step *= 2;
    }
    while (*out < to) {
        uint32_t middle = *out + ((to - *out) / span + 1) / 2 * span;

        if (first_span(m, middle, to, &found))
            *out = found;
        else
            to = middle - span;
    }
    return true;
}

/* The first second <= 'base' of a row that the series may have: one of its open
 * ones, or a span that its metric has in the engine, whose iterator, '*itp', is
 * to be closed. */
static bool
previous_row(struct store *s, struct slice tsuid, uint32_t base,
             struct kv_iter **itp, uint32_t *out)
{
    struct head_bucket *b = head_bucket_of(&s->head, tsuid);
    struct metric_rows m = {
        .span = key_span_s(&s->layout),
        .base_at = 1u + s->layout.salt_width + s->layout.metric_width,
    };
    uint32_t from = 0;
    const struct head_series *series;
    bool found = false;

    (void)key_row(&s->layout, tsuid, base, m.key);
    *out = 0;
    lock_take(&b->lock);
    series = head_find(&s->head, b, tsuid);
    for (const struct head_row *r = series == NULL ? NULL : series->rows;
         r != NULL; r = r->next)
        if (r->open.base <= base && (!found || r->open.base > *out)) {
            found = true;
            *out = r->open.base;
        }
    lock_drop(&b->lock);
    base = key_span_base(&s->layout, base);
    *out = key_span_base(&s->layout, *out);
    if (found)
        from = *out + m.span;
    /* Behind the head; before it, what is flushed meanwhile would be missed. */
    *itp = m.it = kv_iter_open(s->kv, NULL, KEY_TABLE(TABLE_ROWS));
    if (from > base)
        return true;
    return last_span(&m, from, base, out) || found;
}

enum status
store_last(struct store *s, struct slice tsuid, int64_t until_ms,
           struct point *out, struct error *e)
{
    struct points hour = { 0 };
    enum status status = ST_NOT_FOUND;
    uint32_t base, row;

    OBJ_CHECK(s, STORE_MAGIC);
    if (!tsuid_is_valid(&s->layout, tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    if (until_ms > POINT_MAX_TS_MS)
        until_ms = POINT_MAX_TS_MS;
    base = until_ms < 0 ? 0 : hour_base(until_ms);
    while (until_ms >= 0) {
        struct kv_iter *it;
        bool found = previous_row(s, tsuid, base, &it, &row);
        enum status closed = kv_iter_close(&it, e);

        if (closed != ST_OK)
            status = closed;
        if (closed != ST_OK || !found)
            break;
        /* Up to the end of the span, unless 'until' is in it. */
        if (base - row >= key_span_s(&s->layout))
            base = row + key_span_s(&s->layout) - HOUR_S;
        points_clear(&hour);
        closed = read_newest(s, tsuid, row, base, &base, &hour, e);
        if (closed != ST_OK) {
            status = closed;
            break;
        }
        if (newest_in(&hour, until_ms, out)) {
            status = ST_OK;
            break;
        }
        /* Nothing in the span, or all of the hour is too new. */
        if (hour.len == 0)
            base = row;
        if (base < HOUR_S)
            break;
        base -= HOUR_S;
    }
    points_fini(&hour);
    if (status == ST_NOT_FOUND)
        return error_set(e, ST_NOT_FOUND, "the series has no point");
    return status;
}
