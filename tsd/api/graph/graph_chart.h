/* The result of a query as series of a chart, with their names.
 *
 * Owns:    all lies in the arena.
 * Threads: any; functions of their arguments. */
#pragma once

#include "query/model/result.h"
#include "tsd/api/graph/graph_params.h"

/* Fills range, zone and series of 'p->chart', of the first 'most' groups. */
MUST_CHECK enum status graph_chart_make(const struct query *q,
                                        const struct query_result *result,
                                        size_t most, struct arena *a,
                                        struct graph_params *p,
                                        struct error *e);

/* "metric{k=v, k2=v2}" of a group. */
void graph_name(struct buf *b, const struct result_group *g);
