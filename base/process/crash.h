/* Places where a test lets the process end, as by kill -9.
 *
 *     crash_point("flush-written");
 *
 *     HALITE_CRASH_AT=flush-written      ends it there
 *     HALITE_CRASH_AT=flush-written:3    the third time it comes by
 *
 * Configured without --enable-crash-points it is nothing at all.  The names are
 * listed in tests/crash/points.mjs, which tries each.
 *
 * Threads: any. */
#pragma once

#ifdef HALITE_CRASH_POINTS
void crash_point(const char *name);
#else
#define crash_point(name) ((void)0)
#endif
