#include "cluster/assign.h"

#include "tests/harness.h"

#define BUCKETS 64

static struct member
make_member(unsigned i, const char *mode)
{
    struct member m = { .live = true };

    (void)snprintf(m.name, sizeof m.name, "%016x", i * 2654435761u);
    (void)snprintf(m.address, sizeof m.address, "host%u:4242", i);
    (void)snprintf(m.mode, sizeof m.mode, "%s", mode);
    return m;
}

static const char *
owner(const struct members *m, unsigned bucket)
{
    const struct member *x = assign_bucket(m, bucket);

    return x == NULL ? "" : x->name;
}

START_TEST(each_gets_about_its_share)
{
    struct member list[4];
    struct members m = { list, 4 };
    unsigned counts[4] = { 0 };

    for (unsigned i = 0; i < 4; i++)
        list[i] = make_member(i, "rw");
    for (unsigned b = 0; b < 256; b++)
        counts[assign_bucket(&m, b) - list]++;
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_ge(counts[i], 256 / 4 / 2);
        ck_assert_uint_le(counts[i], 256 / 4 * 2);
    }
}
END_TEST

/* No bucket moves between two that stay. */
START_TEST(who_comes_takes_and_who_goes_leaves_its_own_alone)
{
    struct member list[4];
    struct members three = { list, 3 }, four = { list, 4 };
    unsigned moved = 0;

    for (unsigned i = 0; i < 4; i++)
        list[i] = make_member(i + 7, "rw");
    for (unsigned b = 0; b < BUCKETS; b++) {
        bool same = strcmp(owner(&three, b), owner(&four, b)) == 0;

        ck_assert(same || strcmp(owner(&four, b), list[3].name) == 0);
        moved += !same;
    }
    ck_assert_uint_gt(moved, 0);
    list[3].live = false;
    for (unsigned b = 0; b < BUCKETS; b++)
        ck_assert_str_eq(owner(&three, b), owner(&four, b));
}
END_TEST

START_TEST(the_order_of_the_list_does_not_count)
{
    struct member list[3] = { make_member(1, "rw"), make_member(2, "rw"),
                              make_member(3, "rw") };
    struct member other[3] = { list[2], list[0], list[1] };
    struct members a = { list, 3 }, b = { other, 3 };

    for (unsigned i = 0; i < BUCKETS; i++)
        ck_assert_str_eq(owner(&a, i), owner(&b, i));
}
END_TEST

START_TEST(some_take_none)
{
    struct member list[3] = { make_member(1, "ro"), make_member(2, "leaving"),
                              make_member(3, "rw") };
    struct members m = { list, 3 };

    for (unsigned i = 0; i < BUCKETS; i++)
        ck_assert_str_eq(owner(&m, i), list[2].name);
    list[2].live = false;
    ck_assert_ptr_null(assign_bucket(&m, 0));
}
END_TEST

START_TEST(a_tool_takes_them_where_no_daemon_does)
{
    struct member list[2] = { make_member(1, "tool"), make_member(2, "rw") };
    struct members m = { list, 2 };

    ck_assert_str_eq(owner(&m, 5), list[1].name);
    list[1].live = false;
    ck_assert_str_eq(owner(&m, 5), list[0].name);
}
END_TEST

/* Others could not reach it. */
START_TEST(one_tool_takes_all)
{
    struct member list[3] = { make_member(1, "tool"), make_member(2, "tool"),
                              make_member(3, "tool") };
    struct members m = { list, 3 };

    list[0].started_ms = 2000;
    list[1].started_ms = 1000;
    list[2].started_ms = 1000;
    for (unsigned i = 0; i < BUCKETS; i++)
        ck_assert_str_eq(owner(&m, i), list[1].name);
    list[1].live = false;
    for (unsigned i = 0; i < BUCKETS; i++)
        ck_assert_str_eq(owner(&m, i), list[2].name);
}
END_TEST

TEST_MAIN("assign", TEST(each_gets_about_its_share),
          TEST(who_comes_takes_and_who_goes_leaves_its_own_alone),
          TEST(the_order_of_the_list_does_not_count), TEST(some_take_none),
          TEST(a_tool_takes_them_where_no_daemon_does),
          TEST(one_tool_takes_all))
