/* Masks from arbitrary fields: a hint matches, is not before the key, and is
 * the key itself exactly when that matches; with up to two bytes it is the
 * smallest one, found by trying all.
 *
 *     <fields: 1> { <kind> <width> <bytes of the kind> }... <key> */
#include "storage/row/mask.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "storage/row/key.h"
#include "tests/fuzz/target.h"

static void
add_field(struct mask *m, struct cursor *c)
{
    uint8_t kind = cursor_u8(c) % 4;
    size_t width = cursor_u8(c) % 12;
    unsigned number = width == 0 ? 1 : width > 8 ? 8 : (unsigned)width;
    uint64_t numbers[20];
    size_t len;

    switch (kind) {
    case 0:
        mask_add_fixed(m, cursor_bytes(c, width));
        break;
    case 1:
        mask_add_any(m, width);
        break;
    case 2:
        len = cursor_u8(c) % 20;
        for (size_t i = 0; i < len; i++)
            numbers[i] = cursor_uint(c, number);
        mask_add_set(m, numbers, len, number);
        break;
    default: {
        uint64_t lo = cursor_uint(c, number), hi = cursor_uint(c, number);
        uint64_t step = cursor_uint(c, number);

        mask_add_steps(m, lo, hi, step == 0 ? 1 : step, number);
    }
    }
}

/* The smallest key of one or two bytes, by trying all. */
static bool
try_all(const struct mask *m, struct slice key, size_t size, uint8_t *out)
{
    for (unsigned v = 0; v < 1u << 8 * size; v++) {
        key_put_uint(out, v, (unsigned)size);
        if (slice_cmp(slice_of(out, size), key) >= 0 &&
            mask_match(m, slice_of(out, size)))
            return true;
    }
    return false;
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct mask *m = mask_new();
    uint8_t hint[8 * 12], slow[2];
    struct slice key, h;
    size_t found;

    for (unsigned i = cursor_u8(&c) % 8; i-- > 0;)
        add_field(m, &c);
    key = cursor_bytes(&c, cursor_left(&c));
    found = mask_hint(m, key, hint);
    h = slice_of(hint, found);
    if (found > 0) {
        INSIST(mask_match(m, h));
        INSIST(slice_cmp(h, key) >= 0);
        INSIST(mask_match(m, key) == slice_eq(h, key));
    } else
        INSIST(key.size == 0 || !mask_match(m, key)); /* of no fields */
    for (size_t n = 1; n <= 2; n++) {
        INSIST(try_all(m, key, n, slow) == (found == n));
        INSIST(found != n || memcmp(slow, hint, n) == 0);
    }
    mask_free(&m);
    return 0;
}
