/* See base/process/clock.h; cond_wait_ms() of base/process/lock.h lives here
 * too, beside the clock that it counts by. */
#include "base/process/clock.h"

#include <errno.h>
#include <time.h>

#include "base/process/lock.h"

static int64_t
system_now_ms(const struct clock *c)
{
    struct timespec ts;

    (void)c;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

const struct clock clock_system = { .now_ms = system_now_ms };

int64_t
clock_monotonic_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

NO_TS_CHECK void
cond_wait_ms(struct cond *c, struct lock *l, unsigned ms)
{
    struct timespec ts;
    int rc;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += ms / 1000;
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    rc = pthread_cond_timedwait(&c->c, &l->m, &ts);
    INSIST(rc == 0 || rc == ETIMEDOUT);
}
