/* The files of a WAL: made, appended to, cut and deleted so that after a power
 * cut they show what was lost and what was damaged.
 *
 * Before a new file is made, the last one is cut where a crash tore it, and
 * synced: from then on it is no longer the last, and a torn end is damage. */
#include "storage/wal/wal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/crash.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/text/number.h"

struct wal_files {
    struct wal_medium medium;
    struct wal_io io;
    char *dir;
    int dir_fd;
    int fd; /* of the newest segment; -1: none was begun */
};

static struct wal_files *
files_of(struct wal_medium *m)
{
    return (struct wal_files *)m;
}

/* -- names ----------------------------------------------------------------- */

void
wal_name(uint64_t segment, char out[WAL_NAME_SIZE])
{
    (void)snprintf(out, WAL_NAME_SIZE, "%020" PRIu64 ".wal", segment);
}

/* 0 when it is no name of a segment. */
static uint64_t
name_parse(const char *name)
{
    uint64_t n;

    if (strlen(name) != WAL_NAME_SIZE - 1 || strcmp(name + 20, ".wal") != 0 ||
        !number_parse_u64(slice_of(name, 20), &n))
        return 0;
    return n;
}

enum status
wal_list(const char *dir, struct wal_segments *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    size_t cap = 0;
    enum status st;

    *out = (struct wal_segments){ NULL, 0 };
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    while ((st = dir_next(d, dir, &entry, e)) == ST_OK && entry != NULL) {
        uint64_t number = name_parse(entry->d_name);

        if (number == 0)
            continue;
        out->numbers = mem_grow(out->numbers, out->len, &cap, sizeof number);
        out->numbers[out->len++] = number;
    }
    (void)closedir(d);
    if (out->len > 0)
        qsort(out->numbers, out->len, sizeof *out->numbers, sort_compare_u64);
    return st;
}

enum status
wal_files_load(const char *dir, uint64_t segment, bool last,
               struct wal_segment *out, struct error *e)
{
    char name[WAL_NAME_SIZE];

    wal_name(segment, name);
    *out = (struct wal_segment){ .path = files_path(dir, name),
                                 .segment = segment,
                                 .last = last };
    return file_read(out->path, SIZE_MAX, &out->bytes, e);
}

/* -- one file -------------------------------------------------------------- */

static enum status
files_begin(struct wal_medium *m, uint64_t segment, struct slice header,
            struct error *e)
{
    struct wal_files *f = files_of(m);
    char name[WAL_NAME_SIZE];
    enum status st;
    int fd;

    wal_name(segment, name);
    fd = openat(f->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(e, ST_IO, "make %s/%s: %m", f->dir, name);
    st = file_write_fd(fd, name, header, e);
    crash_point("rotate-headed");
    if (st == ST_OK && (fsync(fd) != 0 || fsync(f->dir_fd) != 0))
        st = error_set(e, ST_IO, "make %s/%s: %m", f->dir, name);
    crash_point("rotate-made");
    if (st != ST_OK) {
        (void)close(fd);
        return st;
    }
    if (f->fd >= 0)
        (void)close(f->fd);
    f->fd = fd;
    return ST_OK;
}

static enum status
files_append(struct wal_medium *m, struct slice bytes, uint64_t *writes,
             struct error *e)
{
    const struct wal_files *f = files_of(m);
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t n = f->io.write(f->fd, bytes.data + done, bytes.size - done);

        ++*writes;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return error_set(e, ST_IO, "write to the WAL in %s: %m", f->dir);
        done += (size_t)n;
    }
    return ST_OK;
}

