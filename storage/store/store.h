/* A store: rows of points under salted keys, and every other table beside
 * them.  It joins the engine (kv.h), the WAL, and the head, where the open
 * rows are kept until they are flushed into blocks.
 *
 *     store_put -> head + WAL -> store_commit -> acknowledged
 *                    `-> flushed later -> block -> engine; WAL trimmed
 *
 * Whatever is written here, points or other tables, goes through the WAL,
 * in order, and is replayed after a crash; nothing acknowledged is lost and
 * nothing appears twice.  Same series and time: the last write wins.
 *
 * Owns:    the folder: FORMAT, LOCK, engine/, journal/.
 * Threads: any.
 * Fails:   ST_IO, ST_CORRUPT; ST_BUSY when the head is full and flushing cannot
 *          keep up, and while the disk is full or fails: reading goes on, and
 *          so does writing when the disk is well again; ST_INVALID for times
 *          that a row cannot hold. */
#pragma once

#include "base/process/clock.h"
#include "base/error.h"
#include "storage/wal/wal.h"
#include "storage/row/key.h"
#include "storage/kv/kv.h"
#include "storage/head/series_point.h"
#include "storage/store/owners.h"

struct store_options {
    const char *dir;        /* NULL: in memory, no WAL; or else: */
    struct kv *kv;          /* open, taken over in any case, and */
    struct wal_medium *wal; /* where its WAL lies, taken over; NULL: none */
    /* NULL: all buckets are this process's.  Otherwise none is at first, and no
     * WAL is replayed. */
    const struct store_remote *remote;
    struct key_layout layout; /* for a new store; an old one keeps its own */
    enum wal_sync sync;
    unsigned sync_interval_ms; /* 0: 1000 */
    size_t head_bytes;         /* 0: 192 MB of open rows, then pushes back */
    size_t head_series;        /* in memory; 0: 4 million.  If there are more,
                                  those without open rows leave it */
    /* A series that got no point for so long is flushed and leaves memory.
     * 0: an hour. */
    unsigned series_idle_ms;
    size_t wal_bytes;          /* 0: 512 MB, then rows are flushed early */
    size_t wal_segment_bytes;  /* 0: 64 MB */
    unsigned flush_delay_ms;   /* 0: 60 s after its span has passed */
    unsigned encode_delay_ms;  /* 0: 10 minutes after its hour has passed */
    unsigned summary_delay_ms; /* 0: 70 s after the last late row */
    bool read_only;            /* store_write() and store_put() are rejected */
    bool no_summaries;         /* a command's: weeks are left to servers */
    uint64_t
        min_free_bytes;     /* 0: 64 MB; writes wait for so much room on disk */
    size_t row_value_bytes; /* 0: 24 MB; larger hours are parts of their row */
    size_t engine_write_buffer_bytes; /* 0: 32 MB */
    size_t engine_cache_bytes;        /* 0: 32 MB */
    const struct clock *clock;        /* NULL: the system's */
};

/* Opens, creating it in an empty or absent folder, and replays the WAL.
 * Rejects with a sentence: a folder in use, of a newer format, foreign, or
 * damaged. */
MUST_CHECK enum status store_open(const struct store_options *o,
                                  struct store **out, struct error *e);

/* Flushes all open rows, syncs, closes. '*s' becomes NULL in any case. */
MUST_CHECK enum status store_close(struct store **s, struct error *e);

const struct key_layout *store_layout(const struct store *s);

/* The engine, to read other tables from.  Write through store_write(). */
struct kv *store_kv(struct store *s);

/* Logs and applies a batch of any tables: visible when it returns, durable
 * as far as store_commit('*lsn') says.  'lsn' may be NULL.  'b' is as it
 * was afterwards.  Over a shared engine it is written there at once, whoever
 * owns what, and is durable when this returns. */
MUST_CHECK enum status store_write(struct store *s, struct kv_batch *b,
                                   uint64_t *lsn, struct error *e);

/* 'tsuid' must be valid.  Makes the series known to the head, not to the
 * directory (uid/series/series.h), which must know it first.  With 'is_new' the
 * directory did not: the series has no rows yet, and none are looked for. */
MUST_CHECK enum status store_series(struct store *s, struct slice tsuid,
                                    bool is_new, series_ref *out,
                                    struct error *e);

/* Is the series in memory?  '*evictions' counts the times that series left it:
 * every series that store_series() was asked for since it changed last still
 * is. */
bool store_has_series(struct store *s, struct slice tsuid, uint64_t *evictions);

/* Until this time (monotonic; 0: the watch ends) no idle series leave memory,
 * and the store notes which series get points or are asked for by
 * store_series().  Series that have open rows when the watch begins count as
 * noted.  The watch ends earlier when there are more than 'head_series' series.
 * Does not wait for the engine. */
void store_watch_series(struct store *s, int64_t until_us);
/* Takes those of 'tsuids' out of memory that have no open rows and were not
 * noted since the watch began: points that still come with their handles are
 * answered ST_NOT_FOUND.  Sets kept[i] for the others that are in memory; in a
 * pool also for those that were touched in the last minute, because a point may
 * be on its way to the owner of the salt bucket.  Does not wait for the engine.
 * Returns false if the watch has ended, so that 'kept' says too little. */
MUST_CHECK bool store_forget_series(struct store *s, const struct slice *tsuids,
                                    size_t len, bool *kept);

