/* TLS, in front of HTTP and telnet: each connection of the TLS port gets a pair
 * of plain sockets.  One end is served like any connection; threads of ours
 * carry the bytes between the other end and the client.
 *
 *     client ==TLS== (tls) --pair-- listener -> HTTP or telnet
 *
 * So neither of them knows of TLS; their limits and promises hold, and what
 * they say last is sent before the client sees the end.  A client that ends its
 * side, with a close_notify or without, ends that side of the pair.
 *
 * Owns:    the sockets that it was given.
 * Bounds:  a connection: 32 KB and what GnuTLS needs.
 * Threads: any; start and stop: one at a time.
 * Fails:   ST_INVALID, ST_IO when certificate and key cannot be used. */
#pragma once

#include "base/error.h"

struct tls; /* opaque */

struct tls_options {
    const char *cert, *key; /* files, PEM; the whole chain in 'cert' */
    const char *priority;   /* versions and ciphers, as GnuTLS writes them */
    unsigned threads;       /* 0: 2 */
    unsigned handshake_ms;  /* 0: 10 s */
    unsigned stall_ms;      /* how long a reader of HTTP is watched; 0: 2 m */
};

MUST_CHECK enum status tls_start(const struct tls_options *o, struct tls **out,
                                 struct error *e);

/* Takes over a connected socket and one end of a pair, both non-blocking. On
 * failure both are closed. */
MUST_CHECK enum status tls_adopt_sockets(struct tls *t, int client, int backend,
                                         struct error *e);

/* Connections that it holds, those included whose other end is closed. */
size_t tls_connections(const struct tls *t);

/* Reads certificate and key again, for connections to come; on failure what
 * was read before holds. */
MUST_CHECK enum status tls_reload(struct tls *t, struct error *e);

/* Call it when the other ends are closed: sends what they said last, for at
 * most 'drain_ms', and closes. */
void tls_stop(struct tls **t, unsigned drain_ms);
