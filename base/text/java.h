/*
 * What Java does with strings, where OpenTSDB's answers depend on it.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef BASE_TEXT_JAVA_H
#define BASE_TEXT_JAVA_H

#include "base/slice.h"

/* String.trim(): without blanks and control characters at both ends. */
struct slice java_trim(struct slice s);

/* String.hashCode() of UTF-8 text.  What is no UTF-8 counts as U+FFFD, byte by
 * byte. */
uint32_t java_hash(struct slice s);

/* The same, spread as java.util.HashMap does; its buckets are the low bits. */
uint32_t java_map_hash(struct slice s);

/* The cast of a double to a long: truncates and saturates; NaN is 0. */
int64_t java_long(double d);

/* Double.parseDouble(), but for hexadecimal digits. */
bool java_parse_double(struct slice s, double *out);

#endif
