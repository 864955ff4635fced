/* Doubles: which of them are decimals, and columns of those that are not.
 *
 * A decimal is an integer over a power of ten (Afroozeh, Kuffo and Boncz,
 * "ALP", 2023): the division is correctly rounded, so what was read from
 * decimal text of up to 15 digits comes back bit for bit.
 *
 * Others are XORed with the one before (Pelkonen et al., "Gorilla", 2015):
 *
 *     0                                         the same bits again
 *     1 0 <bits>                                the window of the last one fits
 *     1 1 <zeros:6> <width - 1:6> <bits:width>  a window of its own
 *
 * The first is XORed with 0, in a window of 64 bits. */
#include "storage/block/block_priv.h"

#include <string.h>

#include "storage/block/bits.h"

enum floats_codec { FLOATS_RAW = 0, FLOATS_XOR = 1 };

struct window {
    unsigned zeros; /* in front */
    unsigned width;
};

static const double powers[DECIMAL_MAX_SCALE + 1] = {
    1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,
    1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
};

bool
block_decimal_of(double v, unsigned scale, int64_t *m)
{
    double scaled = v * powers[scale];

    if (!(scaled >= -(double)DECIMAL_MAX && scaled <= (double)DECIMAL_MAX))
        return false;
    *m = (int64_t)(scaled + DECIMAL_NEAREST - DECIMAL_NEAREST);
    return double_bits((double)*m / powers[scale]) == double_bits(v);
}

double
block_decimal_value(int64_t m, unsigned scale)
{
    return (double)m / powers[scale];
}

bool
block_decimal_values(union number *v, size_t len, unsigned scale)
{
    return block_loops()->divide(v, len, powers[scale]);
}

/* How many digits after the point; one more than there can be if it is none.
 * Integers have none, and whether they fit once scaled is seen later. */
static unsigned
scale_of(const struct points *p, size_t i)
{
    int64_t m;

    if (!p->is_float[i])
        return 0;
    for (unsigned scale = 0; scale <= DECIMAL_MAX_SCALE; scale++)
        if (block_decimal_of(p->v[i].d, scale, &m))
            return scale;
    return DECIMAL_MAX_SCALE + 1;
}

/* How many values need how many digits; false as soon as it looks hopeless. */
static bool
count_scales(const struct points *p, size_t counts[DECIMAL_MAX_SCALE + 2])
{
    for (size_t i = 0; i < p->len; i++) {
        counts[scale_of(p, i)]++;
        if (counts[DECIMAL_MAX_SCALE + 1] > 8 + i / 8)
            return false;
    }
    return true;
}

bool
block_decimal_scale(const struct points *p, unsigned *scale)
{
    size_t counts[DECIMAL_MAX_SCALE + 2] = { 0 };
    size_t left = p->len, exceptions = 0;
    uint64_t best = UINT64_MAX;

    if (!count_scales(p, counts))
        return false;
    /* A digit costs 3.3 bits in every value, an exception about 80. */
    for (unsigned s = 0; s <= DECIMAL_MAX_SCALE; s++) {
        uint64_t cost;

        left -= counts[s];
        cost = left * UINT64_C(800) + p->len * UINT64_C(33) * s;
        if (cost < best) {
            best = cost;
            *scale = s;
            exceptions = left;
        }
    }
    return exceptions <= p->len / 8;
}

static void
put_xor(struct bits_out *o, uint64_t x, struct window *w)
{
    unsigned zeros, width;

    if (x == 0) {
        bits_put(o, 0, 1);
        return;
    }
    zeros = (unsigned)__builtin_clzll(x);
    width = 64 - zeros - (unsigned)__builtin_ctzll(x);
    if (zeros >= w->zeros && zeros + width <= w->zeros + w->width &&
        w->width < width + 12) {
        bits_put(o, 1, 2);
    } else {
        *w = (struct window){ zeros, width };
        bits_put(o, 3 | zeros << 2 | (width - 1) << 8, 14);
    }
    bits_put_long(o, x >> (64 - w->zeros - w->width), w->width);
}

static void
put_xors(const uint64_t *bits, size_t len, struct buf *out)
{
    struct bits_out o = bits_out_of(out);
    struct window w = { 0, 64 };
    uint64_t last = 0;

    for (size_t i = 0; i < len; i++) {
        if (!bits_room(&o, 14 + 64))
            return;
        put_xor(&o, bits[i] ^ last, &w);
        last = bits[i];
    }
    bits_out_done(&o);
}

void
block_floats_encode(const uint64_t *bits, size_t len, struct buf *out)
{
    size_t start = out->size;

    buf_put_u8(out, FLOATS_XOR);
    put_xors(bits, len, out);
    if (out->failed || out->size - start <= 1 + 8 * len)
        return;
    out->size = start;
    buf_put_u8(out, FLOATS_RAW);
    for (size_t i = 0; i < len; i++)
        buf_put_u64(out, bits[i]);
}

static void
get_xors(struct cursor *c, uint64_t *out, size_t len)
{
    struct bits_in in = bits_in_of(c);
    struct window w = { 0, 64 };
    uint64_t last = 0;

    for (size_t i = 0; i < len; i++) {
        bits_fill(&in);
        if (bits_get(&in, 1) == 0) {
            out[i] = last;
            continue;
        }
        if (bits_get(&in, 1) == 1) {
            w.zeros = (unsigned)bits_get(&in, 6);
            w.width = (unsigned)bits_get(&in, 6) + 1;
            if (w.zeros + w.width > 64) {
                c->failed = true;
                return;
            }
        }
        last ^= bits_get_long(&in, w.width) << (64 - w.zeros - w.width);
        out[i] = last;
    }
    bits_in_done(&in, c);
}

void
block_floats_decode(struct cursor *c, uint64_t *out, size_t len)
{
    uint8_t codec = cursor_u8(c);

    if (c->failed || codec > FLOATS_XOR || len > cursor_left(c) * 8) {
        c->failed = true;
        return;
    }
    if (codec == FLOATS_XOR) {
        get_xors(c, out, len);
        return;
    }
    for (size_t i = 0; i < len; i++)
        out[i] = cursor_u64(c);
}
