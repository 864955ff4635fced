/* What aggregators make of values: of one list, or step by step of many.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <math.h>

#include "base/text/java.h"
#include "query/model/aggregator.h"
#include "storage/block/point.h"

/* Must it see all values together, and does it reorder them? */
static inline bool
aggregator_sorts(const struct aggregator *a)
{
    return a->kind == KIND_MEDIAN || a->kind == KIND_PERCENTILE;
}

/* The values of one timestamp, in the order of their series; 'len' >= 1.  They
 * may be used up.  Integers follow OpenTSDB's integer maths; of doubles NaNs
 * are skipped, and all NaN gives NaN. */
union number aggregator_run(const struct aggregator *a, bool doubles,
                            union number *v, size_t len);
/* The same of those that do not sort. */
union number aggregator_run_unsorted(const struct aggregator *a, bool doubles,
                                     const union number *v, size_t len);

/* Standard deviations of lists of 'every' doubles, as "dev" has them, side by
 * side; returns how many: the rest is to be run one by one. */
size_t deviations(const union number *v, size_t every, size_t len,
                  union number *out);

/* Values are added to the state of a timestamp: a count 'n', 'a' (the sum, the
 * least, the mean, the first ...) and, for some, 'b' (squares, the last).  It
 * begins with 0, one of the starts, and 0. */
typedef void arithmetic_add(uint32_t *n, union number *a, union number *b,
                            const union number *v, size_t len);

/* [0] is of integers, [1] of doubles. */
struct arithmetic {
    arithmetic_add *each[2]; /* v[k] to timestamp k */
    arithmetic_add *all[2];  /* all to one timestamp */
    union number start[2];
};
/* By kind; not of those that sort. */
extern const struct arithmetic aggregator_arithmetic[];

/* The result; integers: of one value at least. */
static inline union number
arithmetic_end(enum aggregator_kind kind, bool doubles, uint64_t n,
               union number a, union number b)
{
    switch (kind) {
    case KIND_SUM:
    case KIND_SQUARE_SUM:
        a.d = doubles && n == 0 ? (double)NAN : a.d;
        return a;
    case KIND_AVG:
        if (doubles)
            a.d = n == 0 ? (double)NAN : a.d / (double)n;
        else
            a.i /= (int64_t)n;
        return a;
    case KIND_MIN:
    case KIND_MAX:
        /* Nothing was less, or more, than the start. */
        if (doubles && a.d == (kind == KIND_MIN ? INFINITY : -INFINITY))
            a.d = NAN;
        return a;
    case KIND_DEV:
        b.d = n == 0 ? (double)NAN : sqrt(b.d / (double)n);
        return doubles ? b : (union number){ .i = java_long(b.d) };
    case KIND_DIFF:
        if (doubles)
            a.d = n == 0 ? (double)NAN : n == 1 ? 0 : b.d - a.d;
        else
            a.i = (int64_t)((uint64_t)b.i - (uint64_t)a.i);
        return a;
    case KIND_COUNT:
        if (doubles)
            return (union number){ .d = (double)n };
        return (union number){ .i = (int64_t)n };
    case KIND_LAST:
        return b;
    case KIND_MULT:
    case KIND_FIRST:
    case KIND_NONE:
    case KIND_MEDIAN:
    case KIND_PERCENTILE:
        break;
    }
    return a;
}
