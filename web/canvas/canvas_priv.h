/* A canvas from the inside: what PNG and SVG do each in their way. */
#pragma once

#include "web/canvas/canvas.h"

struct canvas_ops {
    void (*stroke)(struct canvas *c, const struct path *p,
                   const struct pen *pen);
    void (*fill)(struct canvas *c, const struct path *p, struct ink ink);
    void (*dots)(struct canvas *c, const struct path *centres, double radius,
                 bool is_filled, struct ink ink);
    void (*clip)(struct canvas *c, const struct box *b);
    void (*text)(struct canvas *c, const char *text, double x, double y,
                 const struct text_style *style);
    double (*text_width)(struct canvas *c, const char *text,
                         const struct text_style *style);
    enum status (*finish)(struct canvas *c, struct error *e);
    void (*free)(struct canvas *c);
};

struct canvas {
    uint32_t magic;
    const struct canvas_ops *ops;
    struct canvas_size size;
    struct buf *bytes; /* where the picture goes */
};

#define CANVAS_MAGIC FOURCC('C', 'A', 'N', 'V')
