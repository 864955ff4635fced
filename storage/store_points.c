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
#include "storage/block_priv.h"
#include "storage/store_priv.h"

#define RECORD_BYTES 128          /* at first */
#define ENTRY_BYTES  ((size_t)96) /* the most, but for a TSUID */
#define ROOM         16           /* for an entry as expected, and a store */
#define MAX_DECIMAL  ((double)((int64_t)1 << 50))
#define ODD_DECIMALS 3 /* digits looked for, where a KIND_DOUBLE was before */

/* -- bits ------------------------------------------------------------------ */

/* The low 'width' (0..56) bits of 'v'; the others are zero.  There is room. */
static inline void
put_bits(struct head_journal *j, uint64_t v, unsigned width)
{
    unsigned have = j->have + width;

    j->window |= v << j->have;
    bits_store(j->at, j->window);
    j->at += have / 8;
    j->window >>= have & 56;
    j->have = have % 8;
}

static void
put_long(struct head_journal *j, uint64_t v, unsigned width)
{
    if (width > 32) {
        put_bits(j, v & UINT32_MAX, 32);
        v >>= 32;
        width -= 32;
    }
    put_bits(j, v & bits_mask(width), width);
}

/* Room for 'size' bytes, and ROOM behind them.  Without, the record has failed,
 * and nothing more comes into it. */
static bool
make_room(struct head_journal *j, size_t size)
{
    struct buf *b = &j->record;

    if (j->at != NULL)
        b->size = (size_t)(j->at - b->data);
    j->at = buf_reserve(b, size + ROOM);
    if (j->at == NULL) {
        j->course.first = true;
        return false;
    }
    j->end = b->data + b->cap - ROOM;
    return true;
}

/* -- numbers --------------------------------------------------------------- */

/* A number whose quotient is large, or its low bits are many. */
static void
put_large(struct head_journal *j, uint64_t v, unsigned low, unsigned hole)
{
    unsigned zeros = RICE_MAX + (RICE_MAX >= hole), bits = journaled_bits(v);

    if (v >> low < RICE_MAX) {
        zeros = (unsigned)(v >> low) + (v >> low >= hole);
        put_bits(j, UINT64_C(1) << zeros, zeros + 1);
        put_long(j, v, low);
        return;
    }
    put_bits(j, UINT64_C(1) << zeros, zeros + 1);
    put_bits(j, bits - 1, 6);
    put_long(j, v, bits);
}

/* False when it is large. */
static inline __attribute__((always_inline)) bool
put_small(struct head_journal *j, uint16_t *width, uint64_t v, unsigned hole)
{
    unsigned low = journaled_low(*width), zeros;
    uint64_t quotient = v >> low;

    if (quotient >= RICE_MAX || low > 32)
        return false;
    journaled_learn(width, v);
    zeros = (unsigned)quotient + (quotient >= hole);
    put_bits(j, ((v & ((UINT64_C(1) << low) - 1)) << 1 | 1) << zeros,
             zeros + 1 + low);
    return true;
}

/* A number, of which the quotient 'hole' is left to escapes. */
static void
put_number(struct head_journal *j, uint16_t *width, uint64_t v, unsigned hole)
{
    if (put_small(j, width, v, hole))
        return;
    put_large(j, v, journaled_low(*width), hole);
    journaled_learn(width, v);
}

static void
put_signed(struct head_journal *j, uint16_t *width, int64_t v)
{
    put_number(j, width, varint_zigzag(v), ESCAPE_NONE);
}

static void
put_escape(struct head_journal *j, struct journaled_course *c,
           enum journaled_escape what)
{
    unsigned zeros = journaled_escape_pos(c), ones = (unsigned)what;

    put_bits(j, UINT64_C(1) << zeros, zeros + 1);
    put_bits(j, (UINT64_C(1) << ones) - 1, ones + (what < ESCAPE_KIND));
    journaled_escaped(c);
}

/* -- which series, and when ------------------------------------------------ */

