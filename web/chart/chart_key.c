/* The legend: below the plot a table, each series with what its values were; in
 * the plot a list. */
#include "web/chart/chart_priv.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"

#define SWATCH_W     20 /* the line in the series' colour */
#define NUMBER_W     72 /* a column of numbers */
#define NUMBERS      4
#define NUMBERS_FROM 420 /* wide pictures have numbers */
#define GAP_ABOVE    10
#define INSIDE_PAD   6
#define NAME_BYTES   512

static const struct text_style plain = { .size = TEXT_SIZE };

/* Rows within a part of the picture's height. */
static size_t
rows_within(const struct picture *p, double height)
{
    size_t most = (size_t)(height / LINE_H);

    return p->c->series_len < most ? p->c->series_len : most;
}

static bool
has_table(const struct picture *p)
{
    return !p->c->key.off && !p->c->key.is_inside && p->c->series_len > 0;
}

static size_t
hidden(const struct picture *p, size_t rows)
{
    return p->c->series_len - rows + p->c->left_out;
}

void
chart_key_measure(struct picture *p)
{
    if (!has_table(p))
        return;
    p->key_rows = rows_within(p, p->c->height * 0.3);
    if (p->key_rows == 0)
        return;
    p->key_height =
        (double)(p->key_rows + 1 + (hidden(p, p->key_rows) > 0)) * LINE_H +
        GAP_ABOVE;
}

/* The name, cut where it does not fit. */
static const char *
fit(struct picture *p, const char *name, double width, char out[NAME_BYTES])
{
    size_t size = strnlen(name, NAME_BYTES - 4);

    (void)snprintf(out, NAME_BYTES, "%.*s", (int)size, name);
    while (size > 0 && canvas_text_width(p->canvas, out, &plain) > width) {
        do
            size--;
        while (size > 0 && ((uint8_t)name[size] & 0xc0) == 0x80);
        (void)snprintf(out, NAME_BYTES, "%.*s\u2026", (int)size, name);
    }
    return out;
}

static void
draw_entry(struct picture *p, size_t i, double x, double y, double width)
{
    const struct chart_series *s = &p->c->series[i];
    const struct pen pen = { chart_series_ink(p, i, 1), 3, 0, 0 };
    const struct text_style style = { .ink = chart_ink(p, 0.9),
                                      .size = TEXT_SIZE };
    char name[NAME_BYTES];

    canvas_line(p->canvas, x + 1, y + LINE_H / 2.0, x + SWATCH_W - 7,
                y + LINE_H / 2.0, &pen);
    canvas_text(p->canvas, fit(p, s->name, width - SWATCH_W, name),
                x + SWATCH_W, y + 12, &style);
}

static void
draw_numbers(struct picture *p, const struct chart_series *s, double right,
             double y)
{
    const struct text_style style = { .ink = chart_ink(p, 0.9),
                                      .size = TEXT_SIZE,
                                      .anchor = TEXT_END };
    const struct number_format *format =
        s->is_right ? p->c->y2.format : p->c->y.format;
    struct series_numbers n = series_numbers_of(s);
    const double v[NUMBERS] = { n.min, n.avg, n.max, n.last };
    char text[NUMBER_LABEL_MAX];

    for (int i = 0; i < NUMBERS; i++) {
        if (n.len == 0)
            (void)strcpy(text, "-");
        else if (format != NULL)
            number_format_write(format, v[i], text);
        else
            number_short(v[i], text);
        canvas_text(p->canvas, text, right - (NUMBERS - 1 - i) * NUMBER_W,
                    y + 12, &style);
    }
}

static void
draw_heads(struct picture *p, double x, double right, double y, double width,
           bool with_numbers)
{
    static const char *const heads[NUMBERS] = { "min", "avg", "max", "last" };
    struct text_style style = { .ink = chart_ink(p, 0.6), .size = TEXT_SIZE };
    char name[NAME_BYTES];

    if (p->c->key.common != NULL)
        canvas_text(p->canvas, fit(p, p->c->key.common, width, name), x, y + 12,
                    &style);
    style.anchor = TEXT_END;
    for (int i = 0; i < NUMBERS && with_numbers; i++)
        canvas_text(p->canvas, heads[i], right - (NUMBERS - 1 - i) * NUMBER_W,
                    y + 12, &style);
}

