/* The files that LevelDB appends to, its logs and its MANIFEST, read by us:
 * before it opens them, to see what a power cut left.
 * storage/kv/leveldb/level_bytes.h shows the bytes.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/kv/leveldb/level_bytes.h"

struct level_log_end {
    uint64_t size; /* of the file */
    uint64_t good; /* the end of the last record before the first bad one */
    uint64_t last; /* the end of the record before that */
    bool follows;  /* another record begins behind the bad one */
};

typedef enum status level_record_fn(void *ctx, struct slice record,
                                    struct error *e);

/* Calls 'f' (may be NULL) for each whole record that begins at 'from', where
 * one ends (0: all), or behind it, up to the first that is not whole;
 * what 'f' answers with ST_NOT_FOUND counts as a bad one.  ST_NOT_FOUND: there
 * is no such file.  ST_IO, what else 'f' returns, or ST_OK, whatever lies in
 * the file. */
MUST_CHECK enum status level_log_read(const char *path, uint64_t from,
                                      level_record_fn *f, void *ctx,
                                      struct level_log_end *out,
                                      struct error *e);

/* Calls 'f' for each whole record; behind a bad one it goes on at the next
 * block. */
MUST_CHECK enum status level_log_salvage(const char *path, level_record_fn *f,
                                         void *ctx, struct error *e);

/* Appends a record to the bytes of a log. */
void level_log_put(struct buf *log, struct slice record);

/* A log's record is a batch: the number of its first write, and how many. */
struct level_batch {
    uint64_t first;
    uint32_t len;
};

/* False when it is not a whole batch of puts and deletes. */
bool level_batch_of(struct slice record, struct level_batch *out);
