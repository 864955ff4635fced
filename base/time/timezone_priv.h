/* The inside of a time zone: what timezone.c reads from a file, and the days of
 * the calendar that timezone.c and calendar.c share.
 *
 * Bytes:   RFC 8536 (TZif versions 1 to 4), and RFC 9636.
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/time/timezone.h"

#define TIMEZONE_NAME_MAX        64
#define TIMEZONE_TRANSITIONS_MAX 8192

/* The day of a year on which the clock changes: "J60", "59", "M3.5.0". */
struct zone_day {
    enum { DAY_JULIAN, DAY_ZERO_BASED, DAY_OF_WEEK } form;
    int month, week, day;
    int32_t at_s; /* seconds of the local clock before the change */
};

/* "CEST", "+0545". */
#define TIMEZONE_ABBREVIATION_MAX 16

/* What holds after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3". */
struct zone_rule {
    bool on;
    bool has_dst;
    int32_t std_s, dst_s; /* to add to UTC */
    struct zone_day to_dst, to_std;
    char std_name[TIMEZONE_ABBREVIATION_MAX];
    char dst_name[TIMEZONE_ABBREVIATION_MAX];
};

struct zone_change {
    int64_t at_s;     /* of UTC */
    int32_t offset_s; /* from then on */
    uint8_t name;     /* where it begins in 'names' */
};

struct timezone {
    uint32_t magic;
    struct timezone *next; /* in the table of those already read */
    char name[TIMEZONE_NAME_MAX];
    int32_t first_s; /* the offset before the first change */
    uint8_t first_name;
    char *names; /* abbreviations, each ends with a NUL; NULL: of UTC */
    struct zone_change *changes;
    size_t changes_len;
    struct zone_rule rule;
};

/* The time between two changes of the clock, in which the offset stays the
 * same: since_ms <= t < until_ms. */
struct zone_stretch {
    /* -ZONE_EVER_MS and ZONE_EVER_MS if no change comes before or after. */
    int64_t since_ms, until_ms;
    int64_t offset_ms; /* to add to UTC */
};

/* Later than any time that a caller asks for, and small enough that the sum of
 * two such times fits into 64 bits. */
#define ZONE_EVER_MS INT64_C(4000000000000000000)

/* The stretch that contains 'utc_ms'. */
struct zone_stretch timezone_stretch(const struct timezone *z, int64_t utc_ms);

/* A zone from the bytes of its file; ST_CORRUPT when they are not TZif. */
MUST_CHECK enum status timezone_read(struct slice file, struct slice name,
                                     struct timezone **out, struct error *e);
void timezone_free(struct timezone **z);

/* The rule of a footer, without its newlines; false when it is none. */
bool timezone_read_rule(struct slice text, struct zone_rule *out);

/* Days since 1970-01-01 of a date of the Gregorian calendar, and back.  'month'
 * is 1 to 12, or beyond and carried into the year. */
int64_t days_from_date(int64_t year, int64_t month, int64_t day);
void date_from_days(int64_t days, int64_t *year, int *month, int *day);

/* 0 is Sunday. */
static inline int
weekday_of_days(int64_t days)
{
    int64_t w = (days + 4) % 7;

    return (int)(w < 0 ? w + 7 : w);
}

static inline int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The rest of the division, from 0 to b - 1; 'b' is positive. */
static inline int64_t
floor_mod(int64_t a, int64_t b)
{
    int64_t rest = a % b;

    return rest < 0 ? rest + b : rest;
}
