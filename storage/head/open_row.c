/* See storage/head/open_row.h.  Bytes of another process go through
 * open_row_check() first, so a fault in what is read is ours: INSIST. */
#include "storage/head/open_row.h"

#include <math.h>
#include <stdlib.h>

#include "base/obj.h"
#include "base/varint.h"
#include "storage/block/bits.h"

#define TIME_FOLLOWS 1u
#define IS_DOUBLE    2u
#define FIRST_CAP    24
#define POINT_BYTES  16  /* the most that one point takes */
#define SHORTS_REACH 240 /* eight steps of one byte: as far as they lead */
#define INTS_AT_ONCE 8   /* before it is tried again whether all are short */
#define WORTH_SUMMED 128 /* bytes that take longer than to remember */
#define WORTH_MARKED 128
#define MARK_EVERY   24 /* points */

static const uint8_t int_sizes[4] = { 1, 2, 4, 8 };

/* Between two points. */
struct reader {
    const uint8_t *at;
    int64_t ts_ms, step;
    uint64_t last_int, last_double; /* the one that was not last is 0 */
};

/* Of the points in the first 'size' bytes; where to go on.  It lies behind the
 * row's bytes and marks once it was kept. */
struct summary_state {
    uint32_t size;
    bool ordered;         /* so far; if not, there is no more to say */
    struct reader reader; /* its 'at' means nothing */
    struct summary summary;
};

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
    uint64_t bits = double_bits(d), x;
    unsigned top, bottom;

    x = bits ^ (r->last_is_double ? r->last : 0);
    r->last = bits;
    r->last_is_double = true;
    top = x == 0 ? 7 : (unsigned)__builtin_clzll(x) / 8;
    bottom = x == 0 ? 1 : (unsigned)__builtin_ctzll(x) / 8;
    *control |= (uint8_t)(IS_DOUBLE | top << 2 | bottom << 5);
    return put_le(at, x >> (8 * bottom) % 64, 8 - top - bottom);
}

/* What malloc() gives without a rest: 24, 40, 72, 136, 264, 392, 584 ... */
static uint32_t
larger(uint32_t cap)
{
    if (cap < FIRST_CAP)
        return FIRST_CAP;
    return (cap < 256 ? 2 * cap - 8 : (cap + cap / 2) & ~15u) | 8;
}

/* Behind 'cap' bytes: a mark for as many points as they can be. */
static size_t
marks_size(const struct open_row *r, uint32_t cap)
{
    return r->marked ? (cap / MARK_EVERY + 1) * sizeof(uint16_t) : 0;
}

static size_t
state_size(const struct open_row *r)
{
    return r->summed ? sizeof(struct summary_state) : 0;
}

static uint8_t *
state_at(const struct open_row *r)
{
    return r->bytes + r->cap + marks_size(r, r->cap);
}

/* Of point MARK_EVERY * i, i > 0; 0: there is none. */
static uint16_t *
mark_at(const struct open_row *r, uint32_t i)
{
    return (uint16_t *)(void *)(r->bytes + r->cap) + i;
}

static bool
grow(struct open_row *r)
{
    struct open_row to = *r;
    size_t had = marks_size(r, r->cap), has;

    to.cap = larger(r->cap);
    to.marked = to.cap >= WORTH_MARKED;
    has = marks_size(&to, to.cap);
    to.bytes = realloc(r->bytes, to.cap + has + state_size(r));
    if (to.bytes == NULL)
        return false;
    memmove(state_at(&to), to.bytes + r->cap + had, state_size(r));
    memmove(to.bytes + to.cap, to.bytes + r->cap, had);
    memset(to.bytes + to.cap + had, 0, has - had);
    *r = to;
    return true;
}

static uint8_t *
put_step(uint8_t *at, int32_t step_ms)
{
    bool seconds = step_ms % 1000 == 0;
    uint64_t z = varint_zigzag(seconds ? step_ms / 1000 : step_ms);

    return varint_put(at, z << 1 | seconds);
}

