/*
 * The journal's records of points as they were: of nibbles, in versions 5 and
 * 6, and plain ones, up to version 4 (docs/FORMAT.md, "Points, before").
 *
 * They need not know each series that they name: an unknown index belongs to
 * points that are sealed, and is passed over.
 */
#include "config.h"

#include "base/cursor.h"
#include "base/varint.h"
#include "storage/block_priv.h"
#include "storage/nibbles_priv.h"
#include "storage/replay_priv.h"

/* The nibble that an entry begins with; below ENTRY_SIZED: an integer, and this
 * is the zig-zag difference to the series' last one. */
enum entry_code {
    ENTRY_SIZED = 11,  /* an integer: the difference follows */
    ENTRY_THOUSANDTHS, /* a double: of so many thousandths */
    ENTRY_DOUBLE,      /* a double: its bits, XORed with the last ones */
    ENTRY_MOVES,       /* flags, and another code for the value, follow */
    ENTRY_END,         /* fills up the record's last byte */
};

enum move_flags {
    MOVE_INDEX = 1,   /* zig-zag difference to the index expected */
    MOVE_DEFINES = 2, /* the TSUID of this index */
    MOVE_MS = 4,      /* zig-zag difference to the last time, ms */
    MOVE_S = 8,       /* the same, s */
};

/* What a record begins with, behind its bucket. */
enum start_code {
    START_GOES_ON, /* from the bucket's record before */
    START_ANEW,    /* from index and time 0 */
};

#define MAX_THOUSANDTHS  ((double)((int64_t)1 << 50))
#define NIBBLES_OF_64BIT 16

/* The integer of which d is the thousandth part, to the bit; false if none. */
static bool
thousandths_of(double d, int64_t *out)
{
    double t = d * 1000;

    if (!(t >= -MAX_THOUSANDTHS && t <= MAX_THOUSANDTHS))
        return false;
    *out = (int64_t)(t < 0 ? t - 0.5 : t + 0.5);
    return double_bits((double)*out / 1000) == double_bits(d);
}

/* What the next double of a series is compared with: 0 unless its last value
 * was one, and is of thousandths. */
static int64_t
last_thousandths(uint64_t bits, bool is_float)
{
    double d;
    int64_t out;

    memcpy(&d, &bits, sizeof d);
    return is_float && thousandths_of(d, &out) ? out : 0;
}

/* -- nibbles --------------------------------------------------------------- */

/* Flags of moves, and what they say. */
static bool
read_moves(struct reading *x, struct nibbles_in *in) REQUIRES(x->bucket->lock)
{
    unsigned flags = nibbles_get_one(in);
    uint8_t tsuid[TSUID_MAX];
    uint64_t size = 0, step = 0;

    if ((flags & MOVE_INDEX) != 0)
        x->m->course.next += (uint32_t)varint_unzigzag(nibbles_get_sized(in));
    if ((flags & MOVE_DEFINES) != 0) {
        size = nibbles_get_sized(in);
        if (size > sizeof tsuid)
            return false;
        for (size_t i = 0; i < size; i++)
            tsuid[i] = (uint8_t)nibbles_get(in, 2);
        if (in->failed ||
            !replay_define(x, x->m->course.next, slice_of(tsuid, size)))
            return false;
    }
    if ((flags & (MOVE_S | MOVE_MS)) != 0)
        step = (uint64_t)varint_unzigzag(nibbles_get_sized(in));
    if ((flags & MOVE_S) != 0)
        step *= 1000;
    x->m->course.ts_ms = (int64_t)((uint64_t)x->m->course.ts_ms + step);
    return (flags & (MOVE_S | MOVE_MS)) != (MOVE_S | MOVE_MS);
}

/* The value that a code begins; 's' is what is known of its series. */
static bool
read_value(struct nibbles_in *in, unsigned code, struct journaled_series *s,
           struct point *p)
{
    uint64_t last_int = (s->kind == KIND_DOUBLE) ? 0 : s->last, z, bits;
    unsigned top, bottom;

