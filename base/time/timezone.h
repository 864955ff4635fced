/* Time zones, from the system's TZif files (RFC 8536), and the calendar that
 * downsampling by days, weeks, months and years needs.  Nothing here touches
 * the process' own TZ.
 *
 * Bounds:  zones once read are kept for the process' life (some 600 exist).
 * Threads: any; a zone is frozen. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct timezone; /* opaque */

/* "UTC", "Europe/Zurich", "EST5EDT", "Etc/GMT+5", "PST" ...: the ids that
 * java.util.TimeZone lists, as OpenTSDB takes no others (not "GMT+2"). Case
 * counts.  ST_INVALID otherwise; no path outside the zone folder is opened. */
MUST_CHECK enum status
timezone_find(struct slice name, const struct timezone **out, struct error *e);
const struct timezone *timezone_utc(void);

/* What to add to UTC to get local time, in ms, at a moment of UTC. */
int64_t timezone_offset_ms(const struct timezone *z, int64_t utc_ms);

/* "CET", "+03": what the clock is called at a moment of UTC; the zone's. */
const char *timezone_abbreviation(const struct timezone *z, int64_t utc_ms);

/* Local wall-clock members to UTC ms; 'month' is 1 to 12.  Members may overflow
 * (month 13, hour 25) and are carried, as java.util.Calendar (lenient) does; in
 * a gap of daylight saving the old offset counts, in an overlap the new one, as
 * there.  Dates before 1582 are of the Gregorian calendar too. */
int64_t timezone_utc_ms(const struct timezone *z, int year, int month, int day,
                        int hour, int minute, int second, int ms);

enum time_unit {
    UNIT_MS,
    UNIT_S,
    UNIT_M,
    UNIT_H,
    UNIT_D,
    UNIT_W,
    UNIT_N,
    UNIT_Y
};

/* The start of the calendar bucket of 'count' > 0 units that holds 'ts_ms', and
 * the start of the one after the bucket that starts at 'ts_ms' (before it, when
 * 'count' is negative): OpenTSDB's DateTime.previousInterval() and its use in
 * Downsampler.  Weeks begin on Sunday.  The floor of days and months takes up
 * to 366 steps: callers keep a query's buckets rather than ask for each point.
 */
int64_t calendar_floor(const struct timezone *z, int64_t ts_ms, int count,
                       enum time_unit unit);
int64_t calendar_next(const struct timezone *z, int64_t bucket_ms, int count,
                      enum time_unit unit);
