/* Why a request is no query: OpenTSDB's message, and its details.
 *
 * Threads: owner. */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "query/model/duration.h"

struct parse_error {
    struct error message;
    char details[512]; /* "" when there are none */
};

/* A message alone, or one that is its details too. */
static inline enum status
parse_fail(struct parse_error *e, enum status st)
{
    e->details[0] = '\0';
    return st;
}

/* Copies the message to the details.  If OpenTSDB rejects the duration, too,
 * the message is OpenTSDB's, because programs compare it, and only the details
 * contain the list of units. */
static inline enum status
parse_fail_twice(struct parse_error *e, enum status st)
{
    (void)snprintf(e->details, sizeof e->details, "%s", e->message.text);
    e->message.text[duration_message_size(e->message.text)] = '\0';
    return st;
}
