/* The expected offsets and wall clocks come from java.util.TimeZone and
 * java.util.Calendar; buckets, from the lengths of days in the zones' files. */
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

#define H            *60
#define BUCKETS_MOST 8

static const struct {
    const char *zone;
    int count;
    enum time_unit unit;
    struct {
        int year, month, day, hour, minute; /* of UTC */
    } from;
    int minutes[BUCKETS_MOST]; /* the lengths of the buckets from there on */
} buckets[] = {
    /* Summer time that begins at midnight: the day begins at 01:00. */
    { "Africa/Cairo", 1, UNIT_D, { 2024, 4, 24, 22, 0 }, { 24 H, 23 H, 24 H } },
    { "Asia/Beirut", 1, UNIT_D, { 2024, 3, 29, 22, 0 }, { 24 H, 23 H, 24 H } },
    { "America/Santiago",
      1,
      UNIT_D,
      { 2024, 9, 7, 4, 0 },
      { 24 H, 23 H, 24 H } },
    { "America/Havana", 1, UNIT_D, { 2024, 3, 9, 5, 0 }, { 24 H, 23 H, 24 H } },
    { "America/Sao_Paulo",
      1,
      UNIT_D,
      { 2013, 10, 19, 3, 0 },
      { 24 H, 23 H, 24 H } },
    { "America/Asuncion",
      1,
      UNIT_D,
      { 2024, 10, 5, 4, 0 },
      { 24 H, 23 H, 24 H } },
    { "Atlantic/Azores",
      1,
      UNIT_D,
      { 2024, 3, 30, 1, 0 },
      { 24 H, 23 H, 24 H } },
    { "Asia/Amman",
      1,
      UNIT_N,
      { 2011, 2, 28, 22, 0 },
      { 31 * 24 H, 30 * 24 H - 1 H, 31 * 24 H } },
    { "America/Santiago",
      1,
      UNIT_W,
      { 2024, 9, 1, 4, 0 },
      { 7 * 24 H, 7 * 24 H - 1 H, 7 * 24 H } },
    /* It ends at midnight, which comes twice, or once more before it. */
    { "America/Havana",
      1,
      UNIT_D,
      { 2024, 11, 2, 4, 0 },
      { 24 H, 25 H, 24 H } },
    { "America/Santiago", 1, UNIT_D, { 2024, 4, 6, 3, 0 }, { 25 H, 24 H } },
    { "America/St_Johns",
      1,
      UNIT_D,
      { 2011, 11, 5, 2, 30 },
      { 24 H, 25 H, 24 H } },
    { "America/St_Johns", 1, UNIT_D, { 2011, 3, 13, 3, 30 }, { 23 H, 24 H } },
    /* December 30 does not exist, and two days begin with it. */
    { "Pacific/Apia",
      1,
      UNIT_D,
      { 2011, 12, 29, 10, 0 },
      { 24 H, 24 H, 24 H } },
    { "Pacific/Apia",
      2,
      UNIT_D,
      { 2011, 12, 28, 10, 0 },
      { 48 H, 24 H, 48 H } },
    { "Pacific/Apia",
      1,
      UNIT_W,
      { 2011, 12, 25, 10, 0 },
      { 6 * 24 H, 7 * 24 H } },
    { "Pacific/Apia",
      1,
      UNIT_N,
      { 2011, 12, 1, 10, 0 },
      { 30 * 24 H, 31 * 24 H } },
    { "Pacific/Apia",
      12,
      UNIT_H,
      { 2011, 12, 29, 22, 0 },
      { 12 H, 12 H, 12 H } },
    { "Pacific/Kwajalein", 1, UNIT_D, { 1993, 8, 20, 12, 0 }, { 24 H, 24 H } },
    /* Days of the rest, by what is in their files, and by the rule after it. */
    { "Europe/Zurich",
      1,
      UNIT_D,
      { 2024, 3, 29, 23, 0 },
      { 24 H, 23 H, 24 H } },
    { "Europe/Zurich",
      1,
      UNIT_D,
      { 2024, 10, 25, 22, 0 },
      { 24 H, 25 H, 24 H } },
    { "Europe/Zurich",
      1,
      UNIT_D,
      { 2099, 3, 27, 23, 0 },
      { 24 H, 23 H, 24 H } },
    { "Europe/Dublin",
      1,
      UNIT_D,
      { 2071, 10, 23, 23, 0 },
      { 24 H, 25 H, 24 H } },
    { "Asia/Kathmandu",
      1,
      UNIT_D,
      { 1985, 12, 30, 18, 30 },
      { 24 H, 24 H - 15, 24 H } },
    { "Asia/Kolkata",
      1,
      UNIT_N,
      { 2023, 12, 31, 18, 30 },
      { 31 * 24 H, 29 * 24 H, 31 * 24 H } },
    { "UTC", 1, UNIT_W, { 2024, 3, 3, 0, 0 }, { 7 * 24 H, 7 * 24 H } },
    { "UTC", 1, UNIT_Y, { 2023, 1, 1, 0, 0 }, { 365 * 24 H, 366 * 24 H } },
    { "Africa/Monrovia", 1, UNIT_D, { 2000, 1, 1, 0, 0 }, { 24 H } },
    /* Multiples of hours, from midnight by the clock. */
    { "Europe/Zurich",
      12,
      UNIT_H,
      { 2024, 3, 30, 23, 0 },
      { 11 H, 12 H, 12 H } },
    { "Europe/Zurich", 12, UNIT_H, { 2024, 10, 26, 22, 0 }, { 13 H, 12 H } },
    { "Europe/Zurich", 24, UNIT_H, { 2024, 10, 26, 22, 0 }, { 25 H, 24 H } },
    { "Europe/Zurich", 8, UNIT_H, { 2024, 10, 26, 22, 0 }, { 9 H, 8 H, 8 H } },
    { "Europe/Zurich",
      6,
      UNIT_H,
      { 2024, 3, 30, 23, 0 },
      { 5 H, 6 H, 6 H, 6 H } },
    { "Europe/Zurich", 4, UNIT_H, { 2024, 10, 26, 22, 0 }, { 5 H, 4 H } },
    { "Europe/Zurich", 2, UNIT_H, { 2024, 3, 30, 23, 0 }, { 2 H, 1 H, 2 H } },
    { "Europe/Zurich", 2, UNIT_H, { 2024, 10, 26, 22, 0 }, { 2 H, 3 H, 2 H } },
    { "Europe/Zurich",
      1,
      UNIT_H,
      { 2024, 10, 26, 22, 0 },
      { 1 H, 1 H, 1 H, 1 H, 1 H } },
    { "Europe/Zurich", 1, UNIT_H, { 2024, 3, 30, 23, 0 }, { 1 H, 1 H, 1 H } },
    { "Europe/Zurich", 90, UNIT_M, { 2024, 3, 30, 23, 0 }, { 90, 30, 90 } },
    { "Europe/Zurich", 45, UNIT_M, { 2024, 3, 30, 23, 0 }, { 45, 45, 30, 45 } },
    { "Europe/Zurich",
      20,
      UNIT_M,
      { 2024, 10, 27, 0, 20 },
      { 20, 20, 20, 20 } },
    { "America/New_York", 2, UNIT_H, { 2024, 11, 3, 4, 0 }, { 3 H, 2 H } },
    { "America/New_York", 2, UNIT_H, { 2024, 3, 10, 5, 0 }, { 2 H, 1 H, 2 H } },
    { "America/New_York", 12, UNIT_H, { 2060, 11, 7, 4, 0 }, { 13 H, 12 H } },
    { "Australia/Lord_Howe",
      1,
      UNIT_D,
      { 2013, 10, 4, 13, 30 },
      { 24 H, 24 H - 30, 24 H } },
    { "Australia/Lord_Howe",
      12,
      UNIT_H,
      { 2013, 4, 6, 13, 0 },
      { 12 H + 30, 12 H } },
    { "Australia/Lord_Howe", 1, UNIT_H, { 2013, 4, 6, 13, 0 }, { 60, 90, 60 } },
    { "Australia/Lord_Howe",
      1,
      UNIT_H,
      { 2013, 10, 5, 14, 30 },
      { 60, 30, 60 } },
    { "Australia/Lord_Howe",
      30,
      UNIT_M,
      { 2013, 4, 6, 14, 0 },
      { 30, 30, 30, 30 } },
    { "America/St_Johns", 1, UNIT_H, { 2011, 11, 6, 1, 30 }, { 60, 60, 60 } },
    { "America/St_Johns",
      2,
      UNIT_H,
      { 2011, 11, 6, 0, 30 },
      { 2 H, 3 H, 2 H } },
    { "America/Santiago", 6, UNIT_H, { 2024, 9, 8, 4, 0 }, { 5 H, 6 H } },
    { "America/Havana", 6, UNIT_H, { 2024, 11, 3, 4, 0 }, { 7 H, 6 H } },
    { "Asia/Kathmandu", 6, UNIT_H, { 2024, 1, 1, 18, 15 }, { 6 H, 6 H } },
    /* Multiples from the first unit of 1970. */
    { "UTC", 7, UNIT_D, { 2024, 5, 2, 0, 0 }, { 7 * 24 H } }, /* Thursday */
    { "Europe/Zurich",
      7,
      UNIT_D,
      { 2024, 10, 23, 22, 0 },
      { 7 * 24 H + 1 H, 7 * 24 H } },
    { "UTC", 2, UNIT_W, { 1969, 12, 28, 0, 0 }, { 14 * 24 H, 14 * 24 H } },
    { "UTC", 2, UNIT_W, { 2024, 5, 5, 0, 0 }, { 14 * 24 H } },
    { "UTC",
      3,
      UNIT_N,
      { 2024, 1, 1, 0, 0 },
      { 91 * 24 H, 91 * 24 H, 92 * 24 H, 92 * 24 H } },
    { "Europe/Zurich",
      3,
      UNIT_N,
      { 2024, 9, 30, 22, 0 },
      { 92 * 24 H + 1 H, 90 * 24 H - 1 H } },
    { "UTC", 7, UNIT_N, { 1970, 1, 1, 0, 0 }, { 212 * 24 H, 212 * 24 H } },
    { "UTC", 7, UNIT_N, { 2024, 4, 1, 0, 0 }, { 214 * 24 H } },
    { "UTC", 5, UNIT_Y, { 2020, 1, 1, 0, 0 }, { (5 * 365 + 2) * 24 H } },
    { "UTC", 24, UNIT_N, { 2024, 1, 1, 0, 0 }, { 731 * 24 H } },
    { "UTC", 30, UNIT_H, { 1970, 1, 1, 0, 0 }, { 30 H, 30 H } },
    { "Europe/Zurich", 30, UNIT_H, { 1969, 12, 31, 23, 0 }, { 30 H, 30 H } },
    { "Europe/Zurich", 30, UNIT_H, { 2024, 10, 26, 11, 0 }, { 30 H, 30 H } },
    { "Europe/Zurich", 48, UNIT_H, { 2024, 7, 1, 23, 0 }, { 48 H, 48 H } },
    { "UTC", 7, UNIT_M, { 1970, 1, 1, 0, 0 }, { 7, 7 } },
};

