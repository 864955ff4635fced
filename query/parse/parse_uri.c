/* GET /api/query: "m=AGGREGATOR:[OPTION:]...METRIC{tags}{filters}" and
 * "tsuid=AGGREGATOR:[OPTION:]...TSUID,TSUID", and flags that count by presence.
 */
#include "query/parse/nesting.h"
#include "query/parse/parse_priv.h"

#include "base/text/java.h"
#include "base/text/number.h"

#define PARTS_MAX 5

/* The value of the last parameter of that name; NULL data without one. */
static struct slice
find_param(const struct query_param *params, size_t len, const char *name)
{
    struct slice value = { NULL, 0 };

    for (size_t i = 0; i < len; i++)
        if (slice_eq_str(params[i].name, name))
            value =
                params[i].value.data == NULL ? slice_str("") : params[i].value;
    return value;
}

static bool
has_param(const struct query_param *params, size_t len, const char *name)
{
    return find_param(params, len, name).data != NULL;
}

const struct query_flag query_flags[QUERY_FLAGS] = {
#define X(json, uri, member) { json, uri, offsetof(struct query, member) },
    QUERY_FLAG_LIST(X)
#undef X
};

/* What stands in "rate{...}": the text from the sixth byte to the last but one,
 * whatever these are. */
static enum status
parse_rate(struct slice text, struct arena *a, struct rate_options *out,
           struct error *e)
{
    struct slice *parts;
    enum status st;
    size_t len;

    if (text.size < 6)
        return error_set(e, ST_INVALID,
                         "Invalid rate options specification: %.*s",
                         SLICE_ARG(text));
    st = text_split(slice_of(text.data + 5, text.size - 6), ',', a, &parts,
                    &len, e);
    if (st != ST_OK)
        return st;
    if (len > 3)
        return error_set(e, ST_INVALID,
                         "Incorrect number of values in rate options "
                         "specification, must be counter[,counter max value,"
                         "reset value], recieved: %zu parts",
                         len);
    if (len >= 2 && parts[1].size > 0 &&
        !number_parse_i64(parts[1], &out->counter_max))
        return error_set(e, ST_INVALID,
                         "Max value of counter was not a number, received "
                         "'%.*s'",
                         SLICE_ARG(parts[1]));
    if (len >= 3 && parts[2].size > 0 &&
        !number_parse_i64(parts[2], &out->reset_value))
        return error_set(e, ST_INVALID,
                         "Reset value of counter was not a number, received "
                         "'%.*s'",
                         SLICE_ARG(parts[2]));
    out->counter = parts[0].size >= 7 &&
                   memcmp(parts[0].data + parts[0].size - 7, "counter", 7) == 0;
    out->drop_resets = slice_eq_str(parts[0], "dropcounter");
    return ST_OK;
}

/* "percentiles[50,99.9]" */
static enum status
parse_percentiles(struct slice text, struct arena *a, struct sub_query *s,
                  struct error *e)
{
    size_t from = parse_find(text, '['), to = parse_find(text, ']'), len;
    struct slice *parts;
    enum status st;

    if (from == text.size || to == text.size || to < from)
        return error_set(e, ST_INVALID,
                         "Malformated percentile query paramater: %.*s",
                         SLICE_ARG(text));
    st = text_split(slice_of(text.data + from + 1, to - from - 1), ',', a,
                    &parts, &len, e);
    if (st != ST_OK)
        return st;
    s->percentiles = arena_array(a, len, sizeof s->percentiles[0]);
    if (s->percentiles == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        struct slice number = java_trim(parts[i]);

        if (number.size == 0)
            return error_set(e, ST_INVALID, "empty String");
        if (!parse_float(number, &s->percentiles[i]))
            return error_set(e, ST_INVALID, "For input string: \"%.*s\"",
                             SLICE_ARG(number));
    }
    s->percentiles_len = len;
    parse_sort_doubles(s->percentiles, len);
    return ST_OK;
}

/* Which parameter is read, and how. */
struct uri_form {
    bool by_tsuid; /* tsuid=, not m= */
    bool colons_in_names, parens_in_names;
};

/* What stands between aggregator and metric.  Unknown words are passed over, as
 * in OpenTSDB. */
static enum status
parse_option(struct slice text, bool by_tsuid, struct arena *a,
             struct sub_query *s, struct error *e)
{
    if (parse_starts(text, "rate")) {
        s->rate = true;
        if (parse_find(text, '{') == text.size)
            return ST_OK;
        s->rate_options_given = true;
        s->rate_options = (struct rate_options){ .counter_max = INT64_MAX };
        return parse_rate(text, a, &s->rate_options, e);
    }
    if (text.size == 0)
        return error_set(e, ST_INVALID, "Two colons with nothing between them");
    if (text.data[0] >= '0' && text.data[0] <= '9')
        s->downsample.text = text;
    else if (parse_starts(text, "percentiles"))
        return parse_percentiles(text, a, s, e);
    else if (parse_starts(text, "show-histogram-buckets"))
        s->show_histogram_buckets = true;
    else if (by_tsuid)
        return ST_OK;
    else if (slice_eq_nocase(text, slice_str("pre-agg")))
        s->pre_aggregate = true;
    else if (parse_starts(text, "rollup_"))
        s->rollup_usage = parse_rollup_usage(text);
    else if (parse_starts(text, "explicit_tags"))
        s->explicit_tags = true;
    return ST_OK;
}

