/* The newest point of a series: in windows of time.  First all that is newer
 * than now, which is seldom anything; then back from now, each longer than the
 * one before; at last all that is older.  Of a long one that has rows the half
 * with the newest is looked for. */

#include "storage/scan/store_scan.h"
#include "storage/store/store_state.h"

#define WIDEST 64 /* spans of which all rows are read, oldest first */
#define WIDER  8  /* times the window before */

static struct scan_spec
spec_of(struct store *s, const struct slice *tsuid, uint32_t from_base,
        uint32_t to_base)
{
    return (struct scan_spec){
        .bucket = key_salt(store_layout(s), *tsuid),
        .path = SCAN_SEEKS,
        .from_base = from_base,
        .to_base = to_base,
        .series = tsuid,
        .series_len = 1,
        .metric = { tsuid->data, store_layout(s)->metric_width },
    };
}

/* The oldest hour of a series between '*base' and another, both included. */
static enum status
find_oldest(struct store *s, struct slice tsuid, uint32_t *base,
            uint32_t to_base, bool *found, struct error *e)
{
    struct scan_spec spec = spec_of(s, &tsuid, *base, to_base);
    struct store_scan *scan;
    struct store_row row;
    enum status status = store_scans_open(s, &spec, 1, &scan, e);

    if (status != ST_OK)
        return status;
    *found = store_scan_next(scan, &row);
    if (*found && row.base > *base)
        *base = row.base;
    return store_scan_close(&scan, NULL, ST_OK, e);
}

/* Moves two hours together until few rows can be between them, the newest of
 * those before among them; false in 'has': there was none. */
static enum status
narrow(struct store *s, struct slice tsuid, uint32_t *from_base,
       uint32_t *to_base, bool *has, struct error *e)
{
    const uint32_t most = WIDEST * key_span_s(store_layout(s));
    enum status status = ST_OK;

    *has = true;
    if (*to_base - *from_base >= most)
        status = find_oldest(s, tsuid, from_base, *to_base, has, e);
    while (status == ST_OK && *has && *to_base - *from_base >= most) {
        uint32_t hours = (*to_base - *from_base) / HOUR_S;
        uint32_t half = *from_base + (hours / 2 + 1) * HOUR_S, base = half;
        bool later;

        status = find_oldest(s, tsuid, &base, *to_base, &later, e);
        if (status == ST_OK && later)
            *from_base = base;
        else
            *to_base = half - HOUR_S;
    }
    return status;
}

/* The newest hour of a series between two, both included: its points go to
 * 'out'; none is no failure.  '*base': it, or the first one otherwise. */
static enum status
read_newest(struct store *s, struct slice tsuid, uint32_t *base,
            uint32_t to_base, struct points *out, struct error *e)
{
    struct scan_spec spec;
    struct buf block = BUF_INIT; /* of the newest row, if all of it is one */
    struct store_row newest = { 0 };
    struct store_scan *scan;
    struct store_row row;
    bool has;
    enum status status = narrow(s, tsuid, base, &to_base, &has, e);

    if (status != ST_OK || !has)
        return status;
    spec = spec_of(s, &tsuid, *base, to_base);
    status = store_scans_open(s, &spec, 1, &scan, e);
    if (status != ST_OK)
        return status;
    while (status == ST_OK && store_scan_next(scan, &row)) {
        points_clear(out);
        buf_clear(&block);
        *base = row.base > spec.from_base ? row.base : spec.from_base;
        newest = row;
        if (row.open_len == 0)
            buf_put_slice(&block, row.block);
        else
            status = store_row_points(&row, out, e);
    }
    status = store_scan_close(&scan, NULL, status, e);
    if (status == ST_OK && block.failed)
        status = error_set(e, ST_BUSY, "no memory for a row");
    newest.block = buf_slice(&block);
    if (status == ST_OK && block.size > 0)
        status = store_row_points(&newest, out, e);
    buf_fini(&block);
    return status;
}

/* The bucket may leave meanwhile: then the scans themselves ask its owner. */
enum status
store_owner_last(struct store *s, struct slice tsuid, int64_t until_ms,
                 struct point *out, bool *found, struct error *e)
{
    unsigned bucket;
    struct points hour = { 0 };
    const uint32_t now = hour_base(clock_now_ms(store_clock(s)));
    const uint32_t span_s = key_span_s(store_layout(s));
    uint32_t width_s = span_s; /* of a window that is not newer than now */
    enum status status = ST_OK;
    uint32_t to, base;
    bool more = until_ms >= 0;

    *found = false;
    if (!tsuid_is_valid(store_layout(s), tsuid))
        return error_set(e, ST_INVALID, "a TSUID of %zu bytes is malformed",
                         tsuid.size);
    bucket = key_salt(store_layout(s), tsuid);
    if (store_bucket_state(s, bucket) == BUCKET_REMOTE)
        return store_not_owner(bucket, e);
    if (until_ms > POINT_MAX_TS_MS)
        until_ms = POINT_MAX_TS_MS;
    to = until_ms < 0 ? 0 : hour_base(until_ms);
    while (more) {
        uint32_t all_s = to > now ? to - now : width_s;

        points_clear(&hour);
        base = to < all_s ? 0 : to - all_s + HOUR_S;
        status = read_newest(s, tsuid, &base, to, &hour, e);
        for (size_t i = hour.len; status == ST_OK && i-- > 0 && !*found;) {
            *found = hour.ts_ms[i] <= until_ms;
            if (*found)
                *out = points_at(&hour, i);
        }
        /* In this window it may be an hour that is too new. */
        more = status == ST_OK && !*found && base >= HOUR_S;
        if (to <= now)
            width_s = width_s < WIDEST * span_s ? WIDER * width_s : UINT32_MAX;
        to = base - HOUR_S;
    }
    points_fini(&hour);
    return status;
}

enum status
store_last(struct store *s, struct slice tsuid, int64_t until_ms,
           struct point *out, struct error *e)
{
    const struct store_remote *r;
    struct store_retry retry = { .end_us = 0 };
    enum status status;
    bool found = false;

    r = store_remote(s);
    do {
        status = store_owner_last(s, tsuid, until_ms, out, &found, e);
        if (status == ST_MOVED)
            status = r->last(r->ctx, tsuid, until_ms, out, &found,
                             store_retry_end(s, &retry), e);
    } while (status == ST_MOVED && store_retry(s, &retry));
    if (status == ST_MOVED)
        return store_no_owner(key_salt(store_layout(s), tsuid), e);
    if (status == ST_OK && !found)
        status = error_set(e, ST_NOT_FOUND, "the series has no point");
    return status;
}
