#include "storage/block/row_value.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "storage/block/block_priv.h"
#include "storage/block/point.h"

/* Takes padding and checksum off. */
static enum status
open_value(struct slice *value, uint32_t base, struct error *e)
{
    struct cursor c;

    block_unpad(value);
    if (value->size <= BLOCK_CRC_SIZE || value->data[0] != ROW_OF_HOURS)
        return error_set(e, ST_CORRUPT, "row: not one of several hours");
    value->size -= BLOCK_CRC_SIZE;
    c = cursor_of(slice_of(value->data + value->size, BLOCK_CRC_SIZE));
    if (cursor_u32(&c) != block_crc(*value, base))
        return error_set(e, ST_CORRUPT, "row: checksum mismatch");
    return ST_OK;
}

bool
row_hour_is_elsewhere(struct slice block)
{
    return block.size == 1 && block.data[0] == BLOCK_ELSEWHERE;
}

struct slice
row_hour_elsewhere(void)
{
    static const uint8_t elsewhere[] = { BLOCK_ELSEWHERE };

    return slice_of(elsewhere, sizeof elsewhere);
}

/* What may be the block of an hour in a row of several. */
static bool
is_hour(struct slice block)
{
    return block.size > 0 &&
           (block.data[0] == BLOCK_WITHOUT_CRC || row_hour_is_elsewhere(block));
}

bool
row_is_one_block(const struct key_layout *s, struct slice value)
{
    block_unpad(&value);
    return s->row_hours > 1 && value.size > 1 &&
           value.data[0] == BLOCK_OF_ROW && value.data[1] == s->row_hours;
}

enum status
row_hours_begin(const struct key_layout *s, uint32_t base, struct slice value,
                struct row_hours *out, struct error *e)
{
    struct cursor c;
    uint64_t hours;

    *out = (struct row_hours){
        .left = value, .hours = 1, .base = base, .block_s = HOUR_S
    };
    if (s->row_hours == 1) {
        out->is_bare = true;
        block_unpad(&value);
        return value.size > 0 && (value.data[0] == BLOCK_WITHOUT_CRC ||
                                  value.data[0] == BLOCK_OF_ROW)
                   ? error_set(e, ST_CORRUPT, "row: not the block of an hour")
                   : ST_OK;
    }
    if (row_is_one_block(s, value)) {
        out->is_bare = true;
        out->block_s = key_span_s(s);
        return ST_OK;
    }
    if (open_value(&value, base, e) != ST_OK)
        return ST_CORRUPT;
    c = cursor_of(slice_of(value.data + 1, value.size - 1));
    hours = cursor_varint(&c);
    if (c.failed || hours == 0 || hours >> s->row_hours != 0 ||
        base > UINT32_MAX - (63u - (unsigned)__builtin_clzll(hours)) * HOUR_S)
        return error_set(e, ST_CORRUPT, "row: invalid hours (%#llx of %u)",
                         (unsigned long long)hours, s->row_hours);
    out->hours = (uint32_t)hours;
    out->left = slice_of(c.at, cursor_left(&c));
    return ST_OK;
}

bool
row_hours_next(struct row_hours *h, uint32_t *base, struct slice *block)
{
    uint64_t size = h->left.size;
    struct cursor c;

    if (h->hours == 0)
        return false;
    *base = h->base + (uint32_t)__builtin_ctz(h->hours) * HOUR_S;
    h->hours &= h->hours - 1;
    c = cursor_of(h->left);
    if (h->hours != 0)
        size = cursor_varint(&c);
    if (c.failed || size > cursor_left(&c) ||
        (!h->is_bare && !is_hour(slice_of(c.at, (size_t)size)))) {
        h->bad = true;
        h->hours = 0;
        return false;
    }
    *block = slice_of(c.at, (size_t)size);
    h->left = slice_of(c.at + size, cursor_left(&c) - (size_t)size);
    return true;
}

enum status
row_hours_end(const struct row_hours *h, struct error *e)
{
    return h->bad ? error_set(e, ST_CORRUPT,
                              "row: invalid block length or type (%zu bytes "
                              "left)",
                              h->left.size)
                  : ST_OK;
}

uint64_t
row_points(const struct key_layout *s, uint32_t base, struct slice value)
{
    struct row_hours hours;
    struct slice block;
    struct summary summary;
    uint64_t points = 0;

    if (row_hours_begin(s, base, value, &hours, NULL) != ST_OK)
        return 0;
    while (row_hours_next(&hours, &base, &block))
        if (block_summary(block, base, &summary, NULL) == ST_OK)
            points += summary.count;
    return points;
}

/* Makes hours of one block of all. */
static enum status
split_block(const struct key_layout *s, uint32_t base, struct slice block,
            struct row_blocks *out, struct error *e)
{
    struct points all = { 0 }, hour;
    size_t ends[ROW_HOURS_MAX] = { 0 }, begin = 0;
    enum status status = block_decode(block, base, &all, e);