    p->is_float = code > ENTRY_SIZED;
    switch (code) {
    case ENTRY_THOUSANDTHS:
        z = (uint64_t)last_thousandths(s->last, (s->kind == KIND_DOUBLE));
        z += (uint64_t)varint_unzigzag(nibbles_get_sized(in));
        p->v.d = (double)(int64_t)z / 1000;
        bits = double_bits(p->v.d);
        break;
    case ENTRY_DOUBLE:
        top = nibbles_get_one(in);
        bottom = nibbles_get_one(in);
        if (top + bottom >= NIBBLES_OF_64BIT)
            return false;
        bits = nibbles_get(in, NIBBLES_OF_64BIT - top - bottom) << 4 * bottom;
        bits ^= (s->kind == KIND_DOUBLE) ? s->last : 0;
        memcpy(&p->v.d, &bits, sizeof bits);
        break;
    case ENTRY_MOVES:
    case ENTRY_END:
        return false;
    default:
        z = code < ENTRY_SIZED ? code : nibbles_get_sized(in);
        bits = last_int + (uint64_t)varint_unzigzag(z);
        p->v.i = (int64_t)bits;
        break;
    }
    s->last = bits;
    s->kind = p->is_float ? KIND_DOUBLE : KIND_INT;
    return true;
}

static bool
read_entry(struct reading *x, struct nibbles_in *in, unsigned code)
    REQUIRES(x->bucket->lock)
{
    struct replay_bucket *m = x->m;
    struct replay_series unknown = { 0 }, *s;
    struct point p;

    if (code == ENTRY_MOVES) {
        if (!read_moves(x, in))
            return false;
        code = nibbles_get_one(in);
    }
    s = replay_meaning(m, m->course.next++);
    if (s == NULL)
        s = &unknown;
    p.ts_ms = m->course.ts_ms;
    if (!read_value(in, code, &s->journaled, &p) || in->failed)
        return false;
    if (s->series != NULL)
        return replay_take(x, s->series, p);
    x->r->passed_over++;
    return true;
}

bool
replay_nibbles(struct reading *x, struct slice entries)
    REQUIRES(x->bucket->lock)
{
    struct nibbles_in in = { entries.data, entries.data + entries.size, false,
                             false };
    unsigned start = nibbles_get_one(&in);

    if (start > START_ANEW || in.failed)
        return false;
    if (start == START_ANEW) {
        replay_begin(x);
        x->m->course.next = 0;
        x->m->course.ts_ms = 0;
    }
    x->segment = x->m->segment;
    if (!x->m->begun)
        return true;
    while (in.at < in.end) {
        unsigned code = nibbles_get_one(&in);

        if (code == ENTRY_END)
            return in.at == in.end;
        if (!read_entry(x, &in, code))
            return false;
    }
    return true;
}

/* -- plain ----------------------------------------------------------------- */

/* One entry as it was up to format 4:
 *
 *     varint (index << 2 | defines << 1 | double)
 *     [defines: varint size, TSUID]
 *     zig-zag varint: time - time of the entry before, ms
 *     a zig-zag varint, or the 8 bytes of a double */
static bool
read_plain(struct reading *x, struct cursor *c, int64_t *ts_ms)
    REQUIRES(x->bucket->lock)
{
    uint64_t head = cursor_varint(c), index = head >> 2, bits;
    struct point p = { .is_float = (head & 1) != 0 };
    const struct replay_series *s;

    if ((head & 2) != 0) {
        uint64_t size = cursor_varint(c);
        struct slice tsuid =
            cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);

        if (!replay_define(x, index, tsuid))
            return false;
    }
    *ts_ms = (int64_t)((uint64_t)*ts_ms + (uint64_t)cursor_zigzag(c));
    p.ts_ms = *ts_ms;
    if (p.is_float) {
        bits = cursor_u64(c);
        memcpy(&p.v.d, &bits, sizeof bits);
    } else {
        p.v.i = cursor_zigzag(c);
    }
    if (c->failed)
        return false;
    s = replay_meaning(x->m, index);
    if (s != NULL && s->series != NULL)
        return replay_take(x, s->series, p);
    x->r->passed_over++;
    return true;
}

bool
replay_plain(struct reading *x, struct slice entries) REQUIRES(x->bucket->lock)
{
    struct cursor c = cursor_of(entries);
    int64_t ts_ms = 0;

    while (cursor_left(&c) > 0)
        if (!read_plain(x, &c, &ts_ms))
            return false;
    return true;
}
