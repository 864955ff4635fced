/* What the daemon counts, under OpenTSDB's names and under Prometheus': one
 * list, tsd/api/stats/stats.def, for /api/stats, /stats, telnet's stats and
 * /metrics.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

struct stat_row {
    /* As OpenTSDB names it, without "tsd.", and "type=all" or "". 'name' is
     * NULL if OpenTSDB has nothing like it. */
    const char *name, *tags;
    /* At /metrics: "halite_head_bytes", "state=live" or "", "gauge" or
     * "counter", and what is counted. 'metric' is NULL if it is not there. */
    const char *metric, *label, *type, *text;
};

typedef void stat_found(void *ctx, const struct stat_row *row, double value);

/* Calls 'found' with each row and its value now. */
void stats_each(const struct api *a, stat_found *found, void *ctx);

/* What a stat_found writes with. */
struct stats_writer {
    const struct api *a;
    struct buf *b;
    int64_t now_s;
};

/* "host=h" and what else every line has, each with a blank before it. */
void stats_put_tags(const struct api *a, struct buf *b);

/* One line each: "tsd.name time value tags\n". */
void stats_write_lines(const struct api *a, struct buf *b);

/* /api/stats/jvm and /threads, of a process without a JVM. */
void stats_write_process(const struct api *a, struct buf *b);
void stats_write_threads(struct buf *b);
