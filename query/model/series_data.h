/* What the stages of a query hand to one another: the points of one series, as
 * they were fetched, and the points of one group, as they are answered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "storage/block/point.h"

/* One series' points, ascending and unique, of all hours that the scan
 * range touches: also those before 'start' and after 'end', which feed
 * interpolation, rates and the last bucket. */
struct series_data {
    const int64_t *ts_ms;
    const union number *v;
    const uint8_t *is_float;
    size_t len;
    /* Of averages over rollups: how many points each sum is of; else NULL. */
    const int64_t *counts;
    /* Buckets instead of points, all doubles: what a stream_downsampler made of
     * points from first_ms to last_ms, if the series 'has_points' in the
     * scanned rows. */
    bool downsampled, has_points;
    int64_t first_ms, last_ms;
};

/* The answer: ascending times in ms, each an integer, a double, or nothing
 * (null fill). */
enum dp_kind { DP_INT, DP_DOUBLE, DP_NULL };
struct dps {
    int64_t *ts_ms;
    union number *v;
    uint8_t *kind; /* enum dp_kind */
    size_t len;
};

/* Room for 'len' points, which there are now; false past the arena. */
static inline bool
dps_alloc(struct arena *a, size_t len, struct dps *out)
{
    *out = (struct dps){ .ts_ms = arena_array(a, len, sizeof *out->ts_ms),
                         .v = arena_array(a, len, sizeof *out->v),
                         .kind = arena_array(a, len, sizeof *out->kind),
                         .len = len };
    return out->ts_ms != NULL && out->v != NULL && out->kind != NULL;
}
