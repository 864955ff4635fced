#include "web/canvas/path.h"

#include <math.h>

/* Of one column: first, lowest, highest, last. */
#define COLUMN_VERTICES 4
/* A line that is curved has two more. */
#define CURVE_VERTICES 3

bool
path_alloc(struct path *p, size_t columns, struct arena *a)
{
    size_t cap = (columns + 2) * COLUMN_VERTICES * CURVE_VERTICES;

    *p = (struct path){ .vertices = arena_array(a, cap, sizeof p->vertices[0]),
                        .cap = cap };
    return p->vertices != NULL;
}

void
path_clear(struct path *p)
{
    p->len = 0;
}

void
path_add(struct path *p, enum path_op op, double x, double y)
{
    if (p->len < p->cap)
        p->vertices[p->len++] = (struct vertex){ x, y, op };
}

struct pencil
pencil_new(struct path *p, double scale)
{
    path_clear(p);
    return (struct pencil){ .path = p, .columns = scale };
}

static void
draw_column(struct pencil *n)
{
    path_add(n->path, n->is_down ? PATH_LINE : PATH_MOVE, n->x, n->first);
    if (n->low < n->first || n->high > n->first) {
        path_add(n->path, PATH_LINE, n->x, n->high);
        path_add(n->path, PATH_LINE, n->x, n->low);
        path_add(n->path, PATH_LINE, n->x, n->last);
    }
    n->is_down = true;
}

void
pencil_point(struct pencil *n, double x, double y, bool lift)
{
    double column = floor(x * n->columns);

    if (n->has_column && column == n->column) {
        n->low = fmin(n->low, y);
        n->high = fmax(n->high, y);
        n->last = y;
        n->is_thinned = true;
        return;
    }
    if (n->has_column)
        draw_column(n);
    if (lift)
        n->is_down = false;
    n->has_column = true;
    n->column = column;
    n->x = x;
    n->first = n->low = n->high = n->last = y;
}

void
pencil_end(struct pencil *n)
{
    if (n->has_column)
        draw_column(n);
    n->has_column = n->is_down = false;
}

bool
path_is_alone(const struct path *p, size_t i)
{
    return p->vertices[i].op == PATH_MOVE &&
           (i + 1 == p->len || p->vertices[i + 1].op == PATH_MOVE);
}

/* Steffen's slope at 'b': that of the parabola through three points, as far as
 * it makes no hill or valley between them. */
static double
slope(const struct vertex *a, const struct vertex *b, const struct vertex *c)
{
    double h0 = b->x - a->x, h1 = c->x - b->x;
    double s0 = (b->y - a->y) / h0, s1 = (c->y - b->y) / h1;
    double p = (s0 * h1 + s1 * h0) / (h0 + h1);

    if (s0 * s1 <= 0)
        return 0;
    return copysign(fmin(fmin(fabs(s0), fabs(s1)), fabs(p) / 2) * 2, p);
}

static bool
is_line(const struct path *p, size_t i)
{
    return i > 0 && i < p->len && p->vertices[i].op == PATH_LINE &&
           p->vertices[i].x > p->vertices[i - 1].x;
}

/* From behind, so that nothing is overwritten before it is read: a line turns
 * into three vertices. */
void
path_curve(struct path *p)
{
    struct vertex *v = p->vertices;
    size_t lines = 0, to;

    for (size_t i = 0; i < p->len; i++)
        lines += is_line(p, i);
    to = p->len + 2 * lines;
    if (to > p->cap)
        return;
    for (size_t i = p->len, end = to; i-- > 0;) {
        struct vertex b = v[i], a = i > 0 ? v[i - 1] : b;
        double h = (b.x - a.x) / 3, at_a, at_b;

        if (!is_line(p, i)) {
            v[--end] = b;
            continue;
        }
        at_a = is_line(p, i - 1) ? slope(&v[i - 2], &v[i - 1], &v[i])
                                 : (b.y - a.y) / (b.x - a.x);
        at_b = (b.y - a.y) / (b.x - a.x);
        if (b.op == PATH_LINE && end < to && v[end].op == PATH_CURVE)
            at_b = (v[end].y - b.y) / (v[end].x - b.x);
        v[--end] = (struct vertex){ b.x, b.y, PATH_CURVE };
        v[--end] = (struct vertex){ b.x - h, b.y - h * at_b, PATH_CURVE };
        v[--end] = (struct vertex){ a.x + h, a.y + h * at_a, PATH_CURVE };
    }
    p->len = to;
}
