/* Regular expressions of clients, through PCRE2: searched for anywhere in a
 * text, as java.util.regex.Matcher.find() does, with limits on what one
 * expression may cost.
 *
 * Threads: frozen; regexp_find(): any.
 * Fails:   ST_INVALID (not an expression), ST_LIMIT (too costly), ST_BUSY (no
 *          memory). */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct regexp; /* opaque */

MUST_CHECK enum status regexp_new(struct slice pattern, struct regexp **out,
                                  struct error *e);
void regexp_free(struct regexp **r);
/* Bytes that it holds. */
size_t regexp_size(const struct regexp *r);

/* Bytes that are not UTF-8 match nothing. ST_NOT_FOUND without a match. */
MUST_CHECK enum status regexp_find(const struct regexp *r, struct slice text,
                                   struct error *e);

/* The first match that starts at 'from' or later.  groups[0] is the whole of
 * it, then come the expression's groups, '*len' in all, of which 'max' are
 * stored; 'data' is NULL where a group took no part. */
MUST_CHECK enum status regexp_match(const struct regexp *r, struct slice text,
                                    size_t from, struct slice *groups,
                                    size_t max, size_t *len, struct error *e);
