/* Time, from an object, so that tests own it.
 *
 * Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock {
    /* Milliseconds since 1970, UTC. */
    int64_t (*now_ms)(const struct clock *c); /* NULL: fixed_ms */
    _Atomic int64_t fixed_ms; /* a test's, which stands still until it is set */
};

/* The system's clock. */
extern const struct clock clock_system;

static inline int64_t
clock_now_ms(const struct clock *c)
{
    return c->now_ms == NULL ? c->fixed_ms : c->now_ms(c);
}

/* Seconds since 1970 for a field of 32 bits: the nearest that it can hold. */
static inline uint32_t
clock_now_s(const struct clock *c)
{
    int64_t s = clock_now_ms(c) / 1000;

    return s < 0 ? 0 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
}

/* Monotonic microseconds, to measure durations. */
int64_t clock_monotonic_us(void);
