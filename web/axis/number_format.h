/* Numbers as texts: of axes and keys, and as a client's format wants them.  No
 * text of a client ever is a format of printf().
 *
 * Owns:    nothing; a format lends the text that it was parsed from.
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define NUMBER_FORMAT_BYTES 64 /* of a format */
#define NUMBER_LABEL_MAX    160

/* What NUMBER_FORMAT_HELP says. */
struct number_format {
    struct slice before, between, after;
    char letter;     /* f, e, g, s */
    int digits;      /* behind the point; of g in all */
    bool has_prefix; /* "%c" stands between 'between' and 'after' */
};

#define NUMBER_FORMAT_HELP                                                 \
    "text with one number, %f %e %g, with digits %.2f, or scaled %s with " \
    "its prefix %c: '%.1s %cB'; %% is a percent sign"

/* ST_INVALID, without a text: the caller knows its name. */
MUST_CHECK enum status number_format_parse(struct slice text,
                                           struct number_format *out);

void number_format_write(const struct number_format *f, double v,
                         char out[NUMBER_LABEL_MAX]);

/* A tick of an axis whose ticks are 'step' apart and at most 'largest', so that
 * all of them have one prefix and as many digits as they need: "2.5M". */
void number_tick(double v, double step, double largest,
                 char out[NUMBER_LABEL_MAX]);

/* Four digits, with a prefix where that is shorter: "1.234k", "0.5". */
void number_short(double v, char out[NUMBER_LABEL_MAX]);
