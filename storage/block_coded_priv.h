/*
 * Coded numbers: the high parts of numbers, in a few bits each, by a finite
 * state entropy coder (Duda, "Asymmetric numeral systems", 2013) with tables
 * that are given: a probable number takes a fraction of a bit, where a prefix
 * code takes one at least.
 *
 * A number without its low bits is a symbol; the last symbol of a table stands
 * for itself and all above it.  What the low bits and those numbers are is
 * written elsewhere (block_numbers.c).
 *
 * Threads: any; functions of their arguments, and constants.
 */
#ifndef STORAGE_BLOCK_CODED_PRIV_H
#define STORAGE_BLOCK_CODED_PRIV_H

#include "storage/block_priv.h"

#define CODED_TABLES  16
#define CODED_SYMBOLS 16
#define CODED_STATES  256

/* How many of the states give each symbol; those that none gives are 0. */
extern const uint8_t coded_counts[CODED_TABLES][CODED_SYMBOLS];
/* What a number takes, in 1/256 bits; one that is told elsewhere 8 bits more.
 */
extern const uint16_t coded_costs[CODED_TABLES][CODED_SYMBOLS];
/* Of a state: the symbol in bits 0 to 3, how many bits to read in 4 to 7, and
 * in 8 to 15 what to add to them for the next state. */
extern const uint16_t coded_states[CODED_TABLES][CODED_STATES];

/* The symbol from which on numbers are told elsewhere. */
unsigned coded_last(unsigned table);

/* Chooses the table and how many low bits; a Rice code would have 'rice'. */
struct numbers_plan coded_plan(const uint64_t *u, size_t len, unsigned rice);

/* The symbols of all numbers, 'low' bits taken off. */
void coded_put(const uint64_t *u, size_t len, unsigned low, unsigned table,
               struct buf *out);
/* True when the last symbol is among them. */
bool coded_get(struct cursor *c, uint64_t *out, size_t len, unsigned table);

#endif
