/* /metrics: what the daemon counts, in Prometheus' text form.  Names follow
 * Prometheus' rules, not OpenTSDB's: seconds, bytes, _total of counters. */
#include "tsd/api/api.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/process/counters.h"
#include "base/process/latency.h"
#include "query/engine/engine.h"
#include "storage/store/store.h"
#include "tsd/api/stats/metrics_cluster.h"
#include "tsd/api/stats/prometheus.h"
#include "tsd/api/stats/stats.h"
#include "tsd/config/store_place.h"
#include "tsd/net/listener.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"

/* base/process/counters.def lists the counters of one name one after the other.
 */
static void
put_counters(struct buf *b)
{
    for (unsigned i = 0; i < COUNTER_LEN;) {
        const struct counter_text *first = counter_text((enum counter)i);
        unsigned end = i;

        buf_printf(b, "# HELP halite_%s ", first->metric);
        for (; end < COUNTER_LEN; end++) {
            const struct counter_text *t = counter_text((enum counter)end);

            if (strcmp(t->metric, first->metric) != 0)
                break;
            buf_printf(b, "%s%s", end == i ? "" : "; ", t->text);
        }
        buf_printf(b, ".\n# TYPE halite_%s counter\n", first->metric);
        for (; i < end; i++) {
            const char *label = counter_text((enum counter)i)->label;
            const char *eq = strchr(label, '=');

            buf_printf(b, "halite_%s", first->metric);
            if (eq != NULL)
                buf_printf(b, "{%.*s=\"%s\"}", (int)(eq - label), label,
                           eq + 1);
            buf_printf(b, " %llu\n",
                       (unsigned long long)counter_get((enum counter)i));
        }
    }
}

static void
put_names(const struct api *a, struct buf *b)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } values[] = {
        { "halite_names", "gauge", "Names that have a UID.",
          offsetof(struct uid_counts, ids_used) },
        { "halite_names_available", "gauge", "UIDs that are left for names.",
          offsetof(struct uid_counts, ids_available) },
        { "halite_name_cache_entries", "gauge", "Names in memory.",
          offsetof(struct uid_counts, cache_size) },
        { "halite_name_cache_hits_total", "counter", "Names found in memory.",
          offsetof(struct uid_counts, cache_hits) },
        { "halite_name_cache_misses_total", "counter", "Names read from disk.",
          offsetof(struct uid_counts, cache_misses) },
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        prom_head(b, values[i].name, values[i].type, values[i].help);
        for (int k = 0; k < UID_KINDS; k++) {
            struct uid_counts c = uid_counts(a->uids, (enum uid_kind)k);
            uint64_t v;

            memcpy(&v, (const char *)&c + values[i].offset, sizeof v);
            prom_labelled(b, values[i].name, "kind",
                          uid_kind_name((enum uid_kind)k), v);
        }
    }
}

static void
put_tables(const struct api *a, struct buf *b)
{
    static const struct {
        uint8_t table;
        const char *name;
    } tables[] = {
        { TABLE_ROWS, "rows" },
        { TABLE_WEEKS, "weeks" },
        { TABLE_HISTOGRAMS, "histograms" },
        { TABLE_SERIES, "series" },
        { TABLE_TAGK_SETS, "tagk_sets" },
        { TABLE_UID, "names" },
        { TABLE_META, "metadata" },
        { TABLE_ANNOTATIONS, "annotations" },
        { TABLE_TREES, "trees" },
        { TABLE_QUARANTINE, "quarantine" },
    };
    const char *name = "halite_table_bytes";

    prom_head(b, name, "gauge",
              "About how much each table takes in the engine's files.");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        prom_labelled(b, name, "table", tables[i].name,
                      store_table_bytes(a->store, tables[i].table));
}

static void
put_wal(const struct api *a, const struct wal_counts *c, struct buf *b)
{
    const struct settings *s = a->settings;
    int64_t age_us = clock_monotonic_us() - c->synced_us;

    prom_gauge(b, "halite_wal_bytes", "Size of the WAL's files.",
               (double)c->bytes);
    prom_gauge(b, "halite_wal_limit_bytes",
               "Size of the WAL at which rows are flushed early.",
               (double)settings_size(s, "halite.store.journal_bytes"));
    prom_gauge(b, "halite_wal_segments", "Files of the WAL.",
               (double)c->segments);
    prom_total(b, "halite_wal_writes_total", "Writes to the WAL's files.",
               (double)c->writes);
    prom_gauge(b, "halite_wal_unsynced_seconds",
               "How long the oldest bytes of the WAL have waited for an fsync; "
               "0: none wait, or halite.sync is off.",
               (double)c->unsynced_us / 1e6);
    if (c->synced_us != 0)
        prom_gauge(b, "halite_wal_last_fsync_timestamp_seconds",
                   "When the last fsync of the WAL ended, since 1970.",
                   (double)clock_now_ms(a->clock) / 1e3 - (double)age_us / 1e6);
    prom_latency(b, "halite_wal_fsync_duration_seconds",
                 "How long an fsync of the WAL takes.",
                 store_sync_latency(a->store));
}

