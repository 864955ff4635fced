/* The expected numbers come from java.util.TimeZone and java.util.Calendar, and
 * from the steps that OpenTSDB takes with them. */
#include "base/time/timezone.h"
#include "base/time/timezone_priv.h"

#include "base/buf.h"
#include "tests/harness.h"

static const struct timezone *
zone(const char *name)
{
    const struct timezone *z;
    struct error e;

    ck_assert_msg(timezone_find(slice_str(name), &z, &e) == ST_OK, "%s", name);
    return z;
}

static const struct {
    const char *zone;
    int64_t ts_ms;
    int count;
    enum time_unit unit;
    int64_t floor_ms, next_ms;
    int64_t offset_ms;
} buckets[] = {
    { "Europe/Zurich", 4948734466034, 5, UNIT_MS, 4948738065995, 4948738066000,
      7200000 },
    { "Europe/Zurich", 1130632011115, 7, UNIT_S, 1130633993000, 1130634000000,
      7200000 },
    { "Europe/Zurich", 1729989337489, 2, UNIT_M, 1729990680000, 1729990800000,
      7200000 },
    { "America/Sao_Paulo", 1330220686158, 3, UNIT_MS, 1330224239997,
      1330224240000, -7200000 },
    { "America/Sao_Paulo", 1298166578345, 1, UNIT_S, 1298170139000,
      1298170140000, -7200000 },
    { "Australia/Lord_Howe", 1586012061463, 77, UNIT_MS, 1586013839923,
      1586013840000, 39600000 },
    { "Australia/Lord_Howe", 1712414957528, 15, UNIT_S, 1712416725000,
      1712416740000, 39600000 },
    { "America/St_Johns", 5296506425378, 2, UNIT_MS, 5296510024998,
      5296510025000, -9000000 },
    { "America/St_Johns", 89181128841, 15, UNIT_N, 63084600000, 102483000000,
      -12600000 },
    { "Asia/Kathmandu", 153557806674, 2, UNIT_N, 152476200000, 157746600000,
      19800000 },
    { "America/Sao_Paulo", 34538004860, 7, UNIT_W, 34138800000, 38372400000,
      -10800000 },
    { "PST", 1400791381252, 92, UNIT_M, 1400786160000, 1400791680000,
      -25200000 },
    { "Europe/Dublin", 719976181805, 2, UNIT_W, 719967600000, 721180800000, 0 },
    { "Australia/Lord_Howe", 1869666210607, 14, UNIT_H, 1869656400000,
      1869706800000, 37800000 },
    { "America/Sao_Paulo", 379013013006, 59, UNIT_H, 378914400000, 379126800000,
      -10800000 },
    { "America/Sao_Paulo", 750820943199, 40, UNIT_MS, 750820943160,
      750820943200, -10800000 },
    { "Europe/Zurich", 1067134753158, 30, UNIT_M, 1067133600000, 1067135400000,
      3600000 },
    { "America/St_Johns", 7485491810434, 43, UNIT_S, 7485491795000,
      7485491838000, -9000000 },
    { "Asia/Kathmandu", 3666830853765, 91, UNIT_H, 3666741300000, 3667068900000,
      20700000 },
    { "Europe/Dublin", 941330307805, 35, UNIT_M, 941328600000, 941330700000,
      3600000 },
    { "Australia/Lord_Howe", 1475331438765, 45, UNIT_M, 1475331300000,
      1475334000000, 37800000 },
    { "PST", 1608343817144, 5, UNIT_H, 1608339600000, 1608357600000,
      -28800000 },
    { "PST", 104918557417, 40, UNIT_MS, 104918557400, 104918557440, -28800000 },
    { "Europe/Zurich", 219996577329, 3, UNIT_H, 219992400000, 220003200000,
      3600000 },
    { "America/Sao_Paulo", 1224391812973, 3, UNIT_N, 1222830000000,
      1230775200000, -7200000 },
    { "Asia/Kathmandu", 669608805963, 9, UNIT_S, 669608802000, 669608811000,
      20700000 },
    { "Asia/Kathmandu", 1554557551489, 15, UNIT_M, 1554557400000, 1554558300000,
      20700000 },
    { "Australia/Lord_Howe", 74996905394, 29, UNIT_Y, 63036000000, 978267600000,
      36000000 },
    { "Australia/Lord_Howe", 1601734142478, 2, UNIT_S, 1601734142000,
      1601734144000, 37800000 },
    { "PST", 1746811777471, 12, UNIT_S, 1746811776000, 1746811788000,
      -25200000 },
    { "America/Nuuk", 323848700355, 15, UNIT_S, 323848695000, 323848710000,
      -7200000 },
    { "Europe/Zurich", 735191921858, 63, UNIT_N, 725842800000, 891381600000,
      7200000 },
    { "Australia/Lord_Howe", 6051249650733, 6, UNIT_MS, 6051249650730,
      6051249650736, 37800000 },
    { "America/Nuuk", 1445741516659, 7, UNIT_W, 1445133600000, 1449370800000,
      -10800000 },
    { "Europe/Zurich", 1553996818409, 15, UNIT_S, 1553996805000, 1553996820000,
      7200000 },
    { "Pacific/Auckland", 1270304956009, 44, UNIT_S, 1270304916000,
      1270304960000, 43200000 },
    { "Pacific/Auckland", 209354014334, 12, UNIT_Y, 189255600000, 567946800000,
      43200000 },
    { "Europe/Dublin", 1301183074448, 81, UNIT_D, 1300838400000, 1307833200000,
      0 },
    { "America/Sao_Paulo", 423191354987, 5, UNIT_D, 422766000000, 423198000000,
      -10800000 },
    { "America/Sao_Paulo", 1541304200397, 3, UNIT_M, 1541304180000,
      1541304360000, -7200000 },
    { "America/Nuuk", 512526939846, 7, UNIT_M, 512526900000, 512527320000,
      -10800000 },
    { "Europe/Dublin", 1711845762220, 12, UNIT_H, 1711843200000, 1711886400000,
      0 },
    { "PST", 3918229243481, 6, UNIT_D, 3917836800000, 3918355200000,
      -28800000 },
    { "Europe/Zurich", 607041120492, 48, UNIT_W, 606870000000, 635900400000,
      7200000 },
    /* Here midnight of October 20 does not exist. */
    { "America/Sao_Paulo", 1382277600000, 1, UNIT_D, 1382238000000,
      1382324400000, -7200000 },
    { "America/Sao_Paulo", 1382277600000, 10, UNIT_D, 1382065200000,
      1382925600000, -7200000 },
    { "America/Sao_Paulo", 1382277600000, 2, UNIT_D, 1382238000000,
      1382410800000, -7200000 },
    { "America/Sao_Paulo", 1382364000000, 1, UNIT_D, 1382324400000,
      1382410800000, -7200000 },
    { "America/Sao_Paulo", 1382364000000, 10, UNIT_D, 1382065200000,
      1382925600000, -7200000 },
    { "America/Sao_Paulo", 1382364000000, 2, UNIT_D, 1382238000000,
      1382410800000, -7200000 },
    { "America/Sao_Paulo", 1383000000000, 1, UNIT_D, 1382929200000,
      1383015600000, -7200000 },
    { "America/Sao_Paulo", 1383000000000, 10, UNIT_D, 1382925600000,
      1383789600000, -7200000 },
    { "America/Sao_Paulo", 1383000000000, 2, UNIT_D, 1382929200000,
      1383102000000, -7200000 },
};

