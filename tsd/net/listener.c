/* See tsd/net/listener.h.  A thread with an epoll of its own holds the
 * listening socket and those connections that have not said anything yet.
 *
 * When file descriptors run out, accept() fails and the connection stays in the
 * queue, so epoll would report it again at once, for ever.  One descriptor is
 * kept in reserve: given up for a moment, it lets the connection be accepted
 * and closed. */
#include "tsd/net/listener.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/process/log_throttle.h"
#include "base/process/loop.h"
#include "base/address.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/net/endpoints.h"

#define LISTENER_MAGIC FOURCC('L', 'I', 'S', 'T')
#define ACCEPTS_MAX    64 /* a turn */
#define PAUSE_MS       20 /* when there is no descriptor at all */
#define TICK_MS        1000u

/* A connection before its first byte. */
struct pending_conn {
    struct loop_conn link;
    struct watch socket;
    int64_t since_us;
    socklen_t peer_size;
    struct sockaddr_storage peer;
};

struct listener {
    uint32_t magic;
    struct listener_options o;
    struct endpoints endpoints;
    size_t tls_at; /* the first of TLS */
    struct http_server *http;
    struct telnet *telnet;
    struct peer_server *peers; /* NULL: this daemon has no peers */
    int reserve;
    struct loop loop;
    atomic_uint_fast64_t open, open_http, open_telnet;
    struct log_throttle rejected, silent;
};

static const struct loop_calls listener_calls;

static unsigned
tick_ms(const struct listener_options *o)
{
    unsigned ms = o->idle_ms / 4;

    return ms == 0 || ms > TICK_MS ? TICK_MS : ms < 10 ? 10 : ms;
}

enum status
listener_open(const struct listener_options *o, struct listener **out,
              struct error *e)
{
    struct listener *l = mem_new(sizeof *l);
    const struct endpoint_place plain = { o->bind, o->port, o->backlog, false };
    const struct endpoint_place tls = { o->tls_bind, o->tls_port, o->backlog,
                                        true };
    enum status status;

    l->magic = LISTENER_MAGIC;
    l->o = *o;
    status = loop_init(&l->loop, &listener_calls, l, tick_ms(o), e);
    l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (status == ST_OK && l->reserve < 0)
        status = error_set(e, ST_IO, "/dev/null: %m");
    if (status == ST_OK)
        status = endpoints_open(&l->endpoints, &plain, e);
    l->tls_at = l->endpoints.len;
    if (status == ST_OK && o->tls != NULL)
        status = endpoints_open(&l->endpoints, &tls, e);
    l->o.bind = l->o.tls_bind = NULL; /* were lent */
    *out = l;
    if (status != ST_OK)
        listener_close(out);
    return status;
}

const char *
listener_address(const struct listener *l)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    return l->endpoints.all[0].address;
}

const char *
listener_tls_address(const struct listener *l)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    return l->endpoints.len > l->tls_at ? l->endpoints.all[l->tls_at].address
                                        : NULL;
}

/* -- connections ----------------------------------------------------------- */

void
listener_http_closed(void *listener)
{
    struct listener *l = listener;

    OBJ_CHECK(l, LISTENER_MAGIC);
    (void)atomic_fetch_sub(&l->open_http, 1);
    (void)atomic_fetch_sub(&l->open, 1);
}

void
listener_telnet_closed(void *listener)
{
    struct listener *l = listener;

    OBJ_CHECK(l, LISTENER_MAGIC);
    (void)atomic_fetch_sub(&l->open_telnet, 1);
    (void)atomic_fetch_sub(&l->open, 1);
}

void
listener_peer_closed(void *listener)
{
    struct listener *l = listener;

    OBJ_CHECK(l, LISTENER_MAGIC);
    (void)atomic_fetch_sub(&l->open, 1);
}

static void
listener_hang_up(struct listener *l, int fd)
{
    (void)close(fd);
    (void)atomic_fetch_sub(&l->open, 1);
}

