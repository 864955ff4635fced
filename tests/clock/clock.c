/* For LD_PRELOAD: the system's clock, moved by as many nanoseconds as the first
 * eight bytes of the file $HALITE_CLOCK say, which may change at any time. The
 * monotonic clock stays as it is. Without the file nothing is moved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

static const int64_t nothing;
static const volatile int64_t *moved = &nothing;

__attribute__((constructor)) static void
map_file(void)
{
    const char *path = getenv("HALITE_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *map = fd < 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    if (map != MAP_FAILED)
        moved = map;
}

int
clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = (int)syscall(SYS_clock_gettime, id, out);
    int64_t ns;

    if (rc != 0 || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return rc;
    ns = (int64_t)out->tv_sec * SECOND_NS + out->tv_nsec + *moved;
    out->tv_sec = (time_t)(ns / SECOND_NS);
    out->tv_nsec = (long)(ns % SECOND_NS);
    return 0;
}

int
gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t
time(time_t *out)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
