/* A point on its way into the store, and the handle of the series that it is
 * of. */
#pragma once

#include "base/error.h"
#include "storage/block/point.h"

/* A series in the head: salt bucket in the top byte, generation in 24 bits,
 * index in 32.  Valid until the series is evicted; then a put of it answers
 * ST_NOT_FOUND, also when another series has its index. */
typedef uint64_t series_ref;
#define SERIES_REF_NONE UINT64_C(0)

static inline unsigned
series_ref_bucket(series_ref ref)
{
    return (unsigned)(ref >> 56);
}

struct series_point {
    series_ref series;
    struct point point;
    enum status status; /* out: what became of it */
};
