#include "base/sort.h"

#include "tests/harness.h"

START_TEST(each_number_once)
{
    uint64_t items[] = { 7, UINT64_MAX, 0, 7, 1, 0, UINT64_MAX };
    const uint64_t wanted[] = { 0, 1, 7, UINT64_MAX };

    ck_assert_uint_eq(sort_unique_u64(items, 7), 4);
    ck_assert_mem_eq(items, wanted, sizeof wanted);
    ck_assert_uint_eq(sort_unique_u64(items, 1), 1);
    ck_assert_uint_eq(sort_unique_u64(NULL, 0), 0);
}
END_TEST

START_TEST(places_of_numbers)
{
    const uint64_t items[] = { 1, 7, UINT64_MAX };

    ck_assert_uint_eq(sort_place_u64(items, 3, 7), 1);
    ck_assert_uint_eq(sort_place_u64(items, 2, 8), 2);
    ck_assert(sort_has_u64(items, 3, 1) && !sort_has_u64(items, 3, 8));
}
END_TEST

TEST_MAIN("sort", TEST(each_number_once), TEST(places_of_numbers))
