/* Inside of a peer: peer.c is what callers do, peer_link.c what its thread
 * does, which connects, receives and, where the socket would not take all,
 * sends the rest.
 *
 * Threads: as in peer.h; the members say which lock they need. */
#pragma once

#include "base/process/thread.h"
#include "cluster/peer/peer.h"

#define PEER_FAILED_LEN 256 /* ranges of PUTs that failed */

/* PUTs with from < number <= to have failed. */
struct peer_failed_range {
    uint64_t from, to;
    enum status status;
    char text[160];
};

struct peer {
    uint32_t magic;
    struct peer_options o;
    char *address;
    int wake_fd;
    atomic_bool stopping, ended;
    struct thread thread;
    struct lock lock;
    struct cond changed;                      /* a link, an answer to PUTs */
    struct channel *channel GUARDED_BY(lock); /* NULL: no link */
    uint64_t link GUARDED_BY(lock);           /* 0: none */
    uint64_t number GUARDED_BY(lock);         /* the last one used */
    struct buf out GUARDED_BY(lock);          /* frames to be sent .. */
    size_t out_at GUARDED_BY(lock);           /* .. from here on */
    bool blocked GUARDED_BY(lock); /* the thread sends what is left */
    bool broken GUARDED_BY(lock);  /* sending failed */
    bool late GUARDED_BY(lock);    /* a PUT was not answered in time */
    /* Numbers of PUTs: the last that was queued, was sent (or is blocked), was
     * answered, or its link ended. */
    uint64_t put_queued GUARDED_BY(lock);
    uint64_t put_sent GUARDED_BY(lock);
    uint64_t put_answered GUARDED_BY(lock);
    uint64_t timed GUARDED_BY(lock);   /* a PUT whose latency is taken .. */
    int64_t timed_us GUARDED_BY(lock); /* .. from here on; 0: none */
    struct peer_failed_range failed[PEER_FAILED_LEN] GUARDED_BY(lock);
    size_t failed_len GUARDED_BY(lock); /* all there were on this link */
    struct peer_call *calls GUARDED_BY(lock);
    struct peer_counts counts GUARDED_BY(lock);
    struct error why GUARDED_BY(lock); /* there is no link */
    int64_t complain_us;               /* the thread's: not before */
    char complained[160];
};

/* Sends what waits; what the socket does not take is left to the thread. */
void peer_send(struct peer *p) REQUIRES(p->lock);

/* Queues a frame; its number is p->number then.  ST_BUSY: no memory. */
MUST_CHECK enum status peer_queue(struct peer *p, uint8_t type,
                                  struct slice payload, struct error *e)
    REQUIRES(p->lock);

/* The thread: makes links until p->stopping, then sets p->ended. */
void *peer_run(void *peer);
