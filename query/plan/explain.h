/* A dry run of a sub-query: its plan and what that would read at most, without
 * reading a row; and a coarser downsampling that would read less.
 *
 * Owns:    all is in the arena.
 * Threads: one at a time.
 * Fails:   as plan_make(). */
#pragma once

#include "query/plan/plan.h"
#include "query/plan/rollup_candidates.h"

/* What is read of a row, the most first. */
enum plan_reads {
    PLAN_READS_POINTS,    /* all its points, which are kept */
    PLAN_READS_BUCKETS,   /* all its points, but only buckets are kept */
    PLAN_READS_SUMMARIES, /* of an hour within one bucket its block summary */
};

struct explanation {
    const char *table; /* "raw", or a rollup's interval */
    const char *text;  /* as showStats has it */
    enum access_path path;
    enum plan_reads reads;
    uint64_t series;          /* that match */
    uint64_t tagk_set_series; /* of the metric, that could have matched */
    uint64_t hours;
    uint64_t rows, seeks; /* at most */
    uint64_t price, prices[3];
    /* An estimate, as nothing is read: the query can also need the raw points
     * of an hour that the edge of a bucket cuts, or it can need less if each
     * group turns out to have one series. */
    struct dropped dropped;
};

struct explained {
    struct explanation plan;
    const char *cheaper; /* a downsampling as in "1h-avg"; NULL: none is */
    struct explanation cheaper_plan;
};

/* What the dry runs of a query's sub-queries share. */
struct explainer {
    const struct plan_context *c;
    const struct rollups *rollups; /* NULL: there are none */
    const struct query *q;
    const struct deadline *deadline;
    struct arena *arena;
    struct error *e;
};

MUST_CHECK enum status explain_subquery(const struct explainer *x,
                                        const struct sub_query *sq,
                                        struct explained *out);
