/* The oldest and the newest point of the store, looked up when a client asks,
 * and kept for a minute, or for a hundred times as long as it took.
 *
 * Threads: any; one looks, and the others get what it found the last time.
 * Fails:   as store_times(); ST_BUSY while the first look-up runs. */
#pragma once

#include "storage/scan/store_scan.h"

struct point_range; /* opaque */

struct point_range *point_range_new(void);
void point_range_free(struct point_range **p);

/* '*age_ms': how long ago '*out' was found.  ST_BUSY when it is cancelled. */
MUST_CHECK enum status point_range_get(struct point_range *p, struct store *s,
                                       struct cancel cancel,
                                       struct point_times *out, int64_t *age_ms,
                                       struct error *e);
