/* Reads bytes with bounds: a step past the end sets 'failed', which sticks,
 * and yields zero, so that a decoder checks once, at its end.
 *
 * Owns:    nothing; it borrows the slice.
 * Threads: owner. */
#pragma once

#include "base/slice.h"
#include "base/varint.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
    bool no_memory; /* then it has failed for that, and the bytes may be good */
};

static inline struct cursor
cursor_of(struct slice s)
{
    static const uint8_t nothing[1] = { 0 };

    if (s.data == NULL)
        s = (struct slice){ nothing, 0 };
    return (struct cursor){ .at = s.data, .end = s.data + s.size };
}

static inline size_t
cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* The next 'size' bytes, or an empty slice. */
static inline struct slice
cursor_bytes(struct cursor *c, size_t size)
{
    struct slice s = { c->at, 0 };

    if (c->failed || size > cursor_left(c)) {
        c->failed = true;
        return s;
    }
    s.size = size;
    c->at += size;
    return s;
}

/* Big-endian, 'width' of 1..8 bytes. */
static inline uint64_t
cursor_uint(struct cursor *c, unsigned width)
{
    struct slice s = cursor_bytes(c, width);
    uint64_t v = 0;

    for (size_t i = 0; i < s.size; i++)
        v = v << 8 | s.data[i];
    return v;
}

static inline uint8_t
cursor_u8(struct cursor *c)
{
    return (uint8_t)cursor_uint(c, 1);
}

static inline uint16_t
cursor_u16(struct cursor *c)
{
    return (uint16_t)cursor_uint(c, 2);
}

/* Without a loop, which is one load and a swap of its bytes. */
static inline uint32_t
cursor_u32(struct cursor *c)
{
    struct slice s = cursor_bytes(c, 4);

    if (s.size == 0)
        return 0;
    return (uint32_t)s.data[0] << 24 | (uint32_t)s.data[1] << 16 |
           (uint32_t)s.data[2] << 8 | s.data[3];
}

static inline uint64_t
cursor_u64(struct cursor *c)
{
    return cursor_uint(c, 8);
}

/* Fails on an unfinished or a longer than 64-bit number. */
static inline uint64_t
cursor_varint(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b;

        if (c->failed || c->at == c->end)
            break;
        b = *c->at++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
    c->failed = true;
    return 0;
}

/* What buf_put_sized() writes. */
static inline struct slice
cursor_sized(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    return cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);
}

static inline int64_t
cursor_zigzag(struct cursor *c)
{
    return varint_unzigzag(cursor_varint(c));
}
