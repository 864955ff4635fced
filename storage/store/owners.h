/* Several processes keep one store, over a shared engine (kv_traits): each salt
 * bucket has one owner, which alone keeps its open rows, flushes and deletes.
 * A store forwards what concerns the buckets of others through the hooks of
 * 'struct store_remote', and answers what others forward by the functions
 * below.  Who owns which bucket is decided elsewhere (leases, the bucket map).
 *
 *     remote --store_buckets_take()--> remote, but its points are in the engine
 *            --store_bucket_serve()--> local --store_bucket_give()--> remote
 *
 * Owns:    nothing of the hooks, which must live longer than the store.
 * Threads: any, but for store_session: one at a time.  take, serve, give: one
 *          at a time for a bucket.
 * Fails:   what others forward: ST_MOVED, the bucket is not this process's:
 *          the sender's map is old, and it asks the owner. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

struct point;
struct scan_spec;
struct series_point;
struct store;
struct wal;

/* -- what a store asks of others -------------------------------------------
 */

/* 'link' is a connection to a bucket's owner; its number is never 0 and never
 * used twice.  link() and put() are called under a bucket's lock: they neither
 * wait nor call the store.  ST_MOVED: the bucket has moved, or the link has
 * ended; the store asks again, until 'wait_ms' have passed, and then fails with
 * ST_BUSY.  Other failures are the client's. */
struct store_remote {
    void *ctx;
    unsigned wait_ms;

    /* The link to the bucket's owner; 0: there is none now. */
    uint64_t (*link)(void *ctx, unsigned bucket);
    /* Queues a record of points (wal_points.h), which is copied.  Records of a
     * link arrive in the order of the calls; the ids in them are those of the
     * link. */
    enum status (*put)(void *ctx, unsigned bucket, uint64_t link,
                       struct slice record, uint64_t *ticket, struct error *e);
    /* ST_OK: what store_session_put() took is committed at the owner. */
    enum status (*wait)(void *ctx, unsigned bucket, uint64_t link,
                        uint64_t ticket, int64_t end_us, struct error *e);
    /* What store_head_copy() makes of each at its owner, all of them asked at
     * once.  'out' is the store's, empty buffers. */
    enum status (*head)(void *ctx, const struct scan_spec *specs, size_t len,
                        struct buf *out, int64_t end_us, struct error *e);
    /* store_owner_last(), store_owner_delete() and a commit. */
    enum status (*last)(void *ctx, struct slice tsuid, int64_t until_ms,
                        struct point *out, bool *found, int64_t end_us,
                        struct error *e);
    enum status (*delete_points)(void *ctx, struct slice tsuid, int64_t from_ms,
                                 int64_t to_ms, uint64_t *deleted,
                                 int64_t end_us, struct error *e);
    /* All others flush: before a backup. */
    enum status (*flush)(void *ctx, struct error *e);
    /* ST_OK while this process surely owns its buckets (its lease is good by
     * its own clock, with time to spare): asked before rows are written to the
     * engine, before anything is acknowledged, and before its heads are read.
     * The failure's status is the client's. */
    enum status (*owns)(void *ctx, struct error *e);
};

/* For what is answered from memory alone (names, which series there are): waits
 * until this process hears what others change, so that all that was
 * acknowledged before the call is known here.  ST_BUSY, or what owns() says,
 * after 'wait_ms'.  At once where no other process has the engine. */
MUST_CHECK enum status store_wait_current(struct store *s, struct error *e);

/* Puts of who acknowledges none of them one by one: what goes to other owners
 * is sent, and is answered for later.  One thread at a time.
 *
 *     store_window_put() ... -> store_window_end() -> store_commit()
 */
struct store_window; /* opaque */

/* NULL: all buckets are this process's. */
struct store_window *store_window_new(struct store *s);
/* What is not answered for may be stored or not. */
void store_window_free(struct store_window **w);
/* As store_put(); points of other owners have ST_OK once they are on their way,
 * or wait for an owner. */
MUST_CHECK enum status store_window_put(struct store_window *w,
                                        struct series_point *points, size_t len,
                                        uint64_t *lsn, struct error *e);
/* ST_OK: all that was put is durable at its owners, but for what '*lsn' says.
 * ST_BUSY: some of it is not, after 'wait_ms': call again.  ST_IO: '*rejected'
 * points were rejected, all others are as with ST_OK. */
MUST_CHECK enum status store_window_end(struct store_window *w, uint64_t *lsn,
                                        size_t *rejected, struct error *e);

/* -- what others ask of a store --------------------------------------------
 */

/* One for each connection on which records of points come: the series that
 * their ids mean. */
struct store_session; /* opaque */
struct store_session *store_session_new(struct store *s);
void store_session_free(struct store_session **ss);

/* As store_put() of the record's points; commit '*lsn' before it is
 * acknowledged.  ST_MOVED also for ids of series that are not known (any
 * more): the sender defines them again.  Part of the record may be taken then.
 * ST_CORRUPT: the bytes are no record, and the connection is to be closed. */
MUST_CHECK enum status store_session_put(struct store_session *ss,
                                         struct slice record, uint64_t *lsn,
                                         struct error *e);

/* As store_delete(), but never forwarded; store_owner_last() and
 * store_head_copy() are in storage/scan/. */
MUST_CHECK enum status store_owner_delete(struct store *s, struct slice tsuid,
                                          int64_t from_ms, int64_t to_ms,
                                          uint64_t *deleted, uint64_t *lsn,
                                          struct error *e);

/* -- ownership ------------------------------------------------------------- */

/* A bucket becomes ours with 'epoch', which its records in our WAL carry; in a
 * dead owner's those count that carry 'from_epoch'. */
struct bucket_claim {
    unsigned bucket;
    uint64_t from_epoch, epoch;
};

bool store_bucket_is_local(const struct store *s, unsigned bucket);

/* Flushes what the WAL of a dead owner, fenced off and opened to be read only,
 * has of these buckets; NULL: it gave them away, or there was none.  The
 * buckets stay remote: make it known that they are ours, and serve them.  After
 * a failure nothing is left of them in memory; try again. */
MUST_CHECK enum status store_buckets_take(struct store *s,
                                          const struct bucket_claim *claims,
                                          size_t len, struct wal *dead,
                                          struct error *e);

/* From here on the bucket's points are taken and read here. */
void store_bucket_serve(struct store *s, unsigned bucket);

/* Puts of the bucket wait for its next owner from the call on; when it returns
 * ST_OK all its points are in the engine, and it is remote.  After a failure it
 * is local as before. */
MUST_CHECK enum status store_bucket_give(struct store *s, unsigned bucket,
                                         struct error *e);
