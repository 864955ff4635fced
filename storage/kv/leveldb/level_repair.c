/* A database of the tables and logs that lie in a folder.
 *
 * LevelDB's own repair passes over each file that it cannot open, read or
 * write, and over a full disk, as if the file were damaged, and says nothing.
 * So CURRENT and MANIFEST are made here: the tables, all at level 0, and no
 * log, so that opening it replays all logs.  Whatever fails is an error, when
 * it is opened, too. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "storage/kv/engine.h"
#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_log.h"
#include "storage/kv/leveldb/level_manifest.h"
#include "storage/kv/leveldb/level_table.h"

struct repair {
    const char *dir;
    struct buf tables; /* as edits of a MANIFEST name them */
    uint64_t last_file, newest;
};

/* What is not whole is replaced by what is left of it, and what has nothing
 * left is not named. */
static enum status
add_table(struct repair *r, const char *name, uint64_t number, struct error *e)
{
    char *path = files_path(r->dir, name);
    struct buf bytes = BUF_INIT;
    struct table_rest rest = { .whole = false };
    enum status st = file_read(path, SIZE_MAX, &bytes, e);

    if (st == ST_NOT_FOUND)
        st = ST_IO;
    if (st == ST_OK)
        st = level_table_salvage(buf_slice(&bytes), &rest, e);
    if (st == ST_OK && !rest.whole) {
        log_warn("storage", "%s: it is made anew of %zu blocks", path,
                 rest.blocks);
        st = files_replace(r->dir, name, buf_slice(&rest.bytes), e);
    }
    if (st == ST_OK && rest.blocks > 0)
        level_edit_table(&r->tables,
                         &(struct level_table){
                             .number = number,
                             .size = rest.whole ? bytes.size : rest.bytes.size,
                         },
                         buf_slice(&rest.first), buf_slice(&rest.last));
    if (rest.newest > r->newest)
        r->newest = rest.newest;
    table_rest_fini(&rest);
    buf_fini(&bytes);
    free(path);
    return st;
}

static enum status
add_tables(struct repair *r, struct error *e)
{
    DIR *d = opendir(r->dir);
    const struct dirent *entry;
    enum status st = ST_OK;

    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", r->dir);
    while (st == ST_OK && (st = dir_next(d, r->dir, &entry, e)) == ST_OK &&
           entry != NULL) {
        uint64_t number;
        enum level_file file = level_file_of(entry->d_name, &number);

        if (number > r->last_file)
            r->last_file = number;
        if (file == LEVEL_FILE_TABLE)
            st = add_table(r, entry->d_name, number, e);
    }
    (void)closedir(d);
    return st;
}

static enum status
write_manifest(const struct repair *r, struct error *e)
{
    uint64_t number = r->last_file + 1;
    char *path = level_file_path(r->dir, LEVEL_FILE_MANIFEST, number);
    struct buf edit = BUF_INIT, log = BUF_INIT, current = BUF_INIT;
    enum status st;

    level_edit_start(&edit, number + 1, r->newest);
    buf_put_slice(&edit, buf_slice(&r->tables));
    level_log_put(&log, buf_slice(&edit));
    buf_printf(&current, "MANIFEST-%06" PRIu64 "\n", number);
    if (edit.failed || r->tables.failed || log.failed || current.failed)
        st = error_set(e, ST_LIMIT, "no memory for '%s'", path);
    else
        st = files_write(path, buf_slice(&log), e);
    if (st == ST_OK)
        st = files_replace(r->dir, "CURRENT", buf_slice(&current), e);
    buf_fini(&edit);
    buf_fini(&log);
    buf_fini(&current);
    free(path);
    return st;
}

enum status
kv_leveldb_repair(const char *dir, struct error *e)
{
    struct repair r = { .dir = dir };
    enum status st = add_tables(&r, e);

    if (st == ST_OK)
        st = write_manifest(&r, e);
    buf_fini(&r.tables);
    return st;
}
