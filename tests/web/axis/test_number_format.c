#include "web/axis/number_format.h"

#include "tests/harness.h"

static const struct {
    const char *format;
    double v;
    const char *text; /* NULL: the format is rejected */
} formats[] = {
    { "%f", 1.5, "1.500000" },
    { "%.2f", 1.005e3, "1005.00" },
    { "%.0f", 2.5, "2" },
    { "%e", 12345, "1.234500e+04" },
    { "%.3g", 12345, "1.23e+04" },
    { "%g", 0.5, "0.5" },
    { "%s", 12345, "12" },
    { "%.1s%c", 12345, "12.3k" },
    { "%.1s %cB/s", 2.5e9, "2.5 GB/s" },
    { "%.1s%c", -2.5e-3, "-2.5m" },
    { "%.1s%c", 0, "0.0" },
    { "%.0s%c", 1e30, "1e+30" },
    { "%.1f%%", 12.34, "12.3%" },
    { "100%% of %.0f.", 7, "100% of 7." },
    { "\u20ac %.2f", 3, "\u20ac 3.00" },
    { "%f", 1e300, "1.000000e+300" },
    { "", 0, NULL },
    { "none", 0, NULL },
    { "%", 0, NULL },
    { "%%", 0, NULL },
    { "%n", 0, NULL },
    { "%d", 0, NULL },
    { "%5f", 0, NULL },
    { "%-f", 0, NULL },
    { "%*f", 0, NULL },
    { "%.16f", 0, NULL },
    { "%.123f", 0, NULL },
    { "%lf", 0, NULL },
    { "%f%f", 0, NULL },
    { "%f%s", 0, NULL },
    { "%c%f", 0, NULL },
    { "%f%c%c", 0, NULL },
    { "%1$f", 0, NULL },
    { "%.", 0, NULL },
    { "%f%", 0, NULL },
    { "0123456789012345678901234567890123456789012345678901234567890123%f", 0,
      NULL },
};

START_TEST(writes_by_formats)
{
    struct number_format f;
    char text[NUMBER_LABEL_MAX];
    enum status st = number_format_parse(slice_str(formats[_i].format), &f);

    ck_assert_msg((st == ST_OK) == (formats[_i].text != NULL), "%s: %d",
                  formats[_i].format, st);
    if (st != ST_OK)
        return;
    number_format_write(&f, formats[_i].v, text);
    ck_assert_str_eq(text, formats[_i].text);
}
END_TEST

static const struct {
    double v, step, largest;
    const char *text;
} ticks[] = {
    { 0, 20, 100, "0" },
    { -20, 20, 100, "-20" },
    { 2.5, 2.5, 10, "2.5" },
    { 5, 2.5, 10, "5.0" },
    { 0.25, 0.25, 1, "0.25" },
    { 0.02, 0.01, 0.05, "0.02" },
    { 2500, 500, 9000, "2500" },
    { 2.5e6, 5e5, 5e6, "2.5M" },
    { 0, 5e5, 5e6, "0" },
    { 1e6, 1e6, 5e6, "1M" },
    { 1.5e4, 5e3, 2e4, "15k" },
    { 1e15, 1e15, 5e15, "1P" },
    { 2e-7, 1e-7, 5e-7, "200n" },
    { 1e30, 1e30, 5e30, "1e+30" },
    { 1000000.25, 0.25, 1000001, "1.00000025M" },
};

START_TEST(writes_ticks)
{
    char text[NUMBER_LABEL_MAX];

    number_tick(ticks[_i].v, ticks[_i].step, ticks[_i].largest, text);
    ck_assert_str_eq(text, ticks[_i].text);
}
END_TEST

static const struct {
    double v;
    const char *text;
} shorts[] = {
    { 0, "0" },          { 1, "1" },         { 12.3456, "12.35" },
    { 9999, "9999" },    { 9999.9, "10k" },  { 123456, "123.5k" },
    { 0.00012, "120µ" }, { -1.5e7, "-15M" }, { 1e25, "1e+25" },
    { 0.5, "0.5" },      { 1e20, "100E" },   { 1e300, "1e+300" },
    { 1e-12, "1p" },     { 1e-18, "1e-18" },
};

START_TEST(writes_short_ones)
{
    char text[NUMBER_LABEL_MAX];

    number_short(shorts[_i].v, text);
    ck_assert_str_eq(text, shorts[_i].text);
}
END_TEST

TEST_MAIN("number_format", LOOP(writes_by_formats, formats),
          LOOP(writes_ticks, ticks), LOOP(writes_short_ones, shorts))