static enum status
files_sync(struct wal_medium *m, struct error *e)
{
    const struct wal_files *f = files_of(m);
    int rc;

    do
        rc = f->io.sync(f->fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return error_set(e, ST_IO, "sync the WAL in %s: %m", f->dir);
    return ST_OK;
}

static enum status
files_remove(struct wal_medium *m, uint64_t segment, struct error *e)
{
    const struct wal_files *f = files_of(m);
    char name[WAL_NAME_SIZE];

    wal_name(segment, name);
    if (unlinkat(f->dir_fd, name, 0) != 0 && errno != ENOENT)
        return error_set(e, ST_IO, "delete %s/%s: %m", f->dir, name);
    crash_point("trim-deleted");
    if (fsync(f->dir_fd) != 0)
        return error_set(e, ST_IO, "sync %s: %m", f->dir);
    return ST_OK;
}

static uint64_t
files_size(struct wal_medium *m, uint64_t segment)
{
    char name[WAL_NAME_SIZE];
    struct stat info;

    wal_name(segment, name);
    return fstatat(files_of(m)->dir_fd, name, &info, 0) == 0
               ? (uint64_t)info.st_size
               : 0;
}

static enum status
files_load(struct wal_medium *m, uint64_t segment, struct wal_segment *out,
           struct error *e)
{
    return wal_files_load(files_of(m)->dir, segment, false, out, e);
}

/* -- opening -------------------------------------------------------------- */

/* The last file, without its torn tail; one that holds nothing then is deleted,
 * and its number is free. */
static enum status
close_last(struct wal_files *f, struct wal_held *held, struct error *e)
{
    struct wal_segment w;
    uint64_t last = held->next - 1, size = 0;
    enum status st = wal_files_load(f->dir, last, true, &w, e);

    if (st == ST_OK)
        st = wal_segment_read(&w, NULL, NULL, &size, e);
    if (st == ST_OK) {
        int fd = open(w.path, O_WRONLY | O_CLOEXEC);

        /* Cuts a torn tail off.  Whole or cut, the file must be on the disk
         * before a later one exists: then a torn end of it would be damage. */
        if (fd < 0) {
            st = error_set(e, ST_IO, "open %s: %m", w.path);
        } else {
            if (size < w.bytes.size) {
                log_warn("wal",
                         "%s: cut off %" PRIu64 " bytes at offset %" PRIu64
                         ", which a crash left",
                         w.path, w.bytes.size - size, size);
                if (ftruncate(fd, (off_t)size) != 0)
                    st = error_set(e, ST_IO, "cut %s at offset %" PRIu64 ": %m",
                                   w.path, size);
                crash_point("open-journal-cut");
            }
            if (st == ST_OK)
                st = files_sync_fd(fd, w.path, e);
            (void)close(fd);
        }
    }
    wal_segment_fini(&w);
    if (st != ST_OK || size > WAL_SEGMENT_HEADER)
        return st;
    held->next = last;
    return files_remove(&f->medium, last, e);
}

static enum status
files_open(struct wal_medium *m, struct wal_held *out, struct error *e)
{
    struct wal_files *f = files_of(m);
    enum status st = files_make_dir(f->dir, e);

    if (st == ST_OK) {
        f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        st = f->dir_fd < 0 ? error_set(e, ST_IO, "open %s: %m", f->dir) : ST_OK;
    }
    if (st == ST_OK) {
        struct wal_segments s;

        /* Which segments there are; none may be missing between others. */
        st = wal_list(f->dir, &s, e);
        for (size_t i = 1; i < s.len && st == ST_OK; i++)
            if (s.numbers[i] != s.numbers[i - 1] + 1)
                st = error_set(e, ST_CORRUPT,
                               "%s: segment %" PRIu64 " is missing between "
                               "others",
                               f->dir, s.numbers[i - 1] + 1);
        out->first = s.len == 0 ? 1 : s.numbers[0];
        out->next = out->first + s.len;
        free(s.numbers);
    }
    return st == ST_OK && out->next > out->first ? close_last(f, out, e) : st;
}

static void
files_close(struct wal_medium *m)
{
    struct wal_files *f = files_of(m);

    if (f->fd >= 0)
        (void)close(f->fd);
    if (f->dir_fd >= 0)
        (void)close(f->dir_fd);
    free(f->dir);
    free(f);
}

struct wal_medium *
wal_files_new(const char *dir)
{
    static const struct wal_medium_ops ops = {
        .open = files_open,
        .load = files_load,
        .begin = files_begin,
        .append = files_append,
        .sync = files_sync,
        .size = files_size,
        .remove = files_remove,
        .close = files_close,
    };
    struct wal_files *f = mem_new(sizeof *f);

    f->medium = (struct wal_medium){ &ops, WAL_MAX_BUNDLE, SIZE_MAX };
    f->io = (struct wal_io){ write, fdatasync };
    f->dir = mem_strdup(dir);
    f->dir_fd = f->fd = -1;
    return &f->medium;
}

struct wal_io *
wal_files_io(struct wal_medium *m)
{
    return &files_of(m)->io;
}
