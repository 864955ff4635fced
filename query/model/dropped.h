/* The points that a query needs and that retention has dropped
 * (docs/RETENTION.md).
 *
 * Threads: any. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define DROPPED_TEXT 80

struct dropped {
    int64_t before_ms; /* older data is gone; 0: the query needs none of it */
    const char *what;  /* "raw points", or "hourly values" if these are read */
};

/* Writes the sentence for headers, statistics and logs to 'text'. */
static inline void
dropped_text(const struct dropped *d, char text[DROPPED_TEXT])
{
    (void)snprintf(text, DROPPED_TEXT, "%s before %lld are dropped (retention)",
                   d->what, (long long)d->before_ms / 1000);
}
