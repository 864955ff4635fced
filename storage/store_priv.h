/*
 * The insides of a store, for store*.c alone.
 *
 * Two locks beside the head's buckets:
 *   seal_lock   one sealing, deletion or trim at a time
 *   write_lock  journal order = engine order for batches of other tables
 * Order: seal_lock, write_lock, bucket, journal.
 */
#ifndef STORAGE_STORE_PRIV_H
#define STORAGE_STORE_PRIV_H

#include "base/cursor.h"
#include "storage/head.h"
#include "storage/row_value.h"
#include "storage/store.h"

struct store {
    uint32_t magic;
    struct store_options options; /* with the defaults filled in */
    struct key_shape shape;
    char *dir; /* NULL: in memory */
    int lock_fd;
    struct kv *kv;
    struct journal *journal; /* NULL: in memory */
    struct head head;
    struct lock seal_lock;
    uint64_t trimmed GUARDED_BY(seal_lock);    /* segments before it are gone */
    uint64_t rotated_at GUARDED_BY(seal_lock); /* rows_sealed when it was */
    struct lock write_lock;
    uint64_t batches GUARDED_BY(write_lock); /* the newest one's number */

    pthread_t sealer;
    bool sealer_started;
    struct lock wake_lock;
    struct cond wake; /* the sealer has something to do */
    struct cond room; /* the sealer has made room in the head */
    bool stopping GUARDED_BY(wake_lock);
    bool hurry GUARDED_BY(wake_lock);
    enum status seal_status GUARDED_BY(wake_lock); /* of the last sealing */
    struct error seal_error GUARDED_BY(wake_lock);
    _Atomic bool refusing; /* writes, because of 'refusal' */
    struct error refusal GUARDED_BY(wake_lock);

    _Atomic uint64_t points_added;
    _Atomic bool series_evicted; /* ever */
    _Atomic uint64_t rows_sealed;
    _Atomic uint64_t rows_merged;
    _Atomic uint64_t rows_rewritten;
    _Atomic uint64_t rows_quarantined;
};

#define STORE_MAGIC FOURCC('S', 'T', 'O', 'R')

/* Types of journal records (docs/FORMAT.md, "Journal records"). */
enum record_type {
    RECORD_PLAIN_POINTS = 1, /* points, as they were up to format 4 */
    RECORD_PLAIN_BATCH = 2,  /* a batch, as it was up to format 6 */
    RECORD_DELETE = 3,       /* a series and a range of time */
    RECORD_NIBBLES = 4,      /* points, as they were up to format 6 */
    RECORD_FORGET = 5, /* records are lost here: none builds on earlier ones */
    RECORD_POINTS = 6, /* points of the bucket that the first byte names */
    RECORD_BATCH = 7,  /* a batch of the engine */
    RECORD_POINTS_OF = 16, /* points of bucket 0; the next ones: of 1, ... */
};

#define RECORD_BUCKETS 224 /* that have a type of their own */

static inline bool
record_is_points(uint8_t type)
{
    return type == RECORD_PLAIN_POINTS || type == RECORD_NIBBLES ||
           type == RECORD_POINTS ||
           (type >= RECORD_POINTS_OF &&
            type < RECORD_POINTS_OF + RECORD_BUCKETS);
}

/* Monotonic seconds, for idleness. */
uint32_t store_now_s(void);

/* -- store_points.c -------------------------------------------------------- */

/* A record of a bucket's points: started, one entry for each point, ended; and
 * appended, or record_points_lost() is called, or record_points_none() if it
 * has no entry. */
void record_points_start(struct head_journal *j, unsigned bucket,
                         uint64_t segment);
void record_points_add(struct head_bucket *b, struct head_series *s,
                       uint64_t segment, const struct point *p)
    REQUIRES(b->lock);
struct slice record_points_end(struct head_journal *j);

