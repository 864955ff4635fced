/* The oldest and the newest point of a store.
 *
 * Cost:    the head's series; in the engine a seek for each salt bucket and
 *          metric, the rows of the oldest and of the newest span, and a seek
 *          for each span that only series which are left out have outside of
 *          these two.
 * Threads: any.
 * Fails:   ST_IO; ST_BUSY when it is cancelled.  A damaged row counts for
 *          nothing. */
#pragma once

#include "storage/store/store.h"

struct store_times_spec {
    uint64_t least_tagk; /* series whose first tagk is less are left out */
    struct cancel cancel;
};

/* '*out' is none when there is no point.  Points that are put, and deleted,
 * meanwhile may be missed, and found. */
MUST_CHECK enum status store_times(struct store *s,
                                   const struct store_times_spec *spec,
                                   struct point_times *out, struct error *e);
