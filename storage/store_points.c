/*
 * The journal's records of points: how they are written down
 * (docs/FORMAT.md, "Points"; replay_points.c reads them).
 *
 * Points come in rounds: the same series in the same order, at the same time,
 * a little more or less than before.  So an entry is of what is expected
 * (journaled_priv.h), and then it is the difference of the value to the last
 * one, two or three bits of most; what is otherwise comes as an escape before.
 *
 * An index is short for a series, within one run of the server.  Each segment
 * defines a series at its first use in it, and begins each bucket anew; the one
 * exception (a segment began between the look at its number and the append)
 * leans on the segment before, which is kept as long as the row that caused it
 * is open.  So on replay a bucket that goes on from nothing is of points that
 * are sealed, and is passed over.  A record that was not appended is built on
 * by nobody: its series are defined anew.
 */
#include "config.h"

#include "base/varint.h"
#include "storage/store_priv.h"

#define ENTRY_BITS  ((size_t)768) /* the most, but for a TSUID */
#define MAX_DECIMAL ((double)((int64_t)1 << 50))
#define DECIMALS_OF_ODD                                  \
    3 /* digits that are looked for behind a KIND_DOUBLE \
       */

/* -- numbers --------------------------------------------------------------- */

/* A number whose quotient is large, or its low bits are many. */
static __attribute__((noinline)) void
put_large(struct bits_out *o, uint64_t v, unsigned low, unsigned hole)
{
    unsigned zeros = RICE_MAX + (RICE_MAX >= hole), bits = journaled_bits(v);

    if (v >> low < RICE_MAX) {
        zeros = (unsigned)(v >> low) + (v >> low >= hole);
        bits_put(o, UINT64_C(1) << zeros, zeros + 1);
        bits_put_long(o, v, low);
        return;
    }
    bits_put(o, UINT64_C(1) << zeros, zeros + 1);
    bits_put(o, bits - 1, 6);
    bits_put_long(o, v, bits);
}

/* A number, of which the quotient 'hole' is left to escapes. */
static inline __attribute__((always_inline)) void
put_number(struct bits_out *o, uint16_t *width, uint64_t v, unsigned hole)
{
    unsigned low = journaled_low(*width), zeros;
    uint64_t quotient = v >> low;

    journaled_learn(width, v);
    if (quotient < RICE_MAX && low <= 32) {
        zeros = (unsigned)quotient + (quotient >= hole);
        bits_put(o, ((v & bits_mask(low)) << 1 | 1) << zeros, zeros + 1 + low);
    } else {
        put_large(o, v, low, hole);
    }
}

static void
put_signed(struct bits_out *o, uint16_t *width, int64_t v)
{
    put_number(o, width, varint_zigzag(v), ESCAPE_NONE);
}

static void
put_escape(struct bits_out *o, struct journaled_course *c,
           enum journaled_escape what)
{
    unsigned zeros = journaled_escape_pos(c), ones = (unsigned)what;

    bits_put(o, UINT64_C(1) << zeros, zeros + 1);
    bits_put(o, (UINT64_C(1) << ones) - 1, ones + (what < ESCAPE_KIND));
    journaled_escaped(c);
}

/* -- which series, and when ------------------------------------------------ */

void
record_points_start(struct head_journal *j, unsigned bucket, uint64_t segment)
{
    bool anew = j->segment != (uint32_t)segment;

    buf_clear(&j->record);
    if (bucket >= RECORD_BUCKETS)
        buf_put_u8(&j->record, (uint8_t)bucket);
    j->bits = bits_out_of(&j->record);
    j->last = NULL;
    if (anew)
        j->course = (struct journaled_course){ 0 };
    j->course.first = true;
    j->segment = (uint32_t)segment;
    if (bits_room(&j->bits, 1))
        bits_put(&j->bits, anew, 1);
}

/* Whether the series expected is known, and this one is what follows it. */
static bool
is_next_but_one(const struct head_bucket *b, const struct head_series *s,
                uint64_t segment) REQUIRES(b->lock)
{
    uint32_t next = b->journal.course.next;
    const struct head_series *skipped =
        next < b->series_len ? b->series[next] : NULL;

    return skipped != NULL && skipped->defined_segment == (uint32_t)segment &&
           skipped->journaled.next == s->index;
}

static void
put_index(struct head_bucket *b, const struct head_series *s, uint64_t segment)
    REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;

    if (is_next_but_one(b, s, segment)) {
        put_escape(&j->bits, c, ESCAPE_SKIP);
        return;
    }
    put_escape(&j->bits, c, ESCAPE_JUMP);
    put_signed(&j->bits, &c->jump_width, (int32_t)(s->index - c->next));
    j->last->journaled.next = s->index;
}

/* As many bytes as the last TSUID has, which are the same or follow; then the
 * others. */
