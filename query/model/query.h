/* A query as parsed: what /api/query was asked, from JSON or from a URI,
 * checked and with every name of the query language resolved, but no UID looked
 * up.
 *
 * Owns:    everything lies in the arena that the parser was given; query_fini()
 *          releases what does not (regular expressions).
 * Threads: frozen once parsed. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/time/timezone.h"
#include "query/model/aggregator.h"
#include "query/model/filter.h"

enum fill_policy { FILL_NONE, FILL_ZERO, FILL_NAN, FILL_NULL, FILL_SCALAR };

/* "60s-minmax": not each series is downsampled, but the answer is thinned to
 * the extremes of each bucket; "60s-m4": and its first and last point. */
enum thinning { THIN_NONE, THIN_MINMAX, THIN_M4 };

struct downsample {
    bool on; /* not with 'thin' */
    enum thinning thin;
    bool all;            /* "0all": one bucket for the whole range */
    bool calendar;       /* aligned to the calendar of 'zone' */
    int64_t interval_ms; /* of the plain form; n = 30 d, y = 365 d */
    int count;           /* "2h": 2 ... */
    enum time_unit unit; /* ... and UNIT_H */
    const struct aggregator *aggregator;
    enum fill_policy fill;
    const struct timezone *zone;
    struct slice text; /* as written, for showQuery; NULL data: absent */
};

struct rate_options {
    bool counter;
    int64_t counter_max; /* INT64_MAX: none given */
    int64_t reset_value; /* 0: none */
    bool drop_resets;
};

struct rollup_interval;

/* What is read for a sub-query. */
struct rollup_use {
    const struct rollup_interval *interval; /* NULL: points */
    uint64_t kind;                          /* 0: points as they came */
    uint64_t count_kind; /* avg: 'kind' are the sums, these the counts */
};

static inline bool
rollup_is_used(const struct rollup_use *use)
{
    return use->interval != NULL || use->kind != 0;
}

struct plan;

/* Each member that a parser sets must also be part of query_canonical(), which
 * decides whether two sub-queries are equal. */
struct sub_query {
    size_t index; /* its place in the request */
    struct slice aggregator_name;
    const struct aggregator *aggregator;
    struct slice metric;  /* empty: by tsuids */
    struct slice *tsuids; /* hex as written, not checked; NULL: absent */
    size_t tsuids_len;
    struct downsample downsample;
    bool rate;
    bool rate_options_given;
    struct rate_options rate_options;
    /* In the order of the request.  Of "tags" and "filters" in one JSON object
     * the later member counts, as in OpenTSDB. */
    struct filter *filters;
    size_t filters_len;
    bool explicit_tags;
    bool pre_aggregate;
    struct slice rollup_usage;     /* "ROLLUP_NOFALLBACK"; empty: none given */
    bool fuzzy_off, multi_get_off; /* only shown */
    double *percentiles;           /* ascending; decimals of a 32-bit float */
    size_t percentiles_len;
    bool show_histogram_buckets;
    /* Set in the copies that the engine runs: what it reads. */
    struct rollup_use rollup;
    struct plan *plan; /* made ahead by engine_is_small(), or NULL */
};

/* Does it read histograms in place of points? */
static inline bool
histograms_wanted(const struct sub_query *sq)
{
    return sq->percentiles_len > 0 || sq->show_histogram_buckets;
}

/* No interval and no shift of times is longer: so their sums and products stay
 * far from the end of 64 bits. */
#define QUERY_INTERVAL_MAX_S (INT64_C(1) << 32)

struct query {
    struct slice start_text, end_text; /* end: empty when absent */
    int64_t start_ms, end_ms;
    int64_t now_ms; /* when it was asked */
    struct slice timezone_text;
    const struct timezone *zone;
    bool ms_resolution;
    bool no_annotations, global_annotations;
    bool show_tsuids, show_summary, show_stats, show_query;
    bool padding;
    bool delete_points;
    bool override_bytes, override_points; /* lift the limits, if one may */
    bool use_calendar;
    /* The points of the whole hours that are read: what an expression works on
     * before it is cut to the range. */
    bool whole_hours;
    /* A group with infinite numbers fails alone; an expression may not need
     * it. */
    bool lazy;
    bool arrays; /* dps as [[ts, v], ...]: ?arrays of the URI, also of a POST */
    bool columns; /* times and values apart: ?columns, the same */
    struct sub_query *subs;
    size_t subs_len;
};

/* Of a query that a parser filled, also when it failed. */
static inline void
query_fini(struct query *q)
{
    for (size_t i = 0; i < q->subs_len; i++)
        for (size_t k = 0; k < q->subs[i].filters_len; k++)
            filter_fini(&q->subs[i].filters[k]);
    q->subs_len = 0;
}
