/*
 * A JSON text as a tree of values, in the order of the text.
 *
 * What clients mostly send (plain letters, whole numbers, each name once) is
 * read by a parser of our own, without a copy; all else, and what is wrong, by
 * Jansson: it says what is JSON and what is not.
 *
 * Owns:    its values.  Texts lie there, or in the body.
 * Threads: owner.
 */
#ifndef QUERY_PARSE_TREE_H
#define QUERY_PARSE_TREE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

enum tree_kind {
    TREE_NULL,
    TREE_FALSE,
    TREE_TRUE,
    TREE_INTEGER,
    TREE_REAL,
    TREE_STRING,
    TREE_ARRAY,
    TREE_OBJECT
};

struct tree_value {
    enum tree_kind kind;
    struct slice key; /* of an object's member */
    struct slice text;
    int64_t integer;
    double real;
    struct tree_value *first, *next; /* elements, members */
    size_t len;                      /* how many */
    struct tree_value *parent;       /* while it is read */
    json_t *json;                    /* the same, as Jansson has it */
};

struct tree {
    struct tree_value *root;
    struct arena *arena;
    json_t *json;
};

/* False: not by us, be it JSON or not. */
MUST_CHECK bool tree_load_plain(struct tree *t, struct slice body);
/* By Jansson, which recurses: who calls it has counted how deep.  False, and
 * 'why': it is no JSON. */
MUST_CHECK bool tree_load(struct tree *t, struct slice body, json_error_t *why);
/* Whatever came of it. */
void tree_unload(struct tree *t);

/* An object's member, or NULL. */
struct tree_value *tree_member(const struct tree_value *object,
                               const char *name);

#endif
