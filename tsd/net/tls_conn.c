/* One connection: bytes both ways.
 *
 * Each direction has one chunk: it is read when the chunk before it was sent,
 * so that a side which does not take anything stops the other. */
#include "config.h"

#include "tsd/net/tls_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
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
    gnutls_transport_set_int(c->session, c->client);
    return gnutls_priority_set(c->session, priority) == 0 &&
           gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE,
                                  c->keys->credentials) == 0;
}

void
tls_conn_free(struct tls_conn *c)
{
    char rest[4096];

    if (c->session != NULL)
        gnutls_deinit(c->session);
    /* Unread bytes would turn our close into a reset, which may overtake what
     * was said last. */
    (void)shutdown(c->client, SHUT_WR);
    for (int i = 0;
         i < 64 && recv(c->client, rest, sizeof rest, MSG_DONTWAIT) > 0; i++)
        ;
    (void)close(c->client);
    (void)close(c->pair);
    tls_keys_unref(&c->keys);
    free(c->up);
    free(c->down);
    free(c);
}

static bool
is_empty(const struct tls_chunk *p)
{
    return p->at == p->size;
}

static bool
shake(struct tls_conn *c)
{
    int rc = gnutls_handshake(c->session);

    if (rc == 0) {
        c->shaken = true;
        c->deadline_us = 0;
        c->up = mem_new(sizeof *c->up);
        c->down = mem_new(sizeof *c->down);
        return true;
    }
    if (gnutls_error_is_fatal(rc) != 0) {
        log_debug("tls", "no handshake: %s", gnutls_strerror(rc));
        (void)gnutls_alert_send_appropriate(c->session, rc);
        c->dead = true;
    }
    return false;
}

/* -- from the client ------------------------------------------------------- */

static bool
read_client(struct tls_conn *c)
{
    ssize_t n = gnutls_record_recv(c->session, c->up->data, TLS_CHUNK);

    if (n > 0) {
        c->up->at = 0;
        c->up->size = (size_t)n;
        if (!c->begun)
            c->is_http = c->up->data[0] >= 'A' && c->up->data[0] <= 'Z';
        c->begun = true;
        return true;
    }
    if (n == GNUTLS_E_REHANDSHAKE) /* nobody needs that any more */
        c->dead = true;
    else if (n == 0 || gnutls_error_is_fatal((int)n) != 0)
        c->client_end = true;
    return false;
}

static bool
write_pair(struct tls_conn *c)
{
    ssize_t n = send(c->pair, c->up->data + c->up->at, c->up->size - c->up->at,
                     MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) /* it listens no more: what comes is for nobody */
        c->up->at = c->up->size;
    else
        c->up->at += (size_t)n;
    return true;
}

static bool
move_up(struct tls_conn *c)
{
    bool moved = false;

    if (is_empty(c->up) && !c->client_end)
        moved = read_client(c);
    if (!c->dead && !is_empty(c->up))
        moved = write_pair(c);
    if (c->client_end && is_empty(c->up) && !c->up_shut) {
        (void)shutdown(c->pair, SHUT_WR);
        c->up_shut = true;
    }
    return moved;
}

/* -- to the client --------------------------------------------------------- */

static bool
read_pair(struct tls_conn *c)
{
    ssize_t n = recv(c->pair, c->down->data, TLS_CHUNK, MSG_DONTWAIT);

    if (n > 0) {
        c->down->at = 0;
        c->down->size = (size_t)n;
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        c->pair_end = true;
    return false;
}

static bool
write_client(struct tls_conn *c)
{
    ssize_t n = gnutls_record_send(c->session, c->down->data + c->down->at,
                                   c->down->size - c->down->at);

    if (n > 0) {
        c->down->at += (size_t)n;
        c->sent += (uint64_t)n;
        return true;
    }
    if (gnutls_error_is_fatal((int)n) != 0)
        c->dead = true;
    return false;
}

static bool
move_down(struct tls_conn *c)
{
    bool moved = false;
    int rc;

    if (is_empty(c->down) && !c->pair_end)
        moved = read_pair(c);
    if (!is_empty(c->down))
        moved = write_client(c);
    if (!c->dead && c->pair_end && is_empty(c->down)) {
        rc = gnutls_bye(c->session, GNUTLS_SHUT_WR);
        c->dead = rc == 0 || gnutls_error_is_fatal(rc) != 0;
    }
    return moved;
}

bool
tls_conn_move(struct tls_conn *c)
{
    if (!c->shaken && !shake(c))
        return false;
    for (int i = 0; i < ROUNDS; i++) {
        bool moved = move_up(c);

        if (!c->dead)
            moved |= move_down(c);
        if (c->dead || !moved)
            return false;
    }
    return true;
}

/* -- waiting --------------------------------------------------------------- */

uint32_t
tls_conn_client_events(const struct tls_conn *c)
{
    uint32_t events = 0;

    if (!c->shaken)
        return gnutls_record_get_direction(c->session) != 0 ? EPOLLOUT
                                                            : EPOLLIN;
    if (is_empty(c->up) && !c->client_end)
        events |= EPOLLIN;
    if (!is_empty(c->down) || c->pair_end)
        events |= EPOLLOUT;
    return events;
}

uint32_t
tls_conn_pair_events(const struct tls_conn *c)
{
    uint32_t events = 0;

    if (!c->shaken)
        return 0;
    if (is_empty(c->down) && !c->pair_end)
        events |= EPOLLIN;
    if (!is_empty(c->up))
        events |= EPOLLOUT;
    return events;
}
