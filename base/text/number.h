/* Numbers as text, both ways.
 *
 * Threads: any. */
#pragma once

#include "base/slice.h"

#define NUMBER_TEXT_MAX 32

/* Digits only, no sign; false on none, on others, and past UINT64_MAX. */
bool number_parse_u64(struct slice s, uint64_t *out);

/* An optional sign and digits; false past 64 bits. */
bool number_parse_i64(struct slice s, int64_t *out);

/* Reads a time in seconds with a fraction, "1518799516.5", as queries, puts and
 * imports accept it: 1 to 10 digits, a point, and 1 to 3 digits, which are
 * tenths, hundredths or thousandths.  'ms' becomes milliseconds.  Returns false
 * for everything else. */
bool number_parse_seconds(struct slice s, int64_t *ms);

/* Decimal text with point and exponent (no hex, NaN, Infinity, suffix, blanks);
 * correctly rounded.  An overflow gives an infinity and true. */
bool number_parse_double(struct slice s, double *out);

/* Writes at most NUMBER_TEXT_MAX bytes, no NUL; returns how many. */
size_t number_format_i64(int64_t v, char *out);

/* As Java's Double.toString: shortest digits that read back as 'v' ("1.0",
 * "1.0E10" from 1e7 up, "1.0E-4" below 1e-3, "-0.0"), "NaN", "Infinity". */
size_t number_format_double(double v, char *out);

/* As Java's Float.toString: the shortest digits that read back as the float. */
size_t number_format_float(float v, char *out);
