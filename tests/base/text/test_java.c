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

/* As Java 17 and 21 print them. */
static const struct {
    double v;
    const char *text;
} fixed[] = {
    { 0, "0.000000" },
    { -0.0, "-0.000000" },
    { 1.5, "1.500000" },
    { 5e-7, "0.000001" }, /* C: 0.000000, as 5e-7 is a little less */
    { -5e-7, "-0.000001" },
    { 4.9999999e-7, "0.000000" },
    { 4.9e-324, "0.000000" },
    { 1.5e-6, "0.000002" },
    { 2.5e-6, "0.000003" },
    { 0.1234565, "0.123457" },
    { 0.9999995, "1.000000" },
    { 9.9999995, "10.000000" },
    { 999999.9999995, "1000000.000000" },
    { 9999999.9999999, "10000000.000000" },
    { 123456789.1234565, "123456789.123457" },
    { 2.0 / 3, "0.666667" },
    { 1e7, "10000000.000000" },
    { 1e15 / 3, "333333333333333.300000" },
    { 123456789012345678.0, "123456789012345680.000000" },
    { 0x1p63, "9223372036854776000.000000" },
    { 1e22, "10000000000000000000000.000000" },
    { NAN, "NaN" },
    { INFINITY, "Infinity" },
    { -INFINITY, "-Infinity" },
};

START_TEST(six_decimals_as_java)
{
    char out[JAVA_FIXED_MAX];
    size_t n = java_format_fixed(fixed[_i].v, out);

    ck_assert_msg(slice_eq_str(slice_of(out, n), fixed[_i].text), "%.*s",
                  (int)n, out);
}
END_TEST

START_TEST(the_longest_fits)
{
    char out[JAVA_FIXED_MAX];
    size_t n = java_format_fixed(-1.7976931348623157e308, out);

    ck_assert_uint_eq(n, 1 + 309 + 1 + 6);
    ck_assert(memcmp(out, "-179769313486231570000000000", 28) == 0);
    ck_assert(memcmp(out + n - 9, "00.000000", 9) == 0);
}
END_TEST

TEST_MAIN("java", LOOP(six_decimals_as_java, fixed), TEST(the_longest_fits),
          LOOP(reads_doubles, doubles), LOOP(trims_blanks_and_controls, trims),
          LOOP(hashes_units_of_utf16, hashes), TEST(maps_spread_the_hash))
