/*
 * The files that LevelDB appends to, its logs and its MANIFEST, read by us:
 * before it opens them, to see what a power cut left.
 *
 *     file      blocks of 32 KB; records do not cross their borders
 *     record    <masked crc32c:4> <length:2> <type:1> <bytes>, little-endian
 *     type      1 a whole one, or its 2 first, 3 middle, 4 last piece
 *
 * Less than seven bytes at the end of a block are passed over.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef STORAGE_LEVEL_LOG_PRIV_H
#define STORAGE_LEVEL_LOG_PRIV_H

#include "base/buf.h"
#include "base/error.h"

#define LEVEL_LOG_BLOCK  32768
#define LEVEL_LOG_HEADER 7

struct level_log_end {
    uint64_t size; /* of the file */
    uint64_t good; /* the end of the last record before the first bad one */
    bool follows;  /* another record begins behind the bad one */
};

/* Calls 'f' (may be NULL) for each whole record up to the first that is not;
 * what 'f' answers with ST_NOT_FOUND counts as a bad one.  ST_IO, what else 'f'
 * returns, or ST_OK, whatever lies in the file. */
MUST_CHECK enum status level_log_read(
    int fd, const char *path,
    enum status (*f)(void *ctx, struct slice record, struct error *e),
    void *ctx, struct level_log_end *out, struct error *e);

/* A log's record is a batch: the number of its first write, and how many. */
struct level_batch {
    uint64_t first;
    uint32_t len;
};

/* False when it is too short to be one. */
bool level_batch_of(struct slice record, struct level_batch *out);

/* What a MANIFEST says of logs: those from 'log' on, and 'earlier', are needed
 * to open the database. */
struct level_version {
    uint64_t log;
    uint64_t earlier; /* 0: none */
};

/* Applies one record of a MANIFEST; ST_CORRUPT when it is none. */
MUST_CHECK enum status level_version_apply(struct level_version *v,
                                           struct slice record,
                                           struct error *e);

#endif
