/* Local times as texts, by a format of strftime()'s letters, of which these few
 * are known; English, whatever the locale.  strftime() never sees it.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/error.h"
#include "base/time/timezone.h"

#define TIME_FORMAT_BYTES 64
#define TIME_LABEL_MAX    (TIME_FORMAT_BYTES * 10)

#define TIME_FORMAT_LETTERS "aAbBdeFHIjmMpRsSTyYz%"
#define TIME_FORMAT_HELP                                                   \
    "text with at least one of %Y %y %m %b %B %d %e %j %a %A %H %I %M %S " \
    "%p %z %s %F %R %T; %% is a percent sign"

/* Is it one? */
bool time_format_is_good(struct slice format);

/* Writes the time as it is in 'zone'; 'format' is good, and ends with a NUL. */
void time_format_write(const char *format, int64_t utc_ms,
                       const struct timezone *zone, char out[TIME_LABEL_MAX]);
