/* /q: OpenTSDB's graphs.  As text (ascii) and as counts (json); without a
 * format the browser is sent to the page, which reads the query from the
 * fragment. */
#include "base/log.h"
#include "base/text/number.h"
#include "tsd/api/query/serve.h"
#include "web/json/json.h"

#define DAY_S 86400

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

static void
write_ascii(const struct query_result *result, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);

    http_reply_type(out, "text/plain");
    for (size_t i = 0; i < result->groups_len; i++)
        for (size_t k = 0; k < result->groups[i].dps.len; k++)
            write_line(b, &result->groups[i], k);
}

static void
write_json(const struct query *q, const struct query_result *result,
           int64_t took_us, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    uint64_t points = 0, plotted = 0;

    http_reply_type(out, "application/json");
    for (size_t i = 0; i < result->stats_len; i++)
        points += result->stats[i].points;
    buf_put_str(b, "{\"etags\":[");
    for (size_t i = 0; i < q->subs_len; i++) {
        const struct result_group *last = NULL;

        for (size_t k = 0; k < result->groups_len; k++)
            if (result->groups[k].sub == &q->subs[i]) {
                last = &result->groups[k];
                plotted += last->dps.len;
            }
        json_open(b, NULL, '[');
        for (size_t k = 0; last != NULL && k < last->aggregate_tags_len; k++)
            json_put_item(b, last->aggregate_tags[k]);
        buf_put_u8(b, ']');
    }
    buf_printf(b, "],\"timing\":%lld,\"plotted\":%llu,\"points\":%llu}",
               (long long)(took_us / 1000), (unsigned long long)plotted,
               (unsigned long long)points);
}

static enum status
run(const struct api *a, const struct http_request *r, struct query *q,
    struct query_result *result, struct parse_error *e)
{
    enum status status = serve_parse_uri(a, r, q, e);

    if (status != ST_OK)
        return status;
    q->start_ms -= q->start_ms % 1000;
    q->end_ms -= q->end_ms % 1000;
    return serve_run(a, r, q, NULL, result, e);
}

static size_t
count_params(const struct http_request *r, const char *name)
{
    size_t len, n = 0;
    const struct http_param *params = http_params(r, &len);

    for (size_t i = 0; i < len; i++)
        n += slice_eq_str(params[i].name, name);
    return n;
}

/* What says how to draw is checked, though nothing is drawn: "WxH" with 100
 * at least, and options for every query, or for none. */
static enum status
check_picture(const struct http_request *r, struct error *e)
{
    size_t options = count_params(r, "o");
    size_t queries = count_params(r, "m") + count_params(r, "tsuid");
    struct slice size;
    const uint8_t *x;
    int64_t width, height;

    if (options > 0 && options != queries)
        return error_set(e, ST_INVALID,
                         "%zu `o' parameters, but %zu `m' parameters.", options,
                         queries);
    if (!http_param(r, "wxh", &size) || size.size == 0)
        return ST_OK;
    x = size.size < 7 ? NULL : memchr(size.data + 3, 'x', size.size - 3);
    if (x == NULL ||
        !api_parse_int(slice_of(size.data, (size_t)(x - size.data)), &width) ||
        !api_parse_int(slice_of(x + 1, size.size - (size_t)(x - size.data) - 1),
                       &height) ||
        width < 100 || width > INT16_MAX || height < 100 || height > INT16_MAX)
        return error_set(e, ST_INVALID, "Invalid wxh parameter: %s",
                         log_quote(size));
    return ST_OK;
}

void
api_q(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    bool ascii = http_has_param(r, "ascii"), json = http_has_param(r, "json");
    int64_t started_us = clock_monotonic_us();
    struct query q = { 0 };
    struct query_result result;
    struct parse_error e = { 0 };
    char age[40];
    enum status status;

    if (!ascii && !json && !http_has_param(r, "png")) {
        redirect(r, out);
        return;
    }
    if (!ascii && !json) {
        http_reply_error(out, 501,
                         "Graphs are not drawn here yet: ask for "
                         "ascii or json",
                         NULL);
        return;
    }
    status = check_picture(r, &e.message);
    if (status == ST_OK)
        status = run(a, r, &q, &result, &e);
    if (status == ST_OK) {
        (void)snprintf(
            age, sizeof age, "max-age=%lld",
            (long long)max_age_s(r, &q, clock_now_ms(a->clock) / 1000));
        http_reply_header(out, "Cache-Control", age);
        if (ascii)
            write_ascii(&result, out);
        else
            write_json(&q, &result, clock_monotonic_us() - started_us, out);
    } else if (status == ST_NOT_FOUND) {
        http_reply_error(out, 400, e.message.text, NULL);
    } else {
        http_reply_failure(out, &e.message);
    }
    query_fini(&q);
}
