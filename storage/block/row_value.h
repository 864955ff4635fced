/* The value of a row: the blocks of its span's hours, or, where these have few
 * points, one block of them all, whose header costs as much as an hour's
 * (docs/FORMAT.md, "Value of a row").  With one hour a row it is that hour's
 * block and nothing else.
 *
 * Owns:    row_blocks own what they had to encode anew.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_CORRUPT on bytes that are not written here.  The checksum is of
 * all hours; blocks are separated, not looked into.  ST_LIMIT without memory
 * to take one block of all apart. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/row/key.h"
#include "storage/block/point.h"

/* Hours are one block if they have at most so many points, all together and in
 * the mean: who wants an hour of them unpacks all. */
#define ROW_BLOCK_POINTS      768
#define ROW_BLOCK_HOUR_POINTS 128

/* The blocks of a value, one after the other; it lends from the value. */
struct row_hours {
    struct slice left;
    uint32_t hours;   /* those to come, a bit each */
    uint32_t base;    /* of the first bit, s */
    uint32_t block_s; /* that a block is of: an hour, or the row */
    bool is_bare;     /* a block and nothing else */
    bool bad;         /* it ended too early, or too late */
};

/* The block of an hour, as row_hours_next() and row_blocks_of() lend it, says
 * only that the hour is stored in a part of the row
 * (storage/block/row_parts.h). The functions of block.h find it damaged. */
bool row_hour_is_elsewhere(struct slice block);
/* Such a block. */
struct slice row_hour_elsewhere(void);

/* Is it one block of a row's hours? */
bool row_is_one_block(const struct key_layout *s, struct slice value);

MUST_CHECK enum status row_hours_begin(const struct key_layout *s,
                                       uint32_t base, struct slice value,
                                       struct row_hours *out, struct error *e);

/* The next block and its base; false when none is left, or 'bad' is set. */
bool row_hours_next(struct row_hours *h, uint32_t *base, struct slice *block);

/* Sets 'e' if 'bad' is set. */
MUST_CHECK enum status row_hours_end(const struct row_hours *h,
                                     struct error *e);

/* How many points a value has, as far as it can be read. */
uint64_t row_points(const struct key_layout *s, uint32_t base,
                    struct slice value);

/* All hours at once; those without a block are empty. */
struct row_blocks {
    struct slice blocks[ROW_HOURS_MAX];
    struct buf split; /* hours of one block of all */
};

/* What 'out' had is forgotten; it was zeros at first. */
MUST_CHECK enum status row_blocks_of(const struct key_layout *s, uint32_t base,
                                     struct slice value, struct row_blocks *out,
                                     struct error *e);
void row_blocks_fini(struct row_blocks *p);

/* Takes the points from 'from_ms' to 'to_ms', both included, out of the block
 * of an hour.  '*deleted' is replaced by these points.  If there are any,
 * '*block' becomes what stays, encoded into 'out', or empty.  ST_BUSY without
 * memory. */
MUST_CHECK enum status row_block_delete(struct slice *block, uint32_t base,
                                        int64_t from_ms, int64_t to_ms,
                                        struct buf *out, struct points *deleted,
                                        struct error *e);

/* Appends the value, with blocks as block_encode() or a value gave them;
 * nothing when there is no block at all. */
void row_value_put(const struct key_layout *s, uint32_t base,
                   const struct row_blocks *parts, struct buf *out);

/* The same as it is to be stored: one block if there are few points, unpacked
 * in 'scratch'. */
void row_value_pack(const struct key_layout *s, uint32_t base,
                    const struct row_blocks *parts, struct points *scratch,
                    struct buf *out);

/* Which of the row's hours has this time. */
static inline unsigned
row_hour_of(const struct key_layout *s, uint32_t time_s)
{
    return (time_s - key_span_base(s, time_s)) / HOUR_S;
}
