/* Brackets in the texts of queries: m=, gexp, lists of tags.  A colon,
 * comma or brace inside (), [] or {} belongs to a value, as in
 *
 *     sum:m{host=regexp((?:web|db)[0-9]{2,3}:8082)}{dc=literal_or(a,b)}
 *
 * Inside parentheses a backslash makes the next character a plain one, and
 * inside [] only [ and ] are brackets, as in regular expressions.  OpenTSDB
 * splits at every colon, comma and brace.  The page has the same scanner
 * (web/ui/mtext.ts).
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

#define NESTING_DEPTH_MAX 64
#define NESTING_BROKEN    SIZE_MAX

/* Returns the position of the first character of 'any' outside of brackets, or
 * the size of 'text' if there is none.  Returns NESTING_BROKEN if a bracket
 * before that position has no partner, or if more than NESTING_DEPTH_MAX are
 * open. */
size_t nesting_find(struct slice text, const char *any);

/* Splits 'text' at each separator outside of brackets.  If the brackets do not
 * match, splits at each separator, as OpenTSDB does. */
MUST_CHECK enum status nesting_split(struct slice text, char separator,
                                     struct arena *a, struct slice **parts,
                                     size_t *len, struct error *e);
