#include "storage/block/row_value.h"

#include "storage/block/block_priv.h"
#include "tests/harness.h"

#define BASE 1292133600u /* 4d 04 64 e0: a span of six hours begins */

static const struct key_layout six = { 1, 16, 3, 3, 3, 6 };
static const struct key_layout one = { 1, 16, 3, 3, 3, 1 };
static const struct key_layout day = { 1, 16, 3, 3, 3, 24 };

/* As docs/FORMAT.md shows it. */
START_TEST(the_documented_value)
{
    uint8_t bytes[19 + 26];
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };
    struct buf b = BUF_INIT;

    memset(bytes, 'a', 19);
    memset(bytes + 19, 'b', 26);
    bytes[0] = bytes[19] = BLOCK_VERSION;
    parts.blocks[1] = slice_of(bytes, 19);
    parts.blocks[4] = slice_of(bytes + 19, 26);
    row_value_put(&six, BASE, &parts, &b);
    ck_assert_uint_eq(b.size, 3 + 15 + 22 + 4);
    ck_assert_int_eq(memcmp(b.data, "\x03\x12\x0f\x04", 4), 0);
    ck_assert_int_eq(memcmp(b.data + 4, bytes + 1, 14), 0);
    ck_assert_uint_eq(b.data[18], 4);
    ck_assert_int_eq(memcmp(b.data + 19, bytes + 20, 21), 0);
    buf_fini(&b);
}
END_TEST

static struct slice
random_block(uint64_t *r, uint8_t *bytes, size_t max)
{
    size_t size = 10 + harness_random(r) % (max - 10);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)harness_random(r);
    bytes[0] = BLOCK_VERSION;
    return slice_of(bytes, size);
}

/* Where the row has one, a block has no checksum of its own. */
static bool
is_block(const struct key_layout *s, struct slice stored, struct slice block)
{
    if (s->row_hours == 1 || block.size == 0)
        return slice_eq(stored, block);
    return stored.size == block.size - BLOCK_CRC_SIZE &&
           stored.data[0] == BLOCK_WITHOUT_CRC &&
           memcmp(stored.data + 1, block.data + 1, stored.size - 1) == 0;
}

/* What was put comes out, one by one and all at once, padded and not. */
START_TEST(hours_come_back)
{
    static const struct key_layout *const layouts[] = { &one, &six, &day };
    static uint8_t bytes[ROW_HOURS_MAX][300];
    uint64_t r = harness_seed(1);

    for (int i = 0; i < 3000; i++) {
        const struct key_layout *s = layouts[i % 3];
        struct row_blocks parts = { .split = BUF_INIT }, back = parts;
        struct buf value = BUF_INIT, padded = BUF_INIT, again = BUF_INIT;
        struct row_hours h;
        struct slice block, whole;
        uint32_t base;
        unsigned hours = 0;

        for (unsigned k = 0; k < s->row_hours; k++)
            if (s->row_hours == 1 || harness_random(&r) % 3 == 0)
                parts.blocks[k] = random_block(&r, bytes[k], 300);
        row_value_put(s, BASE, &parts, &value);
        block_pad(buf_slice(&value), harness_random(&r) % 200, &padded);
        whole = buf_slice(s->row_hours > 1 && i % 2 ? &padded : &value);
        if (value.size > 0) {
            ck_assert_int_eq(row_blocks_of(s, BASE, whole, &back, NULL), ST_OK);
            for (unsigned k = 0; k < ROW_HOURS_MAX; k++)
                ck_assert(is_block(s, back.blocks[k], parts.blocks[k]));
            ck_assert_int_eq(row_hours_begin(s, BASE, whole, &h, NULL), ST_OK);
            while (row_hours_next(&h, &base, &block)) {
                unsigned k = (base - BASE) / 3600;

                ck_assert_uint_eq((base - BASE) % 3600, 0);
                ck_assert(is_block(s, block, parts.blocks[k]));
                ck_assert_uint_eq(hours >> k, 0);
                hours |= 1u << k;
            }
            ck_assert_int_eq(row_hours_end(&h, NULL), ST_OK);
            /* What a value lent can be put again. */
            row_value_put(s, BASE, &back, &again);
            ck_assert(slice_eq(buf_slice(&again), buf_slice(&value)));
        }
        for (unsigned k = 0; k < ROW_HOURS_MAX; k++)
            ck_assert_uint_eq(hours >> k & 1, parts.blocks[k].size > 0);
        buf_fini(&value);
        buf_fini(&padded);
        buf_fini(&again);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    const char *text;
} invalid[] = {
    { "", 0, "row: not one of several hours" },
    { "\x01\x03", 2, "row: not one of several hours" }, /* a block alone */
    { "\x03", 1, "row: invalid hours" },                /* none of them */
    { "\x03\x00", 2, "row: invalid hours (0 of 6)" },
    { "\x03\x00x", 3, "row: invalid hours" },
    { "\x03\x40x", 3, "row: invalid hours (0x40 of 6)" },
    { "\x03\x01\x01xxxxxx", 9, "row: invalid block length or type" },
    { "\x03\x01", 2, "row: invalid block length" },      /* no block */
    { "\x03\x03\x01x", 4, "row: invalid block length" }, /* no second one */
    { "\x03\x03\x02x", 4, "row: invalid block length" }, /* too long */
    { "\x03\x03\x00x", 4, "row: invalid block length" }, /* empty */
    { "\x03\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xy", 14,
      "row: invalid block length" },
    { "\x03\x80\x80\x80\x80\x10x", 7, "row: invalid hours" }
};

static void
rejects(struct slice value, const char *sentence)
{
    struct row_blocks parts = { .split = BUF_INIT };
    struct error e = { 0 };

    ck_assert_int_eq(row_blocks_of(&six, BASE, value, &parts, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, sentence) != NULL, "%s", e.text);
}

START_TEST(invalid_values_are_rejected)
{
    struct slice bytes = { (const uint8_t *)invalid[_i].bytes,
                           invalid[_i].size };
    struct buf b = BUF_INIT;

    buf_put_slice(&b, bytes);
    buf_put_u32(&b, block_crc(bytes, BASE));
    rejects(buf_slice(&b), invalid[_i].text);
    buf_fini(&b);
}
END_TEST

START_TEST(every_flipped_bit_and_every_cut_is_seen)
{
    uint8_t bytes[2][40];
    uint64_t r = harness_seed(2);
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };
    struct buf b = BUF_INIT;
    struct row_blocks back = { .split = BUF_INIT };

    parts.blocks[2] = random_block(&r, bytes[0], 40);
    parts.blocks[5] = random_block(&r, bytes[1], 40);
    row_value_put(&six, BASE, &parts, &b);
    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        rejects(buf_slice(&b), "row");
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        rejects(slice_of(b.data, i / 8), "row");
    }
    ck_assert_int_eq(
        row_blocks_of(&six, BASE + 21600, buf_slice(&b), &back, NULL),
        ST_CORRUPT);
    ck_assert_int_eq(row_blocks_of(&six, BASE, buf_slice(&b), &back, NULL),
                     ST_OK);
    /* Where rows have none, a block without a checksum is none. */
    ck_assert_int_eq(row_blocks_of(&one, BASE, back.blocks[2], &back, NULL),
                     ST_CORRUPT);
    buf_fini(&b);
}
END_TEST

