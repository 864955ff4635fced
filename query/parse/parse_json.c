/* POST /api/query.  OpenTSDB reads it with Jackson, which turns numbers into
 * texts, texts into numbers and much into booleans; clients rely on it.  What
 * it rejects, and what Jansson rejects, is "Unable to parse the given JSON". */
#include "query/parse/parse_priv.h"

#include <stdio.h>

#include "query/parse/reader.h"

/* A boolean whose negation is kept. */
static void
read_off(struct reader *r, const char *name, json_t *v, void *to)
{
    bool *off = to, on = true;

    reader_bool(r, name, v, &on);
    *off = !on;
}

/* Of a type that is checked, but without a use. */
static void
skip_long(struct reader *r, const char *name, json_t *v, void *to)
{
    int64_t unused;

    (void)to;
    reader_long(r, name, v, &unused);
}

static void
skip_options(struct reader *r, const char *name, json_t *v, void *to)
{
    (void)to;
    if (!json_is_object(v) && !json_is_null(v))
        reader_fail(r, "'%s' must be an object", name);
}

static void
read_text(struct reader *r, const char *name, json_t *v, void *to)
{
    if (json_is_null(v))
        reader_fail(r, "'%s' holds a null", name);
    else
        reader_text(r, name, v, to);
}

static struct slice *
read_texts(struct reader *r, const char *name, json_t *v, size_t *len)
{
    return reader_items(r, name, v, SIZE_MAX, sizeof(struct slice), read_text,
                        len);
}

static void
read_tsuids(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;

    s->tsuids = read_texts(r, name, v, &s->tsuids_len);
}

static void
read_percentiles(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;
    size_t len;
    struct slice *texts = read_texts(r, name, v, &len);

    s->percentiles = NULL;
    s->percentiles_len = 0;
    if (r->st != ST_OK || texts == NULL)
        return;
    s->percentiles = reader_array(r, len, sizeof s->percentiles[0]);
    for (size_t i = 0; i < len && r->st == ST_OK; i++)
        if (!parse_float(texts[i], &s->percentiles[i]))
            reader_fail(r, "'%s' must hold numbers", name);
    if (r->st != ST_OK)
        return;
    s->percentiles_len = len;
    parse_sort_doubles(s->percentiles, len);
}

static void
read_rollup_usage(struct reader *r, const char *name, json_t *v, void *to)
{
    struct slice text;

    reader_text(r, name, v, &text);
    if (r->st == ST_OK)
        *(struct slice *)to = parse_rollup_usage(text);
}

static void
read_rate_options(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(rate_options, "counter", reader_bool, counter),
        MEMBER(rate_options, "isCounter", reader_bool, counter),
        MEMBER(rate_options, "counterMax", reader_long, counter_max),
        MEMBER(rate_options, "resetValue", reader_long, reset_value),
        MEMBER(rate_options, "dropResets", reader_bool, drop_resets),
    };
    struct sub_query *s = to;

    s->rate_options = (struct rate_options){ .counter_max = INT64_MAX };
    s->rate_options_given = !json_is_null(v);
    if (s->rate_options_given)
        reader_object(r, name, v, MEMBERS(members), false, &s->rate_options);
}

/* Room for as many filters as a member has; those read before are dropped. */
static bool
begin_filters(struct reader *r, struct sub_query *s, size_t len)
{
    for (size_t i = 0; i < s->filters_len; i++)
        filter_fini(&s->filters[i]);
    s->filters_len = 0;
    if (len > QUERY_FILTERS_MAX) {
        r->st = parse_fail(r->e, error_set(&r->e->message, ST_LIMIT,
                                           "more than %d filters in a "
                                           "sub-query",
                                           QUERY_FILTERS_MAX));
        return false;
    }
    s->filters = reader_array(r, len, sizeof s->filters[0]);
    return r->st == ST_OK;
}

static void
add_filter(struct reader *r, struct sub_query *s, const struct filter *f,
           enum status st, const struct error *why)
{
    if (st == ST_OK)
        s->filters[s->filters_len++] = *f;
    else if (st == ST_LIMIT)
        r->st =
            parse_fail(r->e, error_set(&r->e->message, st, "%s", why->text));
    else
        reader_fail(r, "%s", why->text);
}

/* {"host":"web*"}: each groups.  Null is the same as no such member, also for
 * "filters" below: a client that fills only one of the two writes null for the
 * other. */
