#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

enum status
file_read_fd(int fd, const char *name, size_t max, struct buf *out,
             struct error *e)
{
    size_t start = out->size;

    for (;;) {
        uint8_t *to = buf_reserve(out, CHUNK);
        ssize_t n;

        if (to == NULL)
            return error_set(e, ST_LIMIT, "%s: no memory for its bytes", name);
        n = read(fd, to, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ST_IO, "%s: cannot read: %m", name);
        if (n == 0)
            return ST_OK;
        out->size += (size_t)n;
        if (out->size - start > max)
            return error_set(e, ST_LIMIT, "%s: larger than %zu bytes", name,
                             max);
    }
}

enum status
file_read(const char *path, size_t max, struct buf *out, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    enum status st;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(e, ST_NOT_FOUND, "there is no '%s'", path);
    if (fd < 0)
        return error_set(e, ST_IO, "%s: %m", path);
    /* All at once, as far as the file is honest about its size. */
    if (fstat(fd, &info) == 0 && (uint64_t)info.st_size <= max)
        (void)buf_reserve(out, (size_t)info.st_size + CHUNK);
    st = file_read_fd(fd, path, max, out, e);
    (void)close(fd);
    return st;
}

enum status
file_write_fd(int fd, const char *name, struct slice bytes, struct error *e)
{
    while (bytes.size > 0) {
        ssize_t n = write(fd, bytes.data, bytes.size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ST_IO, "%s: cannot write: %m", name);
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return ST_OK;
}

enum status
dir_next(DIR *d, const char *dir, const struct dirent **out, struct error *e)
{
    do {
        errno = 0;
        *out = readdir(d);
    } while (*out != NULL && (strcmp((*out)->d_name, ".") == 0 ||
                              strcmp((*out)->d_name, "..") == 0));
    return *out != NULL || errno == 0 ? ST_OK
                                      : error_set(e, ST_IO, "list %s: %m", dir);
}
