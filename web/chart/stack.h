/* Series that stand on each other: at each time at which one of them has a
 * point, the sum of those below.
 *
 * A series that has no point at such a time, but near ones on both sides, is
 * taken on the line between these; elsewhere it breaks, and adds nothing.
 *
 * Owns:    all lies in the arena.
 * Threads: owner. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "web/chart/series.h"

/* Series times times: about a second's work. */
#define STACK_VALUES_MAX ((size_t)1 << 28)

struct stack {
    int64_t *ts_ms;
    double *base; /* the sum so far */
    double *v;    /* of the series that stack_next() looked at; NaN: none */
    size_t len;
    double lo, hi; /* of the sums at the end of any series */
};

/* The times of all series of the left axis.  ST_LIMIT past the arena or
 * STACK_VALUES_MAX. */
MUST_CHECK enum status stack_make(const struct chart_series *series,
                                  size_t series_len, struct arena *a,
                                  struct stack *out, struct error *e);
/* The values of a series at all times. */
void stack_fill(struct stack *s, const struct chart_series *series);
/* ... which from now on lie below. */
void stack_add(struct stack *s);
