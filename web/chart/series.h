/* A series of a chart, and what is said of its values.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chart_series {
    const char *name;
    const int64_t *ts_ms; /* ascending, within the chart's range */
    const double *v;      /* NaN and infinities: the line breaks */
    size_t len;
    bool is_right;   /* of the second axis */
    bool is_partial; /* the last point may change: the line to it is dotted */
};

/* The distance from which on two points of the series have a gap between them:
 * 2.5 times the usual one, the median of some.  Infinite where none is usual.
 */
double series_gap_ms(const struct chart_series *s);

struct series_numbers {
    size_t len; /* of the values that are numbers; 0: the others mean nothing */
    double min, avg, max, last;
};

struct series_numbers series_numbers_of(const struct chart_series *s);
