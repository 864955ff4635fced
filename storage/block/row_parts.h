/* Parts of rows.  A row whose value would be large keeps the blocks of its
 * large hours outside, each in an entry of its own, a *part*: so whatever a
 * client sends can be stored, in engines that limit the size of a value too,
 * and what is read or written at once is bounded by an hour.
 *
 *     row    r <salt> <metric> <span> <tags>   hour 0 | elsewhere | hour 2
 *     part   r <salt> <metric> <hour> <tags>   hour 1
 *
 * An hour is a part if and only if the row's value says that it is elsewhere. A
 * part is written before the row that refers to it for the first time, and
 * deleted together with the reference; a part without a reference is left from
 * a write that was cut short, and is not read.  Once an hour is a part it
 * stays one until it has no points.  The first hour of a span has the row's own
 * key, and is never a part.
 *
 * A mask over row keys does not match parts, since no span begins there.  Code
 * that walks over all keys of the table meets parts as rows of one hour.
 *
 * Threads: any; a part does not change while the flush lock is held. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/block/row_value.h"
#include "storage/kv/kv.h"
#include "storage/row/key.h"

/* The value of a row, its first hour left aside: an hour has 30 MB at most, and
 * KV_VALUE_MAX is 64 MB. */
#define ROW_VALUE_BYTES ((size_t)24 << 20)

/* Which hours of a row must be parts if the others may take 'most' bytes: a bit
 * for each.  Hours that are elsewhere already count as nothing. */
uint32_t row_parts_to_move(const struct key_layout *s,
                           const struct row_blocks *parts, size_t most);

/* Writes the value of the part that has 'block' to 'out'. */
void row_part_encode(const struct key_layout *s, uint32_t base,
                     struct slice block, struct buf *out);

/* A row, to read its parts. */
struct row_of_parts {
    struct kv *kv;
    const struct key_layout *layout;
    struct slice tsuid;
    uint32_t span;
};

/* Does the row, as it is stored now, say that the hour at 'base' is a part? */
MUST_CHECK enum status row_part_is_used(const struct row_of_parts *row,
                                        uint32_t base, bool *is,
                                        struct error *e);

/* Reads the part of the hour at 'base' into 'value'; '*block' is lent from it.
 * '*block' is empty if the part and the reference to it have been deleted since
 * the row was read.  ST_CORRUPT if the part is damaged or missing. */
MUST_CHECK enum status row_part_read(const struct row_of_parts *row,
                                     uint32_t base, struct buf *value,
                                     struct slice *block, struct error *e);
