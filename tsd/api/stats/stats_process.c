/* The process as the kernel sees it, under the names that OpenTSDB gives to its
 * virtual machine. */
#include "tsd/api/stats/stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "web/json/json.h"

static size_t
read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Of /proc/self/statm: pages, of which resident. */
static void
read_memory(unsigned long long *total, unsigned long long *resident)
{
    unsigned long long page = (unsigned long long)sysconf(_SC_PAGESIZE);
    char text[200], *end;

    (void)read_small("/proc/self/statm", text, sizeof text);
    *total = strtoull(text, &end, 10) * page;
    *resident = strtoull(end, NULL, 10) * page;
}

static uint64_t
count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *one;
    uint64_t n = 0;

    while (d != NULL && (one = readdir(d)) != NULL)
        n += one->d_name[0] != '.';
    if (d != NULL)
        (void)closedir(d);
    return n;
}

struct process_counts
stats_process(void)
{
    unsigned long long total, resident;
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    struct timespec cpu = { 0 };

    read_memory(&total, &resident);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (struct process_counts){
        .threads = count_entries("/proc/self/task"),
        .open_files = count_entries("/proc/self/fd"),
        .resident_bytes = resident,
        .virtual_bytes = total,
        .cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
        .free_bytes =
            pages < 0 || size < 0 ? 0 : (uint64_t)pages * (uint64_t)size,
    };
}

void
stats_write_process(const struct api *a, struct buf *b)
{
    unsigned long long total, resident;
    double load = 0;

    (void)getloadavg(&load, 1);
    read_memory(&total, &resident);
    buf_printf(b,
               "{\"os\":{\"systemLoadAverage\":%.2f},\"gc\":{},"
               "\"runtime\":{\"startTime\":%lld,\"uptime\":%lld,"
               "\"vmName\":\"none\",\"vmVendor\":\"halite\","
               "\"vmVersion\":\"" PACKAGE_VERSION "\"},\"pools\":{},",
               load, (long long)a->started_ms,
               (long long)(clock_now_ms(a->clock) - a->started_ms));
    buf_printf(b,
               "\"memory\":{\"objectsPendingFinalization\":0,"
               "\"heapMemoryUsage\":{\"init\":0,\"used\":%llu,"
               "\"committed\":%llu,\"max\":-1},\"nonHeapMemoryUsage\":"
               "{\"init\":0,\"used\":0,\"committed\":0,\"max\":-1}}}",
               resident, total);
}

/* Of "1 (name) S ...": what stands in the brackets, and the letter behind. */
static void
put_thread(struct buf *b, const char *id, const char *text)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    const char *state = "UNKNOWN";

    if (open == NULL || close == NULL || close < open)
        return;
    if (close[1] == ' ')
        state = close[2] == 'R' ? "RUNNABLE" : "WAITING";
    buf_printf(b, "{\"threadID\":%s,\"name\":", id);
    json_put_string(b, slice_of(open + 1, (size_t)(close - open - 1)));
    buf_printf(b,
               ",\"state\":\"%s\",\"interrupted\":false,\"priority\":5,"
               "\"stack\":[]}",
               state);
}

void
stats_write_threads(struct buf *b)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *one;

    buf_put_u8(b, '[');
    while (d != NULL && (one = readdir(d)) != NULL) {
        char path[300], text[400];

        if (one->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat",
                       one->d_name);
        if (read_small(path, text, sizeof text) == 0)
            continue;
        json_next(b);
        put_thread(b, one->d_name, text);
    }
    buf_put_u8(b, ']');
    if (d != NULL)
        (void)closedir(d);
}
