/* A workload: which points are sent, in which order, written how.  The same
 * seed gives the same points; a series' points do not depend on the order, nor
 * on how the hosts are dealt out to parts.
 *
 *     hosts x metrics series, one point a step from 'start' up to 'end'
 *
 * Threads: any; workload_run() is a function of its arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_METRICS 10

/* A walk of normal steps between 0 and 100, cut to whole numbers, or to two
 * decimals; or a counter that grows by 500 on average; or these three by turns,
 * metric by metric. */
enum workload_values {
    WORKLOAD_INT,
    WORKLOAD_FLOAT,
    WORKLOAD_COUNTER,
    WORKLOAD_MIXED
};

/* As collectors push them; a host's whole time, then the next one's; or any. */
enum workload_order { WORKLOAD_BY_TIME, WORKLOAD_BY_HOST, WORKLOAD_SHUFFLED };

struct workload {
    uint32_t hosts, metrics;
    int64_t start, end, step; /* seconds */
    uint64_t seed;
    enum workload_values values;
    const char *prefix; /* of the names of metrics */
    enum workload_order order;
    bool json;             /* an object a line, else "put ..." lines */
    uint32_t jitter_ms;    /* 0: whole seconds; else times are up to so late */
    uint32_t gap_permille; /* points that are missing */
    uint32_t part, parts;  /* hosts with number % parts == part; 0 of 1: all */
};

struct workload_totals {
    uint64_t points, bytes;
    int64_t last_s;                 /* time of the newest point */
    int64_t sums[WORKLOAD_METRICS]; /* in units of workload_unit() */
};

/* The defaults: 100 hosts, 10 metrics, 12 hours at 10 s, integers. */
extern const struct workload workload_default;

/* "" when it makes sense, else what does not. */
const char *workload_fault(const struct workload *w);

typedef bool workload_write(void *ctx, const void *data, size_t size);

/* False when 'write' failed, or there is no memory to shuffle in. */
bool workload_run(const struct workload *w, workload_write *write, void *ctx,
                  struct workload_totals *out);

const char *workload_metric(uint32_t i);

/* Of a metric's values: 0.01 where they have two decimals, else 1. */
double workload_unit(const struct workload *w, uint32_t metric);
