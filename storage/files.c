/* See storage/files_priv.h. */
#include "config.h"

#include "storage/files_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum status
files_sync_fd(int fd, const char *name, struct error *e)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return error_set(e, ST_IO, "cannot sync '%s': %s", name,
                         strerror(errno));
    return ST_OK;
}

enum status
files_sync_dir(const char *dir, struct error *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum status st;

    if (fd < 0)
        return error_set(e, ST_IO, "cannot open '%s': %s", dir,
                         strerror(errno));
    st = files_sync_fd(fd, dir, e);
    (void)close(fd);
    return st;
}

static char *
parent_of(const char *path)
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
    char *parent = parent_of(path);
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
    return error_set(e, ST_IO, "cannot make the folder '%s': %s", dir,
                     strerror(errno));
}
