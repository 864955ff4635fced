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

/* Calendar buckets of 'count' > 0 units, as the local clock of the zone shows
 * them.  Where a bucket starts depends on the zone, the unit and 'count' only,
 * never on the first point of a series:
 *
 * - A day starts at local midnight, or at its first moment if the clock skips
 *   midnight.  If midnight comes twice, the day starts at the first one.  Weeks
 *   start on Sunday, months on the 1st, years on January 1.
 * - Several days, weeks, months or years are counted from the first such unit
 *   of 1970: 7 days from Thursday, January 1; 3 months from January, so that
 *   they also start in April, July and October; 2 weeks from the week that
 *   contains January 1 and starts on Sunday, 1969-12-28.  A calendar whose
 *   weeks start on Sunday (java.util.Calendar's) calls this one the first week
 *   of 1970, and OpenTSDB's fill policies count from it, too.
 * - Hours and smaller units: if 'count' of them divide a day, they are counted
 *   from midnight on the local clock (12 hours start at 00:00 and 12:00).  If
 *   the clock is put forward past such a time, the bucket starts at the change.
 *   If it is put back, a bucket that is longer than the change is extended by
 *   it (one of 2 hours lasts 3), and buckets that are not longer are repeated
 *   (25 buckets of 1 hour on that day).
 * - Otherwise (7 hours, 30 hours, 48 hours) all buckets have equal lengths, and
 *   are counted from the first moment of 1970 on the local clock.
 *
 * A day that the zone skips has no bucket. */

/* The start of the bucket that contains 'ts_ms'. */
int64_t calendar_floor(const struct timezone *z, int64_t ts_ms, int count,
                       enum time_unit unit);
/* The start of the bucket after the one that starts at 'bucket_ms'.  It is
 * later than 'bucket_ms' in every zone, so a loop over buckets ends. */
int64_t calendar_next(const struct timezone *z, int64_t bucket_ms, int count,
                      enum time_unit unit);
/* The length in ms of all buckets that start between 'from_ms' and 'to_ms',
 * both included; 0 if their lengths differ, or may differ. */
int64_t calendar_length(const struct timezone *z, int64_t from_ms,
                        int64_t to_ms, int count, enum time_unit unit);
