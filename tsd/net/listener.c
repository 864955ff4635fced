/*
 * See tsd/net/listener.h.  A thread with an epoll of its own holds the
 * listening socket and those connections that have not said anything yet.
 *
 * When file descriptors run out, accept() fails and the connection stays in the
 * queue, so epoll would report it again at once, for ever.  One descriptor is
 * kept in reserve: given up for a moment, it lets the connection be accepted
 * and closed.
 */
#include "config.h"

#include "tsd/net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"

#define LISTENER_MAGIC FOURCC('L', 'I', 'S', 'T')
#define EVENTS_MAX     64
#define ACCEPTS_MAX    64 /* a turn */
#define PAUSE_MS       20 /* when there is no descriptor at all */
#define COMPLAIN_US    INT64_C(60000000) /* at most so often, of one thing */

/* A connection before its first byte. */
struct silent {
    int fd;
    struct silent *next, *prev; /* younger ones first */
    int64_t since_us;
    socklen_t peer_size;
    struct sockaddr_storage peer;
};

/* A port. */
struct door {
    int fd;
    bool is_tls;
    char address[NI_MAXHOST + NI_MAXSERV + 4];
};

struct listener {
    uint32_t magic;
    struct listener_options o;
    struct door doors[2];
    size_t doors_len;
    struct http_server *http;
    struct telnet *telnet;
    int epoll, wake, reserve;
    bool running, paused;
    pthread_t thread;
    atomic_bool stopping;
    atomic_uint_fast64_t open, accepted, rejected;
    struct silent *silents, *oldest; /* the thread's */
    int64_t complain_us; /* the thread's: silent till then about rejections */
};

/* -- binding --------------------------------------------------------------- */

static void
set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* "127.0.0.1:4242", "[::1]:4242" */
static enum status
name_address(struct door *d, struct error *e)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(d->fd, (struct sockaddr *)&a, &size) != 0 ||
        getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return error_set(e, ST_IO, "cannot name the address: %s",
                         strerror(errno));
    (void)snprintf(d->address, sizeof d->address,
                   strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
    return ST_OK;
}

static int
open_socket(const struct listener_options *o, const struct addrinfo *a)
{
    int fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err;

    if (fd < 0)
        return -1;
    if (o->reuse_address)
        set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a->ai_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(fd, o->backlog == 0 ? 3072 : o->backlog) == 0)
        return fd;
    err = errno;
    (void)close(fd);
    errno = err;
    return -1;
}

static enum status
open_door(struct listener *l, const char *bind_to, uint16_t number, bool is_tls,
          struct error *e)
{
    struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    struct door *d = &l->doors[l->doors_len];
    bool is_any = bind_to == NULL || *bind_to == '\0';
    const char *host = is_any ? "0.0.0.0" : bind_to;
    char port[8];
    int err;

    (void)snprintf(port, sizeof port, "%u", (unsigned)number);
    err = getaddrinfo(host, port, &hints, &all);
    if (err != 0)
        return error_set(e, ST_INVALID, "cannot listen on '%s': %s", host,
                         gai_strerror(err));
    d->fd = -1;
    d->is_tls = is_tls;
    for (struct addrinfo *a = all; a != NULL && d->fd < 0; a = a->ai_next)
        d->fd = open_socket(&l->o, a);
    err = errno;
    freeaddrinfo(all);
    if (d->fd < 0)
        return error_set(e, ST_IO, "cannot listen on %s port %s: %s", host,
                         port, strerror(err));
    l->doors_len++;
    return name_address(d, e);
}

enum status
listener_open(const struct listener_options *o, struct listener **out,
              struct error *e)
{
    struct listener *l = mem_new(sizeof *l);
    enum status status;

    l->magic = LISTENER_MAGIC;
    l->o = *o;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    status = l->epoll < 0 || l->wake < 0 || l->reserve < 0
                 ? error_set(e, ST_IO, "epoll: %s", strerror(errno))
                 : open_door(l, o->bind, o->port, false, e);
    if (status == ST_OK && o->tls != NULL)
        status = open_door(l, o->tls_bind, o->tls_port, true, e);
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
    return l->doors[0].address;
}

const char *
listener_tls_address(const struct listener *l)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    return l->doors_len > 1 ? l->doors[1].address : NULL;
}

/* -- connections ----------------------------------------------------------- */

void
listener_closed(void *listener, void *cookie)
{
    struct listener *l = listener;

    (void)cookie;
    OBJ_CHECK(l, LISTENER_MAGIC);
    (void)atomic_fetch_sub(&l->open, 1);
}

static void
hang_up(struct listener *l, int fd)
{
    (void)close(fd);
    (void)atomic_fetch_sub(&l->open, 1);
}

static void
reject(struct listener *l, int fd)
{
    uint64_t n = atomic_fetch_add(&l->rejected, 1) + 1;
    int64_t now_us = clock_monotonic_us();

    counter_add(CNT_CONN_REJECTED, 1);
    if (now_us >= l->complain_us) {
        log_warn("listener",
                 "a connection was rejected: open now %llu, rejected "
                 "since the start %llu",
                 (unsigned long long)atomic_load(&l->open),
                 (unsigned long long)n);
        l->complain_us = now_us + COMPLAIN_US;
    }
    (void)close(fd); /* last: who sees the end finds it counted */
}