static void
put_tsuid(struct bits_out *o, struct journaled_course *c, struct slice tsuid)
{
    put_escape(o, c, ESCAPE_DEFINE);
    bits_put(o, tsuid.size, 16);
    for (size_t i = 0; i < tsuid.size; i++) {
        bool same = i < c->tsuid_size && c->tsuid[i] == tsuid.data[i];

        bits_put(o, same ? 1 : (uint64_t)tsuid.data[i] << 1, same ? 1 : 9);
    }
    memcpy(c->tsuid, tsuid.data, tsuid.size);
    c->tsuid_size = (uint16_t)tsuid.size;
}

static void
put_time(struct bits_out *o, struct journaled_course *c, int64_t late_ms)
{
    bool seconds = late_ms % 1000 == 0;

    put_escape(o, c, ESCAPE_TIME);
    bits_put(o, seconds, 1);
    put_signed(o, &c->time_width, seconds ? late_ms / 1000 : late_ms);
}

/* -- values ---------------------------------------------------------------- */

static uint64_t
bits_of(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The integer which, divided by the kind's power of ten, is d to the bit; false
 * if none is. */
static bool
decimal_of(double d, unsigned kind, int64_t *out)
{
    double power = journaled_powers[kind - KIND_DECIMAL], n = d * power;

    if (!(n >= -MAX_DECIMAL && n <= MAX_DECIMAL))
        return false;
    *out = (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
    return bits_of((double)*out / power) == bits_of(d);
}

/* The kind of a double, the series' own if that will do; and 'last' of it. */
static unsigned
kind_of_double(double d, unsigned own, uint64_t *last)
{
    unsigned end =
        own == KIND_DOUBLE ? KIND_DECIMAL + DECIMALS_OF_ODD : KIND_DECIMAL_LAST;
    int64_t n;

    *last = bits_of(d);
    if (journaled_is_decimal(own) && decimal_of(d, own, &n)) {
        *last = (uint64_t)n;
        return own;
    }
    for (unsigned kind = KIND_DECIMAL; kind <= end; kind++)
        if (decimal_of(d, kind, &n)) {
            *last = (uint64_t)n;
            return kind;
        }
    return KIND_DOUBLE;
}

/* Zero nibbles at the top and at the bottom are counted, not written. */
static void
put_xored(struct bits_out *o, uint64_t x)
{
    unsigned top = (unsigned)__builtin_clzll(x) / 4;
    unsigned bottom = (unsigned)__builtin_ctzll(x) / 4;

    bits_put(o, top | bottom << 4, 8);
    bits_put_long(o, x >> 4 * bottom, 64 - 4 * (top + bottom));
}

static __attribute__((noinline)) void
put_double(struct bits_out *o, uint64_t x, unsigned hole)
{
    uint16_t none = 0;

    put_number(o, &none, x == 0, hole);
    if (x != 0)
        put_xored(o, x);
}

static __attribute__((noinline)) void
put_kind(struct bits_out *o, struct journaled_course *c,
         struct journaled_series *x, unsigned kind)
{
    put_escape(o, c, ESCAPE_KIND);
    bits_put(o, kind, 4);
    journaled_turn(x, kind);
}

static inline __attribute__((always_inline)) void
put_value(struct bits_out *o, struct journaled_course *c,
          struct journaled_series *x, struct point p)
{
    uint64_t last = (uint64_t)p.v.i;
    unsigned kind =
        p.is_float ? kind_of_double(p.v.d, x->kind, &last) : KIND_INT;

    if (kind != x->kind)
        put_kind(o, c, x, kind);
    if (kind == KIND_DOUBLE)
        put_double(o, last ^ x->last, journaled_escape_pos(c));
    else
        put_number(o, &x->width, varint_zigzag((int64_t)(last - x->last)),
                   journaled_escape_pos(c));
    x->last = last;
}

/* -- entries --------------------------------------------------------------- */

/* Which series it is, where that is not as expected. */
static __attribute__((noinline)) void
put_series(struct head_bucket *b, struct head_series *s, uint64_t segment,
           bool defines) REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;

    if (c->first)
        put_signed(&j->bits, &c->start_width, (int32_t)(s->index - c->next));
    else if (s->index != c->next)
        put_index(b, s, segment);
    if (!defines)
        return;
    s->defined_segment = (uint32_t)segment;
    journaled_define(&s->journaled, s->index);
    put_tsuid(&j->bits, c, head_tsuid(s));
}

void
record_points_add(struct head_bucket *b, struct head_series *s,
                  uint64_t segment, struct point p)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;
    bool defines = s->defined_segment != (uint32_t)segment, steps;
    struct bits_out *o = &j->bits;
    int64_t expected_ms;

    if (!bits_room(o, ENTRY_BITS + (defines ? (size_t)9 * s->tsuid_size : 0)))
        return;
    if (c->first || s->index != c->next || defines)
        put_series(b, s, segment, defines);
    expected_ms = journaled_time(c, &s->journaled, &steps);
    if (p.ts_ms != expected_ms)
        put_time(o, c, p.ts_ms - expected_ms);
    put_value(o, c, &s->journaled, p);
    journaled_came(c, &s->journaled, p.ts_ms, steps);
    j->last = s;
}

struct slice
record_points_end(struct head_journal *j)
{
    if (!j->record.failed)
        bits_out_done(&j->bits);
    return buf_slice(&j->record);
}
