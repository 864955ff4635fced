/* Series as lines, points, areas. */
#include "web/chart/chart_priv.h"

#include <math.h>

#define LINE_WIDTH   1.4
#define POINT_RADIUS 2
#define POINT_GAP    8 /* pixels between points, to be drawn on a line */
#define CHECK_POINTS ((size_t)1 << 16)

/* What is used for one series after the other. */
struct lines {
    struct path path, below;
    uint8_t *seen; /* a bit for each pixel of the plot: has a point there */
    size_t seen_size, columns;
    double scale;
};

/* -- lines ----------------------------------------------------------------- */

static void
trace(struct picture *p, struct lines *l, const struct chart_series *s,
      size_t len)
{
    const struct scale *y = chart_scale_of(p, s);
    struct pencil n = pencil_new(&l->path, l->scale);
    double gap_ms = series_gap_ms(s);
    bool lift = true;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (double)(s->ts_ms[i] - s->ts_ms[i - 1]) > gap_ms)
            lift = true;
        if (!scale_has(y, s->v[i])) {
            lift = true;
            continue;
        }
        pencil_point(&n, chart_x(p, s->ts_ms[i]), chart_y(p, y, s->v[i]), lift);
        lift = false;
    }
    pencil_end(&n);
    if (p->c->is_smooth && !n.is_thinned)
        path_curve(&l->path);
}

/* The path, and what no line leads to. */
static void
draw_path(struct picture *p, struct lines *l, size_t i)
{
    const struct pen pen = { chart_series_ink(p, i, 1), LINE_WIDTH, 0, 0 };

    canvas_stroke(p->canvas, &l->path, &pen);
    path_clear(&l->below);
    for (size_t k = 0; k < l->path.len; k++)
        if (path_is_alone(&l->path, k))
            path_add(&l->below, PATH_MOVE, l->path.vertices[k].x,
                     l->path.vertices[k].y);
    canvas_dots(p->canvas, &l->below, POINT_RADIUS, true, pen.ink);
}

static void
draw_line(struct picture *p, struct lines *l, size_t i)
{
    const struct chart_series *s = &p->c->series[i];
    bool is_partial = s->is_partial && s->len > 1;

    trace(p, l, s, s->len - is_partial);
    draw_path(p, l, i);
    if (is_partial) {
        const struct scale *y = chart_scale_of(p, s);
        size_t last = s->len - 1;
        const struct pen pen = { chart_series_ink(p, i, 1), LINE_WIDTH, 2, 3 };

        /* The way to a point that may still change. */
        if (scale_has(y, s->v[last]) && scale_has(y, s->v[last - 1]) &&
            (double)(s->ts_ms[last] - s->ts_ms[last - 1]) <= series_gap_ms(s))
            canvas_line(p->canvas, chart_x(p, s->ts_ms[last - 1]),
                        chart_y(p, y, s->v[last - 1]),
                        chart_x(p, s->ts_ms[last]), chart_y(p, y, s->v[last]),
                        &pen);
    }
}

/* -- points ---------------------------------------------------------------- */

/* Is it the first one in its pixel? */
static bool
is_new(const struct picture *p, struct lines *l, double x, double y)
{
    size_t column = (size_t)((x - p->plot.x) * l->scale);
    size_t row = (size_t)((y - p->plot.y) * l->scale);
    size_t bit = row * l->columns + column;

    if (bit / 8 >= l->seen_size || (l->seen[bit / 8] & 1u << bit % 8) != 0)
        return false;
    l->seen[bit / 8] |= (uint8_t)(1u << bit % 8);
    return true;
}

/* Some at a time, so that the path need not hold them all. */
static void
draw_points(struct picture *p, struct lines *l, size_t i, double radius,
            bool is_filled)
{
    const struct chart_series *s = &p->c->series[i];
    const struct scale *y = chart_scale_of(p, s);
    struct ink ink = chart_series_ink(p, i, 1);

    memset(l->seen, 0, l->seen_size);
    path_clear(&l->path);
    for (size_t k = 0; k < s->len; k++) {
        double at_x = chart_x(p, s->ts_ms[k]), at_y;

        if (!scale_has(y, s->v[k]))
            continue;
        at_y = chart_y(p, y, s->v[k]);
        if (at_y < p->plot.y || at_y > p->plot.y + p->plot.h ||
            !is_new(p, l, at_x, at_y))
            continue;
        path_add(&l->path, PATH_MOVE, at_x, at_y);
        if (l->path.len == l->path.cap) {
            canvas_dots(p->canvas, &l->path, radius, is_filled, ink);
            path_clear(&l->path);
        }
    }
    canvas_dots(p->canvas, &l->path, radius, is_filled, ink);
}

/* -- areas ----------------------------------------------------------------- */

/* What is filled below a line. */
struct area {
    struct ink ink;
    const int64_t *ts_ms;
    const double *v;
    const double *base; /* what lies below; NULL: the zero line */
    size_t len;
    double gap_ms; /* a longer step is a gap */
};

