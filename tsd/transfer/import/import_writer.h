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
 * Threads: one at a time.
 * Fails:   ST_BUSY, ST_IO: the store takes no more; ST_BUSY: it was busy for
 *          longer than the writer may wait.  The writer is done for then. */
#pragma once

#include "base/cancel.h"
#include "tsd/put/put.h"

struct api;

/* A bad line: its first byte within the block, and a sentence in UTF-8. */
typedef void import_bad(void *ctx, size_t offset, struct slice why);

struct import_counts {
    uint64_t points;
    uint64_t records; /* of JSON, other than points */
};

struct import_writer; /* opaque */

struct import_rules {
    /* Makes new metrics, or rejects them, whatever the server's own rule is. */
    bool create_metrics;
    bool json; /* lines are records in JSON */
    /* Lines of points are stored one by one, and what follows the first bad
     * line of a block is not. Empty lines and comments are bad, as in
     * OpenTSDB's import. */
    bool stop_at_bad;
    unsigned wait_ms;     /* how long a store may be busy; 0: any time */
    struct cancel cancel; /* ends a wait with ST_BUSY */
};

struct import_writer *import_writer_new(const struct api *a,
                                        const struct import_rules *rules);
void import_writer_free(struct import_writer **w);

/* Whole lines.  Waits while the store is busy.  'counts' grows; where a writer
 * that may not wait for ever failed with ST_BUSY, by what
 * import_writer_taken() says. */
MUST_CHECK enum status import_writer_write(struct import_writer *w,
                                           struct slice block, import_bad *bad,
                                           void *ctx,
                                           struct import_counts *counts,
                                           struct error *e);

/* After ST_BUSY: so many bytes of the block, whole lines, were written.  The
 * others may have been, too, and are to be written again, with their bad lines:
 * at once, if 'true' was returned, for the store was only busy. */
bool import_writer_taken(const struct import_writer *w, size_t *taken);

/* All that was written survives the end of this process; with 'sync' that of
 * the machine, too. */
MUST_CHECK enum status import_writer_commit(struct import_writer *w, bool sync,
                                            struct error *e);
