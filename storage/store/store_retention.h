/* Drops expired rows: those rows of a metric whose whole span is before a time.
 * Only rows of raw points are dropped; rows of rollups stay. If hourly values
 * are kept for longer, a row is dropped only when the entry of its series and
 * week (store_weeks_priv.h) contains them; entries are dropped when they
 * expire.
 *
 *     store_cuts_set()       writes the cuts, durably
 *     store_drop_rows()      drops the rows, some hundred at a time
 *
 * No row is dropped that is not before the metric's cut. Queries report the cut
 * if they need older points (store_cut_ms()).
 *
 * If hourly values are kept for longer, no acknowledged point is lost when its
 * row is dropped:
 *
 *  - A row is dropped only if the entry of its series and week was made from
 * all rows: the entry is not stale, the head has no row of that series and
 * week, and for a while neither was a late row of that week flushed nor the
 * store opened (store_weeks_held()).
 *  - A late point of a week whose rows were dropped is accepted if the entry
 * has no points for its hour. Its row stays until store_drop_rows() merges the
 *    hour into the entry and deletes the row, in one batch.
 *  - store_put() rejects late points of all other hours of such a week, because
 *    a repeated point could be counted twice. The late lock makes sure that no
 *    such point is put while the row of its hour is dropped or merged.
 *  - Recovery rejects nothing.  A replayed point whose hour the entry counts is
 *    included in it. It was put before the hour was counted, because puts into
 *    counted hours are rejected. And the hour was counted with all points that
 *    had been put until then: rows are dropped or merged only when the head has
 *    no row of that week, and whatever left the head is in the engine's row or
 *    has made the entry stale. So the row of a replayed point is dropped.
 *
 * Threads: any; one call at a time for a metric.
 * Fails:   ST_IO; ST_BUSY when it is cancelled. */
#pragma once

#include "storage/store/store.h"

/* Returns the time (ms) before which the metric's raw points are dropped or
 * about to be dropped, or 0 if none are. It is lowered only if it was in the
 * future. */
int64_t store_cut_ms(struct store *s, uint64_t metric);
/* Returns the time (ms) before which the metric's hourly values are dropped. */
int64_t store_hourly_cut_ms(struct store *s, uint64_t metric);
/* Returns the time (ms) before which hourly values may be all that is left,
 * except before store_hourly_cut_ms(), where they are gone, too. */
int64_t store_alone_ms(struct store *s, uint64_t metric);

/* Lowers all cuts that are later than 'now_ms', the time of a clock that is
 * believed. */
MUST_CHECK enum status store_cuts_lower(struct store *s, int64_t now_ms,
                                        struct error *e);

/* Points before 'raw_ms' and hourly values before 'hourly_ms' expire. Rows are
 * dropped by whole spans, or by whole weeks if hourly_ms < raw_ms. */
struct store_cut {
    uint64_t metric;
    int64_t raw_ms, hourly_ms;
};

/* Writes those cuts that rise, in one batch, which is durable on return. If
 * hourly values are kept for longer, 'raw_ms' is lowered to the time up to
 * which all salt buckets have summed up their weeks. */
MUST_CHECK enum status store_cuts_set(struct store *s,
                                      const struct store_cut *cuts, size_t len,
                                      struct error *e);

struct store_dropped {
    uint64_t rows, points, bytes; /* bytes: of keys and values */
    uint64_t weeks;
};

struct store_drop {
    struct store_cut before;
    bool dry_run; /* counts rows, whatever the cut is, and drops none */
    /* With 'dry_run': counts all that later passes will drop, also rows of salt
     * buckets of other owners, and of weeks that are not summed up yet. */
    bool foresees;
    uint64_t max_rows;    /* ends after so many rows and weeks; 0: all */
    struct cancel cancel; /* asked between batches */
    struct store_dropped dropped; /* output, added to; valid after a failure */
};

MUST_CHECK enum status store_drop_rows(struct store *s, struct store_drop *d,
                                       struct error *e);
