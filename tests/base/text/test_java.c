#include "base/text/java.h"

#include <math.h>

#include "tests/harness.h"

static const struct {
    const char *text, *trimmed;
} trims[] = {
    { "", "" },
    { " ", "" },
    { "a", "a" },
    { " a b ", "a b" },
    { "\t\r\n\x01"
      "a\x1f",
      "a" },
    { "\xc2\xa0", "\xc2\xa0" },
};

START_TEST(trims_blanks_and_controls)
{
    ck_assert(
        slice_eq_str(java_trim(slice_str(trims[_i].text)), trims[_i].trimmed));
}
END_TEST

static const struct {
    const char *name;
    uint32_t hash;
} hashes[] = {
    { "", 0 },
    { "a", 97 },
    { "sys", 0x1becd },
    { "polygenelubricants", 0x80000000 },
    { "\xc3\xa9", 0xe9 },
    { "\xf0\x9f\x98\x80", 0xd83d * 31 + 0xde00 },
    { "\xff"
      "a",
      0xfffd * 31 + 97 },
};

START_TEST(hashes_units_of_utf16)
{
    ck_assert_uint_eq(java_hash(slice_str(hashes[_i].name)), hashes[_i].hash);
}
END_TEST

START_TEST(maps_spread_the_hash)
{
    uint32_t h = java_hash(slice_str("sys"));

    ck_assert_uint_eq(java_map_hash(slice_str("sys")), h ^ h >> 16);
}
END_TEST

static const struct {
    const char *text;
    double value;
    int64_t whole;
} doubles[] = {
    { " 1.5 ", 1.5, 1 },
    { "-2e3f", -2000, -2000 },
    { "7D", 7, 7 },
    { "NaN", NAN, 0 },
    { "+Infinity", INFINITY, INT64_MAX },
    { "-Infinity", -INFINITY, INT64_MIN },
    { "9.3e18", 9.3e18, INT64_MAX },
};

START_TEST(reads_doubles)
{
    double d;

    ck_assert(java_parse_double(slice_str(doubles[_i].text), &d));
    ck_assert(isnan(d) ? isnan(doubles[_i].value) : d == doubles[_i].value);
    ck_assert_int_eq(java_long(d), doubles[_i].whole);
    ck_assert(!java_parse_double(slice_str("1x"), &d));
    ck_assert(!java_parse_double(slice_str(""), &d));
}
END_TEST

TEST_MAIN("java", LOOP(reads_doubles, doubles),
          LOOP(trims_blanks_and_controls, trims),
          LOOP(hashes_units_of_utf16, hashes), TEST(maps_spread_the_hash))
