/* /api/search/lookup: the series that have a metric, tags, or both. */
#include "tsd/api/api.h"

#include <jansson.h>
#include <stdlib.h>

#include "tsd/api/fields.h"
#include "tsd/api/names/series_lookup.h"
#include "tsd/api/series_json.h"
#include "web/json/json.h"

#define LIMIT_DEFAULT 25
#define LOOKS_BETWEEN 256

struct lookup {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena;
    bool has_metric, has_tags;  /* else null in JSON */
    struct slice metric, query; /* the query is only shown */
    struct lookup_pair *pairs;
    size_t pairs_len;
    int64_t limit, start_index;
    bool use_meta; /* without effect: metadata is never needed */
    /* results */
    struct tsuid_list found;
};

/* -- the request ----------------------------------------------------------- */

/* "metric", "metric{k=v,...}" or "{k=v,...}". */
static bool
read_text(struct lookup *l, struct slice text, struct error *e)
{
    const uint8_t *curly = memchr(text.data, '{', text.size);
    size_t at = curly == NULL ? text.size : (size_t)(curly - text.data);
    struct slice tags;

    l->has_tags = true;
    l->has_metric = at > 0;
    l->metric = slice_of(text.data, at);
    if (curly == NULL)
        return true;
    if (text.data[text.size - 1] != '}') {
        (void)error_set(e, ST_INVALID, "Missing '}' at the end of: %.*s",
                        SLICE_ARG(text));
        return false;
    }
    tags = slice_of(curly + 1, text.size - at - 2);
    if (tags.size == 0) {
        if (at == 0)
            (void)error_set(e, ST_INVALID, "Missing metric and tags: %.*s",
                            SLICE_ARG(text));
        return at > 0;
    }
    l->pairs = arena_array(l->arena, tags.size + 1, sizeof *l->pairs);
    if (l->pairs == NULL) {
        (void)error_set(e, ST_LIMIT, "too many tags");
        return false;
    }
    for (size_t from = 0; from <= tags.size;) {
        const uint8_t *comma = memchr(tags.data + from, ',', tags.size - from);
        size_t end = comma == NULL ? tags.size : (size_t)(comma - tags.data);

        struct slice tag = slice_of(tags.data + from, end - from);

        if (series_lookup_tag(tag, &l->pairs[l->pairs_len++], e) != ST_OK) {
            (void)error_wrap(e, ST_INVALID, "When parsing tag '%.*s'",
                             SLICE_ARG(tag));
            return false;
        }
        from = end + 1;
    }
    return true;
}

#define AT(member) offsetof(struct lookup, member)

static const struct field of_params[] = {
    { "m", NULL, FIELD_TEXT, AT(query), FIELD_NEEDED, 0, NULL },
    { "limit", NULL, FIELD_INT, AT(limit), 0, 0,
      "Unable to convert 'limit' to a valid number" },
};

const struct field_table lookup_fields = { FIELDS(of_params) };

static const struct field of_body[] = {
    { NULL, "metric", FIELD_TEXT, AT(metric), 0, 0, NULL },
    { NULL, "limit", FIELD_INT, AT(limit), FIELD_NULL_IS_0, 0, NULL },
    { NULL, "startIndex", FIELD_INT, AT(start_index), FIELD_NULL_IS_0, 0,
      NULL },
    { NULL, "query", FIELD_TEXT, AT(query), 0, 0, NULL },
    { NULL, "useMeta", FIELD_BOOL, AT(use_meta), 0, 0, NULL },
};

const struct field_table lookup_body_fields = { FIELDS(of_body) };

static const struct field pair_fields[] = {
    { NULL, "key", FIELD_TEXT, offsetof(struct lookup_pair, key), 0, 0, NULL },
    { NULL, "value", FIELD_TEXT, offsetof(struct lookup_pair, value), 0, 0,
      NULL },
};

static bool
read_params(struct lookup *l, struct http_reply *out)
{
    struct slice text;
    unsigned seen;
    struct error e;

    if (!fields_read_params(l->r, FIELDS(of_params), l, &seen, out))
        return false;
    text = l->query;
    l->query = slice_of(NULL, 0);
    if (read_text(l, text, &e))
        return true;
    http_reply_error(out, 400, "Unable to parse query", e.text);
    return false;
}

static enum status
read_tags(struct lookup *l, const struct json_t *tags, struct error *e)
{
    unsigned seen;
    enum status st = ST_OK;

    if (tags == NULL || json_is_null(tags))
        return ST_OK;
    if (!json_is_array(tags))
        return error_set(e, ST_INVALID,
                         "'tags' must be an array of "
                         "{\"key\":..,\"value\":..}");
    l->has_tags = true;
    l->pairs =
        arena_array(l->arena, json_array_size(tags) + 1, sizeof *l->pairs);
    if (l->pairs == NULL)
        return error_set(e, ST_LIMIT, "too many tags");
    for (size_t i = 0; i < json_array_size(tags) && st == ST_OK; i++) {
        struct lookup_pair *p = &l->pairs[l->pairs_len++];
        const json_t *tag = json_array_get(tags, i);

        *p = (struct lookup_pair){ 0 };
        st = fields_read_json(tag, FIELDS(pair_fields), l->arena, p, &seen, e);
        if (st == ST_OK)
            st = fields_only(tag, FIELDS(pair_fields), e);
    }
    return st;
}

