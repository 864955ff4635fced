/* Writes down all that a process does to the files of a folder, for LD_PRELOAD.
 *
 * HALITE_POWER_DIR is the folder, an absolute path without symbolic links,
 * HALITE_POWER_LOG the file that the record goes to:
 *
 *     <type:1> <time in us:8> <file:8> <offset:8> <path:4> <data:4>
 *     <path bytes> <data bytes>                            little-endian
 *
 *     o  opened: 'offset' bit 0 made it, bit 1 emptied it   path, file
 *     w  'data' at 'offset'                                 file
 *     t  cut, or made longer, to 'offset' bytes             file
 *     S  a sync begins                                      file
 *     s  it came back, and all was well                     file
 *     r  renamed to 'data'                                  path
 *     u  deleted    m  made a folder    d  deleted a folder path
 *
 * A call and its record are one step: the order of records is that of the
 * calls.  But a sync is two records, since others write while it lasts.  Who
 * looks at the size of the record when he gets an answer knows that all that
 * the answer stands on lies before it.
 *
 * Files are followed by the descriptors that open() returned.  What this does
 * not know how to follow (a file mapped for writing, a hole that is punched)
 * ends the process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t files[FILES]; /* by descriptor; 0: not ours */
static uint32_t opened;
static int out = -1;

static void
give_up(const char *why)
{
    (void)fprintf(stderr, "power: %s\n", why);
    abort();
}

/* The C library's function of this name. */
static void *
real(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (f == NULL)
        give_up(name);
    return f;
}

