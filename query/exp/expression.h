/* Expressions of /api/query/exp: "a + b / 2 > 10 ? a : 0.5".  A formula over
 * doubles, read once, computed for each timestamp of each series.
 *
 *     ?: (right)   ||   &&   |   ^   &   == !=   < > <= >=   + -   * / %
 *     - ~ ! (before a value)   ( )   names   numbers   true false null
 *     words: or and eq ne lt gt le ge div mod not
 *
 * It computes as Apache Commons JEXL 2.1 does, oddities too: docs/PROTOCOL.md,
 * "Expressions".  Of JEXL's statements, functions, texts and lists there are
 * none.
 *
 * Owns:    everything lies in the arena that it was parsed into.
 * Threads: frozen once parsed.
 * Bounds:  EXPRESSION_SIZE_MAX bytes, EXPRESSION_NAMES_MAX names,
 *          EXPRESSION_DEPTH_MAX values held at once.
 * Fails:   ST_INVALID; ST_LIMIT past the bounds or the arena. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#define EXPRESSION_SIZE_MAX  8192
#define EXPRESSION_NAMES_MAX 1024
#define EXPRESSION_DEPTH_MAX 200

struct expression; /* opaque */

MUST_CHECK enum status expression_parse(struct slice text, struct arena *a,
                                        struct expression **out,
                                        struct error *e);

/* The names in it, each once, in the order in which they come. */
const struct slice *expression_names(const struct expression *x, size_t *len);

/* How many operations it takes, at most. */
size_t expression_steps(const struct expression *x);

/* 'values' are those of the names.  A truth is 1 or 0; a result that is neither
 * a double nor a truth is rejected, as OpenTSDB does. */
MUST_CHECK enum status expression_run(const struct expression *x,
                                      const double *values, double *out,
                                      struct error *e);
