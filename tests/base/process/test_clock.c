#include "base/process/clock.h"

#include <time.h>

#include "base/process/lock.h"
#include "tests/harness.h"

START_TEST(fixed_stands_still)
{
    struct clock c = (struct clock){ .fixed_ms = 5 };

    ck_assert_int_eq(clock_now_ms(&c), 5);
    ck_assert_int_eq(clock_now_ms(&c), 5);
    c.fixed_ms = INT64_C(1356998400123);
    ck_assert_int_eq(clock_now_ms(&c), INT64_C(1356998400123));
}
END_TEST

static const struct {
    int64_t ms;
    uint32_t s;
} seconds[] = {
    { -1, 0 },
    { INT64_MIN, 0 },
    { 999, 0 },
    { INT64_C(1356998400999), 1356998400 },
    { INT64_C(4294967295999), UINT32_MAX },
    { INT64_C(4294967296000), UINT32_MAX },
    { INT64_MAX, UINT32_MAX },
};

START_TEST(seconds_are_the_nearest_that_fit)
{
    struct clock c = (struct clock){ .fixed_ms = seconds[_i].ms };

    ck_assert_uint_eq(clock_now_s(&c), seconds[_i].s);
}
END_TEST

START_TEST(system_tells_the_time)
{
    time_t before = time(NULL);
    int64_t now_ms = clock_now_ms(&clock_system);

    /* time() may lag behind by a tick. */
    ck_assert_int_ge(now_ms, (int64_t)before * 1000);
    ck_assert_int_le(now_ms, ((int64_t)time(NULL) + 2) * 1000);
}
END_TEST

START_TEST(monotonic_does_not_go_back)
{
    int64_t last = clock_monotonic_us();

    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_us();

        ck_assert_int_ge(now, last);
        last = now;
    }
}
END_TEST

START_TEST(waits_end)
{
    struct lock lock = LOCK_INIT;
    struct cond cond;
    int64_t start_us = clock_monotonic_us();

    cond_init(&cond);
    lock_take(&lock);
    cond_wait_ms(&cond, &lock, 0);
    cond_wait_ms(&cond, &lock, 20);
    lock_drop(&lock);
    /* Waking early is allowed, waiting for ever is not: Check's time limit. */
    ck_assert_int_ge(clock_monotonic_us(), start_us);
    cond_fini(&cond);
    lock_fini(&lock);
}
END_TEST

TEST_MAIN("clock", TEST(fixed_stands_still),
          LOOP(seconds_are_the_nearest_that_fit, seconds),
          TEST(system_tells_the_time), TEST(monotonic_does_not_go_back),
          TEST(waits_end))
