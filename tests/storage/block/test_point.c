/* Points that came in any order come out as a stable sort of any kind would
 * leave them, the last of equal times alone. */
#include "storage/block/point.h"

#include "tests/harness.h"

/* How many points, within how many ms from when, how many ms apart. */
static const struct {
    size_t len;
    int64_t from_ms;
    uint64_t span_ms, unit_ms;
} cases[] = {
    { 2, 0, 10, 1 },
    { 24, 1356998400000, 60, 1 },
    { 25, 1356998400000, 60, 1 },
    { 120, 1356998400000, 3600000, 30000 },
    { 360, 1356998400000, 3600000, 10000 },
    { 1000, 1356998400000, 3600000, 1 },
    { 5000, 1356998400000, 256, 1 },
    { 5000, 1356998400000, 1, 1 },
    { 3000, INT64_MIN, UINT64_C(1) << 52, 1 },
    { 3000, 0, INT64_C(4294967295999), 1000 },
};

/* No later one is of its time. */
static bool
is_last(const struct points *p, size_t at)
{
    for (size_t i = at + 1; i < p->len; i++)
        if (p->ts_ms[i] == p->ts_ms[at])
            return false;
    return true;
}

START_TEST(points_are_sorted)
{
    struct points p = { 0 }, was = { 0 };
    uint64_t random = harness_seed((unsigned long)_i);
    size_t kept = 0, at;

    for (size_t i = 0; i < cases[_i].len; i++) {
        uint64_t since = harness_random(&random) % cases[_i].span_ms;
        struct point x = {
            .ts_ms = (int64_t)((uint64_t)cases[_i].from_ms + since -
                               since % cases[_i].unit_ms),
            .v.i = (int64_t)i,
            .is_float = harness_random(&random) % 2 == 0,
        };

        ck_assert(points_add(&p, x) && points_add(&was, x));
    }
    ck_assert(points_sort_unique(&p));
    for (size_t i = 1; i < p.len; i++)
        ck_assert_int_lt(p.ts_ms[i - 1], p.ts_ms[i]);
    /* 'v' says where it was. */
    for (size_t i = 0; i < p.len; i++) {
        at = (size_t)p.v[i].i;
        ck_assert_int_eq(p.ts_ms[i], was.ts_ms[at]);
        ck_assert_int_eq(p.is_float[i], was.is_float[at]);
        ck_assert(is_last(&was, at));
    }
    for (size_t i = 0; i < was.len; i++)
        kept += is_last(&was, i);
    ck_assert_uint_eq(p.len, kept);
    points_fini(&p);
    points_fini(&was);
}
END_TEST

TEST_MAIN("point", LOOP(points_are_sorted, cases))
