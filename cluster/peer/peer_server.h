/* What a daemon does for its peers: takes over their connections, hears their
 * hello, and answers their requests by calling handlers.
 *
 *     adopt -> hello -> request -> answer -> request -> answer ...
 *
 * A connection has a thread, and one request at a time.  So no request waits
 * for one that another peer, or the same peer on another connection, has sent:
 * two daemons never wait for each other.  The records of a PUT are handled in
 * their order, and answered together when one commit has made them durable.
 *
 * Owns:    the sockets that it was given; a thread for each.
 * Threads: adopt: any; open and close: the owner.
 * Bounds:  'max_connections'; a connection: a request of FRAME_REQUEST_MAX
 * bytes and its answer. */
#pragma once

#include <sys/socket.h>

#include "cluster/peer/frame.h"

struct peer_server; /* opaque */

struct peer_handlers {
    void *ctx;
    /* Called when a connection begins and ends. */
    void *(*session_open)(void *ctx);
    void (*session_close)(void *ctx, void *session);
    /* One at a time in a session.  '*lsn' is what to commit.  ST_CORRUPT: the
     * connection is closed. */
    enum status (*put)(void *ctx, void *session, struct slice record,
                       uint64_t *lsn, struct error *e);
    enum status (*commit)(void *ctx, uint64_t lsn, struct error *e);
    /* Of the types HEAD, LAST, DELETE, FLUSH; any thread. */
    enum status (*serve)(void *ctx, uint8_t type, struct slice request,
                         struct buf *answer, struct error *e);
};

struct peer_server_options {
    const uint8_t *secret; /* FRAME_SECRET_SIZE bytes; outlives the server */
    uint16_t version;      /* 0: FRAME_VERSION */
    struct peer_handlers handlers;
    unsigned hello_ms;      /* 0: 5 s for a hello */
    unsigned idle_ms;       /* 0: 10 minutes without a request */
    unsigned stall_ms;      /* 0: 20 s in which a peer reads or sends nothing */
    size_t max_connections; /* 0: 512 */
    size_t max_unproven;    /* 0: 32; then the oldest of them gives way */
    void (*closed)(void *ctx); /* a connection has ended; may be NULL */
    void *closed_ctx;
};

struct peer_server *
peer_server_open(const struct peer_server_options *o); /* not NULL */

/* Takes over a connected, non-blocking socket.  On failure it is closed, and
 * closed() is not called. */
MUST_CHECK enum status peer_server_adopt(struct peer_server *s, int fd,
                                         const struct sockaddr *peer,
                                         struct error *e);

/* Ends all connections, whatever they asked, and waits for their threads. */
void peer_server_close(struct peer_server **s);

/* For tests and measurements. */
struct peer_server_counts {
    uint64_t open;    /* connections now */
    uint64_t proven;  /* of these */
    uint64_t puts;    /* records handled */
    uint64_t commits; /* for them */
};
struct peer_server_counts peer_server_counts(struct peer_server *s);
