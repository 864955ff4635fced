/* Dropping expired rows: of a metric, those whose whole span lies before a
 * time.  Rows of raw points alone: those of rollups stay.  Where hourly values
 * are kept for longer, a row goes only when the entry of its series' week
 * (store_weeks_priv.h) has them; the entries go when these expire.
 *
 *     store_cuts_set()       what goes is written down, on the disk
 *     store_drop_rows()      the rows go, some hundred at a time
 *
 * A row goes only if it lies before the metric's cut, too; a query that asks
 * for more can say so by store_cut_ms().
 *
 * Where hourly values are kept for longer, nothing that was acknowledged is
 * lost when its row goes:
 *
 *  - The row of a series' week goes only with the rows of which the entry was
 *    made: the entry is not stale, the head has no row of that series and week,
 *    and no late row of that week was flushed for a while (store_weeks_held()),
 *    nor has the store just been opened.
 *  - Late points of a week whose rows were dropped are accepted for hours of
 *    which the entry has no points.  Their rows stay until store_drop_rows()
 *    merges these hours into the entry and deletes the row, in one batch.
 *  - Late points of other hours of such a week are rejected by store_put(): a
 *    repeated point could be counted twice.  The late lock makes sure that
 *    no such point is put while its hour's row is dropped or merged.
 *  - Recovery rejects nothing.  A replayed point whose hour the entry counts is
 *    included in it: it was put before that hour was counted, as puts into
 *    counted hours are rejected, and the hour was counted with all points that
 *    had been put: rows are dropped, or merged, only when the head has none of
 *    that week, and everything that left the head is in the engine's row or
 *    has made the entry stale.  So its row is dropped, and merged into nothing.
 *
 * Threads: any; one call at a time for a metric.
 * Fails:   ST_IO; ST_BUSY when it is cancelled. */
#pragma once

#include "storage/store/store.h"
#include "storage/store/store_policy.h"

/* The metric's raw points before this time are dropped, or about to be; 0: none
 * are.  It falls only if it was in the future. */
int64_t store_cut_ms(struct store *s, uint64_t metric);
/* The same of their hourly values. */
int64_t store_hourly_cut_ms(struct store *s, uint64_t metric);
/* Before this time, but not before that of the hourly values, entries of weeks
 * may be all that is left. */
int64_t store_alone_ms(struct store *s, uint64_t metric);

/* Cuts that are in the future of a clock that is right fall to it. */
MUST_CHECK enum status store_cuts_lower(struct store *s, int64_t now_ms,
                                        struct error *e);

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
