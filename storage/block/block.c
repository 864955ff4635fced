/* The header of a block, and the block summary in it.
 *
 *     <version:1> [<hours:1>] <flags:1> [<scale:1>] <count> <first> <last -
 * first> <block summary> [<times>] [<kinds>] [<exceptions>] [<values>] <crc:4>
 *
 * The scale stands there unless all points are integers.  The numbers of a
 * block summary are written as small as they are; a sum of decimals was added
 * one by one, as doubles, and is kept as its distance to the exact one. */
#include "storage/block/block.h"

#include "base/crc32c.h"
#include "storage/block/block_priv.h"
#include "storage/row/key.h"

uint32_t
block_crc(struct slice bytes, uint32_t base)
{
    uint8_t b[4] = { (uint8_t)(base >> 24), (uint8_t)(base >> 16),
                     (uint8_t)(base >> 8), (uint8_t)base };

    return crc32c_more(crc32c(slice_of(b, sizeof b)), bytes);
}

/* -- how the block summary is written -------------------------------------- */

/* About the sum of 'count' values between 'a' and 'b', modulo 2^64. */
static uint64_t
guess_sum(uint32_t count, int64_t a, int64_t b)
{
    return count *
           ((uint64_t)a + (uint64_t)((int64_t)((uint64_t)b - (uint64_t)a) / 2));
}

/* The sum of doubles was added one by one, and is near the sum of decimals:
 * then so are its bits, taken as a number. */
static uint64_t
decimal_sum_bits(int64_t sum, unsigned scale)
{
    return double_bits(plain_nan(block_decimal_value(sum, scale)));
}

static void
put_constant(const struct block_header *h, struct buf *out)
{
    const struct summary *s = &h->summary;
    double sum;

    if (h->flags & FLAG_PLAIN) {
        buf_put_u64(out, double_bits(s->first.d));
        sum = plain_nan(s->first.d * h->count);
    } else {
        buf_put_zigzag(out, h->v_first);
        if (s->all_int)
            return;
        sum = plain_nan(s->first.d * h->count);
    }
    buf_put_zigzag(out, (int64_t)(double_bits(s->sum.d) - double_bits(sum)));
}

static void
get_constant(struct cursor *c, struct block_header *h)
{
    struct summary *s = &h->summary;

    if (h->flags & FLAG_PLAIN)
        s->first.d = double_of_bits(cursor_u64(c));
    else
        h->v_first = h->v_last = h->v_min = h->v_max = cursor_zigzag(c);
    if (s->all_int) {
        s->first.i = h->v_first;
        s->sum.i = (int64_t)(h->count * (uint64_t)h->v_first);
    } else {
        if (!(h->flags & FLAG_PLAIN))
            s->first.d = block_decimal_value(h->v_first, h->scale);
        s->sum.d =
            double_of_bits(double_bits(plain_nan(s->first.d * h->count)) +
                           (uint64_t)cursor_zigzag(c));
    }
    s->last = s->min = s->max = s->first;
}

static void
get_whole_summary(struct cursor *c, struct block_header *h)
{
    struct summary *s = &h->summary;
    int64_t sum, low, high;

    h->v_first = cursor_zigzag(c);
    h->v_last = (int64_t)((uint64_t)h->v_first + (uint64_t)cursor_zigzag(c));
    low = h->v_first < h->v_last ? h->v_first : h->v_last;
    high = h->v_first < h->v_last ? h->v_last : h->v_first;
    h->v_min = (int64_t)((uint64_t)low - cursor_varint(c));
    h->v_max = (int64_t)((uint64_t)high + cursor_varint(c));
    sum = (int64_t)(guess_sum(h->count, h->v_first, h->v_last) +
                    (uint64_t)cursor_zigzag(c));
    if (s->all_int) {
        s->first.i = h->v_first;
        s->last.i = h->v_last;
        s->min.i = h->v_min;
        s->max.i = h->v_max;
        s->sum.i = sum;
    } else {
        s->first.d = block_decimal_value(h->v_first, h->scale);
        s->last.d = block_decimal_value(h->v_last, h->scale);
        s->min.d = block_decimal_value(h->v_min, h->scale);
        s->max.d = block_decimal_value(h->v_max, h->scale);
        s->sum.d = double_of_bits(decimal_sum_bits(sum, h->scale) +
                                  (uint64_t)cursor_zigzag(c));
    }
}

