/* What LevelDB's files have in common: numbers of a fixed size are
 * little-endian, and a CRC-32C is masked before it is stored.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdint.h>

static inline uint64_t
level_number(const uint8_t *p, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = width; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static inline uint32_t
level_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}
