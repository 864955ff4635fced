/* Values of rows: arbitrary bytes are rejected, or come apart into hours that
 * make the same value again.  The first byte says how many hours a row has,
 * whether the checksum is to be put right, and whether it is the last row. */
#include "storage/block/row_value.h"

#include "base/obj.h"
#include "storage/block/block_priv.h"
#include "tests/fuzz/target.h"

static uint32_t row_base;

/* One by one as all at once. */
static void
check_hours(const struct key_layout *s, struct slice value,
            const struct row_blocks *parts)
{
    struct row_hours h;
    struct slice block;
    uint32_t base, before = 0;
    size_t len = 0, want = 0;

    INSIST(row_hours_begin(s, row_base, value, &h, NULL) == ST_OK);
    if (row_is_one_block(s, value))
        return;
    while (row_hours_next(&h, &base, &block)) {
        INSIST(base > before && base - row_base < key_span_s(s));
        INSIST(parts->blocks[row_hour_of(s, base)].data == block.data);
        before = base;
        len++;
    }
    INSIST(row_hours_end(&h, NULL) == ST_OK);
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        want += parts->blocks[i].size > 0;
    INSIST(len == want || s->row_hours == 1);
}

/* Its hours have its points. */
static void
check_one_block(const struct key_layout *s, struct slice value,
                const struct row_blocks *parts)
{
    struct points all = { 0 }, hours = { 0 };

    INSIST(block_decode(value, row_base, &all, NULL) == ST_OK);
    for (unsigned i = 0; i < s->row_hours; i++)
        if (parts->blocks[i].size > 0)
            INSIST(block_decode(parts->blocks[i], row_base + i * HOUR_S, &hours,
                                NULL) == ST_OK);
    INSIST(all.len == hours.len);
    INSIST(memcmp(all.ts_ms, hours.ts_ms, all.len * sizeof *all.ts_ms) == 0);
    INSIST(memcmp(all.v, hours.v, all.len * sizeof *all.v) == 0);
    INSIST(memcmp(all.is_float, hours.is_float, all.len) == 0);
    points_fini(&all);
    points_fini(&hours);
}

/* Values that the store never writes may be split, too: blocks that are none.
 */
static bool
may_be_put(const struct row_blocks *parts)
{
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        if (parts->blocks[i].size > 0 &&
            parts->blocks[i].data[0] != BLOCK_WITHOUT_CRC &&
            !row_hour_is_elsewhere(parts->blocks[i]))
            return false;
    return true;
}

FUZZ_TARGET(data, size)
{
    static const uint8_t hours[] = { 1, 2, 3, 4, 6, 8, 12, 24 };
    struct key_layout s = KEY_LAYOUT_DEFAULT;
    struct buf value = BUF_INIT, again = BUF_INIT, third = BUF_INIT;
    struct row_blocks parts = { .split = BUF_INIT }, back = parts;
    struct error e;
    enum status st;

    if (size == 0)
        return 0;
    s.row_hours = hours[data[0] % 8];
    row_base = key_span_base(&s, data[0] & 16 ? UINT32_MAX : 1356998400u);
    buf_put(&value, data + 1, size - 1);
    if (data[0] & 8)
        buf_put_u32(&value, block_crc(buf_slice(&value), row_base));
    st = row_blocks_of(&s, row_base, buf_slice(&value), &parts, &e);
    INSIST(st == ST_OK || (st == ST_CORRUPT && e.text[0] != '\0'));
    if (st == ST_OK)
        check_hours(&s, buf_slice(&value), &parts);
    if (st == ST_OK && row_is_one_block(&s, buf_slice(&value)))
        check_one_block(&s, buf_slice(&value), &parts);
    if (st == ST_OK && s.row_hours > 1 && may_be_put(&parts)) {
        row_value_put(&s, row_base, &parts, &again);
        INSIST(row_blocks_of(&s, row_base, buf_slice(&again), &back, &e) ==
               ST_OK);
        row_value_put(&s, row_base, &back, &third);
        INSIST(slice_eq(buf_slice(&again), buf_slice(&third)));
    }
    buf_fini(&value);
    buf_fini(&again);
    buf_fini(&third);
    row_blocks_fini(&parts);
    row_blocks_fini(&back);
    return 0;
}
