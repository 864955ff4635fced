/* Queries of all series of a metric, without aggregation, span of time after
 * span.  Where a metric begins is looked up, so that the first answer is small;
 * then spans grow and shrink by what the last ones held. */
#include "tsd/transfer/fetch/fetch_priv.h"

#include <jansson.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "storage/histogram/histogram.h"
#include "tsd/api/api.h"
#include "tsd/transfer/scan_text.h"
#include "web/json/json.h"

#define YEAR_S        (INT64_C(365) * 86400)
#define OPENTSDB_S    INT64_C(1262304000)   /* 2010: what is older is little */
#define LOOK_S        (INT64_C(30) * 86400) /* for a metric's first point */
#define SPAN_FIRST_S  3600
#define SPAN_LEAST_S  1
#define SPAN_FULL_S   (INT64_C(32) * 86400) /* where there is something */
#define FEW_POINTS    200000 /* in an answer: the next span may be longer */
#define MANY_POINTS   1000000
#define POINTS_A_LINE 4096
#define TSUIDS_BYTES  ((size_t)3500) /* of a body: see BODY_BYTES */

/* What is asked for beside the series. */
struct asked {
    const char *more;       /* members of the sub-query */
    const char *downsample; /* tells where there is something */
    json_taker *take;       /* of a series, with a struct answered */
    int64_t most_s;         /* a span where there is nothing */
};

/* One answer, in the making. */
struct answered {
    struct fetching *x;
    size_t series, points;
    json_t *lone; /* annotations of series without a point */
    struct measured_list *measured;
};

