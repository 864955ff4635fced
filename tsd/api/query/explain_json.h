/* /api/query?explain: the plan of a query instead of its answer.
 *
 * Threads: any. */
#pragma once

#include "query/plan/explain.h"
#include "base/buf.h"

/* {"queries":[{..},..],"rows":..,"seeks":..,"price":..}: of each sub-query, and
 * the sums. */
void explain_json_write(struct buf *b, const struct query *q,
                        const struct explained *explained);
