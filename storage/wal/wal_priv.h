/* The insides of the WAL.
 *
 * Threads: struct wal says what guards what. */
#pragma once

#include "base/buf.h"
#include "base/process/lock.h"
#include "base/process/thread.h"
#include "storage/wal/wal.h"
#include "storage/wal/wal_medium.h"

#define WAL_MAGIC FOURCC('J', 'R', 'N', 'L')

/* What a record takes in a bundle at most, beside its payload: the bundle's
 * head, if it is the first, a type and a varint. */
#define WAL_ENTRY_ROOM (WAL_RECORD_HEADER + 1 + 5)

struct wal {
    uint32_t magic;
    struct wal_medium *medium;
    enum wal_sync sync;
    unsigned interval_ms;
    size_t segment_bytes;
    size_t buffer_bytes;
    size_t max_bundle, max_payload;
    bool read_only;
    uint64_t replay_end; /* the first segment that was not there at open */
    struct thread thread;
    struct latency sync_latency;

    /* What the next append goes to; behind 'segment' while the writer is
     * changing segments. */
    _Atomic uint64_t append_segment;

    struct lock lock;
    struct cond changed; /* any of what follows */
    struct cond tick;    /* 'stopping' */
    bool stopping GUARDED_BY(lock);
    bool writing GUARDED_BY(lock);
    bool syncing GUARDED_BY(lock);
    uint32_t file_key GUARDED_BY(lock); /* of 'segment' */
    uint64_t appended GUARDED_BY(lock); /* LSNs: bytes in bundles so far */
    uint64_t written GUARDED_BY(lock);
    uint64_t synced GUARDED_BY(lock);
    /* Since when bytes are written and not synced (monotonic); 0: none are. */
    int64_t unsynced_us GUARDED_BY(lock);
    struct buf buffers[2] GUARDED_BY(lock); /* the writer's is not */
    unsigned filling GUARDED_BY(lock);      /* which of them is pending */
    uint64_t first GUARDED_BY(lock);        /* oldest segment that exists */
    uint64_t older GUARDED_BY(lock);   /* bytes in those before 'segment' */
    uint64_t segment GUARDED_BY(lock); /* the newest; changed with both roles */
    uint64_t size GUARDED_BY(lock);    /* of 'segment' */
    uint64_t reach GUARDED_BY(lock);   /* of 'segment', bytes synced */
    uint64_t marked GUARDED_BY(lock);  /* the newest mark in it */
    struct wal_counts counts GUARDED_BY(lock);
    struct error failed GUARDED_BY(lock); /* ST_OK: it works */
};

/* Makes a segment; '*file_key' is its key. */
MUST_CHECK enum status wal_make_segment(struct wal *w, uint64_t segment,
                                        uint32_t *file_key, struct error *e);

/* Goes on with this segment, which was made. */
void wal_begin_segment(struct wal *w, uint64_t segment, uint32_t file_key)
    REQUIRES(w->lock);

/* The thread of WAL_SYNC_INTERVAL. */
void *wal_interval_main(void *wal);
