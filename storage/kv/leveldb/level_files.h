/*
 * LevelDB's files, looked at from outside.
 *
 * A sync notes in the file SYNCED how far each log, and the MANIFEST, were on
 * the disk (docs/FORMAT.md, "SYNCED").  Before LevelDB opens the folder, what a
 * power cut left behind that is cut off at the first bad record, or where the
 * MANIFEST is ahead of its tables; what is bad before it is damage.  LevelDB
 * would reject the one, and pass over some of the other.
 *
 * Threads: any, but one at a time for a folder, and level_files_check() before
 *          LevelDB has it open.
 */
#ifndef STORAGE_KV_LEVELDB_LEVEL_FILES_H
#define STORAGE_KV_LEVELDB_LEVEL_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct level_log {
    uint64_t number;
    uint64_t synced; /* bytes */
};

/* How far things are, or were, on the disk. */
struct level_mark {
    uint64_t manifest; /* its number */
    uint64_t manifest_synced;
    struct level_log *logs; /* ascending */
    size_t len;
};

void level_mark_fini(struct level_mark *m);

/* What SYNCED says: ST_NOT_FOUND, ST_CORRUPT. */
MUST_CHECK enum status level_mark_read(const char *dir, struct level_mark *m,
                                       struct error *e);
/* How much of a log had been synced; UINT64_MAX: all that there was. */
uint64_t level_mark_synced(const struct level_mark *m, uint64_t number);

/* The same of the MANIFEST of that number. */
uint64_t level_mark_manifest(const struct level_mark *m, uint64_t number);

/* The logs that are there and how much each holds, while no thread writes. */
MUST_CHECK enum status level_files_list(const char *dir, struct level_mark *out,
                                        struct error *e);

/* Makes that, the MANIFEST, and their names durable.  The mark comes with what
 * it said of the MANIFEST after the last sync; 0: nothing. */
MUST_CHECK enum status level_files_sync(const char *dir, struct level_mark *m,
                                        struct error *e);

/* Replaces SYNCED.  From here on, all in the mark is known to be there. */
MUST_CHECK enum status
level_files_note(const char *dir, const struct level_mark *m, struct error *e);

/* Cuts off what was never synced and is not whole, with a warning.  ST_CORRUPT
 * for what was synced.  Does nothing in a folder without SYNCED, and where
 * CURRENT or the MANIFEST cannot be understood: LevelDB then says why. */
MUST_CHECK enum status level_files_check(const char *dir, struct error *e);

#endif
