/* Out of open rows.  Bytes of another process go through open_row_check()
 * first, so a fault in what is read is ours: INSIST. */
#include "storage/head/open_row_priv.h"

#include "base/cursor.h"
#include "base/obj.h"

#define SHORTS_REACH 240 /* eight steps of one byte: as far as they lead */
#define INTS_AT_ONCE 8   /* before it is tried again whether all are short */

static void
raise_greatest(struct spacing *s, int64_t v)
{
    uint64_t far = magnitude(v);

    s->greatest = far > s->greatest ? far : s->greatest;
}

/* A step that leads to another time of the hour. */
static bool
check_step(struct cursor *c, int64_t *step_ms)
{
    uint64_t z = cursor_varint(c);
    int64_t step = varint_unzigzag(z >> 1);

    if (c->failed || step <= -HOUR_MS || step >= HOUR_MS)
        return false;
    *step_ms = (z & 1) != 0 ? step * 1000 : step;
    return true;
}

bool
open_row_check(struct slice bytes, uint32_t count)
{
    struct cursor c = cursor_of(bytes);
    int64_t offset_ms = 0, step_ms = 0;
    uint32_t len = 0;

    for (; cursor_left(&c) > 0; len++) {
        uint8_t control = cursor_u8(&c);
        unsigned high = control >> 2, size;

        if ((control & TIME_FOLLOWS) != 0 && !check_step(&c, &step_ms))
            return false;
        offset_ms += step_ms;
        if ((control & IS_DOUBLE) == 0)
            size = int_size(high);
        else if ((high & 7) + (high >> 3) > 8)
            return false;
        else
            size = 8 - (high & 7) - (high >> 3);
        (void)cursor_bytes(&c, size);
        if (c.failed || offset_ms < 0 || offset_ms >= HOUR_MS || len == count)
            return false;
    }
    return len == count && count > 0;
}

bool
open_row_unpack(struct slice bytes, uint32_t count, uint32_t base,
                struct points *out)
{
    struct point_reader in = { .at = bytes.data,
                               .ts_ms = (int64_t)base * 1000 };
    const uint8_t *end;
    size_t len = out->len;

    if (bytes.size == 0) /* there may be no data then */
        return true;
    end = bytes.data + bytes.size;
    if (!points_reserve(out, count))
        return false;
    while (in.at < end) {
        out->is_float[len] = read_point(&in, &out->v[len]);
        out->ts_ms[len++] = in.ts_ms;
    }
    INSIST(in.at == end && len == out->len + count);
    out->len = len;
    return true;
}

/* -- evenly spaced points -------------------------------------------------- */

/* Are these eight points of one byte each, integers at the usual step? */
static inline bool
are_shorts(uint64_t w)
{
    /* z >= 60: the upper four bits are set. */
    uint64_t far = w & (w << 1) & (w << 2) & (w << 3);

    return ((w & UINT64_C(0x0303030303030303)) |
            (far & UINT64_C(0x8080808080808080))) == 0;
}

/* The same, with their values behind '*last', which becomes the last of them:
 * all eight steps are made from zig-zag at once. */
static size_t
read_shorts(const uint8_t *at, const uint8_t *end, uint64_t *last,
            union number *v, struct spacing *s)
{
    uint64_t x = *last, w;
    int64_t min = (int64_t)x, max = (int64_t)x;
    size_t len = 0;

    for (; end - at >= 8; at += 8, len += 8) {
        memcpy(&w, at, sizeof w);
        if (!are_shorts(w))
            break;
        w = w >> 2 & UINT64_C(0x3f3f3f3f3f3f3f3f);
        w = (w >> 1 & UINT64_C(0x1f1f1f1f1f1f1f1f)) ^
            (w & UINT64_C(0x0101010101010101)) * 0xff;
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            x += (uint64_t)(int8_t)(w >> (8 * i));
            v[len + i].i = (int64_t)x;
        }
        min = (int64_t)x < min ? (int64_t)x : min;
        max = (int64_t)x > max ? (int64_t)x : max;
    }
    *last = x;
    if (len > 0) { /* those between are near */
        raise_greatest(s, (int64_t)((uint64_t)min - SHORTS_REACH));
        raise_greatest(s, (int64_t)((uint64_t)max + SHORTS_REACH));
    }
    return len;
}

