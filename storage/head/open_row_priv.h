/* Inside of open rows: from one point to the next. */
#pragma once

#include <string.h>

#include "base/varint.h"
#include "storage/head/open_row.h"

#define TIME_FOLLOWS 1u
#define IS_DOUBLE    2u

/* Of an integer: how many bytes follow, by the upper bits of its control. */
static inline unsigned
int_size(unsigned high)
{
    return high < 60 ? 0 : 1u << (high - 60);
}

static inline uint64_t
get_le(const uint8_t **at, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t) * (*at)++ << (8 * i);
    return v;
}

static inline uint64_t
get_varint(const uint8_t **at)
{
    uint64_t v = 0;
    unsigned shift = 0;

    for (; **at >= 0x80; shift += 7)
        v |= (uint64_t)(*(*at)++ & 0x7f) << shift;
    return v | (uint64_t) * (*at)++ << shift;
}

static inline int64_t
get_step(const uint8_t **at)
{
    uint64_t z = get_varint(at);
    int64_t step = varint_unzigzag(z >> 1);

    return (z & 1) != 0 ? step * 1000 : step;
}

/* True if it is a double. */
static inline __attribute__((always_inline)) bool
read_point(struct point_reader *in, union number *v)
{
    uint8_t control = *in->at++;
    unsigned high = control >> 2;

    if (control & TIME_FOLLOWS)
        in->step = get_step(&in->at);
    in->ts_ms += in->step;
    if (control & IS_DOUBLE) {
        unsigned top = high & 7, bottom = high >> 3;

        in->last_double ^= get_le(&in->at, 8 - top - bottom)
                           << (8 * bottom) % 64;
        in->last_int = 0;
        memcpy(&v->d, &in->last_double, sizeof v->d);
    } else {
        uint64_t z = high < 60 ? high : get_le(&in->at, int_size(high));

        in->last_int += (uint64_t)varint_unzigzag(z);
        in->last_double = 0;
        v->i = (int64_t)in->last_int;
    }
    return (control & IS_DOUBLE) != 0;
}
