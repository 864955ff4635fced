/* Coded numbers: the high parts of numbers, in a few bits each, by a finite
 * state entropy coder (Duda, "Asymmetric numeral systems", 2013) with tables
 * that are given: a probable number takes a fraction of a bit, where a prefix
 * code takes one at least.
 *
 * A number without its low bits is a symbol; the last symbol of a table stands
 * for itself and all above it.  What the low bits and those numbers are is
 * written elsewhere (block_numbers.c).
 *
 * Threads: any; functions of their arguments, and tables that are made once. */
#pragma once

#include "storage/block/block_priv.h"

#define CODED_TABLES  16
#define CODED_SYMBOLS 16
#define CODED_STATES  256
#define STATE_BITS    8

/* How many of the states give each symbol; those that none gives are 0. */
extern const uint8_t coded_counts[CODED_TABLES][CODED_SYMBOLS];
#define CODED_FAR 0x80

struct coded_tables {
    /* A state gives a symbol; so many bits are read, and with 'next' added they
     * are the state that follows.  By arrays, of bytes: a state is the index in
     * each, and no address has to be computed before it is looked up. */
    uint8_t bits[CODED_STATES]; /* | CODED_FAR where the symbol is the last */
    uint8_t mask[CODED_STATES]; /* so many ones as bits */
    uint8_t next[CODED_STATES];
    uint8_t symbol[CODED_STATES];
    int8_t step[CODED_STATES]; /* unzigzag() of the symbol */
    /* The states that give a symbol, symbol by symbol, each ascending; 256 is
     * added to each. */
    uint16_t order[CODED_STATES];
    /* What a number takes, in 1/256 bits; one that is written elsewhere 8 bits
     * more. */
    uint16_t costs[CODED_SYMBOLS];
};

/* Never NULL; made at the first call, in some 0.1 ms for all. */
const struct coded_tables *coded_table(unsigned table);

/* The symbol from which on numbers are written elsewhere. */
unsigned coded_last(unsigned table);

/* Chooses the table and how many low bits; a Rice code would have 'rice'. */
struct numbers_plan coded_plan(const uint64_t *u, size_t len, unsigned rice);

/* The symbols of all numbers, 'low' bits taken off. */
void coded_put(const uint64_t *u, size_t len, unsigned low, unsigned table,
               struct buf *out);
/* True when the last symbol is among them. */
bool coded_get(struct cursor *c, uint64_t *out, size_t len, unsigned table);
/* The same of numbers that are steps, zigzag: where each of them leads to, one
 * after the other, from 'start' on. */
bool coded_get_steps(struct cursor *c, uint64_t *out, size_t len,
                     unsigned table, uint64_t start);

/* The twins of all without instructions that not every processor has. */
bool coded_get_plain(struct cursor *c, uint64_t *out, size_t len,
                     unsigned table);
bool coded_get_steps_plain(struct cursor *c, uint64_t *out, size_t len,
                           unsigned table, uint64_t start);
