/* The deadline of a query: its timeout, and whether its client still waits.
 * The engine starts it; planning, reading, computing and writing check it.
 *
 * Threads: deadline_check(): any, if 'cancel' is.  deadline_tick(): owner.
 * Fails:   ST_LIMIT with OpenTSDB's text after the timeout; ST_BUSY "the
 *          client hung up". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

struct deadline {
    int64_t started_us, end_us; /* monotonic; end_us 0: no timeout */
    unsigned timeout_ms;
    struct cancel cancel;
    size_t steps; /* since deadline_tick() looked last */
};

/* Starts now; 'timeout_ms' 0: no timeout. */
struct deadline deadline_start(unsigned timeout_ms, struct cancel cancel);

MUST_CHECK enum status deadline_check(const struct deadline *p,
                                      struct error *e);

/* Counts steps of work, some nanoseconds each, and checks now and then. */
MUST_CHECK enum status deadline_tick(struct deadline *p, size_t steps,
                                     struct error *e);
