#include "storage/kv/leveldb/level_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/text/number.h"

static bool
ends(const char *name, const char *with, uint64_t *number)
{
    size_t n = strlen(name), m = strlen(with);

    return n > m && strcmp(name + n - m, with) == 0 &&
           number_parse_u64(slice_of(name, n - m), number);
}

enum level_file
level_file_of(const char *name, uint64_t *number)
{
    *number = 0;
    if (ends(name, ".log", number))
        return LEVEL_FILE_LOG;
    return ends(name, ".ldb", number) ? LEVEL_FILE_TABLE : LEVEL_FILE_OTHER;
}

char *
level_table_path(const char *dir, uint64_t number)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%06" PRIu64 ".ldb", number);
    return files_path(dir, name);
}

enum contents {
    FOLDER_EMPTY, /* or a creation cut short, before it held any data */
    FOLDER_WHOLE, /* has CURRENT */
    FOLDER_OTHER,
};

/* LevelDB makes these before CURRENT, and logs and tables after it. */
static bool
is_before_current(const char *name)
{
    size_t n = strlen(name);

    return strcmp(name, "LOCK") == 0 || strcmp(name, "LOG") == 0 ||
           strcmp(name, "LOG.old") == 0 ||
           strcmp(name, "MANIFEST-000001") == 0 ||
           (n > 6 && strcmp(name + n - 6, ".dbtmp") == 0);
}

static enum status
look_into(const char *dir, enum contents *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    enum status st;

    *out = FOLDER_EMPTY;
    if (d == NULL && errno == ENOENT)
        return ST_OK;
    if (d == NULL)
        return error_set(e, ST_IO, "cannot read the folder '%s': %s", dir,
                         strerror(errno));
    while ((st = dir_next(d, dir, &entry, e)) == ST_OK && entry != NULL) {
        if (strcmp(entry->d_name, "CURRENT") == 0) {
            *out = FOLDER_WHOLE;
            break;
        }
        if (!is_before_current(entry->d_name))
            *out = FOLDER_OTHER;
    }
    (void)closedir(d);
    return st;
}

enum status
level_files_find(const char *dir, bool may_create, bool *create,
                 struct error *e)
{
    enum contents contents;
    enum status st = look_into(dir, &contents, e);

    *create = false;
    if (st != ST_OK || contents == FOLDER_WHOLE)
        return st;
    if (contents == FOLDER_OTHER)
        return error_set(e, may_create ? ST_IO : ST_CORRUPT,
                         "'%s' is not empty and has no CURRENT file: it is "
                         "either no database or a damaged one",
                         dir);
    if (!may_create)
        return error_set(e, ST_IO, "there is no database in '%s'", dir);
    *create = true;
    return files_make_dir(dir, e);
}

enum status
level_files_delete_logs(const char *dir, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    uint64_t number;
    enum status st;

    if (d == NULL)
        return error_set(e, ST_IO, "cannot read the folder '%s': %m", dir);
    while ((st = dir_next(d, dir, &entry, e)) == ST_OK && entry != NULL)
        if (level_file_of(entry->d_name, &number) == LEVEL_FILE_LOG &&
            unlinkat(dirfd(d), entry->d_name, 0) != 0 && errno != ENOENT) {
            st = error_set(e, ST_IO, "cannot delete '%s/%s': %m", dir,
                           entry->d_name);
            break;
        }
    (void)closedir(d);
    return st;
}
