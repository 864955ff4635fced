/* What retention has dropped of what a query needs: docs/RETENTION.md.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define DROPPED_TEXT 80

struct dropped {
    int64_t before_ms; /* what is older is gone; 0: nothing is missing */
    const char *what;  /* "raw points"; "hourly values" where these answer */
};

/* For headers, statistics, logs and people. */
static inline void
dropped_text(const struct dropped *d, char text[DROPPED_TEXT])
{
    (void)snprintf(text, DROPPED_TEXT, "%s before %lld are dropped (retention)",
                   d->what, (long long)d->before_ms / 1000);
}