void
record_points_start(struct head_journal *j, unsigned bucket, uint64_t segment)
{
    bool anew = j->segment != (uint32_t)segment;

    buf_clear(&j->record);
    j->at = NULL;
    j->window = 0;
    j->have = 0;
    j->last = NULL;
    if (anew)
        j->course = (struct journaled_course){ 0 };
    j->course.first = true;
    j->segment = (uint32_t)segment;
    if (!make_room(j, RECORD_BYTES))
        return;
    if (bucket >= RECORD_BUCKETS)
        put_bits(j, bucket, 8);
    put_bits(j, anew, 1);
}

/* The series that a reader knows by this index, or NULL. */
static struct head_series *
known(const struct head_bucket *b, uint32_t index, uint64_t segment)
    REQUIRES(b->lock)
{
    struct head_series *s = index < b->series_len ? b->series[index] : NULL;

    return s != NULL && s->defined_segment == (uint32_t)segment ? s : NULL;
}

/* The record's first series: which end it goes on from, or how far it is. */
static void
put_start(struct head_bucket *b, const struct head_series *s, uint64_t segment)
    REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;
    unsigned which = journaled_which(c, s->index);
    struct head_series *last = NULL;
    uint32_t oldest;

    put_number(j, &c->which_width, which, ESCAPE_NONE);
    if (which < c->ends_len) {
        journaled_drop_end(c, which);
        return;
    }
    put_signed(j, &c->start_width, (int32_t)(s->index - c->next));
    if (journaled_drop_oldest(c, &oldest))
        last = known(b, oldest, segment);
    if (last != NULL)
        last->journaled.next = s->index;
}

static void
put_index(struct head_bucket *b, const struct head_series *s, uint64_t segment)
    REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;
    const struct head_series *skipped = known(b, c->next, segment);

    if (skipped != NULL && skipped->journaled.next == s->index) {
        put_escape(j, c, ESCAPE_SKIP);
        return;
    }
    put_escape(j, c, ESCAPE_JUMP);
    put_signed(j, &c->jump_width, (int32_t)(s->index - c->next));
    j->last->journaled.next = s->index;
}

/* As many bytes as the last TSUID has, which are the same or follow; then the
 * others. */
static void
put_tsuid(struct head_journal *j, struct journaled_course *c,
          struct slice tsuid)
{
    put_escape(j, c, ESCAPE_DEFINE);
    put_bits(j, tsuid.size, 16);
    for (size_t i = 0; i < tsuid.size; i++) {
        bool same = i < c->tsuid_size && c->tsuid[i] == tsuid.data[i];

        put_bits(j, same ? 1 : (uint64_t)tsuid.data[i] << 1, same ? 1 : 9);
    }
    memcpy(c->tsuid, tsuid.data, tsuid.size);
    c->tsuid_size = (uint16_t)tsuid.size;
}

static void
put_time(struct head_journal *j, struct journaled_course *c, int64_t late_ms)
{
    bool seconds = late_ms % 1000 == 0;

    put_escape(j, c, ESCAPE_TIME);
    put_bits(j, seconds, 1);
    put_signed(j, &c->time_width, seconds ? late_ms / 1000 : late_ms);
}

/* -- values ---------------------------------------------------------------- */

/* The integer which, divided by the kind's power of ten, is d to the bit; false
 * if none is. */