bool
open_row_append(struct open_row *r, struct point p)
{
    int32_t offset = (int32_t)(p.ts_ms - (int64_t)r->base * 1000);
    int32_t step = offset - r->last_offset_ms;
    uint8_t *control, *at;

    INSIST(offset >= 0 && offset < HOUR_MS);
    if (r->cap - r->size < POINT_BYTES && !grow(r))
        return false;
    if (r->marked && r->count % MARK_EVERY == 0 && r->size <= UINT16_MAX)
        *mark_at(r, (uint32_t)r->count / MARK_EVERY) = (uint16_t)r->size;
    control = r->bytes + r->size;
    at = control + 1;
    *control = 0;
    r->uneven |=
        (r->count > 0 && (step <= 0 || p.is_float != r->last_is_double)) ||
        (r->count > 1 && step != r->last_step_ms);
    if (step != r->last_step_ms) {
        *control = TIME_FOLLOWS;
        at = put_step(at, step);
        r->last_step_ms = step;
    }
    r->last_offset_ms = offset;
    at = p.is_float ? put_double(r, control, at, p.v.d)
                    : put_int(r, control, at, p.v.i);
    r->size = (uint32_t)(at - r->bytes);
    if (p.is_float || at - control > 1)
        r->tail = r->size;
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

static int64_t
get_step(const uint8_t **at)
{
    uint64_t z = get_varint(at);
    int64_t step = varint_unzigzag(z >> 1);

    return (z & 1) != 0 ? step * 1000 : step;
}

/* True if it is a double. */
static inline __attribute__((always_inline)) bool
read_point(struct reader *in, union number *v)
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
        uint64_t z = high < 60 ? high : get_le(&in->at, int_sizes[high - 60]);

        in->last_int += (uint64_t)varint_unzigzag(z);
        in->last_double = 0;
        v->i = (int64_t)in->last_int;
    }
    return (control & IS_DOUBLE) != 0;
}

