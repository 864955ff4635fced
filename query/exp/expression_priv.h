/* The insides of an expression: operators in the order of their work, values
 * before the operator that takes them.
 *
 * Threads: frozen once parsed. */
#pragma once

#include "query/exp/expression.h"

/* Of an operator: how tightly it binds, how many values it takes, and the sign
 * and the word that stand for it behind a value. */
#define OPERATORS(X)                                         \
    X(NONE, 0, 0, NULL, NULL)                                \
    X(OPEN, 0, 0, NULL, NULL) /* of the parser only */       \
    X(NAME, 0, 0, NULL, NULL)                                \
    X(CONSTANT, 0, 0, NULL, NULL)                            \
    X(QUERY, LEVEL_CHOICE, 0, "?", NULL)   /* parser only */ \
    X(CHOOSE, LEVEL_CHOICE, 3, NULL, NULL) /* a ? b : c */   \
    X(ELVIS, LEVEL_CHOICE, 2, "?:", NULL)  /* a ?: c */      \
    X(OR, 2, 2, "||", "or")                                  \
    X(AND, 3, 2, "&&", "and")                                \
    X(BIT_OR, 4, 2, "|", NULL)                               \
    X(BIT_XOR, 5, 2, "^", NULL)                              \
    X(BIT_AND, 6, 2, "&", NULL)                              \
    X(EQUAL, LEVEL_EQUALITY, 2, "==", "eq")                  \
    X(NOT_EQUAL, LEVEL_EQUALITY, 2, "!=", "ne")              \
    X(LESS, LEVEL_ORDER, 2, "<", "lt")                       \
    X(GREATER, LEVEL_ORDER, 2, ">", "gt")                    \
    X(LESS_EQUAL, LEVEL_ORDER, 2, "<=", "le")                \
    X(GREATER_EQUAL, LEVEL_ORDER, 2, ">=", "ge")             \
    X(ADD, 9, 2, "+", NULL)                                  \
    X(SUBTRACT, 9, 2, "-", NULL)                             \
    X(MULTIPLY, 10, 2, "*", NULL)                            \
    X(DIVIDE, 10, 2, "/", "div")                             \
    X(MODULO, 10, 2, "%", "mod")                             \
    X(NEGATE, 11, 1, NULL, NULL)                             \
    X(NOT, 11, 1, NULL, NULL)                                \
    X(BIT_NOT, 11, 1, NULL, NULL)

enum expression_op {
#define OPERATOR(name, level, operands, sign, word) OP_##name,
    OPERATORS(OPERATOR)
#undef OPERATOR
};

/* Two of EQUALITY or of ORDER may not follow each other: "a < b < c". */
enum { LEVEL_OPEN, LEVEL_CHOICE, LEVEL_EQUALITY = 7, LEVEL_ORDER };

/* Kinds that JEXL distinguishes where it matters: a FLOAT computes as the
 * double that prints like it, but is no result.  A FAULT is a value that cannot
 * be computed; it is an error only if it is needed. */
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
        int64_t i; /* a truth too; 0 of null and of a fault */
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