/* Does parse_option() know the word?  A downsampling specifier has a '-', which
 * tells it from a name that begins with a digit. */
static bool
is_option(struct slice word)
{
    static const char *const prefixes[] = {
        "rate",    "percentiles", "show-histogram-buckets",
        "pre-agg", "rollup_",     "explicit_tags"
    };

    if (word.size > 0 && word.data[0] >= '0' && word.data[0] <= '9')
        return parse_find(word, '-') < word.size;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (parse_starts(word, prefixes[i]))
            return true;
    return false;
}

/* Where names may contain colons, the metric begins at the first word that is
 * not an option.  Joins this word and all later ones to one part. */
static void
join_metric(struct slice *parts, size_t *len)
{
    size_t first = 1;

    while (first + 1 < *len && is_option(parts[first]))
        first++;
    if (first >= *len)
        return;
    parts[first].size = (size_t)(parts[*len - 1].data + parts[*len - 1].size -
                                 parts[first].data);
    *len = first + 1;
}

static enum status
parse_sub(struct slice text, const struct uri_form *form, struct arena *a,
          struct sub_query *s, struct error *e)
{
    bool by_tsuid = form->by_tsuid;
    struct filter_list filters = { NULL, 0 };
    struct slice *parts;
    size_t len;
    enum status st = nesting_split(text, ':', a, &parts, &len, e);

    s->rate_options.counter_max = INT64_MAX;
    if (st != ST_OK)
        return st;
    if (form->colons_in_names && !by_tsuid)
        join_metric(parts, &len);
    if (len < 2 || len > PARTS_MAX)
        return error_set(e, ST_INVALID,
                         "Invalid parameter m=%.*s (%s :-separated parts)",
                         SLICE_ARG(text), len < 2 ? "not enough" : "too many");
    s->aggregator_name = parts[0];
    if (by_tsuid)
        st = parse_split(parts[len - 1], ',', a, &s->tsuids, &s->tsuids_len, e);
    else
        st = parse_metric_and_filters(parts[len - 1], form->parens_in_names, a,
                                      &s->metric, &filters, e);
    if (!by_tsuid) {
        s->filters = filters.items;
        s->filters_len = filters.len;
    }
    for (size_t i = 1; i + 1 < len && st == ST_OK; i++)
        st = parse_option(parts[i], by_tsuid, a, s, e);
    return st;
}

/* All parameters of one name. */
static enum status
read_subs(const struct query_param *params, size_t len,
          const struct uri_form *form, struct arena *a, struct query *q,
          struct error *e)
{
    bool by_tsuid = form->by_tsuid;
    const char *name = by_tsuid ? "tsuid" : "m";
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        if (!slice_eq_str(params[i].name, name))
            continue;
        if (params[i].value.size == 0)
            return error_set(e, ST_INVALID, "The %squery string was empty",
                             by_tsuid ? "tsuid " : "");
        if (q->subs_len == QUERY_SUBS_MAX)
            return error_set(e, ST_LIMIT, "more than %d sub-queries",
                             QUERY_SUBS_MAX);
        st = parse_sub(params[i].value, form, a, &q->subs[q->subs_len++], e);
    }
    return st;
}

enum status
query_parse_uri(const struct query_param *params, size_t len,
                const struct parse_options *o, struct arena *a,
                struct query *out, struct parse_error *e)
{
    const struct uri_form tsuids = { .by_tsuid = true };
    const struct uri_form metrics = { .colons_in_names = o->colons_in_names,
                                      .parens_in_names = o->parens_in_names };
    size_t subs = 0;
    enum status st;

    *out = (struct query){ 0 };
    out->start_text = find_param(params, len, "start");
    out->end_text = find_param(params, len, "end");
    if (out->start_text.size == 0)
        return parse_fail(e, error_set(&e->message, ST_INVALID,
                                       "Missing parameter <code>start</code>"));
    out->timezone_text = find_param(params, len, "timezone");
    if (out->timezone_text.size == 0)
        out->timezone_text = find_param(params, len, "tz");
    for (size_t i = 0; i < QUERY_FLAGS; i++)
        *(bool *)((char *)out + query_flags[i].offset) =
            has_param(params, len, query_flags[i].uri);
    out->arrays = has_param(params, len, "arrays");
    for (size_t i = 0; i < len; i++)
        subs += slice_eq_str(params[i].name, "m") ||
                slice_eq_str(params[i].name, "tsuid");
    out->subs = arena_array(a, subs + 1, sizeof out->subs[0]);
    if (out->subs == NULL)
        return parse_fail(e, error_no_memory(&e->message));
    st = read_subs(params, len, &tsuids, a, out, &e->message);
    if (st == ST_OK)
        st = read_subs(params, len, &metrics, a, out, &e->message);
    if (st == ST_OK && out->subs_len == 0)
        st = error_set(&e->message, ST_INVALID, "Missing sub queries");
    if (st != ST_OK)
        return parse_fail(e, st);
    return query_check(out, o, a, e);
}
