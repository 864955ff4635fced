/* One connection: bytes both ways.
 *
 * Each direction has one chunk: it is read when the chunk before it was sent,
 * so that a side which does not take anything stops the other. */
#include "tsd/net/tls_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/log.h"
#include "base/mem.h"

#define ROUNDS 16 /* a turn */

bool
tls_conn_begin(struct tls_conn *c, gnutls_priority_t priority)
{
    if (gnutls_init(&c->session,
                    GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0) {
        c->session = NULL;
        return false;
    }
    gnutls_transport_set_int(c->session, c->client.fd);
    return gnutls_priority_set(c->session, priority) == 0 &&
           gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE,
                                  c->keys->credentials) == 0;
}

void
tls_conn_fini(struct tls_conn *c)
{
    if (c->session != NULL)
        gnutls_deinit(c->session);
    loop_close(c->client.fd);
    (void)close(c->backend.fd);
    tls_keys_unref(&c->keys);
    free(c->rx);
    free(c->tx);
}

static bool
is_empty(const struct tls_chunk *p)
{
    return p->at == p->size;
}

static bool
handshake(struct tls_conn *c)
{
    int rc = gnutls_handshake(c->session);

    if (rc == 0) {
        c->rx = mem_try_array(1, sizeof *c->rx);
        c->tx = mem_try_array(1, sizeof *c->tx);
        c->closing = c->rx == NULL || c->tx == NULL;
        c->handshake_done = !c->closing;
        c->deadline_us = 0;
        return !c->closing;
    }
    if (gnutls_error_is_fatal(rc) != 0) {
        log_debug("tls", "no handshake: %s", gnutls_strerror(rc));
        (void)gnutls_alert_send_appropriate(c->session, rc);
        c->closing = true;
    }
    return false;
}

/* Moves bytes from the client to the server behind. */
static bool
move_rx(struct tls_conn *c)
{
    struct tls_chunk *rx = c->rx;
    bool moved = false;
    ssize_t n;

    if (is_empty(rx) && !c->client_end) {
        n = gnutls_record_recv(c->session, rx->data, TLS_CHUNK);
        moved = n > 0;
        if (n > 0) {
            rx->at = 0;
            rx->size = (size_t)n;
            if (!c->begun)
                c->is_http = rx->data[0] >= 'A' && rx->data[0] <= 'Z';
            c->begun = true;
        } else if (n == GNUTLS_E_REHANDSHAKE) { /* obsolete */
            c->closing = true;
        } else if (n == 0 || gnutls_error_is_fatal((int)n) != 0) {
            c->client_end = true;
        }
    }
    if (!c->closing && !is_empty(rx)) {
        n = send(c->backend.fd, rx->data + rx->at, rx->size - rx->at,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        moved = n >= 0 || (errno != EAGAIN && errno != EINTR);
        if (n >= 0)
            rx->at += (size_t)n;
        else if (moved) /* closed: drop what comes */
            rx->at = rx->size;
    }
    if (c->client_end && is_empty(rx) && !c->rx_shut) {
        (void)shutdown(c->backend.fd, SHUT_WR);
        c->rx_shut = true;
    }
    return moved;
}

/* Moves bytes from the server behind to the client. */
static bool
move_tx(struct tls_conn *c)
{
    struct tls_chunk *tx = c->tx;
    bool moved = false;
    ssize_t n;
    int rc;

    if (is_empty(tx) && !c->backend_end) {
        n = recv(c->backend.fd, tx->data, TLS_CHUNK, MSG_DONTWAIT);
        moved = n > 0;
        if (n > 0) {
            tx->at = 0;
            tx->size = (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            c->backend_end = true;
        }
    }
    if (!is_empty(tx)) {
        n = gnutls_record_send(c->session, tx->data + tx->at,
                               tx->size - tx->at);
        moved = n > 0;
        if (n > 0) {
            tx->at += (size_t)n;
            c->sent += (uint64_t)n;
        } else if (gnutls_error_is_fatal((int)n) != 0) {
            c->closing = true;
        }
    }
    if (!c->closing && c->backend_end && is_empty(tx)) {
        rc = gnutls_bye(c->session, GNUTLS_SHUT_WR);
        c->closing = rc == 0 || gnutls_error_is_fatal(rc) != 0;
    }
    return moved;
}

bool
tls_conn_move(struct tls_conn *c)
{
    if (!c->handshake_done && !handshake(c))
        return false;
    for (int i = 0; i < ROUNDS; i++) {
        bool moved = move_rx(c);

        if (!c->closing)
            moved |= move_tx(c);
        if (c->closing || !moved)
            return false;
    }
    return true;
}

uint32_t
tls_conn_client_events(const struct tls_conn *c)
{
    uint32_t events = 0;

    if (!c->handshake_done)
        return gnutls_record_get_direction(c->session) != 0 ? EPOLLOUT
                                                            : EPOLLIN;
    if (is_empty(c->rx) && !c->client_end)
        events |= EPOLLIN;
    if (!is_empty(c->tx) || c->backend_end)
        events |= EPOLLOUT;
    return events;
}

uint32_t
tls_conn_backend_events(const struct tls_conn *c)
{
    uint32_t events = 0;

    if (!c->handshake_done)
        return 0;
    if (is_empty(c->tx) && !c->backend_end)
        events |= EPOLLIN;
    if (!is_empty(c->rx))
        events |= EPOLLOUT;
    return events;
}
