/*
 * The insides of an expression: operators in the order of their work, values
 * before the operator that takes them.
 *
 * Threads: frozen once parsed.
 */
#ifndef QUERY_EXP_EXPRESSION_PRIV_H
#define QUERY_EXP_EXPRESSION_PRIV_H

#include "query/exp/expression.h"

enum expression_op {
    OP_NONE,
    OP_OPEN, /* of the parser only */
    OP_QUERY,
    OP_NAME,
    OP_CONSTANT,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_MODULO,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_GREATER,
    OP_LESS_EQUAL,
    OP_GREATER_EQUAL,
    OP_AND,
    OP_OR,
    OP_BIT_AND,
    OP_BIT_OR,
    OP_BIT_XOR,
    OP_BIT_NOT,
    OP_NEGATE,
    OP_NOT,
    OP_CHOOSE, /* a ? b : c */
    OP_ELVIS,  /* a ?: c */
};

/* Kinds that JEXL tells apart where it matters: a FLOAT computes as the double
 * that prints like it, but is no result.  A FAULT is a value that cannot be
 * computed; it is an error only if it is needed. */
enum value_kind {
    VALUE_DOUBLE,
    VALUE_FLOAT,
    VALUE_INTEGER,
    VALUE_TRUTH,
    VALUE_NULL,
    VALUE_FAULT,
};

struct value {
    enum value_kind kind;
    union {
        double d;
        int64_t i; /* a truth too */
    };
};

struct expression_step {
    enum expression_op op;
    size_t name;        /* of OP_NAME */
    struct value value; /* of OP_CONSTANT */
};

struct expression {
    struct slice text;
    struct expression_step *steps;
    size_t steps_len;
    struct slice *names;
    size_t names_len;
};

#endif