/* Doubles, as long as the step is the same and there are bytes behind to load
 * at once. */
static size_t
read_doubles(struct point_reader *in, const uint8_t *end, union number *v)
{
    const uint8_t *at = in->at;
    uint64_t x = in->last_double, w;
    size_t len = 0;

    while (end - at > 8 && (*at & (TIME_FOLLOWS | IS_DOUBLE)) == IS_DOUBLE) {
        unsigned top = *at >> 2 & 7, bottom = *at >> 5, n = 8 - top - bottom;

        memcpy(&w, at + 1, sizeof w);
        w = n == 0 ? 0 : w << (8 * (8 - n)) >> (8 * (8 - n));
        x ^= w << (8 * bottom);
        v[len++].i = (int64_t)x;
        at += 1 + n;
    }
    in->at = at;
    in->last_double = x;
    return len;
}

/* Integers, likewise, and at most 'most'.  How many bytes one takes is computed
 * without a branch: those of a counter take one or another, as it comes. */
static size_t
read_ints(struct point_reader *in, const uint8_t *end, size_t most,
          union number *v, struct spacing *s)
{
    const uint8_t *at = in->at;
    uint64_t x = in->last_int, w;
    int64_t min = INT64_MAX, max = INT64_MIN;
    size_t len = 0;

    for (; len < most && end - at > 8; len++) {
        unsigned high = *at >> 2, follow = high >= 60, size;

        if ((*at & (TIME_FOLLOWS | IS_DOUBLE)) != 0)
            break;
        size = follow << (high & 3);
        memcpy(&w, at + 1, sizeof w);
        w &= ~UINT64_C(0) >> (64 - 8 * size) % 64;
        x += (uint64_t)varint_unzigzag(follow ? w : high);
        v[len].i = (int64_t)x;
        min = v[len].i < min ? v[len].i : min;
        max = v[len].i > max ? v[len].i : max;
        at += 1 + size;
    }
    in->at = at;
    in->last_int = x;
    if (len > 0) {
        raise_greatest(s, min);
        raise_greatest(s, max);
    }
    return len;
}

/* Values of one kind, as long as the step is the same; returns how many. */
static inline __attribute__((always_inline)) size_t
read_even(struct point_reader *in, const uint8_t *end, uint8_t kind,
          union number *v, struct spacing *s)
{
    struct point_reader x = *in;
    size_t len = 0;

    if (kind == IS_DOUBLE)
        len = read_doubles(&x, end, v);
    while (x.at < end && (*x.at & (TIME_FOLLOWS | IS_DOUBLE)) == kind) {
        size_t n = 0;

        if (kind != IS_DOUBLE) {
            n = read_shorts(x.at, end, &x.last_int, v + len, s);
            x.at += n;
            n += read_ints(&x, end, INTS_AT_ONCE, v + len + n, s);
        }
        if (n == 0) {
            (void)read_point(&x, &v[len]);
            if (kind != IS_DOUBLE)
                raise_greatest(s, v[len].i);
            n = 1;
        }
        len += n;
    }
    *in = x;
    return len;
}

bool
open_row_unpack_even(struct slice bytes, uint32_t count, uint32_t base,
                     struct points *out, struct spacing *s)
{
    struct point_reader in = { .at = bytes.data,
                               .ts_ms = (int64_t)base * 1000 };
    const uint8_t *end;
    union number *v;
    size_t len = 1;

