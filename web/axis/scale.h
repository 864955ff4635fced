/* The scale of a value axis: from where to where, and its ticks, 1, 2, 2.5 or 5
 * times a power of ten apart, or powers of ten.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SCALE_TICKS_MAX 48

/* What is given of an axis. */
struct scale_range {
    bool log;              /* values that are not above 0 have no place */
    bool has_min, has_max; /* else the ticks around the values */
    double min, max;
};

struct scale {
    double lo, hi; /* lo < hi; with 'log' 0 < lo */
    bool log;
    double ticks[SCALE_TICKS_MAX];
    size_t ticks_len;
    double step; /* between ticks; of a logarithmic one the least */
};

/* For values from 'lo' to 'hi'; lo > hi: there are none, and it is 0 to 10.
 * About 'want' ticks. */
void scale_make(struct scale *s, double lo, double hi,
                const struct scale_range *r, size_t want);

/* 0 at 'lo', 1 at 'hi'; not farther than 1000 from these. */
double scale_place(const struct scale *s, double v);

/* Has the value a place? */
bool scale_has(const struct scale *s, double v);