static void
set_up(const struct listener *l, int fd)
{
    if (l->o.no_delay)
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!l->o.keep_alive)
        return;
    /* A peer that vanished is noticed after about four minutes. */
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 120);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 30);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

static void
await_byte(struct listener *l, int fd, const struct sockaddr_storage *peer,
           socklen_t peer_size)
{
    struct silent *s = mem_new(sizeof *s);
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = s };

    s->fd = fd;
    s->peer = *peer;
    s->peer_size = peer_size;
    s->since_us = clock_monotonic_us();
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) != 0) {
        free(s);
        hang_up(l, fd);
        return;
    }
    s->next = l->silents;
    if (s->next != NULL)
        s->next->prev = s;
    else
        l->oldest = s;
    l->silents = s;
}

static void
forget(struct listener *l, struct silent *s)
{
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        l->silents = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    else
        l->oldest = s->prev;
    (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    free(s);
}

/* Ends the longest of those that say nothing; false: there is none. */
static bool
end_oldest(struct listener *l)
{
    int fd;

    if (l->oldest == NULL)
        return false;
    fd = l->oldest->fd;
    forget(l, l->oldest);
    counter_add(CNT_CONN_TIMEOUT, 1);
    hang_up(l, fd);
    return true;
}

/* Ends those who said nothing for too long; returns for how many ms nobody
 * else will have, -1: for ever. */
static int
end_idle(struct listener *l)
{
    int64_t us = (int64_t)l->o.idle_ms * 1000, now = clock_monotonic_us();

    if (us == 0)
        return -1;
    while (l->oldest != NULL && now - l->oldest->since_us >= us)
        (void)end_oldest(l);
    return l->oldest == NULL
               ? -1
               : (int)((us - (now - l->oldest->since_us)) / 1000 + 1);
}

/* Hands the connection over; it is not ours afterwards, taken or not. */
static void
hand_over(struct listener *l, const struct silent *s, bool is_http)
{
    const struct sockaddr *peer = (const struct sockaddr *)&s->peer;
    struct error e;
    enum status status;

    if (is_http ? l->http == NULL : l->telnet == NULL) {
        hang_up(l, s->fd);
        return;
    }
    status =
        is_http ? http_server_give(l->http, s->fd, peer, s->peer_size, NULL, &e)
                : telnet_give(l->telnet, s->fd, peer, s->peer_size, NULL, &e);
    if (status != ST_OK) {
        log_warn("listener", "a connection was closed: %s", e.text);
        (void)atomic_fetch_sub(&l->open, 1);
    }
}

static bool
is_letter(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* "PUT m 1 1 a=b": a line, whole, that nobody would write who speaks HTTP. What
 * has no such excuse is HTTP's to reject. */
static bool
is_shouted(struct slice s)
{
    const uint8_t *end = memchr(s.data, '\n', s.size);
    size_t i = 0;

    if (end == NULL)
        return false;
    s.size = (size_t)(end - s.data);
    while (i < s.size && is_letter(s.data[i]))
        i++;
    s = slice_of(s.data + i, s.size - i);
    return s.size > 1 && s.data[0] == ' ' && s.data[1] != '/' &&
           s.data[1] != '*' && memmem(s.data, s.size, "://", 3) == NULL &&
           memmem(s.data, s.size, " HTTP/", 6) == NULL;
}

static void
sniff(struct listener *l, struct silent *s)
{
    struct silent copy = *s;
    uint8_t first[2048];
    ssize_t n = recv(s->fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    forget(l, s);
    if (n <= 0)
        hang_up(l, copy.fd);
    else
        hand_over(l, &copy,
                  first[0] >= 'A' && first[0] <= 'Z' &&
                      !is_shouted(slice_of(first, (size_t)n)));
}

/* -- accepting ------------------------------------------------------------- */

static void
pause_accepting(struct listener *l, bool pause)
{
    struct epoll_event ev = { .events = pause ? 0 : EPOLLIN };

    for (size_t i = 0; i < l->doors_len; i++) {
        ev.data.ptr = &l->doors[i];
        (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, l->doors[i].fd, &ev);
    }
    l->paused = pause;
}

/* There is no descriptor left: false when not even the reserve helps. */
static bool
reject_by_reserve(struct listener *l, const struct door *d)
{
    int fd;

    if (l->reserve >= 0)
        (void)close(l->reserve);
    fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        reject(l, fd);
    l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* No room for one more, even if a silent one gives way?  Those behind TLS count
 * twice: their far ends may outlive what they asked. */
static bool
is_full(struct listener *l)
{
    size_t max = l->o.max_connections;

    if (max == 0)
        return false;
    if (l->o.tls != NULL && tls_connections(l->o.tls) >= max)
        return true;
    return atomic_load(&l->open) >= max && !end_oldest(l);
}

/* The end of a pair that stands for 'fd'; -1: there is none, and 'fd' is
 * closed. */
static int
put_behind_tls(struct listener *l, int fd)
{
    struct error e;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   pair) != 0) {
        reject(l, fd);
        return -1;
    }
    if (tls_give(l->o.tls, fd, pair[1], &e) != ST_OK)
        log_warn("listener", "a connection was closed: %s", e.text);
    return pair[0];
}

/* One connection; false when there is none. */
static bool
accept_one(struct listener *l, const struct door *d)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int fd = accept4(d->fd, (struct sockaddr *)&peer, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) {
            if (end_oldest(l) || reject_by_reserve(l, d))
                return true;
            pause_accepting(l, true);
            return false;
        }
        /* What befell the connection, not us. */
        return errno == EINTR || errno == ECONNABORTED;
    }
    if (is_full(l)) {
        reject(l, fd);
        return true;
    }
    set_up(l, fd);
    if (d->is_tls && (fd = put_behind_tls(l, fd)) < 0)
        return true;
    (void)atomic_fetch_add(&l->open, 1);
    (void)atomic_fetch_add(&l->accepted, 1);
    counter_add(CNT_CONN_TOTAL, 1);
    await_byte(l, fd, &peer, size);
    return true;
}

