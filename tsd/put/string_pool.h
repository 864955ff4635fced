/*
 * Texts that are kept once, however often they are named, and counted.
 *
 * Owns:    the texts; text_take() lends one until its text_drop().
 * Bounds:  none of its own: whoever takes asks texts_bytes() first.
 * Threads: owner; text_eq(): any, while the text is held.
 */
#ifndef TSD_PUT_STRING_POOL_H
#define TSD_PUT_STRING_POOL_H

#include "base/slice.h"

struct texts; /* opaque */

struct text {
    uint32_t hash;
    uint32_t size;
    uint32_t held; /* so many times */
    uint8_t bytes[];
};

struct texts *texts_new(uint64_t seed);
/* The texts too, held or not. */
void texts_free(struct texts **t);

struct text *text_take(struct texts *t, struct slice s);
void text_drop(struct texts *t, struct text *x);

/* Heap of texts and table. */
size_t texts_bytes(const struct texts *t);
/* What a new text of this size may add to it. */
size_t texts_cost(size_t size);

static inline bool
text_eq(const struct text *x, const uint8_t *data, size_t size)
{
    return x->size == size && memcmp(x->bytes, data, size) == 0;
}

#endif
