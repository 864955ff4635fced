/*
 * Why a request is no query: OpenTSDB's message, and its details.
 *
 * Threads: owner.
 */
#ifndef QUERY_PARSE_PARSE_ERROR_H
#define QUERY_PARSE_PARSE_ERROR_H

#include "base/error.h"

struct parse_error {
    struct error message;
    char details[512]; /* "" when there are none */
};

/* The answer when the arena is at its cap. */
enum status parse_no_room(struct error *e);

/* A message alone, or one that is its details too. */
enum status parse_fail(struct parse_error *e, enum status st);
enum status parse_fail_twice(struct parse_error *e, enum status st);

#endif
