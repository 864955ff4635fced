/*
 * The coder has 256 states.  Each gives one symbol and, with some bits that are
 * read, the next state; a symbol of a fourth of all states costs two bits.  Two
 * chains of states take turns, for even and for odd numbers, because each step
 * has to wait for the one before.
 *
 * Writing goes from the last number to the first, since it is the next state
 * that says which bits lead there; they are kept and put down in the order of
 * reading.
 */
#include "config.h"

#include "storage/block_coded_priv.h"

#include <stdlib.h>

#include "storage/block_bits_priv.h"

#define STATE_BITS 8
#define LANES      2

/* How a symbol is written: from the states [256, 512) that may follow it. */
struct symbol {
    unsigned count;
    unsigned bits; /* that are put down from 'limit' on; one less below it */
    unsigned limit;
    uint8_t *states; /* 'count' of them, ascending */
};

struct encoder {
    struct symbol symbols[CODED_SYMBOLS];
    uint8_t states[CODED_STATES];
    unsigned last;
};

unsigned
coded_last(unsigned table)
{
    unsigned last = CODED_SYMBOLS - 1;

    while (coded_counts[table][last] == 0)
        last--;
    return last;
}

/* -- choosing ------------------------------------------------------------- */

/* Four at a time: counting one thing twice in a row has to wait. */
static void
count_symbols(const uint64_t *u, size_t len, unsigned low,
              uint32_t counts[CODED_SYMBOLS])
{
    uint32_t part[4][CODED_SYMBOLS] = { { 0 } };
    const uint64_t last = CODED_SYMBOLS - 1;

    for (size_t i = 0; i < len; i++) {
        uint64_t s = u[i] >> low;

        part[i % 4][s < last ? s : last]++;
    }
    for (size_t s = 0; s < CODED_SYMBOLS; s++)
        counts[s] = part[0][s] + part[1][s] + part[2][s] + part[3][s];
}

/* In 1/256 bits. */
static uint64_t
cost_of(const uint32_t counts[CODED_SYMBOLS], unsigned table)
{
    uint64_t cost = 0;

    for (unsigned s = 0; s < CODED_SYMBOLS; s++)
        cost += (uint64_t)counts[s] * coded_costs[table][s];
    return cost;
}

static void
try_low(const uint64_t *u, size_t len, unsigned low, struct numbers_plan *best)
{
    uint32_t counts[CODED_SYMBOLS];

    count_symbols(u, len, low, counts);
    for (unsigned table = 0; table < CODED_TABLES; table++) {
        uint64_t bits =
            cost_of(counts, table) / 256 + len * low + LANES * STATE_BITS + 8;

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

static void
encoder_init(struct encoder *e, unsigned table)
{
    const uint8_t *counts = coded_counts[table];
    uint8_t *at = e->states, *next[CODED_SYMBOLS];

    e->last = coded_last(table);
    for (unsigned s = 0; s < CODED_SYMBOLS; s++) {
        struct symbol *x = &e->symbols[s];
        unsigned high =
            counts[s] == 0 ? 0 : 31 - (unsigned)__builtin_clz(counts[s]);

        x->count = counts[s];
        x->bits = STATE_BITS - high;
        x->limit = x->count << x->bits;
        x->states = next[s] = at;
        at += counts[s];
    }
    for (unsigned state = 0; state < CODED_STATES; state++)
        *next[coded_states[table][state] & 15]++ = (uint8_t)state;
}

static inline const struct symbol *
symbol_of(const struct encoder *e, uint64_t high)
{
    return &e->symbols[high < e->last ? high : e->last];
}

/* The bits that lead from each number to the one of its lane that follows, and
 * how many above them; the states to begin with. */
static void
walk_back(const struct encoder *e, const uint64_t *u, size_t len, unsigned low,
          uint16_t *steps, unsigned starts[LANES])
{
    unsigned state[LANES] = { 0 };

    for (size_t i = len; i-- > 0;) {
        const struct symbol *s = symbol_of(e, u[i] >> low);
        unsigned next = state[i % LANES], bits;

        if (i + LANES >= len) { /* nothing follows: any of its states */
            state[i % LANES] = s->states[0];
            continue;
        }
        next += CODED_STATES;
        bits = s->bits - (next < s->limit);
        steps[i] = (uint16_t)((next & ((1u << bits) - 1)) | bits << 8);
        state[i % LANES] = s->states[(next >> bits) - s->count];
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        starts[lane] = state[lane];
}

void
coded_put(const uint64_t *u, size_t len, unsigned low, unsigned table,
          struct buf *out)
{
    struct bits_out o = bits_out_of(out);
    struct encoder e;
    unsigned starts[LANES];
    uint16_t *steps = malloc(len * sizeof *steps);

    if (steps == NULL || !bits_room(&o, (len + LANES) * STATE_BITS)) {
        out->failed = true;
        free(steps);
        return;
    }
    encoder_init(&e, table);
    walk_back(&e, u, len, low, steps, starts);
    for (size_t i = 0; i < LANES && i < len; i++)
        bits_put(&o, starts[i], STATE_BITS);
    for (size_t i = 0; i + LANES < len; i += 2) {
        unsigned next = i + LANES + 1 < len ? steps[i + 1] : 0;
        unsigned bits = steps[i] >> 8;

        bits_put(&o, (steps[i] & 255u) | (uint64_t)(next & 255) << bits,
                 bits + (next >> 8));
    }
    bits_out_done(&o);
    free(steps);
}

/* -- reading -------------------------------------------------------------- */

/* The symbol of a state, which moves on. */
static inline uint64_t
step_on(const uint16_t *states, unsigned *state, struct bits_in *in)
{
    unsigned s = states[*state];

    *state = (s >> 8) + (unsigned)bits_get(in, s >> 4 & 15);
    return s & 15;
}

bool
coded_get(struct cursor *c, uint64_t *out, size_t len, unsigned table)
{
    const uint16_t *states = coded_states[table];
    struct bits_in in = bits_in_of(c);
    unsigned a, b = 0;
    uint64_t most = 0;
    size_t i = 0;

    bits_fill(&in);
    a = (unsigned)bits_get(&in, STATE_BITS);
    if (len > 1)
        b = (unsigned)bits_get(&in, STATE_BITS);
    /* Six symbols take at most 48 bits; the last two lead nowhere. */
    for (; len - i >= 8; i += 6) {
        bits_fill(&in);
        for (size_t k = 0; k < 6; k += 2) {
            out[i + k] = step_on(states, &a, &in);
            out[i + k + 1] = step_on(states, &b, &in);
            most = out[i + k] > most ? out[i + k] : most;
            most = out[i + k + 1] > most ? out[i + k + 1] : most;
        }
    }
    for (; i < len; i++) {
        unsigned *state = i % 2 == 0 ? &a : &b;

        bits_fill(&in);
        out[i] = i + LANES < len ? step_on(states, state, &in)
                                 : (uint64_t)(states[*state] & 15);
        most = out[i] > most ? out[i] : most;
    }
    bits_in_done(&in, c);
    return most == coded_last(table);
}
