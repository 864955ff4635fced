/* A chart of time series: lines over a time axis, one or two value axes, a
 * legend with statistics, annotations; as PNG or as SVG, with the same code
 * (web/canvas/canvas.h).  It has never heard of a metric.
 *
 *     points -> pixels: at most first, lowest, highest, last of a column
 *     key, titles -> what is left is the plot -> ticks -> lines
 *
 * Owns:    nothing; texts, times and values are the caller's.
 * Threads: any; each draws its own.
 * Fails:   ST_LIMIT past the arena or the cap of 'bytes'; what stop() says;
 *          ST_IO where cairo fails or is not installed. */
#pragma once

#include "base/time/timezone.h"
#include "web/canvas/canvas.h"
#include "web/axis/number_format.h"
#include "web/axis/scale.h"
#include "web/chart/series.h"

#define CHART_SERIES_MAX 1000
#define CHART_SIDE_MIN   100
#define CHART_SIDE_MAX   4096
#define CHART_SCALE_MAX  2
#define CHART_PIXELS_MAX ((size_t)16 << 20)

/* The name of each in a request. */
#define CHART_STYLE_LIST(X)           \
    X(CHART_LINESPOINT, "linespoint") \
    X(CHART_POINTS, "points")         \
    X(CHART_CIRCLES, "circles")       \
    X(CHART_DOTS, "dots")             \
    X(CHART_LINE, "line")             \
    X(CHART_AREA, "area")             \
    X(CHART_STACK, "stack")

enum chart_style {
#define X(name, text) name,
    CHART_STYLE_LIST(X)
#undef X
};

struct chart_axis {
    struct scale_range range;
    const char *label;                  /* NULL: none */
    const struct number_format *format; /* NULL: ours */
};

struct chart_note {
    int64_t ts_ms;
    const char *text;
};

struct chart_key {
    bool off;
    /* In the plot, at 0 (left, top) to 1 (right, bottom) of its sides; else
     * below it, with minimum, average, maximum and last value. */
    bool is_inside;
    double left, top;
    bool has_frame, is_horizontal;
    const char *common; /* what all names have in common; NULL: nothing */
};

struct chart {
    unsigned width, height;
    double scale; /* pixels a unit of width and height: 1 to CHART_SCALE_MAX */
    bool is_svg;
    int64_t from_ms, to_ms;
    const struct timezone *zone;
    const char *zone_name;   /* NULL: not shown */
    const char *title;       /* NULL: none */
    const char *time_format; /* of the time axis: web/axis; NULL: ours */
    struct chart_axis y, y2;
    enum chart_style style;
    bool is_smooth;
    struct chart_key key;
    uint32_t ground, ink; /* 0xRRGGBB */
    bool is_transparent;  /* 'ground' is not drawn */
    const struct chart_series *series;
    size_t series_len;
    size_t left_out;                /* series that are not among these */
    const struct chart_note *notes; /* by time */
    size_t notes_len;
    /* Asked now and then, may be NULL: another status than ST_OK ends it. */
    enum status (*stop)(void *ctx, struct error *e);
    void *stop_ctx;
};

/* Was the program built with graphs (configure --without-graphs)? */
bool chart_is_built(void);

/* Appends the picture to '*bytes', whose cap bounds it.  Without series "No
 * data" stands in it. */
MUST_CHECK enum status chart_draw(const struct chart *c, struct arena *a,
                                  struct buf *bytes, struct error *e);