    *s = (struct spacing){ .even = false };
    if (bytes.size == 0 || !points_reserve(out, count))
        return false;
    end = bytes.data + bytes.size;
    v = out->v + out->len;
    s->is_float = read_point(&in, &v[0]);
    s->first_ms = in.ts_ms;
    if (in.at < end) {
        if (read_point(&in, &v[1]) != s->is_float)
            return false;
        s->step_ms = in.step;
        len = 2;
    }
    for (size_t i = 0; i < len && !s->is_float; i++)
        raise_greatest(s, v[i].i);
    len += s->is_float ? read_even(&in, end, IS_DOUBLE, v + len, s)
                       : read_even(&in, end, 0, v + len, s);
    s->even = in.at == end && (len == 1 || s->step_ms > 0);
    out->len += s->even ? len : 0;
    return s->even;
}

/* Behind a point, without its value; true if it is a double. */
static inline bool
skip_point(struct point_reader *in)
{
    uint8_t control = *in->at++;
    unsigned high = control >> 2;

    if (control & TIME_FOLLOWS)
        in->step = get_step(&in->at);
    in->ts_ms += in->step;
    if (control & IS_DOUBLE)
        in->at += 8 - (high & 7) - (high >> 3);
    else
        in->at += int_size(high);
    return (control & IS_DOUBLE) != 0;
}

void
open_row_describe(struct slice bytes, uint32_t base, struct spacing *s,
                  struct point_times *times)
{
    struct point_reader in = { .at = bytes.data,
                               .ts_ms = (int64_t)base * 1000 };
    const uint8_t *end = bytes.data + bytes.size;
    int64_t last_ms = 0;

    *s = (struct spacing){ .even = true };
    for (size_t len = 0; in.at < end; len++) {
        int64_t step_ms = in.step;
        bool is_float = skip_point(&in);

        if (len == 0) {
            s->is_float = is_float;
            s->first_ms = last_ms = in.ts_ms;
        } else if (len == 1) {
            s->step_ms = step_ms = in.step;
        }
        s->even = s->even && is_float == s->is_float &&
                  (len == 0 || (in.step > 0 && in.step == step_ms));
        /* Times of an even row ascend: the first and the last will do. */
        if (len == 0 || !s->even) {
            point_times_widen(times, last_ms, last_ms);
            point_times_widen(times, in.ts_ms, in.ts_ms);
        }
        if (len > 0 && !s->is_float && !is_float) {
            size_t n;
            const uint8_t *at = in.at;
            const uint8_t *from = at;
            uint64_t w;

            /* Eight at a time, as long as all of them are short. */
            for (; end - at >= 8; at += 8) {
                memcpy(&w, at, sizeof w);
                if (!are_shorts(w))
                    break;
            }
            n = (size_t)(at - from);
            in.at += n;
            in.ts_ms += (int64_t)n * in.step;
        }
        last_ms = in.ts_ms;
    }
    if (bytes.size > 0)
        point_times_widen(times, last_ms, last_ms);
}

/* The values are found as if 0 were before them, and then moved to where the
 * last one is. */
bool
open_row_unpack_end(struct slice bytes, uint32_t count, union number last,
                    struct points *out, struct spacing *s)
{
    struct point_reader in = { .at = bytes.data };
    const uint8_t *end = bytes.data + bytes.size;
    uint64_t is = (uint64_t)last.i, by;
    bool is_float = s->is_float;
    union number *v;
    size_t len;

    if (!points_reserve(out, count))
        return false;
    v = out->v + out->len;
    s->greatest = 0;
    len = is_float ? read_even(&in, end, IS_DOUBLE, v, s)
                   : read_even(&in, end, 0, v, s);
    INSIST(in.at == end && len == count && len > 0);
    by = is_float ? is ^ (uint64_t)v[len - 1].i : is - (uint64_t)v[len - 1].i;
    for (size_t i = 0; i < len; i++)
        v[i].i =
            (int64_t)(is_float ? (uint64_t)v[i].i ^ by : (uint64_t)v[i].i + by);
    if (!is_float) {
        /* All values are moved by it. */
        if (__builtin_add_overflow(s->greatest, magnitude((int64_t)by),
                                   &s->greatest))
            s->greatest = UINT64_MAX;
    }
    out->len += len;
    return true;
}
