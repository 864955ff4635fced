/*
 * What the parsers of queries share.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef QUERY_PARSE_PARSE_PRIV_H
#define QUERY_PARSE_PARSE_PRIV_H

#include "query/parse/parse.h"

/* The answer when the arena is at its cap. */
enum status parse_no_room(struct error *e);

/* A message alone, or one that is its details too. */
enum status parse_fail(struct parse_error *e, enum status st);
enum status parse_fail_twice(struct parse_error *e, enum status st);

/* As Java's String.split(): empty texts at the end do not count, but a text
 * without any separator is one part, even if empty. */
MUST_CHECK enum status parse_split(struct slice text, char separator,
                                   struct arena *a, struct slice **parts,
                                   size_t *len, struct error *e);
/* Keeps all parts, as OpenTSDB's own split does. */
MUST_CHECK enum status parse_split_all(struct slice text, char separator,
                                       struct arena *a, struct slice **parts,
                                       size_t *len, struct error *e);

/* A decimal number of 64 bits; 'why' is OpenTSDB's words for what is wrong. */
MUST_CHECK enum status parse_long(struct slice text, int64_t *out,
                                  struct error *why);

/* A float as a double that prints like it: 99.9, not 99.9000015258789. */
bool parse_float(struct slice text, double *out);

/* Case of ASCII is ignored; 'lower' is in lower case. */
bool parse_starts(struct slice text, const char *lower);
bool parse_equals(struct slice text, const char *lower);

/* Position of a byte, or the size. */
size_t parse_find(struct slice text, char c);

/* One of ROLLUP_..., whatever was asked for. */
struct slice parse_rollup_usage(struct slice text);

/* The last step of both parsers: times, aggregators, downsampling, and
 * duplicates, in OpenTSDB's order. 'q' holds the texts. */
MUST_CHECK enum status query_check(struct query *q,
                                   const struct parse_options *o,
                                   struct arena *a, struct parse_error *e);

/* Do both ask the same, as OpenTSDB compares sub-queries? */
bool query_same_sub(const struct sub_query *a, const struct sub_query *b);

/* parse_time(), where the name of 'zone' may be unknown: NULL. */
MUST_CHECK enum status parse_time_in(struct slice text, int64_t now_ms,
                                     const struct timezone *zone,
                                     struct slice zone_name, int64_t *out_ms,
                                     struct error *e);

#endif
