/* The insides of the WAL, and what a test may put in the kernel's place.
 *
 * Threads: struct wal says what guards what. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/lock.h"
#include "storage/wal/wal.h"
#include "storage/wal/wal_file.h"

/* The kernel, or what a test puts in its place. */
struct wal_io {
    ssize_t (*write)(int fd, const void *data, size_t size);
    int (*sync)(int fd);
};

#define WAL_MAGIC FOURCC('J', 'R', 'N', 'L')

struct wal {
    uint32_t magic;
    struct wal_io io;
    char *dir;
    int dir_fd;
    enum wal_sync sync;
    unsigned interval_ms;
    size_t segment_bytes;
    size_t buffer_bytes;
    uint64_t replay_end; /* the first segment that was not there at open */
    pthread_t thread;
    struct latency sync_latency;

    /* What the next append goes to; behind 'segment' while the writer is
     * changing files. */
    _Atomic uint64_t append_segment;

    struct lock note_lock; /* a leaf; held while SEGMENTS is written */
    struct wal_extent noted GUARDED_BY(note_lock);

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
    uint64_t segment GUARDED_BY(lock);      /* which 'fd' is */
    uint64_t size GUARDED_BY(lock);         /* of 'segment' */
    uint64_t reach GUARDED_BY(lock);        /* of 'segment', bytes synced */
    uint64_t marked GUARDED_BY(lock);       /* the newest mark in it */
    int fd GUARDED_BY(lock);                /* changed with both roles */
    struct wal_counts counts GUARDED_BY(lock);
    struct error failed GUARDED_BY(lock); /* ST_OK: it works */
};

/* Notes that the segments begin, or end, with another one.  Where there is no
 * room for that, the first one is not noted, and nothing else is: SEGMENTS
 * goes, so that files can be deleted. */
enum wal_end { WAL_FIRST, WAL_LAST };
MUST_CHECK enum status wal_note(struct wal *j, enum wal_end end,
                                uint64_t segment, struct error *e)
    EXCLUDES(j->note_lock);

/* A new file of a segment. */
struct wal_begun {
    uint64_t segment;
    uint32_t file_key;
    int fd;
};

/* Makes the file of 'b->segment' and notes that it is the last; it and its
 * name are on the disk when this returns, so that a header that does not check
 * later was damaged. */
MUST_CHECK enum status wal_make_file(struct wal *j, struct wal_begun *b,
                                     struct error *e);

/* Closes 'fd', and goes on with this file. */
void wal_begin_file(struct wal *j, const struct wal_begun *b) REQUIRES(j->lock);

/* 0 when it is not there. */
uint64_t wal_size(const struct wal *j, uint64_t segment);

/* Deletes a file; that is on the disk before the next deletion, so that a power
 * cut leaves no gap. */
MUST_CHECK enum status wal_delete_file(const struct wal *j, uint64_t segment,
                                       struct error *e);

/* The thread of WAL_SYNC_INTERVAL. */
void *wal_interval_main(void *wal);
