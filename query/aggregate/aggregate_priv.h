/* The stages between a group's series and its answer, one function each:
 *
 *     column -> downsample -> rate -> interpolate and aggregate -> dps
 *
 * Each takes and gives whole columns; a column lies in the query's arena, or is
 * the series itself when a stage has nothing to do: even columns are unpacked
 * only when they are added up. */
#pragma once

#include "query/aggregate/aggregate.h"
#include "query/model/deadline.h"

/* As arena_array(), but not zeroed: what is written once needs no zeros. */
static inline void *
column_array(struct arena *a, size_t len, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(len, size, &bytes))
        return NULL;
    return arena_alloc(a, bytes);
}

/* -- downsample.c --------------------------------------------------------- */

struct downsampler {
    struct buckets buckets;
    struct window window;
    struct arena *arena;
    bool sum_counts; /* "count" adds up what rollups counted */
    struct deadline *deadline;
    union number *scratch; /* the values of one bucket: doubles, to sort */
    /* With a fill policy: the buckets that every series gets.  'want' are the
     * times at which one is expected, 'shown' those it is given; they differ
     * only where a calendar does not come back from where it went. */
    int64_t *want, *shown;
    size_t grid_len;
};

/* The value of the points of one bucket, which may be known to be doubles;
 * 'scratch' has room for as many. */
double bucket_value(const struct aggregator *a, const union number *v,
                    const uint8_t *is_float, size_t len, bool doubles,
                    union number *scratch);

/* 'longest': the length of the longest span there will be. */
MUST_CHECK enum status downsampler_init(struct downsampler *d,
                                        const struct downsample *spec,
                                        const struct window *w, size_t longest,
                                        struct arena *a, struct error *e);

MUST_CHECK enum status downsampler_run(const struct downsampler *d,
                                       const struct column *in,
                                       struct column *out, struct error *e);

/* -- thin.c --------------------------------------------------------------- */

/* Leaves of each bucket's points the extremes, and with THIN_M4 the first and
 * the last, at their own times; the earliest of equals.  NaN is no extreme: a
 * bucket of nothing else keeps its first point. */
void thin_dps(const struct downsample *spec, struct dps *d);

/* -- rate.c --------------------------------------------------------------- */

/* Change per second from point to point.  The first is the change from 0 at
 * 1970, and no answer shows it, but its group uses it (interpolate.c). */
MUST_CHECK enum status rate_run(const struct column *in,
                                const struct rate_options *o, struct arena *a,
                                struct column *out, struct error *e);
/* The same of the values of an even column, in their place, where none is
 * dropped. */
void rate_even(const struct column *c, const struct rate_options *o,
               union number *v);

/* -- timestamps.c ---------------------------------------------------------- */

/* Ascending, unique. */
struct times {
    const int64_t *ms; /* NULL: even */
    int64_t first_ms, step_ms;
    size_t len;
};

/* The union of 'lists', which are used up; it may be one of them, and is even
 * where they are, at the same timestamps.  False when the arena is full. */
bool times_union(struct times *lists, size_t len, struct arena *a,
                 struct times *out);

/* -- interpolate.c ------------------------------------------------------- */

struct aggregate_spec {
    const struct aggregator *aggregator;
    const struct rate_options *rate; /* the columns are rates; or NULL */
    bool null_fill;                  /* show NaN as nothing */
    struct window window;
    struct deadline *deadline;
    struct pool *pool; /* or NULL */
};

/* Packed columns are even; 'scratch' is for their values. */
MUST_CHECK enum status aggregate_columns(const struct aggregate_spec *spec,
                                         const struct column *columns,
                                         size_t len, struct points *scratch,
                                         struct arena *a, struct dps *out,
                                         struct error *e);
