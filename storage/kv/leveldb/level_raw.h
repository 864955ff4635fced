/*
 * LevelDB's files as they lie, read without LevelDB, which passes over what it
 * cannot read in its log and does not miss a log that is gone.
 *
 *     CURRENT           the name of the manifest
 *     MANIFEST-000005   a log of edits: which tables there are, which log is on
 *     000007.log        a log of batches
 *     000006.ldb        a table: blocks, each with a checksum
 *
 * storage/kv/leveldb/level_bytes.h shows what a log is made of.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef STORAGE_KV_LEVELDB_LEVEL_RAW_H
#define STORAGE_KV_LEVELDB_LEVEL_RAW_H

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/leveldb/level_manifest.h"

/* What is wrong where; 'text' NULL: nothing. */
struct raw_fault {
    const char *text;
    size_t at;
};

/* Reads a log from its beginning. */
struct raw_log {
    struct slice bytes;
    size_t at;
    struct buf entry;
    size_t good; /* what was read up to here is whole */
    bool torn;   /* it ends in the middle of an entry: a crash did that */
    struct raw_fault fault;
};

/* False at the end, at a torn end and at damage. */
bool raw_log_next(struct raw_log *l, struct slice *entry);
/* Goes on behind damage or a torn end, at the next block; false at the end. */
bool raw_log_resume(struct raw_log *l);
void raw_log_fini(struct raw_log *l);
/* Appends an entry to the bytes of a log. */
void raw_log_put(struct buf *log, struct slice entry);

/* Is the entry a whole batch of puts and deletes? */
bool raw_batch_is_whole(struct slice entry, uint64_t *operations);

/* Reads all edits of a manifest; '*last' is where the last whole one begins,
 * '*torn' whether another follows that is not whole. */
struct raw_fault raw_manifest_read(struct slice bytes,
                                   struct level_history *out, size_t *last,
                                   bool *torn);

/* Checks every block of a table and what leads there. */
struct raw_fault raw_table_check(struct slice bytes, uint64_t *blocks);

enum raw_kind { RAW_CURRENT, RAW_MANIFEST, RAW_LOG, RAW_TABLE, RAW_OTHER };

/* Of a file's name; '*number' of a manifest, a log and a table. */
enum raw_kind raw_name(const char *name, uint64_t *number);

#endif
