/* See storage/open_row.h.  The bytes never leave the process, so a fault in
 * them is ours: INSIST. */
#include "config.h"

#include "storage/open_row.h"

#include <stdlib.h>

#include "base/obj.h"
#include "base/varint.h"

#define TIME_FOLLOWS 1u
#define IS_DOUBLE    2u
#define POINT_BYTES  16 /* the most that one point takes */

static const uint8_t int_sizes[4] = { 1, 2, 4, 8 };

static uint8_t *
put_le(uint8_t *at, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *at++ = (uint8_t)(v >> (8 * i));
    return at;
}

static uint64_t
get_le(const uint8_t **at, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t) * (*at)++ << (8 * i);
    return v;
}

static uint8_t *
put_int(struct open_row *r, uint8_t *control, uint8_t *at, int64_t v)
{
    uint64_t last = r->last_is_double ? 0 : r->last;
    uint64_t z = varint_zigzag((int64_t)((uint64_t)v - last));
    unsigned code;

    r->last = (uint64_t)v;
    r->last_is_double = false;
    if (z < 60) {
        *control |= (uint8_t)(z << 2);
        return at;
    }
    code = z < UINT64_C(1) << 8    ? 0
           : z < UINT64_C(1) << 16 ? 1
           : z < UINT64_C(1) << 32 ? 2
                                   : 3;
    *control |= (uint8_t)((60 + code) << 2);
    return put_le(at, z, int_sizes[code]);
}

static uint8_t *
put_double(struct open_row *r, uint8_t *control, uint8_t *at, double d)
{
    uint64_t bits, x;
    unsigned top, bottom;

    memcpy(&bits, &d, sizeof bits);
    x = bits ^ (r->last_is_double ? r->last : 0);
    r->last = bits;
    r->last_is_double = true;
    top = x == 0 ? 7 : (unsigned)__builtin_clzll(x) / 8;
    bottom = x == 0 ? 1 : (unsigned)__builtin_ctzll(x) / 8;
    *control |= (uint8_t)(IS_DOUBLE | top << 2 | bottom << 5);
    return put_le(at, x >> (8 * bottom) % 64, 8 - top - bottom);
}

static bool
grow(struct open_row *r)
{
    uint32_t cap = r->cap < 24 ? 24 : r->cap + r->cap / 2;
    uint8_t *p = realloc(r->bytes, cap);

    if (p == NULL)
        return false;
    r->bytes = p;
    r->cap = cap;
    return true;
}

bool
open_row_append(struct open_row *r, struct point p)
{
    int32_t offset = (int32_t)(p.ts_ms - (int64_t)r->base * 1000);
    int32_t step = offset - r->last_offset_ms;
    uint8_t *control, *at;

    INSIST(offset >= 0 && offset < ROW_MS);
    if (r->cap - r->size < POINT_BYTES && !grow(r))
        return false;
    control = r->bytes + r->size;
    at = control + 1;
    *control = 0;
    if (step != r->last_step_ms) {
        *control = TIME_FOLLOWS;
        at = varint_put(at, varint_zigzag(step));
        r->last_step_ms = step;
    }
    r->last_offset_ms = offset;
    at = p.is_float ? put_double(r, control, at, p.v.d)
                    : put_int(r, control, at, p.v.i);
    r->size = (uint32_t)(at - r->bytes);
    r->count++;
    return true;
}

void
open_row_fini(struct open_row *r)
{
    free(r->bytes);
    *r = (struct open_row){ 0 };
}

static uint64_t
get_varint(const uint8_t **at)
{
    uint64_t v = 0;
    unsigned shift = 0;

    for (; **at >= 0x80; shift += 7)
        v |= (uint64_t)(*(*at)++ & 0x7f) << shift;
    return v | (uint64_t) * (*at)++ << shift;
}

bool
open_row_unpack(struct slice bytes, uint32_t base, struct points *out)
{
    const uint8_t *at = bytes.data, *end;
    int64_t ts_ms = (int64_t)base * 1000, step = 0;
    uint64_t last_int = 0, last_double = 0;
    size_t len = out->len;

    if (bytes.size == 0) /* there may be no data then */
        return true;
    end = at + bytes.size;
    /* A point takes a byte at the least. */
    if (!points_reserve(out, bytes.size))
        return false;
    while (at < end) {
        uint8_t control = *at++;
        unsigned high = control >> 2;
        union number v;

        if (control & TIME_FOLLOWS)
            step = varint_unzigzag(get_varint(&at));
        ts_ms += step;
        if (control & IS_DOUBLE) {
            unsigned top = high & 7, bottom = high >> 3;

            last_double ^= get_le(&at, 8 - top - bottom) << (8 * bottom) % 64;
            last_int = 0;
            memcpy(&v.d, &last_double, sizeof v.d);
        } else {
            uint64_t z = high < 60 ? high : get_le(&at, int_sizes[high - 60]);

            last_int += (uint64_t)varint_unzigzag(z);
            last_double = 0;
            v.i = (int64_t)last_int;
        }
        out->ts_ms[len] = ts_ms;
        out->v[len] = v;
        out->is_float[len++] = (control & IS_DOUBLE) != 0;
    }
    out->len = len;
    INSIST(at == end);
    return true;
}
