/* Queries by TSUIDs, without aggregation, span of time after span. */
#include "tsd/transfer/fetch_priv.h"

#include <jansson.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "storage/histogram/histogram.h"
#include "tsd/api/api.h"
#include "tsd/transfer/scan_text.h"
#include "web/json/json.h"

#define SPAN_FIRST_S  3600
#define SPAN_LEAST_S  60
#define SPAN_EMPTY_S  (INT64_C(365) * 86400) /* where there is nothing */
#define SPAN_FULL_S   (INT64_C(32) * 86400)
#define FEW_POINTS    50000 /* in an answer: the next span may be longer */
#define MANY_POINTS   400000
#define POINTS_A_LINE 4096

/* An answer to one span; 'points' counts what was in it. */
typedef enum status take_answer(struct fetching *x, const json_t *answer,
                                size_t *points, struct error *e);

/* -- points ---------------------------------------------------------------- */

/* Milliseconds; what the server writes for a gap is none. */
static bool
read_time(const char *key, int64_t *ms)
{
    return number_parse_i64(slice_str(key), ms);
}

static enum status
put_points(struct fetching *x, const json_t *series, const struct buf *times,
           const struct buf *values, struct error *e)
{
    fetch_begin(x, "points");
    fetch_copy(x, series, "metric", "metric");
    fetch_copy(x, series, "tags", "tags");
    json_open(&x->out, "times", '[');
    buf_put_slice(&x->out, buf_slice(times));
    buf_put_u8(&x->out, ']');
    json_open(&x->out, "values", '[');
    buf_put_slice(&x->out, buf_slice(values));
    buf_put_u8(&x->out, ']');
    return fetch_end(x, e);
}

static enum status
take_series(struct fetching *x, const json_t *series, size_t *points,
            struct error *e)
{
    struct buf times = BUF_INIT, values = BUF_INIT;
    size_t len = 0;
    const char *key;
    json_t *value;
    enum status st = ST_OK;

    json_object_foreach(json_object_get(series, "dps"), key, value)
    {
        struct point p = { .is_float = json_is_real(value) };

        if (st != ST_OK || !json_is_number(value) || !read_time(key, &p.ts_ms))
            continue;
        if (p.is_float)
            p.v.d = json_real_value(value);
        else
            p.v.i = json_integer_value(value);
        if (times.size > 0) {
            buf_put_u8(&times, ',');
            buf_put_u8(&values, ',');
        }
        scan_put_time(&times, p.ts_ms);
        scan_put_value(&values, &p);
        ++*points;
        if (++len == POINTS_A_LINE) {
            st = put_points(x, series, &times, &values, e);
            buf_clear(&times);
            buf_clear(&values);
            len = 0;
        }
    }
    if (st == ST_OK && len > 0)
        st = put_points(x, series, &times, &values, e);
    buf_fini(&times);
    buf_fini(&values);
    return st;
}

static enum status
take_points(struct fetching *x, const json_t *answer, size_t *points,
            struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; st == ST_OK && i < json_array_size(answer); i++) {
        const json_t *series = json_array_get(answer, i);

        if ((x->f->parts & FETCH_ANNOTATIONS) != 0)
            st = fetch_annotations(x, json_object_get(series, "annotations"),
                                   series, e);
        if (st == ST_OK && (x->f->parts & FETCH_POINTS) != 0)
            st = take_series(x, series, points, e);
    }
    return st;
}

/* -- histograms: a series a bucket ----------------------------------------- */

struct measured {
    const char *tsuid;
    const json_t *series; /* for its tags */
    int64_t ms;
    enum { BUCKET, UNDERFLOW_COUNT, OVERFLOW_COUNT } what;
    struct histogram_bucket bucket;
};

struct measured_list {
    struct measured *items;
    size_t len, cap;
};

/* "metric_0.0_1.75", "metric_UNDERFLOW". */
static bool
read_bucket_name(const struct fetching *x, const char *name, struct measured *m)
{
    struct slice text = slice_str(name), low, high;
    double a, b;

    if (!slice_starts(text, x->metric) || text.size <= x->metric.size + 1)
        return false;
    text = slice_of(text.data + x->metric.size + 1,
                    text.size - x->metric.size - 1);
    m->what = slice_eq_str(text, "UNDERFLOW")  ? UNDERFLOW_COUNT
              : slice_eq_str(text, "OVERFLOW") ? OVERFLOW_COUNT
                                               : BUCKET;
    if (m->what != BUCKET)
        return true;
    low = slice_cut(&text, '_');
    high = text;
    if (!number_parse_double(low, &a) || !number_parse_double(high, &b))
        return false;
    m->bucket.low = (float)a;
    m->bucket.high = (float)b;
    return true;
}

static void
collect(const struct fetching *x, const json_t *series,
        struct measured_list *list)
{
    const char *name = json_string_value(json_object_get(series, "metric"));
    const char *tsuid =
        json_string_value(json_array_get(json_object_get(series, "tsuids"), 0));
    struct measured m = { .tsuid = tsuid, .series = series };
    const char *key;
    json_t *value;

    if (name == NULL || tsuid == NULL || !read_bucket_name(x, name, &m))
        return;
    json_object_foreach(json_object_get(series, "dps"), key, value)
    {
        if (!json_is_number(value) || !read_time(key, &m.ms))
            continue;
        m.bucket.count = (int64_t)json_number_value(value);
        list->items =
            mem_grow(list->items, list->len, &list->cap, sizeof *list->items);
        list->items[list->len++] = m;
    }
}

static int
compare_measured(const void *a, const void *b)
{
    const struct measured *x = a, *y = b;
    int c = strcmp(x->tsuid, y->tsuid);

    return c != 0 ? c : (x->ms > y->ms) - (x->ms < y->ms);
}

