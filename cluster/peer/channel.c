/* See cluster/peer/channel.h.  GnuTLS lets one thread send while another
 * receives only as long as neither answers what the other side wants of the
 * session; so a lock keeps them apart.  Both return at once, it is never held
 * for long. */
#include "cluster/peer/channel.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/mem.h"

#define CHANNEL_MAGIC     FOURCC('C', 'H', 'A', 'N')
#define CHANNEL_TLS_MAGIC FOURCC('C', 'H', 'T', 'L')

struct channel_tls {
    uint32_t magic;
    gnutls_certificate_credentials_t credentials;
    bool any;
};

struct channel {
    uint32_t magic;
    int fd;
    struct lock lock;         /* of the session */
    gnutls_session_t session; /* NULL: in the clear */
    bool resumes;             /* a send was cut off: GnuTLS has its bytes */
};

/* -- TLS ------------------------------------------------------------------- */

enum status
channel_tls_new(const char *ca, bool any, struct channel_tls **out,
                struct error *e)
{
    struct channel_tls *t = mem_new(sizeof *t);
    int n = 0;

    t->magic = CHANNEL_TLS_MAGIC;
    t->any = any;
    *out = t;
    INSIST(gnutls_certificate_allocate_credentials(&t->credentials) == 0);
    if (!any)
        n = ca == NULL
                ? gnutls_certificate_set_x509_system_trust(t->credentials)
                : gnutls_certificate_set_x509_trust_file(t->credentials, ca,
                                                         GNUTLS_X509_FMT_PEM);
    if (any || n > 0)
        return ST_OK;
    (void)error_set(e, ST_INVALID,
                    "no certificates to trust peers by in %s: %s",
                    ca == NULL ? "the system's store" : ca,
                    n < 0 ? gnutls_strerror(n) : "it is empty");
    channel_tls_free(out);
    return ST_INVALID;
}

void
channel_tls_free(struct channel_tls **t)
{
    struct channel_tls *x = OBJ_TAKE(t, CHANNEL_TLS_MAGIC);

    if (x == NULL)
        return;
    gnutls_certificate_free_credentials(x->credentials);
    OBJ_FREE(x);
}

/* -- dialing --------------------------------------------------------------- */

/* A name and a port of it, on their way to a channel. */
struct dial {
    const struct channel_target *target;
    struct channel *c;
    char *host, *port;
    int64_t end_us;
};

static enum status
split_address(struct dial *d, struct error *e)
{
    const char *at = d->target->address, *colon = strrchr(at, ':');
    size_t size = colon == NULL ? 0 : (size_t)(colon - at);

    if (size == 0 || colon[1] == '\0')
        return error_set(e, ST_INVALID, "'%s' is no HOST:PORT", at);
    if (size > 2 && at[0] == '[' && at[size - 1] == ']') {
        at++;
        size -= 2;
    }
    d->host = mem_strndup(at, size);
    d->port = mem_strdup(colon + 1);
    return ST_OK;
}

/* Until the socket is ready for 'events'. */
static enum status
dial_wait(const struct dial *d, short events, struct error *e)
{
    struct pollfd p[2] = { { .fd = d->c->fd, .events = events },
                           { .fd = d->target->stop_fd, .events = POLLIN } };

    for (;;) {
        int64_t left_us = d->end_us - clock_monotonic_us();

        if (left_us <= 0)
            return error_set(e, ST_TIMEOUT, "no answer in time");
        if (poll(p, 2, (int)(left_us / 1000) + 1) < 0 && errno != EINTR)
            return error_set(e, ST_IO, "poll: %m");
        if (p[1].revents != 0)
            return error_set(e, ST_BUSY, "told to stop");
        if (p[0].revents != 0)
            return ST_OK;
    }
}

static enum status
connect_one(struct dial *d, const struct addrinfo *a, struct error *e)
{
    socklen_t size = sizeof(int);
    int one = 1, err = 0;
    enum status st;

    d->c->fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->c->fd < 0)
        return error_set(e, ST_IO, "no socket: %m");
    (void)setsockopt(d->c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(d->c->fd, a->ai_addr, a->ai_addrlen) == 0)
        return ST_OK;
    if (errno != EINPROGRESS)
        return error_set(e, ST_IO, "cannot connect: %m");
    st = dial_wait(d, POLLOUT, e);
    if (st != ST_OK)
        return st;
    if (getsockopt(d->c->fd, SOL_SOCKET, SO_ERROR, &err, &size) != 0)
        err = errno;
    return err == 0 ? ST_OK
                    : error_set(e, ST_IO, "cannot connect: %s", strerror(err));
}

static enum status
dial_connect(struct dial *d, struct error *e)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    enum status st = ST_IO;
    int err = getaddrinfo(d->host, d->port, &hints, &all);

    if (err != 0)
        return error_set(e, ST_IO, "'%s': %s", d->host, gai_strerror(err));
    for (struct addrinfo *a = all; a != NULL && st != ST_OK && st != ST_BUSY;
         a = a->ai_next) {
        if (d->c->fd >= 0)
            (void)close(d->c->fd);
        st = connect_one(d, a, e);
    }
    freeaddrinfo(all);
    return st;
}

