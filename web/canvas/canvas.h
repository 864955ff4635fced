/* What a chart is drawn on: a surface of cairo's that becomes a PNG, or the
 * text of an SVG.  Both take the same calls, in units of the unscaled picture;
 * y grows downwards.
 *
 * Owns:    everything lies in the arena but what cairo holds, which
 *          canvas_finish() and canvas_free() give back.
 * Threads: owner.
 * Fails:   late: what fails while drawing is told by canvas_finish(). */
#pragma once

#include "base/buf.h"
#include "web/canvas/path.h"

struct canvas; /* opaque */

struct ink {
    uint32_t rgb; /* 0xRRGGBB */
    double alpha;
};

struct pen {
    struct ink ink;
    double width;
    double on, off; /* of dashes; 0: none */
};

struct box {
    double x, y, w, h;
};

enum text_anchor { TEXT_START, TEXT_MIDDLE, TEXT_END };

struct text_style {
    struct ink ink;
    double size; /* in pixels */
    enum text_anchor anchor;
    bool bold, upwards;
};

struct canvas_size {
    unsigned width, height;
    double scale; /* pixels a unit */
};

/* A surface of a PNG takes its pixels from the arena.  ST_LIMIT; ST_IO where
 * there is no cairo. */
MUST_CHECK enum status canvas_new_png(const struct canvas_size *size,
                                      struct buf *bytes, struct arena *a,
                                      struct canvas **out, struct error *e);
/* 'title' (may be NULL) is for those who do not see it. */
MUST_CHECK enum status canvas_new_svg(const struct canvas_size *size,
                                      const char *title, struct buf *bytes,
                                      struct arena *a, struct canvas **out,
                                      struct error *e);
/* The picture is in 'bytes'.  ST_LIMIT where memory or 'bytes' ended, ST_IO. */
MUST_CHECK enum status canvas_finish(struct canvas *c, struct error *e);
void canvas_free(struct canvas **c);

void canvas_stroke(struct canvas *c, const struct path *p,
                   const struct pen *pen);
void canvas_fill(struct canvas *c, const struct path *p, struct ink ink);
/* Circles around the vertices; squares where they are very small. */
void canvas_dots(struct canvas *c, const struct path *centres, double radius,
                 bool is_filled, struct ink ink);
void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1,
                 const struct pen *pen);
void canvas_rect(struct canvas *c, const struct box *b, struct ink ink);
void canvas_frame(struct canvas *c, const struct box *b, const struct pen *pen);

/* What is drawn from now on is cut to the box; NULL: no longer. */
void canvas_clip(struct canvas *c, const struct box *b);

/* 'y' is the line that it stands on.  UTF-8; what is not is replaced. */
void canvas_text(struct canvas *c, const char *text, double x, double y,
                 const struct text_style *style);
double canvas_text_width(struct canvas *c, const char *text,
                         const struct text_style *style);
