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
#define MARGIN       14
#define KEY_MOST     0.45       /* of the height; else there is no key */
#define FLOW_GAP     14         /* between entries side by side */
#define RIGHT_MARK   " (right)" /* of series of the second axis */
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
    double mark = canvas_text_width(p->canvas, RIGHT_MARK, &plain);
    char name[NAME_BYTES], text[NAME_BYTES + sizeof RIGHT_MARK];

    canvas_line(p->canvas, x + 1, y + LINE_H / 2.0, x + SWATCH_W - 7,
                y + LINE_H / 2.0, &pen);
    (void)fit(p, s->name, width - SWATCH_W - (s->is_right ? mark : 0), name);
    (void)snprintf(text, sizeof text, "%s%s", name,
                   s->is_right ? RIGHT_MARK : "");
    canvas_text(p->canvas, text, x + SWATCH_W, y + 12, &style);
}

static double
entry_width(struct picture *p, size_t i)
{
    double right = p->c->series[i].is_right
                       ? canvas_text_width(p->canvas, RIGHT_MARK, &plain)
                       : 0;

    return SWATCH_W + right +
           canvas_text_width(p->canvas, p->c->series[i].name, &plain);
}

/* The entries side by side, in as many lines as the box has; returns how many
 * have room. */
static size_t
flow(struct picture *p, const struct box *b, bool is_drawn, size_t *lines)
{
    double x = b->x, y = b->y;
    size_t i = 0;

    for (; i < p->c->series_len && y + LINE_H <= b->y + b->h; i++) {
        double width = fmin(entry_width(p, i), b->w);

        if (x > b->x && x + width > b->x + b->w) {
            x = b->x;
            y += LINE_H;
            if (y + LINE_H > b->y + b->h)
                break;
        }
        if (is_drawn)
            draw_entry(p, i, x, y, width);
        x += width + FLOW_GAP;
    }
    *lines = (size_t)((y - b->y) / LINE_H) + (x > b->x);
    return i;
}

static size_t
hidden(const struct picture *p, size_t rows)
{
    return p->c->series_len - rows + p->c->left_out;
}

static bool
has_numbers(const struct picture *p)
{
    const struct chart_key *key = &p->c->key;

    return !key->is_inside && !key->is_horizontal &&
           p->c->width >= NUMBERS_FROM;
}

/* How many lines there are beside those of series. */
static size_t
other_lines(const struct picture *p, size_t shown)
{
    const struct chart_key *key = &p->c->key;
    bool has_head = key->common != NULL || has_numbers(p);

    return (size_t)has_head + (size_t)(hidden(p, shown) > 0);
}

void
chart_key_measure(struct picture *p)
{
    const struct chart_key *key = &p->c->key;
    struct box b = { MARGIN, 0, p->c->width - 2 * MARGIN, p->c->height * 0.3 };
    size_t lines;

    if (key->off || key->is_inside || p->c->series_len == 0)
        return;
    p->key_rows = rows_within(p, b.h);
    lines = p->key_rows;
    if (key->is_horizontal)
        p->key_rows = flow(p, &b, false, &lines);
    if (p->key_rows == 0)
        return;
    p->key_height =
        (double)(lines + other_lines(p, p->key_rows)) * LINE_H + GAP_ABOVE;
    if (p->key_height > p->c->height * KEY_MOST) {
        p->key_rows = 0;
        p->key_height = 0;
    }
}

/* Without digits that the axis is too long for: of 100 a thousandth. */
static double
rounded(const struct scale *s, double v)
{
    double unit = pow(10, floor(log10(fmax(fabs(s->lo), fabs(s->hi)))) - 5);

    return s->log || !isfinite(v / unit) || unit == 0 ? v
                                                      : round(v / unit) * unit;
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
            (void)snprintf(text, sizeof text, "-");
        else if (format != NULL)
            number_format_write(format, v[i], text);
        else
            number_short(rounded(chart_scale_of(p, s), v[i]), text);
        canvas_text(p->canvas, text, right - (NUMBERS - 1 - i) * NUMBER_W,
                    y + 12, &style);
    }
}

