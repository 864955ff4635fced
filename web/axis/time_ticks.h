/* Where the ticks of a time axis stand, from a second to centuries apart: on
 * round times of the local clock, also where that clock is changed between two
 * of them.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/time/timezone.h"

#define TIME_TICKS_MAX 64

struct time_ticks {
    int64_t at_ms[TIME_TICKS_MAX]; /* UTC */
    size_t len;
    const char *format; /* of their labels: time_format.h */
    /* Of a second line, below the first tick and where it changes; or NULL. */
    const char *date_format;
};

/* Those within [from_ms, to_ms], at most 'most' of them (cut to 2 ..
 * TIME_TICKS_MAX). */
void time_ticks_find(int64_t from_ms, int64_t to_ms,
                     const struct timezone *zone, size_t most,
                     struct time_ticks *out);
