/* A store in a pool of a Ceph cluster, which this process shares with others:
 * each salt bucket has one owner, whom a lease and the bucket map name.
 *
 *     open    a member; the store is there, all its buckets are others'
 *     serve   a thread claims the buckets that are this process's by
 *             assign.h, takes those of dead members over, and gives away
 *             those that belong to others by now
 *     leave   all buckets are given away; requests go on
 *     close
 *
 * Owns:    the store, which is the caller's to use until cluster_close().
 * Threads: cluster_open(), cluster_leave(), cluster_close(): one at a time; the
 *          rest: any.
 * Fails:   as storage/rados/ceph.h says, with sentences for the operator. */
#pragma once

#include "cluster/peer/channel.h"
#include "cluster/counts.h"
#include "cluster/view.h"
#include "storage/lease/events.h"
#include "storage/lease/lease.h"
#include "storage/place/format.h"
#include "storage/store/store.h"

struct cluster; /* opaque */

struct cluster_options {
    const char *at;             /* the pool's, as in a place */
    struct store_options store; /* without a place; layout: of a new store */
    unsigned window_hours;      /* of a new store; 0: 24 */
    bool create;                /* a store where there is none */
    /* "rw"; "ro", which owns nothing; "tool", which owns buckets where there
     * is no "rw". */
    const char *mode;
    const char *address; /* HOST:PORT where other members reach this process;
                            "": nowhere, a tool */
    const char *version; /* of the program */
    unsigned lease_ms;   /* 0: 5 s */
    unsigned wait_ms;    /* for an owner to be there; 0: 10 s */
    /* Members are spoken to in TLS, and trusted as channel_tls_new() says; a
     * tool goes by what they say of their addresses. */
    bool tls, tls_any;
    const char *ca;
    /* Another process may own the buckets by now: nothing may be acknowledged
     * any more, and the process must end at once. */
    void (*lost)(void *ctx, const char *why);
    /* A member died, before its buckets are taken over: it may have changed
     * names and series without telling others.  From cluster_serve() on. */
    void (*died)(void *ctx);
    void *ctx;
};

MUST_CHECK enum status cluster_open(const struct cluster_options *o,
                                    struct cluster **out, struct error *e);

struct store *cluster_store(struct cluster *c);
/* FRAME_SECRET_SIZE bytes, by which members know each other. */
const uint8_t *cluster_secret(const struct cluster *c);
/* As events_on(), for who keeps in memory what other processes change. */
void cluster_on(struct cluster *c, unsigned kind, events_fn *f, void *ctx);
/* The name of this member. */
const char *cluster_self(const struct cluster *c);
/* Sends an event to all members and collects their answers, each with its size
 * before it.  A function of cluster_on() that answers writes cluster_self()
 * with its size (buf_put_sized()), and then the answer.
 * ST_BUSY: a member that has not ended did not answer; ST_TIMEOUT: the cluster
 * of Ceph did not deliver the event in time. */
MUST_CHECK enum status cluster_ask(struct cluster *c, unsigned kind,
                                   struct slice payload, struct buf *answers,
                                   struct error *e);
struct ceph *cluster_ceph(struct cluster *c);

/* Begins to own buckets. */
MUST_CHECK enum status cluster_serve(struct cluster *c, struct error *e);

/* Waits until every bucket has an owner: for commands, which begin with it. */
MUST_CHECK enum status cluster_wait(struct cluster *c, unsigned wait_ms,
                                    struct error *e);

/* Flushes and gives all buckets away, and takes none from then on.  Where no
 * other member takes them they keep this process's name, with nothing in its
 * WAL. */
MUST_CHECK enum status cluster_leave(struct cluster *c, struct error *e);

/* No function of the options or of events is called from then on; the store
 * goes on, and its buckets stay as they are. */
void cluster_stop(struct cluster *c);

/* After cluster_leave(), or at once.  Closes the store, too.  '*c' becomes NULL
 * in any case. */
MUST_CHECK enum status cluster_close(struct cluster **c, struct error *e);

/* -- for operators --------------------------------------------------------- */

/* As of now, but for members and buckets: of the last look. */
void cluster_counts(struct cluster *c, struct cluster_counts *out);

/* As of the last look; cluster_view_fini(). */
void cluster_view(struct cluster *c, struct cluster_view *out);