static bool
read_body(struct lookup *l, struct http_reply *out)
{
    struct json_t *body = api_parse_body(l->r, out);
    struct error e;
    enum status st;
    unsigned seen;

    if (body == NULL)
        return false;
    l->has_metric = !json_is_null(json_object_get(body, "metric"));
    l->metric = slice_str("*");
    st = fields_read_json(body, FIELDS(of_body), l->arena, l, &seen, &e);
    if (st == ST_OK)
        st = read_tags(l, json_object_get(body, "tags"), &e);
    json_decref(body);
    if (st != ST_OK)
        api_reject_json(out, &e);
    return st == ST_OK;
}

/* -- series by series ------------------------------------------------------ */

static bool
keep(void *ctx, struct slice tsuid)
{
    struct lookup *l = ctx;

    return tsuid_list_add(&l->found, tsuid) &&
           (l->limit <= 0 || l->found.len < (size_t)l->limit);
}

static enum status
find_series(struct lookup *l, struct error *e)
{
    struct series_lookup all = {
        .a = l->a,
        .arena = l->arena,
        .metric = l->has_metric ? l->metric : slice_str(""),
        .pairs = l->pairs,
        .len = l->pairs_len,
        .found = keep,
        .ctx = l,
        .cancel = api_cancel(l->r),
    };
    enum status st = series_lookup_resolve(&all, e);

    return st == ST_OK ? series_lookup_walk(&all, e) : st;
}

/* -- the answer ------------------------------------------------------------ */

/* Series of which a name was deleted are left out. */
static enum status
write_series(struct lookup *l, struct buf *b, size_t *shown, struct error *e)
{
    enum status st = ST_OK;

    *shown = 0;
    for (size_t i = 0; i < l->found.len && st == ST_OK; i++) {
        size_t before = b->size;

        if (i % LOOKS_BETWEEN == 0)
            st = api_go_on(l->r, l->out, e);
        if (st != ST_OK)
            break;
        st = series_put(l->a, b, l->found.tsuids[i], e);
        if (st == ST_OK) {
            ++*shown;
        } else if (st == ST_NOT_FOUND) {
            b->size = before;
            st = ST_OK;
        }
    }
    return st;
}

static enum status
write_answer(struct lookup *l, int64_t started_us, struct buf *b,
             struct error *e)
{
    size_t shown;
    enum status st;

    buf_put_str(b, "{\"type\":\"LOOKUP\"");
    if (l->query.data != NULL)
        json_put_text(b, "query", l->query);
    if (l->has_metric)
        json_put_text(b, "metric", l->metric);
    if (l->has_tags)
        json_open(b, "tags", '[');
    for (size_t i = 0; i < l->pairs_len; i++) {
        json_open(b, NULL, '{');
        json_put_text(b, "key", l->pairs[i].key);
        json_put_text(b, "value", l->pairs[i].value);
        buf_put_u8(b, '}');
    }
    if (l->has_tags)
        buf_put_u8(b, ']');
    json_put_int(b, "limit", l->limit);
    buf_printf(b, ",\"time\":%lld.0,\"results\":[",
               (long long)((clock_monotonic_us() - started_us) / 1000));
    st = write_series(l, b, &shown, e);
    buf_printf(b, "],\"startIndex\":%lld,\"totalResults\":%zu}",
               (long long)l->start_index, shown);
    return st;
}

void
api_lookup(const struct api *a, const struct http_request *r,
           struct http_reply *out)
{
    struct lookup l = { .a = a,
                        .r = r,
                        .out = out,
                        .arena = http_arena(r),
                        .found.arena = http_arena(r) };
    int64_t started = clock_monotonic_us();
    struct error e;
    enum status st;

    l.limit = LIMIT_DEFAULT;
    if (!(http_body(r).size > 0 ? read_body(&l, out) : read_params(&l, out)))
        return;
    if (!l.has_metric && l.pairs_len == 0) {
        http_reply_error(
            out, 400,
            "Missing metric and tags. Please supply at least one value.", NULL);
        return;
    }
    st = find_series(&l, &e);
    if (st == ST_NOT_FOUND) {
        http_reply_error(out, 404, "Unable to resolve one or more UIDs",
                         e.text);
        return;
    }
    if (st == ST_OK && l.found.no_memory)
        st = error_set(&e, ST_LIMIT, "too many series: give a smaller limit");
    if (st == ST_OK)
        st = write_answer(&l, started, http_reply_body(out), &e);
    if (st != ST_OK)
        http_reply_failure(out, &e);
}
