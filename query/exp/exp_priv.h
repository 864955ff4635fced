/*
 * The insides of expressions over series: a node for each expression, whose
 * operands are tables of metrics or of other nodes.
 *
 * Threads: owner.
 */
#ifndef QUERY_EXP_EXP_PRIV_H
#define QUERY_EXP_EXP_PRIV_H

#include <stdlib.h>

#include "query/exp/exp.h"

struct query_tagks {
    uint64_t *ids;
    size_t len;
};

struct exp_operand {
    struct slice name;
    bool is_metric;
    double fill; /* of a metric: for NaN, and where it has no point */
    const struct exp_table *table;
    const struct query_tagks *tagks; /* NULL: of no query */
};

struct exp_node {
    const struct exp_expression *x;
    struct exp_operand *operands;
    size_t operands_len;
    size_t *variables; /* which operand is a name of the expression */
    struct joined joined;
    struct exp_table table;
    bool is_shown;
};

struct exp_plan {
    const struct exp_query *q;
    struct arena *arena;
    struct deadline deadline;
    struct exp_table *metrics;
    struct query_tagks *query_tagks; /* of each metric */
    struct exp_node *nodes;
    size_t nodes_len;
    size_t *order; /* of nodes: none uses a later one */
};

/* Of a list of what begins with its id; NULL when there is none of that id. */
const void *exp_find(const void *list, size_t len, size_t size,
                     struct slice id);
#define EXP_FIND(list, len, id) exp_find(list, len, sizeof *(list), id)

struct exp_node *exp_node_find(struct exp_plan *p, struct slice id);
bool exp_is_lower_of(struct slice lower, struct slice name);

#endif
