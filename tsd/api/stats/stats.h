/* What the daemon counts, under OpenTSDB's names: for /api/stats, /stats and
 * telnet's stats.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

/* 'tags' is "type=all" or "". */
typedef void stats_found(void *ctx, const char *name, const char *tags,
                         uint64_t value);

/* What stats_found() writes with. */
struct stats_writer {
    const struct api *a;
    struct buf *b;
    int64_t now_s;
};

/* Names come without "tsd.". */
void stats_each(const struct api *a, stats_found *found, void *ctx);

/* "host=h" and what else every line has, each with a blank before it. */
void stats_put_tags(const struct api *a, struct buf *b);

/* One line each: "tsd.name time value tags\n". */
void stats_write_lines(const struct api *a, struct buf *b);

struct process_counts {
    uint64_t threads, open_files, resident_bytes, virtual_bytes;
    uint64_t free_bytes; /* of the machine */
    double cpu_seconds;
};
struct process_counts stats_process(void);

/* /api/stats/jvm and /threads, of a process without a JVM. */
void stats_write_process(const struct api *a, struct buf *b);
void stats_write_threads(struct buf *b);
