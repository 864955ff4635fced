/* Where calendar buckets start: base/time/timezone.h states the rule.
 *
 * The rule follows from one picture: instead of being put back, the local clock
 * stops until it would show a new time again.  A bucket starts when this clock
 * first shows the bucket's start, or when it is put forward past it.  Therefore
 * the buckets depend on the zone only, they follow each other without gaps and
 * overlaps, and none starts twice.
 *
 * There is one exception: buckets that are not longer than the time by which
 * the clock is put back are repeated.  Otherwise the clock that stops for an
 * hour would make one bucket of 61 minutes among buckets of a minute. */
#include "base/time/timezone.h"
#include "base/time/timezone_priv.h"

#include "base/obj.h"

#define MS_PER_SECOND INT64_C(1000)
#define MS_PER_MINUTE INT64_C(60000)
#define MS_PER_HOUR   INT64_C(3600000)
#define MS_PER_DAY    INT64_C(86400000)

/* Later than the time of any point, and small enough that adding a bucket of
 * the largest size does not overflow 64 bits. */
#define TS_MAX_MS INT64_C(1000000000000000000)
#define DAYS_MAX  (2 * TS_MAX_MS / MS_PER_DAY)

/* Sunday, 1969-12-28, in days since 1970-01-01.  On this day the first week of
 * 1970 starts, the one that contains January 1. */
#define FIRST_SUNDAY (-4)

static int64_t
clamp(int64_t v, int64_t max)
{
    return v > max ? max : v < -max ? -max : v;
}

/* The length in ms of buckets that are counted in time: hours and smaller
 * units, and single days.  0 if they are counted in dates. */
static int64_t
clock_size(int count, enum time_unit unit)
{
    static const int64_t unit_ms[] = {
        [UNIT_MS] = 1,
        [UNIT_S] = MS_PER_SECOND,
        [UNIT_M] = MS_PER_MINUTE,
        [UNIT_H] = MS_PER_HOUR,
        [UNIT_D] = MS_PER_DAY,
        [UNIT_Y] = 0,
    };

    INSIST(count > 0);
    return unit == UNIT_D && count > 1 ? 0 : unit_ms[unit] * count;
}

/* -- the clock ------------------------------------------------------------- */

/* The first moment at which the local clock shows 'wall_ms' (ms since
 * 1970-01-01 00:00 on that clock) or a later time. */
static int64_t
first_moment(const struct timezone *z, int64_t wall_ms)
{
    /* Start early enough: no zone is two days ahead of UTC. */
    struct zone_stretch s = timezone_stretch(z, wall_ms - 2 * MS_PER_DAY);

    while (wall_ms - s.offset_ms >= s.until_ms)
        s = timezone_stretch(z, s.until_ms);
    wall_ms -= s.offset_ms;
    return wall_ms > s.since_ms ? wall_ms : s.since_ms;
}

/* By how many ms the clock was put forward at the start of 's'; negative if it
 * was put back. */
static int64_t
jump_at(const struct timezone *z, const struct zone_stretch *s)
{
    return s->offset_ms - timezone_offset_ms(z, s->since_ms - 1);
}

/* The start of the bucket of 'size' ms that contains 'ts_ms'; 'size' divides a
 * day. */
static int64_t
clock_floor(const struct timezone *z, int64_t ts_ms, int64_t size)
{
    for (;;) {
        struct zone_stretch s = timezone_stretch(z, ts_ms);
        int64_t at = ts_ms - floor_mod(ts_ms + s.offset_ms, size), jump, wall;

        if (at - s.since_ms >= size) /* no change is near */
            return at;
        jump = jump_at(z, &s);
        /* After it was put back, the clock stops for -jump ms. */
        if (at >= s.since_ms + (jump < 0 && -jump < size ? -jump : 0))
            return at;
        /* If the clock skips the start of a bucket, it starts at the change. */
        wall = s.since_ms + s.offset_ms;
        if (jump > 0 &&
            floor_div(wall, size) > floor_div(wall - jump - 1, size))
            return s.since_ms;
        ts_ms = s.since_ms - 1;
    }
}

