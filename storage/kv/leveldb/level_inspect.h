/* The files of a LevelDB folder, read without LevelDB, which passes over what
 * it cannot read in its log and does not miss a log that is gone.
 *
 *     CURRENT           the name of the MANIFEST
 *     MANIFEST-000005   a log of edits: which tables there are, which log is on
 *     000007.log        a log of batches
 *     000006.ldb        a table
 *     SYNCED            ours: how far the logs and the MANIFEST were synced
 *
 * One inspection finds the faults, and a callback decides what becomes of them:
 * a start cuts off what was never synced, and rejects damage; fsck reports
 * both.
 *
 * Threads: any, but one at a time for a folder, which is not open. */
#pragma once

#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_manifest.h"

enum level_part {
    LEVEL_SYNCED,
    LEVEL_CURRENT,
    LEVEL_MANIFEST,
    LEVEL_LOG,
    LEVEL_TABLE,
    LEVEL_MISSING, /* a log or table that the MANIFEST or SYNCED names */
};

struct level_fault {
    enum level_part part;
    bool damage; /* or a tail from 'at' on that was never synced */
    const char *path;
    uint64_t at, size;
    const char *text;
};

struct level_inspection {
    const char *dir;
    bool reads_tables; /* or only looks whether they are there */
    /* What it returns but ST_OK ends the inspection. */
    enum status (*report)(struct level_inspection *x,
                          const struct level_fault *f, struct error *e);

    bool has_mark; /* SYNCED */
    struct level_mark mark;
    bool understood; /* CURRENT and each edit of the MANIFEST */
    bool is_short;   /* edits may be missing behind those */
    struct level_history history;
    uint64_t files, bytes; /* looked at */
};

/* ST_IO when a file cannot be read; what report() returns.  The caller calls
 * level_inspection_fini() after it. */
MUST_CHECK enum status level_inspect(struct level_inspection *x,
                                     struct error *e);
void level_inspection_fini(struct level_inspection *x);

/* Is the file a part of the database?  True of each log and table while the
 * MANIFEST is not understood; where edits may be missing, of tables that are
 * newer than all that it names, too. */
bool level_inspection_needs(const struct level_inspection *x,
                            enum level_file file, uint64_t number);

/* What a start does: cuts off what was never synced and is not whole, with a
 * warning.  ST_CORRUPT for what was synced.  Does nothing in a folder without
 * SYNCED, and where CURRENT or the MANIFEST cannot be understood: LevelDB then
 * says why. */
MUST_CHECK enum status level_files_check(const char *dir, struct error *e);
