/* A thread that gives memory back when series have left the head
 * (halite.series.idle_ms).  The caches of put lines and of names contain these
 * series too.  The thread empties the caches when many of their entries may be
 * idle; they fill again with what clients still send.  Then it returns free
 * pages to the system.
 *
 * Once in halite.purge.interval_ms, if retention has dropped rows since the
 * last purge that succeeded, the thread also removes series and names that have
 * nothing left in the store (uid/purge/purge.h), as 'halite purge' does.
 *
 * Owns:    its thread.
 * Threads: owner. */
#pragma once

#include "tsd/api/api.h"

struct forgetting; /* opaque */

/* 'a' must outlive it. */
MUST_CHECK enum status
forgetting_start(const struct api *a, struct forgetting **out, struct error *e);
void forgetting_stop(struct forgetting **f);