    buf_clear(&out->split);
    for (size_t i = 0; status == ST_OK && i < all.len; i += hour.len) {
        uint32_t at;

        hour = points_of_hour(&all, i);
        at = hour_base(hour.ts_ms[0]);
        block_encode(&hour, at, &out->split);
        ends[(at - base) / HOUR_S] = out->split.size;
    }
    points_fini(&all);
    if (status == ST_OK && out->split.failed)
        status = error_set(e, ST_LIMIT, "no memory for the hours of a row");
    for (unsigned i = 0; i < s->row_hours && status == ST_OK; i++) {
        if (ends[i] == 0)
            continue;
        out->blocks[i] = slice_of(out->split.data + begin, ends[i] - begin);
        begin = ends[i];
    }
    return status;
}

enum status
row_blocks_of(const struct key_layout *s, uint32_t base, struct slice value,
              struct row_blocks *out, struct error *e)
{
    struct row_hours h;
    struct slice block;
    uint32_t at;
    enum status status = row_hours_begin(s, base, value, &h, e);

    memset(out->blocks, 0, sizeof out->blocks);
    if (status != ST_OK)
        return status;
    if (row_is_one_block(s, value))
        return split_block(s, base, value, out, e);
    while (row_hours_next(&h, &at, &block))
        out->blocks[(at - base) / HOUR_S] = block;
    if (h.bad) /* of which no hour is to be trusted */
        memset(out->blocks, 0, sizeof out->blocks);
    return row_hours_end(&h, e);
}

void
row_blocks_fini(struct row_blocks *p)
{
    buf_fini(&p->split);
    memset(p->blocks, 0, sizeof p->blocks);
}

enum status
row_block_delete(struct slice *block, uint32_t base, int64_t from_ms,
                 int64_t to_ms, struct buf *out, struct points *deleted,
                 struct error *e)
{
    struct points all = { 0 }, kept = { 0 };
    enum status status = block_decode(*block, base, &all, e);

    points_clear(deleted);
    buf_clear(out);
    if (status == ST_OK && !points_split(&all, from_ms, to_ms, deleted, &kept))
        status = ST_LIMIT;
    if (status == ST_OK && deleted->len > 0) {
        if (kept.len > 0)
            block_encode(&kept, base, out);
        *block = buf_slice(out);
        status = out->failed ? ST_LIMIT : ST_OK;
    }
    points_fini(&all);
    points_fini(&kept);
    return status == ST_LIMIT
               ? error_set(e, ST_BUSY, "no memory to delete points")
               : status;
}

/* A block as it stands in a row, which has the checksum of all. */
static struct slice
without_crc(struct slice block)
{
    if (block.data[0] == BLOCK_WITHOUT_CRC || row_hour_is_elsewhere(block))
        return block;
    INSIST(block.data[0] == BLOCK_VERSION && block.size > BLOCK_CRC_SIZE);
    return slice_of(block.data, block.size - BLOCK_CRC_SIZE);
}

void
row_value_put(const struct key_layout *s, uint32_t base,
              const struct row_blocks *parts, struct buf *out)
{
    size_t start = out->size;
    uint32_t hours = 0;

    if (s->row_hours == 1) {
        buf_put_slice(out, parts->blocks[0]);
        return;
    }
    for (unsigned i = 0; i < s->row_hours; i++)
        hours |= (uint32_t)(parts->blocks[i].size > 0) << i;
    if (hours == 0)
        return;
    buf_put_u8(out, ROW_OF_HOURS);
    buf_put_varint(out, hours);
    for (; hours != 0; hours &= hours - 1) {
        struct slice block = without_crc(parts->blocks[__builtin_ctz(hours)]);

        if ((hours & (hours - 1)) != 0)
            buf_put_varint(out, block.size);
        buf_put_u8(out, row_hour_is_elsewhere(block) ? BLOCK_ELSEWHERE
                                                     : BLOCK_WITHOUT_CRC);
        buf_put_slice(out, slice_of(block.data + 1, block.size - 1));
    }
    if (!out->failed)
        buf_put_u32(
            out,
            block_crc(slice_of(out->data + start, out->size - start), base));
}

/* Are they few points of several hours?  What is damaged stays as it is. */
static bool
are_few(const struct key_layout *s, uint32_t base,
        const struct row_blocks *parts)
{
    size_t points = 0, hours = 0;

    for (unsigned i = 0; i < s->row_hours; i++) {
        struct slice block = parts->blocks[i];
        struct summary summary;

        if (block.size == 0)
            continue;
        if (block_summary(block, base + i * HOUR_S, &summary, NULL) != ST_OK)
            return false;
        points += summary.count;
        hours++;
    }
    return hours > 1 && points <= ROW_BLOCK_POINTS &&
           points <= hours * ROW_BLOCK_HOUR_POINTS;
}

static bool
unpack_parts(const struct key_layout *s, uint32_t base,
             const struct row_blocks *parts, struct points *out)
{
    bool good = true;

    points_clear(out);
    for (unsigned i = 0; i < s->row_hours && good; i++)
        good = parts->blocks[i].size == 0 ||
               block_decode(parts->blocks[i], base + i * HOUR_S, out, NULL) ==
                   ST_OK;
    return good;
}

void
row_value_pack(const struct key_layout *s, uint32_t base,
               const struct row_blocks *parts, struct points *scratch,
               struct buf *out)
{
    if (are_few(s, base, parts) && unpack_parts(s, base, parts, scratch))
        block_encode_row(scratch, base, s->row_hours, out);
    else
        row_value_put(s, base, parts, out);
}
