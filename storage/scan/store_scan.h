/* A scan reads the rows of a salt bucket that masks let through: of the engine,
 * and copies of what is open in the head of the bucket's owner.
 *
 * Owns:    what it lends, until its next step.
 * Threads: the one that opened it.
 * Fails:   ST_IO, ST_CORRUPT; ST_LIMIT for copies that take more than they may;
 *          ST_BUSY while a bucket has no owner, and when it is cancelled. */
#pragma once

#include "base/arena.h"
#include "base/cancel.h"
#include "storage/row/mask.h"
#include "storage/scan/store_row.h"
#include "storage/store/store.h"

/* How a scan moves; the planner chooses. */
enum access_path {
    SCAN_HINTS, /* step; where a key does not match, seek to the hint */
    SCAN_RANGE, /* step over everything from the first hint to the last match */
    SCAN_SEEKS, /* one seek per (span, series), for 'series' given */
};

struct scan_spec {
    const struct mask_set *masks; /* over whole row keys, table byte included */
    unsigned bucket;              /* the salt bucket; masks take any */
    enum access_path path;
    uint32_t from_base, to_base; /* hours, both included; masks have spans */
    /* SCAN_SEEKS: TSUIDs of this bucket, ascending; also used to find open
     * rows.  NULL with len 0 for the other paths. */
    const struct slice *series;
    size_t series_len;
    struct slice metric; /* id: all rows are of one */
    /* What is left out of open rows, and whether weeks replace rows.  Rollups
     * have no weeks. */
    struct row_want want;
    /* The table of weeks is damaged: weeks are lent only where rows may be
     * dropped, those that can be read. */
    bool rows_first;
    /* Where copies of open rows, and their TSUIDs, lie when the scan is closed
     * already, too; it may be that of several.  NULL: they go with the scan. */
    struct arena *arena;
    /* What the copies of open rows may take, of all scans that are opened
     * together; 0: no limit.  NULL: no budget.  An arena has its own. */
    size_t max_bytes;
    struct budget *budget;
    /* Until then (monotonic; 0: as long as it tries) an engine that gives no
     * answer in time is asked again; of scans that are opened together, the
     * first one's. */
    int64_t end_us;
    /* Asked now and then, also while keys are walked that no mask takes: true
     * ends the scan with ST_BUSY. */
    struct cancel cancel;
};

struct scan_counts {
    uint64_t rows;      /* lent */
    uint64_t head_rows; /* of these, at least partly in the head */
    uint64_t weeks;     /* of these, weeks in the place of rows */
    uint64_t keys;      /* keys of the engine looked at */
    uint64_t seeks;
    uint64_t bytes;
    /* Rows were to be read of a time of which hourly values alone are kept. */
    bool lacks_rows;
    /* The table of weeks is damaged: what was lent may lack some.  The scan
     * fails, unless it was to read rows first. */
    bool weeks_are_damaged;
    /* Hourly values are damaged of a time of which they alone are kept. */
    bool lacks_weeks;
};

struct store_scan; /* opaque */

/* Sees every point that was visible when it was opened: open rows are copied,
 * and ST_LIMIT when they take more than they may.  Rows come ordered by
 * key: span by span, within a span by TSUID, of a series hour by hour, or all
 * hours at once.
 *
 * Several, of different buckets, share what reads the engine: each is read
 * and closed before the next one is.  After a failure all of
 * 'out' is NULL. */
MUST_CHECK enum status store_scans_open(struct store *s,
                                        const struct scan_spec *specs,
                                        size_t len, struct store_scan **out,
                                        struct error *e);
bool store_scan_next(struct store_scan *scan, struct store_row *row);
/* The week that was lent last does not do, and is not the only source: what it
 * is made of comes as rows, before any later week of the series. */
void store_scan_reject(struct store_scan *scan);
/* Tells the scan that the reader left out hours of the week that was lent last:
 * it would need their points, but the week is the only source. */
void store_scan_lacks_rows(struct store_scan *scan);
/* Why it stopped: the end (ST_OK), or a failure.  'st': of the loop, which may
 * have failed itself. */
MUST_CHECK enum status store_scan_close(struct store_scan **scan,
                                        struct scan_counts *counts,
                                        enum status st, struct error *e);

/* -- the owner of a bucket ------------------------------------------------- */

/* Appends the open rows that a scan would copy to 'out', for
 * store_remote.head().  ST_MOVED: the bucket is not this process's. */
MUST_CHECK enum status store_head_copy(struct store *s,
                                       const struct scan_spec *spec,
                                       struct buf *out, struct error *e);

/* -- the newest point of a series (store_last.c) ----------------------------
 */

/* The newest point of a series at or before 'until_ms': ST_NOT_FOUND if none.
 */
MUST_CHECK enum status store_last(struct store *s, struct slice tsuid,
                                  int64_t until_ms, struct point *out,
                                  struct error *e);

/* The same, but never forwarded: '*found' says whether there is one.
 * ST_MOVED: the bucket is not this process's. */
MUST_CHECK enum status store_owner_last(struct store *s, struct slice tsuid,
                                        int64_t until_ms, struct point *out,
                                        bool *found, struct error *e);

/* -- the oldest and the newest point of all (store_times.c) -----------------
 *
 * Cost:    the head's series; in the engine a seek for each salt bucket and
 *          metric, the rows of the oldest and of the newest span, and a seek
 *          for each span that only series which are left out have outside of
 *          these two.
 * Fails:   ST_IO; ST_BUSY when it is cancelled.  A damaged row counts for
 *          nothing. */

struct store_times_spec {
    uint64_t least_tagk; /* series whose first tagk is less are left out */
    struct cancel cancel;
};

/* '*out' is none when there is no point.  Points that are put, and deleted,
 * meanwhile may be missed, and found. */
MUST_CHECK enum status store_times(struct store *s,
                                   const struct store_times_spec *spec,
                                   struct point_times *out, struct error *e);
