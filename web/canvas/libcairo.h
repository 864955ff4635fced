/* cairo, loaded with the first picture as PNG: it needs X11's libraries and
 * fontconfig (base/process/library.h). */
#pragma once

#include <cairo.h>

#include "base/process/library.h"

/* Each call of cairo that this room makes. */
#define LIBCAIRO_CALLS(CALL)                   \
    CALL(cairo, arc)                           \
    CALL(cairo, clip)                          \
    CALL(cairo, create)                        \
    CALL(cairo, curve_to)                      \
    CALL(cairo, destroy)                       \
    CALL(cairo, fill)                          \
    CALL(cairo, font_face_destroy)             \
    CALL(cairo, format_stride_for_width)       \
    CALL(cairo, image_surface_create_for_data) \
    CALL(cairo, line_to)                       \
    CALL(cairo, move_to)                       \
    CALL(cairo, new_path)                      \
    CALL(cairo, rectangle)                     \
    CALL(cairo, reset_clip)                    \
    CALL(cairo, restore)                       \
    CALL(cairo, rotate)                        \
    CALL(cairo, save)                          \
    CALL(cairo, scale)                         \
    CALL(cairo, set_dash)                      \
    CALL(cairo, set_font_face)                 \
    CALL(cairo, set_font_size)                 \
    CALL(cairo, set_line_cap)                  \
    CALL(cairo, set_line_join)                 \
    CALL(cairo, set_line_width)                \
    CALL(cairo, set_source_rgba)               \
    CALL(cairo, show_text)                     \
    CALL(cairo, status)                        \
    CALL(cairo, status_to_string)              \
    CALL(cairo, stroke)                        \
    CALL(cairo, surface_destroy)               \
    CALL(cairo, surface_flush)                 \
    CALL(cairo, surface_status)                \
    CALL(cairo, surface_write_to_png_stream)   \
    CALL(cairo, text_extents)                  \
    CALL(cairo, toy_font_face_create)          \
    CALL(cairo, translate)

struct libcairo {
    LIBCAIRO_CALLS(LIBRARY_MEMBER)
};

/* What libcairo_load() found; all NULL before. */
extern struct libcairo libcairo;

/* ST_IO: see library_load(). */
MUST_CHECK enum status libcairo_load(struct error *e);
