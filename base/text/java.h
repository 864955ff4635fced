/* What Java does with strings, where OpenTSDB's answers depend on it.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

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

/* String.format("%f"): the digits of Double.toString(), which are rounded half
 * up to six decimals; zeros stand behind them.  "NaN", "-Infinity".  Writes at
 * most JAVA_FIXED_MAX bytes, no NUL; returns how many. */
#define JAVA_FIXED_MAX 330
size_t java_format_fixed(double d, char *out);

/* The order in which java.util.HashMap lists texts: OpenTSDB keeps the
 * variables of an expression in such maps, and which of them names the tags of
 * a result depends on it. */

/* A map made for so many entries, of Java's default size otherwise. */
#define JAVA_DEFAULT_SIZE 16

#define JAVA_ORDER_MAX 1024

/* 'order' lists 'len' indices of 'names' as they are put into a map that was
 * made with 'initial' as its size; it becomes how the map lists them.  There
 * are at most JAVA_ORDER_MAX. */
void java_order(const struct slice *names, size_t initial, size_t *order,
                size_t len);
/* The same of any number, by java_map_hash() of each, which move along.  Within
 * a bucket they stay as they came; there are few. */
void java_order_hashed(uint32_t *hashes, size_t initial, size_t *order,
                       size_t len);

/* Of the 'picked' indices of 'names', one at least, that which a HashSet made
 * of all 'names_len' lists first. */
size_t java_set_first(const struct slice *names, size_t names_len,
                      const size_t *picked, size_t len);
