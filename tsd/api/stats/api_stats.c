/* /api/stats and /stats: counters; /api/stats/query: queries under way;
 * /api/stats/range: the oldest and the newest point; and what OpenTSDB tells of
 * its virtual machine. */
#include "tsd/api/api.h"

#include <stdio.h>

#include "base/process/log.h"
#include "base/text/number.h"
#include "tsd/stats/point_range.h"
#include "tsd/stats/queries.h"
#include "tsd/api/stats/stats.h"
#include "web/json/json.h"

/* "a=1 b=2" as members. */
static void
put_tags(struct buf *b, struct slice tags)
{
    while (tags.size > 0) {
        struct slice value = slice_cut(&tags, ' '), key;

        key = slice_cut(&value, '=');
        if (key.size > 0)
            json_put_pair(b, key, value);
    }
}

static void
put_point(void *ctx, const struct stat_row *row, double value)
{
    struct stats_writer *w = ctx;
    struct buf common = BUF_INIT;

    if (row->name == NULL)
        return;
    json_next(w->b);
    buf_printf(w->b,
               "{\"metric\":\"tsd.%s\",\"timestamp\":%lld,\"value\":\"%.0f\","
               "\"tags\":{",
               row->name, (long long)w->now_s, value);
    stats_put_tags(w->a, &common);
    put_tags(w->b, slice_str(row->tags));
    put_tags(w->b, buf_slice(&common));
    buf_put_str(w->b, "}}");
    buf_fini(&common);
}

/* The old page: lines, or an array of them. */
static void
write_page(const struct api *a, bool json, struct buf *b)
{
    struct buf lines = BUF_INIT;
    struct slice left;

    if (!json) {
        stats_write_lines(a, b);
        return;
    }
    stats_write_lines(a, &lines);
    left = buf_slice(&lines);
    buf_put_u8(b, '[');
    while (left.size > 0)
        json_put_item(b, slice_cut(&left, '\n'));
    buf_put_u8(b, ']');
    buf_fini(&lines);
}

static void
stop_query(const struct api *a, const struct http_request *r,
           struct http_reply *out)
{
    struct slice id;
    uint64_t number;
    char text[60];

    if (!api_need_param(r, "id", &id, out))
        return;
    if (!number_parse_u64(id, &number)) {
        http_reply_error(out, 400, "Unable to parse 'id' as a number", NULL);
        return;
    }
    if (!queries_stop(a->queries, number)) {
        (void)snprintf(text, sizeof text, "No query runs with the id %llu",
                       (unsigned long long)number);
        http_reply_error(out, 404, text, NULL);
        return;
    }
    log_info("query", "%s stops the query with the id %llu", http_peer(r),
             (unsigned long long)number);
    http_reply_empty(out, 204);
}

/* {"oldest":..,"newest":..,"age":..}; without points the age alone. */
static void
write_range(const struct api *a, const struct http_request *r,
            struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    struct point_times times;
    struct error e;
    int64_t age_ms;

    if (point_range_get(a->point_range, a->store, api_cancel(r), &times,
                        &age_ms, &e) != ST_OK) {
        http_reply_failure(out, &e);
        return;
    }
    buf_put_u8(b, '{');
    if (!point_times_are_none(&times)) {
        json_put_int(b, "oldest", times.oldest_ms);
        json_put_int(b, "newest", times.newest_ms);
    }
    json_put_int(b, "age", age_ms);
    buf_put_u8(b, '}');
}

void
api_stats(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct slice what = api_sub_path(r);
    struct buf *b = http_reply_body(out);
    bool json = http_has_param(r, "json");
    struct stats_writer w;

    if (http_method(r) == HTTP_DELETE && !slice_eq_str(what, "query")) {
        http_reply_bad_method(out, r);
    } else if (http_method(r) == HTTP_DELETE) {
        stop_query(a, r, out);
    } else if (!http_is_api(r)) {
        http_reply_type(out, json ? "application/json" : "text/plain");
        write_page(a, json, b);
    } else if (slice_eq_str(what, "query")) {
        if (http_has_param(r, "slowest"))
            queries_write_slowest(a->queries, clock_now_ms(a->clock), b);
        else
            queries_write(a->queries, b);
    } else if (slice_eq_str(what, "jvm")) {
        stats_write_process(a, b);
    } else if (slice_eq_str(what, "range")) {
        write_range(a, r, out);
    } else if (slice_eq_str(what, "threads")) {
        stats_write_threads(b);
    } else if (slice_eq_str(what, "region_clients")) {
        buf_put_str(b, "[]");
    } else {
        w = (struct stats_writer){ a, b, clock_now_ms(a->clock) / 1000 };
        buf_put_u8(b, '[');
        stats_each(a, put_point, &w);
        buf_put_u8(b, ']');
    }
}
