/* Where the segments of a WAL lie: files of a folder (wal_files.h) or objects
 * of RADOS (rados/).  A medium keeps bytes; what they mean is wal_segment.h's.
 *
 * Owns:    whoever made it, until wal_open() takes it over; close() frees it.
 * Threads: append, begin: one at a time.  sync: one at a time, beside append,
 *          never beside begin.  remove, size: one at a time, beside all these.
 *          open: first and once.  load: before the first append.
 * Fails:   ST_IO; ST_CORRUPT, where segments are missing; ST_CONFLICT: another
 *          process has taken the WAL, for ever (only where that can be). */
#pragma once

#include "storage/wal/wal_segment.h"

struct wal_medium;

/* The segments from 'first' on that can be loaded; 'next' is a new one's. */
struct wal_held {
    uint64_t first, next;
};

struct wal_medium_ops {
    /* Makes ready what lies there, whose torn end is cut off. */
    enum status (*open)(struct wal_medium *m, struct wal_held *out,
                        struct error *e);

    /* Reads all of a segment that open() listed.  '*out' is to be given to
     * wal_segment_fini(), after a failure too. */
    enum status (*load)(struct wal_medium *m, uint64_t segment,
                        struct wal_segment *out, struct error *e);

    /* Makes a segment that begins with 'header'; appends go there then.  When
     * it returns ST_OK the segment, its header and that it is the last one are
     * durable.  After a failure appends go where they went. */
    enum status (*begin)(struct wal_medium *m, uint64_t segment,
                         struct slice header, struct error *e);

    /* Adds to '*writes' how many operations that took.  After a failure any
     * part of 'bytes' may be there. */
    enum status (*append)(struct wal_medium *m, struct slice bytes,
                          uint64_t *writes, struct error *e);

    /* Makes durable what was appended.  NULL: an append is, once it returns. */
    enum status (*sync)(struct wal_medium *m, struct error *e);

    /* Bytes; 0 when it is not there. */
    uint64_t (*size)(struct wal_medium *m, uint64_t segment);

    /* Removes the oldest segment, or one that was never made.  Durable before
     * it returns, so that no gap is left. */
    enum status (*remove)(struct wal_medium *m, uint64_t segment,
                          struct error *e);

    void (*close)(struct wal_medium *m);
};

struct wal_medium {
    const struct wal_medium_ops *ops;
    size_t max_append;  /* bytes of one append, WAL_MAX_BUNDLE at most */
    size_t max_segment; /* bytes; SIZE_MAX: as many as one likes */
};
