/* The head first and the engine second, as scans do.  In the engine a metric
 * and salt bucket cost a seek where they have nothing older or newer than what
 * is known: the seek behind the newest known span arrives at the metric's newer
 * rows, or at the next metric's oldest one. */
#include "storage/scan/store_scan.h"

#include "storage/block/row_value.h"
#include "storage/store/store_state.h"

#define STEPS_A_CALL 256

struct walk {
    const struct key_layout *layout;
    const struct store_times_spec *spec;
    struct kv_iter *it;
    struct point_times times;
    size_t steps;
    bool cancelled;
    /* Where the iterator stands. */
    bool on_row;
    uint32_t base;             /* of the span, .. */
    uint32_t row_base;         /* .. and of the row, or of the part of one */
    uint8_t head[ROW_KEY_MAX]; /* table, salt, metric */
    size_t head_size;
};

static bool
takes(void *ctx, struct slice tsuid)
{
    const struct walk *w = ctx;

    return tsuid_tags_begin_at(w->layout, tsuid, w->spec->least_tagk);
}

/* -- moving ---------------------------------------------------------------- */

/* After a step of the iterator; keys that are none of rows are stepped over. */
static bool
arrive(struct walk *w, bool on_key)
{
    while (on_key && !key_base(w->layout, kv_iter_key(w->it), &w->row_base))
        on_key = kv_iter_next(w->it);
    if (on_key)
        w->base = key_span_base(w->layout, w->row_base);
    if (++w->steps % STEPS_A_CALL == 0 && cancel_asked(w->spec->cancel))
        w->cancelled = true;
    w->on_row = on_key && !w->cancelled;
    return w->on_row;
}

static bool
is_of_metric(const struct walk *w)
{
    return w->on_row &&
           memcmp(kv_iter_key(w->it).data, w->head, w->head_size) == 0;
}

/* The metric's first row from 'base' on whose tags begin at 'tagk', or what is
 * behind it. */
static bool
seek_metric(struct walk *w, uint32_t base, uint64_t tagk)
{
    uint8_t key[ROW_KEY_MAX];
    size_t size = w->head_size;

    memcpy(key, w->head, size);
    key_put_uint(key + size, base, 4);
    size += 4;
    if (tagk > 0) {
        key_put_uint(key + size, tagk, w->layout->tagk_width);
        size += w->layout->tagk_width;
    }
    return arrive(w, kv_iter_seek(w->it, slice_of(key, size))) &&
           is_of_metric(w);
}

/* -- reading --------------------------------------------------------------- */

/* From where the iterator stands on all rows of the metric up to 'last'; a span
 * of series that are left out costs a seek. */
static void
take_rows(struct walk *w, uint32_t last)
{
    size_t tags_at = w->head_size + 4;
    unsigned width = w->layout->tagk_width;

    while (is_of_metric(w) && w->base <= last) {
        struct slice key = kv_iter_key(w->it), block;
        struct row_hours hours;
        struct summary s;
        uint32_t base;
        bool good;

        if (key.size >= tags_at + width &&
            key_get_uint(key.data + tags_at, width) < w->spec->least_tagk) {
            (void)seek_metric(w, w->row_base, w->spec->least_tagk);
            continue;
        }
        good = row_hours_begin(w->layout, w->row_base, kv_iter_value(w->it),
                               &hours, NULL) == ST_OK;
        while (good && row_hours_next(&hours, &base, &block)) {
            int64_t base_ms = (int64_t)base * 1000;
            int64_t end_ms = base_ms + hours.block_s * INT64_C(1000);

            if ((base_ms < w->times.oldest_ms || end_ms > w->times.newest_ms) &&
                block_summary(block, base, &s, NULL) == ST_OK)
                point_times_widen(&w->times, s.first_ms, s.last_ms);
        }
        (void)arrive(w, kv_iter_next(w->it));
    }
}

/* -- one metric in one bucket ---------------------------------------------- */

/* The last span of the metric in [from, to) that has a row: by steps that grow
 * from its end until there is one, then by halves.  False: there is none. */
static bool
find_last_span(struct walk *w, uint64_t from, uint64_t to, uint32_t *span)
{
    const uint64_t span_s = key_span_s(w->layout);
    uint64_t step = span_s;
    bool found = false;

    while (from < to && !w->cancelled) {
        uint64_t at = to - from > step ? to - step : from;

        if (seek_metric(w, (uint32_t)at, 0) && w->base < to) {
            found = true;
            *span = w->base;
            from = w->base + span_s;
        } else {
            to = at;
        }
        if (found)
            step = (to - from) / span_s / 2 * span_s;
        else
            step *= 2;
        step = step < span_s ? span_s : step;
    }
    return found && !w->cancelled;
}

/* The spans from the newest known one on, the last one first. */
static void
take_newest(struct walk *w)
{
    uint32_t from =
        w->times.newest_ms < 0
            ? 0
            : key_span_base(w->layout, (uint32_t)(w->times.newest_ms / 1000));
    const uint64_t span_s = key_span_s(w->layout);
    const uint64_t most = (UINT32_MAX / span_s + 1) * span_s;
    uint64_t step = span_s, end;
    uint32_t span;

    if (!seek_metric(w, from, 0))
        return;
    /* Behind the metric's last row, and not far behind. */
    end = w->base + step;
    while (end < most && seek_metric(w, (uint32_t)end, 0)) {
        step *= 2;
        end = w->base + step;
    }
    if (end > most)
        end = most;
    while (find_last_span(w, from, end, &span)) {
        int64_t before_ms = w->times.newest_ms;

        if (seek_metric(w, span, 0))
            take_rows(w, span);
        if (w->times.newest_ms > before_ms)
            return;
        end = span;
    }
}

/* Leaves the iterator on the next metric of the bucket, or of the next one. */
static void
take_metric(struct walk *w)
{
    int64_t known_ms = w->times.oldest_ms, before_ms = known_ms;

    memcpy(w->head, kv_iter_key(w->it).data, w->head_size);
    /* To the first span that has a point, unless that is known to be no older
     * than another's. */
    while (is_of_metric(w) && (int64_t)w->base * 1000 < known_ms &&
           w->times.oldest_ms == before_ms)
        take_rows(w, w->base);
    if (!w->cancelled)
        take_newest(w);
    if (!w->cancelled && (is_of_metric(w) || !w->on_row))
        (void)seek_metric(w, UINT32_MAX, 0);
}

enum status
store_times(struct store *s, const struct store_times_spec *spec,
            struct point_times *out, struct error *e)
{
    struct walk w = {
        .layout = store_layout(s),
        .spec = spec,
        .times = POINT_TIMES_NONE,
    };
    const struct head_times_visit visit = { takes, &w, spec->cancel };
    enum status st = ST_OK;

    w.head_size = key_base_at(store_layout(s));
    w.cancelled = !head_times(store_head(s), &visit, &w.times);
    w.it = kv_iter_open(store_kv(s), KEY_TABLE(TABLE_ROWS));
    if (!w.cancelled)
        (void)arrive(&w, kv_iter_seek(w.it, KEY_TABLE(TABLE_ROWS)));
    while (w.on_row)
        take_metric(&w);
    if (w.cancelled)
        st = error_set(e, ST_BUSY,
                       "the search for the oldest and the newest "
                       "point was cancelled");
    *out = w.times;
    return kv_iter_end(&w.it, st, e);
}