static void
count_rejected(struct listener *l)
{
    char more[LOG_MORE_SIZE];

    counter_add(CNT_CONN_REJECTED, 1);
    if (log_throttle_pass(&l->rejected, more))
        log_warn("listener",
                 "a connection was rejected: open now %llu, rejected "
                 "since the start %llu",
                 (unsigned long long)atomic_load(&l->open),
                 (unsigned long long)counter_get(CNT_CONN_REJECTED));
}

static void
listener_reject(struct listener *l, int fd)
{
    count_rejected(l);
    (void)close(fd); /* last: who sees the end finds it counted */
}

static void
wait_first_byte(struct listener *l, int fd, const struct sockaddr_storage *peer,
                socklen_t peer_size)
{
    struct pending_conn *s = mem_new(sizeof *s);

    s->socket = (struct watch){ .fd = fd, .data = (uintptr_t)s };
    s->peer = *peer;
    s->peer_size = peer_size;
    s->since_us = clock_monotonic_us();
    if (loop_add(&l->loop, &s->link, &s->socket, EPOLLIN))
        return;
    free(s);
    listener_hang_up(l, fd);
}

/* Its socket is not ours to close. */
static void
listener_forget(struct listener *l, struct pending_conn *s)
{
    loop_watch(&l->loop, &s->socket, 0);
    loop_end(&l->loop, &s->link);
}

/* Closes the connection that has said nothing for longest, if it did for
 * 'us', 0 being for want of room; false: there is none. */
static bool
evict_oldest(struct listener *l, int64_t us)
{
    struct pending_conn *s = (struct pending_conn *)loop_oldest(&l->loop);
    char peer[ADDRESS_NAME_SIZE], more[LOG_MORE_SIZE];

    if (s == NULL || clock_monotonic_us() - s->since_us < us)
        return false;
    listener_forget(l, s);
    if (us == 0)
        count_rejected(l);
    else
        counter_add(CNT_CONN_TIMEOUT, 1);
    if (us != 0 && log_throttle_pass(&l->silent, more)) {
        address_name((const struct sockaddr *)&s->peer, peer, sizeof peer);
        log_warn("listener",
                 "cut off %s, which said nothing for tsd.core.socket.timeout%s",
                 peer, more);
    }
    listener_hang_up(l, s->socket.fd);
    return true;
}

static void
evict_idle(void *listener, int64_t now_us)
{
    struct listener *l = listener;

    while (l->o.idle_ms > 0 && evict_oldest(l, (int64_t)l->o.idle_ms * 1000))
        ;
}

/* Hands the connection over; it is not ours afterwards, taken or not. */
static void
hand_over(struct listener *l, const struct pending_conn *s, bool is_http)
{
    const struct sockaddr *peer = (const struct sockaddr *)&s->peer;
    struct error e;
    enum status status;

    if (is_http ? l->http == NULL : l->telnet == NULL) {
        listener_hang_up(l, s->socket.fd);
        return;
    }
    (void)atomic_fetch_add(is_http ? &l->open_http : &l->open_telnet, 1);
    status = is_http ? http_server_adopt_socket(l->http, s->socket.fd, peer,
                                                s->peer_size, &e)
                     : telnet_adopt_socket(l->telnet, s->socket.fd, peer,
                                           s->peer_size, &e);
    if (status != ST_OK) {
        log_warn("listener", "a connection was closed: %s", e.text);
        (is_http ? listener_http_closed : listener_telnet_closed)(l);
    }
}

/* "PUT m 1 1 a=b", "VERSION": a whole line that cannot be the first of an HTTP
 * request, and is answered as an unknown command.  HTTP rejects all else. */
