/* An aggregator over many timestamps at once: values come series by series,
 * each for a stretch of timestamps, in the order of the series.  The results
 * are those of aggregator_run(), bit by bit, because each timestamp sees the
 * same values in the same order.  Its memory is an arena's.
 *
 * Owns:    nothing: its arrays are an arena's.
 * Threads: owner. */
#pragma once

#include "base/arena.h"
#include "query/downsample/arithmetic.h"

struct accumulator {
    const struct aggregator *aggregator;
    bool doubles; /* what is added now */
    size_t cap;   /* how many timestamps there is room for */
    size_t len;   /* ... and are in use */
    size_t series;
    uint32_t *count;    /* per timestamp: values so far */
    union number *a;    /* the sum, the least, the mean, the first ... */
    union number *b;    /* what some need besides: squares, the last */
    union number *rows; /* every value, for those that must sort them */
};

/* For up to 'series' values a timestamp, and as many timestamps at once as is
 * handy, but not more than 'len'.  False when the arena is full. */
bool accumulator_init(struct accumulator *c,
                      const struct aggregator *aggregator, size_t series,
                      size_t len, struct arena *a);

/* Begins again, for 'len' <= c->cap timestamps, which are of one kind. */
void accumulator_begin(struct accumulator *c, bool doubles, size_t len);
/* One more series' values for the timestamps from .. from + len - 1. */
void accumulator_add(struct accumulator *c, size_t from, const union number *v,
                     size_t len);
/* The values of other series for the same timestamps; integers, and a kind of
 * which the order is of no matter. */
void accumulator_merge(struct accumulator *c, const struct accumulator *more);
/* The results of all timestamps; each has had a value. */
void accumulator_end(struct accumulator *c, union number *out);
