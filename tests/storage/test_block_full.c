/* Blocks that do not count their points: docs/FORMAT.md, "Block", bit 7. */
#include "config.h"

#include "storage/block.h"

#include "storage/block_priv.h"
#include "tests/harness.h"

#define BASE 1356998400u

/* How many points of a regular hour there are need not be said. */
static const struct {
    int64_t first_ms, step_ms;
    size_t count;
    bool full;
} regular[] = {
    { 0, 10000, 360, true },     { 0, 10000, 359, false },
    { 9999, 10000, 360, true },  { 1800000, 10000, 180, true },
    { 0, 1800000, 2, true },     { 1, 1799999, 2, false },
    { 1, 1799999, 3, true },     { 0, 1000, 3600, true },
    { 3599999, 1, 1, false },    { 3599998, 1, 2, true },
    { 3598000, 1000, 2, true },  { 0, 3599999, 2, true },
    { 0, 3599998, 2, true },     { 0, 60000, 60, true },
    { 59000, 60000, 59, false },
};

START_TEST(a_full_hour_says_so)
{
    struct points p = { 0 }, back = { 0 };
    struct synopsis s;
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < regular[_i].count; i++)
        ck_assert(points_add(
            &p, (struct point){ BASE * INT64_C(1000) + regular[_i].first_ms +
                                    (int64_t)i * regular[_i].step_ms,
                                { .i = (int64_t)(i % 7) },
                                false }));
    block_encode(&p, BASE, &b);
    ck_assert_int_eq((b.data[1] & FLAG_FULL) != 0, regular[_i].full);
    ck_assert_int_eq(block_decode(buf_slice(&b), BASE, &back, NULL), ST_OK);
    ck_assert_uint_eq(back.len, p.len);
    for (size_t i = 0; i < p.len; i++)
        ck_assert_int_eq(back.ts_ms[i], p.ts_ms[i]);
    ck_assert_int_eq(block_synopsis(buf_slice(&b), BASE, &s, NULL), ST_OK);
    ck_assert_uint_eq(s.count, p.len);
    ck_assert_int_eq(s.last_ms, p.ts_ms[p.len - 1]);
    points_fini(&p);
    points_fini(&back);
    buf_fini(&b);
}
END_TEST

TEST_MAIN("block_full", LOOP(a_full_hour_says_so, regular))
