#include "base/process/latency.h"

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

static const uint64_t times_us[] = {
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
    uint64_t us = times_us[_i], got;

    latency_add(&l, us);
    got = latency_percentile(&l, 50);
    if (us > UINT32_MAX)
        us = UINT32_MAX;
    ck_assert_uint_ge(got, us);
    ck_assert_uint_le(got, us < 16 ? us : us + us / 8);
}
END_TEST

START_TEST(counts_below_powers_of_two)
{
    struct latency l = { 0 };

    for (uint64_t us = 1; us <= 1 << 20; us *= 2) {
        latency_add(&l, us - 1);
        latency_add(&l, us);
    }
    for (unsigned i = 1; i <= 20; i++)
        ck_assert_uint_eq(latency_below(&l, i), 2 * i + 1);
    ck_assert_uint_eq(latency_below(&l, 64), 42);
    ck_assert_uint_eq(l.sum_us, 2 * ((1 << 21) - 1) - 21);
}
END_TEST

TEST_MAIN("latency", TEST(counts_below_powers_of_two), TEST(knows_percentiles),
          LOOP(is_within_an_eighth, times_us))