static bool
decimal_of(double d, unsigned kind, int64_t *out)
{
    double power = journaled_powers[kind - KIND_DECIMAL], n = d * power;

    if (!(n >= -MAX_DECIMAL && n <= MAX_DECIMAL))
        return false;
    *out = (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
    return double_bits((double)*out / power) == double_bits(d);
}

/* The kind of a double, the series' own if that will do; and 'last' of it. */
static unsigned
kind_of_double(double d, unsigned own, uint64_t *last)
{
    unsigned end =
        own == KIND_DOUBLE ? KIND_DECIMAL + ODD_DECIMALS : KIND_DECIMAL_LAST;
    int64_t n;

    *last = double_bits(d);
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
put_xored(struct head_journal *j, uint64_t x)
{
    unsigned top = (unsigned)__builtin_clzll(x) / 4;
    unsigned bottom = (unsigned)__builtin_ctzll(x) / 4;

    put_bits(j, top | bottom << 4, 8);
    put_long(j, x >> 4 * bottom, 64 - 4 * (top + bottom));
}

static void
put_double(struct head_journal *j, uint64_t x, unsigned hole)
{
    uint16_t none = 0;

    put_number(j, &none, x == 0, hole);
    if (x != 0)
        put_xored(j, x);
}

static void
put_kind(struct head_journal *j, struct journaled_course *c,
         struct journaled_series *x, unsigned kind)
{
    put_escape(j, c, ESCAPE_KIND);
    put_bits(j, kind, 4);
    journaled_turn(x, kind);
}

static void
put_value(struct head_journal *j, struct journaled_course *c,
          struct journaled_series *x, struct point p)
{
    uint64_t last = (uint64_t)p.v.i;
    unsigned kind =
        p.is_float ? kind_of_double(p.v.d, x->kind, &last) : KIND_INT;

    if (kind != x->kind)
        put_kind(j, c, x, kind);
    if (kind == KIND_DOUBLE)
        put_double(j, last ^ x->last, journaled_escape_pos(c));
    else
        put_number(j, &x->width, varint_zigzag((int64_t)(last - x->last)),
                   journaled_escape_pos(c));
    x->last = last;
}

/* -- entries --------------------------------------------------------------- */

/* Which series it is, where that is not as expected. */
static void
put_series(struct head_bucket *b, struct head_series *s, uint64_t segment,
           bool defines) REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;

    if (c->first)
        put_start(b, s, segment);
    else if (s->index != c->next)
        put_index(b, s, segment);
    if (!defines)
        return;
    s->defined_segment = (uint32_t)segment;
    journaled_define(&s->journaled, s->index);
    put_tsuid(j, c, head_tsuid(s));
}

/* Not inline, and without a copy of the point: most take the short way. */
static __attribute__((noinline)) void
add_otherwise(struct head_bucket *b, struct head_series *s, uint64_t segment,
              const struct point *p) REQUIRES(b->lock)
{
    struct head_journal *j = &b->journal;
    struct journaled_course *c = &j->course;
    bool defines = s->defined_segment != (uint32_t)segment, steps;
    int64_t expected_ms;

    if (!make_room(j, ENTRY_BYTES + (size_t)2 * s->tsuid_size))
        return;
    put_series(b, s, segment, defines);
    expected_ms = journaled_time(c, &s->journaled, &steps);
    if (p->ts_ms != expected_ms)
        put_time(j, c, p->ts_ms - expected_ms);
    put_value(j, c, &s->journaled, *p);
    journaled_came(c, &s->journaled, p->ts_ms, steps);
    j->last = s;
}

/* An integer of the series expected, at the time expected. */
static inline __attribute__((always_inline)) bool
add_expected(struct head_journal *j, struct head_series *s, uint64_t segment,
             const struct point *p)
{
    struct journaled_course *c = &j->course;
    struct journaled_series *x = &s->journaled;
    uint64_t difference = (uint64_t)p->v.i - x->last;
    bool steps;

    if (s->index != c->next || s->defined_segment != (uint32_t)segment ||
        c->first || p->is_float || x->kind != KIND_INT ||
        p->ts_ms != journaled_time(c, x, &steps) || j->at > j->end ||
        !put_small(j, &x->width, varint_zigzag((int64_t)difference),
                   journaled_escape_pos(c)))
        return false;
    x->last = (uint64_t)p->v.i;
    journaled_came(c, x, p->ts_ms, steps);
    j->last = s;
    return true;
}

void
record_points_add(struct head_bucket *b, struct head_series *s,
                  uint64_t segment, const struct point *p)
{
    if (!add_expected(&b->journal, s, segment, p))
        add_otherwise(b, s, segment, p);
}

struct slice
record_points_end(struct head_journal *j)
{
    if (j->last != NULL)
        journaled_end(&j->course, j->last->index, j->course.next);
    if (j->at != NULL)
        j->record.size = (size_t)(j->at - j->record.data) + (j->have > 0);
    return buf_slice(&j->record);
}

void
record_points_lost(struct head_bucket *b)
{
    record_points_none(&b->journal);
    for (size_t i = 0; i < b->series_len; i++)
        if (b->series[i] != NULL)
            b->series[i]->defined_segment = 0;
}
