/* The text form of Java's properties, in which OpenTSDB's settings are kept:
 * "key = value", "key: value", "key value"; '#' and '!' start a comment line; a
 * backslash at the end of a line joins it with the next, elsewhere it escapes
 * (\t \n \r \f \uXXXX, and any other character stands for itself).
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

/* Told each pair in turn, and the line that it begins in, from 1 on; both
 * strings are lent for the call.  Behind the first 'solid' bytes of the value
 * there are but blanks that no escape made. */
typedef void properties_found(void *ctx, const char *key, const char *value,
                              size_t solid, size_t line);

/* ST_INVALID on a broken \uXXXX and on bytes of zero, naming the line. */
MUST_CHECK enum status properties_parse(struct slice text,
                                        properties_found *found, void *ctx,
                                        struct error *e);
