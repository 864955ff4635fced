/* A process short of memory.  Preloaded, it makes allocations fail as the file
 * $HALITE_NOMEM says, which may change while the process runs:
 *
 *     N        the N-th allocation from now on fails, and then none
 *     /N       each N-th fails
 *     /N>S     each N-th of at least S bytes
 *     (empty)  none
 *
 * A thread looks at the file every few milliseconds. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static atomic_ulong left, every, least, seen, failed;

/* LevelDB ends the process when it has no memory, by its C interface, which
 * does not look at what malloc() returned, or by an exception of C++ that
 * is not caught: both are spared. */
static int
spared(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           (strstr(info.dli_fname, "libleveldb") != NULL ||
            strstr(info.dli_fname, "libstdc++") != NULL);
}

static int
fails(size_t size, const void *caller)
{
    unsigned long n;

    if (atomic_load(&every) == 0 && atomic_load(&left) == 0)
        return 0;
    if (spared(caller))
        return 0;
    if (atomic_load(&every) != 0 && size >= atomic_load(&least)) {
        n = atomic_fetch_add(&seen, 1) + 1;
        if (n % atomic_load(&every) == 0) {
            atomic_fetch_add(&failed, 1);
            errno = ENOMEM;
            return 1;
        }
    }
    n = atomic_load(&left);
    while (n > 0 && !atomic_compare_exchange_weak(&left, &n, n - 1))
        ;
    if (n == 1) {
        atomic_fetch_add(&failed, 1);
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

void *
malloc(size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL
                                                    : __libc_malloc(size);
}

void *
calloc(size_t len, size_t size)
{
    return fails(len * size, __builtin_return_address(0))
               ? NULL
               : __libc_calloc(len, size);
}

void *
realloc(void *p, size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL
                                                    : __libc_realloc(p, size);
}

static void *
look(void *arg)
{
    char old[64] = "", text[64];
    const char *path = arg;

    for (;; usleep(1000)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

        if (fd >= 0)
            close(fd);
        if (n < 0)
            continue;
        text[n] = '\0';
        if (strcmp(text, old) == 0)
            continue;
        strcpy(old, text);
        if (text[0] == '/') {
            char *end;
            unsigned long by = strtoul(text + 1, &end, 10);

            atomic_store(&least, *end == '>' ? strtoul(end + 1, NULL, 10) : 0);
            atomic_store(&every, by);
        } else {
            atomic_store(&every, 0);
            atomic_store(&left, strtoul(text, NULL, 10));
        }
    }
    return NULL;
}

__attribute__((constructor)) static void
begin(void)
{
    char *path = getenv("HALITE_NOMEM");
    sigset_t all, old;
    pthread_t thread;

    if (path == NULL)
        return;
    /* Signals are for the threads of the process itself. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_create(&thread, NULL, look, path);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
