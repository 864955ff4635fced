/* /api/query/last: the newest point of series, by name or by TSUID.
 *
 * OpenTSDB finds it through its table of metadata, and only where counting was
 * switched on; here the directory names the series and the store looks
 * backwards, so it is found wherever it lies.  'back_scan' still means what it
 * says: no further than so many hours before this one, and the series named
 * exactly. */
#include "tsd/api/api.h"

#include <jansson.h>

#include "base/text/number.h"
#include "query/parse/parse.h"
#include "storage/scan/store_scan.h"
#include "tsd/api/fields.h"
#include "tsd/api/meta_json.h"
#include "tsd/api/series_json.h"
#include "web/json/json.h"

/* One series, or the series of a metric, asked for. */
struct asked {
    struct slice tsuid_text; /* hex; NULL: by metric and tags */
    struct slice metric;
    struct tag *tags;
    size_t tags_len;
};

/* One of a body's "queries". */
struct last_query {
    struct slice metric;
    struct text_pairs tags;
    struct field_list tsuids;
};

struct last {
    const struct api *a;
    const struct http_request *r;
    struct arena *arena;
    struct nameless nameless;
    size_t asked;
    bool not_found; /* the last of them */
    bool resolve;
    int64_t back_scan; /* hours; 0: no limit */
    size_t seen;       /* series of metrics that were asked for */
    struct tsuid_list found;
};

/* -- which series ---------------------------------------------------------- */

static bool
add_tsuid(struct last *l, struct slice tsuid)
{
    return tsuid_list_add(&l->found, tsuid) && !http_is_cancelled(l->r);
}

static enum status
take_tsuid(struct last *l, struct slice text, struct error *e)
{
    const struct key_layout *layout = store_layout(l->a->store);
    struct slice tsuid;
    enum status st = meta_read_id(text, l->arena, &tsuid, e);

    if (st != ST_OK)
        return st;
    if (!tsuid_is_valid(layout, tsuid) || tsuid_tags(layout, tsuid) == 0 ||
        series_has_kind(layout, tsuid))
        return error_set(e, ST_INVALID,
                         "TSUID must not be null and must have a metric and "
                         "at least one tag pair");
    if (!nameless_has(&l->nameless, tsuid))
        (void)add_tsuid(l, tsuid);
    return ST_OK;
}

struct wanted {
    struct last *l;
    struct series_tags tags;
    bool exact;
};

static bool
visit(void *ctx, struct slice tsuid)
{
    struct wanted *w = ctx;
    const struct api *a = w->l->a;

    if (++w->l->seen % 1024 == 0 && http_is_cancelled(w->l->r))
        return false; /* write_answer() says why */
    if (w->exact && tsuid_tags(store_layout(a->store), tsuid) != w->tags.len)
        return true;
    return !series_has_tags(a, tsuid, &w->tags) ||
           nameless_has(&w->l->nameless, tsuid) || add_tsuid(w->l, tsuid);
}

static enum status
take_named(struct last *l, const struct asked *q, struct error *e)
{
    struct wanted w = { .l = l, .exact = l->back_scan > 0 };
    bool unknown = false;
    uint64_t metric;
    enum status status;

    if (q->metric.size == 0)
        return error_set(e, ST_INVALID, "Metric cannot be null or empty");
    if (w.exact && q->tags_len == 0)
        return error_set(e, ST_INVALID,
                         "Tags cannot be null or empty when getting a TSUID");
    status = uid_find(l->a->uids, UID_METRIC, q->metric, &metric, e);
    if (status == ST_OK)
        status =
            series_tags_find(l->a, q->tags, q->tags_len, &w.tags, &unknown, e);
    if (status != ST_OK || unknown)
        return status;
    return w.tags.len == 0
               ? series_each(l->a->series, metric, NULL, visit, &w, e)
               : series_each_tagged(
                     l->a->series, metric,
                     &(struct series_pick){ w.tags.keys[0], w.tags.values, 1 },
                     visit, &w, e);
}

