/* Ticks of time, and their texts. */
#include "web/axis/time_ticks.h"

#include "tests/harness.h"
#include "web/axis/time_format.h"

static const struct timezone *
zone(const char *name)
{
    const struct timezone *z;

    ck_assert_int_eq(timezone_find(slice_str(name), &z, NULL), ST_OK);
    return z;
}

#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

/* 2026-03-29 01:00 UTC the clocks of Zurich go from 02:00 to 03:00, 2026-10-25
 * 01:00 UTC back from 03:00 to 02:00; those of Lord Howe by half an hour, on
 * 2026-04-04 15:00 UTC, from 02:00 to 01:30. */
#define SPRING    (INT64_C(1774746000) * SECOND)
#define AUTUMN    (INT64_C(1792890000) * SECOND)
#define LORD_HOWE (INT64_C(1775314800) * SECOND)

static const struct {
    const char *zone;
    int64_t from_ms, to_ms;
    size_t most;
    const char *texts, *dates;
} cases[] = {
    { "UTC", 1000, 6 * SECOND, 8,
      "00:00:01 00:00:02 00:00:03 00:00:04 00:00:05 00:00:06", "1970-01-01" },
    { "UTC", 0, 60 * SECOND, 8,
      "00:00:00 00:00:10 00:00:20 00:00:30 00:00:40 00:00:50 00:01:00",
      "1970-01-01" },
    { "UTC", DAY - 10, DAY + HOUR, 8,
      "00:00 00:10 00:20 00:30 00:40 00:50 01:00", "1970-01-02" },
    { "UTC", 0, DAY, 10,
      "00:00 03:00 06:00 09:00 12:00 15:00 18:00 21:00 00:00",
      "1970-01-01 1970-01-02" },
    { "Europe/Zurich", SPRING - 2 * HOUR, SPRING + 3 * HOUR, 8,
      "00:00 01:00 03:00 04:00 05:00 06:00", "2026-03-29" },
    { "Europe/Zurich", SPRING - 2 * HOUR, SPRING + 7 * HOUR, 6,
      "00:00 04:00 06:00 08:00 10:00", "2026-03-29" },
    { "Europe/Zurich", AUTUMN - 3 * HOUR, AUTUMN + 2 * HOUR, 8,
      "00:00 01:00 02:00 02:00 03:00 04:00", "2026-10-25" },
    { "Europe/Zurich", AUTUMN - 12 * HOUR, AUTUMN + 24 * HOUR, 8,
      "18:00 00:00 06:00 12:00 18:00 00:00",
      "2026-10-24 2026-10-25 2026-10-26" },
    { "Europe/Zurich", SPRING - 2 * DAY, SPRING + 2 * DAY, 5,
      "Mar 28 Mar 29 Mar 30 Mar 31", "2026" },
    { "Australia/Lord_Howe", LORD_HOWE - HOUR, LORD_HOWE + 2 * HOUR, 9,
      "01:00 01:30 01:30 02:00 02:30 03:00 03:30", "2026-04-05" },
    { "Asia/Kathmandu", 20 * 365 * DAY, 20 * 365 * DAY + 4 * HOUR, 6,
      "06:00 07:00 08:00 09:00", "1989-12-27" },
    { "UTC", 4 * DAY, 60 * DAY, 10,
      "Jan 5 Jan 12 Jan 19 Jan 26 Feb 2 Feb 9 Feb 16 Feb 23 Mar 2", "1970" },
    { "America/New_York", 0, 300 * DAY, 12,
      "Jan Feb Mar Apr May Jun Jul Aug Sep Oct", "1970" },
    { "UTC", 200 * DAY, 900 * DAY, 8, "Oct Jan Apr Jul Oct Jan Apr",
      "1970 1971 1972" },
    { "UTC", 0, 20 * 365 * DAY, 6, "1970 1975 1980 1985", "" },
    { "UTC", 0, 2000 * 365 * DAY, 6, "2000 2500 3000 3500", "" },
    { "UTC", INT64_MAX - DAY, INT64_MAX, 6, "", "" },
    { "UTC", -30 * 365 * DAY, 0, 6, "1945 1950 1955 1960 1965 1970", "" },
};

