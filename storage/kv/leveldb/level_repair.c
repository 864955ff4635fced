/* Makes a database of the tables in a folder, by LevelDB's own repair.
 *
 * That passes over each file that it cannot open, read or write, and over a
 * full disk, as if the file were damaged, and reports nothing.  So it is
 * checked afterwards: each table of which something is good must be a part of
 * the database. */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/mem.h"
#include "storage/kv/engine.h"
#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_manifest.h"
#include "storage/kv/leveldb/level_table.h"

/* The tables that a repair must not lose. */
struct usable {
    uint64_t *numbers; /* to be free()d */
    size_t len, cap;
};

static enum status
look_at_tables(const char *dir, struct usable *u, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    uint64_t number;
    enum status st = ST_OK;

    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    while (st == ST_OK && (st = dir_next(d, dir, &entry, e)) == ST_OK &&
           entry != NULL)
        if (level_file_of(entry->d_name, &number) == LEVEL_FILE_TABLE) {
            char *path = level_table_path(dir, number);
            struct buf bytes = BUF_INIT;
            struct table_fault fault = { .text = NULL };
            uint64_t blocks = 0;

            st = file_read(path, SIZE_MAX, &bytes, e);
            if (st == ST_NOT_FOUND)
                st = ST_IO;
            if (st == ST_OK)
                fault = level_table_check(buf_slice(&bytes), &blocks);
            if (st == ST_OK && fault.no_memory)
                st =
                    error_set(e, ST_LIMIT, "%s: no memory for its index", path);
            if (st == ST_OK && !fault.index && blocks > 0) {
                u->numbers =
                    mem_grow(u->numbers, u->len, &u->cap, sizeof *u->numbers);
                u->numbers[u->len++] = number;
            }
            buf_fini(&bytes);
            free(path);
        }
    (void)closedir(d);
    return st;
}

enum status
level_repair(const char *dir, struct error *e)
{
    struct usable u = { .numbers = NULL };
    enum status st = look_at_tables(dir, &u, e);

    if (st == ST_OK)
        st = kv_leveldb_repair(dir, e);
    if (st == ST_OK) {
        struct level_manifest m;

        st = level_manifest_read(dir, &m, e);
        if (st == ST_OK && m.state != MANIFEST_GOOD)
            st = error_set(e, ST_IO, "%s, which LevelDB's repair wrote: %s",
                           m.path, m.text);
        for (size_t i = 0; i < u.len && st == ST_OK; i++)
            if (!level_manifest_names(&m, u.numbers[i]))
                st = error_set(
                    e, ST_IO,
                    "LevelDB's repair could not read or write the table "
                    "%06" PRIu64 ".ldb, though it is not all damaged: "
                    "nothing was changed, try again",
                    u.numbers[i]);
        level_manifest_fini(&m);
    }
    free(u.numbers);
    return st;
}
