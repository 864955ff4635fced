/* Inside of tls: a loop is a thread with its epoll; a connection lives in one
 * loop, and after tls_adopt_sockets() only that thread touches it.
 *
 *     handshake --> relaying --backend's end--> lingering --sent--> closing
 *
 * A closing one is freed at the end of the turn: an event of its other socket
 * may still be on its way. */
#pragma once

#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/process/loop.h"
#include "tsd/net/tls.h"

#define TLS_CHUNK ((size_t)16 << 10) /* what a record may hold */

/* Shared by the sessions that began with them. */
struct tls_keys {
    atomic_size_t refs;
    gnutls_certificate_credentials_t credentials;
};

struct tls_chunk {
    size_t at, size; /* what is left to be sent: data[at .. size) */
    uint8_t data[TLS_CHUNK];
};

struct tls_conn {
    struct loop_conn link;
    gnutls_session_t session;
    struct tls_keys *keys;
    struct watch client, backend; /* the backend's data: the pointer and 1 */
    struct tls_chunk *rx, *tx;    /* from the client, to it */
    bool handshake_done;
    bool begun;      /* a byte has come */
    bool is_http;    /* it was a capital letter */
    bool client_end; /* nothing will come from there any more */
    bool backend_end;
    bool backend_hung;   /* closed over there: not watched any more */
    bool rx_shut;        /* the backend was told */
    bool closing;        /* freed at the end of the turn */
    int64_t deadline_us; /* of the handshake, to linger; 0: none */
    uint64_t sent;       /* to the client */
    uint64_t check_sent;
    int64_t check_us; /* the last check; 0: it is not being waited for */
};

/* Makes a session; false when GnuTLS rejects. */
bool tls_conn_begin(struct tls_conn *c, gnutls_priority_t priority);
/* Closes its sockets and frees what it holds. */
void tls_conn_fini(struct tls_conn *c);
/* Moves what can be moved.  True: there may be more at once. */
bool tls_conn_move(struct tls_conn *c);
/* What to wait for. */
uint32_t tls_conn_client_events(const struct tls_conn *c);
uint32_t tls_conn_backend_events(const struct tls_conn *c);

void tls_keys_unref(struct tls_keys **k);
