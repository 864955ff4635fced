/*
 * How long things took, counted in classes, and percentiles of it: exact below
 * 16 ms, within an eighth above.
 *
 * Threads: any.
 */
#ifndef BASE_LATENCY_H
#define BASE_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_CLASSES 240

struct latency {
    _Atomic uint64_t counts[LATENCY_CLASSES]; /* zero at first */
};

void latency_add(struct latency *l, uint64_t ms);

/* The least number of ms that 'percent' of all did not exceed; 0 when there
 * were none. */
uint64_t latency_percentile(const struct latency *l, unsigned percent);

#endif
