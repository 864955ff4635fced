/* Durations: a whole number and one of OpenTSDB's units, "10m", "1d", "500ms".
 * Units are ms, s, m (minutes), h, d, w, n (months of 30 days) and y (years of
 * 365 days), in either case.  Every place that reads a duration uses this
 * parser: OpenTSDB looks at the last letter only, so that it reads "5min" as 5
 * months, and a DELETE of "5min-ago" removes 150 days.
 *
 * Threads: any.
 * Fails:   ST_INVALID, with OpenTSDB's text where it has one, and the list of
 *          units. */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "base/time/timezone.h"

/* The end of every error message about a unit. */
#define DURATION_UNITS                                                   \
    "A duration is a whole number and one of the units ms, s, m, h, d, " \
    "w, n (30 days) or y (365 days), as in 90s or 2h"

struct duration {
    int64_t count; /* at least 1 */
    enum time_unit unit;
    int64_t ms;
};

/* If 'text' is an error of parse_duration() and OpenTSDB rejects the duration
 * with the same words, returns the size of these words, without the list of
 * units.  Otherwise returns the size of the whole text. */
size_t duration_message_size(const char *text);

MUST_CHECK enum status parse_duration(struct slice text, struct duration *out,
                                      struct error *e);
