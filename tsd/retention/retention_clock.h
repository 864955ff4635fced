/* Whether retention believes the clock. What is dropped because of a wrong
 * clock is gone, so a clock that is far ahead of the last pass is doubted:
 *
 *     believed --a pass finds the clock more than 'most_ms' ahead of the last
 *                pass, whose clock the store remembers--> doubted
 *     doubted  --points with times near the clock came for 'confirm_ms',
 *                or an operator confirmed it, or it went back--> believed
 *
 * While it is doubted nothing is dropped, no cut rises and no point is rejected
 * as expired. Points ahead of the clock are no evidence, and a doubted clock
 * that jumps again must be confirmed anew. A clock that went back is believed:
 * it drops nothing. The first pass of a store believes any clock.
 *
 * In a pool all servers share what the store remembers: one whose clock is
 * wrong is the only one that doubts it.
 *
 * Threads: one at a time (under the lock of passes). */
#pragma once

#include "storage/store/store_retention.h"

struct retention_clock {
    struct store *store;
    const struct clock *clock;
    int64_t confirm_ms;
    int64_t believed_ms; /* that of the last pass which believed it; 0: none */
    bool doubted;
    int64_t offset_us; /* of the doubted clock from the monotonic one */
};

/* '*now_ms' is the clock. ST_IO: what the store remembers cannot be read or
 * written; then the clock is doubted. */
MUST_CHECK enum status retention_clock_check(struct retention_clock *c,
                                             int64_t most_ms, int64_t *now_ms,
                                             struct error *e);
/* An operator says that the clock is right. */
MUST_CHECK enum status retention_clock_confirm(struct retention_clock *c,
                                               struct error *e);