static void
check_bucket(const struct timezone *z, int64_t start, int64_t next, int count,
             enum time_unit unit)
{
    const int64_t inside[] = { start, start + (next - start) / 3,
                               start + (next - start) / 2, next - 1 };

    ck_assert_int_eq(calendar_next(z, start, count, unit), next);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        ck_assert_msg(calendar_floor(z, inside[i], count, unit) == start,
                      "of %lld: %lld, not %lld", (long long)inside[i],
                      (long long)calendar_floor(z, inside[i], count, unit),
                      (long long)start);
}

START_TEST(finds_buckets)
{
    const struct timezone *z = zone(buckets[_i].zone);
    int64_t at =
        timezone_utc_ms(timezone_utc(), buckets[_i].from.year,
                        buckets[_i].from.month, buckets[_i].from.day,
                        buckets[_i].from.hour, buckets[_i].from.minute, 0, 0);

    for (size_t i = 0; i < BUCKETS_MOST && buckets[_i].minutes[i] != 0; i++) {
        int64_t next = at + buckets[_i].minutes[i] * INT64_C(60000);

        check_bucket(z, at, next, buckets[_i].count, buckets[_i].unit);
        at = next;
    }
}
END_TEST

static const char *const zones[] = {
    "UTC",
    "Europe/Zurich",
    "Europe/Dublin",
    "America/New_York",
    "America/St_Johns",
    "America/Havana",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Asuncion",
    "America/Nuuk",
    "America/Caracas",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/Monrovia",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Australia/Adelaide",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
};

