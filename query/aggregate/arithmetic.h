/* What accumulate.c, downsample.c and downsampler.c compute with. */
#ifndef QUERY_AGGREGATE_ARITHMETIC_H
#define QUERY_AGGREGATE_ARITHMETIC_H

#include <math.h>

#include "query/model/aggregator.h"
#include "storage/block/point.h"

/* Must it see all values together, and does it reorder them? */
static inline bool
aggregator_sorts(const struct aggregator *a)
{
    return a->kind == KIND_MEDIAN || a->kind == KIND_PERCENTILE;
}

/* The values of one moment, in the order of their series; 'len' >= 1. They may
 * be reordered in place.  Integers follow OpenTSDB's integer maths. */
int64_t aggregator_run_int(const struct aggregator *a, int64_t *v, size_t len);
/* NaNs are skipped; all NaN gives NaN. */
double aggregator_run_double(const struct aggregator *a, double *v, size_t len);

/* aggregator_run_double() of those that do not sort. */
double aggregator_run_unsorted(const struct aggregator *a, const double *v,
                               size_t len);

/* Values are added to the state of a moment: a count 'n', 'a' (the sum, the
 * least, the mean, the first ...) and, for some, 'b' (squares, the last).  It
 * begins with 0, one of the starts, and 0. */
typedef void arithmetic_add(uint32_t *n, union number *a, union number *b,
                            const union number *v, size_t len);

struct arithmetic {
    arithmetic_add *each_int, *all_ints; /* v[k] to moment k; all to one */
    arithmetic_add *each_double, *all_doubles;
    union number start_int, start_double;
};
/* By kind; not of those that sort. */
extern const struct arithmetic aggregator_arithmetic[];

/* Java's (long) of a double: truncates, saturates, NaN is 0. */
int64_t aggregator_to_int(double d);

/* The result; integers: of one value at least. */
static inline int64_t
arithmetic_end_int(enum aggregator_kind kind, uint64_t n, union number a,
                   union number b)
{
    switch (kind) {
    case KIND_AVG:
        return a.i / (int64_t)n;
    case KIND_COUNT:
        return (int64_t)n;
    case KIND_DEV:
        return aggregator_to_int(sqrt(b.d / (double)n));
    case KIND_DIFF:
        return (int64_t)((uint64_t)b.i - (uint64_t)a.i);
    case KIND_LAST:
        return b.i;
    case KIND_SUM:
    case KIND_MIN:
    case KIND_MAX:
    case KIND_MULT:
    case KIND_SQUARE_SUM:
    case KIND_FIRST:
    case KIND_NONE:
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        break;
    }
    return a.i;
}

static inline double
arithmetic_end_double(enum aggregator_kind kind, uint64_t n, union number a,
                      union number b)
{
    switch (kind) {
    case KIND_SUM:
    case KIND_SQUARE_SUM:
        return n == 0 ? (double)NAN : a.d;
    case KIND_AVG:
        return n == 0 ? (double)NAN : a.d / (double)n;
    case KIND_MIN:
        return a.d == INFINITY ? (double)NAN : a.d;
    case KIND_MAX:
        return a.d == -INFINITY ? (double)NAN : a.d;
    case KIND_DEV:
        return n == 0 ? (double)NAN : sqrt(b.d / (double)n);
    case KIND_DIFF:
        return n == 0 ? (double)NAN : n == 1 ? 0 : b.d - a.d;
    case KIND_COUNT:
        return (double)n;
    case KIND_LAST:
        return b.d;
    case KIND_MULT:
    case KIND_FIRST:
    case KIND_NONE:
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        break;
    }
    return a.d;
}

#endif
