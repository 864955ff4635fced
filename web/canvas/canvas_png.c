/* A canvas of pixels: cairo's, with its own text, not Pango's. */
#include "web/canvas/canvas_priv.h"

#include <math.h>

#include "base/obj.h"
#include "web/canvas/libcairo.h"

struct png {
    struct canvas canvas;
    cairo_surface_t *surface;
    cairo_t *cr;
    cairo_font_face_t *plain, *bold;
};

static const struct canvas_ops png_ops;

enum status
canvas_new_png(const struct canvas_size *size, struct buf *bytes,
               struct arena *a, struct canvas **out, struct error *e)
{
    int width = (int)lround(size->width * size->scale);
    int height = (int)lround(size->height * size->scale);
    enum status st = libcairo_load(e);
    uint8_t *pixels = NULL;
    struct png *p;
    int stride;

    if (st != ST_OK)
        return st;
    p = arena_array(a, 1, sizeof *p);
    stride = libcairo.format_stride_for_width(CAIRO_FORMAT_ARGB32, width);
    if (stride > 0)
        pixels = arena_array(a, (size_t)height, (size_t)stride);
    if (p == NULL || pixels == NULL)
        return error_no_memory(e);
    p->canvas = (struct canvas){ CANVAS_MAGIC, &png_ops, *size, bytes };
    p->surface = libcairo.image_surface_create_for_data(
        pixels, CAIRO_FORMAT_ARGB32, width, height, stride);
    p->cr = libcairo.create(p->surface);
    p->plain = libcairo.toy_font_face_create(
        "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    p->bold = libcairo.toy_font_face_create(
        "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    libcairo.scale(p->cr, size->scale, size->scale);
    libcairo.set_line_join(p->cr, CAIRO_LINE_JOIN_BEVEL);
    *out = &p->canvas;
    return ST_OK;
}

static cairo_t *
cairo_of(struct canvas *c)
{
    return ((struct png *)c)->cr;
}

static void
set_ink(cairo_t *cr, struct ink ink)
{
    libcairo.set_source_rgba(cr, (ink.rgb >> 16 & 255) / 255.0,
                             (ink.rgb >> 8 & 255) / 255.0,
                             (ink.rgb & 255) / 255.0, ink.alpha);
}

static void
set_path(cairo_t *cr, const struct path *p)
{
    const struct vertex *v = p->vertices;

    libcairo.new_path(cr);
    for (size_t i = 0; i < p->len; i++)
        switch (v[i].op) {
        case PATH_MOVE:
            libcairo.move_to(cr, v[i].x, v[i].y);
            break;
        case PATH_LINE:
            libcairo.line_to(cr, v[i].x, v[i].y);
            break;
        case PATH_CURVE:
            libcairo.curve_to(cr, v[i].x, v[i].y, v[i + 1].x, v[i + 1].y,
                              v[i + 2].x, v[i + 2].y);
            i += 2;
            break;
        }
}

static void
png_stroke(struct canvas *c, const struct path *p, const struct pen *pen)
{
    cairo_t *cr = cairo_of(c);
    double dashes[] = { pen->on, pen->off };

    set_path(cr, p);
    set_ink(cr, pen->ink);
    libcairo.set_line_width(cr, pen->width);
    libcairo.set_line_cap(cr, pen->on > 0 || pen->width <= 1
                                  ? CAIRO_LINE_CAP_BUTT
                                  : CAIRO_LINE_CAP_ROUND);
    libcairo.set_dash(cr, dashes, pen->on > 0 ? 2 : 0, 0);
    libcairo.stroke(cr);
}

static void
png_fill(struct canvas *c, const struct path *p, struct ink ink)
{
    cairo_t *cr = cairo_of(c);

    set_path(cr, p);
    set_ink(cr, ink);
    libcairo.fill(cr);
}

static void
png_dots(struct canvas *c, const struct path *centres, double radius,
         bool is_filled, struct ink ink)
{
    cairo_t *cr = cairo_of(c);

    set_ink(cr, ink);
    libcairo.set_line_width(cr, 1);
    libcairo.set_dash(cr, NULL, 0, 0);
    for (size_t i = 0; i < centres->len; i++) {
        const struct vertex *v = &centres->vertices[i];

        libcairo.new_path(cr);
        if (radius < 1)
            libcairo.rectangle(cr, v->x - radius, v->y - radius, 2 * radius,
                               2 * radius);
        else
            libcairo.arc(cr, v->x, v->y, radius, 0, 2 * M_PI);
        if (is_filled)
            libcairo.fill(cr);
        else
            libcairo.stroke(cr);
    }
}

static void
png_clip(struct canvas *c, const struct box *b)
{
    cairo_t *cr = cairo_of(c);

    libcairo.reset_clip(cr);
    if (b == NULL)
        return;
    libcairo.rectangle(cr, b->x, b->y, b->w, b->h);
    libcairo.clip(cr);
}

static double
png_text_width(struct canvas *c, const char *text,
               const struct text_style *style)
{
    cairo_text_extents_t e;
    struct png *p = (struct png *)c;

    libcairo.set_font_face(p->cr, style->bold ? p->bold : p->plain);
    libcairo.set_font_size(p->cr, style->size);
    libcairo.text_extents(cairo_of(c), text, &e);
    return ceil(e.x_advance);
}

static void
png_text(struct canvas *c, const char *text, double x, double y,
         const struct text_style *style)
{
    cairo_t *cr = cairo_of(c);
    double width = png_text_width(c, text, style);
    double back = style->anchor == TEXT_START    ? 0
                  : style->anchor == TEXT_MIDDLE ? width / 2
                                                 : width;

    set_ink(cr, style->ink);
    libcairo.save(cr);
    libcairo.translate(cr, floor(x), floor(y));
    if (style->upwards)
        libcairo.rotate(cr, -M_PI / 2);
    libcairo.move_to(cr, -floor(back), 0);
    libcairo.show_text(cr, text);
    libcairo.restore(cr);
}

static cairo_status_t
append(void *to, const unsigned char *bytes, unsigned size)
{
    struct buf *b = to;

    buf_put(b, bytes, size);
    return b->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static enum status
png_finish(struct canvas *c, struct error *e)
{
    struct png *p = (struct png *)c;
    cairo_status_t rc = libcairo.status(p->cr);

    libcairo.surface_flush(p->surface);
    if (rc == CAIRO_STATUS_SUCCESS)
        rc = libcairo.surface_status(p->surface);
    if (rc == CAIRO_STATUS_SUCCESS)
        rc = libcairo.surface_write_to_png_stream(p->surface, append, c->bytes);
    if (rc == CAIRO_STATUS_SUCCESS || c->bytes->failed)
        return ST_OK; /* canvas_finish() looks at the bytes */
    return error_set(e, rc == CAIRO_STATUS_NO_MEMORY ? ST_LIMIT : ST_IO,
                     "draw a picture of %u x %u: %s", c->size.width,
                     c->size.height, libcairo.status_to_string(rc));
}

static void
png_free(struct canvas *c)
{
    struct png *p = (struct png *)c;

    libcairo.destroy(p->cr);
    libcairo.font_face_destroy(p->plain);
    libcairo.font_face_destroy(p->bold);
    libcairo.surface_destroy(p->surface);
}

static const struct canvas_ops png_ops = {
    .stroke = png_stroke,
    .fill = png_fill,
    .dots = png_dots,
    .clip = png_clip,
    .text = png_text,
    .text_width = png_text_width,
    .finish = png_finish,
    .free = png_free,
};
