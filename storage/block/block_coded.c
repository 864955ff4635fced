/* The coder has 256 states.  Each gives one symbol and, with some bits that are
 * read, the next state; a symbol of a fourth of all states costs two bits.  Two
 * chains of states take turns, for even and for odd numbers, because each step
 * has to wait for the one before.
 *
 * Writing goes from the last number to the first, since it is the next state
 * that says which bits lead there; they are kept and put down in the order of
 * reading. */
#include "storage/block/block_coded_priv.h"

#include <stdlib.h>

#include "storage/block/bits.h"

#define CURSORS 2

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* How a symbol is written: from the states [256, 512) that may follow it. */
struct symbol {
    uint32_t bits; /* 'next' plus it, by 2^16: how many bits are put down */
    int32_t first; /* of its states in the order, less how many there are */
};

struct encoder {
    struct symbol symbols[CODED_SYMBOLS];
    const uint16_t *states; /* in the order */
    unsigned last;
};

/* -- choosing ------------------------------------------------------------- */

/* In 1/256 bits. */
static uint64_t
cost_of(const uint32_t counts[CODED_SYMBOLS], const uint16_t *costs)
{
    uint64_t cost = 0;

    for (unsigned s = 0; s < CODED_SYMBOLS; s++)
        cost += (uint64_t)counts[s] * costs[s];
    return cost;
}

/* The same of fewer than 32,768 numbers, for which processors have an
 * instruction. */
static uint64_t
cost_of_few(const int16_t counts[CODED_SYMBOLS], const uint16_t *costs)
{
    int32_t cost = 0;

    for (unsigned s = 0; s < CODED_SYMBOLS; s++)
        cost += counts[s] * (int16_t)costs[s];
    return (uint64_t)cost;
}

static void
try_low(const uint64_t *u, size_t len, unsigned low, struct numbers_plan *best)
{
    uint32_t counts[CODED_SYMBOLS];
    int16_t few[CODED_SYMBOLS];
    uint32_t part[4][CODED_SYMBOLS] = { { 0 } };
    const uint64_t last = CODED_SYMBOLS - 1;
    size_t i = 0;

    /* Four at a time: counting one thing twice in a row has to wait. */
    for (; len - i >= 4; i += 4)
        for (size_t k = 0; k < 4; k++) {
            uint64_t s = u[i + k] >> low;

            part[k][s < last ? s : last]++;
        }
    for (; i < len; i++) {
        uint64_t s = u[i] >> low;

        part[0][s < last ? s : last]++;
    }
    for (size_t s = 0; s < CODED_SYMBOLS; s++)
        counts[s] = part[0][s] + part[1][s] + part[2][s] + part[3][s];
    for (unsigned s = 0; s < CODED_SYMBOLS; s++)
        few[s] = (int16_t)counts[s];
    for (unsigned table = 0; table < CODED_TABLES; table++) {
        const uint16_t *costs = coded_table(table)->costs;
        uint64_t cost =
            len <= INT16_MAX ? cost_of_few(few, costs) : cost_of(counts, costs);
        uint64_t bits = cost / 256 + len * low + CURSORS * STATE_BITS + 8;

        if (bits < best->bits)
            *best = (struct numbers_plan){ NUMBERS_CODED, low, bits, table };
    }
}

struct numbers_plan
coded_plan(const uint64_t *u, size_t len, unsigned rice)
{
    struct numbers_plan best = { NUMBERS_CODED, 0, UINT64_MAX, 0 };

    try_low(u, len, rice, &best);
    if (rice > 0)
        try_low(u, len, rice - 1, &best);
    return best;
}

/* -- writing -------------------------------------------------------------- */

static inline const struct symbol *
symbol_of(const struct encoder *e, uint64_t high)
{
    return &e->symbols[high < e->last ? high : e->last];
}

/* One step back: to the state that gives the symbol, and from which the bits of
 * '*step' lead to 'next'. */
static inline unsigned
step_back(const struct encoder *e, uint64_t high, unsigned next, uint16_t *step)
{
    const struct symbol *s = symbol_of(e, high);
    unsigned bits = (next + s->bits) >> 16;

    *step = (uint16_t)((next & ((1u << bits) - 1)) | bits << 8);
    return e->states[s->first + (int32_t)(next >> bits)];
}

/* The bits that lead from each number to the one of its cursor that follows,
 * and how many above them; the states to begin with. */
static void
walk_back(const struct encoder *e, const uint64_t *u, size_t len, unsigned low,
          unsigned table, uint16_t *steps, unsigned starts[CURSORS])
{
    unsigned even = CODED_STATES, odd = CODED_STATES;
    size_t i = len;

    for (size_t k = 0; k < CURSORS && i > 0; k++) {
        unsigned state;
        const struct symbol *s = symbol_of(e, u[--i] >> low);

        /* Nothing follows: any of the symbol's states. */
        state = e->states[s->first + coded_counts[table][s - e->symbols]];
        if (i % CURSORS == 0)
            even = state;
        else
            odd = state;
    }
    if (i % CURSORS == 1) {
        i--;
        even = step_back(e, u[i] >> low, even, &steps[i]);
    }
    for (; i > 0; i -= 2) {
        odd = step_back(e, u[i - 1] >> low, odd, &steps[i - 1]);
        even = step_back(e, u[i - 2] >> low, even, &steps[i - 2]);
    }
    starts[0] = even - CODED_STATES;
    starts[1] = odd - CODED_STATES;
}

