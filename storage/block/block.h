/* Blocks: one series for one hour, of which the value of a row has some, or for
 * all of a row that has few points (docs/FORMAT.md, "Block"): version, count,
 * first and last time, times, values, a block summary, CRC-32C.  Integers stay
 * 64-bit integers, doubles keep their bits, seconds and milliseconds may mix.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_CORRUPT on any bytes that block_encode() does not write, ST_LIMIT
 *          without memory; never reads out of bounds, never allocates more than
 *          the count allows. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/block/point.h"

/* At most one point a millisecond. */
#define BLOCK_MAX_POINTS 3600000

/* What a query can know of a block without unpacking it. */
struct summary {
    uint32_t count;
    int64_t first_ms, last_ms; /* times of the first and the last point */
    bool all_int;              /* then sum, min ... are in .i, sum wraps */
    union number sum, min, max, first, last;
};

/* Points at equal distances, all of one kind: what is not in their values. */
struct spacing {
    bool even; /* they are such; otherwise the rest is not set */
    bool is_float;
    int64_t first_ms, step_ms; /* one point alone has no step: 0 */
    uint64_t greatest;         /* no integer is farther from 0 */
};

/* Those of a block's values that are wanted, from .. end - 1. */
struct value_range {
    size_t from, end;
};
#define ALL_VALUES ((struct value_range){ 0, SIZE_MAX })

/* Appends the block of 'p' (ascending, unique, all within the hour of 'base',
 * 1..BLOCK_MAX_POINTS points) to 'out'. */
void block_encode(const struct points *p, uint32_t base, struct buf *out);

/* The same of all points of a row of so many hours from 'base' on.  What reads
 * blocks takes either kind. */
void block_encode_row(const struct points *p, uint32_t base, unsigned hours,
                      struct buf *out);

/* The block summary that the block of these points would have. */
struct summary points_summary(const struct points *p);

/* Appends 'block' and so many zeros, for an engine that compresses; the result
 * is a block like any other. */
void block_pad(struct slice block, size_t zeros, struct buf *out);

/* Appends the points to 'out', ascending. */
MUST_CHECK enum status block_decode(struct slice block, uint32_t base,
                                    struct points *out, struct error *e);

/* The same, but where '*s' comes out even, only the values are written: the
 * times and kinds of the points that were appended are not, and values that are
 * not wanted may be anything, also such as block_encode() does not write. */
MUST_CHECK enum status block_decode_spaced(struct slice block, uint32_t base,
                                           struct value_range wanted,
                                           struct points *out,
                                           struct spacing *s, struct error *e);

/* Checks the CRC; does not unpack. '*s' (may be NULL) is what
 * block_decode_spaced() will say. */
MUST_CHECK enum status block_spacing(struct slice block, uint32_t base,
                                     struct spacing *s, struct summary *out,
                                     struct error *e);
MUST_CHECK enum status block_summary(struct slice block, uint32_t base,
                                     struct summary *out, struct error *e);
