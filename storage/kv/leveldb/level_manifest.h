/* The MANIFEST of a LevelDB folder, read without LevelDB: a log of edits, which
 * together say which tables the database consists of.
 *
 * LevelDB makes each edit durable before it writes the next one, so a power cut
 * can leave only the last one torn. It can also leave one that names a table
 * which the folder does not have: LevelDB writes an edit, syncs the folder, and
 * then syncs the edit. LevelDB rejects both. Cutting such an edit off leaves
 * the version before it, and loses nothing that anybody relies on:
 *
 * An edit of a compaction or of a move: the version before it holds the same
 * keys.  If the tables of that version are gone already, nothing is cut off.
 *
 * An edit that adds the table of a memory table: the write-ahead log still has
 * what was in it.  kv_sync() returns only after one more edit was written, so
 * what it made durable is never in the last edit.
 *
 * Owns:    what it read.
 * Threads: any, but one at a time for a folder, which is not open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct level_table {
    uint64_t number;
    uint64_t size; /* bytes */
};

enum manifest_state {
    MANIFEST_GOOD,
    MANIFEST_TORN,    /* its last edit can be cut off */
    MANIFEST_DAMAGED, /* or missing */
    MANIFEST_UNNAMED, /* CURRENT is missing, or does not name a MANIFEST */
};

struct level_manifest {
    enum manifest_state state;
    char *path;       /* of CURRENT if that is what is wrong */
    const char *text; /* what is wrong; NULL: nothing */
    uint64_t size;    /* of the file, in bytes */
    uint64_t at;      /* offset of the torn edit, or of the damage */
    /* The tables of the newest version, without a torn edit. */
    struct level_table *tables;
    size_t len, cap;
};

/* Reads the MANIFEST that CURRENT names.  ST_IO, ST_LIMIT: a file could not be
 * read, whatever is in it.  The caller calls level_manifest_fini() after a
 * failure, too. */
MUST_CHECK enum status level_manifest_read(const char *dir,
                                           struct level_manifest *out,
                                           struct error *e);
void level_manifest_fini(struct level_manifest *m);

/* True if the table is part of the newest version. */
bool level_manifest_names(const struct level_manifest *m, uint64_t number);

/* Prepares a folder for its opening: cuts a torn edit off, with a warning.
 * ST_CORRUPT if the MANIFEST is damaged or missing. */
MUST_CHECK enum status level_manifest_prepare(const char *dir, struct error *e);
