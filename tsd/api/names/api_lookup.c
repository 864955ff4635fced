/* /api/search/lookup: the series that have a metric, tags, or both.  The other
 * searches are in tsd/api/names/api_search.c. */
#include "tsd/api/api.h"

#include <jansson.h>
#include <stdlib.h>

#include "tsd/api/fields.h"
#include "tsd/api/series_json.h"
#include "web/json/json.h"

#define LIMIT_DEFAULT 25
#define ANY           UINT64_C(0) /* no id is 0 */

/* A tag asked for; a NULL text (null, or nothing beside the '=') and "*" stand
 * for anything. */
struct pair {
    struct slice key, value;
    uint64_t key_id, value_id;
};

struct lookup {
    const struct api *a;
    const struct http_request *r;
    struct arena *arena;
    bool has_metric, has_tags;  /* else null in JSON */
    struct slice metric, query; /* the query is only shown */
    uint64_t metric_id;
    struct pair *pairs;
    size_t pairs_len;
    int64_t limit, start_index;
    bool use_meta; /* without effect: metadata is never needed */
    /* results */
    struct tsuid_list found;
    uint64_t seen;
};

static bool read_params(struct lookup *l, struct http_reply *out);
static bool read_body(struct lookup *l, struct http_reply *out);
static enum status resolve(struct lookup *l, struct error *e);
static enum status walk(struct lookup *l, struct error *e);
static enum status write_answer(struct lookup *l, int64_t started_us,
                                struct buf *b, struct error *e);

void
api_lookup(const struct api *a, const struct http_request *r,
           struct http_reply *out)
{
    struct lookup l = {
        .a = a, .r = r, .arena = http_arena(r), .found.arena = http_arena(r)
    };
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
    st = resolve(&l, &e);
    if (st == ST_NOT_FOUND) {
        http_reply_error(out, 404, "Unable to resolve one or more UIDs",
                         e.text);
        return;
    }
    if (st == ST_OK)
        st = walk(&l, &e);
    if (st == ST_OK && l.found.no_memory)
        st = error_set(&e, ST_LIMIT, "too many series: give a smaller limit");
    if (st == ST_OK)
        st = write_answer(&l, started, http_reply_body(out), &e);
    if (st != ST_OK)
        http_reply_failure(out, &e);
}

/* -- the request ----------------------------------------------------------- */

/* "k=v", "k=" or "=v". */
static bool
read_tag(struct slice tag, struct pair *out, struct error *e)
{
    const uint8_t *eq = tag.size == 0 ? NULL : memchr(tag.data, '=', tag.size);
    size_t at = eq == NULL ? 0 : (size_t)(eq - tag.data);

    *out = (struct pair){ 0 };
    if (tag.size < 2) {
        (void)error_set(e, ST_INVALID,
                        "When parsing tag '%.*s': Missing tag pair",
                        SLICE_ARG(tag));
        return false;
    }
    if (eq == NULL || (at > 0 && at + 1 < tag.size &&
                       memchr(eq + 1, '=', tag.size - at - 1) != NULL)) {
        (void)error_set(e, ST_INVALID,
                        "When parsing tag '%.*s': invalid tag: %.*s",
                        SLICE_ARG(tag), SLICE_ARG(tag));
        return false;
    }
    if (at > 0)
        out->key = slice_of(tag.data, at);
    if (at + 1 < tag.size)
        out->value = slice_of(eq + 1, tag.size - at - 1);
    return true;
}

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

        if (!read_tag(slice_of(tags.data + from, end - from),
                      &l->pairs[l->pairs_len++], e))
            return false;
        from = end + 1;
    }
    return true;
}

#define AT(member) offsetof(struct lookup, member)

static const struct field param_fields[] = {
    { "m", NULL, FIELD_TEXT, AT(query), FIELD_NEEDED, 0, NULL },
    { "limit", NULL, FIELD_INT, AT(limit), 0, 0,
      "Unable to convert 'limit' to a valid number" },
};

static const struct field body_fields[] = {
    { NULL, "metric", FIELD_TEXT, AT(metric), 0, 0, NULL },
    { NULL, "limit", FIELD_INT, AT(limit), FIELD_NULL_IS_0, 0, NULL },
    { NULL, "startIndex", FIELD_INT, AT(start_index), FIELD_NULL_IS_0, 0,
      NULL },
    { NULL, "query", FIELD_TEXT, AT(query), 0, 0, NULL },
    { NULL, "useMeta", FIELD_BOOL, AT(use_meta), 0, 0, NULL },
};

static const struct field pair_fields[] = {
    { NULL, "key", FIELD_TEXT, offsetof(struct pair, key), 0, 0, NULL },
    { NULL, "value", FIELD_TEXT, offsetof(struct pair, value), 0, 0, NULL },
};

static bool
read_params(struct lookup *l, struct http_reply *out)
{
    struct slice text;
    unsigned seen;
    struct error e;

    if (!fields_read_params(l->r, FIELDS(param_fields), l, &seen, out))
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
        struct pair *p = &l->pairs[l->pairs_len++];
        const json_t *tag = json_array_get(tags, i);

        *p = (struct pair){ 0 };
        st = fields_read_json(tag, FIELDS(pair_fields), l->arena, p, &seen, e);
        if (st == ST_OK)
            st = fields_only(tag, FIELDS(pair_fields), e);
    }
    return st;
}

static enum status
read_members(struct lookup *l, const struct json_t *body, struct error *e)
{
    unsigned seen;
    enum status st;

    l->has_metric = !json_is_null(json_object_get(body, "metric"));
    l->metric = slice_str("*");
    st = fields_read_json(body, FIELDS(body_fields), l->arena, l, &seen, e);
    return st == ST_OK ? read_tags(l, json_object_get(body, "tags"), e) : st;
}