static void
draw_hidden(struct picture *p, size_t rows, double x, double y)
{
    const struct text_style style = { .ink = chart_ink(p, 0.6),
                                      .size = TEXT_SIZE };
    size_t more = hidden(p, rows);
    char text[96];

    if (more == 0)
        return;
    if (p->c->left_out == 0)
        (void)snprintf(text, sizeof text, "and %zu more", more);
    else
        (void)snprintf(text, sizeof text,
                       "and %zu more, of which %zu are not drawn", more,
                       p->c->left_out);
    canvas_text(p->canvas, text, x, y + 12, &style);
}

/* How wide names are, up to 'most'. */
static double
names_width(struct picture *p, size_t rows, double most)
{
    double width = 0;

    if (p->c->key.common != NULL)
        width = canvas_text_width(p->canvas, p->c->key.common, &plain);
    for (size_t i = 0; i < rows && width < most; i++)
        width = fmax(width, SWATCH_W + canvas_text_width(p->canvas,
                                                         p->c->series[i].name,
                                                         &plain));
    return fmin(width, most);
}

static enum status
draw_table(struct picture *p, struct error *e)
{
    bool with_numbers = p->c->width >= NUMBERS_FROM;
    double x = fmin(p->plot.x, 40), most = p->c->width - x - 8;
    double numbers = with_numbers ? NUMBERS * NUMBER_W : 0;
    double width = names_width(p, p->key_rows, most - numbers);
    double right = x + width + numbers;
    double y = p->c->height - p->key_height + GAP_ABOVE / 2.0;

    draw_heads(p, x, right, y, width, with_numbers);
    for (size_t i = 0; i < p->key_rows; i++) {
        enum status st = chart_stop(p, e);

        if (st != ST_OK)
            return st;
        y += LINE_H;
        draw_entry(p, i, x, y, width);
        if (with_numbers)
            draw_numbers(p, &p->c->series[i], right, y);
    }
    draw_hidden(p, p->key_rows, x + SWATCH_W, y + LINE_H);
    return ST_OK;
}

static void
draw_inside(struct picture *p)
{
    const struct chart_key *key = &p->c->key;
    size_t rows = rows_within(p, p->plot.h * 0.6);
    bool has_more = hidden(p, rows) > 0;
    double width = names_width(p, rows, p->plot.w * 0.6) + 2 * INSIDE_PAD;
    double lines = (double)rows + (key->common != NULL) + has_more;
    struct box b = { 0, 0, width, lines * LINE_H + INSIDE_PAD };
    const struct pen frame = { chart_ink(p, 0.5), 1, 0, 0 };
    const struct text_style faint = { .ink = chart_ink(p, 0.6),
                                      .size = TEXT_SIZE };
    char name[NAME_BYTES];
    double y;

    b.x = floor(p->plot.x + 8 + key->left * (p->plot.w - 16 - b.w)) + 0.5;
    b.y = floor(p->plot.y + 8 + key->top * (p->plot.h - 16 - b.h)) + 0.5;
    canvas_rect(p->canvas, &b, (struct ink){ p->c->ground, 0.85 });
    if (key->has_frame)
        canvas_frame(p->canvas, &b, &frame);
    y = b.y + INSIDE_PAD / 2.0;
    if (key->common != NULL) {
        canvas_text(p->canvas,
                    fit(p, key->common, width - 2 * INSIDE_PAD, name),
                    b.x + INSIDE_PAD, y + 12, &faint);
        y += LINE_H;
    }
    for (size_t i = 0; i < rows; i++, y += LINE_H)
        draw_entry(p, i, b.x + INSIDE_PAD, y, width - 2 * INSIDE_PAD);
    draw_hidden(p, rows, b.x + INSIDE_PAD + SWATCH_W, y);
}

enum status
chart_key_draw(struct picture *p, struct error *e)
{
    if (p->key_rows > 0)
        return draw_table(p, e);
    if (!p->c->key.off && p->c->key.is_inside && p->c->series_len > 0)
        draw_inside(p);
    return ST_OK;
}
