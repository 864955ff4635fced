#include "web/chart/chart_priv.h"

#include <math.h>

#include "web/axis/time_format.h"

#define TICK_H      40 /* about, between ticks of a value axis */
#define TICKS       10 /* of a value axis, about, at most */
#define TICK_GAP    6  /* between an axis and its numbers */
#define LABEL_H     20 /* of an axis' label, which stands upright */
#define DATE_W      45 /* of half a date, and some room */
#define TIME_W      20 /* between the texts of ticks of time, at least */
#define GRID_ALPHA  0.13
#define MINOR_ALPHA 0.06
#define ZERO_ALPHA  0.35

static const struct chart_axis *
axis_of(const struct picture *p, bool is_right)
{
    return is_right ? &p->c->y2 : &p->c->y;
}

static void
widen(double v, bool log, double *lo, double *hi)
{
    if (!isfinite(v) || (log && v <= 0))
        return;
    *lo = fmin(*lo, v);
    *hi = fmax(*hi, v);
}

void
chart_scale(struct picture *p, bool is_right)
{
    const struct chart_axis *axis = axis_of(p, is_right);
    double lo = INFINITY, hi = -INFINITY;
    bool log = axis->range.log;

    for (size_t i = 0; i < p->c->series_len; i++)
        if (p->c->series[i].is_right == is_right)
            for (size_t k = 0; k < p->c->series[i].len; k++)
                widen(p->c->series[i].v[k], log, &lo, &hi);
    if (!is_right && p->c->style == CHART_STACK && lo <= hi) {
        widen(p->stack.lo, log, &lo, &hi);
        widen(p->stack.hi, log, &lo, &hi);
    }
    if (!is_right && p->c->style == CHART_AREA && lo <= hi)
        widen(0, log, &lo, &hi);
    scale_make(is_right ? &p->y2 : &p->y, lo, hi, &axis->range,
               (size_t)fmin(p->plot.h / TICK_H, TICKS));
}

static void
tick_text(const struct picture *p, bool is_right, double v,
          char out[NUMBER_LABEL_MAX])
{
    const struct chart_axis *axis = axis_of(p, is_right);
    const struct scale *s = is_right ? &p->y2 : &p->y;

    if (axis->format != NULL)
        number_format_write(axis->format, v, out);
    else if (s->log)
        number_short(v, out);
    else
        number_tick(v, s->step, fmax(fabs(s->lo), fabs(s->hi)), out);
}

double
chart_axis_width(struct picture *p, bool is_right)
{
    const struct text_style style = { .size = TEXT_SIZE };
    const struct scale *s = is_right ? &p->y2 : &p->y;
    double width = 0;
    char text[NUMBER_LABEL_MAX];

    for (size_t i = 0; i < s->ticks_len; i++) {
        tick_text(p, is_right, s->ticks[i], text);
        width = fmax(width, canvas_text_width(p->canvas, text, &style));
    }
    width += 2 * TICK_GAP;
    if (axis_of(p, is_right)->label != NULL)
        width += LABEL_H;
    return fmin(width, p->c->width / 3.0);
}

/* On the middle of a pixel: sharp. */
static double
sharp(double v)
{
    return floor(v) + 0.5;
}

static void
grid_line(struct picture *p, double y, double alpha)
{
    const struct pen pen = { chart_ink(p, alpha), 1, 0, 0 };

    canvas_line(p->canvas, p->plot.x, sharp(y), p->plot.x + p->plot.w, sharp(y),
                &pen);
}

/* 2 to 9 times the powers of ten. */
static void
draw_minor_lines(struct picture *p)
{
    const struct scale *s = &p->y;
    double low = log10(s->lo), high = log10(s->hi);

    if (!s->log || high - low > 7)
        return;
    for (int k = (int)floor(low); k <= high; k++)
        for (int i = 2; i < 10; i++) {
            double v = i * pow(10, k);

            if (v > s->lo && v < s->hi)
                grid_line(p, chart_y(p, s, v), MINOR_ALPHA);
        }
}

static void
draw_label(struct picture *p, bool is_right)
{
    const char *label = axis_of(p, is_right)->label;
    const struct text_style style = { .ink = chart_ink(p, 0.85),
                                      .size = TEXT_SIZE + 1,
                                      .anchor = TEXT_MIDDLE,
                                      .upwards = true };

    if (label != NULL)
        canvas_text(p->canvas, label, is_right ? p->c->width - 6 : 15,
                    p->plot.y + p->plot.h / 2, &style);
}

