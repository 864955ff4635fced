/* The result of a query: groups with their points, and what each sub-query
 * cost.
 *
 * Owns:    nothing; everything lies in the arena of the query. */
#pragma once

#include "query/model/deadline.h"
#include "query/model/dropped.h"
#include "query/model/query.h"
#include "query/model/rollup.h"
#include "query/model/dps.h"
#include "storage/scan/store_scan.h"

struct result_group {
    const struct sub_query *sub;
    struct slice metric;
    struct slice *tag_keys, *tag_values; /* names on which the series agree */
    size_t tags_len;
    struct slice *aggregate_tags; /* names of tagks on which they do not */
    size_t aggregate_tags_len;
    struct slice *tsuids; /* raw bytes, ascending */
    size_t tsuids_len;
    struct slice *note_tsuids; /* of series with notes, but without points */
    size_t note_tsuids_len;
    /* The series of the whole sub-query that have notes in the hours read,
     * ascending: others need not be looked up.  Groups that were computed from
     * others lack it. */
    const struct slice *annotated;
    size_t annotated_len;
    const struct rollup_use *rollup; /* what was read for it; NULL: points */
    const char *rollup_table;        /* "1h", or "raw" */
    struct dps dps;
    const struct error *failed; /* of a lazy query: why it has no dps */
    /* The ids of the tagvs that it is grouped by; of 'none' empty. */
    struct slice key;
    /* Of a split query (query/answer/rollup_raw_merge.h) the first so many
     * TSUIDs were read as these rollups, up to 'split_ms', the others as
     * 'rollup' says. */
    const struct rollup_use *split_rollup;
    size_t split_tsuids;
    int64_t split_ms; /* 0: there is one part */
    bool lists_notes; /* it has a list of notes, even an empty one */
};

static inline void
scan_counts_add(struct scan_counts *sum, const struct scan_counts *more)
{
    sum->rows += more->rows;
    sum->head_rows += more->head_rows;
    sum->weeks += more->weeks;
    sum->bytes += more->bytes;
    sum->lacks_rows |= more->lacks_rows;
    sum->weeks_are_damaged |= more->weeks_are_damaged;
    sum->lacks_weeks |= more->lacks_weeks;
    sum->keys += more->keys;
    sum->seeks += more->seeks;
}

/* What the scan of one salt bucket cost. */
struct result_scan {
    struct scan_counts scan;
    uint64_t points;
    int64_t us;
};

/* Series that have annotations in the hours in which points were read, from a
 * time on: see engine_delete(). */
struct annotated {
    struct slice *tsuids;
    size_t len;
    int64_t from_ms;
    const struct annotated *before; /* of a part of the range before it */
};

/* What one sub-query cost. */
struct result_stats {
    struct scan_counts scan;
    struct result_scan *scans; /* by bucket; none of histograms */
    size_t scans_len;
    uint64_t series;     /* that had rows */
    uint64_t nameless;   /* of these, left out: a name was deleted */
    uint64_t points;     /* read */
    uint64_t decoded;    /* of them, unpacked one by one */
    uint64_t points_out; /* answered */
    int64_t plan_us, scan_us, numbers_us;
    const char *plan;  /* which way, and why */
    bool joins_series; /* a group has several */
    struct dropped dropped;
    /* Hourly values from before this time, of which rows are dropped, are
     * damaged: the answer lacks them; 0: none. */
    int64_t damaged_before_ms;
    struct annotated annotated; /* of a query that deletes */
};

/* What a sub-query answers; nothing if its groups were written. */
struct subquery_result {
    struct result_group *groups;
    size_t len;
};

struct query_result {
    struct result_group *groups; /* by sub-query, then by UIDs */
    size_t groups_len;
    struct result_stats *stats; /* one for each sub-query */
    size_t stats_len;
    struct deadline deadline; /* of what is done with the result */
};
