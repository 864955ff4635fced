/* What the files of LevelDB have in common.  Logs and MANIFEST are blocks of
 * 32 KB, in them records, which one entry may span:
 *
 *     record    <masked crc32c:4> <length:2> <type:1> <bytes>
 *     type      1 a whole entry, or its 2 first, 3 middle, 4 last chunk
 *
 * Less than seven bytes at the end of a block are passed over.  Numbers of a
 * fixed size are little-endian.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

#define LEVEL_LOG_BLOCK  ((size_t)32768)
#define LEVEL_LOG_HEADER ((size_t)7)

enum level_chunk {
    LEVEL_NONE,
    LEVEL_WHOLE,
    LEVEL_FIRST,
    LEVEL_MIDDLE,
    LEVEL_LAST
};

static inline uint64_t
level_number(const uint8_t *p, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = width; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* LevelDB turns and shifts a CRC before it is stored next to what it is of. */
static inline uint32_t
level_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}
