#include "web/axis/time_ticks.h"

#include <time.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define MONTH  (30 * DAY + 10 * HOUR + 30 * MINUTE) /* on average */

#define FAR_MS                                                     \
    (1000000 * 12 * MONTH) /* no calendar is asked for later times \
                            */

/* How far ticks are apart: parts of a day, days, or months. */
struct step {
    int64_t ms;
    int days, months;
};

static const struct step steps[] = {
    { SECOND, 0, 0 },
    { 2 * SECOND, 0, 0 },
    { 5 * SECOND, 0, 0 },
    { 10 * SECOND, 0, 0 },
    { 15 * SECOND, 0, 0 },
    { 30 * SECOND, 0, 0 },
    { MINUTE, 0, 0 },
    { 2 * MINUTE, 0, 0 },
    { 5 * MINUTE, 0, 0 },
    { 10 * MINUTE, 0, 0 },
    { 15 * MINUTE, 0, 0 },
    { 30 * MINUTE, 0, 0 },
    { HOUR, 0, 0 },
    { 2 * HOUR, 0, 0 },
    { 3 * HOUR, 0, 0 },
    { 6 * HOUR, 0, 0 },
    { 12 * HOUR, 0, 0 },
    { DAY, 1, 0 },
    { 2 * DAY, 2, 0 },
    { 7 * DAY, 7, 0 },
    { 14 * DAY, 14, 0 },
    { MONTH, 0, 1 },
    { 2 * MONTH, 0, 2 },
    { 3 * MONTH, 0, 3 },
    { 6 * MONTH, 0, 6 },
    { 12 * MONTH, 0, 12 },
    { 24 * MONTH, 0, 24 },
    { 60 * MONTH, 0, 60 },
    { 120 * MONTH, 0, 120 },
    { 240 * MONTH, 0, 240 },
    { 600 * MONTH, 0, 600 },
    { 1200 * MONTH, 0, 1200 },
    { 6000 * MONTH, 0, 6000 },
};
#define STEPS (sizeof steps / sizeof steps[0])

static int64_t
floor_to(int64_t v, int64_t step)
{
    int64_t rest = v % step;

    return v - rest - (rest < 0 ? step : 0);
}

static int64_t
next_round(const struct timezone *z, int64_t from_ms, int64_t step_ms)
{
    int64_t offset = timezone_offset_ms(z, from_ms);

    return floor_to(from_ms + offset + step_ms - 1, step_ms) - offset;
}

/* The first moment from 'from_ms' on at which the local clock shows a multiple
 * of 'step_ms', be it for the second time. */
static int64_t
next_part_of_day(const struct timezone *z, int64_t from_ms, int64_t step_ms)
{
    int64_t offset = timezone_offset_ms(z, from_ms);
    int64_t at = next_round(z, from_ms, step_ms), before = from_ms;

    if (timezone_offset_ms(z, at) == offset)
        return at;
    while (at - before > 1) { /* when is the clock changed? */
        int64_t middle = before + (at - before) / 2;

        if (timezone_offset_ms(z, middle) == offset)
            before = middle;
        else
            at = middle;
    }
    return next_round(z, at, step_ms);
}

/* Midnight of days since 1970-01-01, and of the first of months since January
 * of year 0. */
static int64_t
midnight(const struct timezone *z, int64_t day)
{
    return timezone_utc_ms(z, 1970, 1, (int)(1 + day), 0, 0, 0, 0);
}

static void
add_tick(struct time_ticks *t, int64_t at_ms, int64_t from_ms)
{
    if (at_ms >= from_ms && t->len < TIME_TICKS_MAX)
        t->at_ms[t->len++] = at_ms;
}

static void
add_months(struct time_ticks *t, const struct timezone *z, int64_t from_ms,
           int64_t to_ms, int step)
{
    time_t local_s =
        (time_t)((from_ms + timezone_offset_ms(z, from_ms)) / 1000);
    struct tm tm;
    int64_t month;

    if (gmtime_r(&local_s, &tm) == NULL || tm.tm_year > 100000)
        return;
    month = floor_to((int64_t)(tm.tm_year + 1900) * 12 + tm.tm_mon, step);
    for (int64_t at;
         (at = (timezone_utc_ms(z, (int)(month / 12), (int)(month % 12) + 1, 1,
                                0, 0, 0, 0))) <= to_ms;
         month += step) {
        if (t->len == TIME_TICKS_MAX)
            return;
        add_tick(t, at, from_ms);
    }
}

void
time_ticks_find(int64_t from_ms, int64_t to_ms, const struct timezone *zone,
                size_t most, struct time_ticks *out)
{
    size_t i = 0;
    const struct step *s;

    if (from_ms < -FAR_MS || to_ms > FAR_MS) {
        *out = (struct time_ticks){ .format = "%Y" };
        return;
    }
    most = most < 2 ? 2 : most > TIME_TICKS_MAX ? TIME_TICKS_MAX : most;
    while (i + 1 < STEPS && (to_ms - from_ms) / steps[i].ms > (int64_t)most)
        i++;
    s = &steps[i];
    *out = (struct time_ticks){
        .format = s->ms < MINUTE   ? "%T"
                  : s->ms < DAY    ? "%R"
                  : s->months == 0 ? "%b %e"
                  : s->months < 12 ? "%b"
                                   : "%Y",
        .date_format = s->ms < DAY      ? "%F"
                       : s->months < 12 ? "%Y"
                                        : NULL,
    };
    if (s->months > 0)
        add_months(out, zone, from_ms, to_ms, s->months);
    else if (s->days > 0) {
        int64_t day =
            floor_to(from_ms + timezone_offset_ms(zone, from_ms), DAY) / DAY;

        day = floor_to(day - 4, s->days) + 4; /* of weeks the Monday */
        for (int64_t at; (at = midnight(zone, day)) <= to_ms; day += s->days)
            add_tick(out, at, from_ms);
    } else
        for (int64_t at = next_part_of_day(zone, from_ms, s->ms);
             at <= to_ms && out->len < TIME_TICKS_MAX;
             at = next_part_of_day(zone, at + 1, s->ms))
            add_tick(out, at, from_ms);
}
