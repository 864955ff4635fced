/* A connection between two daemons of a store, in the clear or in TLS, whose
 * hello is over: the other side knows the store's secret.  Frames are sent and
 * received one at a time, by calls that wait.
 *
 * Owns:    its socket.
 * Threads: one at a time, but for channel_shutdown().
 * Fails:   ST_IO: not reached, or lost; ST_TIMEOUT; ST_BUSY: told to stop; and
 *          as frame.h says.  Only channel_close() is allowed after a failure.
 */
#pragma once

#include <stdatomic.h>

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
    const char *address;           /* HOST:PORT, [HOST]:PORT, to be dialed */
    const uint8_t *secret;         /* FRAME_SECRET_SIZE bytes */
    uint16_t version;              /* 0: FRAME_VERSION */
    const struct channel_tls *tls; /* NULL: in the clear */
    unsigned silence_ms;     /* the connection ends if the machine is silent */
    const atomic_bool *stop; /* true: calls of the channel give up soon */
};

/* Connects, and says hello, until 'end_us' (monotonic). */
MUST_CHECK enum status channel_dial(const struct channel_target *t,
                                    int64_t end_us, struct channel **out,
                                    struct error *e);

/* The other side: a non-blocking socket that a peer has connected to this
 * daemon.  Each call gives up if nothing can be sent, or no more of a frame
 * comes, for 'stall_ms'.  channel_hear() hears the hello, until 'end_us'. */
struct channel *channel_of_socket(int fd, unsigned stall_ms); /* not NULL */
MUST_CHECK enum status channel_hear(struct channel *c,
                                    const struct channel_target *t,
                                    int64_t end_us, struct error *e);
void channel_close(struct channel **c);

/* Ends the connection: whoever waits in one of the other calls, also in another
 * thread, fails at once. */
void channel_shutdown(const struct channel *c);

MUST_CHECK enum status channel_send(struct channel *c, const struct buf *frame,
                                    int64_t end_us, struct error *e);

/* A frame that was received. */
struct channel_frame {
    uint8_t kind;
    struct slice payload; /* lent from 'bytes' */
    struct buf bytes;     /* all of it */
};

/* Waits for a frame whose payload has at most 'max' bytes. */
MUST_CHECK enum status channel_receive(struct channel *c, size_t max,
                                       struct channel_frame *out,
                                       int64_t end_us, struct error *e);

/* Has the other side sent nothing, and not ended?  So it is between an answer
 * and the next request. */
bool channel_is_quiet(const struct channel *c);