START_TEST(finds_buckets)
{
    const struct timezone *z = zone(buckets[_i].zone);
    int64_t ts = buckets[_i].ts_ms;
    int count = buckets[_i].count;

    ck_assert_int_eq(timezone_offset_ms(z, ts), buckets[_i].offset_ms);
    ck_assert_int_eq(calendar_floor(z, ts, count, buckets[_i].unit),
                     buckets[_i].floor_ms);
    ck_assert_int_eq(
        calendar_next(z, buckets[_i].floor_ms, count, buckets[_i].unit),
        buckets[_i].next_ms);
}
END_TEST

static const struct {
    const char *zone;
    int year, month, day, hour, minute;
    int64_t utc_ms;
} walls[] = {
    { "Europe/Zurich", 2024, 3, 31, 2, 30, 1711848600000 },
    { "Europe/Zurich", 2024, 10, 27, 2, 30, 1729992600000 },
    { "Europe/Zurich", 2060, 3, 28, 2, 30, 2847663000000 },
    { "Europe/Zurich", 2060, 10, 31, 2, 30, 2866411800000 },
    { "America/New_York", 2013, 13, 1, 25, 0, 1388642400000 },
    { "Australia/Lord_Howe", 2013, 10, 6, 2, 15, 1380987900000 },
    { "Australia/Lord_Howe", 2013, 4, 7, 1, 45, 1365261300000 },
    { "America/Sao_Paulo", 2013, 10, 20, 0, 0, 1382238000000 },
    { "UTC", 2013, 2, 30, 0, 61, 1362186060000 },
    { "Europe/Dublin", 2071, 12, 1, 12, 0, 3216196800000 },
    { "Asia/Tokyo", 1970, 1, 1, 0, 0, -32400000 },
};

