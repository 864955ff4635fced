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

enum status
row_hours_begin(const struct key_layout *s, uint32_t base, struct slice value,
                struct row_hours *out, struct error *e)
{
    struct cursor c;
    uint64_t hours;

    *out = (struct row_hours){ .left = value, .hours = 1, .base = base };
    if (s->row_hours == 1) {
        out->is_bare = true;
        block_unpad(&value);
        return value.size > 0 && value.data[0] == BLOCK_WITHOUT_CRC
                   ? error_set(e, ST_CORRUPT, "row: block without a checksum")
                   : ST_OK;
    }
    if (open_value(&value, base, e) != ST_OK)
        return ST_CORRUPT;
    c = cursor_of(slice_of(value.data + 1, value.size - 1));
    hours = cursor_varint(&c);
    if (c.failed || hours == 0 || hours >> s->row_hours != 0)
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
        (!h->is_bare && (size == 0 || c.at[0] != BLOCK_WITHOUT_CRC))) {
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

enum status
row_parts_of(const struct key_layout *s, uint32_t base, struct slice value,
             struct row_parts *out, struct error *e)
{
    struct row_hours h;
    struct slice block;
    uint32_t at;
    enum status status = row_hours_begin(s, base, value, &h, e);

    *out = (struct row_parts){ .blocks = { { NULL, 0 } } };
    if (status != ST_OK)
        return status;
    while (row_hours_next(&h, &at, &block))
        out->blocks[(at - base) / HOUR_S] = block;
    if (h.bad) /* of which no hour is to be trusted */
        *out = (struct row_parts){ .blocks = { { NULL, 0 } } };
    return row_hours_end(&h, e);
}

/* A block as it stands in a row, which has the checksum of all. */
static struct slice
without_crc(struct slice block)
{
    if (block.data[0] == BLOCK_WITHOUT_CRC)
        return block;
    INSIST(block.data[0] == BLOCK_VERSION && block.size > BLOCK_CRC_SIZE);
    return slice_of(block.data, block.size - BLOCK_CRC_SIZE);
}

void
row_value_put(const struct key_layout *s, uint32_t base,
              const struct row_parts *parts, struct buf *out)
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
        buf_put_u8(out, BLOCK_WITHOUT_CRC);
        buf_put_slice(out, slice_of(block.data + 1, block.size - 1));
    }
    if (!out->failed)
        buf_put_u32(
            out,
            block_crc(slice_of(out->data + start, out->size - start), base));
}