/* One of the changes of the clock between 1970 and 2106, or any other time. */
static int64_t
random_time(const struct timezone *z, uint64_t *state)
{
    int64_t at = (int64_t)(harness_random(state) % (UINT64_C(4294967) << 20));
    struct zone_stretch s = timezone_stretch(z, at);
    int64_t near = (int64_t)(harness_random(state) % (50 * 3600000)) - 90000000;

    if (harness_random(state) % 4 == 0 || s.since_ms < 0)
        return at;
    return s.since_ms + near;
}

/* Buckets lie side by side, and each moment of one knows its start: floor and
 * next say the same.  Where all are equally long, calendar_length() says so. */
START_TEST(buckets_follow_each_other)
{
    static const int counts[] = {
        1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 24, 30, 90
    };
    const struct timezone *z = zone(zones[_i]);
    uint64_t state = harness_seed((uint64_t)_i);
    size_t equal = 0;

    for (size_t i = 0; i < 20000; i++) {
        enum time_unit unit = (enum time_unit)(harness_random(&state) % 8);
        int count =
            counts[harness_random(&state) % (sizeof counts / sizeof counts[0])];
        int64_t ts = random_time(z, &state);
        int64_t start = calendar_floor(z, ts, count, unit);
        int64_t next = calendar_next(z, start, count, unit);
        int64_t length = calendar_length(z, ts, ts, count, unit);

        ck_assert_msg(start <= ts && ts < next,
                      "%d of unit %d: %lld is not in %lld .. %lld", count,
                      (int)unit, (long long)ts, (long long)start,
                      (long long)next);
        check_bucket(z, start, next, count, unit);
        ck_assert_msg(length == 0 || length == next - start,
                      "%d of unit %d: not %lld but %lld .. %lld", count,
                      (int)unit, (long long)length, (long long)start,
                      (long long)next);
        equal += length != 0;
    }
    ck_assert_uint_gt(equal, 1000);
}
END_TEST

