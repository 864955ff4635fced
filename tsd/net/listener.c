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
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
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

#define LISTENER_MAGIC FOURCC('L', 'I', 'S', 'T')
#define ACCEPTS_MAX    64 /* a turn */
#define ADDRESSES_MAX  16 /* of a port; a name may have more, which are left */
#define PORT_ATTEMPTS  20 /* to find one that is free for all addresses */
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

/* A socket that listens. */
struct endpoint {
    struct watch socket;
    bool ready; /* in this turn */
    bool is_tls;
    char address[NI_MAXHOST + NI_MAXSERV + 4];
};

struct listener {
    uint32_t magic;
    struct listener_options o;
    struct endpoint endpoints[2 * ADDRESSES_MAX];
    size_t endpoints_len;
    size_t tls_at; /* the first of TLS */
    struct http_server *http;
    struct telnet *telnet;
    struct peer_server *peers; /* NULL: this daemon has no peers */
    int reserve;
    struct loop loop;
    atomic_uint_fast64_t open, open_http, open_telnet;
    struct log_throttle rejected, silent;
};

/* -- binding --------------------------------------------------------------- */

static void
set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* "127.0.0.1:4242", "[::1]:4242" */
static enum status
name_address(struct endpoint *d, struct error *e)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(d->socket.fd, (struct sockaddr *)&a, &size) != 0 ||
        getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return error_set(e, ST_IO, "cannot name the address: %m");
    (void)snprintf(d->address, sizeof d->address,
                   strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
    return ST_OK;
}

static void
set_port(struct sockaddr *a, uint16_t port)
{
    struct sockaddr_in *v4 = (void *)a;
    struct sockaddr_in6 *v6 = (void *)a;

    if (a->sa_family == AF_INET6)
        v6->sin6_port = htons(port);
    else
        v4->sin_port = htons(port);
}

static int
listener_open_socket(const struct listener_options *o, const struct addrinfo *a)
{
    int fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err;

    if (fd < 0)
        return -1;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a->ai_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(fd, o->backlog == 0 ? 3072 : o->backlog) == 0)
        return fd;
    err = errno;
    (void)close(fd);
    errno = err;
    return -1;
}

/* Is it an address that was opened before?  Names are listed for more than one
 * socket type or from more than one source. */
static bool
is_repeated(const struct addrinfo *all, const struct addrinfo *a)
{
    for (; all != a; all = all->ai_next)
        if (all->ai_addrlen == a->ai_addrlen &&
            memcmp(all->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
            return true;
    return false;
}

/* Not an error where there is another address: the machine has no IPv6, or none
 * of its interfaces has the address. */
static bool
is_absent(int err)
{
    return err == EAFNOSUPPORT || err == EADDRNOTAVAIL;
}

static void
close_endpoints(struct listener *l, size_t from)
{
    while (l->endpoints_len > from)
        (void)close(l->endpoints[--l->endpoints_len].socket.fd);
}

/* Opens all of these addresses, with one port: that of the first, if 'port' is
 * 0.  Returns 0, or the errno of the address that failed. */
static int
open_addresses(struct listener *l, struct addrinfo *all, bool is_tls,
               uint16_t port, struct error *e)
{
    size_t from = l->endpoints_len;
    int absent = 0;

    for (struct addrinfo *a = all; a != NULL; a = a->ai_next) {
        struct endpoint *d = &l->endpoints[l->endpoints_len];

        if (is_repeated(all, a) || l->endpoints_len - from == ADDRESSES_MAX)
            continue;
        set_port(a->ai_addr, port);
        *d = (struct endpoint){ .is_tls = is_tls };
        d->socket = (struct watch){ .fd = listener_open_socket(&l->o, a),
                                    .data = (uintptr_t)d };
        if (d->socket.fd < 0 && is_absent(errno)) {
            absent = errno;
            continue;
        }
        if (d->socket.fd < 0)
            return errno;
        l->endpoints_len++;
        if (name_address(d, e) != ST_OK)
            return EIO;
        port = (uint16_t)atoi(strrchr(d->address, ':') + 1);
    }
    return l->endpoints_len == from ? absent : 0;
}

/* All addresses of the machine are two sockets, so that clients of IPv4 keep
 * their addresses as they are. */
static int
find_addresses(const char *host, bool is_any, struct addrinfo **out)
{
    struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *v6 = NULL;
    int err = getaddrinfo(is_any ? "0.0.0.0" : host, "0", &hints, out);

    if (err == 0 && is_any && getaddrinfo("::", "0", &hints, &v6) == 0)
        (*out)->ai_next = v6;
    return err;
}

/* 'bind_to': NULL, "", "0.0.0.0" and "::" are all addresses of both families,
 * as for Java; a name is each address of it.  An address of IPv6 may have
 * brackets. */
static enum status
open_endpoints(struct listener *l, const char *bind_to, uint16_t port,
               bool is_tls, struct error *e)
{
    struct slice host = slice_str(bind_to == NULL ? "" : bind_to);
    size_t from = l->endpoints_len;
    struct addrinfo *all = NULL;
    bool is_any;
    char *text;
    int err;

    if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_of(host.data + 1, host.size - 2);
    is_any = host.size == 0 || slice_eq_str(host, "0.0.0.0") ||
             slice_eq_str(host, "::");
    text = mem_strndup(host.data, host.size);
    err = find_addresses(text, is_any, &all);
    free(text);
    if (err != 0)
        return error_set(e, ST_INVALID, "cannot listen on '%s': %s", bind_to,
                         gai_strerror(err));
    /* A port that is free for one address need not be free for the others. */
    for (int i = 0; i < PORT_ATTEMPTS; i++) {
        err = open_addresses(l, all, is_tls, port, e);
        if (err == 0 || err != EADDRINUSE || port != 0)
            break;
        close_endpoints(l, from);
    }
    freeaddrinfo(all);
    return err == 0 ? ST_OK
                    : error_set(e, ST_IO, "cannot listen on %s port %u: %s",
                                is_any ? "all addresses" : bind_to,
                                (unsigned)port, strerror(err));
}

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
    enum status status;

    l->magic = LISTENER_MAGIC;
    l->o = *o;
    status = loop_init(&l->loop, &listener_calls, l, tick_ms(o), e);
    l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (status == ST_OK && l->reserve < 0)
        status = error_set(e, ST_IO, "/dev/null: %m");
    if (status == ST_OK)
        status = open_endpoints(l, o->bind, o->port, false, e);
    l->tls_at = l->endpoints_len;
    if (status == ST_OK && o->tls != NULL)
        status = open_endpoints(l, o->tls_bind, o->tls_port, true, e);
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
    return l->endpoints[0].address;
}

const char *
listener_tls_address(const struct listener *l)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    return l->endpoints_len > l->tls_at ? l->endpoints[l->tls_at].address
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
listener_set_up(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* A peer that vanished is noticed after about four minutes. */
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 120);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 30);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
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

