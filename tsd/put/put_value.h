/* Numbers in puts, read as OpenTSDB reads them: integers by a parser of its
 * own, everything with a point or an exponent as Java's Double.parseDouble
 * does (blanks around it, a suffix f or d, hexadecimal).  The texts of the
 * failures are OpenTSDB's too, since people and programs look at them.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "storage/block/point.h"

/* The last second that a point may have, and the last millisecond. */
#define PUT_MAX_SECONDS INT64_C(4294967295)

/* False with a sentence appended to 'why' (which may be NULL). 's' is UTF-8. */
bool put_parse_long(struct slice s, int64_t *out, struct buf *why);

/* As Java's Double.parseDouble, without its NaN and Infinity; an overflow gives
 * an infinity. */
bool put_parse_double(struct slice s, double *out, struct buf *why);

/* Returns whether the line begins with blanks or has blanks next to each other,
 * and they may be skipped. They may not if the word in place of the value,
 * 'value_at' words after the first, is a tag: then a word before it is missing.
 */
bool put_may_skip_blanks(struct slice line, size_t value_at);

/* Reads the time of a line or of a JSON text: an integer as it is, and
 * "1356998400.5", seconds with 1 to 3 decimals, as milliseconds. */
bool put_parse_time(struct slice s, int64_t *out, struct buf *why);

/* A value: an integer, or a double when there is a '.', 'e' or 'E' in it. An
 * overflow of a double gives an infinity: see put_value_is_finite(). */
bool put_parse_value(struct slice s, struct point *out, struct buf *why);

/* Reads an integer or a decimal of few digits, which most values are, from
 * '*at' and steps over it: false, and '*at' anywhere, for all else.  The caller
 * looks at what follows. */
bool put_take_plain_value(const uint8_t **at, const uint8_t *end,
                          struct point *out);

bool put_value_is_finite(const struct point *p);

/* OpenTSDB's rule: what fits into 32 bits is seconds, all else milliseconds.
 * False past PUT_MAX_SECONDS and its milliseconds. 'time' is above 0. */
bool put_time_to_ms(int64_t time, int64_t *ms);

/* "[64, -32]": bytes as Java prints them. */
void put_bytes_print(struct buf *out, struct slice bytes);

/* Writes the bytes of the cell that OpenTSDB would have stored; returns how
 * many: 1, 2, 4 or 8.  'narrow' as below. */
unsigned put_value_cell(const struct point *p, bool narrow, uint8_t out[8]);

/* "[64, 32, 0, 0]/11": a value as OpenTSDB would have put it into a cell, which
 * is how it names it in one of its messages.  'narrow': telnet stores doubles
 * that fit into 32 bits so, /api/put does not. */
void put_value_print(struct buf *out, const struct point *p, bool narrow);
