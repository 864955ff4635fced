#include "tsd/api/names/search_terms.h"

#include "tests/harness.h"

/* Against metric.name=sys.cpu.User, tags.name=host, host=web-01,
 * notes="Loud, hot", custom.owner=me and an empty units. */
static const struct {
    const char *text;
    bool hit;
} cases[] = {
    { "*", true },
    { "*:*", true },
    { "sys.cpu.user", true },
    { "SYS.*", true },
    { "sys.*user", true },
    { "sys.???.user", true },
    { "sys.??.user", false },
    { "cpu", true },
    { "cp", false },
    { "cp*", true },
    { "*pu", true },
    { "metric:cpu", true },
    { "metric.name:cpu", true },
    { "NAME:host", true },
    { "metric:host", false },
    { "host:web*", true },
    { "host:web-01", true },
    { "host:01", true },
    { "host:web02", false },
    { "owner:me", true },
    { "custom:me", true },
    { "custom.owner:you", false },
    { "units:*", false },
    { "cpu hot", true },
    { "cpu cold", false },
    { "cpu AND hot", true },
    { "cpu -cold", true },
    { "cpu -hot", false },
    { "cpu NOT cold", true },
    { "NOT hot", false },
    { "NOT -hot", true },
    { "+cpu +loud", true },
    { "-units:*", true },
    { "\"Loud, hot\"", true },
    { "notes:\"loud, HOT\"", true },
    { "notes:\"loud hot\"", false },
    { "  cpu\t\n ", true },
    { "a*b*c*d", false },
    { "**cpu**", true },
};

static void
show(struct search_terms *s, const char *name, const char *value)
{
    search_field(s, slice_str(name), slice_str(value));
}

START_TEST(matches)
{
    struct search_terms s;
    struct error e = { 0 };

    ck_assert_msg(search_parse(slice_str(cases[_i].text), &s, &e) == ST_OK,
                  "%s: %s", cases[_i].text, e.text);
    for (int again = 0; again < 2; again++) {
        search_begin(&s);
        show(&s, "metric.name", "sys.cpu.User");
        show(&s, "tags.name", "host");
        show(&s, "host", "web-01");
        show(&s, "notes", "Loud, hot");
        show(&s, "custom.owner", "me");
        show(&s, "units", "");
        ck_assert_msg(search_is_hit(&s) == cases[_i].hit, "%s", cases[_i].text);
    }
}
END_TEST

static const struct {
    const char *text, *why;
} rejected[] = {
    { "", "there is nothing to search for" },
    { "  AND ", "there is nothing to search for" },
    { "a OR b", "OR is not understood in a search: all terms must hold" },
    { "created:[1 TO 2]", "brackets are not understood in a search" },
    { "(a)", "brackets are not understood in a search" },
    { "notes:\"x", "a quote in the search has no end" },
    { "\"", "a quote in the search has no end" },
    { "notes:", "a term of the search has no value" },
    { "-", "a term of the search has no value" },
    { "a \"\"", "a term of the search has no value" },
};

START_TEST(rejects)
{
    struct search_terms s;
    struct error e = { 0 };

    ck_assert_int_eq(search_parse(slice_str(rejected[_i].text), &s, &e),
                     ST_INVALID);
    ck_assert_str_eq(e.text, rejected[_i].why);
}
END_TEST

START_TEST(too_many_terms)
{
    char text[2 * SEARCH_TERMS_MAX + 3];
    struct search_terms s;
    struct error e = { 0 };

    for (size_t i = 0; i <= SEARCH_TERMS_MAX; i++)
        memcpy(text + 2 * i, "a ", 2);
    ck_assert_int_eq(search_parse(slice_of(text, 2 * SEARCH_TERMS_MAX), &s, &e),
                     ST_OK);
    ck_assert_int_eq(
        search_parse(slice_of(text, 2 * SEARCH_TERMS_MAX + 2), &s, &e),
        ST_INVALID);
    ck_assert_str_eq(e.text, "more than 64 terms in a search");
}
END_TEST

START_TEST(long_terms)
{
    char text[SEARCH_PATTERN_MAX + 1];
    struct search_terms s;
    struct error e = { 0 };

    memset(text, '*', sizeof text);
    ck_assert_int_eq(search_parse(slice_of(text, SEARCH_PATTERN_MAX), &s, &e),
                     ST_OK);
    search_begin(&s);
    show(&s, "name", "x");
    ck_assert(search_is_hit(&s));
    ck_assert_int_eq(
        search_parse(slice_of(text, SEARCH_PATTERN_MAX + 1), &s, &e),
        ST_INVALID);
    ck_assert_str_eq(e.text, "a term of more than 1024 bytes");
}
END_TEST

TEST_MAIN("search_terms", TIMES(matches, sizeof cases / sizeof cases[0]),
          TIMES(rejects, sizeof rejected / sizeof rejected[0]),
          TEST(too_many_terms), TEST(long_terms))
