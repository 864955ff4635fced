/* A series' points into buckets: the stage that works on a whole column, with
 * fill policies and rollups.  fold.h does the same while rows are
 * read.
 *
 * Threads: any; 'scratch' is one thread's.
 * Fails:   ST_LIMIT (arena, deadline). */
#pragma once

#include "query/downsample/buckets.h"
#include "query/downsample/reading.h"
#include "query/model/deadline.h"
#include "query/model/dps.h"

struct downsampler {
    const struct downsample *spec;       /* of the sub-query ... */
    const struct query_reading *reading; /* ... which may share this one */
    struct arena *arena;
    bool sum_counts; /* "count" adds up what rollups counted */
    struct deadline *deadline;
    int64_t *grid; /* with a fill policy: the buckets that every series gets */
    size_t grid_len;
};

/* ST_LIMIT: there is no memory for the buckets. */
enum status too_many_buckets(struct error *e);

MUST_CHECK enum status downsampler_init(struct downsampler *d, struct error *e);

MUST_CHECK enum status downsampler_run(const struct downsampler *d,
                                       const struct column *in,
                                       struct column *out, struct error *e);

/* Writes the start of the bucket of each time ts[from] .. ts[*end - 1] to the
 * same place of 'starts', and returns 'from'.  The other times are in no
 * bucket. 'ts' is ascending.  Not for "0all". */
size_t downsample_starts(const struct buckets *b, const int64_t *ts, size_t len,
                         int64_t *starts, size_t *end);

/* Leaves of each bucket's points the extremes, and with THIN_M4 the first and
 * the last, at their own times; the earliest of equals.  NaN is no extreme: a
 * bucket of nothing else keeps its first point. */
void thin_dps(const struct downsample *spec, struct dps *d);
