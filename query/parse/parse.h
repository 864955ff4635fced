/*
 * From requests to queries: the JSON of POST /api/query, the parameters of GET
 * (m=, tsuid=), times, durations and downsampling specifiers.  Grammar, texts
 * and oddities are OpenTSDB 2.4's (docs/PROTOCOL.md, "Queries").
 *
 * Threads: any.
 * Fails:   ST_INVALID with OpenTSDB's text (what it puts into "message"), and
 *          where it has one, "details" in 'details'; ST_LIMIT past the arena.
 */
#pragma once

#include "query/model/duration.h"
#include "query/model/query.h"
#include "query/parse/parse_error.h"
#include "uid/series/tag_set.h"

#define QUERY_SUBS_MAX    4096
#define QUERY_FILTERS_MAX 1024 /* of one sub-query */

/* A parameter of a URI, decoded, in order; names repeat. */
struct query_param {
    struct slice name, value;
};

/* A flag of a query: its names, and the bool of struct query that it sets. */
struct query_flag {
    const char *json, *uri;
    size_t offset;
};
/* JSON's name, the URI's, the member */
#define QUERY_FLAG_LIST(X)                                           \
    X("padding", "padding", padding)                                 \
    X("noAnnotations", "no_annotations", no_annotations)             \
    X("globalAnnotations", "global_annotations", global_annotations) \
    X("showTSUIDs", "show_tsuids", show_tsuids)                      \
    X("msResolution", "ms", ms_resolution)                           \
    X("showQuery", "show_query", show_query)                         \
    X("showStats", "show_stats", show_stats)                         \
    X("showSummary", "show_summary", show_summary)                   \
    X("useCalendar", "use_calendar", use_calendar)
#define QUERY_FLAGS 9
extern const struct query_flag query_flags[QUERY_FLAGS];

struct parse_options {
    int64_t now_ms;
    const struct timezone *default_zone; /* tsd.core.timezone; NULL: UTC */
    /* tsd.core.tag.allow_specialchars contains ':' and '('. */
    bool colons_in_names, parens_in_names;
};

/* On failure too, '*out' wants its query_fini(). */
MUST_CHECK enum status query_parse_json(struct slice body,
                                        const struct parse_options *o,
                                        struct arena *a, struct query *out,
                                        struct parse_error *e);

MUST_CHECK enum status query_parse_uri(const struct query_param *params,
                                       size_t len,
                                       const struct parse_options *o,
                                       struct arena *a, struct query *out,
                                       struct parse_error *e);

/* "1h-ago", "2013/01/01-00:00:00", seconds, ms, "now" ... */
MUST_CHECK enum status parse_time(struct slice text, int64_t now_ms,
                                  const struct timezone *zone, int64_t *out_ms,
                                  struct error *e);
/* "1h-avg-nan", "0all-sum", "1dc-sum"; the zone is UTC. */
MUST_CHECK enum status parse_downsample(struct slice text, struct arena *a,
                                        struct downsample *out,
                                        struct error *e);
/* "metric{k=v}{k2=v2}": the metric, and the filters, those of the second braces
 * first.  The filters are the caller's to filter_fini(), also on failure. */
struct filter_list {
    struct filter *items;
    size_t len;
};
MUST_CHECK enum status
parse_metric_and_filters(struct slice text, bool parens_in_names,
                         struct arena *a, struct slice *metric,
                         struct filter_list *filters, struct error *e);

/* "metric{k=v,k2=v2}": no key has two values; the metric may be empty. */
MUST_CHECK enum status parse_metric_and_tags(struct slice text, struct arena *a,
                                             struct slice *metric,
                                             struct tag **tags,
                                             size_t *tags_len, struct error *e);

/* -- for other languages of queries ---------------------------------------- */

/* A float as a double that prints like it: 99.9, not 99.9000015258789. */
bool parse_float(struct slice text, double *out);

extern const char *const fill_policies[FILL_SCALAR + 1];
MUST_CHECK enum status parse_fill(struct slice text, enum fill_policy *out,
                                  struct error *e);

/* The last step of both parsers: times, aggregators, downsampling, and
 * duplicates, in OpenTSDB's order. 'q' holds the texts. */
MUST_CHECK enum status query_check(struct query *q,
                                   const struct parse_options *o,
                                   struct arena *a, struct parse_error *e);

/* All that a sub-query was asked, as bytes in the arena: two sub-queries are
 * equal if and only if these bytes are.  Unlike OpenTSDB's equals() this covers
 * whether filters group, and rollupUsage. */
MUST_CHECK enum status query_canonical(const struct sub_query *s,
                                       struct arena *a, struct slice *out,
                                       struct error *e);
/* Of the metric, TSUIDs and filters. */
uint64_t query_series_hash(const struct sub_query *s, uint64_t seed);

/* parse_time(), where the name of 'zone' may be unknown: NULL. */
MUST_CHECK enum status parse_time_in(struct slice text, int64_t now_ms,
                                     const struct timezone *zone,
                                     struct slice zone_name, int64_t *out_ms,
                                     struct error *e);
