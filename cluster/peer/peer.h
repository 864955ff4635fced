/* Another daemon of the store, as the one who asks it sees it: a connection
 * that is made again when it ends, requests from any thread, and answers
 * matched by number.
 *
 *     peer_open -> connecting -> link 17 -> (ended) -> connecting -> link 23
 *
 * A link is one connection, from hello to end; its number is never used twice.
 * With a link all that was asked on it ends, too: ST_MOVED, and whether the
 * peer has done it is not known.
 *
 * PUTs are gathered: they are sent when 64 KB of them wait, or when a caller
 * waits for one and none is under way; any other request sends all at once.
 *
 * Owns:    its thread, its socket.
 * Threads: any; open and close: the owner.
 * Bounds:  'out_bytes' wait to be sent; then peer_put() fails with ST_BUSY.
 * Fails:   ST_MOVED: the link has ended; ST_BUSY: no answer, or no room,
 *          in time; else what the peer says. */
#pragma once

#include <stdatomic.h>

#include "base/process/latency.h"
#include "base/process/lock.h"
#include "cluster/peer/channel.h"

struct peer; /* opaque */

struct peer_options {
    const uint8_t *secret; /* FRAME_SECRET_SIZE bytes; outlives the peer */
    uint16_t version;      /* 0: FRAME_VERSION */
    const struct channel_tls *tls; /* NULL: in the clear; outlives it */
    unsigned connect_ms;           /* 0: 5 s, hello included */
    unsigned retry_ms;             /* 0: 1 s; the longest pause in between */
    unsigned silence_ms;  /* 0: 15 s without a byte, pings included: it ended */
    size_t out_bytes;     /* 0: 64 MB */
    atomic_ullong *links; /* the last number of a link, of all peers */
    struct latency *put_latency; /* from sent to answered; NULL: not wanted */
};

MUST_CHECK enum status peer_open(const struct peer_options *o,
                                 const char *address, struct peer **out,
                                 struct error *e);
/* Ends the link soon, and makes no other: who waits for it learns that.  Does
 * not wait: its thread may be asking for the address of a name. */
void peer_stop(struct peer *p);
/* After peer_stop(): its thread is done, so that peer_close() does not wait. */
bool peer_has_ended(struct peer *p);
/* No thread is in a call of it any more. */
void peer_close(struct peer **p);

/* The number of the link there is now; 0: none.  The second one waits for one
 * until 'end_us' (monotonic), and says why there is none: ST_BUSY. */
uint64_t peer_link(struct peer *p);
MUST_CHECK enum status peer_wait_link(struct peer *p, int64_t end_us,
                                      uint64_t *link, struct error *e);

/* Queues a record of points behind those of the link before it; never waits.
 */
MUST_CHECK enum status peer_put(struct peer *p, uint64_t link,
                                struct slice record, uint64_t *ticket,
                                struct error *e);
/* ST_OK: it is durable at the peer.  Ends with ST_MOVED, too, when 'moved'
 * (may be NULL) is true; who makes it so calls peer_wake().  ST_BUSY, 'end_us'
 * has come: the link ends, so that the record is not taken later if it was not
 * yet. */
MUST_CHECK enum status peer_put_wait(struct peer *p, uint64_t link,
                                     uint64_t ticket, int64_t end_us,
                                     bool (*moved)(void *ctx), void *ctx,
                                     struct error *e);
void peer_wake(struct peer *p);

/* A request that has an answer of its own: begin, end, fini.  Several may be
 * under way, at several peers. */
struct peer_call {
    struct peer *peer; /* NULL: not begun */
    struct peer_call *next;
    uint64_t link, number;
    bool done;
    enum status status;
    struct buf answer; /* with ST_OK the body, else the sentence */
    struct cond changed;
};

/* An answer has 'max' bytes at the most: ST_LIMIT.  After a failure there is
 * nothing to end. */
MUST_CHECK enum status peer_call_begin(struct peer *p, uint64_t link,
                                       uint8_t type, struct slice request,
                                       size_t max, struct peer_call *call,
                                       struct error *e);
/* The answer is in 'call' until fini. */
MUST_CHECK enum status peer_call_end(struct peer_call *call, int64_t end_us,
                                     struct error *e);
/* Also of one that has not ended: its answer is not wanted any more. */
void peer_call_fini(struct peer_call *call);

/* For tests. */
struct peer_counts {
    uint64_t links; /* that were made */
    uint64_t sends; /* calls of the socket for frames */
};
struct peer_counts peer_counts(struct peer *p);
