#include "tsd/transfer/scan_text.h"

#include "tests/harness.h"

#define T INT64_C(1356998400)

static struct tag
tag(const char *key, const char *value)
{
    return (struct tag){ slice_str(key), slice_str(value) };
}

static struct points
some(void)
{
    static const struct point all[] = {
        { T * 1000, { .i = 10 }, false },
        { T * 1000 + 500, { .i = -300 }, false },
        { (T + 60) * 1000, { .i = 70000 }, false },
        { (T + 61) * 1000, { .d = 2.5 }, true },
        { (T + 62) * 1000, { .d = 0.1 }, true },
        { (T + 63) * 1000, { .d = 1e10 }, true },
        { (T + 64) * 1000 + 1, { .i = INT64_MIN }, false },
    };
    struct points p = { 0 };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ck_assert(points_add(&p, all[i]));
    return p;
}

START_TEST(lines_for_import)
{
    const struct tag tags[] = { tag("host", "web01"), tag("cpu", "0") };
    const struct scan_series s = { slice_str("a.b"), tags, 2 };
    struct points p = some();
    struct buf out = BUF_INIT;

    scan_put_lines(&out, &s, &p);
    ck_assert_str_eq(buf_cstr(&out),
                     "a.b 1356998400 10 host=web01 cpu=0\n"
                     "a.b 1356998400500 -300 host=web01 cpu=0\n"
                     "a.b 1356998460 70000 host=web01 cpu=0\n"
                     "a.b 1356998461 2.5 host=web01 cpu=0\n"
                     "a.b 1356998462 0.1 host=web01 cpu=0\n"
                     "a.b 1356998463 1.0E10 host=web01 cpu=0\n"
                     "a.b 1356998464001 -9223372036854775808 host=web01 "
                     "cpu=0\n");
    points_clear(&p);
    buf_clear(&out);
    scan_put_lines(&out, &s, &p);
    ck_assert_uint_eq(out.size, 0);
    points_fini(&p);
    buf_fini(&out);
}
END_TEST

START_TEST(raw_rows)
{
    static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 200 };
    const struct tag tags[] = { tag("host", "web01"), tag("cpu", "0") };
    const struct scan_series s = { slice_str("a.b"), tags, 2 };
    struct points p = some();
    struct buf out = BUF_INIT;

    scan_put_row(&out, &s, -1, slice_of(tsuid, sizeof tsuid), 3, T, &p,
                 timezone_utc());
    ck_assert_str_eq(
        buf_cstr(&out),
        "[0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, -56] a.b 1356998400 "
        "(Tue Jan 01 00:00:00 UTC 2013) {host=web01, cpu=0}\n"
        "  [0, 0]\t[10]\t0\tl\t1356998400\t(Tue Jan 01 00:00:00 UTC 2013)\n"
        "  [3, -61]\t[0, 1, 17, 112]\t60\tl\t1356998460\t"
        "(Tue Jan 01 00:01:00 UTC 2013)\n"
        "  [3, -37]\t[64, 32, 0, 0]\t61\tf\t1356998461\t"
        "(Tue Jan 01 00:01:01 UTC 2013)\n"
        "  [3, -17]\t[63, -71, -103, -103, -103, -103, -103, -102]\t62\tf\t"
        "1356998462\t(Tue Jan 01 00:01:02 UTC 2013)\n"
        "  [3, -5]\t[80, 21, 2, -7]\t63\tf\t1356998463\t"
        "(Tue Jan 01 00:01:03 UTC 2013)\n"
        "  [-16, 0, 125, 1]\t[-2, -44]\t500\tl\t1356998400500\t"
        "(Tue Jan 01 00:00:00 UTC 2013)\n"
        "  [-16, 62, -128, 71]\t[-128, 0, 0, 0, 0, 0, 0, 0]\t64001\tl\t"
        "1356998464001\t(Tue Jan 01 00:01:04 UTC 2013)\n");
    buf_clear(&out);
    points_clear(&p);
    scan_put_row(&out, &s, 7, slice_of(tsuid, sizeof tsuid), 3, T, &p,
                 timezone_utc());
    ck_assert_str_eq(buf_cstr(&out),
                     "[7, 0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, -56] a.b "
                     "1356998400 (Tue Jan 01 00:00:00 UTC 2013) "
                     "{host=web01, cpu=0}\n");
    points_fini(&p);
    buf_fini(&out);
}
END_TEST

