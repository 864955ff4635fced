/* The acceptor: one port for HTTP and telnet, told apart by the first byte. No
 * command of ours starts with a capital letter, and every HTTP method does. (A
 * first line in capitals that cannot be HTTP is telnet's to reject.)
 *
 *     listener_open -> (start HTTP and telnet) -> listener_serve_peers
 *         -> listener_start -> listener_stop -> (stop HTTP and telnet)
 *         -> listener_close
 *
 * A first byte of 0x02 is a daemon's of the same store, where there are such.
 *
 * With TLS there is a second port, whose connections come out of struct tls in
 * the clear; all protocols are served there, too.
 *
 * A connection that has not sent a byte waits, 'idle_ms' at most, and without
 * harm: when there is no room for a new one, or no file descriptor, the oldest
 * of the silent gives way.  Where none is silent the new one is closed at once,
 * and counted.
 *
 * Owns:    its sockets and thread, and connections until their first byte.
 * Threads: listener_counts(), what is called at a connection's end: any; the
 *          rest: one at a time. */
#pragma once

#include "cluster/peer/peer_server.h"
#include "tsd/net/telnet.h"
#include "tsd/net/tls.h"
#include "web/http.h"

struct listener; /* opaque */

struct listener_options {
    /* An address, which may have brackets, or a name: each of its addresses.
     * NULL, "", "0.0.0.0" or "::": all, of both families; of IPv4 alone where
     * the machine has no IPv6. */
    const char *bind;
    uint16_t port;          /* 0: a free one */
    int backlog;            /* 0: 3072 */
    size_t max_connections; /* 0: no limit */
    unsigned idle_ms;       /* of those that say nothing; 0: no limit */
    struct tls *tls;        /* NULL: no port for TLS */
    const char *tls_bind;
    uint16_t tls_port;
};

/* Binds, so that a bad address or a port in use is known early. */
MUST_CHECK enum status listener_open(const struct listener_options *o,
                                     struct listener **out, struct error *e);

/* "127.0.0.1:4242", with the port that was taken: the first of several. */
const char *listener_address(const struct listener *l);
/* The same of TLS, or NULL. */
const char *listener_tls_address(const struct listener *l);

/* Before the start: who speaks for other daemons of the store; it must outlive
 * listener_stop(). */
void listener_serve_peers(struct listener *l, struct peer_server *peers);

/* Starts to accept.  Either may be NULL: such connections are closed. */
MUST_CHECK enum status listener_start(struct listener *l,
                                      struct http_server *http,
                                      struct telnet *telnet, struct error *e);

/* The 'closed' of http_options, telnet_options and peer_server_options, with
 * the listener as their context: a connection has ended. */
void listener_http_closed(void *listener);
void listener_telnet_closed(void *listener);
void listener_peer_closed(void *listener);

/* Accepts no more, and closes those that have not said anything. */
void listener_stop(struct listener *l);

/* Call it when HTTP and telnet have ended, too. */
void listener_close(struct listener **l);

/* How many are open now: all, and of these those of a protocol and those that
 * came by TLS. */
struct listener_counts {
    uint64_t open, http, telnet, tls;
};
struct listener_counts listener_counts(void *listener);
