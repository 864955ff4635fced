#include "base/file/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/crash.h"
#include "base/file/file.h"
#include "base/crc32c.h"
#include "base/mem.h"

enum status
files_sync_fd(int fd, const char *name, struct error *e)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return error_set(e, ST_IO, "cannot sync '%s': %m", name);
    return ST_OK;
}

enum status
files_sync_dir(const char *dir, struct error *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum status st;

    if (fd < 0)
        return error_set(e, ST_IO, "cannot open '%s': %m", dir);
    st = files_sync_fd(fd, dir, e);
    (void)close(fd);
    return st;
}

char *
files_parent(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? mem_strdup(".") : mem_strndup(path, n);
}

enum status
files_sync_parent(const char *path, struct error *e)
{
    char *parent = files_parent(path);
    enum status st = files_sync_dir(parent, e);

    free(parent);
    return st;
}

enum status
files_make_dir(const char *dir, struct error *e)
{
    if (mkdir(dir, 0777) == 0)
        return files_sync_parent(dir, e);
    if (errno == EEXIST)
        return ST_OK;
    if (errno == ENOENT)
        return error_set(e, ST_IO,
                         "cannot make the folder '%s': the one that it is to "
                         "lie in is not there",
                         dir);
    return error_set(e, ST_IO, "cannot make the folder '%s': %m", dir);
}

char *
files_path(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = mem_new(size);

    (void)snprintf(path, size, "%s/%s", dir, name);
    return path;
}

enum status
files_write(const char *path, struct slice bytes, struct error *e)
{
    enum status st;
    int fd;

    (void)unlink(path); /* who made it may have made it a link */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(e, ST_IO, "cannot create '%s': %m", path);
    st = file_write_fd(fd, path, bytes, e);
    if (st == ST_OK)
        st = files_sync_fd(fd, path, e);
    if (close(fd) != 0 && st == ST_OK)
        st = error_set(e, ST_IO, "cannot close '%s': %m", path);
    return st;
}

enum status
files_replace(const char *dir, const char *name, struct slice text,
              struct error *e)
{
    char *path = files_path(dir, name), *tmp = mem_new(strlen(path) + 5);
    enum status st;

    (void)snprintf(tmp, strlen(path) + 5, "%s.tmp", path);
    st = files_write(tmp, text, e);
    crash_point("replace-written");
    if (st == ST_OK && rename(tmp, path) != 0)
        st = error_set(e, ST_IO, "cannot rename '%s': %m", tmp);
    if (st == ST_OK)
        st = files_sync_dir(dir, e);
    free(path);
    free(tmp);
    return st;
}

#define TEXT_MAX ((size_t)1 << 20)
#define CRC_SIZE (sizeof "crc32c 00000000\n" - 1)

enum status
files_put_text(const char *dir, const char *name, struct buf *text,
               struct error *e)
{
    buf_printf(text, "crc32c %08x\n", (unsigned)crc32c(buf_slice(text)));
    return text->failed
               ? error_set(e, ST_IO, "no memory for '%s/%s'", dir, name)
               : files_replace(dir, name, buf_slice(text), e);
}

/* Leaves the lines before the one with the checksum, if that fits. */
static bool
take_checksum(struct buf *text)
{
    const char *end = strstr(buf_cstr(text), "\ncrc32c ");
    size_t size = end == NULL ? 0 : (size_t)(end + 1 - buf_cstr(text));
    char want[CRC_SIZE + 1];

    if (end == NULL || text->size - size < CRC_SIZE)
        return false;
    (void)snprintf(want, sizeof want, "crc32c %08x\n",
                   (unsigned)crc32c(slice_of(text->data, size)));
    if (memcmp(text->data + size, want, CRC_SIZE) != 0)
        return false;
    text->size = size;
    return true;
}

enum status
files_get_text(const char *dir, const char *name, struct buf *text,
               struct error *e)
{
    char *path = files_path(dir, name);
    enum status st;

    buf_clear(text);
    st = file_read(path, TEXT_MAX, text, e);

    if (st == ST_OK && !take_checksum(text))
        st = error_set(e, ST_CORRUPT,
                       "'%s' is damaged: its checksum does not fit", path);
    free(path);
    return st;
}