/* What a date says of the days that it names is what the clock shows there. */
START_TEST(days_start_when_the_clock_first_shows_them)
{
    const struct timezone *z = zone(zones[_i]);
    uint64_t state = harness_seed((uint64_t)_i);

    for (size_t i = 0; i < 5000; i++) {
        int64_t ts = random_time(z, &state);
        int64_t start = calendar_floor(z, ts, 1, UNIT_D);
        int64_t day = floor_div(start + timezone_offset_ms(z, start), 86400000);

        ck_assert_int_le(floor_div(ts + timezone_offset_ms(z, ts), 86400000),
                         day);
        for (int64_t at = start - 1; at > start - 3 * INT64_C(3600000);
             at -= 600000)
            ck_assert_int_lt(
                floor_div(at + timezone_offset_ms(z, at), 86400000), day);
    }
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

/* At 1,000 s the clock goes back by two days, as no clock of a place does.  A
 * walk from bucket to bucket goes on all the same, and starts follow their
 * order. */
START_TEST(no_zone_stops_a_walk)
{
    struct buf b = BUF_INIT;
    struct timezone *z;
    struct error e;

    put_file(&b, '2', (uint32_t)(_i == 0 ? -26 * 3600 : 26 * 3600), "\n\n");
    ck_assert_int_eq(timezone_read(buf_slice(&b), slice_str("X"), &z, &e),
                     ST_OK);
    for (int unit = UNIT_MS; unit <= UNIT_Y; unit++)
        for (int count = 1; count < 9; count++) {
            int64_t at = calendar_floor(z, INT64_C(-100000000), count,
                                        (enum time_unit)unit);

            for (int i = 0; i < 100; i++) {
                int64_t next =
                    calendar_next(z, at, count, (enum time_unit)unit);

                ck_assert_int_gt(next, at);
                at = next;
            }
        }
    timezone_free(&z);
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
          LOOP(buckets_follow_each_other, zones),
          LOOP(days_start_when_the_clock_first_shows_them, zones),
          LOOP(reads_wall_clocks, walls), TEST(extremes_are_survived),
          LOOP(rejects_names, rejected), TEST(a_zone_is_read_once),
          LOOP(reads_rules, rules), LOOP(tells_abbreviations, abbreviations),
          LOOP(reads_files, files), TEST(rejects_absurd_files),
          TIMES(no_zone_stops_a_walk, 2), TEST(dates_and_days_agree))
