/* The WAL: what was acknowledged and is not yet in the engine.  Checksummed
 * records in segments (docs/FORMAT.md, "Write-ahead log"), group commit.  A
 * medium (wal_medium.h) keeps the segments: as files, or far away.
 *
 *     append  -> a buffer in memory, in the order of the calls
 *     commit  -> written to the segment by one caller for all that wait ("group
 *                commit"), as one bundle; with 'sync' also made durable
 *     trim    -> segments before a number are deleted
 *
 * After a failed write or fsync append and commit fail with ST_IO and the text
 * of the first failure, and nothing is retried, because the kernel may have
 * dropped the pages that it could not write.  wal_restart() ends that state
 * when all that is in these segments has been made safe elsewhere.  Nothing
 * ends ST_CONFLICT: another process has taken this WAL.
 *
 * Replay reads segments in order, the last one up to what was never synced
 * (wal_read.c); a damaged record anywhere else is ST_CORRUPT, with file and
 * offset in the text, and nothing is skipped.
 *
 * Threads: any.  wal_replay(): before the first append, one caller.
 * wal_trim(), wal_restart(): one of them at a time. */
#pragma once

#include "base/error.h"
#include "base/process/latency.h"
#include "base/slice.h"

struct wal; /* opaque */
struct wal_medium;

/* When the segment is made durable, beyond being written; all the same where
 * the medium's appends are durable. */
enum wal_sync {
    WAL_SYNC_ALWAYS,   /* every commit */
    WAL_SYNC_INTERVAL, /* by a thread, every 'interval_ms' */
    WAL_SYNC_OFF,      /* when the kernel likes */
};

struct wal_options {
    struct wal_medium *medium; /* taken over, after a failure too */
    enum wal_sync sync;
    unsigned interval_ms; /* 0: 1000 */
    size_t segment_bytes; /* 0: 64 MB; a new segment starts past it */
    size_t buffer_bytes;  /* 0: 8 MB; wal_wait_for_room() waits past it */
    bool read_only;       /* for wal_replay() alone: nothing is changed */
};

MUST_CHECK enum status wal_open(const struct wal_options *o, struct wal **out,
                                struct error *e);

/* Commits what is pending, syncs, closes.  '*w' becomes NULL in any case. */
MUST_CHECK enum status wal_close(struct wal **w, struct error *e);

/* Calls f for each record, oldest first; stops at its first failure.  Each
 * record comes with the number of its segment. */
MUST_CHECK enum status
wal_replay(struct wal *w,
           enum status (*f)(void *ctx, uint64_t segment, uint8_t type,
                            struct slice payload, struct error *e),
           void *ctx, struct error *e);

/* '*lsn' is what to commit; LSNs ascend in the order of records.  Payloads of
 * up to 64 MB; types from 1 on.  With 'segment' not 0 the record must be of
 * this segment: ST_NOT_FOUND when another one has begun since, and nothing is
 * appended.  Does not wait for the disk: call wal_wait_for_room() before, and
 * before taking a lock that queries take.  A medium may take less than 64 MB:
 * ST_LIMIT. */
MUST_CHECK enum status wal_append(struct wal *w, uint64_t segment, uint8_t type,
                                  struct slice payload, uint64_t *lsn,
                                  struct error *e);

/* Waits until the buffer is below its limit, or the WAL's failure. */
MUST_CHECK enum status wal_wait_for_room(struct wal *w, struct error *e);

/* Everything up to 'lsn' is in the segment when it returns ST_OK, and durable
 * with WAL_SYNC_ALWAYS.  With 'sync' all that was appended before the call is
 * durable, whatever 'lsn'. */
MUST_CHECK enum status wal_commit(struct wal *w, uint64_t lsn, bool sync,
                                  struct error *e);

/* The segment that the next append goes to, or an earlier one: take it before
 * appending, and the record is in this segment or a later one. */
uint64_t wal_segment_now(const struct wal *w);

/* Starts a new segment with the next append. */
void wal_rotate(struct wal *w);

/* Deletes the segments before 'segment'; never the current one. */
MUST_CHECK enum status wal_trim(struct wal *w, uint64_t segment,
                                struct error *e);

/* ST_OK while it works; after a failure what the failure was. */
MUST_CHECK enum status wal_status(struct wal *w, struct error *e);

/* After a failure: deletes all segments and forgets what is pending, starts a
 * new one, and works again.  The caller holds what was appended, up to the last
 * successful call, on the disk by other means.  No-op without a failure;
 * ST_CONFLICT after that one. */
MUST_CHECK enum status wal_restart(struct wal *w, struct error *e);

struct wal_counts {
    uint64_t writes;
    uint64_t syncs;
    int64_t synced_us; /* monotonic, the end of the last one; 0: none was */
    /* How long the oldest bytes in the file have waited for their sync; 0 with
     * WAL_SYNC_OFF, where none is waited for. */
    int64_t unsynced_us;
    uint64_t segments; /* now */
    uint64_t bytes;    /* in those segments now */
    uint64_t current;  /* of these, in the newest one */
};
struct wal_counts wal_counts(struct wal *w);

/* Of syncs; where appends are durable, of appends. */
const struct latency *wal_sync_latency(const struct wal *w);
