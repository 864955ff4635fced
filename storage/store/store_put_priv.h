/* How a batch is put, and put again: store_put.c, store_window.c. */
#pragma once

#include "storage/store/store_priv.h"

/* Points whose record is on its way to their bucket's owner. */
struct forwarded {
    unsigned bucket;
    uint64_t link, ticket;
    size_t from, len; /* of the points: those of the bucket among them */
};

/* The status of a point whose bucket had no owner, or moved, until it is put
 * again.  No failure of a put has it: an owner that gives no answer in time is
 * ST_BUSY (store_put_failed()). */
#define AGAIN ST_TIMEOUT

/* Returns the status that a client is told if the owner of a salt bucket failed
 * with 'status'. */
static inline enum status
store_put_failed(enum status status)
{
    return status == ST_TIMEOUT ? ST_BUSY : status;
}

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
    /* Of buckets that are not local. */
    struct store_retry retry;
    struct forwarded *forwarded;
    size_t forwarded_len, forwarded_cap;
    bool again; /* only points that are put again */
    size_t again_len;
    unsigned again_bucket; /* one of theirs */
    /* In this pass points of the bucket are to be put again: those behind them
     * wait, too, or an older value would be put last. */
    bool waits[256];
    /* Points of each bucket on their way: those behind them are not put here,
     * should it have become this process's.  NULL: there are none. */
    const uint32_t *sent;
};

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

/* The points of a bucket that has one of these come behind it. */
void store_put_note_again(struct put *p, unsigned bucket);

/* Chunk by chunk; where it stops for want of room, the points from 'at' on have
 * not been put. */
void store_put_chunks(struct put *p, size_t len);

/* Waits for the owners of what was forwarded, and puts again what has no owner
 * yet, until the retry's time is over: ST_BUSY then. */
void store_put_rest(struct put *p, size_t len);
