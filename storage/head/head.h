/* The head: the series that are written to, and their open rows, in memory, by
 * salt bucket.  Each bucket has its own lock; a batch takes it once.
 *
 *     row:   open --flush begins--> immutable (being flushed) --unlink--> freed
 *            open --head_encode()--> immutable --> a block of an encoded row
 *
 * An immutable row is still read, and never appended to: points that come for
 * the same hour open a new row behind it.
 *
 * Hours that are over take too much memory as open rows.  An encoded row has
 * those of one series and span, as the engine will have them: it is the value
 * of a row (row_value.h).  Late points for an hour of it open a row over it.
 *
 * What must be logged in the order in which the head changes is logged by a
 * callback, under the bucket's lock; each row has the number of a segment of
 * the log, which is not behind that of its first record.
 *
 * Owns:    series, rows.
 * Threads: any; passes of flushing and deletions one at a time.
 * Bounds:  rows by what the store flushes; series by head_evict(), and their
 *          memory by head_shrink(). */
#pragma once

#include "base/cancel.h"
#include "base/slice.h"
#include "storage/block/block.h"
#include "storage/head/open_row.h"
#include "storage/head/series_point.h"
#include "storage/row/key.h"

struct head;     /* opaque */
struct head_row; /* opaque */

/* An open row, or a block of an encoded one, as it is lent: by head_each_row()
 * under the bucket's lock; by a pass until it is done with it, for an immutable
 * row does not change. */
struct head_row_view {
    struct head_row *row;
    struct slice tsuid;
    struct slice bytes; /* the points, packed (open_row.h); or the block */
    bool is_block;
    uint32_t base;               /* s, of the hour */
    uint32_t count;              /* points, repeated times included */
    const struct open_row *open; /* NULL: it came from another process */
};

struct head *head_new(const struct key_layout *layout);
void head_free(struct head **h);

/* -- series ---------------------------------------------------------------- */

/* Finds or makes a series; one that is made with 'is_new' surely has no row in
 * the engine. */
series_ref head_series(struct head *h, struct slice tsuid, bool is_new,
                       uint32_t now_s);

/* Is the series in memory?  '*evictions' counts the times that series were
 * forgotten: as long as it does not change, all that came since are here. */
bool head_has_series(struct head *h, struct slice tsuid, uint64_t *evictions);

/* Whose handle it is; false: the series was forgotten. */
bool head_tsuid_of(struct head *h, series_ref ref, struct tsuid *out);

/* Has the series a row, open, encoded or being flushed, of an hour with
 * from_s <= base < to_s? */
bool head_has_rows(struct head *h, struct slice tsuid, uint32_t from_s,
                   uint32_t to_s);

/* Forgets idle series without rows until at most 'keep' are left in each
 * bucket.  The bucket's lock is dropped now and then. */
void head_evict(struct head *h, size_t keep, uint32_t idle_before_s);

/* From now on the head notes which series get points, are returned by
 * head_series(), or have points that are forwarded.  Series that have rows when
 * it is called count as touched. */
void head_watch(struct head *h);

/* Forgets those of 'tsuids' that have no rows, were not touched since
 * head_watch(), and were last touched before 'idle_before_s'; sets kept[i] for
 * the others that are in memory. */
void head_forget(struct head *h, const struct slice *tsuids, size_t len,
                 uint32_t idle_before_s, bool *kept);

/* Gives the memory of forgotten series back in buckets where a fifth of the
 * series or more was forgotten.  With 'renumber' it also shortens lists that
 * are mostly empty, which makes all handles of the bucket invalid: a put with
 * one of them answers ST_NOT_FOUND, as if the series had been forgotten.
 * Returns whether handles became invalid.  Not while a pass of flushing is
 * running. */
bool head_shrink(struct head *h, bool renumber);

/* -- points ---------------------------------------------------------------- */

#define HEAD_PUT_MAX 4096

/* The id under which the log knows a series: the log's to read and set; 0, 0
 * when the series is made. */
struct head_log_id {
    uint32_t id, epoch;
};

/* The TSUID of the series that has this id. */
struct slice head_log_tsuid(const struct head_log_id *id);

/* Logs or forwards a record of points under the bucket's lock: ids[i] is the id
 * of the series of points[order[i]], or NULL if that point was not taken. */
