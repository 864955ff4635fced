/* The plan of one sub-query: which series could match, as masks over row keys,
 * and by which path each salt bucket is read.
 *
 *     names -> ids;  filters -> a set of tagv ids for each tagk, or "any":
 *     a filter by name is evaluated once for each value, not for each series;
 *     tag-key sets of the metric -> one mask each;  counts -> the path
 *
 * When a filter narrows the metric, or only tag-key sets with few of its series
 * fit, the series directory is asked first (same masks, no times).  Then all
 * three paths can be priced, in units of one step over one key; without a list
 * only the first two can:
 *
 *     range   all rows of the metric in the spans                    (steps)
 *     hints   one seek for each run of matching neighbours, and the matches
 *     seeks   one seek for each series and span
 *
 * The directory is derived from rows: where it is damaged nothing is listed,
 * and the rows of the metric are read by masks; filters by name are evaluated
 * on the series that come.
 *
 * Owns:    all is in the arena, but for the masks: plan_fini().
 * Threads: frozen once made. */
#pragma once

#include "query/model/dropped.h"
#include "query/model/deadline.h"
#include "query/model/query.h"
#include "query/downsample/reading.h"
#include "storage/scan/store_scan.h"
#include "uid/series/series.h"

struct plan_bucket {
    enum access_path path;
    struct slice
        *series; /* those known to match, ascending; NULL: not listed */
    size_t series_len;
};

struct plan {
    uint64_t metric;
    struct slice metric_id; /* its bytes */
    uint32_t from_base, to_base;
    uint64_t *group_tagks; /* ascending */
    size_t group_tagks_len;
    bool empty;  /* nothing can match */
    bool listed; /* every series of the answer is in the buckets' lists */
    bool is_taken;
    struct mask_set *masks; /* NULL: seeks only, or nothing to read */
    /* Filters by name that masks do not say, because the series could not be
     * listed: see plan_takes(); or NULL. */
    struct planner *by_name;
    struct plan_bucket *buckets;
    size_t buckets_len;
    uint64_t series;  /* of the metric, in tag-key sets that could match */
    uint64_t matches; /* listed */
    /* What it takes at most, for spans without a gap: of all buckets. */
    enum access_path path; /* of most of them */
    uint64_t prices[3];    /* by path, where series are listed */
    uint64_t price;        /* of the paths that are taken */
    uint64_t seeks;
    char text[160]; /* for showStats: which path, and why */
};

struct plan_options {
    size_t expansion_limit; /* literals that become ids; more: by name */
    bool skip_unresolved_tagvs;
    size_t list_limit; /* series that are listed; 0: 200,000 */
    bool list_kinds;   /* list the series of rollups, narrowed or not */
    int force_path;    /* < 0: choose; for tests and measurements */
};

struct plan_context {
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct plan_options options;
};

/* Makes the plan of a sub-query and its reading, of which it takes the hours.
 * Errors are OpenTSDB's: "No such name for 'metrics': 'x'" (ST_NOT_FOUND, for a
 * tagk and a literal tagv too). */
MUST_CHECK enum status
plan_make(const struct plan_context *c, const struct sub_query *sq,
          const struct query_reading *reading, const struct deadline *deadline,
          struct arena *a, struct plan *out, struct error *e);
void plan_fini(struct plan *p);

/* The 'matches' series of a plan that lists them, bucket by bucket; NULL past
 * the arena. */
struct slice *plan_series(const struct plan *p, struct arena *a);

/* Do the filters by name of a plan that has some take a series that it reads?
 *
 * Threads: one at a time. */
MUST_CHECK enum status plan_takes(struct plan *p, struct slice tsuid,
                                  bool *takes, struct error *e);

/* Does the plan read this series?  For plans that list none. */
bool plan_reads_series(const struct plan *p, const struct key_layout *layout,
                       struct slice tsuid);

/* What retention has dropped of the points of a metric from 'from_ms' on.
 * 'needs_rows': hourly values are not enough. */
struct dropped plan_find_dropped(const struct plan_context *c, uint64_t metric,
                                 int64_t from_ms, bool needs_rows);

/* Do the plans of all sub-queries read so little, of an engine of this process
 * alone, that a thread which has others to serve may run the query?  False,
 * too, where the plan itself would take long.  The plans are in 'a', and of a
 * small query kept in its sub-queries, for plan_take(), until plan_drop(). */
bool plan_is_small(const struct plan_context *c, struct query *q,
                   struct arena *a);
/* Takes a plan that was kept, once; false: there is none. */
bool plan_take(const struct sub_query *sq, struct plan *out);
void plan_drop(const struct query *q);

/* The series that a query names by their TSUIDs, in hexadecimal: ascending,
 * each once, with the kind of the rollups that are read.  Those of a length
 * that no series has are left out: OpenTSDB looks for them, and finds none.
 * ST_INVALID for what is no TSUID, and for series of several metrics. */
MUST_CHECK enum status parse_tsuids(const struct sub_query *sq,
                                    const struct key_layout *layout,
                                    struct arena *a, struct slice **out,
                                    size_t *out_len, struct error *e);
