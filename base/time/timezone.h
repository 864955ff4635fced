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

/* Calendar buckets of 'count' > 0 units, as the clock of the zone shows them.
 * Where they start depends on the arguments alone, never on a first point:
 *
 * - Days start at local midnight, or at the first moment of the day where the
 *   clock skips midnight; weeks on Sunday; months on the 1st; years in January.
 *   A multiple of them counts from the first such unit of 1970: 7 days from
 *   Thursday, January 1, two weeks from the week that holds this day, and so
 *   3 months start in January, April, July and October.
 * - Hours and smaller units whose multiple divides a day start where the local
 *   clock shows a multiple since midnight (12 hours: 00:00 and 12:00).  Where
 * the clock is put forward over such a time, the bucket starts at the change.
 *   Where the clock is put back, a bucket that is longer than the change is
 *   longer once (2 hours: three), and shorter ones come again (1 hour: 25 on
 *   that day).
 * - Other multiples of them have equal lengths and count from the first moment
 *   of 1970 on the local clock.
 *
 * A day that the zone skips has no bucket. */

/* The start of the bucket that contains 'ts_ms'. */
int64_t calendar_floor(const struct timezone *z, int64_t ts_ms, int count,
                       enum time_unit unit);
/* The start of the bucket after the one that starts at 'bucket_ms': later than
 * it, whatever the zone. */
int64_t calendar_next(const struct timezone *z, int64_t bucket_ms, int count,
                      enum time_unit unit);
/* The length of all buckets that start between these times, both included, if
 * they are equally long; or 0. */
int64_t calendar_length(const struct timezone *z, int64_t from_ms,
                        int64_t to_ms, int count, enum time_unit unit);
