/* Connections by their socket, and the watchdog.
 *
 * libmicrohttpd's own timeout starts anew with each byte, so a client that
 * sends one byte a second may hold a connection for ever.  Here each state in
 * which the client has to do something has a deadline.
 *
 * State and deadline are one atomic word: the thread of the connection moves
 * it on, the watchdog may only exchange an overdue one for CONN_CUT.  From then
 * on only the watchdog decides what happens to the socket: it says 408 and
 * shuts it down; libmicrohttpd then reads the end and closes.  Blank bytes
 * before the next request line count as idle time.
 *
 * The same thread watches for clients that hang up, by EPOLLRDHUP: while a
 * request is served libmicrohttpd does not look; and when the end of the stream
 * comes in one read with the last bytes it never sees it, since it waits for
 * another edge.  A closed connection which has not moved for a tick is cut;
 * one that is being answered may have been half-closed, and gets its answer. */
#include "web/mhd/http_priv.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/mem.h"

/* What a client must take of a reply, measured over body_ms. */
#define READ_BYTES_PER_MS 16

#define STATE_BITS 3
#define NO_LIMIT   (UINT64_MAX >> STATE_BITS)

static uint64_t
conn_word(enum conn_state state, uint64_t deadline_ms)
{
    return deadline_ms << STATE_BITS | (uint64_t)state;
}

static enum conn_state
state_of(uint64_t w)
{
    return (enum conn_state)(w & ((1u << STATE_BITS) - 1));
}

bool
http_conn_enter(struct http_conn *c, enum conn_state state)
{
    const struct http_options *o = &c->server->o;
    const unsigned limits_ms[CONN_STATES] = { /* 0: there is none */
                                              [CONN_HEAD] = o->head_ms,
                                              [CONN_BODY] = o->body_ms,
                                              [CONN_SEND] = o->body_ms,
                                              [CONN_IDLE] = o->idle_ms
    };
    uint64_t now_ms = (uint64_t)clock_monotonic_us() / 1000;
    unsigned ms = limits_ms[state];
    uint64_t next = conn_word(state, ms == 0 ? NO_LIMIT : now_ms + ms);
    uint64_t old = atomic_load(&c->state);

    OBJ_CHECK(c, HTTP_CONN_MAGIC);
    do {
        if (state_of(old) == CONN_CUT)
            return false;
    } while (!atomic_compare_exchange_weak(&c->state, &old, next));
    return true;
}

enum conn_state
http_conn_state(struct http_conn *c)
{
    OBJ_CHECK(c, HTTP_CONN_MAGIC);
    return state_of(atomic_load(&c->state));
}

/* -- the watchdog ---------------------------------------------------------- */

#define TOO_SLOW_BODY \
    "{\"error\":{\"code\":408,\"message\":\"The request came too slowly\"}}"

static const char too_slow[] =
    "HTTP/1.1 408 Request Timeout\r\n"
    "Content-Type: application/json; charset=UTF-8\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Length: 62\r\n"
    "Connection: close\r\n"
    "\r\n" TOO_SLOW_BODY;
_Static_assert(sizeof TOO_SLOW_BODY - 1 == 62, "its Content-Length");

/* A reader is slow when it took less than READ_BYTES_PER_MS since the last
 * look.  The first look, within a tick of the reply's start, only counts. */
static bool
is_slow_reader(struct http_conn *c, uint64_t old, uint64_t now)
{
    uint64_t ms = c->server->o.body_ms, next = conn_word(CONN_SEND, now + ms);
    struct tcp_info info = { 0 };
    socklen_t size = sizeof info;

    if (c->last_check == old && old >> STATE_BITS > now)
        return false;
    /* If it is no TCP, whoever gave that socket watches who reads from it. */
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return false;
    if (c->last_check == old) {
        if (info.tcpi_bytes_acked - c->acked < ms * READ_BYTES_PER_MS)
            return true;
        (void)atomic_compare_exchange_strong(&c->state, &old, next);
        old = next;
    }
    c->acked = info.tcpi_bytes_acked;
    c->last_check = old;
    return false;
}

