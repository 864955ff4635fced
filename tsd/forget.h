/* Forgets what is idle or gone: a thread that gives memory back when series
 * have left the head (halite.series.idle_ms).  The caches of put lines and of
 * names know these series too; the caches are emptied when many of what they
 * hold may be idle, and fill again with what is still sent.  Then pages that
 * became free go back to the system.
 *
 * And once in halite.purge.interval_ms, if retention has dropped rows since, it
 * takes series and names of which nothing is left out of the store
 * (uid/purge/purge.h), as 'halite purge' does.
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
