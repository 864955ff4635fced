/* What aggregators make of values: of one list, or step by step of many.
 *
 * An aggregator is a row of a table by its kind: the step that adds a value,
 * the end that makes the result, and what else is known of it.  To add one,
 * write its step and its row (arithmetic.c), and its name (query/model/).
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "query/model/aggregator.h"
#include "storage/block/block.h"

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

/* Standard deviations of lists of 'every' doubles, as "dev" has them, side by
 * side; returns how many: the rest is to be run one by one. */
size_t deviations(const union number *v, size_t every, size_t len,
                  union number *out);

/* Values are added to the state of a timestamp: a count 'n', 'a' (the sum, the
 * least, the mean, the first ...) and, for some, 'b' (squares, the last).  It
 * begins with 0, one of the starts, and 0. */
typedef void arithmetic_add(uint32_t *n, union number *a, union number *b,
                            const union number *v, size_t len);
/* Returns the result of a state; integers: of one value at least. */
typedef union number arithmetic_end(uint64_t n, union number a, union number b);
/* Does so for 'len' states. */
typedef void arithmetic_ends(const uint32_t *n, const union number *a,
                             const union number *b, size_t len,
                             union number *out);

/* The values of a block summary, or of the hours of a week. */
enum summary_value {
    SUMMARY_NOTHING, /* only the count */
    SUMMARY_SUM,
    SUMMARY_MIN,
    SUMMARY_MAX,
    SUMMARY_FIRST,
    SUMMARY_LAST,
};
#define SUMMARY_VALUES_MOST 2 /* that an aggregator needs */

/* [0] is of integers, [1] of doubles. */
struct arithmetic {
    arithmetic_add *each[2]; /* v[k] to timestamp k */
    arithmetic_add *all[2];  /* all to one timestamp */
    arithmetic_end *end[2];
    arithmetic_ends *ends[2];
    union number start[2];
    /* Points can be added to a bucket row by row; otherwise all points of a
     * bucket are needed at once. */
    bool folds;
    bool adds;  /* 'a' is a sum: of integers it is exact up to EXACT_MAX */
    bool pairs; /* 'a' and 'b' together stand for the values of integers that
                 * were added; otherwise 'a' alone does */
    bool any_order; /* of integers: states can be merged in any order */
    /* If it folds: the values of a summary that stand for its points. */
    enum summary_value values[SUMMARY_VALUES_MOST];
};
/* By kind; not of those that sort. */
extern const struct arithmetic aggregator_arithmetic[];

static inline const struct arithmetic *
arithmetic_of(const struct aggregator *a)
{
    return &aggregator_arithmetic[a->kind];
}

/* How many values of a summary does it need? */
static inline size_t
arithmetic_values(const struct arithmetic *m)
{
    return m->values[0] == SUMMARY_NOTHING   ? 0
           : m->values[1] == SUMMARY_NOTHING ? 1
                                             : 2;
}
