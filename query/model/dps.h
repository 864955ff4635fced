/* The points of one group, as they are answered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "storage/block/point.h"

/* Ascending times in ms, each an integer, a double, or nothing
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