/* One stretch without a gap: there along its top, back along what lies below.
 */
static void
fill_stretch(struct picture *p, struct lines *l, const struct area *a,
             size_t from, size_t end)
{
    struct pencil top = pencil_new(&l->path, l->scale);
    struct pencil low = pencil_new(&l->below, l->scale);
    double floor_v = p->y.log ? p->y.lo : 0;

    for (size_t i = from; i < end; i++) {
        double x = chart_x(p, a->ts_ms[i]);
        double under = a->base == NULL ? 0 : a->base[i];

        pencil_point(&top, x, chart_y(p, &p->y, a->v[i] + under), i == from);
        under = p->y.log && !(under > 0) ? floor_v : under;
        pencil_point(&low, x, chart_y(p, &p->y, under), i == from);
    }
    pencil_end(&top);
    pencil_end(&low);
    if (p->c->is_smooth && a->base == NULL && !top.is_thinned)
        path_curve(&l->path);
    for (size_t i = l->below.len; i-- > 0;)
        path_add(&l->path, PATH_LINE, l->below.vertices[i].x,
                 l->below.vertices[i].y);
    canvas_fill(p->canvas, &l->path, a->ink);
}

static void
fill_area(struct picture *p, struct lines *l, const struct area *a)
{
    size_t from = 0;

    for (size_t i = 0; i <= a->len; i++) {
        bool has =
            i < a->len && isfinite(a->v[i]) &&
            scale_has(&p->y, a->v[i] + (a->base == NULL ? 0 : a->base[i]));
        bool gap = i < a->len && i > from &&
                   (double)(a->ts_ms[i] - a->ts_ms[i - 1]) > a->gap_ms;

        if (has && !gap)
            continue;
        if (i > from)
            fill_stretch(p, l, a, from, i);
        from = has ? i : i + 1;
    }
}

static void
draw_stacked(struct picture *p, struct lines *l, size_t i)
{
    struct stack *stack = &p->stack;
    const struct chart_series *s = &p->c->series[i];
    struct chart_series top = { .ts_ms = stack->ts_ms, .len = stack->len };
    double *sums = stack->v;

    stack_fill(stack, s);
    fill_area(p, l,
              &(struct area){ chart_series_ink(p, i, 0.45), stack->ts_ms,
                              stack->v, stack->base, stack->len,
                              fmax(series_gap_ms(s), series_gap_ms(&top)) });
    stack_add(stack);
    for (size_t k = 0; k < stack->len; k++)
        sums[k] = isfinite(sums[k]) ? stack->base[k] : NAN;
    top.v = sums;
    trace(p, l, &top, top.len);
    draw_path(p, l, i);
}

/* -- all ------------------------------------------------------------------- */

static void
draw_series(struct picture *p, struct lines *l, size_t i)
{
    const struct chart_series *s = &p->c->series[i];

    switch (p->c->style) {
    case CHART_POINTS:
        draw_points(p, l, i, POINT_RADIUS, true);
        return;
    case CHART_CIRCLES:
        draw_points(p, l, i, 3, false);
        return;
    case CHART_DOTS:
        draw_points(p, l, i, 0.8, true);
        return;
    case CHART_STACK:
        if (!s->is_right) {
            draw_stacked(p, l, i);
            return;
        }
        break;
    case CHART_AREA:
        if (!s->is_right) {
            fill_area(p, l,
                      &(struct area){ chart_series_ink(p, i, 0.18), s->ts_ms,
                                      s->v, NULL, s->len, series_gap_ms(s) });
            draw_line(p, l, i);
            return;
        }
        break;
    case CHART_LINESPOINT:
    case CHART_LINE:
        break;
    }
    draw_line(p, l, i);
    if (p->c->style == CHART_LINESPOINT &&
        (double)s->len * POINT_GAP < p->plot.w)
        draw_points(p, l, i, POINT_RADIUS, true);
}

enum status
chart_lines(struct picture *p, struct error *e)
{
    struct lines l = { .scale = p->c->scale };
    size_t columns = (size_t)(p->plot.w * l.scale) + 2;
    size_t points = 0;

    l.columns = columns;
    l.seen_size = columns * ((size_t)(p->plot.h * l.scale) + 2) / 8 + 1;
    l.seen = arena_alloc(p->arena, l.seen_size);
    if (l.seen == NULL || !path_alloc(&l.path, 2 * columns, p->arena) ||
        !path_alloc(&l.below, columns, p->arena))
        return error_no_memory(e);
    for (size_t i = 0; i < p->c->series_len; i++) {
        enum status st;

        if (p->c->series[i].len == 0)
            continue;
        draw_series(p, &l, i);
        points +=
            p->c->style == CHART_STACK ? p->stack.len : p->c->series[i].len;
        if (points < CHECK_POINTS)
            continue;
        points = 0;
        st = chart_stop(p, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}