START_TEST(finds_round_local_times)
{
    const struct timezone *z = zone(cases[_i].zone);
    char text[TIME_LABEL_MAX], all[2000] = "", dates[2000] = "", last[99] = "";
    struct time_ticks t;

    time_ticks_find(cases[_i].from_ms, cases[_i].to_ms, z, cases[_i].most, &t);
    for (size_t i = 0; i < t.len; i++) {
        ck_assert(t.at_ms[i] >= cases[_i].from_ms);
        ck_assert(t.at_ms[i] <= cases[_i].to_ms);
        ck_assert(i == 0 || t.at_ms[i] > t.at_ms[i - 1]);
        time_format_write(t.format, t.at_ms[i], z, text);
        (void)strcat(strcat(all, i == 0 ? "" : " "), text);
        if (t.date_format == NULL)
            continue;
        time_format_write(t.date_format, t.at_ms[i], z, text);
        if (strcmp(text, last) != 0)
            (void)strcat(strcat(dates, *dates == '\0' ? "" : " "), text);
        (void)strcpy(last, text);
    }
    ck_assert_str_eq(all, cases[_i].texts);
    ck_assert_str_eq(dates, cases[_i].dates);
}
END_TEST

/* Whatever the span, there are ticks, not too many. */
START_TEST(has_enough_of_any_span)
{
    static const char *const zones[] = { "UTC", "Europe/Zurich", "Asia/Tokyo",
                                         "America/St_Johns" };
    uint64_t seed = harness_seed(20);

    for (int i = 0; i < harness_rounds(3000); i++) {
        int64_t span = (INT64_C(2) << harness_random(&seed) % 43) +
                       (int64_t)(harness_random(&seed) % 1000) + SECOND;
        int64_t from = (int64_t)(harness_random(&seed) % (60 * 365)) * DAY;
        size_t most = 3 + harness_random(&seed) % 20;
        struct time_ticks t;

        time_ticks_find(from, from + span, zone(zones[i % 4]), most, &t);
        ck_assert_msg(t.len >= 1 || span < 2 * SECOND || span < 40 * DAY,
                      "%lld of %lld: none", (long long)from, (long long)span);
        ck_assert_msg(t.len <= most + 1, "%zu of %zu", t.len, most);
    }
}
END_TEST

static const struct {
    const char *format, *text; /* NULL: rejected */
} formats[] = {
    { "%Y-%m-%d %H:%M:%S", "2026-03-29 03:00:00" },
    { "%F %T %R", "2026-03-29 03:00:00 03:00" },
    { "%a %A %b %B", "Sun Sunday Mar March" },
    { "%e.%m.%y", "29.03.26" },
    { "%I %p %j", "03 AM 088" },
    { "%z %s", "+0200 1774746000" },
    { "%H h 100%%", "03 h 100%" },
    { "", NULL },
    { "H", NULL },
    { "%", NULL },
    { "%%", NULL },
    { "%H%", NULL },
    { "%n", NULL },
    { "%Q", NULL },
    { "%EY", NULL },
    { "%-d", NULL },
    { "%Z", NULL },
    { "%H0123456789012345678901234567890123456789012345678901234567890123456",
      NULL },
};

START_TEST(writes_times)
{
    bool good = time_format_is_good(slice_str(formats[_i].format));
    char text[TIME_LABEL_MAX];

    ck_assert(good == (formats[_i].text != NULL));
    if (!good)
        return;
    time_format_write(formats[_i].format, SPRING, zone("Europe/Zurich"), text);
    ck_assert_str_eq(text, formats[_i].text);
}
END_TEST

START_TEST(writes_the_longest_format)
{
    char format[TIME_FORMAT_BYTES + 1], text[TIME_LABEL_MAX];

    for (size_t i = 0; i < TIME_FORMAT_BYTES; i += 2)
        memcpy(format + i, "%F", 2);
    format[TIME_FORMAT_BYTES] = '\0';
    ck_assert(time_format_is_good(slice_str(format)));
    time_format_write(format, SPRING, zone("UTC"), text);
    ck_assert_uint_eq(strlen(text), TIME_FORMAT_BYTES / 2 * 10);
}
END_TEST

TEST_MAIN("time_ticks", LOOP(finds_round_local_times, cases),
          TEST(has_enough_of_any_span), LOOP(writes_times, formats),
          TEST(writes_the_longest_format))
