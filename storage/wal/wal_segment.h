/* The bytes of a WAL's segments, and reading one (docs/FORMAT.md, "Write-ahead
 * log").
 *
 *     header  <"HALJ"> <version:4> <segment:8> <nonce:8> <checksum:4>
 *     record  <length:4> <type:1> <crc:4> <check:2> <payload>
 *     mark    a record of type 0: <synced:8>, the segment's first so many bytes
 *             were on the disk before it was written
 *     bundle  a record of type 255: the callers' records of one write:
 *             { <type:1> <varint size> <payload> }...
 *
 * A segment's file key is the checksum of its header, over its number and
 * a random nonce: XORed into each record's crc and check, it makes bytes of
 * another one, or bytes that a client sent, never look like a record here.
 *
 * Threads: any; functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define WAL_VERSION        1
#define WAL_SEGMENT_HEADER 28
#define WAL_RECORD_HEADER  11
#define WAL_MARK           0   /* types of records */
#define WAL_BUNDLE         255 /* the others are the callers', in bundles */
#define WAL_MARK_SIZE      (WAL_RECORD_HEADER + 8)
#define WAL_MAX_PAYLOAD    ((size_t)64 << 20)    /* of a caller's record */
#define WAL_MAX_BUNDLE     (2 * WAL_MAX_PAYLOAD) /* heads included */

typedef enum status wal_record_fn(void *ctx, uint64_t segment, uint8_t type,
                                  struct slice payload, struct error *e);

/* Writes the header of a segment, returns its file key. */
uint32_t wal_segment_header(uint64_t segment, uint64_t nonce, uint8_t *out);

/* Writes a whole mark, masked with the key. */
void wal_mark(uint64_t synced, uint32_t file_key, uint8_t *out);

/* Writes the header of a record, without the file key. */
void wal_record_header(uint8_t type, struct slice payload, uint8_t *out);
void wal_record_mask(uint8_t *header, uint32_t file_key);

/* All of it in memory. */
struct wal_segment {
    char *path; /* for texts */
    uint64_t segment;
    bool last; /* of the WAL */
    struct buf bytes;
    uint32_t file_key; /* set by wal_segment_check() */
};
void wal_segment_fini(struct wal_segment *w);

/* False when it begins with no header of its segment. */
bool wal_segment_check(struct wal_segment *w);

/* Calls 'f' (may be NULL) for each record but the marks.  '*good' is the size
 * up to the last whole record; 0 without a header.  What follows is ST_CORRUPT,
 * unless it is the last segment and the rest is what a crash can leave of
 * bytes that were never synced. */
MUST_CHECK enum status wal_segment_read(struct wal_segment *w, wal_record_fn *f,
                                        void *ctx, uint64_t *good,
                                        struct error *e);

/* Of a segment with damage in it: its header and, as they are, the records that
 * are whole and that 'f' takes.  Without a header, a new one and nothing else.
 */
struct wal_salvage {
    struct buf bytes;
    uint64_t records; /* bundles count once, marks not */
    uint64_t lost;    /* bytes of the segment that are not in 'bytes' */
};
MUST_CHECK enum status wal_segment_salvage(struct wal_segment *w,
                                           wal_record_fn *f, void *ctx,
                                           struct wal_salvage *out,
                                           struct error *e);