/* As Java prints dates of this zone. */
START_TEST(dates_of_a_zone)
{
    static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 200 };
    const struct tag tags[] = { tag("host", "web01") };
    const struct scan_series s = { slice_str("a.b"), tags, 1 };
    const struct timezone *zone;
    const struct points none = { 0 };
    struct points early = { 0 };
    struct buf out = BUF_INIT;

    ck_assert_int_eq(timezone_find(slice_str("America/New_York"), &zone, NULL),
                     ST_OK);
    scan_put_row(&out, &s, -1, slice_of(tsuid, sizeof tsuid), 3, T, &none,
                 zone);
    scan_put_row(&out, &s, -1, slice_of(tsuid, sizeof tsuid), 3, 1372651200,
                 &none, zone);
    ck_assert_str_eq(buf_cstr(&out),
                     "[0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, -56] a.b "
                     "1356998400 (Mon Dec 31 19:00:00 EST 2012) {host=web01}\n"
                     "[0, 0, 1, 81, -48, -2, -64, 0, 0, 1, 0, 0, -56] a.b "
                     "1372651200 (Mon Jul 01 00:00:00 EDT 2013) "
                     "{host=web01}\n");
    /* Half a second past the epoch, which is before it there. */
    buf_clear(&out);
    ck_assert(points_add(&early, (struct point){ 500, { .i = 1 }, false }));
    scan_put_row(&out, &s, -1, slice_of(tsuid, sizeof tsuid), 3, 0, &early,
                 zone);
    ck_assert_str_eq(buf_cstr(&out),
                     "[0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, -56] a.b 0 "
                     "(Wed Dec 31 19:00:00 EST 1969) {host=web01}\n"
                     "  [-16, 0, 125, 0]\t[1]\t500\tl\t500\t"
                     "(Wed Dec 31 19:00:00 EST 1969)\n");
    points_fini(&early);
    buf_fini(&out);
}
END_TEST

/* Which names lines can express, and what a line begins with. */
START_TEST(names_in_lines)
{
    static const struct {
        const char *metric, *key, *value;
        const char *line; /* up to the time; NULL: lines cannot name it */
    } cases[] = {
        { "a.b", "h", "x", "a.b" },
        { "a=b", "h", "x:1", "a=b" },
        { "put", "h", "x", "put put" },
        { "puts", "h", "x", "puts" },
        { "#a", "h", "#x", "put #a" },
        { "a#", "#h", "x", "a#" },
        { "\xef\xbb\xbf"
          "a",
          "h", "x",
          "put \xef\xbb\xbf"
          "a" },
        { "a b", "h", "x", NULL },
        { " a", "h", "x", NULL },
        { "a\n", "h", "x", NULL },
        { "a\r", "h", "x", NULL },
        { "a", "h ", "x", NULL },
        { "a", "h=", "x", NULL },
        { "a", "h", "x y=z", NULL },
        { "a", "h", "x=y", NULL },
        { "a", "h", "x\r", NULL },
    };
    struct points p = some();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tag tags[] = { tag(cases[i].key, cases[i].value) };
        const struct scan_series s = { slice_str(cases[i].metric), tags, 1 };
        struct buf out = BUF_INIT, line = BUF_INIT;

        ck_assert_int_eq(scan_lines_can_name(&s), cases[i].line != NULL);
        if (cases[i].line == NULL)
            continue;
        buf_printf(&line, "%s 1356998400 10 ", cases[i].line);
        scan_put_lines(&out, &s, &p);
        ck_assert(slice_starts(buf_slice(&out), buf_slice(&line)));
        buf_fini(&out);
        buf_fini(&line);
    }
    points_fini(&p);
}
END_TEST

TEST_MAIN("scan_text", TEST(lines_for_import), TEST(names_in_lines),
          TEST(raw_rows), TEST(dates_of_a_zone))
