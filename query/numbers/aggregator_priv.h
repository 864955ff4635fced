/* What aggregator.c tells accumulate.c and downsample.c. */
#ifndef QUERY_NUMBERS_AGGREGATOR_PRIV_H
#define QUERY_NUMBERS_AGGREGATOR_PRIV_H

#include "query/numbers/aggregator.h"

enum aggregator_kind {
    KIND_SUM,
    KIND_MIN,
    KIND_MAX,
    KIND_AVG,
    KIND_MEDIAN,
    KIND_NONE,
    KIND_MULT,
    KIND_DEV,
    KIND_DIFF,
    KIND_COUNT,
    KIND_SQUARE_SUM,
    KIND_FIRST,
    KIND_LAST,
    KIND_PERCENTILE,
};

enum aggregator_kind aggregator_kind(const struct aggregator *a);

/* Must it see all values together, and does it reorder them? */
static inline bool
aggregator_sorts(const struct aggregator *a)
{
    return aggregator_kind(a) == KIND_MEDIAN ||
           aggregator_kind(a) == KIND_PERCENTILE;
}

/* aggregator_run_double() of those that do not sort. */
double aggregator_fold(const struct aggregator *a, const double *v, size_t len);

/* Java's (long) of a double: truncates, saturates, NaN is 0. */
int64_t aggregator_to_int(double d);

#endif
