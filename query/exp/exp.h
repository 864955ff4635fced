/* /api/query/exp: metrics, and expressions over them and over one another.
 *
 *     exp_parse() -> engine_run(q) -> exp_join() -> exp_run(), for each output
 *
 * Owns:    everything lies in the arena, but what query_fini() releases.
 * Threads: one at a time.
 * Fails:   ST_INVALID with OpenTSDB's texts where it has some, ST_LIMIT. */
#pragma once

#include "query/exp/expression.h"
#include "query/exp/join.h"
#include "query/parse/reader.h"
#include "query/parse/parse.h"

#define EXP_IDS_MAX 512 /* metrics and expressions, each */

struct exp_fill {
    enum fill_policy policy;
    double value;
    bool given;
};

/* NULL data, and lists that are NULL: null, or absent. What has an id begins
 * with it. */
struct exp_filter {
    struct slice id;
    struct exp_filter_tag {
        struct filter_texts texts;
        enum filter_type kind;
    } * tags;
    size_t tags_len;
    bool explicit_tags;
};

struct exp_metric {
    struct slice id, metric, filter, aggregator, time_offset;
    struct exp_fill fill;
    const struct sub_query *sub; /* of the query below */
};

struct exp_expression {
    struct slice id, expr;
    bool operator_given, intersection, use_query_tags, include_agg_tags;
    struct exp_fill fill; /* OpenTSDB reads it, and makes no use of it */
    struct expression *parsed;
};

struct exp_output {
    struct slice id, alias;
};

struct exp_query {
    struct slice name;
    bool time_given;
    struct exp_time {
        struct slice start, end, timezone, aggregator;
        bool rate;
        bool downsampler_given;
        struct slice interval, downsample_aggregator;
        struct exp_fill downsample_fill; /* only shown */
    } time;
    struct exp_filter *filters;
    struct exp_metric *metrics;
    struct exp_expression *expressions;
    struct exp_output *outputs;
    size_t filters_len, metrics_len, expressions_len, outputs_len;
    struct query q; /* the metrics, for the engine */
};

/* On failure too, 'out->q' wants its query_fini(). */
MUST_CHECK enum status exp_parse(struct slice body,
                                 const struct parse_options *o, struct arena *a,
                                 struct exp_query *out, struct parse_error *e);

/* The series of a metric or of an expression.  Each has a double at each of the
 * times. */
struct exp_table {
    struct exp_list list;
    int64_t *ts_ms;
    size_t rows;
    bool is_metric;
};

struct exp_plan; /* opaque */

/* Finds what belongs to what, for all expressions.  Joining and running last as
 * long as the result's deadline. */
MUST_CHECK enum status exp_join(const struct exp_query *q,
                                const struct query_result *result,
                                struct uid_table *uids, struct arena *a,
                                struct exp_plan **out, struct error *e);

/* What an output shows, by its id; '*found' is false when there is nothing of
 * that name.  An expression that was shown before is empty. */
MUST_CHECK enum status exp_run(struct exp_plan *p, struct slice id, bool *found,
                               struct exp_table *out, struct error *e);
