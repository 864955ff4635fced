/* See cluster/peer/channel.h. */
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
#include "base/process/counters.h"
#include "base/mem.h"
#include "base/obj.h"

#define CHANNEL_MAGIC     FOURCC('C', 'H', 'A', 'N')
#define CHANNEL_TLS_MAGIC FOURCC('C', 'H', 'T', 'L')
#define STOP_US           INT64_C(50000) /* so often 'stop' is looked at */
#define ROOM_BYTES        ((size_t)64 << 10)
#define KEEP_BYTES        ((size_t)1 << 20) /* of an empty buffer's memory */

struct channel_tls {
    uint32_t magic;
    gnutls_certificate_credentials_t credentials;
    bool any;
};

struct channel {
    uint32_t magic;
    int fd;
    unsigned stall_ms;        /* 0: calls have until their 'end_us' */
    const atomic_bool *stop;  /* NULL: they are not told to stop */
    gnutls_session_t session; /* NULL: in the clear */
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

/* -- bytes ----------------------------------------------------------------- */

/* Waits until the socket is ready for 'events'. */
static enum status
channel_wait(const struct channel *c, short events, int64_t end_us,
             struct error *e)
{
    struct pollfd p = { .fd = c->fd, .events = events };
    int n = 0;

    while (n == 0) {
        int64_t left_us = end_us - clock_monotonic_us();

        if (c->stop != NULL && atomic_load(c->stop))
            return error_set(e, ST_BUSY, "told to stop");
        if (left_us <= 0)
            return error_set(e, ST_TIMEOUT, "no answer in time");
        if (c->stop != NULL && left_us > STOP_US)
            left_us = STOP_US;
        n = poll(&p, 1,
                 left_us > 1000000000 ? 1000000 : (int)(left_us / 1000) + 1);
        if (n < 0 && errno == EINTR)
            n = 0;
    }
    return n > 0 ? ST_OK : error_set(e, ST_IO, "poll: %m");
}

/* When a wait ends. */
static int64_t
stall_end(const struct channel *c, int64_t end_us)
{
    return c->stall_ms == 0
               ? end_us
               : clock_monotonic_us() + (int64_t)c->stall_ms * 1000;
}

/* How many bytes; 0: not now; -1: the connection has ended. */
static ssize_t
send_now(const struct channel *c, struct slice s)
{
    ssize_t n;

    if (c->session != NULL) {
        n = gnutls_record_send(c->session, s.data, s.size);
        return n >= 0 ? n : gnutls_error_is_fatal((int)n) != 0 ? -1 : 0;
    }
    n = send(c->fd, s.data, s.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

static ssize_t
receive_now(const struct channel *c, uint8_t *to, size_t size)
{
    ssize_t n;

    if (c->session != NULL) {
        n = gnutls_record_recv(c->session, to, size);
        return n > 0                                          ? n
               : n == 0 || gnutls_error_is_fatal((int)n) != 0 ? -1
                                                              : 0;
    }
    n = recv(c->fd, to, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n == 0 ? -1 : n;
}

static enum status
send_all(const struct channel *c, struct slice s, int64_t end_us,
         struct error *e)
{
    enum status st = ST_OK;

    while (s.size > 0 && st == ST_OK) {
        ssize_t n = send_now(c, s);

        if (n < 0)
            return error_set(e, ST_IO, "connection lost while sending");
        counter_add(CNT_PEER_BYTES_SENT, (uint64_t)n);
        s = slice_of(s.data + n, s.size - (size_t)n);
        if (n == 0)
            st = channel_wait(c, POLLOUT, stall_end(c, end_us), e);
    }
    return st;
}

/* At least one byte and at most 'size'. */
static enum status
receive_some(const struct channel *c, uint8_t *to, size_t size, int64_t end_us,
             size_t *got, struct error *e)
{
    enum status st = ST_OK;
    ssize_t n;

    *got = 0;
    while ((n = receive_now(c, to, size)) == 0 && st == ST_OK)
        st = channel_wait(c, POLLIN, end_us, e);
    if (n < 0)
        return error_set(e, ST_IO, "the connection was closed by the peer");
    *got = (size_t)n;
    counter_add(CNT_PEER_BYTES_RECEIVED, (uint64_t)n);
    return n > 0 ? ST_OK : st;
}

static enum status
receive_all(const struct channel *c, uint8_t *to, size_t size, int64_t end_us,
            struct error *e)
{
    enum status st = ST_OK;
    size_t got;

    for (; size > 0 && st == ST_OK; size -= got, to += got)
        st = receive_some(c, to, size, end_us, &got, e);
    return st;
}

/* -- hello ----------------------------------------------------------------- */

static struct hello
hello_of(const struct channel_target *t)
{
    struct hello h;

    hello_init(&h, t->secret);
    if (t->version != 0)
        h.version = t->version;
    return h;
}

/* Checks the mark before it waits for the rest of the hello: a peer of another
 * version sends nothing more. */
static enum status
receive_hello(const struct channel *c, const struct hello *h, uint8_t *in,
              size_t size, int64_t end_us, struct error *e)
{
    enum status st = receive_all(c, in, HELLO_MARK_SIZE, end_us, e);

    if (st == ST_OK)
        st = hello_check_mark(h, slice_of(in, HELLO_MARK_SIZE), e);
    if (st == ST_OK)
        st = receive_all(c, in + HELLO_MARK_SIZE, size - HELLO_MARK_SIZE,
                         end_us, e);
    return st;
}

enum status
channel_hear(struct channel *c, const struct channel_target *t, int64_t end_us,
             struct error *e)
{
    uint8_t in[HELLO_ASK_SIZE], answer[HELLO_ANSWER_SIZE] = { 0 },
                                proof[HELLO_PROOF_SIZE];
    struct hello h = hello_of(t);
    enum status st;

    OBJ_CHECK(c, CHANNEL_MAGIC);
    st = receive_hello(c, &h, in, sizeof in, end_us, e);
    if (st == ST_CONFLICT) { /* so that both sides can name both versions */
        hello_mark(&h, answer);
        /* Bytes that were not read would have the socket reset. */
        (void)!receive_all(c, in + HELLO_MARK_SIZE, HELLO_NONCE_SIZE, end_us,
                           NULL);
        (void)!send_all(c, slice_of(answer, HELLO_MARK_SIZE), end_us, NULL);
    }
    if (st == ST_OK)
        st = hello_answer(&h, slice_of(in, sizeof in), answer, e);
    if (st == ST_OK)
        st = send_all(c, slice_of(answer, sizeof answer), end_us, e);
    if (st == ST_OK)
        st = receive_all(c, proof, sizeof proof, end_us, e);
    return st == ST_OK ? hello_check(&h, slice_of(proof, sizeof proof), e) : st;
}

/* -- dialing --------------------------------------------------------------- */

/* A name and a port of it, on their way to a channel. */
struct dial {
    const struct channel_target *target;
    struct channel *c;
    char *host, *port;
    int64_t end_us;
};

/* The kernel ends a connection whose machine is silent for 'silence_ms',
 * whether something is sent or not.  A process that stands still is not silent.
 */
static void
set_options(int fd, unsigned silence_ms)
{
    int one = 1, ms = (int)silence_ms, s = ms < 4000 ? 1 : ms / 4000;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &s, sizeof s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &s, sizeof s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

static enum status
connect_one(struct dial *d, const struct addrinfo *a, struct error *e)
{
    socklen_t size = sizeof(int);
    int err = 0;
    enum status st;

    d->c->fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->c->fd < 0)
        return error_set(e, ST_IO, "no socket: %m");
    set_options(d->c->fd, d->target->silence_ms);
    if (connect(d->c->fd, a->ai_addr, a->ai_addrlen) == 0)
        return ST_OK;
    if (errno != EINPROGRESS)
        return error_set(e, ST_IO, "cannot connect: %m");
    st = channel_wait(d->c, POLLOUT, d->end_us, e);
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
        st = channel_wait(
            d->c, gnutls_record_get_direction(s) != 0 ? POLLOUT : POLLIN,
            d->end_us, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

struct channel *
channel_of_socket(int fd, unsigned stall_ms)
{
    struct channel *c = mem_new(sizeof *c);

    c->magic = CHANNEL_MAGIC;
    c->fd = fd;
    c->stall_ms = stall_ms;
    return c;
}

enum status
channel_dial(const struct channel_target *t, int64_t end_us,
             struct channel **out, struct error *e)
{
    struct channel *c = channel_of_socket(-1, 0);
    struct dial d = { .target = t, .c = c, .end_us = end_us };
    enum status st;
    const char *at, *colon;
    size_t size;

    c->stop = t->stop;
    *out = c;
    at = d.target->address;
    colon = strrchr(at, ':');
    size = colon == NULL ? 0 : (size_t)(colon - at);
    if (size == 0 || colon[1] == '\0') {
        st = error_set(e, ST_INVALID, "'%s' is no HOST:PORT", at);
    } else {
        if (size > 2 && at[0] == '[' && at[size - 1] == ']') {
            at++;
            size -= 2;
        }
        d.host = mem_strndup(at, size);
        d.port = mem_strdup(colon + 1);
        st = ST_OK;
    }
    if (st == ST_OK)
        st = dial_connect(&d, e);
    if (st == ST_OK && t->tls != NULL)
        st = shake_hands(&d, e);
    if (st == ST_OK) {
        uint8_t ask[HELLO_ASK_SIZE], in[HELLO_ANSWER_SIZE],
            proof[HELLO_PROOF_SIZE];
        struct hello h = hello_of(t);

        hello_ask(&h, ask);
        st = send_all(c, slice_of(ask, sizeof ask), end_us, e);
        if (st == ST_OK)
            st = receive_hello(c, &h, in, sizeof in, end_us, e);
        if (st == ST_OK)
            st = hello_prove(&h, slice_of(in, sizeof in), proof, e);
        if (st == ST_OK)
            st = send_all(c, slice_of(proof, sizeof proof), end_us, e);
    }
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
    OBJ_FREE(x);
}

void
channel_shutdown(const struct channel *c)
{
    OBJ_CHECK(c, CHANNEL_MAGIC);
    (void)shutdown(c->fd, SHUT_RDWR);
}

bool
channel_is_quiet(const struct channel *c)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLRDHUP };

    OBJ_CHECK(c, CHANNEL_MAGIC);
    return poll(&p, 1, 0) == 0;
}

/* -- frames ---------------------------------------------------------------- */

enum status
channel_send(struct channel *c, const struct buf *frame, int64_t end_us,
             struct error *e)
{
    OBJ_CHECK(c, CHANNEL_MAGIC);
    if (frame->failed)
        return error_set(e, ST_BUSY, "no memory for a frame");
    counter_add(CNT_PEER_FRAMES_SENT, 1);
    return send_all(c, buf_slice(frame), end_us, e);
}

/* More of a frame, into room for 'size' bytes. */
static enum status
receive_more(const struct channel *c, struct buf *in, size_t size,
             int64_t end_us, struct error *e)
{
    uint8_t *to = buf_reserve(in, size);
    size_t got = 0;
    enum status st;

    if (to == NULL)
        return error_set(e, ST_BUSY, "no memory for a frame");
    st = receive_some(c, to, size, end_us, &got, e);
    in->size += got;
    return st;
}

enum status
channel_receive(struct channel *c, size_t max, struct channel_frame *out,
                int64_t end_us, struct error *e)
{
    struct buf *in = &out->bytes;
    size_t size = 0, all = FRAME_HEAD_SIZE;
    enum status st;

    OBJ_CHECK(c, CHANNEL_MAGIC);
    if (in->cap > KEEP_BYTES)
        buf_fini(in);
    buf_clear(in);
    st = receive_more(c, in, ROOM_BYTES, end_us, e);
    while (st == ST_OK && in->size < FRAME_HEAD_SIZE)
        st = receive_more(c, in, ROOM_BYTES, stall_end(c, end_us), e);
    if (st == ST_OK)
        st = frame_read_head(slice_of(in->data, FRAME_HEAD_SIZE), max,
                             &out->kind, &size, e);
    all += size + FRAME_TAIL_SIZE;
    while (st == ST_OK && in->size < all)
        st = receive_more(c, in, all - in->size, stall_end(c, end_us), e);
    if (st == ST_OK && in->size > all)
        st = error_set(e, ST_CORRUPT, "more bytes than a frame has");
    if (st == ST_OK)
        st = frame_read(buf_slice(in), &out->payload, e);
    counter_add(CNT_PEER_FRAMES_RECEIVED, st == ST_OK);
    return st;
}