static void
note_silence(struct listener *l, const struct pending_conn *s)
{
    char peer[ADDRESS_NAME_SIZE], more[LOG_MORE_SIZE];

    counter_add(CNT_CONN_TIMEOUT, 1);
    if (!log_throttle_pass(&l->silent, more))
        return;
    address_name((const struct sockaddr *)&s->peer, peer, sizeof peer);
    log_warn("listener",
             "cut off %s, which said nothing for tsd.core.socket.timeout%s",
             peer, more);
}

/* Closes the connection that has said nothing for longest, if it did for
 * 'us', 0 being for want of room; false: there is none. */
static bool
evict_oldest(struct listener *l, int64_t us)
{
    struct pending_conn *s = (struct pending_conn *)loop_oldest(&l->loop);

    if (s == NULL || clock_monotonic_us() - s->since_us < us)
        return false;
    listener_forget(l, s);
    if (us == 0)
        count_rejected(l);
    else
        note_silence(l, s);
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

static void
hand_over_peer(struct listener *l, const struct pending_conn *s)
{
    struct error e;

    if (peer_server_adopt(l->peers, s->socket.fd,
                          (const struct sockaddr *)&s->peer, &e) == ST_OK)
        return;
    log_warn("listener", "a peer's connection was closed: %s", e.text);
    listener_peer_closed(l);
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
    if (first[0] == FRAME_MARK && l->peers != NULL)
        hand_over_peer(l, s);
    else if (seen.size < (size_t)n &&
             recv(s->socket.fd, first, (size_t)n - seen.size, MSG_DONTWAIT) < 0)
        listener_hang_up(l, s->socket.fd);
    else
        hand_over(l, s, http);
}

/* -- accepting ------------------------------------------------------------- */

static void
pause_accepting(struct listener *l, bool pause)
{
    for (size_t i = 0; i < l->endpoints_len; i++)
        loop_watch(&l->loop, &l->endpoints[i].socket, pause ? 0 : EPOLLIN);
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
    listener_set_up(fd);
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

    for (size_t i = 0; i < l->endpoints_len; i++)
        if (data == l->endpoints[i].socket.data) {
            l->endpoints[i].ready = true;
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

    for (size_t i = 0; i < l->endpoints_len; i++) {
        struct endpoint *d = &l->endpoints[i];

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
    for (size_t i = 1; i < l->endpoints_len; i++)
        if (i != l->tls_at) /* the daemon logs the first of each port */
            log_info("listener", "also listening on %s",
                     l->endpoints[i].address);
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
                 i < ACCEPTS_MAX * 64 && accept_one(l, &l->endpoints[k]); i++)
                ;
    }
    close_endpoints(l, 0);
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