static int64_t
clock_next(const struct timezone *z, int64_t start_ms, int64_t size)
{
    struct zone_stretch s = timezone_stretch(z, start_ms);
    int64_t at = start_ms + size - floor_mod(start_ms + s.offset_ms, size);

    while (at >= s.until_ms) {
        struct zone_stretch next = timezone_stretch(z, s.until_ms);
        int64_t jump = next.offset_ms - s.offset_ms;

        if (jump < 0 && -jump >= size)
            at = next.since_ms +
                 floor_mod(-(next.since_ms + next.offset_ms), size);
        else if (at - jump <= next.since_ms)
            return next.since_ms;
        else
            at -= jump;
        s = next;
    }
    return at;
}

/* -- dates ----------------------------------------------------------------- */

static int64_t
months_of(int count, enum time_unit unit)
{
    return unit == UNIT_Y ? count * INT64_C(12) : count;
}

/* The first day of the bucket that contains 'day', or with 'after' = 1 of the
 * next bucket. */
static int64_t
first_day(int64_t day, int count, enum time_unit unit, int64_t after)
{
    int64_t size = unit == UNIT_W ? count * INT64_C(7) : count, year, months;
    int64_t epoch = unit == UNIT_W ? FIRST_SUNDAY : 0;
    int month, day_of_month;

    if (unit == UNIT_D || unit == UNIT_W)
        return epoch + (floor_div(day - epoch, size) + after) * size;
    date_from_days(day, &year, &month, &day_of_month);
    size = months_of(count, unit);
    months = (year - 1970) * 12 + month - 1;
    months = (floor_div(months, size) + after) * size;
    return days_from_date(1970 + floor_div(months, 12),
                          1 + floor_mod(months, 12), 1);
}

/* The date, in days since 1970-01-01, that the local clock shows at 'ts_ms'. */
static int64_t
date_of(const struct timezone *z, int64_t ts_ms)
{
    return floor_div(ts_ms + timezone_offset_ms(z, ts_ms), MS_PER_DAY);
}

static int64_t
start_of_day(const struct timezone *z, int64_t day)
{
    return first_moment(z, clamp(day, DAYS_MAX) * MS_PER_DAY);
}

/* -- all ------------------------------------------------------------------- */

int64_t
calendar_floor(const struct timezone *z, int64_t ts_ms, int count,
               enum time_unit unit)
{
    int64_t size = clock_size(count, unit), at, day, first;

    ts_ms = clamp(ts_ms, TS_MAX_MS);
    if (size > 0 && MS_PER_DAY % size == 0)
        return clock_floor(z, ts_ms, size);
    if (size > 0) {
        at = first_moment(z, 0);
        return at + floor_div(ts_ms - at, size) * size;
    }
    at = clock_floor(z, ts_ms, MS_PER_DAY);
    day = date_of(z, at);
    first = first_day(day, count, unit, 0);
    return first == day ? at : start_of_day(z, first);
}

int64_t
calendar_next(const struct timezone *z, int64_t bucket_ms, int count,
              enum time_unit unit)
{
    int64_t size = clock_size(count, unit), day, at;

    bucket_ms = clamp(bucket_ms, TS_MAX_MS);
    if (size > 0 && MS_PER_DAY % size == 0)
        return clock_next(z, bucket_ms, size);
    if (size > 0)
        return bucket_ms + size;
    day = first_day(date_of(z, bucket_ms), count, unit, 1);
    at = start_of_day(z, day);
    /* If a clock is put back by a day or more, the next day can have started
     * earlier.  Loops from bucket to bucket must end all the same. */
    return at > bucket_ms ? at : bucket_ms + MS_PER_DAY;
}

int64_t
calendar_length(const struct timezone *z, int64_t from_ms, int64_t to_ms,
                int count, enum time_unit unit)
{
    int64_t size = clock_size(count, unit);
    struct zone_stretch s;

    if (size == 0 || MS_PER_DAY % size != 0)
        return size;
    /* Buckets at both ends can reach beyond the range; each is shorter than
     * 2 * size. */
    s = timezone_stretch(z, clamp(from_ms, TS_MAX_MS) - 2 * size);
    to_ms = clamp(to_ms, TS_MAX_MS) + size;
    while (s.until_ms <= to_ms) {
        struct zone_stretch next = timezone_stretch(z, s.until_ms);
        int64_t jump = next.offset_ms - s.offset_ms;

        /* If the clock is put forward within a bucket, this one is shorter. */
        if (jump % size != 0 ||
            (jump > 0 && (s.until_ms + s.offset_ms) % size != 0))
            return 0;
        s = next;
    }
    return size;
}
