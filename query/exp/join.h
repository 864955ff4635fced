/* Joining of series by their tags: which series of the one operand of an
 * expression belongs to which of the other.
 *
 *     a{host=x}  b{host=x}   ->  [0 0]
 *     a{host=y}              ->  [1 -]    union only
 *
 * Series are distinguished by their tags and, if asked, by the keys on which
 * they do not agree inside; of those that have all these alike the last counts.
 * Results come in the order of the ids of their tags.
 *
 * Owns:    everything lies in the arena.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID "No intersections found: ..", ST_LIMIT (arena). */
#pragma once

#include <math.h>

#include "query/model/result.h"
#include "uid/names/uid.h"

struct id_name {
    uint64_t id;
    struct slice name;
};

struct id_tag {
    struct id_name key, value;
};

/* What series are called, with ids; each list is ascending by id. */
struct series_meta {
    struct id_name *metrics;
    size_t metrics_len;
    struct id_tag *tags;
    size_t tags_len;
    struct id_name *aggregate_tags;
    size_t aggregate_tags_len;
};

struct exp_series {
    const struct result_group *base; /* NULL: computed of several */
    struct series_meta meta;
    struct slice alias;  /* NULL data: none */
    bool alias_is_plain; /* it had one before: its tags were dropped */
    struct dps dps;
};

/* The series of a metric, or of a result. */
struct exp_list {
    struct exp_series *series;
    size_t len;
};

/* Lists the groups of a sub-query. */
MUST_CHECK enum status exp_list_read(const struct query_result *result,
                                     const struct sub_query *sub,
                                     struct uid_table *uids,
                                     struct deadline *deadline, struct arena *a,
                                     struct exp_list *out, struct error *e);

struct join_operand {
    struct exp_list list;
    const uint64_t *query_tagks; /* of its filters */
    size_t query_tagks_len;
};

struct join_options {
    bool intersection;
    bool use_query_tags; /* only tags that the operand's filters name count */
    bool include_agg_tags;
    struct slice name; /* for texts */
    struct deadline *deadline;
};

#define JOIN_NONE SIZE_MAX

struct joined {
    /* Without points.  Tags are those of the first operand, other names are
     * those of all. */
    struct exp_list list;
    size_t operands;
    size_t *picks; /* [i * operands + operand]: a series, or JOIN_NONE */
    /* Of each series of each operand, one after the other: an intersection puts
     * it out, so its times do not count.  Those of a series that another of the
     * same key hides do. */
    bool *is_left_out;
};

MUST_CHECK enum status join_series(const struct join_operand *operands,
                                   size_t len, const struct join_options *o,
                                   struct arena *a, struct joined *out,
                                   struct error *e);

/* The number of a point; NaN where there is none. */
static inline double
exp_double(const struct dps *d, size_t i)
{
    if (d->kind[i] == DP_NULL)
        return NAN;
    return d->kind[i] == DP_INT ? (double)d->v[i].i : d->v[i].d;
}
