/*
 * Watch and notify: who watches an object hears of what others send to it, and
 * who sends waits until all have heard.
 *
 *     open -> check, check, ..  -> close
 *               `-> ST_IO: broken: close, drop what depended on it, open again
 *
 * Threads: any, but close once.  The functions run on a thread of librados, one
 *          at a time a watch: they must not wait for operations of this room.
 * Fails:   as ceph_status() says.
 */
#pragma once

#include "storage/rados/ceph.h"

struct ceph_watch; /* opaque */

struct ceph_watch_calls {
    /* The sender goes on when this has returned.  'payload' is lent; the sender
     * gets what is written to 'answer', an empty buffer. */
    void (*heard)(void *ctx, struct slice payload, struct buf *answer);
    /* What was sent from now on is not heard.  It may run more than once. */
    void (*broken)(void *ctx);
};

/* The object is made if it is absent.  A watcher that is silent for
 * 'timeout_s' is held to be gone: senders wait for it no longer than that. */
MUST_CHECK enum status ceph_watch_open(struct ceph *c, const char *object,
                                       unsigned timeout_s,
                                       const struct ceph_watch_calls *calls,
                                       void *ctx, struct ceph_watch **out,
                                       struct error *e);
/* ST_OK: all that was sent until 'age_ms' ago was heard (may be NULL). */
MUST_CHECK enum status ceph_watch_check(struct ceph_watch *w, unsigned *age_ms,
                                        struct error *e);
/* No function runs afterwards. */
void ceph_watch_close(struct ceph_watch **w);

/* ST_OK: all watchers have heard it, and their answers are in 'answers' (NULL:
 * they are not needed), each with its size before it (buf_put_sized()).
 * ST_TIMEOUT: some did not answer. */
MUST_CHECK enum status ceph_notify(struct ceph *c, const char *object,
                                   struct slice payload, unsigned timeout_ms,
                                   struct buf *answers, struct error *e);
