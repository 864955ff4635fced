/* A throttle for log lines that clients can cause as often as they like: the
 * first event is logged at once, and after that at most one per minute, with
 * the number of events that were not logged in between.
 *
 *     char more[LOG_MORE_SIZE];
 *
 *     if (log_throttle_pass(&t, more))
 *         log_warn("put", "rejected a point from %s%s", peer, more);
 *
 * Each kind of event has a throttle of its own. Zeroed memory is a throttle.
 *
 * Threads: any. Of several threads that report at once, one logs. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOG_THROTTLE_US INT64_C(60000000)
#define LOG_MORE_SIZE   64

struct log_throttle {
    _Atomic int64_t next_us;
    _Atomic uint64_t events; /* since the last line */
};

/* Counts an event. Returns true if it is to be logged; then 'more' is the end
 * of the line: empty, or " (12 more of this kind before it)". */
bool log_throttle_pass(struct log_throttle *t, char more[LOG_MORE_SIZE]);