struct head_put;
typedef enum status head_log_fn(void *ctx, const struct head_put *p,
                                struct head_log_id *const *ids,
                                struct error *e);

/* Points of one salt bucket: points[order[0..len)]. */
struct head_put {
    unsigned bucket;
    struct series_point *points; /* 'status' is set */
    const uint16_t *order;
    size_t len;       /* at most HEAD_PUT_MAX */
    uint64_t segment; /* the log's before the call: not behind the record's; or
                         0, if the rows do not need this process's log */
    uint32_t now_s;
    /* Called after the points were put into rows.  NULL: nothing is logged.  If
     * it fails, all points of the put have failed with that status, but the
     * head holds those that it took. */
    head_log_fn *log;
    bool is_replay; /* also if another process owns the bucket's rows */
    /* head_epoch() before the points were checked; if it is another one now,
     * ST_CONFLICT, and nothing is put: check them again.  0: any will do. */
    uint64_t epoch;
    void *ctx;
};

/* A number that each head_begin_epoch() changes; never 0. */
uint64_t head_epoch(const struct head *h);
/* When this returns, all puts of the epoch before are in rows, and no other
 * comes. */
void head_begin_epoch(struct head *h);

/* ST_OK when all were taken; otherwise the first failure, or the log's:
 * ST_NOT_FOUND, the series is not in memory; ST_INVALID, a time that no row
 * has; ST_BUSY, no memory; ST_MOVED, another process owns the bucket's rows,
 * and nothing was put.  '*taken' counts those that were, and were logged. */
MUST_CHECK enum status head_put(struct head *h, const struct head_put *p,
                                size_t *taken, struct error *e);

/* -- buckets of other processes (head_elsewhere.c) --------------------------
 */

/* From now on another process owns the rows of a bucket, or this one does
 * again. A new head owns all of them. */
void head_set_elsewhere(struct head *h, unsigned bucket, bool elsewhere);

/* Calls 'forward' with the ids of the points under the bucket's lock, so that
 * records leave in the order in which their ids were given; no point is put
 * into a row.  If 'forward' fails, all points have failed with that status.
 * ST_CONFLICT: this process owns the rows, and 'forward' was not called. */
MUST_CHECK enum status head_forward(struct head *h, const struct head_put *p,
                                    head_log_fn *forward, struct error *e);

/* The times of points of an hour that were deleted, packed as an open row of
 * zeros: they take no more memory than the points took. */
struct deleted_hours {
    struct open_row *hours; /* several may be of one hour */
    size_t len, cap;
};
void deleted_hours_fini(struct deleted_hours *d);

/* A deletion of points of one series, and its result. */
struct head_deletion {
    struct slice tsuid;
    int64_t from_ms, to_ms;        /* both included */
    struct deleted_hours *deleted; /* appended to, in no order */
    /* Called first, under the bucket's lock; when it fails, nothing is deleted.
     * NULL: nothing to log. */
    enum status (*log)(void *ctx, struct error *e);
    void *ctx;
};

/* Not while a pass goes on.  ST_BUSY: no memory, and part of it is deleted. */
MUST_CHECK enum status
head_delete(struct head *h, const struct head_deletion *d, struct error *e);

/* -- reading --------------------------------------------------------------- */

/* Takes an open row, under the bucket's lock; false: no more. */
typedef bool head_row_fn(void *ctx, const struct head_row_view *v);

/* Some hours of a bucket's series: those of 'series', or with NULL those of a
 * metric. */
struct head_visit {
    unsigned bucket;
    struct slice metric;
    const struct slice *series;
    size_t series_len;
    uint32_t from_base, to_base; /* both included */
    head_row_fn *f;
    void *ctx;
};

/* Calls 'f' for their open rows and blocks.  The series of a metric ascend by
 * TSUID.  The open rows of a series come in the order of their making; a block
 * is older than those of its hour. */
void head_each_row(struct head *h, const struct head_visit *visit);

/* Widens '*times' to the points of the series that 'takes' takes.  The bucket's
 * lock is dropped now and then: points that come meanwhile may be missed.
 * False when it was cancelled. */