void
block_pad(struct slice block, size_t zeros, struct buf *out)
{
    buf_put_u8(out, BLOCK_PADDED);
    buf_put_varint(out, zeros);
    buf_put_slice(out, block);
    for (; zeros > 0; zeros--)
        buf_put_u8(out, 0);
}

void
block_header_put(const struct block_header *h, struct buf *out)
{
    buf_put_u8(out, h->version);
    if (h->version == BLOCK_OF_ROW)
        buf_put_u8(out, h->hours);
    buf_put_u8(out, h->flags);
    if (block_kinds(h) != KINDS_INT)
        buf_put_u8(out, h->scale);
    buf_put_varint(out, h->count);
    buf_put_varint(out, h->first);
    buf_put_varint(out, h->span);
    if (h->flags & FLAG_CONSTANT)
        put_constant(h, out);
    else if (h->flags & FLAG_PLAIN) {
        buf_put_u64(out, double_bits(h->summary.first.d));
        buf_put_u64(out, double_bits(h->summary.last.d));
        buf_put_u64(out, double_bits(h->summary.min.d));
        buf_put_u64(out, double_bits(h->summary.max.d));
        buf_put_u64(out, double_bits(h->summary.sum.d));
    } else {
        uint64_t guess = guess_sum(h->count, h->v_first, h->v_last);
        int64_t low = h->v_first < h->v_last ? h->v_first : h->v_last;
        int64_t high = h->v_first < h->v_last ? h->v_last : h->v_first;

        buf_put_zigzag(out, h->v_first);
        buf_put_zigzag(out,
                       (int64_t)((uint64_t)h->v_last - (uint64_t)h->v_first));
        buf_put_varint(out, (uint64_t)low - (uint64_t)h->v_min);
        buf_put_varint(out, (uint64_t)h->v_max - (uint64_t)high);
        buf_put_zigzag(out, (int64_t)((uint64_t)h->v_sum - guess));
        if (!h->summary.all_int)
            buf_put_zigzag(out,
                           (int64_t)(double_bits(h->summary.sum.d) -
                                     decimal_sum_bits(h->v_sum, h->scale)));
    }
}

/* -- reading -------------------------------------------------------------- */

void
block_unpad(struct slice *block)
{
    struct cursor c;
    uint64_t zeros;

    if (block->size == 0 || block->data[0] != BLOCK_PADDED)
        return;
    c = cursor_of(slice_of(block->data + 1, block->size - 1));
    zeros = cursor_varint(&c);
    if (!c.failed && zeros <= cursor_left(&c))
        *block = slice_of(c.at, cursor_left(&c) - (size_t)zeros);
}

/* Checks the CRC, if there is one, and takes it off. */
static enum status
open_block(struct slice *block, uint32_t base, struct error *e)
{
    struct cursor c;
    bool without_crc;

    block_unpad(block);
    without_crc = block->size > 0 && block->data[0] == BLOCK_WITHOUT_CRC;
    if (block->size < BLOCK_MIN_SIZE + (without_crc ? 0 : BLOCK_CRC_SIZE))
        return error_set(e, ST_CORRUPT, "block: %zu bytes are too few",
                         block->size);
    if (without_crc)
        return ST_OK;
    block->size -= BLOCK_CRC_SIZE;
    c = cursor_of(slice_of(block->data + block->size, BLOCK_CRC_SIZE));
    if (cursor_u32(&c) != block_crc(*block, base))
        return error_set(e, ST_CORRUPT, "block: checksum mismatch");
    if (block->data[0] != BLOCK_VERSION && block->data[0] != BLOCK_OF_ROW)
        return error_set(e, ST_CORRUPT, "block: version %u, not %u",
                         block->data[0], BLOCK_VERSION);
    return ST_OK;
}

