/* See base/crc32c.h. */
#include "base/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* One nibble a step: 64 bytes of table, no start-up, fast enough as a twin. */
static const uint32_t nibbles[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
    0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t
crc32c_plain(uint32_t crc, struct slice s)
{
    crc = ~crc;
    for (size_t i = 0; i < s.size; i++) {
        crc ^= s.data[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((__target__("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, struct slice s)
{
    uint64_t c = ~crc;
    size_t i = 0;

    for (; s.size - i >= 8; i += 8) {
        uint64_t v;

        memcpy(&v, s.data + i, 8);
        c = _mm_crc32_u64(c, v);
    }
    for (; i < s.size; i++)
        c = _mm_crc32_u8((uint32_t)c, s.data[i]);
    return ~(uint32_t)c;
}
#endif

uint32_t
crc32c_more(uint32_t crc, struct slice s)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, s);
#endif
    return crc32c_plain(crc, s);
}

uint32_t
crc32c(struct slice s)
{
    return crc32c_more(0, s);
}