static void
draw_hidden(struct picture *p, size_t shown, double x, double y)
{
    const struct text_style style = { .ink = chart_ink(p, 0.6),
                                      .size = TEXT_SIZE };
    size_t more = hidden(p, shown);
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

/* How wide entries are, up to 'most': the widest, or all side by side. */
static double
entries_width(struct picture *p, size_t rows, double most)
{
    const struct chart_key *key = &p->c->key;
    double width = 0, head = 0, sum = 0;

    if (key->common != NULL)
        head = canvas_text_width(p->canvas, key->common, &plain);
    for (size_t i = 0; i < rows && fmax(width, sum) < most; i++) {
        double one = entry_width(p, i);

        width = fmax(width, one);
        sum += key->is_horizontal ? one + FLOW_GAP : 0;
    }
    return fmin(fmax(head, fmax(width, sum)), most);
}

/* What all have in common, the entries, and how many more there are; 'width' of
 * the box is that of the names. */
static enum status
draw_entries(struct picture *p, struct box b, size_t shown, struct error *e)
{
    const struct text_style faint = { .ink = chart_ink(p, 0.6),
                                      .size = TEXT_SIZE };
    const struct chart_key *key = &p->c->key;
    double right = b.x + b.w + NUMBERS * NUMBER_W;
    char name[NAME_BYTES];
    size_t lines = shown;

    if (key->common != NULL)
        canvas_text(p->canvas, fit(p, key->common, b.w, name), b.x, b.y + 12,
                    &faint);
    if (has_numbers(p)) {
        static const char *const heads[NUMBERS] = { "min", "avg", "max",
                                                    "last" };
        const struct text_style style = { .ink = chart_ink(p, 0.6),
                                          .size = TEXT_SIZE,
                                          .anchor = TEXT_END };

        for (int i = 0; i < NUMBERS; i++)
            canvas_text(p->canvas, heads[i],
                        right - (NUMBERS - 1 - i) * NUMBER_W, b.y + 12, &style);
    }
    if (key->common != NULL || has_numbers(p))
        b.y += LINE_H;
    if (key->is_horizontal)
        (void)flow(p, &b, true, &lines);
    for (size_t i = 0; i < shown && !key->is_horizontal; i++) {
        double y = b.y + (double)i * LINE_H;
        enum status st = chart_stop(p, e);

        if (st != ST_OK)
            return st;
        draw_entry(p, i, b.x, y, b.w);
        if (has_numbers(p))
            draw_numbers(p, &p->c->series[i], right, y);
    }
    draw_hidden(p, shown, b.x + SWATCH_W, b.y + (double)lines * LINE_H);
    return ST_OK;
}

static enum status
draw_inside(struct picture *p, struct error *e)
{
    const struct chart_key *key = &p->c->key;
    const struct pen frame = { chart_ink(p, 0.5), 1, 0, 0 };
    struct box b = { 0, 0, 0, p->plot.h * 0.4 }, ground;
    size_t shown = rows_within(p, b.h), lines = shown;

    b.w = entries_width(p, p->c->series_len,
                        p->plot.w * (key->is_horizontal ? 0.9 : 0.6));
    if (key->is_horizontal)
        shown = flow(p, &b, false, &lines);
    if (shown == 0)
        return ST_OK;
    ground = (struct box){
        .w = b.w + 2 * INSIDE_PAD,
        .h = (double)(lines + other_lines(p, shown)) * LINE_H + INSIDE_PAD,
    };
    ground.x = floor(p->plot.x + 8 + key->left * (p->plot.w - 16 - ground.w));
    ground.y = floor(p->plot.y + 8 + key->top * (p->plot.h - 16 - ground.h));
    canvas_rect(p->canvas, &ground, (struct ink){ p->c->ground, 0.85 });
    b.x = ground.x + INSIDE_PAD;
    b.y = ground.y + INSIDE_PAD / 2.0;
    ground.x += 0.5;
    ground.y += 0.5;
    if (key->has_frame)
        canvas_frame(p->canvas, &ground, &frame);
    return draw_entries(p, b, shown, e);
}

enum status
chart_key_draw(struct picture *p, struct error *e)
{
    if (p->key_rows > 0) {
        bool is_flow = p->c->key.is_horizontal;
        struct box b = { is_flow ? MARGIN : fmin(p->plot.x, 40), 0, 0,
                         p->c->height * 0.3 };
        double numbers = has_numbers(p) ? NUMBERS * NUMBER_W : 0;

        b.y = p->c->height - p->key_height + GAP_ABOVE / 2.0;
        b.w = p->c->width - 2 * MARGIN;
        if (!is_flow)
            b.w =
                entries_width(p, p->key_rows, p->c->width - b.x - 8 - numbers);
        return draw_entries(p, b, p->key_rows, e);
    }
    if (!p->c->key.off && p->c->key.is_inside && p->c->series_len > 0)
        return draw_inside(p, e);
    return ST_OK;
}
