/* Writes blocks of lines, which are points or records in JSON, into an opened
 * store: the fastest way is that of telnet's puts (tsd/put/put.h).
 *
 *     import_writer_new() -> _write() ... -> _commit() -> _free()
 *
 * Lines: "metric time value tagk=tagv ..", perhaps led by "put "; empty ones
 * and those that begin with '#' are passed over.
 *
 * Owns:    a batch.
 * Bounds:  a batch, and PUT_BATCH_MAX points.
 * Threads: one at a time; several writers share a put path.
 * Fails:   ST_BUSY, ST_IO: the store takes no more. */
#pragma once

#include "tsd/put/put.h"

struct api;

/* A bad line: its first byte within the block, and a sentence in UTF-8. */
typedef void import_bad(void *ctx, size_t offset, struct slice why);

struct import_counts {
    uint64_t points;
    uint64_t records; /* of JSON, other than points */
};

/* A put path for imports, with the settings' rules but for new metrics. */
struct put_path *import_path_new(const struct api *a, bool create_metrics);

/* Which store it is, for import_journal.h: a copy of it is another one. */
#define IMPORT_STORE_MAX 128
const char *import_store_name(const struct api *a, char out[IMPORT_STORE_MAX]);

struct import_writer; /* opaque */

struct import_writer *import_writer_new(const struct api *a,
                                        struct put_path *path, bool json);
void import_writer_free(struct import_writer **w);

/* Whole lines.  Waits while the store is busy.  'counts' grows. */
MUST_CHECK enum status import_writer_write(struct import_writer *w,
                                           struct slice block, import_bad *bad,
                                           void *ctx,
                                           struct import_counts *counts,
                                           struct error *e);

/* All that was written survives the end of this process; with 'sync' that of
 * the machine, too. */
MUST_CHECK enum status import_writer_commit(struct import_writer *w, bool sync,
                                            struct error *e);