void
coded_put(const uint64_t *u, size_t len, unsigned low, unsigned table,
          struct buf *out)
{
    struct bits_out o = bits_out_of(out);
    struct encoder e;
    unsigned starts[CURSORS];
    uint16_t *steps = malloc(len * sizeof *steps);
    const uint8_t *counts;
    int32_t first = 0;

    if (steps == NULL || !bits_room(&o, (len + CURSORS) * STATE_BITS)) {
        out->failed = true;
        free(steps);
        return;
    }
    counts = coded_counts[table];
    e.states = coded_table(table)->order;
    e.last = coded_last(table);
    for (unsigned s = 0; s <= e.last; s++) {
        unsigned bits = STATE_BITS - (31 - (unsigned)__builtin_clz(counts[s]));

        /* One bit less below a limit: then a one is borrowed. */
        e.symbols[s].bits = (bits << 16) - ((unsigned)counts[s] << bits);
        e.symbols[s].first = first - counts[s];
        first += counts[s];
    }
    walk_back(&e, u, len, low, table, steps, starts);
    for (size_t i = 0; i < CURSORS && i < len; i++)
        bits_put(&o, starts[i], STATE_BITS);
    for (size_t i = 0; i + CURSORS < len; i += 2) {
        unsigned next = i + CURSORS + 1 < len ? steps[i + 1] : 0;
        unsigned bits = steps[i] >> 8;

        bits_put(&o, (steps[i] & 255u) | (uint64_t)(next & 255) << bits,
                 bits + (next >> 8));
    }
    bits_out_done(&o);
    free(steps);
}

/* -- reading -------------------------------------------------------------- */

/* What is below is compiled twice: once for processors that shift and mask in
 * one step each, and once for others. */

struct cursors {
    const struct coded_tables *table;
    struct bits_in in;
    unsigned used; /* bits since the window was filled, and CODED_FAR's */
    unsigned seen; /* the same of all windows, one over the other */
    uint64_t last; /* where the last step led to */
};

/* One number: 'steps', a constant, says what is wanted of it. */
static ALWAYS_INLINE uint64_t
take(struct cursors *l, size_t state, bool steps)
{
    return steps ? (l->last += (uint64_t)(int64_t)l->table->step[state])
                 : l->table->symbol[state];
}

/* One number, and the state moves on. */
static ALWAYS_INLINE uint64_t
step_on(struct cursors *l, size_t *state, bool steps)
{
    const struct coded_tables *t = l->table;
    size_t s = *state;
    unsigned bits = t->bits[s];

    *state = t->next[s] + (l->in.window & t->mask[s]);
    l->in.window >>= bits & 63;
    l->used += bits;
    return take(l, s, steps);
}

static ALWAYS_INLINE void
fill_cursors(struct cursors *l)
{
    l->seen |= l->used;
    l->in.have -= l->used % CODED_FAR;
    l->used = 0;
    bits_fill(&l->in);
}

static ALWAYS_INLINE bool
get_cursors(struct cursor *c, uint64_t *out, size_t len, unsigned table,
            uint64_t start, bool steps)
{
    struct cursors l = { .table = coded_table(table),
                         .in = bits_in_of(c),
                         .last = start };
    size_t a, b = 0, i = 0;

    bits_fill(&l.in);
    a = bits_get(&l.in, STATE_BITS);
    if (len > 1)
        b = bits_get(&l.in, STATE_BITS);
    /* Six symbols take at most 48 bits; the last two lead nowhere. */
    for (; len - i >= 8; i += 6) {
        fill_cursors(&l);
        out[i] = step_on(&l, &a, steps);
        out[i + 1] = step_on(&l, &b, steps);
        out[i + 2] = step_on(&l, &a, steps);
        out[i + 3] = step_on(&l, &b, steps);
        out[i + 4] = step_on(&l, &a, steps);
        out[i + 5] = step_on(&l, &b, steps);
    }
    for (; i < len; i++) {
        size_t *state = i % 2 == 0 ? &a : &b;

        fill_cursors(&l);
        if (i + CURSORS < len) {
            out[i] = step_on(&l, state, steps);
        } else {
            out[i] = take(&l, *state, steps);
            l.seen |= l.table->bits[*state];
        }
    }
    l.seen |= l.used;
    l.in.have -= l.used % CODED_FAR;
    bits_in_done(&l.in, c);
    return l.seen >= CODED_FAR;
}

bool
coded_get_plain(struct cursor *c, uint64_t *out, size_t len, unsigned table)
{
    return get_cursors(c, out, len, table, 0, false);
}

bool
coded_get_steps_plain(struct cursor *c, uint64_t *out, size_t len,
                      unsigned table, uint64_t start)
{
    return get_cursors(c, out, len, table, start, true);
}

BLOCK_AVX2 static bool
get_avx2(struct cursor *c, uint64_t *out, size_t len, unsigned table)
{
    return get_cursors(c, out, len, table, 0, false);
}

BLOCK_AVX2 static bool
get_steps_avx2(struct cursor *c, uint64_t *out, size_t len, unsigned table,
               uint64_t start)
{
    return get_cursors(c, out, len, table, start, true);
}

/* -- by what the processor can --------------------------------------------- */

bool
coded_get(struct cursor *c, uint64_t *out, size_t len, unsigned table)
{
    return block_has_avx2() ? get_avx2(c, out, len, table)
                            : coded_get_plain(c, out, len, table);
}

bool
coded_get_steps(struct cursor *c, uint64_t *out, size_t len, unsigned table,
                uint64_t start)
{
    return block_has_avx2() ? get_steps_avx2(c, out, len, table, start)
                            : coded_get_steps_plain(c, out, len, table, start);
}
