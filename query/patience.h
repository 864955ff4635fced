/*
 * How long a query may go on: until its time is up, or its client is gone.
 * The engine begins it; who works on with a result asks the result's.
 *
 * Threads: patience_left(): any, if gone() is.  patience_spend(): owner.
 * Fails:   ST_LIMIT with OpenTSDB's text when the time is up; ST_BUSY "the
 *          client hung up".
 */
#ifndef QUERY_PATIENCE_H
#define QUERY_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct patience {
    int64_t started_us, deadline_us; /* monotonic; no deadline: 0 */
    unsigned timeout_ms;
    bool (*gone)(void *ctx); /* NULL: nobody can go */
    void *gone_ctx;
    size_t steps; /* since patience_spend() looked last */
};

/* From now on. No limit: 'timeout_ms' 0. */
struct patience patience_begin(unsigned timeout_ms, bool (*gone)(void *ctx),
                               void *gone_ctx);

MUST_CHECK enum status patience_left(const struct patience *p, struct error *e);

/* Counts steps of work, of some nanoseconds each, and looks now and then
 * whether there is patience left. */
MUST_CHECK enum status patience_spend(struct patience *p, size_t steps,
                                      struct error *e);

#endif
