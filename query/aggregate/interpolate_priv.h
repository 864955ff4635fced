/* Inside of interpolation and aggregation: a group on its way.
 *
 * Threads: struct aggregation: owner, but for what add_tasks.c lends tasks: of
 *          each cursor, and its column, one task at a time. */
#pragma once

#include "query/aggregate/accumulate.h"
#include "query/aggregate/aggregate_priv.h"

struct series_cursor {
    struct column *c; /* in the stretch: what is left of it */
    size_t at;     /* the last point up to the next timestamp, or the first */
    size_t wanted; /* values that the stretch takes; 0: it is not packed */
};

struct aggregation {
    const struct aggregate_spec *spec;
    struct series_cursor *cursors;
    size_t len;
    struct times timestamps;
    int64_t step_ms;  /* of all timestamps; 0: they are not even */
    uint8_t *doubles; /* per timestamp; NULL: all are as 'all_doubles' says */
    bool all_doubles;
    union number *values;   /* of one series in one stretch */
    struct points *scratch; /* for the values of a packed one */
    struct accumulator acc;
    const int64_t *ms; /* the stretch: acc.len timestamps, of acc's kind */
    struct partials *partials; /* add_tasks.c's */
};

/* -- interpolate.c --------------------------------------------------------- */

/* Columns lie in memory in the order in which they were read: fetches what
 * unpacking those a few behind series 'i' will look at. */
#define COLUMNS_AHEAD 4 /* for each step */
static inline __attribute__((always_inline)) void
aggregation_fetch_ahead(const struct aggregation *m, size_t i)
{
    for (unsigned step = 0; step < COLUMN_FETCH_STEPS; step++) {
        size_t at = i + (COLUMN_FETCH_STEPS - step) * COLUMNS_AHEAD;

        if (at < m->len)
            column_fetch(m->cursors[at].c, step);
    }
}

/* Its first 'len' values, unpacked into 'scratch' if they are packed. */
MUST_CHECK enum status aggregation_values(const struct aggregate_spec *spec,
                                          const struct column *c, size_t len,
                                          struct points *scratch,
                                          const union number **out,
                                          struct error *e);
/* Adds the values of a series, which are there, in the stretch, and moves on to
 * its last timestamp. */
void aggregation_add(struct aggregation *m, struct series_cursor *cur);
MUST_CHECK enum status aggregation_unpack_and_add(struct aggregation *m,
                                                  struct series_cursor *cur,
                                                  struct error *e);

/* -- add_tasks.c ----------------------------------------------------------- */

/* Adds all series in the stretch by the workers; to the bit what
 * one after the other makes.  False, and nothing has been added: it is not
 * worth it, or there is no room. */
bool aggregation_add_threads(struct aggregation *m, enum status *st,
                             struct error *e);
