/* Into open rows, and what is known of them without their points. */
#include "storage/head/open_row_priv.h"

#include <math.h>
#include <stdlib.h>

#include "base/obj.h"
#include "storage/block/bits.h"

#define FIRST_CAP    24
#define POINT_BYTES  16  /* the most that one point takes */
#define WORTH_SUMMED 128 /* bytes that take longer than to remember */
#define WORTH_MARKED 128
#define MARK_EVERY   24 /* points */

/* Of the points in the first 'size' bytes; where to go on.  It lies behind the
 * row's bytes and marks once it was kept. */
struct summary_state {
    uint32_t size;
    bool ordered;               /* so far; if not, there is no more to say */
    struct point_reader reader; /* its 'at' means nothing */
    struct summary summary;
};

static uint8_t *
put_le(uint8_t *at, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *at++ = (uint8_t)(v >> (8 * i));
    return at;
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
    return put_le(at, z, int_size(60 + code));
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

/* Never inline: its registers would be saved for each point. */
static __attribute__((noinline)) bool
grow(struct open_row *r)
{
    struct open_row to = *r;
    size_t had = marks_size(r, r->cap), has;

    /* What malloc() gives without a rest: 24, 40, 72, 136, 264, 392, 584 ... */
    if (r->cap < FIRST_CAP)
        to.cap = FIRST_CAP;
    else
        to.cap =
            (r->cap < 256 ? 2 * r->cap - 8 : (r->cap + r->cap / 2) & ~15u) | 8;
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

bool
open_row_append(struct open_row *r, struct point p)
{
    int32_t offset = (int32_t)(p.ts_ms - (int64_t)r->base * 1000), step;
    uint8_t *control, *at;

    INSIST(offset >= 0 && offset < HOUR_MS);
    if (r->count >= OPEN_ROW_POINTS_MAX)
        return false;
    step = offset - r->last_offset_ms;
    if (r->cap - r->size < POINT_BYTES && !grow(r))
        return false;
    if (r->marked && r->count % MARK_EVERY == 0 && r->size <= UINT16_MAX)
        *mark_at(r, (uint32_t)r->count / MARK_EVERY) = (uint16_t)r->size;
    control = r->bytes + r->size;
    at = control + 1;
    *control = 0;
    if (r->count > 0 && (step <= 0 || p.is_float != r->last_is_double)) {
        r->uneven = true;
        r->unordered |= step <= 0;
    }
    if (step != r->last_step_ms) {
        bool seconds;
        uint64_t z;

        r->uneven |= r->count > 1;
        *control = TIME_FOLLOWS;
        seconds = step % 1000 == 0;
        z = varint_zigzag(seconds ? step / 1000 : step);
        at = varint_put(at, z << 1 | seconds);
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

/* -- the block summary ----------------------------------------------------- */

/* Goes on to the end of the row: with integers, or with doubles and integers as
 * such, added one after the other as blocks have it.  False when a point is no
 * such, or is not behind the one before. */
static inline __attribute__((always_inline)) bool
summarize(struct summary_state *x, const struct open_row *r, bool all_int)
{
    struct point_reader in = x->reader;
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
