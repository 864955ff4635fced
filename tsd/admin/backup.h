/* Copies of stores, for backups, too: made while the store is at work, and
 * called one only after they were opened and looked at as by fsck.
 *
 *     folder  DEST.partial: copied -> on the disk -> looked at -> renamed to
 * DEST pool    FORMAT is not complete: copied -> looked at -> FORMAT is
 * complete
 *
 * Threads: any; one backup at a time is for the caller to see to.
 * Fails:   ST_INVALID for a place that is not free; ST_BUSY without room, or
 *          when it is cancelled; ST_IO, ST_CORRUPT.  Nothing is left then, but
 *          for what was there before. */
#pragma once

#include "storage/place/place.h"
#include "uid/fsck/uid_fsck.h"

struct backup {
    struct place to; /* absent, or an empty folder; an empty namespace */
    /* Of the copy that backup_make() makes; 0: as many as the store has, in a
     * folder, and POOL_STORE_BUCKETS in a pool. */
    unsigned salt_buckets;
    const char *ca; /* as of pool_store_open() */
    struct cancel cancel;
    struct check_counts counts; /* what is in it */
};

MUST_CHECK enum status backup_make(struct store *s, struct backup *b,
                                   struct error *e);

/* The same of a store that no server of this machine has open: a folder that
 * is in no use; a pool, whose other members go on working. */
MUST_CHECK enum status backup_idle(const struct place *from, struct backup *b,
                                   struct error *e);

/* Says on standard output what is in a copy. */
void backup_report(const char *to, const struct check_counts *counts);

/* Copies the backup in the folder 'from', and looks at the copy. */
MUST_CHECK enum status backup_restore(const char *from, struct backup *b,
                                      struct error *e);
