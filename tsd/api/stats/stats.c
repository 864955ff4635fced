#include "tsd/api/stats/stats.h"

#include "base/process/counters.h"
#include "base/process/latency.h"
#include "query/engine/engine.h"
#include "tsd/net/listener.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"

static void
each_uid(const struct api *a, enum uid_kind kind, stats_found *found, void *ctx)
{
    struct uid_counts c = uid_counts(a->uids, kind);
    char tags[40];

    (void)snprintf(tags, sizeof tags, "kind=%s", uid_kind_name(kind));
    found(ctx, "uid.cache-hit", tags, c.cache_hits);
    found(ctx, "uid.cache-miss", tags, c.cache_misses);
    found(ctx, "uid.cache-size", tags, c.cache_size);
    found(ctx, "uid.random-collisions", tags, 0);
    found(ctx, "uid.rejected-assignments", tags, c.rejected);
    found(ctx, "uid.ids-used", tags, c.ids_used);
    found(ctx, "uid.ids-available", tags, c.ids_available);
}

static void
each_of_store(const struct api *a, stats_found *found, void *ctx)
{
    struct store_counts c = store_counts(a->store);

    found(ctx, "storage.points.added", "", c.points_added);
    found(ctx, "storage.head.series", "", c.head_series);
    found(ctx, "storage.head.rows", "", c.head_rows);
    found(ctx, "storage.head.points", "", c.head_points);
    found(ctx, "storage.head.bytes", "", c.head_bytes);
    found(ctx, "storage.hours.encoded", "", c.hours_encoded);
    found(ctx, "storage.rows.flushed", "", c.rows_flushed);
    found(ctx, "storage.rows.merged", "", c.rows_merged);
    found(ctx, "storage.rows.rewritten", "", c.rows_rewritten);
    found(ctx, "storage.rows.quarantined", "", c.rows_quarantined);
    found(ctx, "storage.rows.unreadable", "", c.rows_unreadable);
    found(ctx, "storage.rows.set_aside", "", c.rows_set_aside);
    /* What OpenTSDB does to rows of cells, flushing does to open rows. */
    found(ctx, "compaction.count", "", c.rows_flushed);
    found(ctx, "compaction.queue.size", "", c.head_rows);
    found(ctx, "series.total", "", series_total(a->series));
}

static void
each_of_cluster(const struct api *a, stats_found *found, void *ctx)
{
    struct cluster_counts c;

    if (a->cluster == NULL)
        return;
    a->cluster_counts(a->cluster, &c);
    found(ctx, "cluster.members", "state=live", c.members_live);
    found(ctx, "cluster.members", "state=dead", c.members_dead);
    found(ctx, "cluster.buckets", "state=owned", c.buckets_local);
    found(ctx, "cluster.buckets", "state=unowned", c.buckets_unowned);
    found(ctx, "cluster.takeovers", "", c.takeovers);
}

/* The process, in the place of a virtual machine. */
static void
each_of_process(stats_found *found, void *ctx)
{
    struct process_counts c = stats_process();

    found(ctx, "jvm.thread.count", "", c.threads);
    found(ctx, "jvm.ramused", "", c.resident_bytes);
    found(ctx, "jvm.ramfree", "", c.free_bytes);
}

static uint64_t
ms(const struct latency *l, unsigned percent)
{
    return latency_percentile(l, percent) / 1000;
}

/* Of requests, of points on their way to the WAL, and of reading.  Graph
 * counters exist for compatibility and are always 0. */
static void
each_latency(const struct api *a, stats_found *found, void *ctx)
{
    static const unsigned percents[] = { 50, 75, 90, 95 };
    char name[40];

    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        unsigned p = percents[i];

        (void)snprintf(name, sizeof name, "http.latency_%upct", p);
        found(ctx, name, "type=all",
              a->http == NULL ? 0 : ms(http_server_latency(a->http), p));
        found(ctx, name, "type=graph", 0);
        found(ctx, name, "type=gnuplot", 0);
        (void)snprintf(name, sizeof name, "hbase.latency_%upct", p);
        found(ctx, name, "method=put class=IncomingDataPoints",
              a->put == NULL ? 0 : ms(put_path_latency(a->put), p));
        found(ctx, name, "method=scan class=TsdbQuery",
              a->engine == NULL ? 0 : ms(engine_latency(a->engine), p));
    }
}

/* OpenTSDB's counts of what cannot happen here, for those who ask for them. */
static void
each_absent(stats_found *found, void *ctx)
{
    static const struct {
        const char *name, *tags;
    } absent[] = {
        { "rpc.received", "type=http_plugin" },
        { "http.query.unauthorized", "" },
        { "http.query.forbidden", "" },
        { "http.graph.requests", "cache=disk" },
        { "http.graph.requests", "cache=miss" },
        { "compaction.duplicates", "type=identical" },
        { "compaction.duplicates", "type=variant" },
        { "uid.filter.rejected", "kind=raw" },
        { "uid.filter.rejected", "kind=aggregate" },
    };

    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        found(ctx, absent[i].name, absent[i].tags, 0);
}

void
stats_each(const struct api *a, stats_found *found, void *ctx)
{
    found(ctx, "connectionmgr.connections", "type=open",
          a->connections(a->connections_ctx).open);
    for (int i = 0; i < COUNTER_LEN; i++) {
        const struct counter_text *t = counter_text((enum counter)i);

        found(ctx, t->name, t->tags, counter_get((enum counter)i));
    }
    for (int k = 0; k < UID_KINDS; k++)
        each_uid(a, (enum uid_kind)k, found, ctx);
    each_of_store(a, found, ctx);
    each_of_cluster(a, found, ctx);
    each_latency(a, found, ctx);
    each_absent(found, ctx);
    found(ctx, "query.count", "type=running", queries_running(a->queries));
    each_of_process(found, ctx);
}

void
stats_put_tags(const struct api *a, struct buf *b)
{
    if (settings_bool(a->settings, "tsd.stats.canonical"))
        buf_printf(b, " fqdn=%s", a->canonical);
    else
        buf_printf(b, " host=%s", a->host);
    if (settings_bool(a->settings, "tsd.core.stats_with_port"))
        buf_printf(b, " port=%u", a->port);
}

static void
put_line(void *ctx, const char *name, const char *tags, uint64_t value)
{
    const struct stats_writer *l = ctx;

    buf_printf(l->b, "tsd.%s %lld %llu", name, (long long)l->now_s,
               (unsigned long long)value);
    if (*tags != '\0')
        buf_printf(l->b, " %s", tags);
    stats_put_tags(l->a, l->b);
    buf_put_u8(l->b, '\n');
}

void
stats_write_lines(const struct api *a, struct buf *b)
{
    struct stats_writer l = { a, b, clock_now_ms(a->clock) / 1000 };

    stats_each(a, put_line, &l);
}
