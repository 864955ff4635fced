/* The insides of a store, for store*.c alone.
 *
 * Three locks beside the head's buckets:
 *   flush_lock   one flushing, deletion or trim at a time
 *   late_lock    the dropping of a batch of rows, or a put of late points: so
 *                none is put into an hour whose rows are being dropped
 *   write_lock  WAL order = engine order for batches of other tables
 * Order: flush_lock, late_lock, write_lock, bucket, WAL. */
#pragma once

#include <stdatomic.h>

#include "base/cursor.h"
#include "base/process/lock.h"
#include "base/process/thread.h"
#include "storage/place/format.h"
#include "storage/head/head.h"
#include "storage/block/row_value.h"
#include "storage/store/store.h"
#include "storage/store/store_state.h"
#include "storage/wal/wal_points.h"
#include "storage/wal/wal_record.h"

/* Where ids of series count: in a segment, or on a link. */
struct id_range {
    uint64_t of; /* its number */
    uint32_t next;
};

/* What the WAL's records of a salt bucket's points need; guarded by the
 * lock of the head's bucket. */
struct wal_bucket {
    struct wal_points_writer writer;
    struct id_range ids;         /* in segments of this process's WAL */
    struct id_range link_ids;    /* on links to other owners */
    const struct id_range *last; /* whose the ids of this epoch are */
    uint32_t epoch; /* a series has an id if its own is the same; never 0 */
    uint64_t defined_bytes, bytes; /* of TSUIDs and of records in this epoch */
    /* In stores of several owners: the bucket's epoch while it is local, and a
     * record with it.  Set while it is not. */
    uint64_t owned;
    struct buf owned_record;
};

/* The state by which puts reject old points, and the evidence for a clock. */
struct old_points {
    struct store_policy policy;
    _Atomic int64_t expired_ms; /* no policy drops what is younger; 0: none */
    _Atomic bool watches;       /* times near the clock are noted: */
    _Atomic int64_t near_from_us, near_until_us; /* monotonic; 0: none came */
};

struct store {
    uint32_t magic;
    struct store_options options; /* with the defaults filled in */
    struct key_layout layout;
    char *dir; /* NULL: in memory */
    struct format_lock lock;
    struct kv *kv;
    struct wal *wal; /* NULL: in memory */
    struct head *head;
    struct wal_bucket *wal_buckets;    /* by salt bucket; NULL: no records */
    const struct store_remote *remote; /* NULL: all buckets are local */
    _Atomic uint8_t *states; /* by salt bucket, changed with the flush lock */
    _Atomic int64_t damage_logged_us; /* monotonic; 0: never */
    _Atomic bool damage_passed_over;  /* by a pass, which has told it */
    struct lock flush_lock;
    uint64_t
        trimmed GUARDED_BY(flush_lock); /* segments before it are deleted */
    _Atomic int64_t watched_until_us;   /* store_watch_series() */
    uint64_t rotated_at GUARDED_BY(flush_lock); /* rows_flushed when it was */
    struct lock write_lock;
    uint64_t batches GUARDED_BY(write_lock); /* the newest one's number */
    struct lock late_lock;
    struct cuts cuts;
    struct old_points old_points; /* store_old_points.c */

    struct weeks *weeks; /* by salt bucket (store_weeks_priv.h) */

    struct thread flusher, summariser;
    struct lock wake_lock;
    struct cond wake; /* the flusher has something to do */
    struct cond room; /* the flusher has made room in the head */
    struct cond stop; /* 'stopping' is set */
    bool stopping GUARDED_BY(wake_lock);
    bool flush_requested GUARDED_BY(wake_lock);
    struct error flush_error GUARDED_BY(wake_lock); /* of the last flushing */
    _Atomic bool rejecting; /* writes, because of 'rejection' */
    struct error rejection GUARDED_BY(wake_lock);
    atomic_bool wal_failed; /* when the disk was looked at last */

    _Atomic uint64_t points_added;
    _Atomic uint64_t rows_flushed;
    _Atomic uint64_t rows_merged;
    _Atomic uint64_t rows_rewritten;
    _Atomic uint64_t rows_quarantined;
    _Atomic uint64_t rows_unreadable;
    _Atomic uint64_t rows_set_aside;
    /* Why the latest pass that set rows aside did so, and when it was logged.
     */
    struct error aside GUARDED_BY(flush_lock);
    int64_t aside_logged_us GUARDED_BY(flush_lock);
    _Atomic uint64_t weeks_written;
    _Atomic uint64_t series_renumbered;
    uint32_t forgot_s; /* monotonic; the flusher's */
    int64_t replay_us; /* set before the threads start */
    /* Replays of dead owners' WALs under way, which hold references to series:
     * meanwhile no series is evicted. */
    _Atomic unsigned replays;
};

