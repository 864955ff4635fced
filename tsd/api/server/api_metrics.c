/* /metrics: what the daemon counts, in Prometheus' text form.  Names follow
 * Prometheus' rules, not OpenTSDB's: seconds, bytes, _total of counters. */
#include "tsd/api/api.h"

#include <math.h>
#include <sys/statvfs.h>

#include "base/counters.h"
#include "base/latency.h"
#include "query/engine/engine.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"
#include "tsd/api/server/stats.h"

static void
put_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_one(struct buf *b, const char *name, const char *type, const char *help,
        double value)
{
    put_head(b, name, type, help);
    buf_printf(b, "%s %.15g\n", name, value);
}

/* Bounds are powers of two, at which the classes of a latency end. */
static void
put_latency(struct buf *b, const char *name, const char *help,
            const struct latency *l)
{
    if (l == NULL)
        return;
    put_head(b, name, "histogram", help);
    for (unsigned e = 7; e <= 25; e += 2)
        buf_printf(b, "%s_bucket{le=\"%.9g\"} %llu\n", name,
                   ldexp(1e-6, (int)e),
                   (unsigned long long)latency_below(l, e));
    buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n",
               name, (unsigned long long)latency_below(l, 64), name,
               (double)l->sum_us / 1e6, name,
               (unsigned long long)latency_below(l, 64));
}

/* "rpc.received" to "halite_rpc_received_total". */
static void
name_counter(const char *name, char *out, size_t size)
{
    (void)snprintf(out, size, "halite_%s_total", name);
    for (char *p = out; *p != '\0'; p++)
        if (*p == '.' || *p == '-')
            *p = '_';
}

/* base/counters.def lists the counters of one name one after the other. */
static void
put_counters(struct buf *b)
{
    for (unsigned i = 0; i < COUNTER_LEN;) {
        const struct counter_text *first = counter_text((enum counter)i);
        char name[80];
        unsigned end = i;

        name_counter(first->name, name, sizeof name);
        buf_printf(b, "# HELP %s ", name);
        for (; end < COUNTER_LEN; end++) {
            const struct counter_text *t = counter_text((enum counter)end);

            if (strcmp(t->name, first->name) != 0)
                break;
            buf_printf(b, "%s%s", end == i ? "" : "; ", t->text);
        }
        buf_printf(b, ".\n# TYPE %s counter\n", name);
        for (; i < end; i++) {
            const char *tags = counter_text((enum counter)i)->tags;
            const char *eq = strchr(tags, '=');

            buf_put_str(b, name);
            if (eq != NULL)
                buf_printf(b, "{%.*s=\"%s\"}", (int)(eq - tags), tags, eq + 1);
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
        { "halite_uid_cache_hits_total", "counter", "Names found in memory.",
          offsetof(struct uid_counts, cache_hits) },
        { "halite_uid_cache_misses_total", "counter", "Names read from disk.",
          offsetof(struct uid_counts, cache_misses) },
        { "halite_uid_cache_entries", "gauge", "Names in memory.",
          offsetof(struct uid_counts, cache_size) },
        { "halite_uid_ids_used", "gauge", "Ids that are assigned.",
          offsetof(struct uid_counts, ids_used) },
        { "halite_uid_ids_available", "gauge", "Ids that are left.",
          offsetof(struct uid_counts, ids_available) },
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        put_head(b, values[i].name, values[i].type, values[i].help);
        for (int k = 0; k < UID_KINDS; k++) {
            struct uid_counts c = uid_counts(a->uids, (enum uid_kind)k);
            uint64_t v;

            memcpy(&v, (const char *)&c + values[i].offset, sizeof v);
            buf_printf(b, "%s{kind=\"%s\"} %llu\n", values[i].name,
                       uid_kind_name((enum uid_kind)k), (unsigned long long)v);
        }
    }
}

static void
put_store(const struct api *a, struct buf *b)
{
    struct store_counts c = store_counts(a->store);

    put_one(b, "halite_storage_points_added_total", "counter",
            "Points written, overwritten ones included.",
            (double)c.points_added);
    put_one(b, "halite_storage_rows_flushed_total", "counter",
            "Rows flushed from the head.", (double)c.rows_flushed);
    put_one(b, "halite_storage_rows_merged_total", "counter",
            "Flushed rows that were stored before.", (double)c.rows_merged);
    put_one(b, "halite_storage_rows_rewritten_total", "counter",
            "Stored rows that were written again.", (double)c.rows_rewritten);
    put_one(b, "halite_storage_head_series", "gauge", "Series in the head.",
            (double)c.head_series);
    put_one(b, "halite_storage_head_rows", "gauge", "Open rows in the head.",
            (double)c.head_rows);
    put_one(b, "halite_storage_head_points", "gauge", "Points in the head.",
            (double)c.head_points);
    put_one(b, "halite_storage_head_bytes", "gauge", "Memory of the head.",
            (double)c.head_bytes);
    put_one(b, "halite_series", "gauge", "Series that have points.",
            (double)series_total(a->series));
}

static void
put_process(const struct api *a, struct buf *b)
{
    struct process_counts c = stats_process();
    const char *folder = settings_text(a->settings, "halite.data");
    struct statvfs fs;

    put_head(b, "halite_build_info", "gauge", "The version; always 1.");
    buf_put_str(b, "halite_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    put_one(b, "halite_uptime_seconds", "gauge", "Time since the start.",
            (double)(clock_now_ms(a->clock) - a->started_ms) / 1000);
    put_one(b, "process_start_time_seconds", "gauge",
            "Start, in seconds since 1970.", (double)a->started_ms / 1000);
    put_one(b, "process_resident_memory_bytes", "gauge", "Resident memory.",
            (double)c.resident_bytes);
    put_one(b, "process_threads", "gauge", "Threads.", (double)c.threads);
    if (!settings_bool(a->settings, "halite.memory") &&
        statvfs(folder, &fs) == 0)
        put_one(b, "halite_disk_free_bytes", "gauge",
                "Free on the disk of halite.data.",
                (double)fs.f_bavail * (double)fs.f_frsize);
    put_one(b, "halite_writable", "gauge",
            "0: the store takes no writes (/api/status).",
            strcmp(api_status_word(a), "ok") == 0);
}

void
api_metrics(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct buf *b = http_reply_body(out);

    http_reply_type(out, "text/plain; version=0.0.4; charset=utf-8");
    put_process(a, b);
    put_counters(b);
    put_one(b, "halite_connections_open", "gauge", "Open connections.",
            (double)a->connections_open(a->connections_ctx));
    put_one(b, "halite_queries_running", "gauge", "Queries under way.",
            (double)queries_running(a->queries));
    put_names(a, b);
    put_store(a, b);
    put_latency(b, "halite_http_request_duration_seconds",
                "Of HTTP requests, from the first line to the reply.",
                a->http == NULL ? NULL : http_server_latency(a->http));
    put_latency(b, "halite_put_commit_duration_seconds",
                "Of batches of points until they are in the write-ahead log.",
                a->put == NULL ? NULL : put_path_latency(a->put));
    put_latency(b, "halite_query_scan_duration_seconds",
                "Of sub-queries reading points.",
                a->engine == NULL ? NULL : engine_latency(a->engine));
}
