/* Sixteen bytes a step: each half is mixed by a 64x64 -> 128 bit product whose
 * halves are folded together. */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 u128;

/* Odd constants from the fractional bits of square roots of 2, 3 and 5. */
#define K0 UINT64_C(0x6a09e667f3bcc909)
#define K1 UINT64_C(0xbb67ae8584caa73b)
#define K2 UINT64_C(0x3c6ef372fe94f82b)

static inline uint64_t
fold(uint64_t a, uint64_t b)
{
    u128 p = (u128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t
from_little(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline uint64_t
load8(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return from_little(v);
}

/* Up to eight bytes, the missing ones 0.  Chunks that overlap carry the same
 * bytes, so no loop and no call is needed for any size. */
static inline uint64_t
load(const uint8_t *p, size_t n)
{
    if (n == 8)
        return load8(p);
    if (n >= 4) {
        uint64_t low = p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
                       (uint64_t)p[3] << 24;
        const uint8_t *q = p + n - 4;
        uint64_t high = q[0] | (uint64_t)q[1] << 8 | (uint64_t)q[2] << 16 |
                        (uint64_t)q[3] << 24;

        return low | high << (8 * (n - 4));
    }
    return n == 0 ? 0
                  : p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) |
                        (uint64_t)p[n - 1] << (8 * (n - 1));
}

uint64_t
hash_bytes(const void *data, size_t size, uint64_t seed)
{
    const uint8_t *p = data;
    size_t left = size;
    uint64_t h = seed ^ K0;

    while (left > 16) {
        h = fold(load8(p) ^ K1, load8(p + 8) ^ h);
        p += 16;
        left -= 16;
    }
    if (left > 8)
        h = fold(load8(p) ^ K1, load(p + 8, left - 8) ^ h);
    else if (left > 0)
        h = fold(load(p, left) ^ K2, h ^ K1);
    return fold(h ^ K2, (uint64_t)size ^ K1);
}

uint64_t
hash_random_seed(void)
{
    uint64_t seed;
    struct timespec ts;

    if (getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed)
        return seed;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return fold((uint64_t)ts.tv_nsec ^ K0, (uint64_t)getpid() ^ K1);
}