START_TEST(reads_wall_clocks)
{
    ck_assert_int_eq(timezone_utc_ms(zone(walls[_i].zone), walls[_i].year,
                                     walls[_i].month, walls[_i].day,
                                     walls[_i].hour, walls[_i].minute, 0, 0),
                     walls[_i].utc_ms);
}
END_TEST

START_TEST(extremes_are_survived)
{
    static const int64_t times[] = { INT64_MIN, -1, 0, INT64_MAX };
    const struct timezone *z = zone("Europe/Zurich");

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        for (int unit = UNIT_MS; unit <= UNIT_Y; unit++) {
            (void)calendar_floor(z, times[i], 1, (enum time_unit)unit);
            (void)calendar_floor(z, times[i], INT32_MAX, (enum time_unit)unit);
            (void)calendar_next(z, times[i], INT32_MAX, (enum time_unit)unit);
            (void)timezone_offset_ms(z, times[i]);
        }
}
END_TEST

static const char *const rejected[] = {
    "",
    "Nowhere/Land",
    "../../../etc/passwd",
    "Europe/../Europe/Zurich",
    "/etc/localtime",
    "localtime",
    "posix/UTC",
    "utc",
    "GMT+2",
    "GMT-03:30",
    "Europe",
    "Europe/Zurich/",
    "E\\",
    "zone.tab",
    "U%s",
    "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

START_TEST(rejects_names)
{
    const struct timezone *z;
    struct error e;

    ck_assert_int_eq(timezone_find(slice_str(rejected[_i]), &z, &e),
                     ST_INVALID);
    ck_assert_ptr_null(z);
    ck_assert_ptr_nonnull(strstr(e.text, "Invalid timezone name: "));
}
END_TEST

START_TEST(a_zone_is_read_once)
{
    ck_assert_ptr_eq(zone("UTC"), timezone_utc());
    ck_assert_ptr_eq(zone("Asia/Tokyo"), zone("Asia/Tokyo"));
    ck_assert_int_eq(timezone_offset_ms(zone("Etc/GMT+5"), 0), -5 * 3600000);
}
END_TEST

static const struct {
    const char *zone;
    int64_t utc_s;
    const char *name;
} abbreviations[] = {
    { "UTC", 0, "UTC" },
    { "Europe/Zurich", 1356998400, "CET" },
    { "Europe/Zurich", 1372651200, "CEST" },
    { "Europe/Zurich", -5000000000, "LMT" },
    { "Europe/Zurich", 4102444800, "CET" }, /* by the rule */
    { "Europe/Zurich", 4118083200, "CEST" },
    { "America/New_York", 1356998400, "EST" },
    { "America/New_York", 4118083200, "EDT" },
    { "Asia/Kathmandu", 1356998400, "+0545" },
    { "Etc/GMT+5", 0, "-05" },
    { "PST", 1356998400, "PST" },
};

START_TEST(tells_abbreviations)
{
    ck_assert_str_eq(timezone_abbreviation(zone(abbreviations[_i].zone),
                                           abbreviations[_i].utc_s * 1000),
                     abbreviations[_i].name);
}
END_TEST

static const struct {
    const char *text;
    bool ok, has_dst;
    int32_t std_s, dst_s;
} rules[] = {
    { "CET-1CEST,M3.5.0,M10.5.0/3", true, true, 3600, 7200 },
    { "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", true, true, -10800, -7200 },
    { "IST-1GMT0,M10.5.0,M3.5.0/1", true, true, 3600, 0 },
    { "<+0530>-5:30", true, false, 19800, 0 },
    { "AAA0BBB,J60,364/167", true, true, 0, 3600 },
    { "EST5EDT", false, false, 0, 0 },
    { "CE-1", false, false, 0, 0 },
    { "", false, false, 0, 0 },
    { "<+03-3", false, false, 0, 0 },
    { "CET-1CEST,M13.5.0,M10.5.0/3", false, false, 0, 0 },
    { "CET-1CEST,M3.0.0,M10.5.0/3", false, false, 0, 0 },
    { "CET-1CEST,M3.5.0", false, false, 0, 0 },
    { "CET-1CEST,M3.5.0,M10.5.0/3x", false, false, 0, 0 },
    { "CET-168", false, false, 0, 0 },
};

START_TEST(reads_rules)
{
    struct zone_rule r;

    ck_assert_int_eq(timezone_read_rule(slice_str(rules[_i].text), &r),
                     rules[_i].ok);
    if (!rules[_i].ok)
        return;
    ck_assert_int_eq(r.has_dst, rules[_i].has_dst);
    ck_assert_int_eq(r.std_s, rules[_i].std_s);
    if (r.has_dst)
        ck_assert_int_eq(r.dst_s, rules[_i].dst_s);
}
END_TEST

/* A header, with the counts in the order of the file. */
static void
put_header(struct buf *b, char version, uint32_t times, uint32_t types)
{
    static const uint8_t zeros[15] = { 0 };

    buf_put_str(b, "TZif");
    buf_put_u8(b, (uint8_t)version);
    buf_put(b, zeros, sizeof zeros);
    buf_put_u32(b, 0);
    buf_put_u32(b, 0);
    buf_put_u32(b, 0);
    buf_put_u32(b, times);
    buf_put_u32(b, types);
    buf_put_u32(b, 0);
}

/* One change, at 1,000 s, from 0 to 'offset_s'. */
static void
put_file(struct buf *b, char version, uint32_t offset_s, const char *footer)
{
    if (version >= '2') {
        put_header(b, version, 0, 1);
        buf_put(b, "\0\0\0\0\0\0", 6);
    }
    put_header(b, version, 1, 2);
    if (version >= '2')
        buf_put_u64(b, 1000);
    else
        buf_put_u32(b, 1000);
    buf_put_u8(b, 1);
    buf_put(b, "\0\0\0\0\0\0", 6);
    buf_put_u32(b, offset_s);
    buf_put(b, "\0\0", 2);
    buf_put_str(b, footer);
}

static const struct {
    char version;
    const char *footer;
    int64_t after_s; /* the offset long after the change */
} files[] = {
    { '\0', "", 3600 },
    { '2', "\nAAA-2\n", 7200 },
    { '3', "\n\n", 3600 },
    { '4', "\nAAA-1BBB-3,J1/0,J365/24\n", 10800 },
};

START_TEST(reads_files)
{
    struct buf b = BUF_INIT;
    struct timezone *z;
    struct error e;

    put_file(&b, files[_i].version, 3600, files[_i].footer);
    ck_assert_int_eq(timezone_read(buf_slice(&b), slice_str("X"), &z, &e),
                     ST_OK);
    ck_assert_int_eq(timezone_offset_ms(z, 999999), 0);
    ck_assert_int_eq(timezone_offset_ms(z, INT64_C(4000000000000)),
                     files[_i].after_s * 1000);
    timezone_free(&z);

    /* Every shorter file is rejected, or lacks only its footer. */
    for (size_t n = 0; n < b.size; n++) {
        if (timezone_read((struct slice){ b.data, n }, slice_str("X"), &z,
                          &e) == ST_OK)
            ck_assert_uint_ge(n, b.size - strlen(files[_i].footer));
        timezone_free(&z);
    }
    buf_fini(&b);
}
END_TEST

START_TEST(rejects_absurd_files)
{
    struct buf b = BUF_INIT;
    struct timezone *z;
    struct error e;

    put_file(&b, '2', 30 * 3600, "\nAAA-2\n");
    ck_assert_int_eq(timezone_read(buf_slice(&b), slice_str("X"), &z, &e),
                     ST_CORRUPT);
    buf_clear(&b);
    put_file(&b, '2', 3600, "\nAAA\n");
    ck_assert_int_eq(timezone_read(buf_slice(&b), slice_str("X"), &z, &e),
                     ST_CORRUPT);
    buf_fini(&b);
}
END_TEST

START_TEST(dates_and_days_agree)
{
    int64_t year;
    int month, day;

    for (int64_t days = -800000; days < 800000; days += 13) {
        date_from_days(days, &year, &month, &day);
        ck_assert_int_eq(days_from_date(year, month, day), days);
    }
    ck_assert_int_eq(days_from_date(2000, 3, 1), 11017);
    ck_assert_int_eq(days_from_date(1999, 15, 1), 11017);
    ck_assert_int_eq(weekday_of_days(0), 4);
    ck_assert_int_eq(weekday_of_days(-5), 6);
}
END_TEST

TEST_MAIN("timezone", LOOP(finds_buckets, buckets),
          LOOP(reads_wall_clocks, walls), TEST(extremes_are_survived),
          LOOP(rejects_names, rejected), TEST(a_zone_is_read_once),
          LOOP(reads_rules, rules), LOOP(tells_abbreviations, abbreviations),
          LOOP(reads_files, files), TEST(rejects_absurd_files),
          TEST(dates_and_days_agree))
