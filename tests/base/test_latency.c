#include "config.h"

#include "base/latency.h"

#include "tests/harness.h"

START_TEST(knows_percentiles)
{
    struct latency l = { 0 };

    ck_assert_uint_eq(latency_percentile(&l, 50), 0);
    for (uint64_t i = 1; i <= 10; i++)
        latency_add(&l, i);
    ck_assert_uint_eq(latency_percentile(&l, 50), 5);
    ck_assert_uint_eq(latency_percentile(&l, 75), 8);
    ck_assert_uint_eq(latency_percentile(&l, 90), 9);
    ck_assert_uint_eq(latency_percentile(&l, 95), 10);
    ck_assert_uint_eq(latency_percentile(&l, 100), 10);
}
END_TEST

static const uint64_t times_ms[] = {
    0,
    1,
    15,
    16,
    17,
    18,
    31,
    32,
    33,
    63,
    64,
    100,
    1000,
    1023,
    1024,
    60000,
    86400000,
    UINT64_C(4294967295),
    UINT64_C(4294967296),
};

START_TEST(is_within_an_eighth)
{
    struct latency l = { 0 };
    uint64_t ms = times_ms[_i], got;

    latency_add(&l, ms);
    got = latency_percentile(&l, 50);
    if (ms > UINT32_MAX)
        ms = UINT32_MAX;
    ck_assert_uint_ge(got, ms);
    ck_assert_uint_le(got, ms < 16 ? ms : ms + ms / 8);
}
END_TEST

TEST_MAIN("latency", TEST(knows_percentiles),
          LOOP(is_within_an_eighth, times_ms))
