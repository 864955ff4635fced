/* Dropping expired rows: of a metric, those whose whole span lies before a
 * time.  Rows of raw points alone: those of rollups stay.  Where hourly values
 * are kept for longer, a row goes only when the entry of its series' week
 * (store_weeks_priv.h) has them; the entries go when these expire.
 *
 *     store_cuts_set()       what goes is written down, on the disk
 *     store_drop_rows()      the rows go, some hundred at a time
 *
 * A row goes only if it lies before the metric's cut, too; a query that asks
 * for more can say so by store_cut_ms().  Points older than that which come
 * later are taken, and dropped once they are flushed, when store_drop_rows() is
 * called again; so is what a power cut brings back.
 *
 * Threads: any; one call at a time for a metric.
 * Fails:   ST_IO; ST_BUSY when it is cancelled. */
#pragma once

#include "storage/store/store.h"

/* The metric's raw points before this time are dropped, or about to be; 0: none
 * are.  It never falls. */
int64_t store_cut_ms(struct store *s, uint64_t metric);
/* The same of their hourly values. */
int64_t store_hourly_cut_ms(struct store *s, uint64_t metric);

/* What is older goes, by whole spans; where hourly_ms < raw_ms, raw points go
 * by whole weeks. */
struct store_cut {
    uint64_t metric;
    int64_t raw_ms, hourly_ms;
};

/* Writes down those that rise, in one batch, on the disk when it returns. Where
 * hourly values are kept for longer, 'raw_ms' counts as far as all buckets are
 * summed up. */
MUST_CHECK enum status store_cuts_set(struct store *s,
                                      const struct store_cut *cuts, size_t len,
                                      struct error *e);

struct store_dropped {
    uint64_t rows, points, bytes; /* bytes: of keys and values */
    uint64_t weeks;
};

struct store_drop {
    struct store_cut before;
    bool dry_run; /* counts what is there, whatever the cut */
    /* Of a dry run: what passes are going to drop, also of the buckets of
     * others and of weeks that are not summed up yet. */
    bool foresees;
    uint64_t max_rows;            /* and weeks, then it ends; 0: all */
    struct cancel cancel;         /* asked between batches */
    struct store_dropped dropped; /* out, added to, after a failure too */
};

MUST_CHECK enum status store_drop_rows(struct store *s, struct store_drop *d,
                                       struct error *e);