#define FLUSH_PASSES 4 /* over all that is open, until nothing is */
#define STORE_MAGIC  FOURCC('S', 'T', 'O', 'R')

/* All buckets are remote. */
void store_owners_init(struct store *s);

/* Monotonic seconds, for idleness. */
uint32_t store_now_s(void);

/* Appends points to the WAL, as the 'log' of a head_put whose 'ctx' begins with
 * this.  Called by the head, under the bucket's lock: so a replay sees the
 * order that queries saw. */
struct store_log {
    struct store *s;
    uint64_t lsn; /* out */
};
MUST_CHECK enum status store_log_points(void *ctx, const struct head_put *p,
                                        struct head_log_id *const *ids,
                                        struct error *e);

void store_count_added(struct store *s, size_t points);

struct store_cut;
/* Returns the times to which 'c' is rounded: rows go by spans, or by weeks
 * where their hourly values stay. */
struct cut_times store_times_of_cut(const struct store *s,
                                    const struct store_cut *c);
/* Returns the cuts by which rows may be dropped now. */
struct cut_times store_cuts_droppable(struct store *s, uint64_t metric);
/* Reads the cuts of all metrics.  A damaged entry is logged and left to fsck.
 */
MUST_CHECK enum status store_cuts_read(struct store *s, struct error *e);
/* Applies the WAL to head and engine. */
MUST_CHECK enum status store_replay(struct store *s, struct error *e);

/* The same of these buckets for a dead owner's, which need not be local. */
MUST_CHECK enum status store_replay_dead(struct store *s,
                                         const struct bucket_claim *claims,
                                         size_t len, struct wal *dead,
                                         struct error *e);

/* ST_IO is the disk's fault, which may pass: ST_BUSY, the client is to try
 * again. */
MUST_CHECK enum status store_disk_failed(enum status status, struct error *e);

/* Flushes the rows that a rule takes, oldest first, from each bucket its share,
 * until the head holds at most 'keep_bytes'; 0: all of them. */
MUST_CHECK enum status store_flush_pass(struct store *s,
                                        const struct flush_rule *rule,
                                        size_t keep_bytes, struct error *e)
    REQUIRES(s->flush_lock);

/* Flushes all rows of a bucket: ST_IO if some stay. */
MUST_CHECK enum status store_flush_bucket(struct store *s, unsigned bucket,
                                          struct error *e)
    REQUIRES(s->flush_lock);

/* Writes a batch of rows or weeks, if it is not empty.  The process may have
 * stood still since it looked whose the bucket is. */
MUST_CHECK enum status
store_write_owned(struct store *s, const struct kv_batch *b, struct error *e);

/* Frees a store whose flusher has stopped, and flushes nothing. */
void store_destroy(struct store *s);

/* The flusher, and the summariser. */
MUST_CHECK enum status store_flusher_start(struct store *s, struct error *e);
void store_flusher_stop(struct store *s);

/* Flushes rows, oldest first, until the head holds at most 'keep_bytes'. */
MUST_CHECK enum status store_flush_until(struct store *s, size_t keep_bytes,
                                         struct error *e)
    EXCLUDES(s->flush_lock);

/* Looks whether the disk has room and the WAL works, and makes it work
 * again when it can.  Called by the flusher, once a second. */
void store_check_disk(struct store *s);
/* For good: the store is only read. */
void store_reject_writes(struct store *s);

/* UINT64_MAX when it is unknown, and for NULL. */
uint64_t store_free_bytes(const char *dir);
/* May the engine write what no client waits for?  A write of it that fails is
 * final, so the last bytes of a disk are left alone. */
bool store_has_room(const struct store *s);

/* Flushes all that is open, and does not touch the WAL. */
MUST_CHECK enum status store_flush_all(struct store *s, struct error *e)
    REQUIRES(s->flush_lock);

/* Waits until the head has room for a put of 'points' points, at most 5 s; then
 * it returns ST_BUSY.  An eighth of the head is left for small puts, so that
 * clients that fill the head wait for flushing, and the others do not. */
MUST_CHECK enum status store_wait_for_room(struct store *s, size_t points,
                                           struct error *e);

/* Deletes WAL segments that nothing open needs any more. */
MUST_CHECK enum status store_trim(struct store *s, struct error *e)
    REQUIRES(s->flush_lock);

/* Removes from head and engine, logging 'record' to the WAL unless it is NULL.
 */
MUST_CHECK enum status
store_apply_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, const struct buf *record, uint64_t *deleted,
                   uint64_t *lsn, struct error *e) REQUIRES(s->flush_lock);

/* For passes over rows (the summariser, retention), which come to the same
 * place again and again. Returns ST_OK instead of 'status' if that says that an
 * engine of this machine could not read a block: the pass goes on without it.
 * That is counted, and logged once after each start. */
enum status store_pass_over_damage(struct store *s, enum status status,
                                   const struct error *why);
