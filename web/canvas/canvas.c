#include "web/canvas/canvas_priv.h"

#include "base/obj.h"
#include "base/utf8.h"

#define TEXT_BYTES 1024

void
canvas_stroke(struct canvas *c, const struct path *p, const struct pen *pen)
{
    if (p->len > 0)
        c->ops->stroke(c, p, pen);
}

void
canvas_fill(struct canvas *c, const struct path *p, struct ink ink)
{
    if (p->len > 0)
        c->ops->fill(c, p, ink);
}

void
canvas_dots(struct canvas *c, const struct path *centres, double radius,
            bool is_filled, struct ink ink)
{
    if (centres->len > 0)
        c->ops->dots(c, centres, radius, is_filled, ink);
}

void
canvas_line(struct canvas *c, double x0, double y0, double x1, double y1,
            const struct pen *pen)
{
    struct vertex v[] = { { x0, y0, PATH_MOVE }, { x1, y1, PATH_LINE } };

    canvas_stroke(c, &(struct path){ v, 2, 2 }, pen);
}

static void
outline(const struct box *b, struct vertex v[5])
{
    v[0] = (struct vertex){ b->x, b->y, PATH_MOVE };
    v[1] = (struct vertex){ b->x + b->w, b->y, PATH_LINE };
    v[2] = (struct vertex){ b->x + b->w, b->y + b->h, PATH_LINE };
    v[3] = (struct vertex){ b->x, b->y + b->h, PATH_LINE };
    v[4] = (struct vertex){ b->x, b->y, PATH_LINE };
}

void
canvas_rect(struct canvas *c, const struct box *b, struct ink ink)
{
    struct vertex v[5];

    outline(b, v);
    canvas_fill(c, &(struct path){ v, 5, 5 }, ink);
}

void
canvas_frame(struct canvas *c, const struct box *b, const struct pen *pen)
{
    struct vertex v[5];

    outline(b, v);
    canvas_stroke(c, &(struct path){ v, 5, 5 }, pen);
}

void
canvas_clip(struct canvas *c, const struct box *b)
{
    c->ops->clip(c, b);
}

/* Cairo takes no text that is not UTF-8, XML none with control characters. */
static const char *
clean(const char *text, char out[TEXT_BYTES])
{
    struct slice rest = slice_str(text);
    struct buf b;

    buf_init(&b, TEXT_BYTES);
    while (rest.size > 0 && b.size + 4 < TEXT_BYTES) {
        uint32_t u = utf8_take(&rest);
        bool bad =
            u < 0x20 || (u >= 0x7f && u < 0xa0) || u == 0xfffe || u == 0xffff;

        utf8_put(&b, bad ? ' ' : u);
    }
    if (b.failed)
        b.size = 0;
    if (b.size > 0)
        memcpy(out, b.data, b.size);
    out[b.size] = '\0';
    buf_fini(&b);
    return out;
}

void
canvas_text(struct canvas *c, const char *text, double x, double y,
            const struct text_style *style)
{
    char cleaned[TEXT_BYTES];

    if (*text != '\0')
        c->ops->text(c, clean(text, cleaned), x, y, style);
}

double
canvas_text_width(struct canvas *c, const char *text,
                  const struct text_style *style)
{
    char cleaned[TEXT_BYTES];

    return c->ops->text_width(c, clean(text, cleaned), style);
}

enum status
canvas_finish(struct canvas *c, struct error *e)
{
    enum status st = c->ops->finish(c, e);

    if (st == ST_OK && c->bytes->failed)
        st = error_set(e, ST_LIMIT, "the picture is too large");
    return st;
}

void
canvas_free(struct canvas **owner)
{
    struct canvas *c = OBJ_TAKE(owner, CANVAS_MAGIC);

    if (c == NULL)
        return;
    OBJ_CLEAR(c);
    c->ops->free(c);
}