static int64_t
less_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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
take_series(struct fetching *x, const json_t *series, struct error *e)
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
take_points(void *ctx, json_t *series, struct error *e)
{
    struct answered *a = ctx;
    struct fetching *x = a->x;
    json_t *notes;
    enum status st = ST_OK;

    a->series++;
    a->points += json_object_size(json_object_get(series, "dps"));
    notes = (x->f->parts & FETCH_ANNOTATIONS) == 0
                ? NULL
                : json_object_get(series, "annotations");
    if (notes != NULL && !json_is_array(notes))
        return fetch_other_answer(x, e);
    if (json_object_size(json_object_get(series, "tags")) > 0)
        st = fetch_annotations(x, notes, series, e);
    else if (notes != NULL && json_array_extend(a->lone, notes) != 0)
        st = error_no_memory(e);
    if (st == ST_OK && (x->f->parts & FETCH_POINTS) != 0)
        st = take_series(x, series, e);
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
    json_t *series; /* an array of those that they are of */
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

static enum status
take_measured(void *ctx, json_t *series, struct error *e)
{
    struct answered *a = ctx;
    struct measured_list *list = a->measured;
    const char *name = json_string_value(json_object_get(series, "metric"));
    const char *tsuid =
        json_string_value(json_array_get(json_object_get(series, "tsuids"), 0));
    struct measured m = { .tsuid = tsuid, .series = series };
    const char *key;
    json_t *value;

    a->series++;
    a->points += json_object_size(json_object_get(series, "dps"));
    if (name == NULL || tsuid == NULL || !read_bucket_name(a->x, name, &m))
        return ST_OK;
    if (json_array_append(list->series, series) != 0)
        return error_no_memory(e);
    json_object_foreach(json_object_get(series, "dps"), key, value)
    {
        if (!json_is_number(value) || !read_time(key, &m.ms))
            continue;
        m.bucket.count = (int64_t)json_number_value(value);
        list->items =
            mem_grow(list->items, list->len, &list->cap, sizeof *list->items);
        list->items[list->len++] = m;
    }
    return ST_OK;
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
    api_put_id(&x->out, "data", buf_slice(&bytes));
    x->out.failed |= bytes.failed;
    buf_fini(&bytes);
    return fetch_end(x, e);
}

/* -- spans ----------------------------------------------------------------- */

/* Servers take up to ten digits for seconds, so the spring of 1970 cannot be
 * told in milliseconds.  A second too many does no harm: what is there already
 * is written again with the same. */
#define FIRST_MS_S INT64_C(10000000)

/* 'what': members of the sub-query that say of which series, and how. */
static enum status
ask_plain(struct fetching *x, struct slice what, int64_t from_s, int64_t to_s,
          json_taker *take, void *ctx, struct error *e)
{
    struct buf body = BUF_INIT;
    struct slice text;
    enum status st;

    buf_printf(&body,
               "{\"start\":%lld,\"end\":%lld,\"msResolution\":true,"
               "\"showTSUIDs\":true,\"queries\":[{\"aggregator\":\"none\","
               "%.*s}]}",
               (long long)(from_s < FIRST_MS_S ? from_s : from_s * 1000),
               (long long)(to_s < FIRST_MS_S ? to_s + 1 : to_s * 1000 + 999),
               SLICE_ARG(what));
    text = buf_slice(&body);
    buf_put_str(&x->path, "/api/query");
    st = body.failed ? error_no_memory(e) : fetch_each(x, &text, take, ctx, e);
    buf_fini(&body);
    return st;
}

static enum status
take_none(void *ctx, json_t *series, struct error *e)
{
    (void)ctx;
    (void)series;
    (void)e;
    return ST_OK;
}

/* The server rejected a query for histograms.  OpenTSDB without histograms
 * answers such queries, with nothing; what it rejects (an id without a name,
 * bytes without a codec) it rejects of points as well, with 400 and any text.
 * So it is another server, which has none, if it answers the same query for
 * points, and never answered one for histograms. */
static void
learn_histograms(struct fetching *x, struct slice what, int64_t from_s,
                 int64_t to_s, const struct error *why)
{
    struct error other;
    char text[sizeof why->text + 80];

    if (x->histograms != HISTOGRAMS_UNKNOWN ||
        ask_plain(x, what, from_s, to_s, take_none, NULL, &other) != ST_OK)
        return;
    x->histograms = HISTOGRAMS_NONE;
    (void)snprintf(text, sizeof text,
                   "no histograms, queries for them are rejected: %s",
                   why->text);
    x->f->note(x->f->ctx, text);
}

static enum status
ask_range(struct fetching *x, const struct asked *asked, const struct buf *what,
          int64_t from_s, int64_t to_s, json_taker *take, void *ctx,
          struct error *e)
{
    struct buf all = BUF_INIT;
    enum status st;

    buf_put_slice(&all, buf_slice(what));
    buf_put_str(&all, asked->more);
    all.failed |= what->failed;
    st = all.failed ? error_no_memory(e)
                    : ask_plain(x, buf_slice(&all), from_s, to_s, take, ctx, e);
    buf_fini(&all);
    if (*asked->more == '\0')
        return st;
    if (st == ST_OK)
        x->histograms = HISTOGRAMS_ANSWERED;
    else if (st == ST_INVALID)
        learn_histograms(x, buf_slice(what), from_s, to_s, e);
    return st;
}

static enum status
ask_span(struct fetching *x, const struct asked *asked, int64_t from_s,
         int64_t to_s, struct answered *out, struct error *e)
{
    struct measured_list measured = { .series = json_array() };
    struct buf what = BUF_INIT;
    enum status st;

    *out = (struct answered){ .x = x,
                              .lone = json_array(),
                              .measured = &measured };
    buf_put_str(&what, "\"metric\":");
    json_put_string(&what, x->metric);
    st = ask_range(x, asked, &what, from_s, to_s, asked->take, out, e);
    if (st == ST_OK) {
        struct arena *arena = arena_new(0);
        size_t to;

        if (measured.len > 0)
            qsort(measured.items, measured.len, sizeof *measured.items,
                  compare_measured);
        for (size_t from = 0; from < measured.len && st == ST_OK; from = to) {
            for (to = from; to < measured.len &&
                            compare_measured(&measured.items[from],
                                             &measured.items[to]) == 0;
                 to++)
                ;
            arena_reset(arena);
            st = put_histogram(x, &measured.items[from], to - from, arena, e);
        }
        arena_free(&arena);
    }
    if (st == ST_OK)
        st = fetch_lone_annotations(x, out->lone, e);
    json_decref(out->lone);
    buf_fini(&what);
    json_decref(measured.series);
    free(measured.items);
    return st;
}

/* -- where a metric begins ------------------------------------------------- */

/* 'ctx': the earliest in ms. */
static enum status
take_earliest(void *ctx, json_t *series, struct error *e)
{
    int64_t *earliest = ctx, ms;
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(series, "dps"), key, value)
    {
        if (json_is_number(value) && read_time(key, &ms) && ms < *earliest)
            *earliest = ms;
    }
    return ST_OK;
}

/* Before '*first_s' there is nothing that these series have.  OpenTSDB reads
 * all rows that the metric has in a step, whose series are others at first: so
 * steps are short, and many.  Where a step is too much, there is something. */