static enum status
shake_hands(struct dial *d, struct error *e)
{
    const struct channel_tls *t = d->target->tls;
    gnutls_session_t s;
    enum status st;
    int rc;

    INSIST(gnutls_init(&s, GNUTLS_CLIENT | GNUTLS_NONBLOCK |
                               GNUTLS_NO_SIGNAL) == 0);
    d->c->session = s;
    INSIST(gnutls_set_default_priority(s) == 0);
    INSIST(gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, t->credentials) ==
           0);
    if (!t->any)
        gnutls_session_set_verify_cert(s, d->host, 0);
    gnutls_transport_set_int(s, d->c->fd);
    while ((rc = gnutls_handshake(s)) < 0) {
        if (gnutls_error_is_fatal(rc) != 0)
            return error_set(e, ST_IO, "no TLS: %s", gnutls_strerror(rc));
        st = dial_wait(
            d, gnutls_record_get_direction(s) != 0 ? POLLOUT : POLLIN, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
dial_send(const struct dial *d, struct slice s, struct error *e)
{
    enum status st = ST_OK;

    while (s.size > 0 && st == ST_OK) {
        ssize_t n = channel_send(d->c, s);

        if (n < 0)
            return error_set(e, ST_IO, "hello: cannot send: %m");
        s = slice_of(s.data + n, s.size - (size_t)n);
        if (n == 0)
            st = dial_wait(d, POLLOUT, e);
    }
    return st;
}

/* The server's hello.  What is wrong with its first bytes is told at once: it
 * sends no more when the version is another one. */
static enum status
hear_answer(const struct dial *d, const struct hello *h, uint8_t *in,
            struct error *e)
{
    size_t size = 0;
    enum status st = ST_OK;

    while (size < HELLO_ANSWER_SIZE && st == ST_OK) {
        ssize_t n = channel_receive(d->c, in + size, HELLO_ANSWER_SIZE - size);

        if (n < 0)
            return error_set(e, ST_IO,
                             "hello: the connection was closed by the peer");
        size += (size_t)n;
        st = n == 0 ? dial_wait(d, POLLIN, e)
                    : hello_check_mark(h,
                                       slice_of(in, size < HELLO_MARK_SIZE
                                                        ? size
                                                        : HELLO_MARK_SIZE),
                                       e);
    }
    return st;
}

static enum status
say_hello(const struct dial *d, struct error *e)
{
    uint8_t ask[HELLO_ASK_SIZE], in[HELLO_ANSWER_SIZE], proof[HELLO_PROOF_SIZE];
    struct hello h;
    enum status st;

    hello_init(&h, d->target->secret);
    if (d->target->version != 0)
        h.version = d->target->version;
    hello_ask(&h, ask);
    st = dial_send(d, slice_of(ask, sizeof ask), e);
    if (st == ST_OK)
        st = hear_answer(d, &h, in, e);
    if (st == ST_OK)
        st = hello_prove(&h, slice_of(in, sizeof in), proof, e);
    if (st == ST_OK)
        st = dial_send(d, slice_of(proof, sizeof proof), e);
    return st;
}

enum status
channel_dial(const struct channel_target *t, int64_t end_us,
             struct channel **out, struct error *e)
{
    struct channel *c = mem_new(sizeof *c);
    struct dial d = { .target = t, .c = c, .end_us = end_us };
    enum status st;

    c->magic = CHANNEL_MAGIC;
    c->fd = -1;
    lock_init(&c->lock);
    *out = c;
    st = split_address(&d, e);
    if (st == ST_OK)
        st = dial_connect(&d, e);
    if (st == ST_OK && t->tls != NULL)
        st = shake_hands(&d, e);
    if (st == ST_OK)
        st = say_hello(&d, e);
    free(d.host);
    free(d.port);
    if (st != ST_OK)
        channel_close(out);
    return st;
}

void
channel_close(struct channel **c)
{
    struct channel *x = OBJ_TAKE(c, CHANNEL_MAGIC);

    if (x == NULL)
        return;
    if (x->session != NULL)
        gnutls_deinit(x->session);
    if (x->fd >= 0)
        (void)close(x->fd);
    lock_fini(&x->lock);
    OBJ_FREE(x);
}

/* -- bytes ----------------------------------------------------------------- */

int
channel_fd(const struct channel *c)
{
    OBJ_CHECK(c, CHANNEL_MAGIC);
    return c->fd;
}

/* What a call of the socket or of GnuTLS says. */
static ssize_t
channel_result(ssize_t n, bool ended)
{
    if (n > 0)
        return n;
    if (n == 0 && ended) {
        errno = 0;
        return -1;
    }
    return n == 0 || errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static ssize_t
session_result(ssize_t n, bool ended)
{
    if (n < 0) {
        errno = gnutls_error_is_fatal((int)n) != 0 ? EPIPE : EAGAIN;
        n = -1;
    }
    return channel_result(n, ended);
}

ssize_t
channel_send(struct channel *c, struct slice bytes)
{
    ssize_t n;

    OBJ_CHECK(c, CHANNEL_MAGIC);
    if (c->session == NULL)
        return channel_result(
            send(c->fd, bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT),
            false);
    lock_take(&c->lock);
    n = c->resumes ? gnutls_record_send(c->session, NULL, 0)
                   : gnutls_record_send(c->session, bytes.data, bytes.size);
    c->resumes = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED;
    n = session_result(n, false);
    lock_drop(&c->lock);
    return n;
}

ssize_t
channel_receive(struct channel *c, uint8_t *to, size_t size)
{
    ssize_t n;

    OBJ_CHECK(c, CHANNEL_MAGIC);
    if (c->session == NULL)
        return channel_result(recv(c->fd, to, size, MSG_DONTWAIT), true);
    lock_take(&c->lock);
    n = session_result(gnutls_record_recv(c->session, to, size), true);
    lock_drop(&c->lock);
    return n;
}
