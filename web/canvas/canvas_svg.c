/* A canvas of SVG, written as it is drawn.  Texts stay texts: to be searched,
 * read aloud, and shown in the font of who looks; so their widths are guessed.
 */
#include "web/canvas/canvas_priv.h"

#include <math.h>

#include "base/obj.h"
#include "base/text/number.h"
#include "base/utf8.h"

struct svg {
    struct canvas canvas;
    unsigned clips; /* how many there were */
    bool is_clipped;
};

static const struct canvas_ops svg_ops;

static void
put_escaped(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            buf_put_str(b, "&lt;");
            break;
        case '&':
            buf_put_str(b, "&amp;");
            break;
        case '>':
            buf_put_str(b, "&gt;");
            break;
        default:
            buf_put_u8(b, (uint8_t)*text);
        }
}

enum status
canvas_new_svg(const struct canvas_size *size, const char *title,
               struct buf *bytes, struct arena *a, struct canvas **out,
               struct error *e)
{
    struct svg *s = arena_array(a, 1, sizeof *s);

    if (s == NULL)
        return error_no_memory(e);
    s->canvas = (struct canvas){ CANVAS_MAGIC, &svg_ops, *size, bytes };
    buf_printf(bytes,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
               "height=\"%.0f\" viewBox=\"0 0 %u %u\" role=\"img\" "
               "font-family=\"DejaVu Sans,Verdana,sans-serif\" "
               "stroke-linejoin=\"bevel\">\n",
               size->width * size->scale, size->height * size->scale,
               size->width, size->height);
    if (title != NULL) {
        buf_put_str(bytes, "<title>");
        put_escaped(bytes, title);
        buf_put_str(bytes, "</title>\n");
    }
    *out = &s->canvas;
    return ST_OK;
}

/* With one digit behind the point, or none; most of a picture's bytes. */
static void
put_number(struct buf *b, double v)
{
    char text[NUMBER_TEXT_MAX];
    long tenths = lround(v * 10);
    size_t size;

    if (tenths < 0)
        buf_put_u8(b, '-');
    tenths = labs(tenths);
    size = number_format_i64(tenths / 10, text);
    if (tenths % 10 != 0) {
        text[size++] = '.';
        text[size++] = (char)('0' + tenths % 10);
    }
    buf_put(b, text, size);
}

static void
put_point(struct buf *b, char op, const struct vertex *v)
{
    buf_put_u8(b, (uint8_t)op);
    put_number(b, v->x);
    buf_put_u8(b, ' ');
    put_number(b, v->y);
}

static void
put_path(struct buf *b, const struct path *p)
{
    const struct vertex *v = p->vertices;

    buf_put_str(b, "<path d=\"");
    for (size_t i = 0; i < p->len; i++)
        switch (v[i].op) {
        case PATH_MOVE:
            put_point(b, 'M', &v[i]);
            break;
        case PATH_LINE:
            put_point(b, 'L', &v[i]);
            break;
        case PATH_CURVE:
            put_point(b, 'C', &v[i]);
            put_point(b, ' ', &v[i + 1]);
            put_point(b, ' ', &v[i + 2]);
            i += 2;
            break;
        }
    buf_put_u8(b, '"');
}

static void
put_ink(struct buf *b, const char *what, struct ink ink)
{
    buf_printf(b, " %s=\"#%06x\"", what, ink.rgb);
    if (ink.alpha < 1)
        buf_printf(b, " %s-opacity=\"%.2g\"", what, ink.alpha);
}

static void
svg_stroke(struct canvas *c, const struct path *p, const struct pen *pen)
{
    struct buf *b = c->bytes;

    put_path(b, p);
    buf_put_str(b, " fill=\"none\"");
    put_ink(b, "stroke", pen->ink);
    if (pen->width != 1)
        buf_printf(b, " stroke-width=\"%.3g\"", pen->width);
    if (pen->on > 0)
        buf_printf(b, " stroke-dasharray=\"%.3g %.3g\"", pen->on, pen->off);
    else if (pen->width > 1)
        buf_put_str(b, " stroke-linecap=\"round\"");
    buf_put_str(b, "/>\n");
}

static void
svg_fill(struct canvas *c, const struct path *p, struct ink ink)
{
    struct buf *b = c->bytes;

    put_path(b, p);
    put_ink(b, "fill", ink);
    buf_put_str(b, "/>\n");
}

