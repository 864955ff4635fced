/* /q: OpenTSDB's graphs, as pictures (png, svg), as text (ascii, csv) and as
 * counts (json); without a form the browser is sent to the page, which reads
 * the query from the fragment. */
#include <math.h>

#include "base/hash.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "tsd/api/graph/graph_chart.h"
#include "tsd/api/graph/graph_notes.h"
#include "tsd/api/query/query_json.h"
#include "tsd/api/query/serve.h"
#include "web/json/json.h"
#include "web/axis/time_format.h"

static void
redirect(const struct http_request *r, struct http_reply *out)
{
    const char *url = http_url(r);
    struct buf *b = http_reply_body(out);
    struct buf where = BUF_INIT;

    buf_put_str(&where, "/");
    if (strlen(url) > strlen("/q?"))
        buf_printf(&where, "#%s", url + strlen("/q?"));
    http_reply_type(out, "text/html; charset=UTF-8");
    http_reply_header(out, "Location", buf_cstr(&where));
    buf_put_str(b,
                "<html></head><meta http-equiv=\"refresh\" content=\"0; url=");
    /* The URL is the client's: nothing in it may end the attribute. */
    for (size_t i = 0; i < where.size; i++) {
        uint8_t c = where.data[i];

        if (c == '"' || c == '<' || c == '>' || c == '\'')
            buf_printf(b, "&#%u;", c);
        else
            buf_put_u8(b, c);
    }
    buf_put_str(b, "\"></head></html>");
    buf_fini(&where);
}

static bool
is_relative(const struct http_request *r, const char *name)
{
    struct slice text;

    return http_param(r, name, &text) && text.size > 4 &&
           memcmp(text.data + text.size - 4, "-ago", 4) == 0;
}

/* How long a graph may be kept: not at all when it ends in the future, a day
 * when it ended long ago, else a thousandth of what it spans. */
static int64_t
max_age_s(const struct http_request *r, const struct query *q, int64_t now_s)
{
    int64_t start_s = q->start_ms / 1000, end_s = q->end_ms / 1000;

    if (end_s > now_s)
        return 0;
    if (end_s < now_s - HOUR_S && !is_relative(r, "start") &&
        !is_relative(r, "end"))
        return DAY_S;
    return (end_s - start_s) >> 10;
}

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

/* Writes the points of a graph as a table (RFC 4180): a line for each time at
 * which a series has a point, a column for each series, of which 'c' has one
 * for each group.
 *
 *     timestamp,time,"sys.load{host=a}","sys.load{host=b}"
 *     1356998400,2013-01-01 01:00:00,0.5,
 *
 * It ends with the cap of '*b', or with what the chart's stop() says. */
static enum status
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

/* Of the query of a request, to be written in one of its forms. */
struct graph {
    struct serving s;
    struct query q;
    struct graph_params params;
    enum graph_form form;
    int64_t started_us;
};

static void
write_line(struct buf *b, const struct result_group *g, size_t i)
{
    char number[NUMBER_TEXT_MAX];
    size_t size;

    if (g->dps.kind[i] == DP_NULL ||
        (g->dps.kind[i] == DP_DOUBLE && g->dps.v[i].d != g->dps.v[i].d))
        return;
    size = g->dps.kind[i] == DP_INT
               ? number_format_i64(g->dps.v[i].i, number)
               : number_format_double(g->dps.v[i].d, number);
    buf_put_slice(b, g->metric);
    buf_printf(b, " %lld ", (long long)(g->dps.ts_ms[i] / 1000));
    buf_put(b, number, size);
    for (size_t k = 0; k < g->tags_len; k++) {
        buf_put_u8(b, ' ');
        buf_put_slice(b, g->tag_keys[k]);
        buf_put_u8(b, '=');
        buf_put_slice(b, g->tag_values[k]);
    }
    buf_put_u8(b, '\n');
}

static size_t
count_in_range(const struct query *q, const struct dps *dps)
{
    size_t n = 0;

    for (size_t i = 0; i < dps->len; i++)
        n += dps->ts_ms[i] >= q->start_ms && dps->ts_ms[i] <= q->end_ms;
    return n;
}

static void
write_json(struct graph *g)
{
    const struct query_result *result = &g->s.result;
    struct buf *b = http_reply_body(g->s.out);
    uint64_t points = 0, plotted = 0;

    http_reply_type(g->s.out, "application/json");
    for (size_t i = 0; i < result->stats_len; i++)
        points += result->stats[i].points;
    buf_put_str(b, "{\"etags\":[");
    for (size_t i = 0; i < g->q.subs_len; i++) {
        const struct result_group *last = NULL;

        for (size_t k = 0; k < result->groups_len; k++)
            if (result->groups[k].sub == &g->q.subs[i]) {
                last = &result->groups[k];
                plotted += count_in_range(&g->q, &last->dps);
            }
        json_open(b, NULL, '[');
        for (size_t k = 0; last != NULL && k < last->aggregate_tags_len; k++)
            json_put_item(b, last->aggregate_tags[k]);
        buf_put_u8(b, ']');
    }
    buf_printf(b, "],\"timing\":%lld,\"plotted\":%llu,\"points\":%llu}",
               (long long)((clock_monotonic_us() - g->started_us) / 1000),
               (unsigned long long)plotted, (unsigned long long)points);
}

