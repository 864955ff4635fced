/*
 * Numbers of four bits a piece, the low half of a byte first: the journal's
 * records of points up to version 6, which are read.
 *
 * A step past the end sets 'failed', which sticks, and yields zero.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef STORAGE_NIBBLES_PRIV_H
#define STORAGE_NIBBLES_PRIV_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nibbles_in {
    const uint8_t *at, *end;
    bool half; /* the low half of '*at' was read */
    bool failed;
};

static inline unsigned
nibbles_get_one(struct nibbles_in *in)
{
    unsigned v;

    if (in->at == in->end) {
        in->failed = true;
        return 0;
    }
    v = in->half ? *in->at >> 4 : *in->at & 15;
    in->at += in->half;
    in->half = !in->half;
    return v;
}

static inline uint64_t
nibbles_get(struct nibbles_in *in, unsigned len)
{
    uint64_t v = 0;

    if (in->end - in->at > (ptrdiff_t)sizeof v) {
        unsigned have = len + in->half;

        memcpy(&v, in->at, sizeof v);
        v = le64toh(v);
        if (in->half)
            v = v >> 4 | (uint64_t)in->at[sizeof v] << 60;
        in->at += have / 2;
        in->half = have % 2 != 0;
        return len < 16 ? v & ((UINT64_C(1) << 4 * len) - 1) : v;
    }
    for (unsigned i = 0; i < len; i++)
        v |= (uint64_t)nibbles_get_one(in) << 4 * i;
    return v;
}

static inline uint64_t
nibbles_get_sized(struct nibbles_in *in)
{
    unsigned len = nibbles_get_one(in) + 1;

    return nibbles_get(in, len);
}

#endif
