#include "storage/place/place.h"

#include "storage/place/format.h"
#include "tests/harness.h"

static void
rejects(const char *text, const char *why)
{
    struct place p;
    struct error e = { 0 };

    ck_assert_int_eq(place_parse(text, &p, &e), ST_INVALID);
    ck_assert_msg(strstr(e.text, why) != NULL, "%s: %s", text, e.text);
}

START_TEST(a_folder_and_memory)
{
    struct place p;

    ck_assert_int_eq(place_parse("/var/lib/halite", &p, NULL), ST_OK);
    ck_assert_int_eq(p.kind, PLACE_FOLDER);
    ck_assert_str_eq(p.at, "/var/lib/halite");
    ck_assert_int_eq(place_parse("memory", &p, NULL), ST_OK);
    ck_assert_int_eq(p.kind, PLACE_MEMORY);
    ck_assert_int_eq(place_parse("./memory", &p, NULL), ST_OK);
    ck_assert_int_eq(p.kind, PLACE_FOLDER);
    rejects("", "a store's place is");
}
END_TEST

START_TEST(a_pool)
{
    struct place p;

    ck_assert_int_eq(place_parse("rados:halite/prod", &p, NULL), ST_OK);
    ck_assert_int_eq(p.kind, PLACE_POOL);
    ck_assert_str_eq(p.at, "halite/prod");
    rejects("rados:", "a pool has a name");
    rejects("rados:p?size=3", "size");
}
END_TEST

START_TEST(format_of_a_pool_comes_back)
{
    static const struct key_layout layout = { 1, 64, 3, 3, 3, 6 };
    struct format f, again;
    struct buf text = BUF_INIT;

    format_new(&f, &layout);
    f.complete = true;
    f.window_hours = 24;
    format_print(&f, &text);
    ck_assert_int_eq(format_parse(&text, "FORMAT", &again, NULL), ST_OK);
    ck_assert_uint_eq(again.window_hours, 24);
    ck_assert_str_eq(again.id, f.id);
    ck_assert(again.complete && again.layout.salt_buckets == 64);
    buf_put_str(&text, "more 1\n");
    ck_assert_int_eq(format_parse(&text, "FORMAT", &again, NULL), ST_CORRUPT);
    buf_fini(&text);
}
END_TEST

TEST_MAIN("place", TEST(a_folder_and_memory), TEST(a_pool),
          TEST(format_of_a_pool_comes_back))
