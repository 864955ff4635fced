/* The check of a whole data folder: its files, and then what is in its tables
 * (storage/fsck/fsck.h, uid/fsck/uid_fsck.h).
 *
 * Looking changes nothing in the folder but for a scratch folder, "fsck.tmp",
 * which is deleted at the end: the store is opened there, with the tables
 * shared by hard links, its WAL replayed, and looked at.  Repairing goes on
 * in the folder itself, after a copy.
 *
 * Threads: owner.  Takes the folder's lock.
 * Fails:   ST_INVALID for what is no store or of a newer format; ST_IO, also
 *          when another process uses the folder. */
#pragma once

#include "uid/fsck/uid_fsck.h"

struct fsck {
    const char *dir; /* of fsck_look() and fsck_repair() */
    bool is_held;    /* the caller has locked it */
    void (*say)(void *ctx, const struct finding *f);
    void *ctx;
    /* Results. */
    uint64_t found, repaired;
    bool looked_at_all; /* false: the tables could not be opened */
    struct check_counts counts;
    uint64_t files, bytes;
};

MUST_CHECK enum status fsck_look(struct fsck *f, struct error *e);

/* Copies the folder to 'copy' first (tables as hard links, where that is
 * possible); what is damaged goes to the folder 'aside'. */
MUST_CHECK enum status fsck_repair(struct fsck *f, const char *copy,
                                   const char *aside, struct error *e);

/* The tables of a store that is open, and written to by no other; nothing is in
 * its head.  With 'aside' they are repaired, and what is damaged goes there. */
MUST_CHECK enum status fsck_store(struct fsck *f, struct store *s,
                                  const char *aside, struct error *e);