static void
draw_value_axis(struct picture *p, bool is_right)
{
    const struct scale *s = is_right ? &p->y2 : &p->y;
    double x =
        is_right ? p->plot.x + p->plot.w + TICK_GAP : p->plot.x - TICK_GAP;
    const struct text_style style = { .ink = chart_ink(p, 0.85),
                                      .size = TEXT_SIZE,
                                      .anchor =
                                          is_right ? TEXT_START : TEXT_END };
    const struct pen mark = { chart_ink(p, 0.45), 1, 0, 0 };
    char text[NUMBER_LABEL_MAX];

    if (!is_right)
        draw_minor_lines(p);
    for (size_t i = 0; i < s->ticks_len; i++) {
        double y = chart_y(p, s, s->ticks[i]);

        if (!is_right)
            grid_line(p, y, s->ticks[i] == 0 ? ZERO_ALPHA : GRID_ALPHA);
        else
            canvas_line(p->canvas, x - TICK_GAP - 4, sharp(y), x - TICK_GAP,
                        sharp(y), &mark);
        tick_text(p, is_right, s->ticks[i], text);
        canvas_text(p->canvas, text, x, y + 4, &style);
    }
    draw_label(p, is_right);
}

/* As many ticks as have room for their texts. */
static void
find_time_ticks(struct picture *p, struct time_ticks *t)
{
    const struct text_style style = { .size = TEXT_SIZE };
    size_t most = (size_t)(p->plot.w / 70);
    char text[TIME_LABEL_MAX];
    double width;

    do {
        time_ticks_find(p->c->from_ms, p->c->to_ms, p->c->zone, most, t);
        if (p->c->time_format != NULL) {
            t->format = p->c->time_format;
            t->date_format = NULL;
        }
        time_format_write(t->format, p->c->from_ms, p->c->zone, text);
        width = canvas_text_width(p->canvas, text, &style) + TIME_W;
        if (most <= 2 || (double)most * width <= p->plot.w)
            return;
        most = (size_t)fmax(2, fmin((double)(most - 1), p->plot.w / width));
    } while (true);
}

/* In the middle below a tick, but not beyond the picture. */
static void
time_text(struct picture *p, const char *text, double x, double y, double alpha)
{
    const struct text_style style = { .ink = chart_ink(p, alpha),
                                      .size = TEXT_SIZE,
                                      .anchor = TEXT_MIDDLE };
    double half = canvas_text_width(p->canvas, text, &style) / 2 + 2;

    x = fmax(fmin(x, p->c->width - half), half);
    canvas_text(p->canvas, text, x, y, &style);
}

static void
draw_time_axis(struct picture *p)
{
    const struct pen pen = { chart_ink(p, GRID_ALPHA), 1, 0, 0 };
    double bottom = p->plot.y + p->plot.h, end = 0;
    char text[TIME_LABEL_MAX], date[TIME_LABEL_MAX] = "",
                               last[TIME_LABEL_MAX] = "";
    struct time_ticks t;
    const struct text_style style = { .ink = chart_ink(p, 0.6),
                                      .size = TEXT_SIZE,
                                      .anchor = TEXT_END };
    const char *name;
    double right;

    find_time_ticks(p, &t);
    for (size_t i = 0; i < t.len; i++) {
        double x = sharp(chart_x(p, t.at_ms[i]));

        canvas_line(p->canvas, x, p->plot.y, x, bottom, &pen);
        time_format_write(t.format, t.at_ms[i], p->c->zone, text);
        time_text(p, text, x, bottom + 16, 0.85);
        if (t.date_format == NULL)
            continue;
        time_format_write(t.date_format, t.at_ms[i], p->c->zone, date);
        if (strcmp(date, last) != 0) {
            time_text(p, date, x, bottom + 30, 0.6);
            end = x + DATE_W;
        }
        memcpy(last, date, sizeof last);
    }
    /* The zone's name, where the dates leave room. */
    name = p->c->zone_name;
    right = p->plot.x + p->plot.w;
    if (name != NULL &&
        right - canvas_text_width(p->canvas, name, &style) > end)
        canvas_text(p->canvas, name, right, bottom + 30, &style);
}

void
chart_axes(struct picture *p)
{
    const struct pen pen = { chart_ink(p, 0.45), 1, 0, 0 };
    const struct box frame = { sharp(p->plot.x), sharp(p->plot.y), p->plot.w,
                               floor(p->plot.h) };

    draw_value_axis(p, false);
    if (p->has_right)
        draw_value_axis(p, true);
    draw_time_axis(p);
    canvas_frame(p->canvas, &frame, &pen);
}
