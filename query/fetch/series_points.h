/* How many points series have, and when the newest one is: read from the
 * block summaries of their blocks and from the head, on request.
 * Nothing is counted while points come in.
 *
 * Threads: any.
 * Fails:   ST_IO, ST_CORRUPT; ST_BUSY when 'cancel' said so. */
#pragma once

#include "base/cancel.h"
#include "storage/store/store.h"

struct series_points {
    uint64_t points;
    int64_t last_ms; /* 0: there is none */
};

/* Of series of one metric, valid and ascending; out[i] is that of tsuids[i].
 * The cost is that of reading all rows of their tag-key sets, or of one series
 * alone. */
MUST_CHECK enum status series_points(struct store *s,
                                     const struct slice *tsuids, size_t len,
                                     struct series_points *out,
                                     struct cancel cancel, struct error *e);