static void
put_store(const struct api *a, struct buf *b)
{
    struct store_counts c = store_counts(a->store);

    prom_gauge(b, "halite_series", "Series that have points.",
               (double)series_total(a->series));
    prom_gauge(b, "halite_head_bytes", "Memory of the head.",
               (double)c.head_bytes);
    prom_gauge(b, "halite_head_limit_bytes",
               "Memory of the head at which writers wait.",
               (double)settings_size(a->settings, "halite.store.head_bytes"));
    prom_gauge(b, "halite_head_series", "Series in the head.",
               (double)c.head_series);
    prom_gauge(b, "halite_head_rows", "Rows in the head.", (double)c.head_rows);
    prom_gauge(b, "halite_head_points", "Points in the head.",
               (double)c.head_points);
    prom_total(b, "halite_head_blocks_total",
               "Open rows that became blocks in the head.",
               (double)c.hours_encoded);
    prom_total(b, "halite_summaries_written_total",
               "Weeks of a series that were summed up.",
               (double)c.weeks_written);
    prom_total(b, "halite_rows_flushed_total", "Rows flushed from the head.",
               (double)c.rows_flushed);
    prom_total(b, "halite_rows_merged_total",
               "Flushed rows that were stored before.", (double)c.rows_merged);
    prom_total(b, "halite_rows_rewritten_total",
               "Stored rows that were written again.",
               (double)c.rows_rewritten);
    prom_total(b, "halite_rows_quarantined_total",
               "Damaged rows put into quarantine.", (double)c.rows_quarantined);
    prom_total(b, "halite_rows_unreadable_total",
               "Damaged rows that could not be kept.",
               (double)c.rows_unreadable);
    prom_total(
        b, "halite_rows_set_aside_total",
        "Rows that could not be flushed with the others, and stayed open.",
        (double)c.rows_set_aside);
    prom_gauge(b, "halite_replay_seconds",
               "How long the start took to replay the WAL.",
               (double)c.replay_us / 1e6);
    if (a->cluster == NULL) /* a pool's engine cannot tell */
        put_tables(a, b);
    if (store_sync_latency(a->store) != NULL)
        put_wal(a, &c.wal, b);
}

static void
put_disk(const struct api *a, struct buf *b)
{
    const struct settings *s = a->settings;
    const char *dir = store_place_folder(s);
    struct statvfs fs;

    if (dir == NULL || statvfs(dir, &fs) != 0)
        return;
    prom_gauge(b, "halite_disk_size_bytes", "Size of the disk of the store.",
               (double)fs.f_blocks * (double)fs.f_frsize);
    prom_gauge(b, "halite_disk_free_bytes", "Free on that disk.",
               (double)fs.f_bavail * (double)fs.f_frsize);
    prom_gauge(b, "halite_disk_used_bytes", "Used on that disk, by anybody.",
               (double)(fs.f_blocks - fs.f_bfree) * (double)fs.f_frsize);
    prom_gauge(b, "halite_disk_min_free_bytes",
               "Writes are rejected while less is free.",
               (double)settings_size(s, "halite.store.min_free_bytes"));
}

static void
put_process(const struct api *a, struct buf *b)
{
    struct process_counts c = stats_process();
    struct rlimit files;

    prom_head(b, "halite_build_info", "gauge", "The version; always 1.");
    prom_labelled(b, "halite_build_info", "version", PACKAGE_VERSION, 1);
    prom_gauge(b, "process_start_time_seconds", "Start, in seconds since 1970.",
               (double)a->started_ms / 1000);
    prom_total(b, "process_cpu_seconds_total", "CPU time, user and system.",
               c.cpu_seconds);
    prom_gauge(b, "process_resident_memory_bytes", "Resident memory.",
               (double)c.resident_bytes);
    prom_gauge(b, "process_virtual_memory_bytes", "Virtual memory.",
               (double)c.virtual_bytes);
    prom_gauge(b, "process_open_fds", "Open file descriptors.",
               (double)c.open_files);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        prom_gauge(b, "process_max_fds", "How many may be open.",
                   (double)files.rlim_cur);
    prom_gauge(b, "process_threads", "Threads.", (double)c.threads);
}

static void
put_connections(const struct api *a, struct buf *b)
{
    struct listener_counts c = a->connections(a->connections_ctx);
    const char *name = "halite_connections";

    prom_head(b, name, "gauge",
              "Open connections; none: those that said nothing yet.");
    prom_labelled(b, name, "protocol", "http", c.http);
    prom_labelled(b, name, "protocol", "telnet", c.telnet);
    prom_labelled(b, name, "protocol", "none",
                  c.open > c.http + c.telnet ? c.open - c.http - c.telnet : 0);
    prom_gauge(b, "halite_tls_connections", "Those of them that came by TLS.",
               (double)c.tls);
}

void
api_metrics(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct buf *b = http_reply_body(out);

    http_reply_type(out, "text/plain; version=0.0.4; charset=utf-8");
    put_process(a, b);
    prom_gauge(b, "halite_writable", "0: writes are rejected (/api/status).",
               strcmp(api_status_word(a), "ok") == 0);
    put_disk(a, b);
    put_counters(b);
    put_connections(a, b);
    prom_gauge(b, "halite_queries_running", "Queries under way.",
               (double)queries_running(a->queries));
    put_names(a, b);
    put_store(a, b);
    metrics_cluster(a, b);
    prom_latency(b, "halite_http_request_duration_seconds",
                 "HTTP requests, from the first line to the reply.",
                 a->http == NULL ? NULL : http_server_latency(a->http));
    prom_latency(b, "halite_put_batch_duration_seconds",
                 "Batches of points until they are in the WAL.",
                 a->put == NULL ? NULL : put_path_latency(a->put));
    prom_latency(b, "halite_query_duration_seconds",
                 "Queries, until their answer is made.",
                 queries_latency(a->queries));
    prom_latency(b, "halite_query_scan_duration_seconds",
                 "Sub-queries, reading their points.",
                 a->engine == NULL ? NULL : engine_latency(a->engine));
}
