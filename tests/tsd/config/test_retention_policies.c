#include "tsd/config/retention_policies.h"

#include "tests/harness.h"

#define DAY INT64_C(86400000)

static struct error e;

START_TEST(reads_policies)
{
    struct retention_policies p;

    ck_assert_msg(retention_policies_parse(
                      slice_str(" sys.*  90d 2y ;debug.* 7d\n\n;* forever; "),
                      &p, &e) == ST_OK,
                  "%s", e.text);
    ck_assert_uint_eq(p.len, 3);
    ck_assert(slice_eq_str(p.list[0].pattern, "sys.*"));
    ck_assert(slice_eq_str(p.list[0].raw, "90d"));
    ck_assert(slice_eq_str(p.list[0].hourly, "2y"));
    ck_assert_int_eq(p.list[0].raw_ms, 90 * DAY);
    ck_assert_int_eq(p.list[0].hourly_ms, 730 * DAY);
    ck_assert_int_eq(p.list[1].raw_ms, 7 * DAY);
    ck_assert_int_eq(p.list[1].hourly_ms, 7 * DAY);
    ck_assert_int_eq(p.list[2].raw_ms, RETENTION_FOREVER);
    ck_assert_int_eq(p.list[2].hourly_ms, RETENTION_FOREVER);
    retention_policies_fini(&p);
    ck_assert_int_eq(retention_policies_parse(slice_str(" ; "), &p, &e), ST_OK);
    ck_assert_uint_eq(p.len, 0);
    retention_policies_fini(&p);
}
END_TEST

static const struct {
    const char *text, *says;
} bad[] = {
    { "sys.*", "policy 1, \"sys.*\": a policy is PATTERN RAW [HOURLY]" },
    { "a 1d; b 1d 2d 3d", "policy 2" },
    { "a 7", "must have an integer and unit: 7. A duration is" },
    { "a 1.5d", "as in 90s or 2h, or forever" },
    { "a 1d2d", "Invalid duration (suffix): 1d2d" },
    { "a 30days", "Invalid duration (suffix): 30days" },
    { "a 30mon", "Invalid duration (suffix): 30mon" },
    { "a d", "Invalid duration (number): d" },
    { "a -1d", "Invalid duration (number): -1d" },
    { "a 7x", "Invalid duration (suffix)" },
    { "a 0d", "Zero or negative" },
    { "a 9999999999999999999d", "Invalid duration (number)" },
    { "a 9223372036854775807y", "must be < Long.MAX_VALUE" },
    { "a Forever", "Invalid duration (number): Forever" },
    { "a 59m", "1h at least" },
    { "a 2d 1d", "at least as long as raw" },
    { "a forever 1d", "at least as long as raw" },
};

START_TEST(rejects)
{
    struct retention_policies p;

    ck_assert_int_eq(retention_policies_parse(slice_str(bad[_i].text), &p, &e),
                     ST_INVALID);
    ck_assert_msg(strstr(e.text, bad[_i].says) != NULL, "%s", e.text);
    ck_assert_ptr_null(p.list);
}
END_TEST

START_TEST(has_limits)
{
    char *text = malloc(RETENTION_TEXT_MAX + 2);
    struct retention_policies p;
    size_t size = 0;

    for (int i = 0; i < RETENTION_POLICIES_MAX; i++)
        size += (size_t)sprintf(text + size, "a%d 1d;", i);
    ck_assert_int_eq(retention_policies_parse(slice_of(text, size), &p, &e),
                     ST_OK);
    ck_assert_uint_eq(p.len, RETENTION_POLICIES_MAX);
    retention_policies_fini(&p);
    size += (size_t)sprintf(text + size, "b 1d");
    ck_assert_int_eq(retention_policies_parse(slice_of(text, size), &p, &e),
                     ST_INVALID);
    memset(text, ' ', RETENTION_TEXT_MAX + 1);
    ck_assert_int_eq(
        retention_policies_parse(slice_of(text, RETENTION_TEXT_MAX), &p, &e),
        ST_OK);
    retention_policies_fini(&p);
    ck_assert_int_eq(retention_policies_parse(
                         slice_of(text, RETENTION_TEXT_MAX + 1), &p, &e),
                     ST_INVALID);
    free(text);
}
END_TEST

static const struct {
    const char *pattern, *name;
    bool matches;
} names[] = {
    { "*", "", true },
    { "*", "a", true },
    { "a", "a", true },
    { "a", "ab", false },
    { "ab", "a", false },
    { "a*", "a", true },
    { "a*", "abc", true },
    { "a*", "ba", false },
    { "*a", "ba", true },
    { "*a", "ab", false },
    { "a*c", "abcbc", true },
    { "a*c", "abcb", false },
    { "*a*b*", "xxaxxbxx", true },
    { "*a*b*", "xxbxxaxx", false },
    { "**", "a", true },
    { "*.cpu.*", "sys.cpu.user", true },
    { "*.cpu.*", "sys.cpu", false },
    { "SYS.*", "sys.cpu", false },
};

START_TEST(matches)
{
    struct retention_policies p;
    char text[64];

    (void)snprintf(text, sizeof text, "no.such 1d;%s 1d", names[_i].pattern);
    ck_assert_int_eq(retention_policies_parse(slice_str(text), &p, &e), ST_OK);
    ck_assert_msg(retention_policies_find(&p, slice_str(names[_i].name)) ==
                      (names[_i].matches ? 1 : 2),
                  "%s %s", names[_i].pattern, names[_i].name);
    retention_policies_fini(&p);
}
END_TEST

START_TEST(the_first_counts)
{
    struct retention_policies p;

    ck_assert_int_eq(retention_policies_parse(
                         slice_str("sys.cpu forever; sys.* 90d; * 7d"), &p, &e),
                     ST_OK);
    ck_assert_uint_eq(retention_policies_find(&p, slice_str("sys.cpu")), 0);
    ck_assert_uint_eq(retention_policies_find(&p, slice_str("sys.cpu2")), 1);
    ck_assert_uint_eq(retention_policies_find(&p, slice_str("x")), 2);
    retention_policies_fini(&p);
}
END_TEST

START_TEST(tells_what_expired)
{
    ck_assert_int_eq(retention_expired_ms(7 * DAY, 10 * DAY), 3 * DAY);
    ck_assert_int_eq(retention_expired_ms(10 * DAY, 10 * DAY), 0);
    ck_assert_int_eq(retention_expired_ms(11 * DAY, 10 * DAY), 0);
    ck_assert_int_eq(retention_expired_ms(RETENTION_FOREVER, 10 * DAY), 0);
    ck_assert_int_eq(retention_expired_ms(DAY, -DAY), 0);
}
END_TEST

TEST_MAIN("retention_policies", TEST(reads_policies), LOOP(rejects, bad),
          TEST(has_limits), LOOP(matches, names), TEST(the_first_counts),
          TEST(tells_what_expired))
