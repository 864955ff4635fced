/* Where histograms lie: a table of their own, each under its series and time
 * (docs/FORMAT.md, "Histograms").
 *
 *     <'g'> <size:2> <TSUID> <time in ms:8>  ->  <codec:1> <histogram>
 *
 * They are written by store_write(), so that they are logged as all else
 * is, and read from the engine.  Same series and time: the last write wins.
 *
 * Threads: any.
 * Fails:   ST_IO, ST_CORRUPT, and what the callback returns. */
#pragma once

#include "storage/store/store.h"

#define HISTOGRAM_KEY_MAX (1 + 2 + TSUID_MAX + 8)

/* Writes at most HISTOGRAM_KEY_MAX bytes; returns how many. */
size_t histogram_key(struct slice tsuid, int64_t ms, uint8_t *out);

/* 'value' is the codec's number and the bytes of histogram_encode() or of
 * another codec. */
void histogram_put(struct kv_batch *b, struct slice tsuid, int64_t ms,
                   struct slice value);

typedef enum status histogram_visit(void *ctx, int64_t ms, uint8_t codec,
                                    struct slice bytes, struct error *e);

/* Calls 'f' for each histogram of the series with from_ms <= time <= to_ms,
 * ascending, as long as it returns ST_OK.  The bytes are lent for the call. */
MUST_CHECK enum status histogram_each(struct kv_iter *it, struct slice tsuid,
                                      int64_t from_ms, int64_t to_ms,
                                      histogram_visit *f, void *ctx,
                                      struct error *e);

/* Deletes these, exactly; '*deleted' is how many, '*lsn' what to commit. */
MUST_CHECK enum status histogram_delete(struct store *s, struct slice tsuid,
                                        int64_t from_ms, int64_t to_ms,
                                        uint64_t *deleted, uint64_t *lsn,
                                        struct error *e);