static void
conn_cut(struct http_conn *c, uint64_t old, bool peer_closed)
{
    static const char *const whats[CONN_STATES] = {
        [CONN_HEAD] = "did not send the whole head of a request within "
                      "halite.http.head_ms",
        [CONN_BODY] = "did not send the whole body of a request within "
                      "halite.http.body_ms",
        [CONN_SEND] = "took less than 16 KB/s of an answer for "
                      "halite.http.body_ms",
    };
    enum conn_state state = state_of(old);
    char more[LOG_MORE_SIZE];

    if (!atomic_compare_exchange_strong(&c->state, &old,
                                        conn_word(CONN_CUT, NO_LIMIT)))
        return;
    if (state != CONN_IDLE && !peer_closed) {
        counter_add(CNT_CONN_TIMEOUT, 1);
        if (whats[state] != NULL &&
            log_throttle_pass(&c->server->slow[state], more))
            log_warn("web", "cut off %s, which %s%s", c->peer, whats[state],
                     more);
    }
    /* Past libmicrohttpd, if there is room for it: nothing of a reply was
     * sent. */
    if ((state == CONN_HEAD || state == CONN_BODY) && !peer_closed)
        (void)send(c->fd, too_slow, sizeof too_slow - 1,
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(c->fd, SHUT_RDWR);
}

static void
conn_check_one(struct http_conn *c, uint64_t now)
{
    uint64_t old = atomic_load(&c->state);
    enum conn_state state = state_of(old);

    if (old >> STATE_BITS == NO_LIMIT)
        return;
    if (atomic_load(&c->peer_closed) && state != CONN_SEND) {
        if (c->last_check == old)
            conn_cut(c, old, true);
        c->last_check = old;
    } else if (state == CONN_SEND ? is_slow_reader(c, old, now)
                                  : old >> STATE_BITS <= now) {
        conn_cut(c, old, false);
    }
}

static void
conn_check_all(void *server, int64_t now_us)
{
    struct conns *t = &((struct http_server *)server)->conns;
    uint64_t now = (uint64_t)now_us / 1000;

    lock_take(&t->lock);
    for (size_t i = 0; i < t->len; i++)
        if (t->by_fd[i] != NULL)
            conn_check_one(t->by_fd[i], now);
    lock_drop(&t->lock);
}

/* 'id' is a socket and, above it, which of the connections that had it. */
static void
on_hang_up(void *server, uint64_t id, uint32_t events)
{
    struct conns *t = &((struct http_server *)server)->conns;
    size_t fd = (size_t)(id & UINT32_MAX);

    lock_take(&t->lock);
    if (fd < t->len && t->by_fd[fd] != NULL && t->by_fd[fd]->id == id)
        atomic_store(&t->by_fd[fd]->peer_closed, true);
    lock_drop(&t->lock);
}

static unsigned
least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void
conns_free(struct conns *t)
{
    loop_fini(&t->loop);
    lock_fini(&t->lock);
}

enum status
http_conns_start(struct http_server *s, struct error *e)
{
    static const struct loop_calls calls = { .event = on_hang_up,
                                             .tick = conn_check_all };
    struct conns *t = &s->conns;
    unsigned tick;
    enum status st;

    lock_init(&t->lock);
    tick = least(s->o.head_ms, least(s->o.body_ms, s->o.idle_ms)) / 4;
    st = loop_init(&t->loop, &calls, s, tick < 10 ? 10 : least(tick, 1000), e);
    if (st == ST_OK)
        st = loop_start(&t->loop, e);
    if (st != ST_OK)
        conns_free(t);
    return st;
}

void
http_conns_stop(struct http_server *s)
{
    loop_stop(&s->conns.loop);
}

void
http_conns_fini(struct http_server *s)
{
    struct conns *t = &s->conns;
    struct http_conn **by_fd;
    size_t len;

    lock_take(&t->lock);
    by_fd = t->by_fd;
    len = t->len;
    t->by_fd = NULL;
    t->len = 0;
    lock_drop(&t->lock);
    for (size_t i = 0; i < len; i++)
        http_conn_end(&by_fd[i], true);
    free(by_fd);
    conns_free(t);
}

/* -- the table ------------------------------------------------------------- */

static void
conn_grow(struct conns *t, size_t need) REQUIRES(t->lock)
{
    size_t len = t->len < 64 ? 64 : t->len;

    while (len < need)
        len *= 2;
    t->by_fd = mem_resize(t->by_fd, len, sizeof(struct http_conn *));
    while (t->len < len)
        t->by_fd[t->len++] = NULL;
}

struct http_conn *
http_conn_new(struct http_server *s, int fd, const struct sockaddr *peer)
{
    struct http_conn *c = mem_new(sizeof *c), *stale;
    struct conns *t = &s->conns;

    INSIST(fd >= 0);
    c->magic = HTTP_CONN_MAGIC;
    c->fd = fd;
    c->server = s;
    address_name(peer, c->peer, sizeof c->peer);
    c->loopback = address_is_loopback(peer);
    c->address = address_key(peer);
    atomic_init(&c->state, conn_word(CONN_NEW, NO_LIMIT));
    lock_take(&t->lock);
    if ((size_t)fd >= t->len)
        conn_grow(t, (size_t)fd + 1);
    stale = t->by_fd[fd];
    t->by_fd[fd] = NULL;
    lock_drop(&t->lock);
    /* Its socket was closed without a word, for want of memory. */
    http_conn_end(&stale, true);
    lock_take(&t->lock);
    c->id = ++t->serial << 32 | (uint64_t)fd;
    t->by_fd[fd] = c;
    lock_drop(&t->lock);
    loop_watch(&t->loop, &(struct watch){ .fd = fd, .data = c->id },
               EPOLLRDHUP | EPOLLET);
    return c;
}

struct http_conn *
http_conn_find(struct http_server *s, int fd)
{
    struct conns *t = &s->conns;
    struct http_conn *c = NULL;

    lock_take(&t->lock);
    if (fd >= 0 && (size_t)fd < t->len)
        c = t->by_fd[fd];
    lock_drop(&t->lock);
    return c;
}

void
http_conn_end(struct http_conn **cp, bool tell)
{
    struct http_conn *c = OBJ_TAKE(cp, HTTP_CONN_MAGIC);
    struct http_server *s;

    if (c == NULL)
        return;
    s = c->server;
    lock_take(&s->conns.lock);
    if ((size_t)c->fd < s->conns.len && s->conns.by_fd[c->fd] == c)
        s->conns.by_fd[c->fd] = NULL;
    lock_drop(&s->conns.lock);
    if (tell && s->o.closed != NULL)
        s->o.closed(s->o.closed_ctx);
    OBJ_FREE(c);
}