START_TEST(hours_are_numbered)
{
    ck_assert_uint_eq(row_hour_of(&six, BASE), 0);
    ck_assert_uint_eq(row_hour_of(&six, BASE + 3599), 0);
    ck_assert_uint_eq(row_hour_of(&six, BASE + 3600), 1);
    ck_assert_uint_eq(row_hour_of(&six, BASE + 6 * 3600 - 1), 5);
    ck_assert_uint_eq(row_hour_of(&six, BASE + 6 * 3600), 0);
    ck_assert_uint_eq(row_hour_of(&one, BASE + 7300), 0);
    ck_assert_uint_eq(row_hour_of(&six, UINT32_MAX), 0);
    ck_assert_uint_eq(row_hour_of(&day, UINT32_MAX), 6);
}
END_TEST

/* Hours of a row with some points a hour, or none, in 'all' and as blocks. */
static void
make_hours(const struct key_layout *s, uint64_t *r, uint64_t most,
           struct points *all, struct buf *blocks, struct row_blocks *parts)
{
    uint64_t hours = harness_random(r) % 4 == 0 ? 1 : s->row_hours;

    for (unsigned i = 0; i < hours; i++) {
        int64_t at = ((int64_t)BASE + (int64_t)i * HOUR_S) * 1000;
        uint64_t len = harness_random(r) % (most + 1);
        size_t from = all->len;
        struct points hour;

        for (uint64_t k = 0; k < len; k++) {
            struct point x = { at + (int64_t)k * 1000, { .i = 0 }, false };

            x.v.i = (int64_t)(harness_random(r) % 500);
            ck_assert(points_add(all, x));
        }
        if (len == 0)
            continue;
        hour = points_of_hour(all, from);
        buf_clear(&blocks[i]);
        block_encode(&hour, BASE + i * HOUR_S, &blocks[i]);
        parts->blocks[i] = buf_slice(&blocks[i]);
    }
}

static void
check_one_block(const struct key_layout *s, struct slice value,
                const struct points *all)
{
    struct row_hours h;
    struct points p = { 0 };
    struct slice block;
    uint32_t base;

    ck_assert_int_eq(row_hours_begin(s, BASE, value, &h, NULL), ST_OK);
    ck_assert_uint_eq(h.block_s, key_span_s(s));
    ck_assert(row_hours_next(&h, &base, &block));
    ck_assert_uint_eq(base, BASE);
    ck_assert_int_eq(block_decode(block, base, &p, NULL), ST_OK);
    ck_assert_uint_eq(p.len, all->len);
    ck_assert_int_eq(memcmp(p.ts_ms, all->ts_ms, p.len * sizeof *p.ts_ms), 0);
    ck_assert_int_eq(memcmp(p.v, all->v, p.len * sizeof *p.v), 0);
    ck_assert(!row_hours_next(&h, &base, &block));
    ck_assert_int_eq(row_hours_end(&h, NULL), ST_OK);
    points_fini(&p);
}

