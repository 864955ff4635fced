/* /metrics: what the daemon counts, in Prometheus' text form.  Names follow
 * Prometheus' rules, not OpenTSDB's: seconds, bytes, _total of counters. */
#include "tsd/api/api.h"

#include <math.h>

#include "base/process/latency.h"
#include "cluster/cluster.h"
#include "query/engine/engine.h"
#include "storage/store/store.h"
#include "tsd/api/stats/stats.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"

/* The rows of one name, which come one after the other. */
struct metric {
    struct buf *b;
    const char *name, *type; /* NULL: there were no rows yet */
    struct buf help, lines;
};

static void
metric_end(struct metric *m)
{
    if (m->name == NULL)
        return;
    buf_printf(m->b, "# HELP %s %s.\n# TYPE %s %s\n", m->name,
               buf_cstr(&m->help), m->name, m->type);
    buf_put_slice(m->b, buf_slice(&m->lines));
    buf_clear(&m->help);
    buf_clear(&m->lines);
}

static void
metric_add(void *ctx, const struct stat_row *row, double value)
{
    struct metric *m = ctx;
    const char *eq;

    if (row->metric == NULL)
        return;
    if (m->name == NULL || strcmp(m->name, row->metric) != 0) {
        metric_end(m);
        m->name = row->metric;
        m->type = row->type;
    }
    if (*row->text != '\0')
        buf_printf(&m->help, "%s%s", m->help.size > 0 ? "; " : "", row->text);
    buf_put_str(&m->lines, row->metric);
    eq = strchr(row->label, '=');
    if (eq != NULL)
        buf_printf(&m->lines, "{%.*s=\"%s\"}", (int)(eq - row->label),
                   row->label, eq + 1);
    /* Counts are printed with all of their digits. */
    buf_printf(&m->lines, value == floor(value) ? " %.0f\n" : " %.15g\n",
               value);
}

/* Bounds are powers of two, at which the classes of a latency end.  The sum of
 * all is read last, and once: no bucket exceeds it.  Nothing where 'l' is
 * NULL. */
static void
put_latency(struct buf *b, const char *name, const char *help,
            const struct latency *l)
{
    unsigned long long all;

    if (l == NULL)
        return;
    buf_printf(b, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (unsigned e = 7; e <= 25; e += 2)
        buf_printf(b, "%s_bucket{le=\"%.9g\"} %llu\n", name,
                   ldexp(1e-6, (int)e),
                   (unsigned long long)latency_below(l, e));
    all = latency_below(l, 64);
    buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n",
               name, all, name, (double)l->sum_us / 1e6, name, all);
}

void
api_metrics(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct metric m = { .b = http_reply_body(out) };
    struct cluster_counts c = { 0 };

    (void)r;
    http_reply_type(out, "text/plain; version=0.0.4; charset=utf-8");
    stats_each(a, metric_add, &m);
    metric_end(&m);
    if (a->cluster != NULL)
        cluster_counts(a->cluster, &c);
    put_latency(m.b, "halite_http_request_duration_seconds",
                "HTTP requests, from the first line to the reply.",
                a->http == NULL ? NULL : http_server_latency(a->http));
    put_latency(m.b, "halite_put_batch_duration_seconds",
                "Batches of points until they are in the WAL.",
                a->put == NULL ? NULL : put_path_latency(a->put));
    put_latency(m.b, "halite_query_duration_seconds",
                "Queries, until their answer is made.",
                queries_latency(a->queries));
    put_latency(m.b, "halite_query_scan_duration_seconds",
                "Sub-queries, reading their points.",
                a->engine == NULL ? NULL : engine_latency(a->engine));
    put_latency(m.b, "halite_wal_fsync_duration_seconds",
                "How long an fsync of the WAL takes.",
                store_sync_latency(a->store));
    put_latency(m.b, "halite_peer_put_duration_seconds",
                "Points to other servers, from sent to answered.",
                c.put_latency);
    buf_fini(&m.help);
    buf_fini(&m.lines);
}
