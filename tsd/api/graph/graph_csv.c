#include "tsd/api/graph/graph_csv.h"

#include <math.h>

#include "base/text/number.h"
#include "tsd/api/graph/graph_chart.h"
#include "web/axis/time_format.h"

#define EXACT       9007199254740992.0 /* 2^53 */
#define CHECK_LINES 1024

/* Nothing where there is no number. */
static void
put_value(struct buf *b, double v)
{
    char text[NUMBER_TEXT_MAX];

    if (!isfinite(v))
        return;
    if (v == floor(v) && fabs(v) < EXACT)
        buf_put(b, text, number_format_i64((int64_t)v, text));
    else
        buf_put(b, text, number_format_double(v, text));
}

static void
put_time(struct buf *b, const struct chart *c, int64_t ts_ms)
{
    char local[TIME_LABEL_MAX];

    time_format_write("%F %T", ts_ms, c->zone, local);
    buf_printf(b, "%lld", (long long)(ts_ms / 1000));
    if (ts_ms % 1000 != 0)
        buf_printf(b, ".%03d", (int)(ts_ms % 1000));
    buf_put_u8(b, ',');
    buf_put_str(b, local);
}

/* The next time at which some series has a point; false: there is none. */
static bool
next_time(const struct chart *c, const size_t *at, int64_t *out_ms)
{
    bool has = false;

    for (size_t i = 0; i < c->series_len; i++) {
        const struct chart_series *s = &c->series[i];

        if (at[i] < s->len && (!has || s->ts_ms[at[i]] < *out_ms)) {
            *out_ms = s->ts_ms[at[i]];
            has = true;
        }
    }
    return has;
}

enum status
graph_csv_write(struct buf *b, const struct chart *c,
                const struct query_result *result, struct arena *a,
                struct error *e)
{
    size_t *at = arena_array(a, c->series_len + 1, sizeof *at);
    size_t lines = 0;
    int64_t ts_ms = 0;

    if (at == NULL)
        return error_no_memory(e);
    buf_put_str(b, "timestamp,time");
    for (size_t i = 0; i < result->groups_len; i++) {
        struct buf name = BUF_INIT;
        struct slice text;

        graph_name(&name, &result->groups[i]);
        buf_put_u8(b, ',');
        text = buf_slice(&name);
        buf_put_u8(b, '"');
        for (size_t k = 0; k < text.size; k++) {
            if (text.data[k] == '"')
                buf_put_u8(b, '"');
            buf_put_u8(b, text.data[k]);
        }
        buf_put_u8(b, '"');
        buf_fini(&name);
    }
    buf_put_str(b, "\r\n");
    while (!b->failed && next_time(c, at, &ts_ms)) {
        enum status st = ++lines % CHECK_LINES == 0 && c->stop != NULL
                             ? c->stop(c->stop_ctx, e)
                             : ST_OK;

        if (st != ST_OK)
            return st;
        put_time(b, c, ts_ms);
        for (size_t i = 0; i < c->series_len; i++) {
            const struct chart_series *s = &c->series[i];

            buf_put_u8(b, ',');
            if (at[i] < s->len && s->ts_ms[at[i]] == ts_ms)
                put_value(b, s->v[at[i]++]);
        }
        buf_put_str(b, "\r\n");
    }
    return ST_OK;
}
