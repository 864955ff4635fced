/* What a sub-query may read, best first: rollups of one interval, then those
 * of the next, then points; the first candidate that has series is answered.
 *
 *     downsample 1d-avg -> the largest interval that divides a day -> the ids
 *     of "..-sum" and "..-count" -> no series? the next interval, or points
 *
 * Threads: one at a time.
 * Fails:   ST_INVALID with OpenTSDB's sentences; ST_IO. */
#pragma once

#include "query/model/rollup.h"

struct rollup_candidate {
    const struct rollups *rollups;
    struct series_directory *series;
    struct sub_query sub;                /* what is to run */
    const struct aggregator *aggregator; /* of the rollups */
    const struct rollup_interval *best[ROLLUP_INTERVALS_MAX];
    size_t best_len, at;
    bool fallback, fallback_raw, pre;
    struct error missing; /* status other than ST_OK: it cannot run */
};

/* 'r' NULL: there are no rollups. */
MUST_CHECK enum status rollup_candidate_first(struct rollup_candidate *c,
                                              const struct rollups *r,
                                              struct series_directory *d,
                                              const struct sub_query *sq,
                                              struct error *e);
/* The points as they came, whatever came before; 'c' was made for 'sq'. */
MUST_CHECK enum status rollup_candidate_points(struct rollup_candidate *c,
                                               const struct sub_query *sq,
                                               struct error *e);
/* After nothing was found: false when that is the answer. */
MUST_CHECK enum status rollup_candidate_next(struct rollup_candidate *c,
                                             bool *again, struct error *e);
/* For showQuery: "1h", or "raw". */
const char *rollup_candidate_table(const struct rollup_candidate *c);
