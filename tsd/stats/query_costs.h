/* What all sub-queries of a query cost together, and the most of one: for
 * /api/stats/query, and for "statsSummary" of an answer.
 *
 * Threads: one at a time. */
#pragma once

#include "base/buf.h"
#include "query/model/result.h"

struct query_costs {
    size_t subs;
    uint64_t rows, head_rows, keys, bytes, points, seeks, series;
    uint64_t scans; /* of salt buckets */
    int64_t plan_us, scan_us, scan_max_us, numbers_us, numbers_max_us;
    int64_t bucket_us, bucket_max_us;
};

void query_costs_add(struct query_costs *c, const struct result_stats *stats);

/* Their totals as OpenTSDB has them in both places: members without braces, the
 * last without a comma. */
void query_costs_write(const struct query_costs *c, struct buf *b);

/* A member: a time. */
void query_costs_put_ms(struct buf *b, const char *name, int64_t us);
