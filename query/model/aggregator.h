/* The 35 aggregators of OpenTSDB and our "range", by name: what each does with
 * the values of a timestamp, and what a series contributes to one at which it
 * has no point.
 *
 * Threads: any; the table is constant. */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "storage/block/point.h"

/* Where a series has no point between two of its own. */
enum interpolation {
    INTERPOLATE_LINEAR, /* on the line between its neighbours */
    INTERPOLATE_ZIM,    /* 0 */
    INTERPOLATE_MAX,    /* the largest value: so that min ignores it */
    INTERPOLATE_MIN,    /* the smallest value: so that max ignores it */
    INTERPOLATE_PREV,   /* its previous value */
};

enum aggregator_kind {
    KIND_SUM,
    KIND_MIN,
    KIND_MAX,
    KIND_RANGE, /* the greatest minus the least */
    KIND_AVG,
    KIND_MEDIAN,
    KIND_NONE, /* "none": the series are not aggregated at all */
    KIND_MULT,
    KIND_DEV,
    KIND_DIFF,
    KIND_COUNT,
    KIND_SQUARE_SUM,
    KIND_FIRST,
    KIND_LAST,
    KIND_PERCENTILE, /* stays last: it ends the table of arithmetic.c */
};

/* How a percentile's place in the sorted values is found: types of Hyndman and
 * Fan (1996); LEGACY is the (n + 1) p of commons-math, their type 6. */
enum estimation { EST_LEGACY, EST_R3, EST_R7 };

struct aggregator {
    const char *name;
    enum aggregator_kind kind;
    enum interpolation interpolation;
    double percentile;
    enum estimation estimation; /* of integers; doubles: always LEGACY */
    bool is_ours;               /* OpenTSDB does not have it */
};

/* NULL when there is none of that name; case counts. */
const struct aggregator *aggregator_find(struct slice name);

/* The i-th of all, OpenTSDB's in the order of its /api/aggregators; NULL past
 * the last. */
const struct aggregator *aggregator_at(size_t i);
