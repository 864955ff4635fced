/* The WAL's records beside those of points (wal_points.h): batches of the
 * engine, deletions, what a bucket's owner writes (docs/FORMAT.md, "WAL
 * records").
 *
 * Threads: any; functions of their arguments. */
#pragma once

#include "storage/kv/kv.h"
#include "storage/row/key.h"

enum record_type {
    RECORD_POINTS = 1, /* points of a salt bucket */
    RECORD_BATCH = 2,  /* a batch of the engine */
    RECORD_DELETE = 3, /* a series and a range of time */
    RECORD_OWNED = 4,  /* one of points or a deletion, with its epoch */
};

void record_batch(struct buf *b, const struct kv_batch *batch);
/* Numbers a batch, whose record was begun so: an operation more in both. */
void record_batch_number(struct buf *b, struct kv_batch *batch,
                         uint64_t number);
void record_delete(struct buf *b, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms);
/* What stands before such a record of 'type' in a store of a pool. */
void record_owned(struct buf *b, uint64_t epoch, uint8_t type);

/* ST_CORRUPT when a record of the WAL is malformed; changes nothing. */
MUST_CHECK enum status record_check(const struct key_layout *layout,
                                    uint8_t type, struct slice payload,
                                    struct error *e);

/* Reads the operations into 'b'; '*number' is the batch's own, or 0. */
bool record_read_batch(struct slice payload, struct kv_batch *b,
                       uint64_t *number);
/* The TSUID is lent from the payload.  False when it is malformed. */
bool record_read_delete(const struct key_layout *layout, struct slice payload,
                        struct slice *tsuid, int64_t *from_ms, int64_t *to_ms);
/* The record is lent from the payload, and not checked.  False when the head is
 * malformed, or its type is another. */
bool record_read_owned(struct slice payload, uint64_t *epoch, uint8_t *type,
                       struct slice *record);
/* The key under which a batch puts its number. */
struct slice record_batch_key(void);
