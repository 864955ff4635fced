/* How a batch of points is put: store_put.c, and for salt buckets of other
 * processes store_forward.c. */
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

/* As store_put(), but for the counting. */
void store_put_to_owners(struct put *p, size_t len);

/* Forwards the points of 'put', or notes that they are to be put again.  False:
 * their bucket is this process's. */
bool store_put_elsewhere(struct put *p, const struct head_put *put);

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
/* Rejects late points of hours that are counted already.  Moves those of the
 * points order[0..len) that can be put to the front of 'order', and returns how
 * many they are.  They can be put as long as the caller holds the late lock. */
size_t store_put_check_late(struct put *p, uint16_t *order, size_t len)
    REQUIRES(p->log.s->late_lock);
