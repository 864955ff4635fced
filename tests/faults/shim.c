/* A disk that fails when it is told to, for LD_PRELOAD.
 *
 * HALITE_FAULTS_DIR is the folder whose files fail, HALITE_FAULTS a file that
 * says how, read again at each call, so that a test changes it while the
 * server runs.  Its words, one after another, each of which may be followed by
 * ":WAL" or ":engine" to mean that folder alone:
 *
 *     enospc   a write writes nothing
 *     short    a write writes half, and the next one nothing
 *     eio      a write fails
 *     sync     fsync and fdatasync fail, and what was not synced is gone: the
 *              file is cut back, as a kernel may do that drops dirty pages
 *     full     statvfs says that nothing is free */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FILES 4096

static off_t synced[FILES]; /* how much of the file is on the disk */

static ssize_t
real_write(int fd, const void *data, size_t size)
{
    static ssize_t (*f)(int, const void *, size_t);

    if (f == NULL)
        *(void **)&f = dlsym(RTLD_NEXT, "write");
    return f(fd, data, size);
}

static int
real_sync(int fd, const char *name)
{
    int (*f)(int);

    *(void **)&f = dlsym(RTLD_NEXT, name);
    return f(fd);
}

/* Is this word in the file, for the file that 'path' names? */
static int
told(const char *word, const char *path)
{
    const char *file = getenv("HALITE_FAULTS");
    char text[256], full[64], *save = NULL;
    int fd = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *part = strstr(path, "/journal/") != NULL  ? "journal"
                       : strstr(path, "/engine/") != NULL ? "engine"
                                                          : "other";

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    (void)snprintf(full, sizeof full, "%s:%s", word, part);
    for (char *w = strtok_r(text, " \n", &save); w != NULL;
         w = strtok_r(NULL, " \n", &save))
        if (strcmp(w, word) == 0 || strcmp(w, full) == 0)
            return 1;
    return 0;
}

/* The path of a file in the folder, or an empty one. */
static void
path_of(int fd, char *out, size_t size)
{
    const char *dir = getenv("HALITE_FAULTS_DIR");
    char link[64];
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, out, size - 1);
    out[n < 0 ? 0 : n] = '\0';
    if (dir == NULL || strncmp(out, dir, strlen(dir)) != 0)
        out[0] = '\0';
}

ssize_t
write(int fd, const void *data, size_t size)
{
    char path[4096];

    path_of(fd, path, sizeof path);
    if (path[0] == '\0')
        return real_write(fd, data, size);
    if (told("eio", path)) {
        errno = EIO;
        return -1;
    }
    if (told("enospc", path) || (told("short", path) && size < 2)) {
        errno = ENOSPC;
        return -1;
    }
    return real_write(fd, data, told("short", path) ? size / 2 : size);
}

static int
sync_or_fail(int fd, const char *name)
{
    char path[4096];
    struct stat info;

    path_of(fd, path, sizeof path);
    if (path[0] != '\0' && told("sync", path)) {
        if (fd < FILES && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
            info.st_size > synced[fd])
            (void)ftruncate(fd, synced[fd]);
        errno = EIO;
        return -1;
    }
    if (fd < FILES && fstat(fd, &info) == 0)
        synced[fd] = info.st_size;
    return real_sync(fd, name);
}

int
fsync(int fd)
{
    return sync_or_fail(fd, "fsync");
}

int
fdatasync(int fd)
{
    return sync_or_fail(fd, "fdatasync");
}

int
close(int fd)
{
    if (fd >= 0 && fd < FILES)
        synced[fd] = 0;
    return real_sync(fd, "close");
}

int
statvfs(const char *path, struct statvfs *v)
{
    int (*f)(const char *, struct statvfs *);
    int rc;

    *(void **)&f = dlsym(RTLD_NEXT, "statvfs");
    rc = f(path, v);
    if (rc == 0 && told("full", path))
        v->f_bavail = 0;
    return rc;
}

/* What largefile support makes of it. */
int
statvfs64(const char *path, struct statvfs64 *v)
{
    int (*f)(const char *, struct statvfs64 *);
    int rc;

    *(void **)&f = dlsym(RTLD_NEXT, "statvfs64");
    rc = f(path, v);
    if (rc == 0 && told("full", path))
        v->f_bavail = 0;
    return rc;
}
