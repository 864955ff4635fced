/* Lines of JSON into an opened store: what json_export.h writes.
 *
 *     json_importer_add() ... -> json_importer_flush()
 *
 * Points go into a batch of puts; all else is gathered and written at once.
 *
 * Owns:    what it gathers; lines are borrowed until the flush.
 * Bounds:  PUT_BATCH_MAX points, some MB of records.
 * Threads: one at a time.
 * Fails:   ST_INVALID: a bad line, of which parts may be stored; ST_BUSY: the
 *          batch or the store is full, ask json_importer_flush() and again;
 *          ST_IO. */
#pragma once

#include "tsd/put/put.h"

struct api;
struct json_importer; /* opaque */

/* What it asks its owner for. */
struct json_owner {
    /* Stores the batch, waiting while the store is busy. */
    enum status (*flush)(void *ctx, struct error *e);
    /* The store is busy for what was begun at 'since_us' (monotonic): waits a
     * little; ST_BUSY when it takes no more, or was busy for too long. */
    enum status (*wait)(void *ctx, int64_t since_us, struct error *e);
    void *ctx;
};

struct json_importer *json_importer_new(const struct api *a,
                                        const struct series_rules *rules,
                                        struct put_batch *batch,
                                        const struct json_owner *owner);
void json_importer_free(struct json_importer **j);

/* A line whose points have this id for put_failed(); '*records' grows by those
 * that are no points. */
MUST_CHECK enum status json_importer_add(struct json_importer *j,
                                         struct slice line, size_t id,
                                         uint64_t *points, uint64_t *records,
                                         struct error *e);
MUST_CHECK enum status json_importer_flush(struct json_importer *j,
                                           struct error *e);
