/* Row keys: what parses is what key_row() writes, byte for byte.
 *
 *     <tag-key set: salt, buckets - 1, widths> <key> */
#include "storage/row/key.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct key_layout s = { .salt_width = cursor_u8(&c) % 2 };
    unsigned buckets = 1u + cursor_u8(&c);
    uint8_t key[ROW_KEY_MAX];
    struct tsuid tsuid;
    struct slice input;
    uint32_t base;
    size_t n;

    s.row_hours = 1;
    s.salt_buckets = (uint16_t)(s.salt_width == 0 ? 1 : buckets);
    s.metric_width = (uint8_t)(1 + cursor_u8(&c) % 8);
    s.tagk_width = (uint8_t)(1 + cursor_u8(&c) % 8);
    s.tagv_width = (uint8_t)(1 + cursor_u8(&c) % 8);
    input = cursor_bytes(&c, cursor_left(&c));
    if (key_row_parse(&s, input, &base, &tsuid, NULL) != ST_OK)
        return 0;
    INSIST(tsuid_is_valid(&s, tsuid_slice(&tsuid)));
    n = key_row(&s, tsuid_slice(&tsuid), base, key);
    INSIST(slice_eq(slice_of(key, n), input));
    return 0;
}