static bool
is_uppercase_telnet(struct slice s)
{
    const uint8_t *end = memchr(s.data, '\n', s.size);
    size_t i = 0;

    if (end == NULL)
        return false;
    s.size = (size_t)(end - s.data);
    if (s.size > 0 && s.data[s.size - 1] == '\r')
        s.size--;
    while (i < s.size && isalpha(s.data[i]))
        i++;
    s = slice_of(s.data + i, s.size - i);
    if (s.size == 0)
        return true;
    return s.size > 1 && s.data[0] == ' ' && s.data[1] != '/' &&
           s.data[1] != '*' && memmem(s.data, s.size, "://", 3) == NULL &&
           memmem(s.data, s.size, " HTTP/", 6) == NULL;
}

/* Is it HTTP?  The empty lines before a request line, which RFC 9112 (2.2)
 * wants ignored, are cut off '*s' then. */
static bool
is_http(struct slice *s)
{
    struct slice left = *s;

    while (left.size > 0 && (left.data[0] == '\r' || left.data[0] == '\n'))
        left = slice_of(left.data + 1, left.size - 1);
    if (left.size == 0 || left.data[0] < 'A' || left.data[0] > 'Z' ||
        is_uppercase_telnet(left))
        return false;
    *s = left;
    return true;
}

static void
detect_protocol(struct listener *l, struct pending_conn *s)
{
    uint8_t first[2048];
    ssize_t n =
        recv(s->socket.fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    struct slice seen;
    struct error e;
    bool http;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    listener_forget(l, s);
    if (n <= 0) {
        listener_hang_up(l, s->socket.fd);
        return;
    }
    seen = slice_of(first, (size_t)n);
    http = is_http(&seen);
    if (first[0] == FRAME_MARK && l->peers != NULL) {
        if (peer_server_adopt(l->peers, s->socket.fd,
                              (const struct sockaddr *)&s->peer, &e) != ST_OK) {
            log_warn("listener", "a peer's connection was closed: %s", e.text);
            listener_peer_closed(l);
        }
        return;
    }
    if (seen.size < (size_t)n &&
        recv(s->socket.fd, first, (size_t)n - seen.size, MSG_DONTWAIT) < 0)
        listener_hang_up(l, s->socket.fd);
    else
        hand_over(l, s, http);
}

/* -- accepting ------------------------------------------------------------- */

static void
pause_accepting(struct listener *l, bool pause)
{
    for (size_t i = 0; i < l->endpoints.len; i++)
        loop_watch(&l->loop, &l->endpoints.all[i].socket, pause ? 0 : EPOLLIN);
    l->loop.wait_ms = pause ? PAUSE_MS : 0;
}

/* There is no descriptor left: false when not even the reserve helps. */
static bool
reject_by_reserve(struct listener *l, const struct endpoint *d)
{
    int fd;

    if (l->reserve >= 0)
        (void)close(l->reserve);
    fd = accept4(d->socket.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        listener_reject(l, fd);
    l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* No room for one more, even if a pending one is closed?  Connections behind
 * TLS count twice: the TLS side may outlive its backend. */
static bool
listener_is_full(struct listener *l)
{
    size_t max = l->o.max_connections;

    if (max == 0)
        return false;
    if (l->o.tls != NULL && tls_connections(l->o.tls) >= max)
        return true;
    return atomic_load(&l->open) >= max && !evict_oldest(l, 0);
}

/* The end of a pair that stands for 'fd', and has ended where TLS did not take
 * it; -1: there is none, and 'fd' is closed. */
static int
put_behind_tls(struct listener *l, int fd)
{
    struct error e;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   pair) != 0) {
        listener_reject(l, fd);
        return -1;
    }
    if (tls_adopt_sockets(l->o.tls, fd, pair[1], &e) != ST_OK)
        log_warn("listener", "a connection was closed: %s", e.text);
    return pair[0];
}

/* One connection; false when there is none. */
static bool
accept_one(struct listener *l, const struct endpoint *d)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int fd = accept4(d->socket.fd, (struct sockaddr *)&peer, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) {
            if (evict_oldest(l, 0) || reject_by_reserve(l, d))
                return true;
            pause_accepting(l, true);
            return false;
        }
        /* A fault of the connection: keep accepting. */
        return errno == EINTR || errno == ECONNABORTED;
    }
    if (listener_is_full(l)) {
        listener_reject(l, fd);
        return true;
    }
    socket_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* A peer that vanished is noticed after about four minutes. */
    socket_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    socket_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 120);
    socket_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 30);
    socket_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    if (d->is_tls && (fd = put_behind_tls(l, fd)) < 0)
        return true;
    (void)atomic_fetch_add(&l->open, 1);
    counter_add(CNT_CONN_TOTAL, 1);
    wait_first_byte(l, fd, &peer, size);
    return true;
}

