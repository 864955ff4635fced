/* A chart while it is drawn: what its files share. */
#pragma once

#include "web/chart/chart.h"
#include "web/chart/stack.h"
#include "web/axis/time_ticks.h"

#define TEXT_SIZE 11
#define LINE_H    16 /* of a line of text */

struct picture {
    const struct chart *c;
    struct canvas *canvas;
    struct arena *arena;
    bool is_dark;
    bool has_right;  /* some series are of the second axis */
    struct box plot; /* what lies between the axes */
    struct scale y, y2;
    struct stack stack;
    /* Of the key below the plot; 0: it has none. */
    size_t key_rows;
    double key_height;
};

/* The chart's ink, fainter. */
struct ink chart_ink(const struct picture *p, double alpha);
struct ink chart_series_ink(const struct picture *p, size_t i, double alpha);
double chart_x(const struct picture *p, int64_t ts_ms);
double chart_y(const struct picture *p, const struct scale *s, double v);
const struct scale *chart_scale_of(const struct picture *p,
                                   const struct chart_series *s);
MUST_CHECK enum status chart_stop(const struct picture *p, struct error *e);

/* chart_axes.c: the range of the values, the room that labels take, and the
 * axes with their grid. */
void chart_scale(struct picture *p, bool is_right);
double chart_axis_width(struct picture *p, bool is_right);
void chart_axes(struct picture *p);

/* chart_lines.c: the series. */
MUST_CHECK enum status chart_lines(struct picture *p, struct error *e);

/* chart_key.c: the room below the plot that the key takes, and the key. */
void chart_key_measure(struct picture *p);
MUST_CHECK enum status chart_key_draw(struct picture *p, struct error *e);
