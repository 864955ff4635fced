/* What the parameters of /q say about its form and its look.
 *
 * Owns:    all lies in the arena of the request.
 * Threads: any; functions of their arguments.
 * Fails:   ST_INVALID: the parameter, its value, and what it may be. */
#pragma once

#include "base/arena.h"
#include "web/chart/chart.h"
#include "web/http.h"

/* Of several that are asked for the first. */
enum graph_form {
    GRAPH_ASCII,
    GRAPH_CSV,
    GRAPH_JSON,
    GRAPH_SVG,
    GRAPH_PNG,
    GRAPH_NONE, /* none is asked for */
};

enum graph_smooth {
    SMOOTH_NONE,
    SMOOTH_CURVE,
    SMOOTH_UNIQUE,     /* of points in one second the average */
    SMOOTH_CUMULATIVE, /* the sum so far */
};

struct graph_params {
    struct chart chart; /* without range, zone, series and notes */
    struct number_format y_format, y2_format; /* the chart's */
    enum graph_smooth smooth;
    bool *is_right;      /* by the number of the sub-query */
    size_t is_right_len; /* 0: no o was given */
};

enum graph_form graph_form_of(const struct http_param *params, size_t len);

MUST_CHECK enum status graph_params_parse(const struct http_param *params,
                                          size_t len, struct arena *a,
                                          struct graph_params *out,
                                          struct error *e);
