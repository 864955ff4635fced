/*
 * What the journal's records of points build on: of a series, and of a bucket,
 * whose points come in a course.  The writer and the replay keep the same, and
 * change it here, so that each knows what the other expects (docs/FORMAT.md,
 * "Points").
 *
 *     index   the one that followed this series the last time; of a record's
 *             first point: that followed the end of a record before.  Each
 *             connection has a course of its own, so several ends are kept
 *     time    that of the point before, while the series is behind it; else a
 *             step after its own last one
 *     value   the series' last one, in its kind
 *
 * Numbers, differences to what was expected, are Rice coded: how many low bits
 * are written as they are follows from the numbers before.
 *
 * Threads: owner.
 */
#ifndef STORAGE_JOURNALED_PRIV_H
#define STORAGE_JOURNALED_PRIV_H

#include "storage/block_bits_priv.h"
#include "storage/key.h"

/* What a series' values are. */
enum journaled_kind {
    KIND_INT,
    KIND_DECIMAL, /* and the next ones: doubles n / 10^0, n / 10^1, ... */
    KIND_DECIMAL_LAST = KIND_DECIMAL + 9,
    KIND_DOUBLE = 15, /* other doubles */
};

struct journaled_series {
    uint64_t last;  /* the integer, n, or the double's bits */
    int64_t ts_ms;  /* 0: none yet */
    uint32_t next;  /* the index that followed */
    uint16_t width; /* of the differences: a mean, in sixteenths of bits */
    uint8_t kind;
};

/* Where a record ended, and which index was expected next. */
struct journaled_end {
    uint32_t index, next;
};

#define ENDS_MAX 8

struct journaled_course {
    int64_t ts_ms;   /* of the last point */
    int64_t step_ms; /* of the last series that began a round */
    uint32_t next;   /* the index expected */
    uint16_t calm;   /* entries since the last escape */
    bool first;      /* of a record, is what comes */
    /* Means, as above. */
    uint16_t calm_width, which_width, start_width, jump_width, time_width;
    unsigned ends_len;
    struct journaled_end
        ends[ENDS_MAX];  /* that none went on from: newest first */
    uint16_t tsuid_size; /* the last one that was defined */
    uint8_t tsuid[TSUID_MAX];
};

/* Escapes: what is not as expected, before the value's code. */
enum journaled_escape {
    ESCAPE_TIME,   /* 0 */
    ESCAPE_SKIP,   /* 10: the series expected did not come, but its next */
    ESCAPE_JUMP,   /* 110: the index */
    ESCAPE_DEFINE, /* 1110: the TSUID of this index */
    ESCAPE_KIND,   /* 1111 */
};

#define RICE_MAX    16  /* a larger quotient: the number follows whole */
#define CALM_MAX    128 /* entries without an escape count as if with one */
#define ESCAPE_NONE 63

/* -- means ----------------------------------------------------------------- */

/* Without a branch, which nobody could foresee. */
static inline unsigned
journaled_bits(uint64_t v)
{
    return 63 - (unsigned)__builtin_clzll(v | 1) + (v != 0);
}

static inline void
journaled_learn(uint16_t *width, uint64_t v)
{
    *width = (uint16_t)(*width - *width / 8 + 2 * journaled_bits(v));
}

/* How many low bits of the next number are written as they are. */
static inline unsigned
journaled_low(uint16_t width)
{
    return (width > 12 ? width - 12u : 0) / 16;
}

/* How many zeros the code of an escape has: of one in 2^n entries, n. */
static inline unsigned
journaled_escape_pos(const struct journaled_course *c)
{
    return c->calm_width / 16;
}

static inline void
journaled_escaped(struct journaled_course *c)
{
    journaled_learn(&c->calm_width, c->calm);
    c->calm = 0;
}

/* -- the course ------------------------------------------------------------ */

static inline void
journaled_define(struct journaled_series *x, uint32_t index)
{
    *x = (struct journaled_series){ .next = index + 1 };
}

/* The time expected of a series; '*steps' when it is a step after its last. */
static inline int64_t
journaled_time(const struct journaled_course *c,
               const struct journaled_series *x, bool *steps)
{
    *steps = x->ts_ms != 0 && (c->first || x->ts_ms >= c->ts_ms);
    return *steps ? (int64_t)((uint64_t)x->ts_ms + (uint64_t)c->step_ms)
                  : c->ts_ms;
}

/* A point of the series came. */
static inline void
journaled_came(struct journaled_course *c, struct journaled_series *x,
               int64_t ts_ms, bool steps)
{
    if (steps)
        c->step_ms = (int64_t)((uint64_t)ts_ms - (uint64_t)x->ts_ms);
    x->ts_ms = ts_ms;
    c->ts_ms = ts_ms;
    c->next = x->next;
    c->first = false;
    if (++c->calm == CALM_MAX)
        journaled_escaped(c);
}

/* Which of the ends an index goes on from; 'ends_len': from none. */
static inline unsigned
journaled_which(const struct journaled_course *c, uint32_t index)
{
    unsigned i = 0;

    while (i < c->ends_len && c->ends[i].next != index)
        i++;
    return i;
}

static inline void
journaled_drop_end(struct journaled_course *c, unsigned which)
{
    c->ends_len--;
    memmove(&c->ends[which], &c->ends[which + 1],
            (c->ends_len - which) * sizeof c->ends[0]);
}

/* A start that goes on from none goes on from the oldest, as soon as there are
 * as many as may be: true, and which series that is. */
static inline bool
journaled_drop_oldest(struct journaled_course *c, uint32_t *index)
{
    if (c->ends_len < ENDS_MAX)
        return false;
    *index = c->ends[--c->ends_len].index;
    return true;
}

/* A record has ended; there is room, since its start has dropped one. */
static inline void
journaled_end(struct journaled_course *c, uint32_t index, uint32_t next)
{
    memmove(&c->ends[1], &c->ends[0], c->ends_len * sizeof c->ends[0]);
    c->ends[0] = (struct journaled_end){ index, next };
    c->ends_len++;
}

/* -- kinds ----------------------------------------------------------------- */

static const double journaled_powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4,
                                           1e5, 1e6, 1e7, 1e8, 1e9 };

static inline bool
journaled_is_decimal(unsigned kind)
{
    return kind >= KIND_DECIMAL && kind <= KIND_DECIMAL_LAST;
}

/* Values are of another kind from now on: the last one is brought over, where
 * that is easy, and else is 0. */
static inline void
journaled_turn(struct journaled_series *x, unsigned kind)
{
    unsigned from = x->kind == KIND_INT ? KIND_DECIMAL : x->kind;
    unsigned to = kind == KIND_INT ? KIND_DECIMAL : kind;
    int64_t v = (int64_t)x->last;

    for (; from < to && to < KIND_DOUBLE; from++)
        if (__builtin_mul_overflow(v, 10, &v))
            v = 0;
    for (; from > to && from < KIND_DOUBLE; from--)
        v /= 10;
    x->last = from == to && from < KIND_DOUBLE ? (uint64_t)v : 0;
    x->kind = (uint8_t)kind;
}

#endif