static void
raise_greatest(struct spacing *s, int64_t v)
{
    uint64_t far = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

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
        if ((control & IS_DOUBLE) != 0)
            size = (high & 7) + (high >> 3) > 8 ? UINT8_MAX
                                                : 8 - (high & 7) - (high >> 3);
        else
            size = high < 60 ? 0 : int_sizes[high - 60];
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
    struct reader in = { .at = bytes.data, .ts_ms = (int64_t)base * 1000 };
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

/* As long as there are eight such; returns how many. */
static size_t
skip_shorts(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *from = at;
    uint64_t w;

    for (; end - at >= 8; at += 8) {
        memcpy(&w, at, sizeof w);
        if (!are_shorts(w))
            break;
    }
    return (size_t)(at - from);
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
read_doubles(struct reader *in, const uint8_t *end, union number *v)
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
read_ints(struct reader *in, const uint8_t *end, size_t most, union number *v,
          struct spacing *s)
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
read_even(struct reader *in, const uint8_t *end, uint8_t kind, union number *v,
          struct spacing *s)
{
    struct reader x = *in;
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
    struct reader in = { .at = bytes.data, .ts_ms = (int64_t)base * 1000 };
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
skip_point(struct reader *in)
{
    uint8_t control = *in->at++;
    unsigned high = control >> 2;

    if (control & TIME_FOLLOWS)
        in->step = get_step(&in->at);
    in->ts_ms += in->step;
    if (control & IS_DOUBLE)
        in->at += 8 - (high & 7) - (high >> 3);
    else if (high >= 60)
        in->at += int_sizes[high - 60];
    return (control & IS_DOUBLE) != 0;
}

void
open_row_describe(struct slice bytes, uint32_t base, struct spacing *s,
                  struct point_times *times)
{
    struct reader in = { .at = bytes.data, .ts_ms = (int64_t)base * 1000 };
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
            size_t n = skip_shorts(in.at, end);

            in.at += n;
            in.ts_ms += (int64_t)n * in.step;
        }
        last_ms = in.ts_ms;
    }
    if (bytes.size > 0)
        point_times_widen(times, last_ms, last_ms);
}

struct spacing
open_row_spacing(const struct open_row *r)
{
    int64_t last_ms = (int64_t)r->base * 1000 + r->last_offset_ms;

    return (struct spacing){
        .even = r->count > 0 && !r->uneven,
        .is_float = r->last_is_double,
        .first_ms = last_ms - (int64_t)(r->count - 1) * r->last_step_ms,
        .step_ms = r->count > 1 ? r->last_step_ms : 0,
    };
}

uint32_t
open_row_seek(const struct open_row *r, uint32_t *n)
{
    uint32_t i = *n / MARK_EVERY;

    if (r->count - *n <= r->size - r->tail)
        return r->size - (r->count - *n);
    if (!r->marked || r->size > UINT16_MAX)
        i = 0;
    while (i > 0 && *mark_at(r, i) == 0)
        i--;
    *n = i * MARK_EVERY;
    return i == 0 ? 0 : *mark_at(r, i);
}

/* The values are found as if 0 were before them, and then moved to where the
 * last one is. */
bool
open_row_unpack_end(struct slice bytes, uint32_t count, bool is_float,
                    union number last, struct points *out)
{
    struct reader in = { .at = bytes.data };
    const uint8_t *end = bytes.data + bytes.size;
    uint64_t is = (uint64_t)last.i, by;
    struct spacing unused = { .even = true };
    union number *v;
    size_t len;

    if (!points_reserve(out, count))
        return false;
    v = out->v + out->len;
    len = is_float ? read_even(&in, end, IS_DOUBLE, v, &unused)
                   : read_even(&in, end, 0, v, &unused);
    INSIST(in.at == end && len == count && len > 0);
    by = is_float ? is ^ (uint64_t)v[len - 1].i : is - (uint64_t)v[len - 1].i;
    for (size_t i = 0; i < len; i++)
        v[i].i =
            (int64_t)(is_float ? (uint64_t)v[i].i ^ by : (uint64_t)v[i].i + by);
    out->len += len;
    return true;
}

/* -- the block summary ----------------------------------------------------- */

/* Goes on to the end of the row: with integers, or with doubles and integers as
 * such, added one after the other as blocks have it.  False when a point is no
 * such, or is not behind the one before. */
static inline __attribute__((always_inline)) bool
summarize(struct summary_state *x, const struct open_row *r, bool all_int)
{
    struct reader in = x->reader;
    const uint8_t *end = r->bytes + r->size;
    struct summary s = x->summary;

    in.at = r->bytes + x->size;
    while (in.at < end) {
        int64_t before_ms = in.ts_ms;
        union number v;
        bool is_double = read_point(&in, &v);

        if ((s.count > 0 && in.ts_ms <= before_ms) || (all_int && is_double))
            return false;
        if (!all_int && !is_double)
            v = (union number){ .d = (double)v.i };
        if (s.count++ == 0) {
            s.first_ms = in.ts_ms;
            s.first = s.min = s.max = v;
        }
        if (all_int) {
            s.min.i = v.i < s.min.i ? v.i : s.min.i;
            s.max.i = v.i > s.max.i ? v.i : s.max.i;
            s.sum.i = (int64_t)((uint64_t)s.sum.i + (uint64_t)v.i);
        } else {
            if (v.d < s.min.d || isnan(s.min.d))
                s.min.d = v.d;
            if (v.d > s.max.d || isnan(s.max.d))
                s.max.d = v.d;
            s.sum.d += v.d;
        }
        s.last = v;
    }
    s.last_ms = in.ts_ms;
    x->reader = in;
    x->summary = s;
    return true;
}

static struct summary_state
state_of(const struct open_row *r, bool all_int)
{
    return (struct summary_state){
        .ordered = true,
        .reader = { .ts_ms = (int64_t)r->base * 1000 },
        .summary = { .all_int = all_int },
    };
}

/* Room for the state behind the bytes, if there is memory for it. */
static bool
make_room_for_state(struct open_row *r)
{
    uint8_t *p = NULL;

    if (r->size >= WORTH_SUMMED)
        p = realloc(r->bytes, r->cap + marks_size(r, r->cap) +
                                  sizeof(struct summary_state));
    if (p == NULL)
        return false;
    r->bytes = p;
    r->summed = true;
    return true;
}

bool
open_row_summary(struct open_row *r, bool keep, struct summary *out)
{
    struct summary_state x = state_of(r, true);

    if (r->size == 0)
        return false;
    if (r->summed)
        memcpy(&x, state_at(r), sizeof x);
    if (x.ordered && !(x.summary.all_int && summarize(&x, r, true))) {
        /* A double, or out of order: the beginning again, as doubles. */
        if (x.summary.all_int)
            x = state_of(r, false);
        x.ordered = summarize(&x, r, false);
    }
    x.size = r->size;
    if (keep && (r->summed || make_room_for_state(r)))
        memcpy(state_at(r), &x, sizeof x);
    *out = x.summary;
    if (!out->all_int)
        out->sum.d = plain_nan(out->sum.d);
    return x.ordered;
}

uint32_t
open_row_held(const struct open_row *r)
{
    return r->cap + (uint32_t)(marks_size(r, r->cap) + state_size(r));
}
