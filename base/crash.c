/* The process ends without a word to anybody: no handler, no buffer, no lock
 * has a say in it. */
#include "config.h"

#include "base/crash.h"

#ifdef HALITE_CRASH_POINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/number.h"

/* Is it this point's name, and at which time?  0: it is not. */
static uint64_t
wanted(const char *name)
{
    const char *at = getenv("HALITE_CRASH_AT");
    size_t n = strlen(name);
    uint64_t time = 1;

    if (at == NULL || strncmp(at, name, n) != 0 ||
        (at[n] != '\0' && at[n] != ':'))
        return 0;
    if (at[n] == ':' && !number_parse_u64(slice_str(at + n + 1), &time))
        return 0;
    return time;
}

void
crash_point(const char *name)
{
    static _Atomic uint64_t times;
    uint64_t time = wanted(name);

    if (time != 0 && atomic_fetch_add(&times, 1) + 1 == time)
        (void)raise(SIGKILL);
}

#endif
