#include "tsd/api/stats/stats.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/process/counters.h"
#include "base/process/latency.h"
#include "cluster/cluster.h"
#include "query/engine/engine.h"
#include "storage/place/place.h"
#include "storage/store/store.h"
#include "tsd/net/listener.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"

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
