/* LevelDB's files, looked at from outside.
 *
 * A sync notes in the file SYNCED how far each log, and the MANIFEST, were on
 * the disk (docs/FORMAT.md, "SYNCED"); level_inspect.h uses it at a start.
 *
 * Threads: any, but one at a time for a folder. */
#pragma once

#include <stdbool.h>
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

/* Is there a database in the folder?  If not, and one may be created, '*create'
 * is set, and the folder is made.  ST_IO: there is none, or none may be created
 * there; ST_CORRUPT: it has lost its CURRENT file. */
MUST_CHECK enum status level_files_find(const char *dir, bool may_create,
                                        bool *create, struct error *e);

void level_mark_fini(struct level_mark *m);

/* What SYNCED says: ST_NOT_FOUND, ST_CORRUPT. */
MUST_CHECK enum status level_mark_read(const char *dir, struct level_mark *m,
                                       struct error *e);
/* How much of a log had been synced; UINT64_MAX: all that there was. */
uint64_t level_mark_synced(const struct level_mark *m, uint64_t number);

/* The same of the MANIFEST of that number. */
uint64_t level_mark_manifest(const struct level_mark *m, uint64_t number);

/* Replaces the mark's logs by those that are there, and how much each holds,
 * while no thread writes. */
MUST_CHECK enum status level_files_list(const char *dir, struct level_mark *out,
                                        struct error *e);

/* Makes that, the MANIFEST, and their names durable.  The mark comes with what
 * it said of the MANIFEST after the last sync; 0: nothing. */
MUST_CHECK enum status level_files_sync(const char *dir, struct level_mark *m,
                                        struct error *e);

/* Replaces SYNCED.  From here on, all in the mark is known to be there. */
MUST_CHECK enum status
level_files_note(const char *dir, const struct level_mark *m, struct error *e);

enum level_file {
    LEVEL_FILE_LOG,
    LEVEL_FILE_TABLE,
    LEVEL_FILE_MANIFEST,
    LEVEL_FILE_OTHER,
};

/* LOG, TABLE and its number, or OTHER. */
enum level_file level_file_of(const char *name, uint64_t *number);

/* Of a file of LevelDB's, to be free()d. */
char *level_file_path(const char *dir, enum level_file file, uint64_t number);

/* The number of the MANIFEST; ST_NOT_FOUND when CURRENT does not name one. */
MUST_CHECK enum status level_current_manifest(const char *dir, uint64_t *number,
                                              struct error *e);
