/* The stages between a group's series and its answer, one function each:
 *
 *     column -> downsample -> rate -> interpolate and aggregate -> dps
 *
 * Each takes and gives whole columns, in the place of the series' own; their
 * arrays lie in the query's arena, or are the series' where a stage has nothing
 * to do: even columns are unpacked only when they are added up. */
#pragma once

#include "query/aggregate/aggregate.h"
#include "query/downsample/downsample.h"

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

/* The union of 'lists', which are used up; it may be one of them, and is even
 * where they are, at the same timestamps. */
MUST_CHECK enum status times_union(struct times *lists, size_t len,
                                   struct deadline *deadline, struct arena *a,
                                   struct times *out, struct error *e);

/* -- interpolate.c ------------------------------------------------------- */

struct aggregate_spec {
    const struct aggregator *aggregator;
    const struct rate_options *rate; /* the columns are rates; or NULL */
    bool null_fill;                  /* show NaN as nothing */
    struct window window;
    struct deadline *deadline;
    struct workers *workers; /* or NULL */
    struct arena *arena;     /* of all that is made */
};

/* Packed columns are even; 'scratch' is for their values. */
MUST_CHECK enum status aggregate_columns(const struct aggregate_spec *spec,
                                         struct column *columns, size_t len,
                                         struct points *scratch,
                                         struct dps *out, struct error *e);
