/* The insides of gexp: functions, and the series that they take and make.
 *
 *     gexp_parse.c     text -> nodes
 *     gexp.c           nodes, one after the other -> groups
 *     gexp_simple.c    functions of each series by itself
 *     gexp_highest.c   functions that choose series
 *     gexp_combine.c   arithmetic of several series
 *
 * Threads: owner. */
#pragma once

#include "query/exp/gexp.h"
#include "query/exp/join.h"

/* A call: its arguments that are series, and its parameters. */
struct gexp_call {
    const struct gexp_function *function;
    const struct query *q;
    struct arena *arena;
    struct deadline *deadline;
    const struct exp_list *lists;
    size_t lists_len;
    const struct slice *params;
    size_t params_len;
};

/* '*out' has all series of all lists, to be changed; what their points are in
 * is not the call's own: gexp_own_points(). */
typedef enum status gexp_run_function(const struct gexp_call *c,
                                      struct exp_list *out, struct error *e);

gexp_run_function gexp_absolute;
gexp_run_function gexp_alias;
gexp_run_function gexp_moving_average;
gexp_run_function gexp_scale;
gexp_run_function gexp_shift;
gexp_run_function gexp_highest; /* variant 0: current, 1: max */
gexp_run_function gexp_combine; /* variant: the operator's character */

struct gexp_function {
    const char *name;
    gexp_run_function *run;
    int variant;
    const char *missing; /* the error without a parameter; NULL: takes none */
};

/* NULL when there is none of that name. */
const struct gexp_function *gexp_find_function(struct slice name);

/* Checks that the parameter is there, and runs the function.  The deadline
 * ticks as for one pass over the points. */
MUST_CHECK enum status gexp_call(const struct gexp_call *c,
                                 struct exp_list *out, struct error *e);

enum gexp_arg_kind { ARG_METRIC, ARG_NODE, ARG_PARAM };

struct gexp_arg {
    enum gexp_arg_kind kind;
    size_t index; /* of a metric or a node */
    struct slice text;
};

struct gexp_node {
    const struct gexp_function *function;
    struct gexp_arg *args;
    size_t args_len;
};

/* -- what functions share -------------------------------------------------- */

/* A copy of the points of each series in its place. */
MUST_CHECK enum status gexp_own_points(const struct gexp_call *c,
                                       struct exp_list *l, struct error *e);

static inline void
gexp_put_double(struct dps *d, size_t i, int64_t ts_ms, double v)
{
    d->ts_ms[i] = ts_ms;
    d->v[i].d = v;
    d->kind[i] = DP_DOUBLE;
}

/* A number of 32 bits, as Java's Integer has it. */
bool gexp_parse_int(struct slice digits, int64_t *out);
/* Nothing but digits; 'what' is what the error says before the text. */
MUST_CHECK enum status gexp_parse_count(struct slice text, const char *what,
                                        int64_t *out, struct error *e);
