#include "tsd/api/stats/stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/process/counters.h"
#include "base/process/latency.h"
#include "cluster/cluster.h"
#include "query/engine/engine.h"
#include "storage/place/place.h"
#include "storage/store/store.h"
#include "tsd/net/listener.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"
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

struct process_counts {
    uint64_t threads, open_files, resident_bytes, virtual_bytes;
    uint64_t free_bytes; /* of the machine */
    double cpu_seconds;
};

static struct process_counts
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

/* Values that are read together. */
struct gathered {
    struct store_counts store;
    struct cluster_counts cluster; /* all zero outside a pool */
    struct uid_counts names[UID_KINDS];
    struct process_counts process;
    struct listener_counts connections;
    uint64_t silent; /* connections that said nothing yet */
    struct rlimit files;
    struct statvfs fs;
    double now_s;
    bool in_pool, has_wal, has_disk;
};

static void
gather(const struct api *a, struct gathered *g)
{
    struct place place;
    struct listener_counts c = a->connections(a->connections_ctx);

    *g = (struct gathered){ .store = store_counts(a->store),
                            .process = stats_process(),
                            .connections = c,
                            .now_s = (double)clock_now_ms(a->clock) / 1e3,
                            .in_pool = a->cluster != NULL };
    g->silent = c.open > c.http + c.telnet ? c.open - c.http - c.telnet : 0;
    if (g->in_pool)
        cluster_counts(a->cluster, &g->cluster);
    for (int k = 0; k < UID_KINDS; k++)
        g->names[k] = uid_counts(a->uids, (enum uid_kind)k);
    (void)getrlimit(RLIMIT_NOFILE, &g->files);
    g->has_wal = store_sync_latency(a->store) != NULL;
    g->has_disk = place_parse(a->settings->store, &place, NULL) == ST_OK &&
                  place.kind == PLACE_FOLDER && statvfs(place.at, &g->fs) == 0;
}

static double
seconds(int64_t us)
{
    return (double)us / 1e6;
}

/* Seconds since a time of the monotonic clock. */
static double
age_s(int64_t since_us)
{
    return seconds(clock_monotonic_us() - since_us);
}

/* The rows of both lists. */
static void
each_row(const struct api *a, stat_found *found, void *ctx)
{
    struct gathered g;

    gather(a, &g);
#define ROW(when, value, ...)                               \
    if (when) {                                             \
        static const struct stat_row row = { __VA_ARGS__ }; \
                                                            \
        found(ctx, &row, (double)(value));                  \
    }
#define STAT(value, name, tags) \
    ROW(true, value, name, tags, NULL, NULL, NULL, NULL)
#define METRIC(when, value, metric, label, type, text) \
    ROW(when, value, NULL, NULL, metric, label, type, text)
#define OF_KIND(kind, word, member, name, metric, type, text)                 \
    ROW(true, g.names[kind].member, name, "kind=" word, metric, "kind=" word, \
        type, text)
#define OF_KINDS(member, name, metric, type, text)                   \
    OF_KIND(UID_METRIC, "metrics", member, name, metric, type, text) \
    OF_KIND(UID_TAGK, "tagk", member, name, metric, type, "")        \
    OF_KIND(UID_TAGV, "tagv", member, name, metric, type, "")
#define COUNTER(id, name, tags, metric, label, text)                           \
    ROW(true, counter_get(id), name, tags, "halite_" metric, label, "counter", \
        text)
#include "base/process/counters.def"
#include "tsd/api/stats/stats.def"
#undef COUNTER
#undef OF_KINDS
#undef OF_KIND
#undef METRIC
#undef STAT
#undef ROW
}

static double
ms(const struct latency *l, unsigned percent)
{
    return (double)(latency_percentile(l, percent) / 1000);
}

void
stats_each(const struct api *a, stat_found *found, void *ctx)
{
    static const unsigned percents[] = { 50, 75, 90, 95 };

    each_row(a, found, ctx);
    /* OpenTSDB's percentiles of requests, of points on their way to the WAL,
     * and of reading. Graph counters are for compatibility, and always 0. */
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        unsigned p = percents[i];
        char http[40], hbase[40];
        const struct {
            struct stat_row row;
            double value;
        } rows[] = {
            { { .name = http, .tags = "type=all" },
              a->http == NULL ? 0 : ms(http_server_latency(a->http), p) },
            { { .name = http, .tags = "type=graph" }, 0 },
            { { .name = http, .tags = "type=gnuplot" }, 0 },
            { { .name = hbase, .tags = "method=put class=IncomingDataPoints" },
              a->put == NULL ? 0 : ms(put_path_latency(a->put), p) },
            { { .name = hbase, .tags = "method=scan class=TsdbQuery" },
              a->engine == NULL ? 0 : ms(engine_latency(a->engine), p) },
        };

        (void)snprintf(http, sizeof http, "http.latency_%upct", p);
        (void)snprintf(hbase, sizeof hbase, "hbase.latency_%upct", p);
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
            found(ctx, &rows[k].row, rows[k].value);
    }
}

void
stats_put_tags(const struct api *a, struct buf *b)
{
    if (a->settings->stats_canonical)
        buf_printf(b, " fqdn=%s", a->canonical);
    else
        buf_printf(b, " host=%s", a->host);
    if (a->settings->stats_with_port)
        buf_printf(b, " port=%u", a->port);
}

static void
put_line(void *ctx, const struct stat_row *row, double value)
{
    const struct stats_writer *l = ctx;

    if (row->name == NULL)
        return;
    buf_printf(l->b, "tsd.%s %lld %.0f", row->name, (long long)l->now_s, value);
    if (*row->tags != '\0')
        buf_printf(l->b, " %s", row->tags);
    stats_put_tags(l->a, l->b);
    buf_put_u8(l->b, '\n');
}

void
stats_write_lines(const struct api *a, struct buf *b)
{
    struct stats_writer l = { a, b, clock_now_ms(a->clock) / 1000 };

    stats_each(a, put_line, &l);
}
