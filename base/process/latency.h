/* Durations in microseconds, counted in classes, and percentiles of them: exact
 * below 16 us, within an eighth above, and exact at powers of two.
 *
 * Threads: any. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_CLASSES 240

struct latency {
    _Atomic uint64_t counts[LATENCY_CLASSES]; /* zero at first */
    _Atomic uint64_t sum_us;
};

void latency_add(struct latency *l, uint64_t us);

/* The least number of us that 'percent' of all did not exceed; 0 when there
 * were none. */
uint64_t latency_percentile(const struct latency *l, unsigned percent);

/* How many took less than 2^exponent us; 64: all. */
uint64_t latency_below(const struct latency *l, unsigned exponent);
