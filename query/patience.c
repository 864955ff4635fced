/* See query/patience.h. */
#include "config.h"

#include "query/patience.h"

#include "base/clock.h"

/* Well below a millisecond of work. */
#define STEPS_BETWEEN_LOOKS 65536

struct patience
patience_begin(unsigned timeout_ms, bool (*gone)(void *ctx), void *gone_ctx)
{
    struct patience p = { .started_us = clock_monotonic_us(),
                          .timeout_ms = timeout_ms,
                          .gone = gone,
                          .gone_ctx = gone_ctx };

    if (timeout_ms != 0)
        p.deadline_us = p.started_us + (int64_t)timeout_ms * 1000;
    return p;
}

enum status
patience_left(const struct patience *p, struct error *e)
{
    int64_t now_us = clock_monotonic_us();

    if (p->deadline_us != 0 && now_us > p->deadline_us)
        return error_set(
            e, ST_LIMIT,
            "Sorry, your query timed out. Time limit: %u ms, fetch time: "
            "%lld ms. Please try filtering using more tags or decrease your "
            "time range.",
            p->timeout_ms, (long long)(now_us - p->started_us) / 1000);
    if (p->gone != NULL && p->gone(p->gone_ctx))
        return error_set(e, ST_BUSY, "the client hung up");
    return ST_OK;
}

enum status
patience_spend(struct patience *p, size_t steps, struct error *e)
{
    if (steps < STEPS_BETWEEN_LOOKS && p->steps < STEPS_BETWEEN_LOOKS - steps) {
        p->steps += steps;
        return ST_OK;
    }
    p->steps = 0;
    return patience_left(p, e);
}
