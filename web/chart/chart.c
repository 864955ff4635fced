#include "web/chart/chart_priv.h"

#include <math.h>

#include "web/chart/colour.h"

#define TITLE_SIZE  15
#define TITLE_H     36
#define MARGIN      14
#define TIME_H      38 /* two lines of times below the plot */
#define NOTE_SIZE   10
#define NOTE_H      13
#define NOTE_ROWS   3
#define NOTE_COLOUR 0xd55e00

bool
chart_is_built(void)
{
    return true;
}

struct ink
chart_ink(const struct picture *p, double alpha)
{
    return (struct ink){ p->c->ink, alpha };
}

struct ink
chart_series_ink(const struct picture *p, size_t i, double alpha)
{
    return (struct ink){ chart_colour(i, p->is_dark), alpha };
}

double
chart_x(const struct picture *p, int64_t ts_ms)
{
    return p->plot.x + p->plot.w * (double)(ts_ms - p->c->from_ms) /
                           (double)(p->c->to_ms - p->c->from_ms);
}

double
chart_y(const struct picture *p, const struct scale *s, double v)
{
    return p->plot.y + p->plot.h * (1 - scale_place(s, v));
}

const struct scale *
chart_scale_of(const struct picture *p, const struct chart_series *s)
{
    return s->is_right ? &p->y2 : &p->y;
}

enum status
chart_stop(const struct picture *p, struct error *e)
{
    return p->c->stop == NULL ? ST_OK : p->c->stop(p->c->stop_ctx, e);
}

/* The text of a note, where the line before left room; else it has none. */
static void
draw_note_text(struct picture *p, const char *text, double x, double *ends)
{
    const struct text_style style = { .ink = chart_ink(p, 0.9),
                                      .size = NOTE_SIZE };
    double width = canvas_text_width(p->canvas, text, &style);
    double right = p->plot.x + p->plot.w;
    double left = x + 4 + width > right ? x - 5 - width : x + 4;

    for (size_t row = 0; row < NOTE_ROWS; row++) {
        double y = p->plot.y + 3 + (double)row * NOTE_H;
        const struct box ground = { left - 1, y, width + 3, NOTE_H };

        if (left < ends[row] || (left < p->plot.x && row > 0))
            continue;
        canvas_rect(p->canvas, &ground, (struct ink){ p->c->ground, 0.8 });
        canvas_text(p->canvas, text, left, y + NOTE_SIZE, &style);
        ends[row] = left + width + 6;
        return;
    }
}

static void
draw_notes(struct picture *p)
{
    const struct pen pen = { { NOTE_COLOUR, 0.9 }, 1, 4, 3 };
    double ends[NOTE_ROWS] = { 0 }, last = -1;

    for (size_t i = 0; i < p->c->notes_len; i++) {
        double x = floor(chart_x(p, p->c->notes[i].ts_ms)) + 0.5;

        if (x < p->plot.x || x > p->plot.x + p->plot.w || x == last)
            continue;
        last = x;
        canvas_line(p->canvas, x, p->plot.y, x, p->plot.y + p->plot.h, &pen);
        draw_note_text(p, p->c->notes[i].text, x, ends);
    }
}

static void
draw_no_data(struct picture *p)
{
    const struct text_style style = { .ink = chart_ink(p, 0.7),
                                      .size = 18,
                                      .anchor = TEXT_MIDDLE };

    for (size_t i = 0; i < p->c->series_len; i++)
        if (p->c->series[i].len > 0)
            return;
    canvas_text(p->canvas, "No data", p->plot.x + p->plot.w / 2,
                p->plot.y + p->plot.h / 2, &style);
}

static enum status
draw(struct picture *p, struct error *e)
{
    const struct box all = { 0, 0, p->c->width, p->c->height };
    enum status st = ST_OK;
    const struct chart *c;
    double right;
    const struct text_style style = { .ink = chart_ink(p, 1),
                                      .size = TITLE_SIZE,
                                      .anchor = TEXT_MIDDLE,
                                      .bold = true };

    if (p->c->style == CHART_STACK)
        st = stack_make(p->c->series, p->c->series_len, p->arena, &p->stack, e);
    if (st == ST_OK)
        st = chart_stop(p, e);
    if (st != ST_OK)
        return st;
    if (!p->c->is_transparent)
        canvas_rect(p->canvas, &all, (struct ink){ p->c->ground, 1 });
    /* What the plot has, from outside to inside: the number of ticks depends on
     * its height, its width on the texts of the ticks. */
    c = p->c;
    for (size_t i = 0; i < c->series_len; i++)
        p->has_right |= c->series[i].is_right;
    chart_key_measure(p);
    p->plot.y = c->title == NULL ? MARGIN : TITLE_H;
    p->plot.h = fmax(20, c->height - p->plot.y - TIME_H - p->key_height);
    chart_scale(p, false);
    chart_scale(p, true);
    p->plot.x = floor(chart_axis_width(p, false));
    right = p->has_right ? chart_axis_width(p, true) : MARGIN + 4;
    p->plot.w = floor(fmax(20, c->width - p->plot.x - right));
    if (p->c->title != NULL)
        canvas_text(p->canvas, p->c->title, p->plot.x + p->plot.w / 2, 24,
                    &style);
    chart_axes(p);
    canvas_clip(p->canvas, &p->plot);
    st = chart_lines(p, e);
    if (st != ST_OK)
        return st;
    draw_notes(p);
    canvas_clip(p->canvas, NULL);
    draw_no_data(p);
    return chart_key_draw(p, e);
}

enum status
chart_draw(const struct chart *c, struct arena *a, struct buf *bytes,
           struct error *e)
{
    const struct canvas_size size = { c->width, c->height, c->scale };
    struct picture p = { .c = c, .arena = a };
    enum status st =
        c->is_svg ? canvas_new_svg(&size, c->title, bytes, a, &p.canvas, e)
                  : canvas_new_png(&size, bytes, a, &p.canvas, e);

    if (st != ST_OK)
        return st;
    /* Of a ground that is not known the ink tells. */
    p.is_dark =
        c->is_transparent ? !colour_is_dark(c->ink) : colour_is_dark(c->ground);
    st = draw(&p, e);
    if (st == ST_OK)
        st = canvas_finish(p.canvas, e);
    canvas_free(&p.canvas);
    return st;
}