static enum status
take_asked(struct last *l, const struct asked *q, struct error *e)
{
    enum status st;

    l->asked++;
    if (l->back_scan < 0)
        st = error_set(e, ST_INVALID,
                       "Backscan must be zero or a positive number");
    else
        st = q->tsuid_text.data != NULL ? take_tsuid(l, q->tsuid_text, e)
                                        : take_named(l, q, e);
    if (st == ST_OK && l->found.no_memory)
        st = error_set(e, ST_LIMIT, "too many series: ask for fewer");
    l->not_found = st != ST_OK;
    return st;
}

/* -- the request ----------------------------------------------------------- */

/* "tsuid,tsuid". */
static enum status
read_tsuids(struct last *l, struct slice text, struct error *e)
{
    enum status st;

    do {
        struct slice one = slice_cut(&text, ',');
        struct asked q = { .tsuid_text =
                               one.data == NULL ? slice_str("") : one };

        st = take_asked(l, &q, e);
    } while (text.size > 0 && st == ST_OK);
    return st;
}

static const struct field of_last[] = {
#define AT(member) offsetof(struct last, member)
    { "resolve", "resolveNames", FIELD_BOOL, AT(resolve), 0, 0, NULL },
    { "back_scan", "backScan", FIELD_INT, AT(back_scan), 0, 0,
      "Unable to parse back_scan parameter" },
    { NULL, "queries", FIELD_OTHER, 0, 0, 0, NULL },
#undef AT
};

const struct field_table last_fields = { FIELDS(of_last) };

static const struct field query_fields[] = {
#define AT(member) offsetof(struct last_query, member)
    { NULL, "metric", FIELD_TEXT, AT(metric), 0, 0, NULL },
    { NULL, "tags", FIELD_PAIRS, AT(tags), 0, 0, NULL },
    { NULL, "tsuids", FIELD_LIST, AT(tsuids), 0, 0, NULL },
#undef AT
};

/* A series that is not there is 400; 'otherwise' replies to the rest. */
static bool
last_reject(const struct last *l, const struct error *e,
            void (*otherwise)(struct http_reply *out, const struct error *e),
            struct http_reply *out)
{
    if (!l->not_found)
        otherwise(out, e);
    else if (e->status == ST_NOT_FOUND || e->status == ST_INVALID)
        http_reply_error(out, 400, e->text, e->text);
    else
        http_reply_failure(out, e);
    return false;
}

static bool
read_params(struct last *l, struct http_reply *out)
{
    size_t len;
    const struct http_param *params = http_params(l->r, &len);
    unsigned seen;
    struct error e;
    enum status status = ST_OK;

    if (!fields_read_params(l->r, FIELDS(of_last), l, &seen, out))
        return false;
    for (size_t i = 0; i < len && status == ST_OK; i++)
        if (slice_eq_str(params[i].name, "timeseries")) {
            struct asked q = { .metric = { NULL, 0 } };
            enum status st = parse_metric_and_tags(
                params[i].value, l->arena, &q.metric, &q.tags, &q.tags_len, &e);

            /* "metric" or "metric{k=v,...}". */
            status = st == ST_OK ? take_asked(l, &q, &e) : st;
        }
    for (size_t i = 0; i < len && status == ST_OK; i++)
        if (slice_eq_str(params[i].name, "tsuids"))
            status = read_tsuids(l, params[i].value, &e);
    return status == ST_OK || last_reject(l, &e, http_reply_failure, out);
}

static enum status
read_query(struct last *l, json_t *query, struct error *e)
{
    struct last_query n = { .metric = slice_str("") };
    unsigned seen;
    enum status st = fields_only(query, FIELDS(query_fields), e);

    if (st == ST_OK)
        st = fields_read_json(query, FIELDS(query_fields), l->arena, &n, &seen,
                              e);
    if (st == ST_OK && n.tsuids.len == 0)
        return take_asked(l,
                          &(struct asked){ .metric = n.metric,
                                           .tags = n.tags.pairs,
                                           .tags_len = n.tags.len },
                          e);
    for (size_t i = 0; i < n.tsuids.len && st == ST_OK; i++)
        st = read_tsuids(l, n.tsuids.texts[i], e);
    return st;
}

