/* Counters: one line each in base/process/counters.def, which also has their
 * names for /api/stats, telnet's "stats" and /metrics (tsd/api/stats).
 *
 * Threads: any; relaxed atomics. */
#pragma once

#include <stdint.h>

enum counter {
#define COUNTER(id, name, tags, metric, label, text) id,
#include "base/process/counters.def"
#undef COUNTER
    COUNTER_LEN
};

void counter_add(enum counter c, uint64_t n);
uint64_t counter_get(enum counter c);
