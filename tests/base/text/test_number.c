#include "base/text/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/number_priv.h"
#include "tests/harness.h"

static const struct {
    double v;
    const char *text;
} formats[] = {
    { 1, "1.0" },
    { -0.0, "-0.0" },
    { 1e7, "1.0E7" },
    { 9999999, "9999999.0" },
    { 1e10, "1.0E10" },
    { 1e-3, "0.001" },
    { 1e-4, "1.0E-4" },
    { 0.1, "0.1" },
    { 100, "100.0" },
    { 123.456, "123.456" },
    { 1.5e300, "1.5E300" },
    { 4.9e-324, "4.9E-324" }, /* not 5E-324: Java writes two digits */
    { -1.5e-310, "-1.5E-310" },
    { NAN, "NaN" },
    { -INFINITY, "-Infinity" },
    { 2.47900390625, "2.47900390625" },
    { 1.0000000036846026, "1.0000000036846026" },
    { 9223372036854775807.0, "9.223372036854776E18" },
};

START_TEST(formats_as_java)
{
    char out[NUMBER_TEXT_MAX];
    size_t n = number_format_double(formats[_i].v, out);

    ck_assert_uint_eq(n, strlen(formats[_i].text));
    ck_assert(memcmp(out, formats[_i].text, n) == 0);
}
END_TEST

START_TEST(doubles_round_trip)
{
    uint64_t state = harness_seed(1);

    for (int i = 0; i < harness_rounds(200000); i++) {
        uint64_t bits = harness_random(&state);
        double v, back;
        char out[NUMBER_TEXT_MAX];
        size_t n;

        if (i % 2 == 0)
            v = (double)(int64_t)(bits % 20000000) / 1000 - 10000;
        else
            memcpy(&v, &bits, sizeof v);
        if (isnan(v) || isinf(v))
            continue;
        n = number_format_double(v, out);
        ck_assert_uint_le(n, NUMBER_TEXT_MAX);
        ck_assert(number_parse_double(slice_of(out, n), &back));
        ck_assert_msg(memcmp(&v, &back, sizeof v) == 0, "%a became %a", v,
                      back);
    }
}
END_TEST

