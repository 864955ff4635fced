/* Ends the process as kill -9 does: no handler runs, nothing is written. */
#include "base/process/crash.h"

#ifdef HALITE_CRASH_POINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void
crash_point(const char *name)
{
    static _Atomic uint64_t times; /* of the one that is wanted */
    uint64_t time;
    const char *at = getenv("HALITE_CRASH_AT");
    size_t n = strlen(name);

    /* The visit of this point at which to end, from NAME or NAME:VISIT; 0:
     * none. */
    if (at == NULL || strncmp(at, name, n) != 0 ||
        (at[n] != '\0' && at[n] != ':'))
        time = 0;
    else
        time = at[n] == ':' ? strtoull(at + n + 1, NULL, 10) : 1;
    if (time != 0 && atomic_fetch_add(&times, 1) + 1 == time)
        (void)raise(SIGKILL);
}

#endif
