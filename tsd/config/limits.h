/* What a query may read: tsd.query.limits.* and the file that overrides them
 * for metrics.
 *
 *     [{"regex":"^sys\\.","byteLimit":1048576,"dataPointsLimit":0}, ..]
 *
 * The first entry whose expression is found in the metric counts; 0 is no
 * limit.  The file is looked at again when the interval has passed and a query
 * comes.  One that cannot be read is warned of, and what was read before stays;
 * before anything was read it is an error.
 *
 * Bounds:  LIMITS_FILE_BYTES.
 * Threads: any. */
#pragma once

#include "base/process/clock.h"
#include "query/engine/engine.h"
#include "tsd/config/settings.h"

#define LIMITS_FILE_BYTES ((size_t)4 << 20)

struct limits; /* opaque */

/* 's' and 'c' must outlive it.  ST_INVALID: the file cannot be read; '*out' is
 * to be freed all the same. */
MUST_CHECK enum status limits_open(const struct settings *s,
                                   const struct clock *c, struct limits **out,
                                   struct error *e);
void limits_free(struct limits **l);

/* An engine_limits_find of query/engine/engine.h; 'ctx' is a struct limits. */
void limits_find(void *ctx, const struct query *q, const struct sub_query *sq,
                 struct engine_limits *out);