static void
svg_dots(struct canvas *c, const struct path *centres, double radius,
         bool is_filled, struct ink ink)
{
    struct buf *b = c->bytes;

    if (is_filled) { /* lines without length, with round ends */
        buf_put_str(b, "<path d=\"");
        for (size_t i = 0; i < centres->len; i++) {
            put_point(b, 'M', &centres->vertices[i]);
            buf_put_str(b, "h0");
        }
        buf_put_u8(b, '"');
        put_ink(b, "stroke", ink);
        buf_printf(b, " stroke-width=\"%.3g\" stroke-linecap=\"round\"/>\n",
                   2 * radius);
        return;
    }
    buf_put_str(b, "<g fill=\"none\"");
    put_ink(b, "stroke", ink);
    buf_put_str(b, ">\n");
    for (size_t i = 0; i < centres->len; i++) {
        buf_put_str(b, "<circle cx=\"");
        put_number(b, centres->vertices[i].x);
        buf_put_str(b, "\" cy=\"");
        put_number(b, centres->vertices[i].y);
        buf_printf(b, "\" r=\"%.3g\"/>\n", radius);
    }
    buf_put_str(b, "</g>\n");
}

static void
svg_clip(struct canvas *c, const struct box *box)
{
    struct svg *s = (struct svg *)c;

    if (s->is_clipped)
        buf_put_str(c->bytes, "</g>\n");
    s->is_clipped = box != NULL;
    if (box == NULL)
        return;
    s->clips++;
    buf_printf(c->bytes,
               "<clipPath id=\"c%u\"><rect x=\"%.1f\" y=\"%.1f\" "
               "width=\"%.1f\" height=\"%.1f\"/></clipPath>\n"
               "<g clip-path=\"url(#c%u)\">\n",
               s->clips, box->x, box->y, box->w, box->h, s->clips);
}

static void
svg_text(struct canvas *c, const char *text, double x, double y,
         const struct text_style *style)
{
    static const char *const anchors[] = {
        [TEXT_START] = "",
        [TEXT_MIDDLE] = " text-anchor=\"middle\"",
        [TEXT_END] = " text-anchor=\"end\"",
    };
    struct buf *b = c->bytes;

    if (style->upwards)
        buf_printf(b, "<text transform=\"translate(%.1f %.1f)rotate(-90)\"", x,
                   y);
    else
        buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    buf_printf(b, " font-size=\"%.3g\"%s%s", style->size,
               anchors[style->anchor],
               style->bold ? " font-weight=\"bold\"" : "");
    put_ink(b, "fill", style->ink);
    buf_put_u8(b, '>');
    put_escaped(b, text);
    buf_put_str(b, "</text>\n");
}

/* In units of the size, as DejaVu Sans has them, which is a wide one. */
static double
letter_width(uint32_t letter)
{
    if (letter >= 0x80)
        return letter >= 0x1100 ? 1 : 0.65;
    if (strchr("iljI'|", (int)letter) != NULL)
        return 0.3;
    if (strchr(" .,:;!()[]-ft/r", (int)letter) != NULL)
        return 0.4;
    if (strchr("mwMWGOQ%@+=<>~^#&", (int)letter) != NULL)
        return 0.9;
    return letter >= 'A' && letter <= 'Z' ? 0.7 : 0.64;
}

static double
svg_text_width(struct canvas *c, const char *text,
               const struct text_style *style)
{
    struct slice rest = slice_str(text);
    double width = 0;

    while (rest.size > 0)
        width += letter_width(utf8_take(&rest));
    return ceil(width * style->size * (style->bold ? 1.1 : 1));
}

static enum status
svg_finish(struct canvas *c, struct error *e)
{
    (void)e;
    canvas_clip(c, NULL);
    buf_put_str(c->bytes, "</svg>\n");
    return ST_OK;
}

static void
svg_free(struct canvas *c)
{
    (void)c; /* all is the arena's */
}

static const struct canvas_ops svg_ops = {
    .stroke = svg_stroke,
    .fill = svg_fill,
    .dots = svg_dots,
    .clip = svg_clip,
    .text = svg_text,
    .text_width = svg_text_width,
    .finish = svg_finish,
    .free = svg_free,
};
