/* Backups: a copy of a store, made while it is at work, that is called one only
 * after it was opened and looked at as by fsck; and back.
 *
 *     DEST.partial: copied -> on the disk -> looked at -> renamed to DEST
 *
 * Threads: any; one backup at a time is for the caller to see to.
 * Fails:   ST_INVALID for a place that is not free; ST_BUSY without room, or
 *          when 'gone' says so; ST_IO, ST_CORRUPT.  Nothing is left then, but
 *          for what was there before. */
#pragma once

#include "uid/fsck/uid_fsck.h"

struct backup {
    const char *to; /* absent, or an empty folder */
    bool (*gone)(void *ctx);
    void *gone_ctx;
    struct check_counts counts; /* what is in it */
};

MUST_CHECK enum status backup_make(struct store *s, struct backup *b,
                                   struct error *e);

/* Copies the backup in 'from' to 'to', and looks at the copy. */
MUST_CHECK enum status backup_restore(const char *from, struct backup *b,
                                      struct error *e);
