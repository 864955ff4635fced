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

/* A copy; false past the arena. */
static inline bool
dps_copy(struct arena *a, const struct dps *from, struct dps *out)
{
    *out = (struct dps){
        .ts_ms = arena_copy(a, from->ts_ms, from->len * sizeof *out->ts_ms),
        .v = arena_copy(a, from->v, from->len * sizeof *out->v),
        .kind = arena_copy(a, from->kind, from->len * sizeof *out->kind),
        .len = from->len,
    };
    return out->ts_ms != NULL && out->v != NULL && out->kind != NULL;
}