static void
resume_accepting(void *listener)
{
    pause_accepting(listener, false);
}

static void
listener_on_event(void *listener, uint64_t data, uint32_t events)
{
    struct listener *l = listener;
    struct pending_conn *s = (struct pending_conn *)(uintptr_t)data;

    for (size_t i = 0; i < l->endpoints.len; i++)
        if (data == l->endpoints.all[i].socket.data) {
            l->endpoints.all[i].ready = true;
            return;
        }
    if (s != NULL && !s->link.dead)
        detect_protocol(l, s);
}

/* Last, since it may close pending connections, of which some were ready. */
static void
accept_ready(void *listener)
{
    struct listener *l = listener;

    for (size_t i = 0; i < l->endpoints.len; i++) {
        struct endpoint *d = &l->endpoints.all[i];

        for (int k = 0; d->ready && k < ACCEPTS_MAX && accept_one(l, d); k++)
            ;
        d->ready = false;
    }
}

static const struct loop_calls listener_calls = {
    .begin = resume_accepting,
    .event = listener_on_event,
    .end = accept_ready,
    .tick = evict_idle,
};

void
listener_serve_peers(struct listener *l, struct peer_server *peers)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    l->peers = peers;
}

enum status
listener_start(struct listener *l, struct http_server *http,
               struct telnet *telnet, struct error *e)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    l->http = http;
    l->telnet = telnet;
    for (size_t i = 1; i < l->endpoints.len; i++)
        if (i != l->tls_at) /* the daemon logs the first of each port */
            log_info("listener", "also listening on %s",
                     l->endpoints.all[i].address);
    resume_accepting(l);
    return loop_start(&l->loop, e);
}

void
listener_stop(struct listener *l)
{
    struct pending_conn *s;

    OBJ_CHECK(l, LISTENER_MAGIC);
    if (l->loop.thread.runs) {
        loop_stop(&l->loop);
        /* Those whom the kernel has welcomed in our name.  Behind TLS nothing
         * could be heard of them before all ends. */
        for (size_t k = 0; k < l->tls_at; k++)
            for (int i = 0;
                 i < ACCEPTS_MAX * 64 && accept_one(l, &l->endpoints.all[k]);
                 i++)
                ;
    }
    endpoints_close(&l->endpoints, 0);
    while ((s = (struct pending_conn *)loop_oldest(&l->loop)) != NULL) {
        /* A byte may have come since: then it deserves its answer. */
        detect_protocol(l, s);
        if (!s->link.dead)
            (void)evict_oldest(l, 0);
    }
}

void
listener_close(struct listener **l)
{
    struct listener *x = OBJ_TAKE(l, LISTENER_MAGIC);

    if (x == NULL)
        return;
    listener_stop(x);
    loop_fini(&x->loop);
    if (x->reserve >= 0)
        (void)close(x->reserve);
    OBJ_FREE(x);
}

struct listener_counts
listener_counts(void *listener)
{
    struct listener *l = listener;

    OBJ_CHECK(l, LISTENER_MAGIC);
    return (struct listener_counts){
        .open = atomic_load(&l->open),
        .http = atomic_load(&l->open_http),
        .telnet = atomic_load(&l->open_telnet),
        .tls = l->o.tls == NULL ? 0 : tls_connections(l->o.tls),
    };
}
