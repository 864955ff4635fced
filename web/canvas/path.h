/* Paths in pixels, and the pencil that makes them of points from left to right:
 * of what falls into one column of pixels the first, lowest, highest and last
 * are kept, so that a path is as long as the picture is wide, and looks as if
 * all points were in it.
 *
 * Owns:    vertices lie in the arena, and are used again after path_clear().
 * Threads: owner. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum path_op { PATH_MOVE, PATH_LINE, PATH_CURVE /* three in a row */ };

struct vertex {
    double x, y;
    enum path_op op;
};

struct path {
    struct vertex *vertices;
    size_t len, cap;
};

/* Room for what a pencil draws over 'columns' columns, curved, too; false past
 * the arena. */
bool path_alloc(struct path *p, size_t columns, struct arena *a);
void path_clear(struct path *p);
void path_add(struct path *p, enum path_op op, double x, double y);
/* Does no line begin or end at the i-th vertex? */
bool path_is_alone(const struct path *p, size_t i);

struct pencil {
    struct path *path;
    double columns; /* of pixels, in one unit of x */
    bool has_column, is_down, is_thinned, lift;
    double column, x, first, low, high, last;
};

/* Begins a path; 'scale' is how many pixels a unit has. */
struct pencil pencil_new(struct path *p, double scale);
/* 'x' does not fall; 'lift': no line leads there. */
void pencil_point(struct pencil *n, double x, double y, bool lift);
/* The last column goes into the path. */
void pencil_end(struct pencil *n);

/* Rounds the corners of a path that a pencil drew and did not thin: monotone
 * cubic curves, which go no higher and no lower than its points. */
void path_curve(struct path *p);
