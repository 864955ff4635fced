/* Inside of the engine: what runs, and the execution of one sub-query. */
#pragma once

#include <stdatomic.h>

#include "base/process/latency.h"
#include "query/answer/tag_texts.h"
#include "query/engine/engine.h"
#include "query/engine/sharing.h"
#include "query/engine/subqueries.h"

#define ENGINE_MAGIC FOURCC('E', 'N', 'G', 'N')

/* What takes less is done before another thread would have woken up. */
#define HELP_US 1000

struct engine {
    uint32_t magic;
    struct plan_context context;
    struct engine_options options;
    struct budget budget; /* of all that run */
    struct workers *workers;
    struct tag_texts *tag_texts;
    struct latency latency;    /* of reading points */
    _Atomic int64_t warned_us; /* monotonic, of dropped points, the last time */
};

/* A query being run; 'results' and 'stats' by sub-query: each is written by
 * the thread that runs the sub-query. */
struct running {
    struct engine *en;
    const struct query *q;
    struct chunks *chunks; /* NULL: groups are wanted */
    const struct shared_scan *scans;
    struct subquery_result *results;
    struct result_stats *stats;
};

/* The execution of one sub-query, or of a part of its range. */
struct execution {
    struct engine *en;
    const struct query *q;
    const struct sub_query *sq; /* as the client wrote it */
    /* Who else is answered from its scan; 'sq' is the first of 'scan'. */
    const struct running *run;
    const struct shared_scan *scan;
    struct chunks *chunks; /* where its groups are written; or NULL */
    struct fetch_limits *limits;
    struct arena *arena; /* of the groups */
    struct subquery_result *result;
    struct result_stats *stats;
    struct error *e;
};

/* Makes the results and the stats of the sub-query, and of those that share its
 * scan, in x->run. */
MUST_CHECK enum status engine_execute(const struct execution *x);
