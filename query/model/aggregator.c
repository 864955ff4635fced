#include "query/model/aggregator.h"

/* In the order in which OpenTSDB lists them (that of a hash table); then ours.
 */
static const struct aggregator aggregators[] = {
    { "mult", KIND_MULT, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "p90", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_LEGACY, false },
    { "zimsum", KIND_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "mimmax", KIND_MAX, INTERPOLATE_MIN, 0, EST_LEGACY, false },
    { "sum", KIND_SUM, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "p50", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_LEGACY, false },
    { "none", KIND_NONE, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "p95", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_LEGACY, false },
    { "ep99r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_R7, false },
    { "pfsum", KIND_SUM, INTERPOLATE_PREV, 0, EST_LEGACY, false },
    { "p75", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_LEGACY, false },
    { "p99", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_LEGACY, false },
    { "ep99r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_R3, false },
    { "ep95r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_R7, false },
    { "min", KIND_MIN, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "avg", KIND_AVG, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "ep75r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_R7, false },
    { "dev", KIND_DEV, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "ep95r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_R3, false },
    { "ep75r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_R3, false },
    { "ep50r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_R7, false },
    { "ep90r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_R7, false },
    { "mimmin", KIND_MIN, INTERPOLATE_MAX, 0, EST_LEGACY, false },
    { "p999", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_LEGACY, false },
    { "ep50r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_R3, false },
    { "ep90r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_R3, false },
    { "ep999r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_R7, false },
    { "last", KIND_LAST, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "max", KIND_MAX, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "count", KIND_COUNT, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "diff", KIND_DIFF, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "median", KIND_MEDIAN, INTERPOLATE_LINEAR, 0, EST_LEGACY, false },
    { "squareSum", KIND_SQUARE_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "ep999r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_R3, false },
    { "first", KIND_FIRST, INTERPOLATE_ZIM, 0, EST_LEGACY, false },
    { "range", KIND_RANGE, INTERPOLATE_LINEAR, 0, EST_LEGACY, true },
};

#define AGGREGATORS_LEN (sizeof aggregators / sizeof aggregators[0])

const struct aggregator *
aggregator_find(struct slice name)
{
    for (size_t i = 0; i < AGGREGATORS_LEN; i++)
        if (slice_eq_str(name, aggregators[i].name))
            return &aggregators[i];
    return NULL;
}

const struct aggregator *
aggregator_at(size_t i)
{
    return i < AGGREGATORS_LEN ? &aggregators[i] : NULL;
}
