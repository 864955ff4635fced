/* Codes of keys and values in an omap. */
#include "storage/kv/rados/omap_code.h"

#define ESCAPE 0x02

void
omap_encode(struct buf *out, struct slice bytes)
{
    uint8_t *to;

    buf_make_room(out, 2 * bytes.size + 1);
    to = out->data + out->size;
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t b = bytes.data[i];

        if (b <= ESCAPE) {
            *to++ = ESCAPE;
            b = (uint8_t)(b + ESCAPE);
        }
        *to++ = b;
    }
    out->size = (size_t)(to - out->data);
}

void
omap_encode_key(struct buf *out, struct slice key)
{
    omap_encode(out, key);
    buf_put_u8(out, OMAP_END);
}

bool
omap_decode_key(struct buf *out, struct slice code)
{
    uint8_t *to;
    size_t end = code.size - 1;

    if (code.size == 0 || code.data[end] != OMAP_END)
        return false;
    buf_make_room(out, code.size);
    to = out->data + out->size;
    for (size_t i = 0; i < end; i++) {
        uint8_t b = code.data[i];

        if (b < ESCAPE)
            return false;
        if (b == ESCAPE) {
            if (++i == end || code.data[i] < ESCAPE ||
                code.data[i] > 2 * ESCAPE)
                return false;
            b = (uint8_t)(code.data[i] - ESCAPE);
        }
        *to++ = b;
    }
    out->size = (size_t)(to - out->data);
    return true;
}

bool
omap_value_needs_zero(struct slice value)
{
    return value.size == 0 || value.data[0] == 0;
}

void
omap_encode_value(struct buf *out, struct slice value)
{
    buf_make_room(out, value.size + 1);
    if (omap_value_needs_zero(value))
        buf_put_u8(out, 0);
    buf_put_slice(out, value);
}

struct slice
omap_decode_value(struct slice stored)
{
    return stored.size > 0 && stored.data[0] == 0
               ? slice_of(stored.data + 1, stored.size - 1)
               : stored;
}

void
omap_copy_code(struct buf *out, struct slice code)
{
    buf_clear(out);
    buf_make_room(out, code.size + 1);
    buf_put_slice(out, code);
}
