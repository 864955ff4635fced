/* The points of an answer as JSON: {"time":value,...}, or [[time,value],...].
 * Most of the bytes of all answers are written here.
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "base/buf.h"
#include "query/model/query.h"
#include "query/model/dps.h"

/* Those in the range of the query, in seconds or milliseconds, as the query
 * wants them.  Of several that share a second the object has the last: a key
 * twice is not what a reader of JSON expects.  Returns how many were written.
 */
size_t dps_json_write(struct buf *b, const struct query *q,
                      const struct dps *dps);

/* The same as members "times":[..],"values":[..], all points of them.  The
 * times are left out when they are those of 'before', which may be NULL. */
size_t dps_json_columns(struct buf *b, const struct query *q,
                        const struct dps *dps, const struct dps *before);