static enum status
stop_drawing(void *ctx, struct error *e)
{
    return deadline_check(ctx, e);
}

static enum status
write_chart(struct graph *g, struct error *e)
{
    struct arena *a = http_arena(g->s.r);
    struct buf *b = http_reply_body(g->s.out);
    struct chart *c = &g->params.chart;
    bool is_csv = g->form == GRAPH_CSV;
    enum status st = graph_chart_make(&g->q, &g->s.result,
                                      is_csv ? SIZE_MAX : CHART_SERIES_MAX, a,
                                      &g->params, e);

    if (st != ST_OK)
        return st;
    c->stop = stop_drawing;
    c->stop_ctx = &g->s.result.deadline;
    if (is_csv) {
        http_reply_type(g->s.out, "text/csv; charset=UTF-8");
        return graph_csv_write(b, c, &g->s.result, a, e);
    }
    c->is_svg = g->form == GRAPH_SVG;
    http_reply_type(g->s.out, c->is_svg ? "image/svg+xml" : "image/png");
    st = graph_notes_read(g->s.a, &g->q, &g->s.result, a, c, e);
    return st == ST_OK ? chart_draw(c, a, b, e) : st;
}

static enum status
run(void *ctx, struct parse_error *e)
{
    struct graph *g = ctx;
    enum status st = serve_run(&g->s, &g->q, NULL, e);

    if (st != ST_OK)
        return st;
    http_reply_body(g->s.out)->max = g->s.a->answer_bytes;
    if (g->form == GRAPH_JSON)
        write_json(g);
    else if (g->form == GRAPH_ASCII) {
        const struct query_result *result = &g->s.result;
        struct buf *b = http_reply_body(g->s.out);

        http_reply_type(g->s.out, "text/plain");
        for (size_t i = 0; i < result->groups_len; i++)
            for (size_t k = 0; k < result->groups[i].dps.len; k++)
                write_line(b, &result->groups[i], k);
    } else
        st = write_chart(g, &e->message);
    if (st == ST_OK)
        st = serve_check_size(&g->s, &e->message);
    if (st == ST_OK && g->form != GRAPH_JSON) {
        char age[40];
        const char *had;
        struct slice body;
        char etag[24];

        (void)snprintf(age, sizeof age, "max-age=%lld",
                       (long long)max_age_s(
                           g->s.r, &g->q, clock_now_ms(g->s.a->clock) / 1000));
        http_reply_header(g->s.out, "Cache-Control", age);
        http_reply_header(g->s.out, "Age", "0");
        /* A picture that the client has already is not sent again.  The tag is
         * weak: the bytes may be compressed. */
        had = http_header(g->s.r, "If-None-Match");
        body = buf_slice(http_reply_body(g->s.out));
        (void)snprintf(etag, sizeof etag, "W/\"%016llx\"",
                       (unsigned long long)hash_slice(body, 0));
        http_reply_header(g->s.out, "ETag", etag);
        if (had != NULL && (strstr(had, etag) != NULL || strcmp(had, "*") == 0))
            http_reply_empty(g->s.out, 304);
    }
    return st;
}

/* The times of a picture depend on it, so here it must be known. */
static enum status
parse(struct graph *g, struct parse_error *e)
{
    size_t len;
    const struct http_param *params = http_params(g->s.r, &len);
    const struct timezone *zone;
    enum status st = graph_params_parse(params, len, http_arena(g->s.r),
                                        &g->params, &e->message);

    if (st == ST_OK)
        st = serve_parse_uri(g->s.a, g->s.r, &g->q, e);
    if (st == ST_OK && g->q.timezone_text.size > 0 &&
        timezone_find(g->q.timezone_text, &zone, NULL) != ST_OK)
        st = error_set(&e->message, ST_INVALID,
                       "'tz' was invalid: %s. It must be the name of a zone, "
                       "as 'Europe/Zurich'.",
                       log_quote(g->q.timezone_text));
    /* Of equal ones the query has one, and none knows its o. */
    if (st == ST_OK && g->params.is_right_len > 0 &&
        g->params.is_right_len != g->q.subs_len)
        st = error_set(&e->message, ST_INVALID,
                       "With `o' parameters no two `m' may be equal.");
    g->q.start_ms -= g->q.start_ms % 1000;
    g->q.end_ms -= g->q.end_ms % 1000;
    return st;
}

void
api_q(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct graph g = { .s = { .a = a, .r = r, .out = out },
                       .started_us = clock_monotonic_us() };
    struct parse_error e = { 0 };
    struct buf query = BUF_INIT;
    size_t len;
    const struct http_param *params = http_params(r, &len);

    g.form = graph_form_of(params, len);
    if (g.form == GRAPH_NONE) {
        redirect(r, out);
        return;
    }
    if ((g.form == GRAPH_PNG || g.form == GRAPH_SVG) && !chart_is_built()) {
        http_reply_error(out, 501,
                         "This server was built without graphs: ask for "
                         "csv, ascii or json",
                         NULL);
        return;
    }
    if (parse(&g, &e) == ST_OK) {
        query_json_query(&query, &g.q, a->uids);
        serve_query(&g.s, &query, run, &g);
    } else {
        (void)serve_reject(out, &e);
    }
    query_fini(&g.q);
}
