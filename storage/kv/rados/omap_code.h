/* A code for keys that has no NUL and keeps their order: librados takes where a
 * page begins, and what its keys start with, as C strings.
 *
 *     00, 01, 02  ->  02 02, 02 03, 02 04       others as they are
 *     the end     ->  01
 *
 * So without its end a code is behind all lower keys and in front of its own:
 * what is "after" it begins with the key itself.  And codes begin with the code
 * of what their keys begin with.
 *
 * Threads: any. */
#pragma once

#include "base/buf.h"

#define OMAP_END 0x01

/* Appends the code of 'bytes', without an end. */
void omap_encode(struct buf *out, struct slice bytes);
/* The same, and its end: an omap's key. */
void omap_encode_key(struct buf *out, struct slice key);
/* Appends the key; false: it is no code with an end. */
MUST_CHECK bool omap_decode_key(struct buf *out, struct slice code);

/* Values: an absent key compares as an empty value, so an empty one gets a zero
 * in front, and so does what begins with a zero.  'room' (1 byte more than the
 * value) is used then. */
bool omap_value_needs_zero(struct slice value);
void omap_encode_value(struct buf *out, struct slice value);
struct slice omap_decode_value(struct slice stored);

/* Replaces what 'out' holds; it has data, also of a code of no bytes. */
void omap_copy_code(struct buf *out, struct slice code);