static bool
read_body(struct lookup *l, struct http_reply *out)
{
    struct json_t *body = api_parse_body(l->r, out);
    struct error e;
    enum status st;

    if (body == NULL)
        return false;
    st = read_members(l, body, &e);
    json_decref(body);
    if (st != ST_OK)
        api_reject_json(out, &e);
    return st == ST_OK;
}

/* -- names to ids ---------------------------------------------------------- */

static bool
is_any(struct slice s)
{
    return s.data == NULL || slice_eq_str(s, "*");
}

static enum status
resolve(struct lookup *l, struct error *e)
{
    enum status st = ST_OK;

    if (l->has_metric && l->metric.size > 0 && !is_any(l->metric))
        st = uid_find(l->a->uids, UID_METRIC, l->metric, &l->metric_id, e);
    for (size_t i = 0; i < l->pairs_len && st == ST_OK; i++) {
        struct pair *p = &l->pairs[i];

        if (is_any(p->key) && is_any(p->value))
            return error_set(e, ST_INVALID,
                             "A tag needs a key or a value other than *");
        if (!is_any(p->key))
            st = uid_find(l->a->uids, UID_TAGK, p->key, &p->key_id, e);
        if (st == ST_OK && !is_any(p->value))
            st = uid_find(l->a->uids, UID_TAGV, p->value, &p->value_id, e);
    }
    return st;
}

/* -- series by series ------------------------------------------------------ */

/* Has the series a tag that the pair asks for? */
static bool
has_pair(const struct lookup *l, struct slice tsuid, const struct pair *p)
{
    const struct key_layout *layout = store_layout(l->a->store);

    for (size_t i = 0; i < tsuid_tags(layout, tsuid); i++) {
        struct slice key = tsuid_tagk(layout, tsuid, i);
        struct slice value = tsuid_tagv(layout, tsuid, i);

        if ((p->key_id == ANY ||
             key_get_uint(key.data, layout->tagk_width) == p->key_id) &&
            (p->value_id == ANY ||
             key_get_uint(value.data, layout->tagv_width) == p->value_id))
            return true;
    }
    return false;
}

/* Pairs of one key are alternatives, and so are those without a key; the keys
 * must all be satisfied. */
static bool
is_wanted(const struct lookup *l, struct slice tsuid)
{
    for (size_t i = 0; i < l->pairs_len; i++) {
        bool hit = false, first = true;

        for (size_t j = 0; j < l->pairs_len && !hit; j++) {
            if (l->pairs[j].key_id != l->pairs[i].key_id)
                continue;
            if (j < i)
                first = false; /* this key was judged before */
            hit = !first || has_pair(l, tsuid, &l->pairs[j]);
        }
        if (!hit)
            return false;
    }
    return true;
}

static bool
visit(void *ctx, struct slice tsuid)
{
    struct lookup *l = ctx;

    if (++l->seen % 4096 == 0 && http_is_cancelled(l->r))
        return false;
    if (!is_wanted(l, tsuid))
        return true;
    return tsuid_list_add(&l->found, tsuid) &&
           (l->limit <= 0 || l->found.len < (size_t)l->limit);
}

/* The pair of a key that asks for values, all of them known; or NULL. */
static const struct pair *
narrow_pair(const struct lookup *l)
{
    for (size_t i = 0; i < l->pairs_len; i++) {
        bool good = l->pairs[i].key_id != ANY;

        for (size_t j = 0; j < l->pairs_len && good; j++)
            good = l->pairs[j].key_id != l->pairs[i].key_id ||
                   l->pairs[j].value_id != ANY;
        if (good)
            return &l->pairs[i];
    }
    return NULL;
}

static int
compare_ids(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Past all series, or only past those that the index knows by a tag. */
static enum status
walk(struct lookup *l, struct error *e)
{
    const struct pair *narrow = narrow_pair(l);
    uint64_t *values;
    size_t len = 0, n = 0;

    if (narrow == NULL)
        return series_each(l->a->series, l->metric_id, NULL, visit, l, e);
    values = arena_array(l->arena, l->pairs_len, sizeof *values);
    if (values == NULL)
        return error_set(e, ST_LIMIT, "too many tags");
    for (size_t i = 0; i < l->pairs_len; i++)
        if (l->pairs[i].key_id == narrow->key_id)
            values[len++] = l->pairs[i].value_id;
    qsort(values, len, sizeof *values, compare_ids);
    for (size_t i = 0; i < len; i++)
        if (i == 0 || values[i] != values[i - 1])
            values[n++] = values[i];
    return series_each_tagged(l->a->series, l->metric_id, narrow->key_id,
                              values, n, visit, l, e);
}

/* -- the answer ------------------------------------------------------------ */

static void
write_request(const struct lookup *l, struct buf *b)
{
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
}

static enum status
write_answer(struct lookup *l, int64_t started_us, struct buf *b,
             struct error *e)
{
    enum status st = ST_OK;

    write_request(l, b);
    buf_printf(b, ",\"time\":%lld,\"results\":[",
               (long long)((clock_monotonic_us() - started_us) / 1000));
    for (size_t i = 0; i < l->found.len && st == ST_OK; i++)
        st = series_put(l->a, b, l->found.tsuids[i], e);
    buf_printf(b, "],\"startIndex\":%lld,\"totalResults\":%zu}",
               (long long)l->start_index, l->found.len);
    if (st == ST_NOT_FOUND)
        st = error_set(e, ST_CORRUPT, "a series has an id without a name");
    return st;
}