/* The digits by printf and strtod, as few as do. */
static size_t
slow_digits(double v, char *digits, int *exponent)
{
    char text[40];
    int precision = 15;
    size_t n = 0;

    do
        (void)snprintf(text, sizeof text, "%.*e", precision - 1, v);
    while (strtod(text, NULL) != v && precision++ < 17);
    *exponent = atoi(strchr(text, 'e') + 1) + 1;
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static double
random_double(uint64_t *state)
{
    uint64_t bits = harness_random(state);
    double v = (double)(bits % 100000), w;

    switch (bits >> 61) {
    case 0:
        return v / 100;
    case 1:
        return v / (double)(1 + harness_random(state) % 4000);
    case 2:
        return v * 1e-9;
    case 3:
        return v * 1e12 + 1 / (v + 1);
    default:
        break;
    }
    /* 2^-100 .. 2^100 */
    bits = (bits & ((UINT64_C(1) << 52) - 1)) |
           (923 + harness_random(state) % 200) << 52;
    memcpy(&w, &bits, sizeof w);
    return w;
}

/* Of up to five decimals, around where they are written the short way. */
START_TEST(decimals_are_written_as_they_are)
{
    uint64_t state = harness_seed(3);

    for (int i = 0; i < harness_rounds(200000); i++) {
        uint64_t x = harness_random(&state), whole = x % 20000000;
        char want[64], out[NUMBER_TEXT_MAX];
        size_t n, want_len;

        if (x % 7 == 0)
            whole = x % 3;
        whole %= 10000000;
        want_len = (size_t)snprintf(want, sizeof want, "%llu.%05llu",
                                    (unsigned long long)whole,
                                    (unsigned long long)(x >> 40) % 100000);
        for (uint64_t cut = x >> 60; cut > 0 && want[want_len - 2] != '.';
             cut--)
            want_len--;
        while (want[want_len - 1] == '0' && want[want_len - 2] != '.')
            want_len--;
        want[want_len] = '\0';
        if (strtod(want, NULL) < 1e-3)
            continue;
        n = number_format_double(strtod(want, NULL), out);
        out[n] = '\0';
        ck_assert_str_eq(out, want);
    }
}
END_TEST

START_TEST(shortest_agrees_with_the_long_way)
{
    uint64_t state = harness_seed(2);
    int taken = 0;

    for (int i = 0; i < harness_rounds(100000); i++) {
        double v = random_double(&state);
        char slow[40], fast[40];
        int slow_exponent, exponent;
        uint64_t digits;
        size_t n, len;

        if (v == 0 || !number_shortest(v, &digits, &exponent))
            continue;
        taken++;
        len = slow_digits(v, slow, &slow_exponent);
        n = (size_t)snprintf(fast, sizeof fast, "%llu",
                             (unsigned long long)digits);
        exponent += (int)n;
        while (n > 1 && fast[n - 1] == '0')
            n--;
        ck_assert_int_eq(exponent, slow_exponent);
        ck_assert_msg(n == len && memcmp(fast, slow, n) == 0, "%a: %.*s, %.*s",
                      v, (int)n, fast, (int)len, slow);
    }
    ck_assert_int_gt(taken, harness_rounds(80000));
}
END_TEST

static const struct {
    float v;
    const char *text;
} floats[] = {
    { 0, "0.0" },
    { -0.0F, "-0.0" },
    { 10, "10.0" },
    { 0.1F, "0.1" },
    { 99.9F, "99.9" },
    { 1.5F, "1.5" },
    { 1e7F, "1.0E7" },
    { 16777216, "1.6777216E7" },
    { 1e-4F, "1.0E-4" },
    { 3.4028235e38F, "3.4028235E38" },
    { INFINITY, "Infinity" },
};

START_TEST(formats_floats)
{
    char out[NUMBER_TEXT_MAX];
    size_t n = number_format_float(floats[_i].v, out);

    ck_assert_msg(slice_eq_str(slice_of(out, n), floats[_i].text), "%.*s",
                  (int)n, out);
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    int64_t v;
} integers[] = {
    { "0", true, 0 },
    { "-1", true, -1 },
    { "+5", true, 5 },
    { "9223372036854775807", true, INT64_MAX },
    { "-9223372036854775808", true, INT64_MIN },
    { "9223372036854775808", false, 0 },
    { "", false, 0 },
    { "-", false, 0 },
    { "1x", false, 0 },
};

START_TEST(parses_integers)
{
    int64_t v = 0;
    bool ok = number_parse_i64(slice_str(integers[_i].text), &v);

    ck_assert_int_eq(ok, integers[_i].ok);
    if (ok)
        ck_assert_int_eq(v, integers[_i].v);
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    double v;
} doubles[] = {
    { ".5", true, .5 },
    { "5.", true, 5 },
    { "1e3", true, 1000 },
    { "-1.5E-3", true, -0.0015 },
    { "1e400", true, INFINITY },
    { "0x10", false, 0 },
    { "nan", false, 0 },
    { "inf", false, 0 },
    { ".", false, 0 },
    { "1e", false, 0 },
    { "1.2.3", false, 0 },
    { "", false, 0 },
    { "1 ", false, 0 },
    { "123456789012345678901234567890", true,
      123456789012345678901234567890.0 },
};

START_TEST(parses_doubles)
{
    double v = 0;
    bool ok = number_parse_double(slice_str(doubles[_i].text), &v);

    ck_assert_int_eq(ok, doubles[_i].ok);
    if (ok)
        ck_assert(v == doubles[_i].v);
}
END_TEST

TEST_MAIN("number", LOOP(formats_as_java, formats),
          LOOP(formats_floats, floats), TEST(doubles_round_trip),
          TEST(decimals_are_written_as_they_are),
          TEST(shortest_agrees_with_the_long_way),
          LOOP(parses_integers, integers), LOOP(parses_doubles, doubles))
