/* What the files of the check share.
 *
 *     fsck.c         FORMAT, and the order of the checks
 *     fsck_wal.c     the WAL
 *     fsck_engine.c  the engine's files
 *
 * Each part looks, and repairs as it goes when check->aside is set.
 *
 * Threads: owner. */
#pragma once

#include "storage/fsck/fsck.h"

MUST_CHECK enum status check_wal(const char *dir, struct check *c,
                                 struct error *e);
MUST_CHECK enum status check_engine(const char *dir, struct check *c,
                                    struct error *e);

/* Moves DIR/NAME to c->aside, under a name that is free there; or writes these
 * bytes there. */
MUST_CHECK enum status check_move_aside(struct check *c, const char *dir,
                                        const char *name, struct error *e);
MUST_CHECK enum status check_write_aside(struct check *c, const char *name,
                                         struct slice bytes, struct error *e);
