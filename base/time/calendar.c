/* Buckets of the calendar, as OpenTSDB finds them: it sets fields of a
 * java.util.Calendar and adds units to it until it passes the moment asked for.
 * The odd results near changes of the clock (a field that is set in the hour
 * that occurs twice lands in its second occurrence) are in its answers, hence
 * in ours; so these functions take the same steps. */
#include "base/time/timezone.h"
#include "base/time/timezone_priv.h"

#include "base/obj.h"

#define MS_PER_SECOND INT64_C(1000)
#define MS_PER_MINUTE INT64_C(60000)
#define MS_PER_HOUR   INT64_C(3600000)
#define MS_PER_DAY    INT64_C(86400000)

/* Farther than any point's time, and near enough that adding a bucket of the
 * largest size stays within 64 bits. */
#define TS_MAX_MS  INT64_C(1000000000000000000)
#define MONTHS_MAX INT64_C(3000000000)

/* A moment on the clock of a zone. */
struct local {
    int64_t days, ms_of_day;
    int64_t year;
    int month, day;
};

static struct local local_of(const struct timezone *z, int64_t ts_ms);
static int64_t utc_of(const struct timezone *z, int64_t days,
                      int64_t ms_of_day);
static int64_t start_of_search(const struct timezone *z, int64_t ts_ms,
                               int count, enum time_unit unit);
static int64_t week_start(const struct timezone *z, const struct local *l,
                          bool this_month);
static int64_t add_units(const struct timezone *z, int64_t ts_ms, int64_t count,
                         enum time_unit unit);
static int64_t unit_ms(enum time_unit unit);
static int64_t clamp(int64_t v, int64_t max);

int64_t
calendar_floor(const struct timezone *z, int64_t ts_ms, int count,
               enum time_unit unit)
{
    int64_t at, size;

    INSIST(count > 0);
    ts_ms = clamp(ts_ms, TS_MAX_MS);
    at = start_of_search(z, ts_ms, count, unit);
    if (at == ts_ms)
        return at;
    if (unit == UNIT_W) {
        unit = UNIT_D;
        count = 7;
    }
    size = unit_ms(unit) * count;
    if (size > 0) {
        if (at > ts_ms)
            return at - size;
        return at + (ts_ms - at) / size * size;
    }
    while (at <= ts_ms) {
        int64_t next = add_units(z, at, count, unit);

        if (next <= at) /* a zone whose days do not pass is none */
            return at;
        at = next;
    }
    return add_units(z, at, -(int64_t)count, unit);
}

int64_t
calendar_next(const struct timezone *z, int64_t bucket_ms, int count,
              enum time_unit unit)
{
    INSIST(count != 0);
    bucket_ms = clamp(bucket_ms, TS_MAX_MS);
    if (unit == UNIT_W)
        return add_units(z, bucket_ms, count * INT64_C(7), UNIT_D);
    return add_units(z, bucket_ms, count, unit);
}

/* Where OpenTSDB begins to count from: the top of the next larger unit when
 * 'count' divides it, else of a still larger one. */
static int64_t
start_of_search(const struct timezone *z, int64_t ts_ms, int count,
                enum time_unit unit)
{
    struct local l = local_of(z, ts_ms);
    int64_t ms = l.ms_of_day, days = l.days;

    switch (unit) {
    case UNIT_MS:
        ms -= ms % (1000 % count == 0 ? MS_PER_SECOND : MS_PER_MINUTE);
        break;
    case UNIT_S:
        ms -= ms % (60 % count == 0 ? MS_PER_MINUTE : MS_PER_HOUR);
        break;
    case UNIT_M:
        ms -= ms % (60 % count == 0 ? MS_PER_HOUR : MS_PER_DAY);
        break;
    case UNIT_H:
        ms = 0;
        if (24 % count != 0)
            days -= l.day - 1;
        break;
    case UNIT_D:
        ms = 0;
        days = count == 1 ? days - (l.day - 1) : days_from_date(l.year, 1, 1);
        break;
    case UNIT_W:
        return week_start(z, &l, 2 % count == 0);
    case UNIT_N:
    case UNIT_Y:
        ms = 0;
        days = days_from_date(l.year, 1, 1);
        break;
    }
    return utc_of(z, days, ms);
}

/* The Sunday of this week; or, for three weeks and more, that of the week of
 * January which has the number that this week has in its month. */
static int64_t
week_start(const struct timezone *z, const struct local *l, bool this_month)
{
    int64_t first = l->days - (l->day - 1), week, january;

    first -= weekday_of_days(first);
    week = (l->days - first) / 7;
    if (this_month)
        return utc_of(z, first + 7 * week, 0);
    january = days_from_date(l->year, 1, 1);
    january -= weekday_of_days(january);
    return utc_of(z, january + 7 * week, 0);
}

/* As java.util.GregorianCalendar.add() does it: hours and less are added to the
 * moment, days to the date, with the clock's reading kept where it exists. */
static int64_t
add_units(const struct timezone *z, int64_t ts_ms, int64_t count,
          enum time_unit unit)
{
    struct local l = local_of(z, ts_ms);
    int64_t size = unit_ms(unit), days, first, len, at, change;

    if (size > 0) /* at most 2^31 hours: it cannot overflow */
        return ts_ms + size * count;
    if (unit == UNIT_D) {
        days = l.days + count;
        change = timezone_offset_ms(z, ts_ms);
        at = days * MS_PER_DAY + l.ms_of_day - change;
        change -= timezone_offset_ms(z, at);
        if (change == 0)
            return at;
        at += change;
        return local_of(z, at).days == days ? at : at - change;
    }
    if (unit == UNIT_Y)
        count *= 12;
    count = clamp(count, MONTHS_MAX);
    first = days_from_date(l.year, l.month + count, 1);
    len = days_from_date(l.year, l.month + count + 1, 1) - first;
    return utc_of(z, first + (l.day <= len ? l.day : len) - 1, l.ms_of_day);
}

/* Of the units that always last as long; else 0. */
static int64_t
unit_ms(enum time_unit unit)
{
    switch (unit) {
    case UNIT_MS:
        return 1;
    case UNIT_S:
        return MS_PER_SECOND;
    case UNIT_M:
        return MS_PER_MINUTE;
    case UNIT_H:
        return MS_PER_HOUR;
    case UNIT_D:
    case UNIT_W:
    case UNIT_N:
    case UNIT_Y:
        break;
    }
    return 0;
}

static int64_t
clamp(int64_t v, int64_t max)
{
    return v > max ? max : v < -max ? -max : v;
}

static struct local
local_of(const struct timezone *z, int64_t ts_ms)
{
    int64_t wall = ts_ms + timezone_offset_ms(z, ts_ms);
    struct local l;

    l.days = floor_div(wall, MS_PER_DAY);
    l.ms_of_day = wall - l.days * MS_PER_DAY;
    date_from_days(l.days, &l.year, &l.month, &l.day);
    return l;
}

static int64_t
utc_of(const struct timezone *z, int64_t days, int64_t ms_of_day)
{
    int64_t year;
    int month, day;

    date_from_days(days, &year, &month, &day);
    return timezone_utc_ms(z, (int)year, month, day, 0, 0, 0, (int)ms_of_day);
}
