#include "query/model/deadline.h"

#include "base/process/clock.h"

/* Well below a millisecond of work. */
#define STEPS_BETWEEN_LOOKS 65536

struct deadline
deadline_start(unsigned timeout_ms, struct cancel cancel)
{
    struct deadline p = { .started_us = clock_monotonic_us(),
                          .timeout_ms = timeout_ms,
                          .cancel = cancel };

    if (timeout_ms != 0)
        p.end_us = p.started_us + (int64_t)timeout_ms * 1000;
    return p;
}

enum status
deadline_check(const struct deadline *p, struct error *e)
{
    int64_t now_us = clock_monotonic_us();

    if (p->end_us != 0 && now_us > p->end_us)
        return error_set(
            e, ST_LIMIT,
            "Sorry, your query timed out. Time limit: %u ms, fetch time: "
            "%lld ms. Please try filtering using more tags or decrease your "
            "time range.",
            p->timeout_ms, (long long)(now_us - p->started_us) / 1000);
    if (cancel_asked(p->cancel))
        return error_set(e, ST_BUSY, "the client hung up");
    return ST_OK;
}

enum status
deadline_tick(struct deadline *p, size_t steps, struct error *e)
{
    if (steps < STEPS_BETWEEN_LOOKS && p->steps < STEPS_BETWEEN_LOOKS - steps) {
        p->steps += steps;
        return ST_OK;
    }
    p->steps = 0;
    return deadline_check(p, e);
}