static void
read_tags(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;
    struct slice value;
    struct filter f;
    struct error why;
    const char *key;
    size_t key_size;
    json_t *item;
    enum status st;

    if (json_is_null(v))
        return;
    if (!json_is_object(v)) {
        reader_fail(r, "'%s' must be an object", name);
        return;
    }
    if (!begin_filters(r, s, json_object_size(v)))
        return;
    json_object_keylen_foreach(v, key, key_size, item)
    {
        struct slice tagk = reader_keep(r, slice_of(key, key_size));

        reader_text(r, key, item, &value);
        if (r->st != ST_OK)
            return;
        st = filter_from_tag(
            r->arena, tagk, value,
            FILTER_GROUPS | (r->parens_in_names ? FILTER_PARENS : 0), &f, &why);
        add_filter(r, s, &f, st, &why);
    }
}

void
read_filter_texts(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(filter_texts, "type", reader_text, type),
        MEMBER(filter_texts, "tagk", reader_text, tagk),
        MEMBER(filter_texts, "filter", reader_text, text),
        MEMBER(filter_texts, "groupBy", reader_bool, group_by),
        MEMBER(filter_texts, "group_by", reader_bool, group_by),
    };

    reader_object(r, name, v, MEMBERS(members), true, to);
}

static void
read_filters(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;
    json_t *item;
    size_t i;

    if (json_is_null(v))
        return;
    if (!json_is_array(v)) {
        reader_fail(r, "'%s' must be an array", name);
        return;
    }
    if (!begin_filters(r, s, json_array_size(v)))
        return;
    json_array_foreach(v, i, item)
    {
        struct filter_texts t = { 0 };
        struct filter f;
        struct error why;
        enum status st;

        read_filter_texts(r, name, item, &t);
        if (r->st != ST_OK)
            return;
        st = filter_make(&t, r->arena, &f, &why);
        add_filter(r, s, &f, st, &why);
    }
}

static void
read_sub(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        MEMBER(sub_query, "aggregator", reader_text, aggregator_name),
        MEMBER(sub_query, "metric", reader_text, metric),
        MEMBER(sub_query, "downsample", reader_text, downsample.text),
        MEMBER(sub_query, "rate", reader_bool, rate),
        MEMBER(sub_query, "explicitTags", reader_bool, explicit_tags),
        MEMBER(sub_query, "preAggregate", reader_bool, pre_aggregate),
        MEMBER(sub_query, "rollupUsage", read_rollup_usage, rollup_usage),
        MEMBER(sub_query, "showHistogramBuckets", reader_bool,
               show_histogram_buckets),
        MEMBER(sub_query, "useFuzzyFilter", read_off, fuzzy_off),
        MEMBER(sub_query, "useMultiGets", read_off, multi_get_off),
        { "rateOptions", read_rate_options, 0 },
        { "tsuids", read_tsuids, 0 },
        { "tags", read_tags, 0 },
        { "filters", read_filters, 0 },
        { "percentiles", read_percentiles, 0 },
        { "index", skip_long, 0 },
    };
    struct sub_query *s = to;

    s->rate_options.counter_max = INT64_MAX;
    reader_object(r, name, v, MEMBERS(members), true, s);
}

static const struct member query_members[] = {
    MEMBER(query, "start", reader_spelled, start_text),
    MEMBER(query, "end", reader_spelled, end_text),
    MEMBER(query, "timezone", reader_text, timezone_text),
    MEMBER(query, "delete", reader_bool, delete_points),
    { "options", skip_options, 0 },
    MEMBER(query, "overrideByteLimit", reader_bool, override_bytes),
    MEMBER(query, "overrideDataPointLimit", reader_bool, override_points),
#define X(json, uri, member) MEMBER(query, json, reader_bool, member),
    QUERY_FLAG_LIST(X)
#undef X
};

enum status
query_parse_json(struct slice body, const struct parse_options *o,
                 struct arena *a, struct query *out, struct parse_error *e)
{
    struct reader r = { .arena = a,
                        .e = e,
                        .parens_in_names = o->parens_in_names };
    json_t *root, *subs;

    *out = (struct query){ 0 };
    if (body.size == 0) {
        (void)snprintf(e->details, sizeof e->details,
                       "Supply valid JSON formatted data in the body of your "
                       "request");
        return error_set(&e->message, ST_INVALID, "Missing message content");
    }
    root = reader_load(&r, body);
    if (root == NULL)
        return r.st;
    reader_object(&r, "the query", root, MEMBERS(query_members), true, out);
    subs = json_object_get(root, "queries");
    if (r.st == ST_OK && subs != NULL)
        out->subs = reader_items(&r, "queries", subs, QUERY_SUBS_MAX,
                                 sizeof *out->subs, read_sub, &out->subs_len);
    json_decref(root);
    return r.st == ST_OK ? query_check(out, o, a, e) : r.st;
}
