/* What the parsers of queries share.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "query/parse/parse.h"

/* text_split() as Java's String.split(): empty texts at the end do not count,
 * but a text without any separator is one part, even if empty. */
MUST_CHECK enum status parse_split(struct slice text, char separator,
                                   struct arena *a, struct slice **parts,
                                   size_t *len, struct error *e);

/* A decimal number of 64 bits; 'why' is OpenTSDB's words for what is wrong. */
MUST_CHECK enum status parse_long(struct slice text, int64_t *out,
                                  struct error *why);

/* Case of ASCII is ignored. */
bool parse_starts(struct slice text, const char *prefix);

/* Position of a byte, or the size. */
size_t parse_find(struct slice text, char c);

/* One of ROLLUP_..., whatever was asked for. */
struct slice parse_rollup_usage(struct slice text);

/* Ascending. */
void parse_sort_doubles(double *v, size_t len);
