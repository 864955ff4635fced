/* Fetching: the points of all series that a plan takes, or what downsamplers
 * (query/downsample/fold.h) make of them row by row; one task for
 * each salt bucket, by the workers, or some of them one after the other where
 * there is little to read.
 *
 * Owns:    hours and buckets lie in arenas of the fetch: fetch_fini().
 * Threads: fetch_run(): any. */
#pragma once

#include <stdatomic.h>

#include "base/process/workers.h"
#include "query/downsample/fold.h"
#include "query/model/result.h"
#include "query/plan/plan.h"
#include "storage/scan/column.h"
#include "uid/meta/annotation.h"

/* It and its column lie in arenas of the fetch. */
struct fetched {
    struct slice tsuid;
    union {
        struct bucket_acc acc; /* of the reading's first function */
        struct column column;  /* of READ_POINTS */
        size_t place;          /* of histograms, among those of all series */
    };
    struct bucket_acc *more;   /* of the other functions */
    struct fetched_rows *rows; /* of READ_WHOLE */
    bool annotated_only; /* it has notes in the hours read, and no points */
};

/* What may stop a query; shared by its tasks.  Points and bytes are those of
 * the sub-query that is read. */
struct fetch_limits {
    uint64_t max_points, max_bytes; /* 0: none; the client's errors */
    /* All memory of the query, or NULL: whatever a client can make large is
     * taken from it before it is allocated. */
    struct budget *budget;
    struct deadline deadline;
    _Atomic uint64_t points, bytes; /* read */
};

/* Adds points and bytes that were read. */
void fetch_limits_add(struct fetch_limits *limits, uint64_t points,
                      uint64_t bytes);
/* ST_LIMIT: the points do not fit into the query's memory. */
enum status fetch_out_of_memory(const struct fetch_limits *limits,
                                struct error *e);
/* Nothing is read, with limits as they are. */
void fetch_limits_reset(struct fetch_limits *limits);

struct fetch {
    struct fetched **series; /* ascending by TSUID; in the arenas */
    size_t len, cap;
    struct budget *budget; /* that 'series' counts in */
    struct scan_counts counts;
    struct result_scan *scans; /* one for each bucket */
    size_t scans_len;
    uint64_t points, decoded; /* read; of these, unpacked one by one */
    bool downsampled;
    size_t which;          /* function has made what fetched_data() gives */
    struct arena **arenas; /* of the series, one for each thread's batch */
    size_t arenas_len;
    struct annotated annotated; /* in the arena of who asked for it */
};

/* What is to be fetched; all of it is lent. */
struct fetch_request {
    const struct plan_context *context;
    const struct plan *plan;
    const struct query_reading *reading;
    struct workers *workers;
    struct fetch_limits *limits;
};

MUST_CHECK enum status fetch_run(const struct fetch_request *r,
                                 struct fetch *out, struct error *e);
void fetch_fini(struct fetch *f);

static inline const struct bucket_acc *
fetched_acc(const struct fetch *f, const struct fetched *s)
{
    return f->which == 0 ? &s->acc : &s->more[f->which - 1];
}

/* What aggregate_group() takes: lent. */
struct column fetched_data(const struct fetch *f, const struct fetched *s);

/* After fetching rollups: their real times, those in the scanned range only,
 * and TSUIDs without the kind. */
struct rollup_times {
    const struct key_layout *layout;
    const struct rollup_interval *interval;
    const struct query_reading *reading;
    struct deadline deadline;
};
MUST_CHECK enum status rollup_restore_times(struct rollup_times *r,
                                            struct fetch *f, struct arena *a,
                                            struct error *e);
/* Gives sums their counts, which stay the caller's. */
MUST_CHECK enum status fetch_join_counts(struct fetch *f,
                                         const struct fetch *counts,
                                         struct deadline *deadline,
                                         struct arena *a, struct error *e);
/* Allocates the list of series of 'f', which has none yet, for 'len' series. */
MUST_CHECK enum status fetch_make_room(struct fetch *f, size_t len,
                                       struct budget *budget, struct error *e);
/* Replaces the list of series of 'f' by that of 'from', which has nothing else.
 */
void fetch_take_series(struct fetch *f, struct fetch *from);

/* The series of the plan that have annotations in the hours read, ascending;
 * none without 'records'. */
MUST_CHECK enum status
fetch_find_annotated(const struct plan_context *c, const struct sub_query *sq,
                     const struct plan *p, struct records *records,
                     struct arena *a, struct annotated *out, struct error *e);
/* Adds those that have no points, as OpenTSDB's rows have both. */
MUST_CHECK enum status fetch_add_annotated(struct fetch *f,
                                           const struct annotated *annotated,
                                           struct arena *a, struct error *e);

/* ST_OK, or why the query must stop: checked now and then. */
MUST_CHECK enum status fetch_check_limits(struct fetch_limits *limits,
                                          struct error *e);