static bool
scale_is_valid(const struct block_header *h)
{
    unsigned scale = h->scale & SCALE_DIGITS;

    if (block_kinds(h) == KINDS_INT)
        return (h->flags & FLAG_PLAIN) == 0;
    if (h->scale == SCALE_NONE)
        return (h->flags & FLAG_PLAIN) != 0;
    return scale <= DECIMAL_MAX_SCALE && ((h->scale & SCALE_EXCEPTIONS) != 0) ==
                                             ((h->flags & FLAG_PLAIN) != 0);
}

static bool
times_are_valid(const struct block_header *h)
{
    static const uint32_t limits[] = { HOUR_MS, HOUR_MS / 10, HOUR_MS / 100,
                                       HOUR_MS / 1000 };
    uint64_t limit = (uint64_t)h->hours * limits[h->flags & FLAG_UNIT];

    if (h->count == 0 || h->count > BLOCK_MAX_POINTS || h->first >= limit ||
        h->span >= limit - h->first || h->span < h->count - 1)
        return false;
    if (h->count == 1)
        return h->span == 0 && (h->flags & FLAG_IRREGULAR) == 0;
    /* Both are below the limit: a short division. */
    return (h->flags & FLAG_IRREGULAR) != 0 ||
           (uint32_t)h->span % (h->count - 1) == 0;
}

static void
get_fields(struct cursor *c, uint32_t base, struct block_header *h)
{
    uint64_t count;

    *h = (struct block_header){ .scale = 0 };
    h->version = cursor_u8(c);
    h->hours = h->version == BLOCK_OF_ROW ? cursor_u8(c) : 1;
    h->flags = cursor_u8(c);
    if (block_kinds(h) != KINDS_INT)
        h->scale = cursor_u8(c);
    count = cursor_varint(c);
    h->count = count > BLOCK_MAX_POINTS ? 0 : (uint32_t)count;
    h->first = cursor_varint(c);
    h->span = cursor_varint(c);
    if ((h->flags & FLAG_UNKNOWN) || block_kinds(h) == FLAG_KINDS ||
        (block_kinds(h) == KINDS_MIXED && (h->flags & FLAG_CONSTANT)) ||
        !scale_is_valid(h) || h->hours > ROW_HOURS_MAX || !times_are_valid(h)) {
        c->failed = true;
        return;
    }
    h->summary.count = h->count;
    h->summary.all_int = block_kinds(h) == KINDS_INT;
    h->summary.first_ms =
        (int64_t)base * 1000 + (int64_t)h->first * block_unit_ms(h);
    h->summary.last_ms =
        h->summary.first_ms + (int64_t)h->span * block_unit_ms(h);
    c->failed |= h->summary.last_ms > POINT_MAX_TS_MS;
    if (h->flags & FLAG_CONSTANT)
        get_constant(c, h);
    else if (h->flags & FLAG_PLAIN) {
        h->summary.first.d = double_of_bits(cursor_u64(c));
        h->summary.last.d = double_of_bits(cursor_u64(c));
        h->summary.min.d = double_of_bits(cursor_u64(c));
        h->summary.max.d = double_of_bits(cursor_u64(c));
        h->summary.sum.d = double_of_bits(cursor_u64(c));
    } else
        get_whole_summary(c, h);
}

enum status
block_header_get(struct slice block, uint32_t base, struct cursor *c,
                 struct block_header *h, struct error *e)
{
    enum status st = open_block(&block, base, e);

    if (st != ST_OK)
        return st;
    *c = cursor_of(block);
    get_fields(c, base, h);
    if (c->failed)
        return error_set(e, ST_CORRUPT,
                         "block: invalid header (flags %02x, %u points)",
                         h->flags, h->count);
    return ST_OK;
}
