#include "base/process/log_throttle.h"

#include <stdio.h>

#include "base/process/clock.h"

bool
log_throttle_pass(struct log_throttle *t, char more[LOG_MORE_SIZE])
{
    int64_t now = clock_monotonic_us();
    int64_t next = atomic_load(&t->next_us);
    uint64_t events;

    /* The event is counted first, so that the thread which logs includes it. */
    (void)atomic_fetch_add(&t->events, 1);
    if (now < next || !atomic_compare_exchange_strong(&t->next_us, &next,
                                                      now + LOG_THROTTLE_US))
        return false;
    events = atomic_exchange(&t->events, 0);
    more[0] = '\0';
    if (events > 1)
        (void)snprintf(more, LOG_MORE_SIZE,
                       " (%llu more of this kind before it)",
                       (unsigned long long)events - 1);
    return true;
}
