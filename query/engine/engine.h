/* The query engine: a parsed query in, its groups with their numbers out.
 *
 *     plan (masks, paths) -> scan, one task a salt bucket -> series -> groups
 * -> numbers, some groups a task
 *
 * Head and store are read as one: a point acknowledged before the query is in
 * its answer, once.
 *
 * Threads: struct engine: any; queries run side by side and share its workers.
 * Fails:   ST_NOT_FOUND (an unknown name), ST_INVALID, ST_LIMIT (bytes, points,
 *          time, memory: OpenTSDB's texts), ST_BUSY, ST_IO, ST_CORRUPT, and
 *          with chunks as query/answer/chunks.h says; a query that was
 *          cancelled ends with ST_BUSY "the client hung up". */
#pragma once

#include "query/model/result.h"
#include "query/model/rollup.h"
#include "query/parse/parse_error.h"
#include "query/plan/explain.h"
#include "uid/meta/annotation.h"
#include "uid/series/series.h"

struct engine; /* opaque */

/* What one sub-query may read; 0: no limit. */
struct engine_limits {
    uint64_t points, bytes;
};

/* Asked once for each sub-query that is run, from any thread. */
typedef void engine_limits_find(void *ctx, const struct query *q,
                                const struct sub_query *sq,
                                struct engine_limits *out);

struct engine_options {
    size_t threads;         /* beside the caller's; 0: the number of CPUs */
    size_t query_bytes;     /* memory of one query; 0: 1 GB */
    size_t all_bytes;       /* of all queries together; 0: no limit */
    size_t expansion_limit; /* tsd.query.filter.expansion_limit; 0: 4096 */
    bool skip_unresolved_tagvs;
    engine_limits_find *limits; /* NULL: there are none */
    void *limits_ctx;
    unsigned timeout_ms; /* of a whole query; 0: none */
    int force_path;      /* enum access_path + 1; 0: the planner chooses */
    const struct rollups *rollups; /* NULL: none; must outlive the engine */
    int histogram_codec;     /* its id + 1; 0: histograms cannot be read */
    struct records *records; /* NULL: no annotations; must outlive the engine */
};

struct engine *engine_new(struct store *s, struct uid_table *u,
                          struct series_directory *d,
                          const struct engine_options *o);
void engine_free(struct engine **en);

/* Of sub-queries reading their points. */
const struct latency *engine_latency(const struct engine *en);

/* The budget of all queries (all_bytes).  What other requests keep in memory is
 * charged to it as well. */
struct budget *engine_budget(struct engine *en);

struct chunks;

/* 'cancel' is asked periodically, from several threads.  Everything in '*out'
 * lies in the arena, which counts in the memory of the query from now on, also
 * what is computed of the result afterwards.  With 'chunks' (else NULL) groups
 * are written as they come (query/answer/chunks.h), and '*out' has none: for
 * answers without annotations; what it needs to write is in '*chunks', and
 * chunks_fini() is the caller's. */
MUST_CHECK enum status engine_run(struct engine *en, const struct query *q,
                                  struct cancel cancel, struct chunks *chunks,
                                  struct arena *a, struct query_result *out,
                                  struct parse_error *e);

/* Does its plan read so little of a local engine that a thread which has others
 * to serve may run it?  False, too, where the plan itself would take long.
 * 'a' is for the plans: engine_run() uses those of a small query, and
 * plan_drop() is the caller's. */
bool engine_is_small(struct engine *en, struct query *q, struct arena *a);

/* The dry run: for each sub-query, in the arena, what explain_subquery()
 * says. */
MUST_CHECK enum status engine_explain(struct engine *en, const struct query *q,
                                      struct cancel cancel, struct arena *a,
                                      struct explained **out, struct error *e);

/* Deletes what the query's ranges and filters take, exactly: histograms where
 * the query asks for these, else points; '*deleted' is how many.  Then the
 * annotations of these series in these ranges, unless rollups were read.  The
 * answer of the query is made before, by engine_run(), and written. */
MUST_CHECK enum status engine_delete(struct engine *en, const struct query *q,
                                     const struct query_result *result,
                                     uint64_t *deleted, struct error *e);
