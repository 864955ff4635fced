/* From the series of a sub-query to its answer: groups, their numbers and the
 * names of their tags, some groups a task.  The groups stay in the caller's
 * arena; or they are written at once, and only their text stays.
 *
 * Threads: any. */
#pragma once

#include "base/process/workers.h"
#include "query/fetch/fetch.h"
#include "query/answer/chunks.h"
#include "query/answer/rollup_raw_merge.h"

struct answer_job {
    const struct plan_context *context;
    struct workers *workers;
    size_t threads; /* of 'workers' */
    const struct query *q;
    const struct sub_query *sq; /* as it is run */
    const struct plan *plan;
    const struct query_reading *reading;
    const struct fetch *fetch;
    struct fetch_limits *limits;
    struct result_group like; /* what is the same in all groups */
    struct chunks *chunks;    /* NULL: groups are wanted */
    struct tag_texts *tag_texts;
};

MUST_CHECK enum status answer_groups(const struct answer_job *w,
                                     struct arena *a,
                                     struct subquery_result *out,
                                     struct result_stats *stats,
                                     struct error *e);

/* Writes groups that were made. */
MUST_CHECK enum status answer_write(const struct subquery_result *result,
                                    size_t sub, struct workers *workers,
                                    struct chunks *chunks, struct error *e);