struct head_times_visit {
    bool (*takes)(void *ctx, struct slice tsuid);
    void *ctx;
    struct cancel cancel;
};
bool head_times(struct head *h, const struct head_times_visit *visit,
                struct point_times *times);

/* What the block of an open row would say of it (open_row.h), remembered.  Only
 * from within head_each_row(); the view's 'bytes' are not there then. */
bool head_row_summary(struct head *h, struct head_row *r, struct summary *out);

/* -- flushing -------------------------------------------------------------- */

/* What decides when an open row is flushed by itself. */
struct flush_times {
    uint32_t idle_s, series_idle_s; /* no point came to it, or to its series */
    int newest; /* the span of the series' newest row: < 0, it is before it */
    bool has_passed; /* its span, by the clock */
};

/* A row that lies idle for 'delay_s' is due when its series has gone on to a
 * later span, or when its span has passed and no more of it seems to come; and
 * when it or its series lies idle for long. */
bool head_row_is_due(const struct flush_times *t, uint32_t delay_s,
                     uint32_t span_s);

/* Which rows a pass takes. */
struct flush_rule {
    bool all;
    bool newer_span_exists; /* rows whose series went on to another span */
    bool idle;              /* by the times below */
    uint64_t segment;       /* rows from before this one; 0: none */
    uint32_t now_s;
    uint32_t idle_s;
    uint32_t forget_s; /* all rows of a series that is idle for so long */
    int64_t wall_s;
};

/* A row that is being flushed.  All of a series and span come together, hour by
 * hour, as each way to the engine writes the whole span. */
struct head_flushing {
    struct head_row_view v;
    uint64_t metric;
    uint32_t span;     /* its first second */
    bool is_encoded;   /* 'v.bytes' are the value of a row; it comes first */
    bool is_unflushed; /* surely no row of its series is in the engine */
    bool is_written;   /* set by who flushes */
};

#define HEAD_PASS_ROWS 4096

/* A pass goes through the rows of a bucket as they were when it began, oldest
 * first. */
struct head_pass {
    struct head *h;
    const struct flush_rule *rule;
    unsigned bucket;
    size_t keep; /* it ends when the head holds no more bytes; 0: it does not */
    struct head_row *at;
    size_t left;
};

void head_pass_begin(struct head_pass *p, struct head *h, unsigned bucket,
                     const struct flush_rule *rule, size_t keep);
/* Makes the next rows immutable and lends them; returns how many, 0 at the end.
 * 'rows' has room for HEAD_PASS_ROWS + ROW_HOURS_MAX. */
size_t head_pass_next(struct head_pass *p, struct head_flushing *rows);
/* Ends the loan of what head_pass_next() lent, in any order: rows that are
 * written are dropped, the others take points again. */
void head_pass_done(struct head_pass *p, const struct head_flushing *rows,
                    size_t len);

/* Which open rows are encoded: their hour is over for so long, by the clock,
 * and nothing came to them for so long. */
struct encode_rule {
    uint32_t now_s, delay_s;
    int64_t wall_s;
};

/* Encodes them, but for rows over an hour that is encoded already; returns how
 * many.  The bucket's lock is taken for short steps and not held meanwhile.
 * Not while a pass or a deletion goes on. */
size_t head_encode(struct head *h, unsigned bucket,
                   const struct encode_rule *rule);

bool head_bucket_is_empty(struct head *h, unsigned bucket);

/* Drops all rows of a bucket, unflushed.  Not while a pass goes on. */
void head_drop_rows(struct head *h, unsigned bucket);

/* A segment, at most 'newest', before which no row has a record.  It may be
 * less than one that was returned before. */
uint64_t head_oldest_segment(struct head *h, uint64_t newest);

/* Calls 'f' while no point is on its way into the head, if there is no row in
 * it; ST_IO if there is one. */
MUST_CHECK enum status
head_while_empty(struct head *h, enum status (*f)(void *ctx, struct error *e),
                 void *ctx, struct error *e);

/* -- counts ---------------------------------------------------------------- */

struct head_counts {
    size_t series, rows, points;
    uint64_t forgotten; /* series, ever */
    size_t encoded;     /* hours that were, ever */
    size_t bytes;       /* of rows */
};
struct head_counts head_counts(const struct head *h);
size_t head_bytes(const struct head *h);
