#include "query/model/aggregator.h"

/* In the order in which OpenTSDB lists them (that of a hash table); then ours.
 */
static const struct aggregator aggregators[] = {
    { "mult", KIND_MULT, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "p90", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_LEGACY },
    { "zimsum", KIND_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "mimmax", KIND_MAX, INTERPOLATE_MIN, 0, EST_LEGACY },
    { "sum", KIND_SUM, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "p50", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_LEGACY },
    { "none", KIND_NONE, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "p95", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_LEGACY },
    { "ep99r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_R7 },
    { "pfsum", KIND_SUM, INTERPOLATE_PREV, 0, EST_LEGACY },
    { "p75", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_LEGACY },
    { "p99", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_LEGACY },
    { "ep99r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99, EST_R3 },
    { "ep95r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_R7 },
    { "min", KIND_MIN, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "avg", KIND_AVG, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "ep75r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_R7 },
    { "dev", KIND_DEV, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "ep95r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 95, EST_R3 },
    { "ep75r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 75, EST_R3 },
    { "ep50r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_R7 },
    { "ep90r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_R7 },
    { "mimmin", KIND_MIN, INTERPOLATE_MAX, 0, EST_LEGACY },
    { "p999", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_LEGACY },
    { "ep50r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 50, EST_R3 },
    { "ep90r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 90, EST_R3 },
    { "ep999r7", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_R7 },
    { "last", KIND_LAST, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "max", KIND_MAX, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "count", KIND_COUNT, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "diff", KIND_DIFF, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "median", KIND_MEDIAN, INTERPOLATE_LINEAR, 0, EST_LEGACY },
    { "squareSum", KIND_SQUARE_SUM, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "ep999r3", KIND_PERCENTILE, INTERPOLATE_LINEAR, 99.9, EST_R3 },
    { "first", KIND_FIRST, INTERPOLATE_ZIM, 0, EST_LEGACY },
    { "range", KIND_RANGE, INTERPOLATE_LINEAR, 0, EST_LEGACY },
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
