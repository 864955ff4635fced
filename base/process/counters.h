/* Counters: one line each in base/process/counters.def, from which /api/stats,
 * telnet "stats" and /metrics come.
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

struct counter_text {
    const char *name;   /* without "tsd." */
    const char *tags;   /* "type=put", or "" */
    const char *metric; /* at /metrics, without "halite_" */
    const char *label;  /* "reason=limit", or "" */
    const char *text;
};

void counter_add(enum counter c, uint64_t n);
uint64_t counter_get(enum counter c);
const struct counter_text *counter_text(enum counter c);
