/* See storage/store/datadir.h. */
#include "config.h"

#include "storage/store/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"
#include "storage/kv/leveldb/level_files.h"

#define DEEPEST 3

static bool
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* -- copying -------------------------------------------------------------- */

static enum status
copy_bytes(int in, int out, const char *from, const char *to, unsigned how,
           struct error *e)
{
    static const size_t room = (size_t)1 << 20;
    uint8_t *bytes = malloc(room);
    enum status st = ST_OK;
    ssize_t n = 1;

    if (bytes == NULL)
        return error_set(e, ST_IO, "no memory to copy %s", from);
    while (st == ST_OK && n != 0) {
        n = read(in, bytes, room);
        if (n < 0 && errno != EINTR)
            st = error_set(e, ST_IO, "read %s: %m", from);
        for (ssize_t done = 0; st == ST_OK && done < n;) {
            ssize_t put = write(out, bytes + done, (size_t)(n - done));

            if (put < 0 && errno != EINTR)
                st = error_set(e, ST_IO, "write %s: %m", to);
            else if (put > 0)
                done += put;
        }
    }
    free(bytes);
    return st == ST_OK && (how & FOLDER_SYNC) != 0 ? files_sync_fd(out, to, e)
                                                   : st;
}

static enum status
copy_file(const char *from, const char *to, unsigned how, struct error *e)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
    enum status st;

    if (in < 0)
        return error_set(e, ST_IO, "open %s: %m", from);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0)
        st = error_set(e, ST_IO, "make %s: %m", to);
    else
        st = copy_bytes(in, out, from, to, how, e);
    (void)close(in);
    if (out >= 0 && close(out) != 0 && st == ST_OK)
        st = error_set(e, ST_IO, "close %s: %m", to);
    return st;
}

static enum status
copy_one(const char *from, const char *to, const char *name, unsigned how,
         struct error *e)
{
    char a[FILES_PATH_MAX], b[FILES_PATH_MAX];
    uint64_t number;
    enum status st = files_join(from, name, a, e);

    if (st == ST_OK)
        st = files_join(to, name, b, e);
    if (st != ST_OK)
        return st;
    if ((how & FOLDER_SHARE) != 0 &&
        level_file_of(name, &number) == LEVEL_FILE_TABLE && link(a, b) == 0)
        return ST_OK;
    return copy_file(a, b, how, e);
}

/* The files of one folder, but for locks and others' logs. */
static enum status
copy_files(const char *from, const char *to, unsigned how, struct error *e)
{
    DIR *d = opendir(from);
    const struct dirent *entry;
    enum status st = ST_OK;

    if (d == NULL && errno == ENOENT)
        return ST_OK;
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", from);
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        st = error_set(e, ST_IO, "make %s: %m", to);
    while (st == ST_OK && (entry = readdir(d)) != NULL) {
        const char *name = entry->d_name;

        if (entry->d_type != DT_DIR && strcmp(name, "LOCK") != 0 &&
            strncmp(name, "LOG", 3) != 0 && strcmp(name, "FORMAT.tmp") != 0)
            st = copy_one(from, to, name, how, e);
    }
    (void)closedir(d);
    return st == ST_OK && (how & FOLDER_SYNC) != 0 ? files_sync_dir(to, e) : st;
}

enum status
folder_copy(const char *from, const char *to, unsigned how, struct error *e)
{
    static const char *const parts[] = { "engine", "journal" };
    bool empty = false;
    enum status st = folder_is_empty(to, &empty, e);

    if (st == ST_OK && !empty)
        st = error_set(e, ST_INVALID, "%s is there already", to);
    if (st == ST_OK)
        st = copy_files(from, to, how, e);
    for (size_t i = 0; st == ST_OK && i < 2; i++) {
        char a[FILES_PATH_MAX], b[FILES_PATH_MAX];

        st = files_join(from, parts[i], a, e);
        if (st == ST_OK)
            st = files_join(to, parts[i], b, e);
        if (st == ST_OK)
            st = copy_files(a, b, how, e);
    }
    if (st != ST_OK || (how & FOLDER_SYNC) == 0)
        return st;
    st = files_sync_dir(to, e);
    return st == ST_OK ? files_sync_parent(to, e) : st;
}

/* -- the others ----------------------------------------------------------- */

enum status
folder_is_empty(const char *dir, bool *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;

    *out = true;
    if (d == NULL && errno == ENOENT)
        return ST_OK;
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    while (*out && (entry = readdir(d)) != NULL)
        *out = is_dots(entry->d_name);
    (void)closedir(d);
    return ST_OK;
}

/* Deletes the files in a folder; folders are left, and one of them named. */
static enum status
delete_files(const char *dir, char *folder, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    enum status st = ST_OK;

    folder[0] = '\0';
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    while (st == ST_OK && (entry = readdir(d)) != NULL) {
        char path[FILES_PATH_MAX];

        if (is_dots(entry->d_name))
            continue;
        st = files_join(dir, entry->d_name, path, e);
        if (st != ST_OK || unlink(path) == 0 || errno == ENOENT)
            continue;
        if (errno == EISDIR || errno == EPERM)
            (void)snprintf(folder, FILES_PATH_MAX, "%s", path);
        else
            st = error_set(e, ST_IO, "delete %s: %m", path);
    }
    (void)closedir(d);
    return st;
}

/* Goes down to a folder without folders, deletes it, and begins again. */
static enum status
delete_all(const char *dir, bool keep, struct error *e)
{
    char at[FILES_PATH_MAX], below[FILES_PATH_MAX];

    for (;;) {
        enum status st = files_join(dir, ".", at, e);

        if (st != ST_OK)
            return st;
        if (access(dir, F_OK) != 0 && errno == ENOENT)
            return ST_OK;
        at[strlen(at) - 2] = '\0';
        for (int deep = 0;; deep++) {
            st = delete_files(at, below, e);
            if (st != ST_OK)
                return st;
            if (below[0] == '\0')
                break;
            if (deep == DEEPEST)
                return error_set(e, ST_IO, "%s is deeper than a store", dir);
            memcpy(at, below, sizeof at);
        }
        if (keep && strcmp(at, dir) == 0)
            return ST_OK;
        if (rmdir(at) != 0)
            return error_set(e, ST_IO, "delete %s: %m", at);
    }
}

enum status
folder_delete(const char *dir, struct error *e)
{
    return delete_all(dir, false, e);
}

enum status
folder_clear(const char *dir, struct error *e)
{
    return delete_all(dir, true, e);
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
    if (rename(from, to) != 0)
        return error_set(e, ST_IO, "rename %s to %s: %m", from, to);
    return files_sync_parent(to, e);
}