static bool
read_body(struct last *l, json_t *body, struct http_reply *out)
{
    json_t *queries = json_object_get(body, "queries");
    unsigned seen;
    struct error e;
    enum status st = fields_only(body, FIELDS(of_last), &e);

    if (st == ST_OK)
        st = fields_read_json(body, FIELDS(of_last), l->arena, l, &seen, &e);
    if (st == ST_OK && queries != NULL && !json_is_null(queries) &&
        !json_is_array(queries))
        st = error_set(&e, ST_INVALID, "'queries' must be an array");
    for (size_t i = 0; i < json_array_size(queries) && st == ST_OK; i++)
        st = read_query(l, json_array_get(queries, i), &e);
    return st == ST_OK || last_reject(l, &e, api_reject_json, out);
}

/* -- the answer ------------------------------------------------------------ */

static enum status
write_point(struct last *l, struct slice tsuid, const struct point *p,
            struct buf *b, struct error *e)
{
    char number[NUMBER_TEXT_MAX];
    size_t size = p->is_float ? number_format_double(p->v.d, number)
                              : number_format_i64(p->v.i, number);
    enum status status = ST_OK;

    json_open(b, NULL, '{');
    if (l->resolve) {
        json_name(b, "metric");
        status = series_put_metric(l->a, b, tsuid, e);
    }
    json_put_int(b, "timestamp", p->ts_ms);
    json_put_text(b, "value", slice_of(number, size));
    if (l->resolve && status == ST_OK) {
        json_name(b, "tags");
        status = series_put_tags(l->a, b, tsuid, e);
    }
    api_put_id(b, "tsuid", tsuid);
    buf_put_u8(b, '}');
    return status;
}

static enum status
write_answer(struct last *l, struct buf *b, struct error *e)
{
    int64_t now_ms = clock_now_ms(l->a->clock), from_ms = 0;
    int64_t until_ms = POINT_MAX_TS_MS;
    enum status status = ST_OK;
    size_t before;

    if (l->back_scan > 0) {
        int64_t hour_ms = now_ms / HOUR_MS * HOUR_MS;

        until_ms = hour_ms + HOUR_MS - 1;
        if (l->back_scan < hour_ms / HOUR_MS)
            from_ms = hour_ms - l->back_scan * HOUR_MS;
    }
    l->not_found = true; /* if it fails: it was parsed */
    buf_put_u8(b, '[');
    for (size_t i = 0; i < l->found.len && status == ST_OK; i++) {
        struct point p;

        if (http_is_cancelled(l->r))
            return error_set(e, ST_BUSY, "the client hung up");
        status = store_last(l->a->store, l->found.tsuids[i], until_ms, &p, e);
        if (status == ST_NOT_FOUND || (status == ST_OK && p.ts_ms < from_ms)) {
            status = ST_OK;
            continue;
        }
        before = b->size;
        if (status == ST_OK)
            status = write_point(l, l->found.tsuids[i], &p, b, e);
        if (status == ST_NOT_FOUND) { /* a name was deleted meanwhile */
            b->size = before;
            status = ST_OK;
        }
    }
    buf_put_u8(b, ']');
    return status == ST_OK && b->failed
               ? error_set(e, ST_LIMIT, "the answer is too large")
               : status;
}

void
api_last(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct last l = {
        .a = ctx, .r = r, .arena = http_arena(r), .found.arena = http_arena(r)
    };
    json_t *body = NULL;
    struct error e;
    bool good;

    if (!api_may_delete(ctx, r, http_method(r) == HTTP_DELETE, out))
        return;
    if (nameless_find(l.a->uids, l.arena, &l.nameless, &e) != ST_OK) {
        http_reply_failure(out, &e);
        return;
    }
    if (http_method(r) == HTTP_POST) {
        body = api_parse_body(r, out);
        if (body == NULL)
            return;
        good = read_body(&l, body, out);
    } else {
        good = read_params(&l, out);
    }
    if (good && l.asked == 0)
        http_reply_error(out, 400, "Missing sub queries", NULL);
    else if (good && write_answer(&l, http_reply_body(out), &e) != ST_OK)
        (void)last_reject(&l, &e, http_reply_failure, out);
    json_decref(body);
}
