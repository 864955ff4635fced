/*
 * The insides of the WAL: the bytes of its files, reading one, and what a
 * test may put in the kernel's place (docs/FORMAT.md, "Journal").
 *
 *     file    <"HALJ"> <version:4> <segment:8> <nonce:8> <checksum:4>
 *     record  <length:4> <type:1> <crc:4> <check:2> <payload>
 *     mark    a record of type 0: <synced:8>, the file's first so many bytes
 *             were on the disk before it was written
 *     bundle  a record of type 255: the callers' records of one write:
 *             { <type:1> <varint size> <payload> }...
 *
 * The key of a file is the checksum of its header, over a segment number and
 * a random nonce: XORed into each record's crc and check, it makes bytes of
 * another file, or bytes that a client sent, never look like a record here.
 *
 * Threads: struct wal says what guards what; the others are functions of
 *          their arguments.
 */
#ifndef STORAGE_WAL_WAL_PRIV_H
#define STORAGE_WAL_WAL_PRIV_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/lock.h"
#include "storage/wal/wal.h"

#define WAL_VERSION       1
#define WAL_FILE_HEADER   28
#define WAL_RECORD_HEADER 11
#define WAL_MARK          0   /* types of records */
#define WAL_BUNDLE        255 /* the others are the callers', in bundles */
#define WAL_MARK_SIZE     (WAL_RECORD_HEADER + 8)
#define WAL_MAX_PAYLOAD   ((size_t)64 << 20)

/* "00000000000000000001.wal" and a NUL. */
#define WAL_NAME_SIZE 25

typedef enum status wal_record_fn(void *ctx, uint64_t segment, uint8_t type,
                                  struct slice payload, struct error *e);

/* Writes the header of a file, returns its file_key. */
uint32_t wal_file_header(uint64_t segment, uint64_t nonce, uint8_t *out);

/* False when these bytes are no header of this segment. */
bool wal_file_check(const uint8_t *header, uint64_t segment,
                    uint32_t *file_key);

/* Writes a whole mark, masked with the key. */
void wal_mark(uint64_t synced, uint32_t file_key, uint8_t *out);

/* Writes the header of a record, without the file key. */
void wal_record_header(uint8_t type, struct slice payload, uint8_t *out);
void wal_record_mask(uint8_t *header, uint32_t file_key);

/* Calls 'f' (may be NULL) for each record of the open file but the marks.
 * '*good' is the size up to the last whole record; 0 without a header.  What
 * follows is ST_CORRUPT, unless the file is the last one and the rest is what a
 * crash can leave of bytes that were never synced. */
MUST_CHECK enum status wal_file_read(int fd, const char *path, uint64_t segment,
                                     bool last, wal_record_fn *f, void *ctx,
                                     uint64_t *good, struct error *e);

/* Of a file with damage in it: its header and, as they are, the records that
 * are whole and that 'f' takes.  Without a header, a new one and nothing else.
 */
struct wal_salvage {
    struct buf bytes;
    uint64_t records; /* bundles count once, marks not */
    uint64_t lost;    /* bytes of the file that are not in 'bytes' */
};
MUST_CHECK enum status wal_file_salvage(int fd, const char *path,
                                        uint64_t segment, wal_record_fn *f,
                                        void *ctx, struct wal_salvage *out,
                                        struct error *e);

void wal_name(uint64_t segment, char out[WAL_NAME_SIZE]);

/* The numbers of the segments that a folder holds, ascending. */
struct wal_segments {
    uint64_t *numbers; /* to be free()d */
    size_t len;
};
MUST_CHECK enum status wal_list(const char *dir, struct wal_segments *out,
                                struct error *e);

/* -- SEGMENTS -------------------------------------------------------------- */

/* Which files there are, by a file beside them: one that is gone would not be
 * missed otherwise.  From 'first' to 'last'; none when last < first.  More may
 * be there, after a crash. */
struct wal_extent {
    uint64_t first, last;
};

/* ST_NOT_FOUND, ST_CORRUPT. */
MUST_CHECK enum status wal_extent_read(const char *dir, struct wal_extent *out,
                                       struct error *e);
/* Replaces it; on the disk when it returns. */
MUST_CHECK enum status
wal_extent_write(const char *dir, const struct wal_extent *x, struct error *e);

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
    bool has_thread;

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
    bool trimming GUARDED_BY(lock);
    uint32_t file_key GUARDED_BY(lock); /* of 'append_segment' */
    uint64_t appended GUARDED_BY(lock); /* LSNs: bytes in bundles so far */
    uint64_t written GUARDED_BY(lock);
    uint64_t synced GUARDED_BY(lock);
    struct buf buffers[2] GUARDED_BY(lock); /* the writer's is not */
    unsigned filling GUARDED_BY(lock);      /* which of them is pending */
    uint64_t first GUARDED_BY(lock);        /* oldest segment that exists */
    uint64_t segment GUARDED_BY(lock);      /* which 'fd' is */
    uint64_t *sizes GUARDED_BY(lock);       /* of 'first' .. 'segment' */
    uint64_t reach GUARDED_BY(lock);        /* of 'segment', bytes synced */
    uint64_t marked GUARDED_BY(lock);       /* the newest mark in it */
    int fd GUARDED_BY(lock);                /* changed with both roles */
    struct wal_counts counts GUARDED_BY(lock);
    struct error failed GUARDED_BY(lock); /* ST_OK: it works */
};

/* Notes that the segments begin, or end, with another one.  Where there is no
 * room for that, the first one is not noted, and nothing else is: SEGMENTS
 * goes, so that files can be deleted. */
MUST_CHECK enum status wal_note_first(struct wal *j, uint64_t first,
                                      struct error *e) EXCLUDES(j->note_lock);
MUST_CHECK enum status wal_note_last(struct wal *j, uint64_t last,
                                     struct error *e) EXCLUDES(j->note_lock);

/* Before the first append. */
void wal_set_io(struct wal *j, const struct wal_io *io);

/* Makes the file of a segment; it and its name are on the disk when this
 * returns, so that a header that does not check later was damaged. */
MUST_CHECK enum status wal_make_file(const struct wal *j, uint64_t segment,
                                     const uint8_t *header, int *out,
                                     struct error *e);

/* The thread of WAL_SYNC_INTERVAL. */
void *wal_interval_main(void *wal);

#endif
