/* A socket to a peer, in the clear or in TLS, whose hello is over: bytes that
 * go in come out at a daemon that knows the store's secret.
 *
 * Owns:    its socket.
 * Threads: send and receive: any, each one at a time; the rest: the owner.
 * Fails:   ST_IO, ST_TIMEOUT: not reached; ST_BUSY: told to stop; and what
 *          frame.h says of a hello. */
#pragma once

#include "base/error.h"
#include "cluster/peer/frame.h"

struct channel;     /* opaque */
struct channel_tls; /* opaque */

/* How to trust the certificates of peers: by the authorities in the file 'ca'
 * (PEM), NULL: by the system's; with 'any' no certificate is looked at, and
 * the secret alone tells who it is. */
MUST_CHECK enum status channel_tls_new(const char *ca, bool any,
                                       struct channel_tls **out,
                                       struct error *e);
void channel_tls_free(struct channel_tls **t);

struct channel_target {
    const char *address;           /* HOST:PORT, [HOST]:PORT */
    const uint8_t *secret;         /* FRAME_SECRET_SIZE bytes */
    uint16_t version;              /* 0: FRAME_VERSION */
    const struct channel_tls *tls; /* NULL: in the clear */
    int stop_fd; /* readable: give up; who waits leaves it as it is */
};

/* Connects, and says hello, until 'end_us' (monotonic). */
MUST_CHECK enum status channel_dial(const struct channel_target *t,
                                    int64_t end_us, struct channel **out,
                                    struct error *e);
void channel_close(struct channel **c);

int channel_fd(const struct channel *c); /* to poll */
/* Neither blocks: how many bytes; 0: not now; -1: it has ended, errno 0: by the
 * peer. */
ssize_t channel_send(struct channel *c, struct slice bytes);
ssize_t channel_receive(struct channel *c, uint8_t *to, size_t size);
