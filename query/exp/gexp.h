/* /api/query/gexp: functions over series, as Graphite has them:
 * "scale(movingAverage(sum:1m-avg:sys.cpu{host=*},5),100)".
 *
 *     gexp_parse(), for each text -> engine_run() of the metrics in them
 *     -> gexp_run() -> groups
 *
 * Owns:    everything lies in the arena, but the texts, which outlive it all.
 * Threads: one at a time.
 * Bounds:  GEXP_SIZE_MAX bytes a text, GEXP_DEPTH_MAX functions within one
 *          another, GEXP_NODES_MAX in all.
 * Fails:   ST_INVALID with OpenTSDB's texts, ST_LIMIT, and at the deadline of
 *          the result does. */
#pragma once

#include "query/model/result.h"
#include "query/parse/parse.h"
#include "uid/names/uid.h"

#define GEXP_SIZE_MAX  8192
#define GEXP_DEPTH_MAX 64
#define GEXP_NODES_MAX 512

struct gexp_node; /* opaque */

/* What was parsed so far; zeroed at first. */
struct gexp {
    struct gexp_node *nodes; /* arguments before the functions they go to */
    size_t nodes_len;
    size_t *roots; /* one for each text */
    size_t roots_len;
    struct slice *metrics; /* each as a parameter m= */
    size_t metrics_len;
};

MUST_CHECK enum status gexp_parse(struct slice text, struct arena *a,
                                  struct gexp *g, struct error *e);

/* Replaces the groups of the metrics in 'result' by those of the texts.  'q'
 * has the metrics as its first sub-queries, and asks for whole hours.  As in
 * OpenTSDB, the n-th metric of the texts is the n-th sub-query, also where
 * there are others before it, or equal ones were dropped. */
MUST_CHECK enum status gexp_run(const struct gexp *g, const struct query *q,
                                struct query_result *result,
                                struct uid_table *uids, struct arena *a,
                                struct error *e);