/* Few points of several hours are one block, of which the very hours come back;
 * all else is as row_value_put() has it. */
START_TEST(few_points_are_one_block)
{
    static const struct key_layout *const layouts[] = { &one, &six, &day };
    uint64_t r = harness_seed(3);
    struct row_blocks parts, back = { .split = BUF_INIT };
    struct buf blocks[ROW_HOURS_MAX] = { BUF_INIT }, value = BUF_INIT;
    struct buf padded = BUF_INIT, plain = BUF_INIT;
    struct points all = { 0 }, scratch = { 0 };
    size_t seen = 0;

    for (int i = 0; i < 600; i++) {
        const struct key_layout *s = layouts[i % 3];
        size_t hours = 0;
        bool few;

        parts = (struct row_blocks){ .split = BUF_INIT };
        points_clear(&all);
        make_hours(s, &r, i % 2 ? 400 : 60, &all, blocks, &parts);
        for (unsigned k = 0; k < s->row_hours; k++)
            hours += parts.blocks[k].size > 0;
        few = hours > 1 && all.len <= ROW_BLOCK_POINTS &&
              all.len <= hours * ROW_BLOCK_HOUR_POINTS;
        seen += few;
        buf_clear(&value);
        buf_clear(&plain);
        row_value_pack(s, BASE, &parts, &scratch, &value);
        row_value_put(s, BASE, &parts, &plain);
        ck_assert_int_eq(row_is_one_block(s, buf_slice(&value)), few);
        if (!few) {
            ck_assert(slice_eq(buf_slice(&value), buf_slice(&plain)));
            continue;
        }
        buf_clear(&padded);
        block_pad(buf_slice(&value), harness_random(&r) % 9, &padded);
        check_one_block(s, buf_slice(&value), &all);
        check_one_block(s, buf_slice(&padded), &all);
        ck_assert_int_eq(
            row_blocks_of(s, BASE, buf_slice(&padded), &back, NULL), ST_OK);
        for (unsigned k = 0; k < ROW_HOURS_MAX; k++)
            ck_assert(slice_eq(back.blocks[k], parts.blocks[k]));
    }
    ck_assert_uint_gt(seen, 50);
    row_blocks_fini(&back);
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        buf_fini(&blocks[i]);
    buf_fini(&value);
    buf_fini(&padded);
    buf_fini(&plain);
    points_fini(&all);
    points_fini(&scratch);
}
END_TEST

static void
put_crc(struct buf *b)
{
    b->size -= BLOCK_CRC_SIZE;
    buf_put_u32(b, block_crc(buf_slice(b), BASE));
}

START_TEST(one_block_that_is_wrong_is_rejected)
{
    struct points p = { 0 };
    struct buf b = BUF_INIT;
    struct row_blocks parts = { .split = BUF_INIT };

    for (int64_t i = 0; i < 7; i++)
        ck_assert(points_add(
            &p, (struct point){
                    ((int64_t)BASE + i * HOUR_S) * 1000, { .i = i }, false }));
    /* The seventh hour is not of this row, but of one of a day. */
    block_encode_row(&p, BASE, 24, &b);
    rejects(buf_slice(&b), "row");
    ck_assert_int_eq(row_blocks_of(&day, BASE, buf_slice(&b), &parts, NULL),
                     ST_OK);
    b.data[1] = 6;
    put_crc(&b);
    rejects(buf_slice(&b), "block: invalid header");
    b.data[1] = 0;
    put_crc(&b);
    rejects(buf_slice(&b), "row");
    ck_assert_int_eq(row_blocks_of(&one, BASE, buf_slice(&b), &parts, NULL),
                     ST_CORRUPT);
    buf_clear(&b);
    p.len = 6;
    block_encode_row(&p, BASE, 6, &b);
    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        rejects(buf_slice(&b), "");
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        rejects(slice_of(b.data, i / 8), "");
    }
    ck_assert_int_eq(row_blocks_of(&six, BASE, buf_slice(&b), &parts, NULL),
                     ST_OK);
    row_blocks_fini(&parts);
    buf_fini(&b);
    points_fini(&p);
}
END_TEST

TEST_MAIN("row_value", TEST(the_documented_value), TEST(hours_come_back),
          TEST(few_points_are_one_block),
          TEST(one_block_that_is_wrong_is_rejected),
          LOOP(invalid_values_are_rejected, invalid),
          TEST(every_flipped_bit_and_every_cut_is_seen),
          TEST(hours_are_numbered))