static inline uint8_t
record_points_type(unsigned bucket)
{
    return bucket < RECORD_BUCKETS ? (uint8_t)(RECORD_POINTS_OF + bucket)
                                   : RECORD_POINTS;
}

/* The bucket that a record of points says; moves the cursor behind it. */
static inline unsigned
record_points_bucket(uint8_t type, struct cursor *c)
{
    return type >= RECORD_POINTS_OF ? type - RECORD_POINTS_OF : cursor_u8(c);
}

/* It defined series, and may have changed what is expected behind one that has
 * no point in it: all are defined anew. */
void record_points_lost(struct head_bucket *b) REQUIRES(b->lock);

static inline void
record_points_none(struct head_journal *j)
{
    j->segment = 0;
}

/* -- replay_points.c ------------------------------------------------------- */

struct replay {
    struct store *s;
    struct replay_bucket *buckets; /* what is known of each, so far */
    uint64_t points, passed_over;
};

void replay_init(struct replay *r, struct store *s);
void replay_fini(struct replay *r);
/* Points that build on what was before are passed over from here on. */
void replay_forget(struct replay *r);
MUST_CHECK enum status record_points_replay(struct replay *r, uint64_t segment,
                                            uint8_t type, struct slice payload,
                                            struct error *e);

/* -- store_record.c -------------------------------------------------------- */

void record_batch(struct buf *b, const struct kv_batch *batch);
/* Numbers a batch, whose record was begun so: an operation more in both. */
void record_batch_number(struct buf *b, struct kv_batch *batch,
                         uint64_t number);
void record_delete(struct buf *b, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms);

/* ST_CORRUPT when a record of the journal makes no sense; changes nothing. */
MUST_CHECK enum status record_check(const struct key_shape *shape, uint8_t type,
                                    struct slice payload, struct error *e);

/* Applies the journal to head and engine. */
MUST_CHECK enum status store_replay(struct store *s, struct error *e);

/* -- store_seal.c ---------------------------------------------------------- */

/* What decides when an open row is sealed by itself. */
struct seal_times {
    uint32_t idle_s, series_idle_s; /* no point came to it, or to its series */
    int newest; /* the span of the series' newest row: < 0, it is before it */
    bool has_passed; /* its span, by the clock */
};

/* A row that lies idle for 'delay_s' is due when its series has gone on to a
 * later span, or when its span has passed and no more of it seems to come; and
 * when it or its series lies idle for long. */
bool store_row_is_due(const struct seal_times *t, uint32_t delay_s,
                      uint32_t span_s);

MUST_CHECK enum status store_sealer_start(struct store *s, struct error *e);
void store_sealer_stop(struct store *s);

/* Seals rows, oldest first, until the head holds at most 'keep_bytes'. */
MUST_CHECK enum status store_seal_until(struct store *s, size_t keep_bytes,
                                        struct error *e) EXCLUDES(s->seal_lock);

/* Looks whether the disk has room and the journal works, and makes it work
 * again when it can.  Called by the sealer, once a second. */
void store_watch_disk(struct store *s);

/* False when so little room is left that the engine should not write. */
bool store_has_room_to_seal(const struct store *s);

/* Seals all that is open, and does not touch the journal. */
MUST_CHECK enum status store_seal_all(struct store *s, struct error *e)
    REQUIRES(s->seal_lock);

/* Waits until the head has room; ST_BUSY if it does not get it soon. */
MUST_CHECK enum status store_wait_for_room(struct store *s, struct error *e);

/* Deletes journal segments that nothing open needs any more. */
MUST_CHECK enum status store_trim(struct store *s, struct error *e)
    REQUIRES(s->seal_lock);

/* -- store_delete.c -------------------------------------------------------- */

/* Removes from head and engine, journaling 'record' unless it is NULL. */
MUST_CHECK enum status
store_apply_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, const struct buf *record, uint64_t *deleted,
                   uint64_t *lsn, struct error *e) REQUIRES(s->seal_lock);

#endif
