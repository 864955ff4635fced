/* Bits in and out of blocks, the lowest bit of a byte first.
 *
 *     writing   bits_out_of, bits_room, bits_put..., bits_out_done: fills the
 *               last byte up with zeros
 *     reading   bits_in_of, bits_fill and bits_get..., bits_in_done
 *
 * Reading past the end gives zero bits and is found by bits_in_done(), so that
 * a decoder's loop has nothing to check.
 *
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"

static inline uint64_t
double_bits(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static inline double
double_of_bits(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

/* One NaN for all: which one an addition gives differs between machines. */
static inline double
plain_nan(double d)
{
    return d != d ? __builtin_nan("") : d;
}

/* 'width' (0..64) ones. */
static inline uint64_t
bits_mask(unsigned width)
{
    return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

/* Eight bytes, the first one lowest. */
static inline uint64_t
bits_load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void
bits_store(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

struct bits_out {
    struct buf *buf;
    uint64_t window; /* what is not yet a byte */
    unsigned have;   /* 0..7 between calls */
};

static inline struct bits_out
bits_out_of(struct buf *b)
{
    return (struct bits_out){ b, 0, 0 };
}

/* Makes room for 'bits' bits and what a store may touch behind them.  Without
 * memory the buffer has failed, and nothing more may be put. */
static inline bool
bits_room(struct bits_out *o, size_t bits)
{
    return buf_reserve(o->buf, bits / 8 + 17) != NULL;
}

/* The low 'width' (0..56) bits of 'v'; the others must be zero. */
static inline void
bits_put(struct bits_out *o, uint64_t v, unsigned width)
{
    unsigned have = o->have + width;

    o->window |= v << o->have;
    bits_store(o->buf->data + o->buf->size, o->window);
    o->buf->size += have / 8;
    o->window >>= have & 56;
    o->have = have % 8;
}

/* The low 'width' (0..64) bits of 'v'. */
static inline void
bits_put_long(struct bits_out *o, uint64_t v, unsigned width)
{
    if (width > 32) {
        bits_put(o, v & UINT32_MAX, 32);
        v >>= 32;
        width -= 32;
    }
    bits_put(o, v & bits_mask(width), width);
}

static inline void
bits_out_done(struct bits_out *o)
{
    if (o->have > 0)
        o->buf->size++; /* the last store has put it there, zeros above */
    *o = bits_out_of(o->buf);
}

struct bits_in {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t window; /* the next bits, from the bottom */
    unsigned have;   /* how many of them count */
    size_t padding;  /* bits that were made up */
};

static inline struct bits_in
bits_in_of(const struct cursor *c)
{
    return (struct bits_in){ c->at, c->end, 0, 0, 0 };
}

static inline void
bits_fill_slowly(struct bits_in *in)
{
    while (in->have <= 56) {
        if (in->at < in->end)
            in->window |= (uint64_t)*in->at++ << in->have;
        else
            in->padding += 8;
        in->have += 8;
    }
}

/* At least 56 bits in the window.  Above those that count there may be some
 * already of the bytes to come, which are put there again. */
static inline void
bits_fill(struct bits_in *in)
{
    if (in->end - in->at >= 8) {
        in->window |= bits_load(in->at) << in->have;
        in->at += (63 - in->have) / 8;
        in->have |= 56;
    } else {
        bits_fill_slowly(in);
    }
}

/* 'width' <= 56 and <= what is in the window. */
static inline uint64_t
bits_get(struct bits_in *in, unsigned width)
{
    uint64_t v = in->window & ((UINT64_C(1) << width) - 1);

    in->window >>= width;
    in->have -= width;
    return v;
}

/* Fills too; 'width' 0..64. */
static inline uint64_t
bits_get_long(struct bits_in *in, unsigned width)
{
    uint64_t low;

    bits_fill(in);
    if (width <= 56)
        return bits_get(in, width);
    low = bits_get(in, 32);
    bits_fill(in);
    return low | bits_get(in, width - 32) << 32;
}

/* Moves the cursor behind the last byte of which a bit was read.  It fails when
 * there were too few, or when those that fill the byte up are not zero. */
static inline void
bits_in_done(struct bits_in *in, struct cursor *c)
{
    size_t left;

    if (in->padding > in->have) {
        c->failed = true;
        return;
    }
    left = in->have - in->padding;
    c->at = in->at - left / 8;
    if ((in->window & bits_mask(left % 8)) != 0)
        c->failed = true;
}
