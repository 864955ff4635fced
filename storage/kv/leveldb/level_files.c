#include "storage/kv/leveldb/level_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "storage/kv/leveldb/level_log.h"

#define MARK_NAME "SYNCED"
#define NAME_SIZE 32 /* of a log or MANIFEST */

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
level_file_path(const char *dir, enum level_file file, uint64_t number)
{
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof name,
                   file == LEVEL_FILE_MANIFEST ? "MANIFEST-%06" PRIu64
                   : file == LEVEL_FILE_LOG    ? "%06" PRIu64 ".log"
                                               : "%06" PRIu64 ".ldb",
                   number);
    return files_path(dir, name);
}

enum status
level_current_manifest(const char *dir, uint64_t *number, struct error *e)
{
    static const char start[] = "MANIFEST-";
    char *path = files_path(dir, "CURRENT");
    struct buf text = BUF_INIT;
    enum status st = file_read(path, NAME_SIZE, &text, e);
    struct slice s = buf_slice(&text);
    size_t n = sizeof start - 1;

    if (text.failed)
        st = error_set(e, ST_IO, "no memory to read '%s'", path);
    else if (st == ST_LIMIT ||
             (st == ST_OK &&
              (!slice_starts(s, slice_str(start)) ||
               s.data[s.size - 1] != '\n' ||
               !number_parse_u64(slice_of(s.data + n, s.size - n - 1),
                                 number))))
        st = error_set(e, ST_NOT_FOUND, "'%s' names no MANIFEST", path);
    buf_fini(&text);
    free(path);
    return st;
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

void
level_mark_fini(struct level_mark *m)
{
    free(m->logs);
    *m = (struct level_mark){ 0 };
}

static void
add_log(struct level_mark *m, uint64_t number, uint64_t synced)
{
    size_t at = m->len;

    m->logs = mem_resize(m->logs, m->len + 1, sizeof *m->logs);
    for (; at > 0 && m->logs[at - 1].number > number; at--)
        m->logs[at] = m->logs[at - 1];
    m->logs[at] = (struct level_log){ number, synced };
    m->len++;
}

enum status
level_files_list(const char *dir, struct level_mark *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    struct stat info;
    uint64_t number;
    enum status st;

    out->len = 0;
    if (d == NULL)
        return error_set(e, ST_IO, "cannot read the folder '%s': %s", dir,
                         strerror(errno));
    /* One that goes meanwhile is in a table now, which is synced. */
    while ((st = dir_next(d, dir, &entry, e)) == ST_OK && entry != NULL) {
        if (level_file_of(entry->d_name, &number) != LEVEL_FILE_LOG)
            continue;
        if (fstatat(dirfd(d), entry->d_name, &info, 0) == 0) {
            add_log(out, number, (uint64_t)info.st_size);
        } else if (errno != ENOENT) {
            st = error_set(e, ST_IO, "%s/%s: %m", dir, entry->d_name);
            break;
        }
    }
    (void)closedir(d);
    return st;
}

static enum status
sync_path(const char *path, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum status st;

    if (fd < 0 && errno == ENOENT)
        return ST_OK;
    if (fd < 0)
        return error_set(e, ST_IO, "cannot open '%s' to sync it: %s", path,
                         strerror(errno));
    st = files_sync_fd(fd, path, e);
    (void)close(fd);
    return st;
}

/* Up to its last whole record: LevelDB may be writing the next one.  What the
 * mark before says is not read again: while it is open a MANIFEST only grows.
 */
static enum status
sync_manifest(const char *dir, struct level_mark *m, struct error *e)
{
    struct level_log_end end;
    uint64_t before = m->manifest, from = m->manifest_synced;
    enum status st = level_current_manifest(dir, &m->manifest, e);
    char *path;

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? error_wrap(e, ST_IO, "sync") : st;
    if (m->manifest != before)
        from = 0;
    path = level_file_path(dir, LEVEL_FILE_MANIFEST, m->manifest);
    st = level_log_read(path, from, NULL, NULL, &end, e);
    if (st == ST_NOT_FOUND)
        st = ST_IO;
    m->manifest_synced = end.good;
    if (st == ST_OK)
        st = sync_path(path, e);
    free(path);
    return st;
}

enum status
level_files_sync(const char *dir, struct level_mark *m, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < m->len && st == ST_OK; i++) {
        char *path = level_file_path(dir, LEVEL_FILE_LOG, m->logs[i].number);

        st = sync_path(path, e);
        free(path);
    }
    if (st == ST_OK)
        st = sync_manifest(dir, m, e);
    return st == ST_OK ? files_sync_dir(dir, e) : st;
}

enum status
level_files_note(const char *dir, const struct level_mark *m, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    buf_printf(&text, "halite synced 1\nmanifest %" PRIu64 " %" PRIu64 "\n",
               m->manifest, m->manifest_synced);
    for (size_t i = 0; i < m->len; i++)
        buf_printf(&text, "log %" PRIu64 " %" PRIu64 "\n", m->logs[i].number,
                   m->logs[i].synced);
    st = files_put_text(dir, MARK_NAME, &text, e);
    buf_fini(&text);
    return st;
}

static bool
mark_parse(const char *text, struct level_mark *m)
{
    int used = 0;
    uint64_t number, synced;

    if (sscanf(text, "halite synced 1\nmanifest %" SCNu64 " %" SCNu64 "\n%n",
               &m->manifest, &m->manifest_synced, &used) != 2)
        return false;
    text += used;
    while (sscanf(text, "log %" SCNu64 " %" SCNu64 "\n%n", &number, &synced,
                  &used) == 2) {
        add_log(m, number, synced);
        text += used;
    }
    return *text == '\0';
}

enum status
level_mark_read(const char *dir, struct level_mark *m, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st = files_get_text(dir, MARK_NAME, &text, e);

    *m = (struct level_mark){ 0 };
    if (st == ST_OK && !mark_parse(buf_cstr(&text), m))
        st = error_set(e, ST_CORRUPT, "'%s/" MARK_NAME "' is malformed", dir);
    buf_fini(&text);
    return st;
}

uint64_t
level_mark_synced(const struct level_mark *m, uint64_t number)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->logs[i].number == number)
            return m->logs[i].synced;
    /* A later one was begun after the sync; of another nothing is known. */
    return m->len == 0 || number > m->logs[m->len - 1].number ? 0 : UINT64_MAX;
}

uint64_t
level_mark_manifest(const struct level_mark *m, uint64_t number)
{
    if (number == m->manifest)
        return m->manifest_synced;
    /* A later one had its first record synced before CURRENT named it. */
    return number > m->manifest ? 1 : UINT64_MAX;
}
