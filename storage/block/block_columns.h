/* The parts that blocks and the entries of weeks (storage/week/) share: columns
 * of integers and of doubles, decimals, the checksum.
 *
 * Encoders append to a buf, whose failure sticks.  Decoders read what a cursor
 * gives and fail it on invalid bytes, or for want of memory (no_memory), after
 * writing no more than 'len' elements; once the cursor has failed, what is in a
 * column means nothing.
 *
 * Threads: any; functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "storage/block/point.h"

#define BLOCK_CRC_SIZE 4

/* Of the bytes so far, and the time of the row or week they belong to. */
uint32_t block_crc(struct slice bytes, uint32_t base);

/* -- columns --------------------------------------------------------------- */

/* Integers: <first zigzag> <first - min>, then the column.  'scratch' has room
 * for 'len' numbers. */
void block_column_encode(const int64_t *v, size_t len, uint64_t *scratch,
                         struct buf *out);
void block_column_decode(struct cursor *c, int64_t *out, size_t len);
/* Doubles that are no decimals, as their bits: by XOR, or as they are. */
void block_floats_encode(const uint64_t *bits, size_t len, struct buf *out);
void block_floats_decode(struct cursor *c, uint64_t *out, size_t len);

/* -- decimals: doubles as integers, v = m / 10^scale ---------------------- */

#define DECIMAL_MAX_SCALE 17
#define DECIMAL_MAX       (INT64_C(1) << 51)

/* True when 'v' is exactly '*m' / 10^scale, bit for bit. */
bool block_decimal_of(double v, unsigned scale, int64_t *m);
/* |m| <= DECIMAL_MAX. */
double block_decimal_value(int64_t m, unsigned scale);
/* The same in place for a column; false: one of them is larger. */
bool block_decimal_values(union number *v, size_t len, unsigned scale);