/* Takes a batch: at once visible to queries, durable once store_commit() of
 * '*lsn' returns ST_OK.  ST_OK when all were taken; otherwise the first
 * failure, and each point's 'status': ST_NOT_FOUND, ask for the series again;
 * ST_INVALID, the time is out of range; ST_BUSY, the WAL did not take it.
 * A point with ST_BUSY may be in the head: queries may see it, and it is stored
 * if the head is flushed before the process ends. */
MUST_CHECK enum status store_put(struct store *s, struct series_point *points,
                                 size_t len, uint64_t *lsn, struct error *e);

/* ST_OK, or ST_BUSY and why writes are rejected now: the disk is full or fails.
 * store_put() then fails with ST_IO, which says not to wait for it. */
MUST_CHECK enum status store_may_write(struct store *s, struct error *e);

/* Would a small put, and its commit, wait for nothing but a write to the
 * WAL's file?  A guess, for who has others to serve. */
bool store_is_quick(const struct store *s);

/* The hook by which the owner of the policies decides. 'expired_ms' is called
 * for a metric with points that are older than store_set_expired_ms(). It
 * returns the time (ms) before which points of the metric will be dropped, or 0
 * if none will. Older points are rejected at once (ST_EXPIRED). It may be
 * called by any thread, and may read the engine. */
struct store_policy {
    void *ctx;
    int64_t (*expired_ms)(void *ctx, uint64_t metric);
};
/* To be called before the first put. */
void store_set_policy(struct store *s, const struct store_policy *p);
/* Sets the time (ms) from which on no policy drops any points; 0: there is no
 * policy. */
void store_set_expired_ms(struct store *s, int64_t ms);

/* Starts or stops to note when points arrive whose times are near the clock and
 * not ahead of it. */
void store_watch_clock(struct store *s, bool on);
/* Returns the time (ms) between the first and the last of these points. */
int64_t store_watched_ms(struct store *s);

/* Waits until all up to 'lsn' is in the WAL's file; on the disk too with
 * WAL_SYNC_ALWAYS.  With 'sync' all that was written before the call is on the
 * disk, whatever 'lsn'.  This is what an acknowledgement means. */
MUST_CHECK enum status store_commit(struct store *s, uint64_t lsn, bool sync,
                                    struct error *e);

/* Deletes a series' points with from_ms <= time <= to_ms, exactly; '*deleted'
 * (may be NULL) is how many there were. */
MUST_CHECK enum status store_delete(struct store *s, struct slice tsuid,
                                    int64_t from_ms, int64_t to_ms,
                                    uint64_t *deleted, uint64_t *lsn,
                                    struct error *e);

/* Flushes all open rows now (at stop, in tests, for 'dropcaches'). */
MUST_CHECK enum status store_flush(struct store *s, struct error *e);

/* The same, and by the owners of other buckets, too. */
MUST_CHECK enum status store_flush_owners(struct store *s, struct error *e);

/* Makes a store of 'layout' in the folder 'dest', absent or empty, that holds
 * all that was acknowledged before the call, and nothing else than what was
 * written; 'c' says how.  Reading and writing go on.  After a failure 'dest'
 * may be there; it is not complete. */
MUST_CHECK enum status store_backup(struct store *s, const char *dest,
                                    const struct key_layout *layout,
                                    struct kv_copying *c, struct error *e);

/* Copies into an engine, where nothing is yet, all that was acknowledged before
 * the call: open rows are flushed first, those of other owners, too. */
MUST_CHECK enum status store_copy(struct store *s, struct kv *to,
                                  struct kv_copying *c, struct error *e);

/* Writes where the process that has the folder takes requests: a line in LOCK.
 */
void store_announce(struct store *s, const char *address);

struct store_counts {
    uint64_t points_added;
    uint64_t head_series, head_rows, head_points, head_bytes;
    uint64_t series_forgotten; /* idle series that left memory */
    /* How often this made all handles of some salt buckets invalid. */
    uint64_t series_renumbered;
    uint64_t hours_encoded; /* in the head */
    uint64_t rows_flushed;  /* of the head */
    /* Of these, whose hour was stored already; rows of the engine that were
     * read to be written again with more. */
    uint64_t rows_merged, rows_rewritten;
    uint64_t weeks_written; /* entries of weeks */
    /* Damaged ones that made way for new points: kept in quarantine; lost,
     * because the engine cannot read them. */
    uint64_t rows_quarantined, rows_unreadable;
    /* Rows that a pass of flushing could not write, for want of memory: they
     * stay open, and other rows are written. */
    uint64_t rows_set_aside;
    int64_t replay_us; /* that recovery took */
    struct wal_counts wal;
};
struct store_counts store_counts(struct store *s);

/* Reads the times of a salt bucket's weeks (store_weeks_priv.h) from the value
 * of key_weeks_state(). After these two times, it has the weeks with stale
 * entries, 4 bytes each. Sets both to 0 and returns ST_CORRUPT if it is not
 * such a value. */
#define WEEKS_STATE_SIZE 8
MUST_CHECK enum status store_weeks_state(struct slice value, uint32_t *done,
                                         uint32_t *until, struct error *e);

/* Counts damage of a table that is derived from others: the hourly values of
 * weeks from rows, tag-key sets and lists of series from the directory.  The
 * caller reads the same elsewhere and goes on.  Logs at most once a minute what
 * is damaged, why (NULL: that is not known), and what is read instead. */
void store_note_damage(struct store *s, const char *object, const char *instead,
                       const struct error *why);

/* Of syncs of the WAL; NULL: there is none. */
const struct latency *store_sync_latency(const struct store *s);

/* About how much the engine has of a table (storage/row/key.h), without what
 * lies in its log. */
uint64_t store_table_bytes(struct store *s, uint8_t table);