static void
take(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void
drop(void)
{
    int e = errno;

    (void)pthread_mutex_unlock(&lock);
    errno = e;
}

static void
put_number(uint8_t *at, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static void
open_record(void)
{
    const char *name = getenv("HALITE_POWER_LOG");

    out = name == NULL
              ? -1
              : (int)syscall(SYS_openat, AT_FDCWD, name,
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (out < 0)
        give_up("no record");
}

static void
note(char type, uint64_t file, uint64_t offset, const char *path,
     const void *data, size_t size)
{
    uint8_t head[33];
    struct timespec now;
    struct iovec parts[3];
    size_t path_size = path == NULL ? 0 : strlen(path);
    int e = errno;

    if (out < 0)
        open_record();
    (void)clock_gettime(CLOCK_REALTIME, &now);
    head[0] = (uint8_t)type;
    put_number(head + 1,
               (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
               8);
    put_number(head + 9, file, 8);
    put_number(head + 17, offset, 8);
    put_number(head + 25, path_size, 4);
    put_number(head + 29, size, 4);
    parts[0] = (struct iovec){ head, sizeof head };
    parts[1].iov_base = (char *)(uintptr_t)path;
    parts[1].iov_len = path_size;
    parts[2].iov_base = (char *)(uintptr_t)data;
    parts[2].iov_len = size;
    if (syscall(SYS_writev, out, parts, 3) !=
        (long)(sizeof head + path_size + size))
        give_up("cannot write the record");
    errno = e;
}

/* -- whose file is it? ----------------------------------------------------- */

static int
is_inside(const char *path)
{
    const char *dir = getenv("HALITE_POWER_DIR");
    size_t n = dir == NULL ? 0 : strlen(dir);

    return n > 0 && strncmp(path, dir, n) == 0 &&
           (path[n] == '/' || path[n] == '\0');
}

/* "name" in the folder 'at' as an absolute path; false when not ours. */
static int
inside(int at, const char *name, char full[PATH_MAX])
{
    char link[64];
    ssize_t n = 0;

    if (name[0] == '/') {
        (void)snprintf(full, PATH_MAX, "%s", name);
    } else {
        if (at == AT_FDCWD)
            (void)snprintf(link, sizeof link, "/proc/self/cwd");
        else
            (void)snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        n = readlink(link, full, PATH_MAX - 1);
        if (n < 0)
            return 0;
        (void)snprintf(full + n, (size_t)(PATH_MAX - n), "/%s", name);
    }
    return is_inside(full);
}

static uint64_t
file_of(int fd)
{
    return fd >= 0 && fd < FILES ? files[fd] : 0;
}

static int
open_noting(int at, const char *name, int flags, mode_t mode)
{
    char full[PATH_MAX];
    struct stat info;
    int ours = inside(at, name, full), fd, was;

    if (!ours)
        return (int)syscall(SYS_openat, at, name, flags, mode);
    take();
    was = fstatat(at, name, &info, 0) == 0;
    fd = (int)syscall(SYS_openat, at, name, flags, mode);
    if (fd >= FILES)
        give_up("too many files");
    if (fd >= 0) {
        uint64_t how = (was ? 0u : 1u) | ((flags & O_TRUNC) != 0 ? 2u : 0u);

        files[fd] = (uint64_t)getpid() << 32 | ++opened;
        note('o', files[fd], how, full, NULL, 0);
    }
    drop();
    return fd;
}

/* The mode is there only where a file may be made. */
#define READ_MODE(mode, flags)                        \
    do {                                              \
        if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
            va_list rest;                             \
                                                      \
            va_start(rest, flags);                    \
            (mode) = va_arg(rest, mode_t);            \
            va_end(rest);                             \
        }                                             \
    } while (0)
#define OPEN(name)                                       \
    int name(const char *path, int flags, ...)           \
    {                                                    \
        mode_t mode = 0;                                 \
                                                         \
        READ_MODE(mode, flags);                          \
        return open_noting(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name)                                   \
    int name(int at, const char *path, int flags, ...) \
    {                                                  \
        mode_t mode = 0;                               \
                                                       \
        READ_MODE(mode, flags);                        \
        return open_noting(at, path, flags, mode);     \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int
close(int fd)
{
    int rc;

    if (file_of(fd) == 0)
        return (int)syscall(SYS_close, fd);
    take();
    files[fd] = 0;
    rc = (int)syscall(SYS_close, fd);
    drop();
    return rc;
}

/* -- bytes ----------------------------------------------------------------- */

ssize_t
write(int fd, const void *data, size_t size)
{
    ssize_t n;

    if (file_of(fd) == 0)
        return syscall(SYS_write, fd, data, size);
    take();
    n = syscall(SYS_write, fd, data, size);
    if (n > 0)
        note('w', files[fd], (uint64_t)(lseek(fd, 0, SEEK_CUR) - n), NULL, data,
             (size_t)n);
    drop();
    return n;
}

static ssize_t
pwrite_noting(int fd, const void *data, size_t size, off_t at)
{
    ssize_t n;

    if (file_of(fd) == 0)
        return syscall(SYS_pwrite64, fd, data, size, at);
    take();
    n = syscall(SYS_pwrite64, fd, data, size, at);
    if (n > 0)
        note('w', files[fd], (uint64_t)at, NULL, data, (size_t)n);
    drop();
    return n;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite_noting(fd, data, size, at);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return pwrite_noting(fd, data, size, at);
}

ssize_t
writev(int fd, const struct iovec *parts, int len)
{
    if (file_of(fd) != 0)
        give_up("writev");
    return syscall(SYS_writev, fd, parts, len);
}

static int
cut_noting(int fd, off_t size)
{
    int rc;

    take();
    rc = (int)syscall(SYS_ftruncate, fd, size);
    if (rc == 0 && file_of(fd) != 0)
        note('t', files[fd], (uint64_t)size, NULL, NULL, 0);
    drop();
    return rc;
}

int
ftruncate(int fd, off_t size)
{
    return cut_noting(fd, size);
}

int
ftruncate64(int fd, off64_t size)
{
    return cut_noting(fd, size);
}

int
truncate(const char *path, off_t size)
{
    char full[PATH_MAX];

    if (inside(AT_FDCWD, path, full))
        give_up("truncate");
    return (int)syscall(SYS_truncate, path, size);
}

/* Room that is only taken changes nothing that can be read, but the size. */
static int
allocate_noting(int fd, int mode, off_t at, off_t size)
{
    struct stat info;
    int rc;

    take();
    rc = (int)syscall(SYS_fallocate, fd, mode, at, size);
    if (rc == 0 && file_of(fd) != 0) {
        if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0)
            give_up("fallocate");
        if (fstat(fd, &info) == 0)
            note('t', files[fd], (uint64_t)info.st_size, NULL, NULL, 0);
    }
    drop();
    return rc;
}

int
fallocate(int fd, int mode, off_t at, off_t size)
{
    return allocate_noting(fd, mode, at, size);
}

int
posix_fallocate(int fd, off_t at, off_t size)
{
    return allocate_noting(fd, 0, at, size) == 0 ? 0 : errno;
}

void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (file_of(fd) != 0 && (protection & PROT_WRITE) != 0 &&
        (flags & MAP_SHARED) != 0)
        give_up("mmap for writing");
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* -- syncs ----------------------------------------------------------------- */

static int
sync_noting(int fd, long call)
{
    uint64_t file = file_of(fd);
    int rc;

    if (file == 0)
        return (int)syscall(call, fd);
    take();
    note('S', file, 0, NULL, NULL, 0);
    drop();
    rc = (int)syscall(call, fd);
    take();
    if (rc == 0)
        note('s', file, 0, NULL, NULL, 0);
    drop();
    return rc;
}

int
fsync(int fd)
{
    return sync_noting(fd, SYS_fsync);
}

int
fdatasync(int fd)
{
    return sync_noting(fd, SYS_fdatasync);
}

/* -- names ----------------------------------------------------------------- */

static int
rename_noting(int from_at, const char *from, int to_at, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    int ours = inside(from_at, from, a) + inside(to_at, to, b), rc;

    if (ours == 1)
        give_up("renamed into or out of the folder");
    take();
    rc = (int)syscall(SYS_renameat, from_at, from, to_at, to);
    if (rc == 0 && ours == 2)
        note('r', 0, 0, a, b, strlen(b));
    drop();
    return rc;
}

int
rename(const char *from, const char *to)
{
    return rename_noting(AT_FDCWD, from, AT_FDCWD, to);
}

int
renameat(int from_at, const char *from, int to_at, const char *to)
{
    return rename_noting(from_at, from, to_at, to);
}

static int
unlink_noting(int at, const char *name, int flags)
{
    char full[PATH_MAX];
    int ours = inside(at, name, full), rc;

    take();
    rc = (int)syscall(SYS_unlinkat, at, name, flags);
    if (rc == 0 && ours)
        note((flags & AT_REMOVEDIR) != 0 ? 'd' : 'u', 0, 0, full, NULL, 0);
    drop();
    return rc;
}

int
unlink(const char *path)
{
    return unlink_noting(AT_FDCWD, path, 0);
}

int
unlinkat(int at, const char *name, int flags)
{
    return unlink_noting(at, name, flags);
}

int
rmdir(const char *path)
{
    return unlink_noting(AT_FDCWD, path, AT_REMOVEDIR);
}

int
remove(const char *path)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return -1;
    return unlink_noting(AT_FDCWD, path,
                         S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0);
}

static int
mkdir_noting(int at, const char *name, mode_t mode)
{
    char full[PATH_MAX];
    int ours = inside(at, name, full), rc;

    take();
    rc = (int)syscall(SYS_mkdirat, at, name, mode);
    if (rc == 0 && ours)
        note('m', 0, 0, full, NULL, 0);
    drop();
    return rc;
}

int
mkdir(const char *path, mode_t mode)
{
    return mkdir_noting(AT_FDCWD, path, mode);
}

int
mkdirat(int at, const char *path, mode_t mode)
{
    return mkdir_noting(at, path, mode);
}

int
link(const char *from, const char *to)
{
    char full[PATH_MAX];

    if (inside(AT_FDCWD, to, full))
        give_up("link");
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
dup(int fd)
{
    if (file_of(fd) != 0)
        give_up("dup");
    return (int)syscall(SYS_dup, fd);
}

/* Files that are opened so are read, or are the engine's LOG for humans, which
 * no reader misses. */
FILE *
fopen(const char *path, const char *mode)
{
    FILE *(*f)(const char *, const char *) = NULL;
    char full[PATH_MAX];

    if (mode[0] != 'r' && inside(AT_FDCWD, path, full)) {
        const char *name = strrchr(full, '/');

        if (name == NULL || strcmp(name, "/LOG") != 0)
            give_up("fopen for writing");
    }
    *(void **)&f = real("fopen");
    return f(path, mode);
}
