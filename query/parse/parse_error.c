/* See query/parse/parse_error.h. */
#include "config.h"

#include "query/parse/parse_error.h"

#include <stdio.h>

enum status
parse_no_room(struct error *e)
{
    return error_set(e, ST_LIMIT, "the query is too large");
}

enum status
parse_fail(struct parse_error *e, enum status st)
{
    e->details[0] = '\0';
    return st;
}

enum status
parse_fail_twice(struct parse_error *e, enum status st)
{
    (void)snprintf(e->details, sizeof e->details, "%s", e->message.text);
    return st;
}
