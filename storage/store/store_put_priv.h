/* How a batch of points is put: store_put.c, and for salt buckets of other
 * processes store_forward.c and store_window.c. */
#pragma once

#include "storage/store/store_priv.h"

struct put {
    struct store_log log;
    struct series_point *points;
    size_t at, len; /* the chunk at hand */
    uint32_t now_s;
    size_t taken;
    int64_t old_before_ms; /* points of before are looked at closely */
    enum status room;      /* here */
    enum status status;    /* the first failure; ST_NOT_FOUND if no other */
    struct error *e;
    struct put_others *others; /* NULL: all buckets are this process's */
};

/* Puts the points chunk by chunk; those of other owners are on their way then.
 */
void store_put_chunks(struct put *p, size_t len);

/* Points of a forgotten series are put again: other failures matter more. */
static inline bool
store_put_is_first_failure(const struct put *p)
{
    return p->status == ST_OK || p->status == ST_NOT_FOUND;
}

/* -- buckets of other owners (store_forward.c) ------------------------------
 */

/* Points whose record is on its way to their bucket's owner. */
struct forwarded {
    unsigned bucket;
    uint64_t link, ticket;
    size_t from, len; /* of the points: those of the bucket among them */
};

/* What a put sends to other owners.  The status of a point whose bucket has
 * moved, or has no owner, is ST_MOVED until it is put again. */
struct put_others {
    struct store_retry retry;
    struct forwarded *forwarded;
    size_t forwarded_len, forwarded_cap;
    bool is_again;         /* the points at hand were put before */
    bool has_again;        /* some are to be put again .. */
    unsigned again_bucket; /* .. of this bucket and others */
    bool waits[256];       /* by bucket: some of its points are */
    /* By bucket: points on their way.  Those that follow them are not put here
     * if the bucket has become this process's.  NULL: there are none. */
    const uint32_t *sent;
};

/* As store_put(), but for the counting. */
void store_put_to_owners(struct put *p, size_t len);

/* Forwards the points of 'put', or notes that they are to be put again.  False:
 * their bucket is this process's. */
bool store_put_elsewhere(struct put *p, const struct head_put *put);

/* Notes that points of the bucket are to be put again. */
void store_put_note_again(struct put_others *o, unsigned bucket);

/* Waits for the owners of what was forwarded, and puts points again that have
 * no owner, until the retry's time is over: their status is ST_BUSY then. */
void store_put_rest(struct put *p, size_t len);

/* From now on each series is defined again in the bucket's records: a segment
 * or link begins, a record that defined some was lost, or they were defined
 * long ago.  An id is never used twice in a segment or on a link. */
void store_forget_ids(struct wal_bucket *w);

/* The next record has ids of 'ids', which count in the segment or link 'of'. */
void store_begin_ids(struct wal_bucket *w, struct id_range *ids, uint64_t of);

/* Writes the record of a put's points.  The bucket owns it. */
struct slice store_write_record(struct wal_bucket *w, struct id_range *range,
                                const struct head_put *p,
                                struct head_log_id *const *ids);

/* -- old points (store_old_points.c) --------------------------------------- */

struct late_order {
    size_t len;
    uint16_t order[HEAD_PUT_MAX];
};

/* Before this time points may be expired or late; 0: none are. 'points' may be
 * evidence for the clock. */
int64_t store_old_before_ms(struct store *s, const struct series_point *points,
                            size_t len);
bool store_put_has_old(const struct put *p, const uint16_t *order, size_t len);
/* Rejects those of the chunk's points order[0..len) that are expired. Those
 * that can be put are in 'young', whose length it returns; those whose weeks
 * must be looked at first are in 'late'. */
size_t store_put_split_old(struct put *p, const uint16_t *order, size_t len,
                           uint16_t *young, struct late_order *late);
/* Rejects late points of hours that are counted already, and returns how many
 * are left in 'late'. */
size_t store_put_check_late(struct put *p, struct late_order *late)
    REQUIRES(p->log.s->late_lock);

/* The same two steps for points that another process has checked: may some be
 * late?  If so, those of counted hours are taken out of 'order'. */
bool store_may_be_late(struct store *s, const struct series_point *points,
                       size_t len);
size_t store_check_late(struct store *s, struct series_point *points,
                        uint16_t *order, size_t len) REQUIRES(s->late_lock);
