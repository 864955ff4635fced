/* POST /api/query.  OpenTSDB reads it with Jackson, which turns numbers into
 * texts, texts into numbers and much into booleans; clients rely on it.  What
 * it refuses, and what Jansson refuses, is "Unable to parse the given JSON". */
#include "config.h"

#include "query/parse_priv.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

#define JSON_DEPTH_MAX  64
#define JSON_VALUES_MAX 200000

/* What reads a request: the first failure sticks, and makes the rest no-ops. */
struct reader {
    struct arena *arena;
    struct parse_error *e;
    enum status st;
};

/* Members and what reads them. */
struct member {
    const char *name;
    void (*read)(struct reader *r, const char *name, json_t *v, void *to);
    size_t offset; /* into what is filled */
};

static enum status check_shape(struct slice body, struct parse_error *e);
static void read_object(struct reader *r, const char *name, json_t *v,
                        const struct member *members, size_t len,
                        bool ignore_unknown, void *to);
static void read_subs(struct reader *r, json_t *v, size_t max, struct query *q);

#define FAILED_TEXT "Unable to parse the given JSON"

static void fail(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
fail(struct reader *r, const char *fmt, ...)
{
    va_list ap;

    if (r->st != ST_OK)
        return;
    r->st = error_set(&r->e->message, ST_INVALID, FAILED_TEXT);
    va_start(ap, fmt);
    (void)vsnprintf(r->e->details, sizeof r->e->details, fmt, ap);
    va_end(ap);
}

static void
no_room(struct reader *r)
{
    if (r->st == ST_OK)
        r->st = parse_fail(r->e, parse_no_room(&r->e->message));
}

static void *
reader_array(struct reader *r, size_t len, size_t size)
{
    void *p = arena_array(r->arena, len + 1, size);

    if (p == NULL)
        no_room(r);
    return p;
}

static struct slice
keep(struct reader *r, struct slice s)
{
    char *copy = arena_strdup(r->arena, s);

    if (copy == NULL) {
        no_room(r);
        return slice_str("");
    }
    return slice_of(copy, s.size);
}

static struct slice
string_of(const json_t *v)
{
    return slice_of(json_string_value(v), json_string_length(v));
}

/* As it most likely stood in the request: clients print the shortest digits
 * that read back as the number. */
static struct slice
real_text(struct reader *r, double v)
{
    char text[64];
    int decimals = 1;

    if (fabs(v) >= 1e17) {
        (void)snprintf(text, sizeof text, "%.17g", v);
        return keep(r, slice_str(text));
    }
    do
        (void)snprintf(text, sizeof text, "%.*f", decimals, v);
    while (strtod(text, NULL) != v && ++decimals <= 17);
    return keep(r, slice_str(text));
}

static void
read_text(struct reader *r, const char *name, json_t *v, void *to)
{
    struct slice *out = to;
    char text[NUMBER_TEXT_MAX];

    switch (json_typeof(v)) {
    case JSON_NULL:
        *out = (struct slice){ NULL, 0 };
        return;
    case JSON_STRING:
        *out = keep(r, string_of(v));
        return;
    case JSON_INTEGER:
        *out = keep(
            r, slice_of(text, number_format_i64(json_integer_value(v), text)));
        return;
    case JSON_REAL:
        *out = real_text(r, json_real_value(v));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = slice_str(json_is_true(v) ? "true" : "false");
        return;
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    fail(r, "'%s' must be a string", name);
}

static void
read_bool(struct reader *r, const char *name, json_t *v, void *to)
{
    bool *out = to;
    struct slice text;

    switch (json_typeof(v)) {
    case JSON_TRUE:
    case JSON_FALSE:
        *out = json_is_true(v);
        return;
    case JSON_NULL:
        *out = false;
        return;
    case JSON_INTEGER:
        *out = json_integer_value(v) != 0;
        return;
    case JSON_STRING:
        text = string_of(v);
        *out = slice_eq_str(text, "true") || slice_eq_str(text, "True") ||
               slice_eq_str(text, "TRUE");
        if (*out || text.size == 0 || slice_eq_str(text, "false") ||
            slice_eq_str(text, "False") || slice_eq_str(text, "FALSE") ||
            slice_eq_str(text, "null"))
            return;
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_REAL:
        break;
    }
    fail(r, "'%s' must be a boolean", name);
}

/* A boolean whose negation is kept. */
static void
read_off(struct reader *r, const char *name, json_t *v, void *to)
{
    bool *off = to, on = true;

    read_bool(r, name, v, &on);
    *off = !on;
}

static void
read_long(struct reader *r, const char *name, json_t *v, void *to)
{
    int64_t *out = to;
    struct slice text;

    switch (json_typeof(v)) {
    case JSON_NULL:
        *out = 0;
        return;
    case JSON_INTEGER:
        *out = json_integer_value(v);
        return;
    case JSON_REAL:
        if (fabs(json_real_value(v)) < 0x1p63) {
            *out = (int64_t)json_real_value(v);
            return;
        }
        break;
    case JSON_STRING:
        text = string_of(v);
        *out = 0;
        if (text.size == 0 || slice_eq_str(text, "null") ||
            number_parse_i64(text, out))
            return;
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_TRUE:
    case JSON_FALSE:
        break;
    }
    fail(r, "'%s' must be an integer of 64 bits", name);
}

/* Of a type that is checked, but without a use. */
static void
skip_bool(struct reader *r, const char *name, json_t *v, void *to)
{
    bool unused;

    (void)to;
    read_bool(r, name, v, &unused);
}

static void
skip_long(struct reader *r, const char *name, json_t *v, void *to)
{
    int64_t unused;

    (void)to;
    read_long(r, name, v, &unused);
}

static void
skip_options(struct reader *r, const char *name, json_t *v, void *to)
{
    (void)to;
    if (!json_is_object(v) && !json_is_null(v))
        fail(r, "'%s' must be an object", name);
}

static void
read_texts(struct reader *r, const char *name, json_t *v, struct slice **out,
           size_t *len)
{
    json_t *item;
    size_t i;

    *out = NULL;
    *len = 0;
    if (json_is_null(v))
        return;
    if (!json_is_array(v)) {
        fail(r, "'%s' must be an array", name);
        return;
    }
    *out = reader_array(r, json_array_size(v), sizeof **out);
    json_array_foreach(v, i, item)
    {
        if (r->st != ST_OK)
            return;
        if (json_is_null(item))
            fail(r, "'%s' holds a null", name);
        else
            read_text(r, name, item, &(*out)[(*len)++]);
    }
}

static void
read_tsuids(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;

    read_texts(r, name, v, &s->tsuids, &s->tsuids_len);
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
read_percentiles(struct reader *r, const char *name, json_t *v, void *to)
{
    struct sub_query *s = to;
    struct slice *texts;
    size_t len;

    s->percentiles = NULL;
    s->percentiles_len = 0;
    read_texts(r, name, v, &texts, &len);
    if (r->st != ST_OK || texts == NULL)
        return;
    s->percentiles = reader_array(r, len, sizeof s->percentiles[0]);
    for (size_t i = 0; i < len && r->st == ST_OK; i++)
        if (!parse_float(texts[i], &s->percentiles[i]))
            fail(r, "'%s' must hold numbers", name);
    if (r->st != ST_OK)
        return;
    s->percentiles_len = len;
    qsort(s->percentiles, len, sizeof s->percentiles[0], compare_doubles);
}

static void
read_rollup_usage(struct reader *r, const char *name, json_t *v, void *to)
{
    struct slice text;

    read_text(r, name, v, &text);
    if (r->st == ST_OK)
        *(struct slice *)to = parse_rollup_usage(text);
}

static void
read_rate_options(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        { "counter", read_bool, offsetof(struct rate_options, counter) },
        { "isCounter", read_bool, offsetof(struct rate_options, counter) },
        { "counterMax", read_long, offsetof(struct rate_options, counter_max) },
        { "resetValue", read_long, offsetof(struct rate_options, reset_value) },
        { "dropResets", read_bool, offsetof(struct rate_options, drop_resets) },
    };
    struct sub_query *s = to;

    s->rate_options = (struct rate_options){ .counter_max = INT64_MAX };
    s->rate_options_given = !json_is_null(v);
    if (s->rate_options_given)
        read_object(r, name, v, members, sizeof members / sizeof members[0],
                    false, &s->rate_options);
}

static void
drop_filters(struct sub_query *s)
{
    for (size_t i = 0; i < s->filters_len; i++)
        filter_fini(&s->filters[i]);
    s->filters_len = 0;
}

/* Room for as many filters as a member has; those read before are dropped. */
static bool
begin_filters(struct reader *r, struct sub_query *s, size_t len)
{
    drop_filters(s);
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
        fail(r, "%s", why->text);
}

/* {"host":"web*"}: each groups. */
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

    /* Jackson calls the setter, which trips over null unless there were
     * filters before. */
    if (!json_is_object(v) && !(json_is_null(v) && s->filters != NULL)) {
        fail(r, "'%s' must be an object", name);
        return;
    }
    if (!begin_filters(r, s, json_object_size(v)))
        return;
    json_object_keylen_foreach(v, key, key_size, item)
    {
        struct slice tagk = keep(r, slice_of(key, key_size));

        read_text(r, key, item, &value);
        if (r->st != ST_OK)
            return;
        st = filter_from_tag(r->arena, tagk, value, true, &f, &why);
        add_filter(r, s, &f, st, &why);
    }
}

struct filter_texts {
    struct slice type, tagk, text;
    bool group_by;
};

static void
read_filters(struct reader *r, const char *name, json_t *v, void *to)
{
    static const struct member members[] = {
        { "type", read_text, offsetof(struct filter_texts, type) },
        { "tagk", read_text, offsetof(struct filter_texts, tagk) },
        { "filter", read_text, offsetof(struct filter_texts, text) },
        { "groupBy", read_bool, offsetof(struct filter_texts, group_by) },
        { "group_by", read_bool, offsetof(struct filter_texts, group_by) },
    };
    struct sub_query *s = to;
    json_t *item;
    size_t i;

    if (!json_is_array(v) && !json_is_null(v)) {
        fail(r, "'%s' must be an array", name);
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

        read_object(r, name, item, members, sizeof members / sizeof members[0],
                    true, &t);
        if (r->st != ST_OK)
            return;
        st =
            filter_make(r->arena, t.type, t.tagk, t.text, t.group_by, &f, &why);
        add_filter(r, s, &f, st, &why);
    }
}

/* The member of a struct, or the struct itself for those that fill several. */
#define SUB(name, f, m)                        \
    {                                          \
        name, f, offsetof(struct sub_query, m) \
    }

static void
read_sub(struct reader *r, json_t *v, struct sub_query *s)
{
    static const struct member members[] = {
        SUB("aggregator", read_text, aggregator_name),
        SUB("metric", read_text, metric),
        SUB("downsample", read_text, downsample.text),
        SUB("rate", read_bool, rate),
        SUB("explicitTags", read_bool, explicit_tags),
        SUB("preAggregate", read_bool, pre_aggregate),
        SUB("rollupUsage", read_rollup_usage, rollup_usage),
        SUB("showHistogramBuckets", read_bool, show_histogram_buckets),
        SUB("useFuzzyFilter", read_off, fuzzy_off),
        SUB("useMultiGets", read_off, multi_get_off),
        { "rateOptions", read_rate_options, 0 },
        { "tsuids", read_tsuids, 0 },
        { "tags", read_tags, 0 },
        { "filters", read_filters, 0 },
        { "percentiles", read_percentiles, 0 },
        { "index", skip_long, 0 },
    };

    s->rate_options.counter_max = INT64_MAX;
    read_object(r, "queries", v, members, sizeof members / sizeof members[0],
                true, s);
}

#define QUERY(name, f, m)                  \
    {                                      \
        name, f, offsetof(struct query, m) \
    }

static const struct member query_members[] = {
    QUERY("start", read_text, start_text),
    QUERY("end", read_text, end_text),
    QUERY("timezone", read_text, timezone_text),
    QUERY("padding", read_bool, padding),
    QUERY("noAnnotations", read_bool, no_annotations),
    QUERY("globalAnnotations", read_bool, global_annotations),
    QUERY("showTSUIDs", read_bool, show_tsuids),
    QUERY("msResolution", read_bool, ms_resolution),
    QUERY("showQuery", read_bool, show_query),
    QUERY("showStats", read_bool, show_stats),
    QUERY("showSummary", read_bool, show_summary),
    QUERY("delete", read_bool, delete_points),
    QUERY("useCalendar", read_bool, use_calendar),
    { "options", skip_options, 0 },
    { "overrideByteLimit", skip_bool, 0 },
    { "overrideDataPointLimit", skip_bool, 0 },
};

enum status
query_parse_json(struct slice body, const struct parse_options *o,
                 struct arena *a, struct query *out, struct parse_error *e)
{
    struct reader r = { a, e, ST_OK };
    size_t flags = JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_error_t why;
    json_t *root, *subs;

    *out = (struct query){ 0 };
    if (body.size == 0) {
        (void)snprintf(e->details, sizeof e->details,
                       "Supply valid JSON formatted data in the body of your "
                       "request");
        return error_set(&e->message, ST_INVALID, "Missing message content");
    }
    r.st = check_shape(body, e);
    if (r.st != ST_OK)
        return r.st;
    root = json_loadb((const char *)body.data, body.size, flags, &why);
    if (root == NULL) {
        fail(&r, "%s at line %d, column %d", why.text, why.line, why.column);
        return r.st;
    }
    read_object(&r, "the query", root, query_members,
                sizeof query_members / sizeof query_members[0], true, out);
    subs = json_object_get(root, "queries");
    if (r.st == ST_OK && subs != NULL)
        read_subs(&r, subs, o->max_subs == 0 ? QUERY_SUBS_MAX : o->max_subs,
                  out);
    json_decref(root);
    return r.st == ST_OK ? query_check(out, o, a, e) : r.st;
}

/* Jansson recurses, and its tree lies outside of the arena: so what could make
 * either large is counted first. */
static enum status
check_shape(struct slice body, struct parse_error *e)
{
    struct reader r = { NULL, e, ST_OK };
    size_t depth = 0, values = 0;
    bool in_text = false;

    for (size_t i = 0; i < body.size; i++) {
        uint8_t c = body.data[i];

        if (in_text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_text = false;
            continue;
        }
        in_text = c == '"';
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        values += c == '{' || c == '[' || c == ',' || c == ':';
        if (depth > JSON_DEPTH_MAX) {
            fail(&r, "nested deeper than %d", JSON_DEPTH_MAX);
            return r.st;
        }
    }
    if (values > JSON_VALUES_MAX)
        return parse_fail(e, error_set(&e->message, ST_LIMIT,
                                       "a query of more than %d values",
                                       JSON_VALUES_MAX));
    return ST_OK;
}

static void
read_object(struct reader *r, const char *name, json_t *v,
            const struct member *members, size_t len, bool ignore_unknown,
            void *to)
{
    const char *key;
    json_t *item;

    if (!json_is_object(v)) {
        fail(r, "'%s' must be an object", name);
        return;
    }
    json_object_foreach(v, key, item)
    {
        size_t i = 0;

        while (i < len && strcmp(key, members[i].name) != 0)
            i++;
        if (i < len)
            members[i].read(r, key, item, (char *)to + members[i].offset);
        else if (!ignore_unknown)
            fail(r, "Unrecognized field \"%s\" of '%s'", key, name);
        if (r->st != ST_OK)
            return;
    }
}

static void
read_subs(struct reader *r, json_t *v, size_t max, struct query *q)
{
    json_t *item;
    size_t i;

    if (json_is_null(v))
        return;
    if (!json_is_array(v)) {
        fail(r, "'queries' must be an array");
        return;
    }
    if (json_array_size(v) > max) {
        r->st = parse_fail(r->e, error_set(&r->e->message, ST_LIMIT,
                                           "more than %zu sub-queries", max));
        return;
    }
    q->subs = reader_array(r, json_array_size(v), sizeof q->subs[0]);
    json_array_foreach(v, i, item)
    {
        if (r->st != ST_OK)
            return;
        read_sub(r, item, &q->subs[q->subs_len++]);
    }
}
