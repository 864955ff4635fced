/* The insides of expressions over series: a node for each metric and each
 * expression, whose operands are other nodes.
 *
 * Threads: owner. */
#pragma once

#include "query/exp/exp.h"
#include "query/exp/rows.h"

/* A node being read, row by row. */
struct exp_operand {
    struct exp_node *node;
    double fill; /* of a metric: for NaN, and where it has no point */
    const struct row_series *series; /* of the rows of the node that reads it */
};

/* A metric has itself as its only operand, filled with 0. */
struct exp_node {
    struct slice id;
    const struct exp_expression *x; /* NULL: a metric */
    double fill; /* of a metric as the operand of an expression */
    struct join_operand side;
    struct exp_operand *operands;
    size_t operands_len;
    size_t *variables; /* which operand is a name of the expression */
    struct joined joined;
    struct row_series *rows; /* the series of all operands */
    size_t rows_len;
    struct exp_table table;
    bool is_run, is_shown;
};

struct exp_plan {
    struct arena *arena;
    struct deadline deadline;
    struct exp_node *nodes; /* metrics first; none uses a later one */
    size_t nodes_len;
};

/* Of a list of what begins with its id; NULL when there is none of that id. */
const void *exp_find(const void *list, size_t len, size_t size,
                     struct slice id);
#define EXP_FIND(list, len, id) exp_find(list, len, sizeof *(list), id)

/* OpenTSDB cannot read a metric of which a series has no points in the range;
 * by itself it may have none at all ('all_may'). */
MUST_CHECK enum status exp_check_empty(const struct exp_node *node,
                                       bool all_may, struct error *e);
