/* Numbers of seven bits a byte, low first, where the room is there already
 * (base/buf.h asks for it): the hot paths of open rows and WAL records.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdint.h>

#define VARINT_MAX 10 /* bytes */

/* 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t
varint_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t
varint_unzigzag(uint64_t u)
{
    return (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

/* Writes VARINT_MAX bytes at the most; returns where they end. */
static inline uint8_t *
varint_put(uint8_t *at, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *at++ = (uint8_t)(v | 0x80);
    *at++ = (uint8_t)v;
    return at;
}
