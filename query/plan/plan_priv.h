/* The insides of a plan, for plan*.c alone: from a sub-query's filters to what
 * is known of each tagk. */
#pragma once

#include "base/table.h"
#include "query/model/deadline.h"
#include "query/plan/plan.h"

/* What is known of one filtered tagk. */
struct restriction {
    uint64_t tagk;
    bool any;      /* every value goes */
    bool absent;   /* not_key: no series that has the tagk */
    bool present;  /* another filter: only series that have it */
    bool by_name;  /* filters that are still to be evaluated by name */
    bool has_set;  /* else only filters by name, or none that narrows */
    uint64_t *set; /* ascending ids in the arena, when has_set */
    size_t set_len;
    /* What the filters by name say of each value met, and where it is. */
    struct verdict *verdicts;
    size_t verdicts_len, verdicts_cap;
    struct hash_table table;
};

/* A filter with its tagk's id. */
struct plan_filter {
    const struct filter *filter;
    uint64_t tagk;
    bool by_ids; /* its restriction's set says it all */
};

struct planner {
    const struct plan_context *c;
    const struct key_layout *layout;
    const struct sub_query *sq;
    struct arena *a;
    struct arena *names; /* those of the values that are evaluated */
    struct plan *p;
    struct error *e;
    struct deadline deadline;
    struct plan_filter *filters;
    size_t filters_len;
    struct restriction *restrictions; /* ascending by tagk */
    size_t restrictions_len;
    struct series_tagk_set *tagk_sets; /* those that could match */
    size_t tagk_sets_len;
    uint64_t total; /* series of the metric */
    uint64_t mixed; /* of them, in other sets whose rows lie among these */
    struct slice *listed; /* TSUIDs that match */
    size_t listed_len, listed_cap;
    bool narrows;       /* series are listed: a filter excludes values, or
                         * these tag-key sets are a small part */
    bool by_name;       /* some restriction goes by name */
    bool overflow;      /* more match than are listed */
    enum status status; /* of a callback */
};

/* -- plan_filters.c ------------------------------------------------------- */

/* Makes restrictions of the filters, and finds the tagks that group. */
MUST_CHECK enum status planner_filters(struct planner *p);
/* Makes sets of what goes by name, where an index has the values. */
MUST_CHECK enum status planner_names(struct planner *p);
/* Does a series that the masks match pass the filters that go by name? */
MUST_CHECK enum status
series_matches_filters(struct planner *p, struct slice tsuid, bool *matches);
/* After series_matches_filters() on each series: the values that pass become
 * sets. */
MUST_CHECK enum status planner_end_names(struct planner *p);
void planner_fini(struct planner *p);
/* The restriction that likely leaves the fewest series, or NULL. */
const struct restriction *planner_smallest_set(const struct planner *p);