static enum status
find_first(struct fetching *x, const struct asked *asked, const json_t *series,
           int64_t *first_s, struct error *e)
{
    int64_t earliest = INT64_MAX;
    struct buf what = BUF_INIT;
    enum status st = ST_OK;

    buf_printf(&what, "\"downsample\":\"%s\",\"tsuids\":[", asked->downsample);
    for (size_t i = 0; i < json_array_size(series) && what.size < TSUIDS_BYTES;
         i++)
        json_put_item(&what, slice_str(json_string_value(json_object_get(
                                 json_array_get(series, i), "tsuid"))));
    buf_put_u8(&what, ']');
    for (int64_t from_s = x->f->from_s, to_s;
         from_s <= x->f->to_s && earliest == INT64_MAX && st == ST_OK;
         from_s = to_s + 1) {
        to_s = from_s < OPENTSDB_S ? OPENTSDB_S : from_s + LOOK_S;
        to_s = less_of(to_s - 1, x->f->to_s);
        st = ask_range(x, asked, &what, from_s, to_s, take_earliest, &earliest,
                       e);
        if (st == ST_LIMIT) {
            earliest = from_s * 1000;
            st = ST_OK;
        }
    }
    buf_fini(&what);
    *first_s = earliest == INT64_MAX ? x->f->to_s + 1 : earliest / 1000;
    if (*first_s < x->f->from_s)
        *first_s = x->f->from_s;
    return st;
}

/* OpenTSDB's first row of a metric, of each salt bucket, is the earliest; it
 * has no cheaper way to tell where there is nothing.  Of a server that answers
 * with other series, or does not look up, it is a guess.  Past all times: the
 * metric has no rows. */
static enum status
find_begin(struct fetching *x, const struct asked *asked, int64_t *first_s,
           struct error *e)
{
    json_t *answer;
    const json_t *series;
    enum status st = fetch_lookup(x, 1, false, &answer, &series, e);

    *first_s = x->f->from_s;
    if (st == ST_OK && json_array_size(series) > 0)
        st = find_first(x, asked, series, first_s, e);
    else if (st == ST_OK)
        *first_s = INT64_MAX;
    else if (st == ST_INVALID || st == ST_NOT_FOUND)
        st = ST_OK;
    json_decref(answer);
    return st;
}

/* -- spans ----------------------------------------------------------------- */

static int64_t
next_span(int64_t span, const struct answered *a, int64_t most)
{
    if (a->points > MANY_POINTS)
        span /= 2;
    else if (a->points < FEW_POINTS)
        span *= 2;
    span = less_of(span, a->series == 0 ? most : less_of(most, SPAN_FULL_S));
    return span < SPAN_LEAST_S ? SPAN_LEAST_S : span;
}

static enum status
fetch_spans(struct fetching *x, const struct asked *asked, struct error *e)
{
    int64_t from_s = x->f->from_s, most = asked->most_s, first_s, span;
    enum status st = find_begin(x, asked, &first_s, e);

    if (st != ST_OK || first_s == INT64_MAX)
        return st;
    span = OPENTSDB_S - from_s > most ? OPENTSDB_S - from_s : most;
    while (st == ST_OK && from_s <= x->f->to_s) {
        struct answered a;
        int64_t to_s;

        if (from_s == first_s)
            span = SPAN_FIRST_S;
        to_s = less_of(from_s + span - 1, x->f->to_s);
        if (from_s < first_s)
            to_s = less_of(to_s, first_s - 1);
        span = to_s - from_s + 1;
        st = ask_span(x, asked, from_s, to_s, &a, e);
        if (st == ST_LIMIT && span > SPAN_LEAST_S && !x->lines_failed) {
            span = span / 4 > SPAN_LEAST_S ? span / 4 : SPAN_LEAST_S;
            first_s = less_of(first_s, from_s - 1);
            st = ST_OK;
            continue;
        }
        most = less_of(most, a.points == 0 ? YEAR_S
                                           : span * (int64_t)MANY_POINTS * 4 /
                                                 (int64_t)a.points);
        span = next_span(span, &a, most);
        if (st != ST_OK)
            return error_wrap(e, st, "from %lld on", (long long)from_s);
        from_s = to_s + 1;
    }
    return ST_OK;
}

enum status
fetch_points(struct fetching *x, struct error *e)
{
    static const struct asked points = { "", "1h-count", take_points, YEAR_S };
    /* Rows of points are read for them, too. */
    static const struct asked histograms = { ",\"showHistogramBuckets\":true",
                                             "1h-sum", take_measured,
                                             SPAN_FULL_S };
    enum status st = ST_OK;

    if ((x->f->parts & (FETCH_POINTS | FETCH_ANNOTATIONS)) != 0)
        st = fetch_spans(x, &points, e);
    if (st == ST_OK && x->histograms != HISTOGRAMS_NONE &&
        (x->f->parts & FETCH_HISTOGRAMS) != 0) {
        st = fetch_spans(x, &histograms, e);
        st = x->histograms == HISTOGRAMS_NONE ? ST_OK : st;
    }
    return st;
}
