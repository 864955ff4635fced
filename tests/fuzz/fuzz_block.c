/* Blocks, three ways, by the first byte:
 *
 *     0  the rest is a block
 *     1  the rest is a block but for its CRC: what is decoded is in order, and
 *        is the same after it was encoded again
 *     2  the rest makes points: { <varint> <kind> <8 bytes or a zigzag> }...;
 *        they come back as they were */
#include "storage/block/block.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "storage/block/block_priv.h"
#include "tests/fuzz/target.h"

#define BASE UINT32_C(1292148000)

static void
check_order(const struct points *p)
{
    INSIST(p->len >= 1 && p->len <= BLOCK_MAX_POINTS);
    INSIST(p->ts_ms[0] >= (int64_t)BASE * 1000);
    INSIST(p->ts_ms[p->len - 1] < (int64_t)BASE * 1000 + HOUR_MS);
    for (size_t i = 1; i < p->len; i++)
        INSIST(p->ts_ms[i - 1] < p->ts_ms[i]);
}

static void
check_round_trip(const struct points *p)
{
    struct buf b = BUF_INIT;
    struct points back = { 0 };
    struct summary s;

    block_encode(p, BASE, &b);
    INSIST(!b.failed);
    INSIST(block_decode(buf_slice(&b), BASE, &back, NULL) == ST_OK);
    INSIST(back.len == p->len);
    for (size_t i = 0; i < p->len; i++) {
        INSIST(back.ts_ms[i] == p->ts_ms[i]);
        INSIST(back.v[i].i == p->v[i].i);
        INSIST(back.is_float[i] == p->is_float[i]);
    }
    INSIST(block_summary(buf_slice(&b), BASE, &s, NULL) == ST_OK);
    INSIST(s.count == p->len);
    INSIST(s.first_ms == p->ts_ms[0] && s.last_ms == p->ts_ms[p->len - 1]);
    points_fini(&back);
    buf_fini(&b);
}

/* Values alone are the same, where they are enough. */
static void
check_spaced(struct slice block, enum status st, const struct points *p)
{
    struct points back = { 0 };
    struct spacing s = { .even = false };

    INSIST(block_decode_spaced(block, BASE, ALL_VALUES, &back, &s, NULL) == st);
    INSIST(back.len == p->len);
    for (size_t i = 0; i < p->len && s.even; i++) {
        INSIST(s.first_ms + (int64_t)i * s.step_ms == p->ts_ms[i]);
        INSIST(s.is_float == (p->is_float[i] != 0));
        INSIST(back.v[i].i == p->v[i].i);
    }
    points_fini(&back);
}

/* So are some of the values. */
static void
check_some(struct slice block, const struct points *p)
{
    struct value_range r = { p->len / 3, p->len - p->len / 5 };
    struct points back = { 0 };
    struct spacing s;

    INSIST(block_decode_spaced(block, BASE, r, &back, &s, NULL) == ST_OK);
    for (size_t i = r.from; i < r.end; i++)
        INSIST(back.v[i].i == p->v[i].i);
    points_fini(&back);
}

static void
decode(struct slice block)
{
    struct points p = { 0 };
    struct error e;
    enum status st = block_decode(block, BASE, &p, &e);
    struct summary s;

    INSIST(st == ST_OK || st == ST_CORRUPT);
    check_spaced(block, st, &p);
    if (st == ST_OK) {
        INSIST(block_summary(block, BASE, &s, NULL) == ST_OK);
        check_order(&p);
        check_some(block, &p);
        if (p.len < 10000)
            check_round_trip(&p);
    } else {
        INSIST(p.len == 0);
    }
    points_fini(&p);
}

static void
decode_with_crc(struct slice bytes)
{
    struct buf b = BUF_INIT;

    buf_put_slice(&b, bytes);
    buf_put_u32(&b, block_crc(bytes, BASE));
    decode(buf_slice(&b));
    buf_fini(&b);
}

static void
encode_points(struct cursor *c)
{
    struct points p = { 0 };
    struct point x = { .ts_ms = (int64_t)BASE * 1000 - 1 };

    while (p.len < 10000) {
        uint64_t step = cursor_varint(c);
        uint8_t kind = cursor_u8(c);

        if (step >= HOUR_MS)
            break;
        x.ts_ms += 1 + (int64_t)step * (kind & 4 ? 1000 : 1);
        x.is_float = kind & 1;
        if (kind & 2)
            x.v.i = (int64_t)cursor_u64(c);
        else if (x.is_float)
            x.v.d = (double)cursor_zigzag(c) / 100;
        else
            x.v.i = (int64_t)((uint64_t)x.v.i + (uint64_t)cursor_zigzag(c));
        if (c->failed || x.ts_ms >= (int64_t)BASE * 1000 + HOUR_MS)
            break;
        INSIST(points_add(&p, x));
    }
    if (p.len > 0)
        check_round_trip(&p);
    points_fini(&p);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t way = cursor_u8(&c) % 3;

    if (way == 2)
        encode_points(&c);
    else if (way == 1)
        decode_with_crc(cursor_bytes(&c, cursor_left(&c)));
    else
        decode(cursor_bytes(&c, cursor_left(&c)));
    return 0;
}
