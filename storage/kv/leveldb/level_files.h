/* The names of LevelDB's files, and what is done with them before LevelDB opens
 * a folder:
 *
 *     CURRENT           the name of the MANIFEST
 *     MANIFEST-000005   a log of edits: which tables there are
 *     000007.log        a log of batches; worthless, see below
 *     000006.ldb        a table
 *
 * LevelDB's own log is worthless by design. kv_sync() writes the memory table
 * to a table file, and whoever needs his writes after a crash has them in the
 * write-ahead log until then. So all logs are deleted before LevelDB opens the
 * folder: what it would read from them may have holes after a power cut.
 *
 * Threads: any, but one at a time for a folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Is there a database in the folder?  If not, and one may be created, '*create'
 * is set, and the folder is made.  ST_IO: there is none, or none may be created
 * there; ST_CORRUPT: it has lost its CURRENT file. */
MUST_CHECK enum status level_files_find(const char *dir, bool may_create,
                                        bool *create, struct error *e);

/* Deletes all logs.  ST_IO if one may still be there. */
MUST_CHECK enum status level_files_delete_logs(const char *dir,
                                               struct error *e);

enum level_file {
    LEVEL_FILE_LOG,
    LEVEL_FILE_TABLE,
    LEVEL_FILE_OTHER,
};

/* The kind of a file with this name, and the number of a log or a table. */
enum level_file level_file_of(const char *name, uint64_t *number);

/* The path of a table, to be free()d. */
char *level_table_path(const char *dir, uint64_t number);
