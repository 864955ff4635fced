/* See storage/block/row_value.h. */
#include "config.h"

#include "storage/block/row_value.h"

#include "base/crc32c.h"
#include "base/cursor.h"

#define ROW_VERSION 1
#define CRC_SIZE    4

uint32_t
row_value_crc(struct slice bytes, uint32_t base)
{
    uint8_t b[4];

    key_put_uint(b, base, sizeof b);
    return crc32c_more(crc32c(slice_of(b, sizeof b)), bytes);
}

enum status
row_hours_begin(const struct key_layout *s, uint32_t base, struct slice value,
                struct row_hours *out, struct error *e)
{
    size_t size = value.size - CRC_SIZE;
    struct cursor c;
    uint64_t hours;

    *out = (struct row_hours){ .base = base };
    if (value.size <= CRC_SIZE || value.data[0] != ROW_VERSION)
        return error_set(e, ST_CORRUPT, "row: not one of version %u",
                         ROW_VERSION);
    if (key_get_uint(value.data + size, CRC_SIZE) !=
        row_value_crc(slice_of(value.data, size), base))
        return error_set(e, ST_CORRUPT, "row: checksum mismatch");
    c = cursor_of(slice_of(value.data + 1, size - 1));
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
    if (c.failed || size > cursor_left(&c) || size == 0) {
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
                              "row: invalid block length (%zu bytes left)",
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

void
row_value_put(const struct key_layout *s, uint32_t base,
              const struct row_parts *parts, struct buf *out)
{
    size_t start = out->size;
    uint32_t hours = 0;

    for (unsigned i = 0; i < s->row_hours; i++)
        hours |= (uint32_t)(parts->blocks[i].size > 0) << i;
    if (hours == 0)
        return;
    buf_put_u8(out, ROW_VERSION);
    buf_put_varint(out, hours);
    for (; hours != 0; hours &= hours - 1) {
        struct slice block = parts->blocks[__builtin_ctz(hours)];

        if ((hours & (hours - 1)) != 0)
            buf_put_varint(out, block.size);
        buf_put_slice(out, block);
    }
    if (!out->failed)
        buf_put_u32(
            out, row_value_crc(slice_of(out->data + start, out->size - start),
                               base));
}
