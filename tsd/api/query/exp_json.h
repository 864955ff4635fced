/* The answer of /api/query/exp as JSON: its outputs, and the query again, as
 * OpenTSDB writes them.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "query/exp/exp.h"

/* {"id":..,"alias":..,"dps":[[ms,v,v],..],"dpsMeta":{..},"meta":[..]}.  Of an
 * expression the rows in the range, of a metric all.  Returns how many rows. */
size_t exp_json_output(struct buf *b, const struct exp_query *q,
                       struct slice id, struct slice alias,
                       const struct exp_table *t);

/* The query, with what was left out filled in. */
void exp_json_query(struct buf *b, const struct exp_query *q);