static const struct door *
door_of(const struct listener *l, const void *ptr)
{
    for (size_t i = 0; i < l->doors_len; i++)
        if (ptr == &l->doors[i])
            return &l->doors[i];
    return NULL;
}

static void *
run(void *arg)
{
    struct listener *l = arg;
    struct epoll_event events[EVENTS_MAX];

    while (!atomic_load(&l->stopping)) {
        int idle_ms = end_idle(l);
        int n = epoll_wait(l->epoll, events, EVENTS_MAX,
                           l->paused ? PAUSE_MS : idle_ms);

        INSIST(n >= 0 || errno == EINTR);
        if (l->paused)
            pause_accepting(l, false);
        for (int i = 0; i < n; i++)
            if (door_of(l, events[i].data.ptr) == NULL &&
                events[i].data.ptr != &l->wake)
                sniff(l, events[i].data.ptr);
        /* Last, since it may end some of those above. */
        for (int i = 0; i < n; i++) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): only compared */
            const struct door *d = door_of(l, events[i].data.ptr);

            for (int k = 0; d != NULL && k < ACCEPTS_MAX && accept_one(l, d);)
                k++;
        }
    }
    return NULL;
}

enum status
listener_start(struct listener *l, struct http_server *http,
               struct telnet *telnet, struct error *e)
{
    struct epoll_event on_accept = { .events = EPOLLIN };
    struct epoll_event on_wake = { .events = EPOLLIN, .data.ptr = &l->wake };
    int err = 0;

    OBJ_CHECK(l, LISTENER_MAGIC);
    l->http = http;
    l->telnet = telnet;
    for (size_t i = 0; i < l->doors_len && err == 0; i++) {
        on_accept.data.ptr = &l->doors[i];
        err = epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->doors[i].fd, &on_accept);
    }
    if (err != 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &on_wake) != 0)
        return error_set(e, ST_IO, "epoll: %s", strerror(errno));
    err = pthread_create(&l->thread, NULL, run, l);
    if (err != 0)
        return error_set(e, ST_IO, "cannot start a thread: %s", strerror(err));
    l->running = true;
    return ST_OK;
}

void
listener_stop(struct listener *l)
{
    uint64_t one = 1;

    OBJ_CHECK(l, LISTENER_MAGIC);
    if (l->running) {
        atomic_store(&l->stopping, true);
        (void)!write(l->wake, &one, sizeof one);
        INSIST(pthread_join(l->thread, NULL) == 0);
        l->running = false;
        /* Those whom the kernel has welcomed in our name. */
        for (int i = 0; i < ACCEPTS_MAX * 64 && accept_one(l, &l->doors[0]);
             i++)
            ;
    }
    for (size_t i = 0; i < l->doors_len; i++)
        (void)close(l->doors[i].fd);
    l->doors_len = 0;
    while (l->silents != NULL) {
        int fd = l->silents->fd;

        /* A byte may have come since: then it deserves its answer. */
        sniff(l, l->silents);
        /* The first one has no 'prev':
         * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        if (l->silents != NULL && l->silents->fd == fd) {
            forget(l, l->silents);
            hang_up(l, fd);
        }
    }
}

void
listener_close(struct listener **l)
{
    struct listener *x = *l;

    if (x == NULL)
        return;
    listener_stop(x);
    if (x->epoll >= 0)
        (void)close(x->epoll);
    if (x->wake >= 0)
        (void)close(x->wake);
    if (x->reserve >= 0)
        (void)close(x->reserve);
    OBJ_CLEAR(x);
    free(x);
    *l = NULL;
}

struct listener_counts
listener_counts(struct listener *l)
{
    OBJ_CHECK(l, LISTENER_MAGIC);
    return (struct listener_counts){ atomic_load(&l->open),
                                     atomic_load(&l->accepted),
                                     atomic_load(&l->rejected) };
}
