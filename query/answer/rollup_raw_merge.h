/* A split sub-query: rollups come late, so they are read only up to where they
 * are sure to be there, and the points after that.
 *
 *     start ......... now - delaySla ......... end
 *       rollups, as if it      points, as if it began
 *       ended there            there
 *
 * Each part is a query of its own, with its own groups, interpolation and
 * rates; then groups with one key become one, with the numbers of the first
 * part and then those of the second.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_LIMIT (arena). */
#pragma once

#include "query/model/result.h"
#include "query/plan/rollup_candidates.h"

/* Does the candidate's answer take newer points from raw series, and from when
 * on?  '*at_ms' at or before the start: from the start. */
bool rollup_raw_merge_wanted(const struct rollup_candidate *c,
                             const struct query *q, int64_t *at_ms);

/* The two parts of an answer.  Their groups ascend by key, or, if 'each_alone',
 * by TSUID, and have the numbers of whole hours. */
struct rollup_raw {
    const struct subquery_result *before, *after;
    bool each_alone;
    const struct query *q; /* as the client asked it */
    int64_t at_ms;         /* where 'after' starts */
};

MUST_CHECK enum status rollup_raw_merge(const struct rollup_raw *parts,
                                        struct arena *a,
                                        struct subquery_result *out,
                                        struct error *e);
