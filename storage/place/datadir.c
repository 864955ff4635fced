#include "storage/place/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "storage/kv/leveldb/level_files.h"

#define DEEPEST 3

/* How tables get into a copy. */
enum tables { TABLES_COPIED, TABLES_LINKED, TABLES_NAMED };

/* True: the copy has the table without its bytes. */
static bool
share_table(const char *from, const char *to, enum tables tables)
{
    char *path;
    bool shared;

    if (tables == TABLES_LINKED)
        return link(from, to) == 0;
    path = tables == TABLES_NAMED ? realpath(from, NULL) : NULL;
    shared = path != NULL && symlink(path, to) == 0;
    free(path);
    return shared;
}

static enum status
copy_file(const char *from, const char *to, const char *name,
          enum tables tables, struct error *e)
{
    char *a = files_path(from, name), *b = files_path(to, name);
    int fd = open(a, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct buf bytes = BUF_INIT;
    struct stat info;
    uint64_t number;
    enum status st = ST_OK;

    if (fd < 0 && errno != ELOOP) {
        st = error_set(e, ST_IO, "%s: %m", a);
    } else if (fd >= 0 && fstat(fd, &info) != 0) {
        st = error_set(e, ST_IO, "stat %s: %m", a);
    } else if (fd < 0 || !S_ISREG(info.st_mode)) {
        st = error_set(e, ST_INVALID,
                       "%s is no regular file: a copy has files alone", a);
    } else if (level_file_of(name, &number) != LEVEL_FILE_TABLE ||
               !share_table(a, b, tables)) {
        st = file_read_fd(fd, a, SIZE_MAX, &bytes, e);
        if (st == ST_OK)
            st = files_write(b, buf_slice(&bytes), e);
    }
    if (fd >= 0)
        (void)close(fd);
    buf_fini(&bytes);
    free(a);
    free(b);
    return st;
}

/* The engine's folder may be a link to one of another disk. */
static bool
is_folder(const char *dir, const struct dirent *entry)
{
    char *path;
    struct stat info;
    bool is;

    if (entry->d_type != DT_LNK)
        return entry->d_type == DT_DIR;
    path = files_path(dir, entry->d_name);
    is = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    free(path);
    return is;
}

static enum status
copy_files(const char *from, const char *to, enum tables tables,
           struct error *e)
{
    DIR *d = opendir(from);
    const struct dirent *entry;
    enum status st = ST_OK;

    if (d == NULL && errno == ENOENT)
        return ST_OK;
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", from);
    st = files_make_dir(to, e);
    while (st == ST_OK && (st = dir_next(d, from, &entry, e)) == ST_OK &&
           entry != NULL) {
        const char *name = entry->d_name;

        if (!is_folder(from, entry) && strcmp(name, "LOCK") != 0 &&
            strncmp(name, "LOG", 3) != 0 && strcmp(name, "FORMAT.tmp") != 0 &&
            strcmp(name, "FORMAT.1.tmp") != 0)
            st = copy_file(from, to, name, tables, e);
    }
    (void)closedir(d);
    return st == ST_OK ? files_sync_dir(to, e) : st;
}

static enum status
copy_folder(const char *from, const char *to, enum tables tables,
            struct error *e)
{
    static const char *const parts[] = { "", "engine", "journal" };
    bool empty = false;
    enum status st = folder_is_empty(to, &empty, e);

    if (st == ST_OK && !empty)
        st = error_set(e, ST_INVALID, "%s is there already", to);
    for (size_t i = 0; st == ST_OK && i < 3; i++) {
        char *a = files_path(from, parts[i]), *b = files_path(to, parts[i]);

        st = copy_files(a, b, tables, e);
        free(a);
        free(b);
    }
    return st == ST_OK ? files_sync_parent(to, e) : st;
}

enum status
folder_copy(const char *from, const char *to, bool share, struct error *e)
{
    return copy_folder(from, to, share ? TABLES_LINKED : TABLES_COPIED, e);
}

bool
folder_is_read_only(const char *dir)
{
    struct statvfs v;

    return statvfs(dir, &v) == 0 && (v.f_flag & ST_RDONLY) != 0;
}

enum status
folder_shadow(const char *dir, char **shadow, struct error *e)
{
    const char *tmp = getenv("TMPDIR");
    enum status st;

    *shadow = NULL;
    if (asprintf(shadow, "%s/halite-ro-XXXXXX",
                 tmp == NULL || *tmp == '\0' ? "/tmp" : tmp) < 0) {
        *shadow = NULL;
        return error_set(e, ST_LIMIT, "no memory for a path");
    }
    if (mkdtemp(*shadow) == NULL) {
        st = error_set(e, ST_IO,
                       "%s is on a file system that is read-only, and its WAL "
                       "finds no place in %s: %m (TMPDIR names another one)",
                       dir, *shadow);
        free(*shadow);
        *shadow = NULL;
        return st;
    }
    return copy_folder(dir, *shadow, TABLES_NAMED, e);
}

void
folder_shadow_delete(char **shadow)
{
    struct error e;

    if (*shadow != NULL && folder_delete(*shadow, &e) != ST_OK)
        log_warn("store", "%s", e.text);
    free(*shadow);
    *shadow = NULL;
}

enum status
folder_is_empty(const char *dir, bool *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    enum status st;

    *out = true;
    if (d == NULL && errno == ENOENT)
        return ST_OK;
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    st = dir_next(d, dir, &entry, e);
    *out = st == ST_OK && entry == NULL;
    (void)closedir(d);
    return st;
}

/* Files that lie deeper than a store's are left, and so is the folder. */
static int
delete_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    errno = ENOTEMPTY;
    if (at->level > DEEPEST)
        return -1;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static int
delete_below(const char *path, const struct stat *info, int type,
             struct FTW *at)
{
    return at->level == 0 ? 0 : delete_one(path, info, type, at);
}

static enum status
delete_all(const char *dir,
           int (*f)(const char *, const struct stat *, int, struct FTW *),
           struct error *e)
{
    if (nftw(dir, f, DEEPEST, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return error_set(e, ST_IO, "delete %s: %m", dir);
    return ST_OK;
}

enum status
folder_delete(const char *dir, struct error *e)
{
    return delete_all(dir, delete_one, e);
}

enum status
folder_delete_leftovers(const char *dir, struct error *e)
{
    static const char *const names[] = { "engine.parts", "engine.making",
                                         "engine.new" };
    enum status st = ST_OK;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && st == ST_OK; i++) {
        char *path = files_path(dir, names[i]);

        st = folder_delete(path, e);
        free(path);
    }
    return st;
}

enum status
folder_clear(const char *dir, struct error *e)
{
    return delete_all(dir, delete_below, e);
}

bool
folder_is_in(const char *path, const char *dir)
{
    char *parent = files_parent(path);
    char *a = realpath(parent, NULL), *b = realpath(dir, NULL);
    size_t n = b == NULL ? 0 : strlen(b);
    bool in = a != NULL && b != NULL && strncmp(a, b, n) == 0 &&
              (a[n] == '/' || a[n] == '\0' || n == 1);

    free(parent);
    free(a);
    free(b);
    return in;
}

enum status
folder_rename(const char *from, const char *to, struct error *e)
{
    enum status st;

    if (rename(from, to) != 0)
        return error_set(e, ST_IO, "rename %s to %s: %m", from, to);
    st = files_sync_parent(to, e);
    if (st != ST_OK)
        (void)rename(to, from);
    return st;
}