/* Those of one series and time. */
static enum status
put_histogram(struct fetching *x, const struct measured *m, size_t len,
              struct arena *arena, struct error *e)
{
    struct histogram h = { .buckets =
                               arena_array(arena, len + 1, sizeof *h.buckets) };
    struct buf bytes = BUF_INIT;
    enum status st;

    if (h.buckets == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++)
        if (m[i].what == BUCKET)
            h.buckets[h.len++] = m[i].bucket;
        else if (m[i].what == UNDERFLOW_COUNT)
            h.underflow = m[i].bucket.count;
        else
            h.overflow = m[i].bucket.count;
    st = h.len > HISTOGRAM_BUCKETS_MAX
             ? error_set(e, ST_LIMIT, "a histogram of %zu buckets", h.len)
             : histogram_sort(&h, arena, e);
    if (st != ST_OK)
        return st;
    histogram_encode(&h, &bytes);
    fetch_begin(x, "histogram");
    json_put_member(&x->out, "metric", x->metric);
    fetch_copy(x, m->series, "tags", "tags");
    json_name(&x->out, "time");
    scan_put_time(&x->out, m->ms);
    json_put_int(&x->out, "codec", x->f->codec);
    api_put_id(&x->out, "data", buf_slice(&bytes));
    x->out.failed |= bytes.failed;
    buf_fini(&bytes);
    return fetch_end(x, e);
}

static enum status
take_histograms(struct fetching *x, const json_t *answer, size_t *points,
                struct error *e)
{
    struct measured_list list = { 0 };
    struct arena *arena = arena_new(0);
    enum status st = ST_OK;
    size_t to;

    for (size_t i = 0; i < json_array_size(answer); i++)
        collect(x, json_array_get(answer, i), &list);
    if (list.len > 0)
        qsort(list.items, list.len, sizeof *list.items, compare_measured);
    for (size_t from = 0; from < list.len && st == ST_OK; from = to) {
        for (to = from; to < list.len && compare_measured(&list.items[from],
                                                          &list.items[to]) == 0;
             to++)
            ;
        arena_reset(arena);
        st = put_histogram(x, &list.items[from], to - from, arena, e);
    }
    *points += list.len;
    free(list.items);
    arena_free(&arena);
    return st;
}

/* -- spans ----------------------------------------------------------------- */

/* Servers take up to ten digits for seconds, so the spring of 1970 cannot be
 * told in milliseconds.  A second too many does no harm: what is there already
 * is written again with the same. */
#define FIRST_MS_S INT64_C(10000000)

static enum status
ask_span(struct fetching *x, struct slice tsuids, const char *more,
         int64_t from_s, int64_t to_s, json_t **answer, struct error *e)
{
    struct buf body = BUF_INIT;
    struct slice text;
    enum status st;

    buf_printf(&body,
               "{\"start\":%lld,\"end\":%lld,\"msResolution\":true,"
               "\"showTSUIDs\":true,\"queries\":[{\"aggregator\":\"none\"%s,"
               "\"tsuids\":[%.*s]}]}",
               (long long)(from_s < FIRST_MS_S ? from_s : from_s * 1000),
               (long long)(to_s < FIRST_MS_S ? to_s + 1 : to_s * 1000 + 999),
               more, SLICE_ARG(tsuids));
    text = buf_slice(&body);
    buf_put_str(&x->path, "/api/query");
    st = body.failed ? error_no_memory(e)
                     : fetch_ask(x, &text, JSON_ARRAY, answer, e);
    buf_fini(&body);
    return st;
}

static int64_t
next_span(int64_t span, size_t series, size_t points)
{
    int64_t most = series == 0 ? SPAN_EMPTY_S : SPAN_FULL_S;

    if (points > MANY_POINTS)
        span /= 2;
    else if (points < FEW_POINTS)
        span *= 2;
    return span > most ? most : span < SPAN_LEAST_S ? SPAN_LEAST_S : span;
}

static enum status
fetch_spans(struct fetching *x, struct slice tsuids, const char *more,
            take_answer *take, struct error *e)
{
    int64_t from_s = x->f->from_s, span = SPAN_FIRST_S;
    enum status st = ST_OK;

    while (from_s <= x->f->to_s && st == ST_OK) {
        int64_t to_s = from_s + span - 1;
        size_t points = 0, series;
        json_t *answer = NULL;

        if (to_s > x->f->to_s)
            to_s = x->f->to_s;
        st = ask_span(x, tsuids, more, from_s, to_s, &answer, e);
        if (st == ST_LIMIT && span > SPAN_LEAST_S) {
            span = span / 4 > SPAN_LEAST_S ? span / 4 : SPAN_LEAST_S;
            st = ST_OK;
            continue;
        }
        series = json_array_size(answer);
        if (st == ST_OK)
            st = take(x, answer, &points, e);
        json_decref(answer);
        span = next_span(span, series, points);
        from_s = to_s + 1;
    }
    return st;
}

enum status
fetch_points(struct fetching *x, struct slice tsuids, struct error *e)
{
    enum status st = ST_OK;

    if ((x->f->parts & (FETCH_POINTS | FETCH_ANNOTATIONS)) != 0)
        st = fetch_spans(x, tsuids, "", take_points, e);
    if (st == ST_OK && x->with_histograms &&
        (x->f->parts & FETCH_HISTOGRAMS) != 0) {
        st = fetch_spans(x, tsuids, ",\"showHistogramBuckets\":true",
                         take_histograms, e);
        /* A server without histograms rejects such queries. */
        if (st == ST_INVALID)
            x->with_histograms = false;
        st = st == ST_INVALID ? ST_OK : st;
    }
    return st;
}
