/* Another daemon of the store, as the one who asks it sees it.  It has no
 * thread: who waits for an answer sends and receives.
 *
 * PUTs share a connection, on which one request is under way.  peer_put() adds
 * a record.  peer_put_wait() sends all records if no request is under way,
 * receives the answer and wakes the threads that wait for it; otherwise it
 * waits for the thread that sent the request.  Records that come meanwhile are
 * gathered into the next one (group commit).
 *
 * A link is this connection from its first PUT to its end; its number is never
 * used twice.  With a link all that was put on it ends, too: ST_MOVED, and it
 * is not known whether the peer has taken it.
 *
 * Any other request has a connection for itself, which is kept for the next
 * one.
 *
 * Owns:    its connections.
 * Threads: any; open and close: the owner.
 * Bounds:  'out_bytes' wait to be sent; then peer_put() fails with ST_BUSY.
 * Fails:   ST_MOVED: the connection has ended; ST_BUSY: no answer, or no room,
 *          in time; else what the peer says. */
#pragma once

#include "base/process/latency.h"
#include "cluster/peer/channel.h"

struct peer; /* opaque */

struct peer_options {
    const uint8_t *secret; /* FRAME_SECRET_SIZE bytes; outlives the peer */
    uint16_t version;      /* 0: FRAME_VERSION */
    const struct channel_tls *tls; /* NULL: in the clear; outlives it */
    unsigned connect_ms;           /* 0: 5 s, hello included */
    unsigned retry_ms;    /* 0: 100 ms; no PUT tries to connect again before */
    unsigned silence_ms;  /* 0: 15 s (struct channel_target) */
    size_t out_bytes;     /* 0: FRAME_REQUEST_MAX, which it must not exceed */
    atomic_ullong *links; /* the last number of a link, of all peers */
    struct latency *put_latency; /* from sent to answered; NULL: not wanted */
};

struct peer *peer_open(const struct peer_options *o,
                       const char *address); /* not NULL */
/* Ends all connections soon, and makes no other: who waits learns that. */
void peer_stop(struct peer *p);
/* No thread is in a call of it any more. */
void peer_close(struct peer **p);

/* The number of the link there is now, which may still have to connect; 0:
 * there is none, since the last one could not, or the peer was stopped.  Does
 * not wait for the network. */
uint64_t peer_link(struct peer *p);

/* Adds a record of points to those of the link that are to be sent.  Does not
 * wait for the network. */
MUST_CHECK enum status peer_put(struct peer *p, uint64_t link,
                                struct slice record, uint64_t *ticket,
                                struct error *e);

/* Who waits for a PUT. */
struct peer_waiter {
    uint64_t link, ticket;
    int64_t end_us;           /* monotonic */
    bool (*moved)(void *ctx); /* may be NULL */
    void *ctx;
};
/* ST_OK: it is durable at the peer.  ST_MOVED also if 'moved' becomes true
 * while another thread sends; who makes it so calls peer_wake().  ST_BUSY:
 * 'end_us' has come; the link ends, so that the record is not taken later. */
MUST_CHECK enum status
peer_put_wait(struct peer *p, const struct peer_waiter *w, struct error *e);
void peer_wake(struct peer *p);

/* A request other than a PUT: begin, end, fini.  Several may be under way, at
 * several peers. */
struct peer_call {
    struct peer *peer;       /* NULL: not begun */
    struct channel *channel; /* NULL: its answer was received */
    int64_t end_us;          /* monotonic */
    size_t max;              /* bytes of the answer; 0: any */
    struct slice answer;     /* lent from 'in' */
    struct channel_frame in;
};

/* 'end_us' and 'max' of the call are set. */
MUST_CHECK enum status peer_call_begin(struct peer *p, struct peer_call *call,
                                       uint8_t type, struct slice request,
                                       struct error *e);
/* With ST_OK the answer is there until fini.  ST_LIMIT: it is larger than it
 * may be. */
MUST_CHECK enum status peer_call_end(struct peer_call *call, struct error *e);
void peer_call_fini(struct peer_call *call);

/* For tests. */
struct peer_counts {
    uint64_t links; /* that connected */
    uint64_t sends; /* requests of PUTs */
};
struct peer_counts peer_counts(struct peer *p);
