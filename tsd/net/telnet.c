/* The loops: see tsd/net/telnet.h for what a turn is. */
#include "config.h"

#include "tsd/net/telnet_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"

#define TELNET_MAGIC  FOURCC('T', 'E', 'L', 'N')
#define EVENTS_MAX    64
#define BUSY_RETRY_MS 2
#define SWEEP_MS      1000
/* How long a client that has said goodbye may take to read our last words. */
#define LAST_WORDS_US INT64_C(10000000)

/* -- the life of a connection ---------------------------------------------- */

static void
watch(struct telnet_loop *l, struct telnet_conn *c, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = c };
    int op = c->events == 0 ? EPOLL_CTL_ADD
             : events == 0  ? EPOLL_CTL_DEL
                            : EPOLL_CTL_MOD;

    if (events == c->events)
        return;
    /* Fails only for want of memory: then the sweep finds it idle. */
    if (epoll_ctl(l->poller.epoll, op, c->fd, &ev) != 0)
        log_warn("telnet", "epoll_ctl: %s", strerror(errno));
    c->events = events;
}

enum status
telnet_give(struct telnet *t, int fd, const struct sockaddr *peer,
            socklen_t peer_size, void *cookie, struct error *e)
{
    struct telnet_loop *l;
    struct telnet_conn *c;
    struct epoll_event ev = { .events = EPOLLIN };

    OBJ_CHECK(t, TELNET_MAGIC);
    l = &t->loops[atomic_fetch_add(&t->next, 1) % t->loops_len];
    c = mem_new(sizeof *c);
    c->fd = fd;
    c->cookie = cookie;
    c->active_us = clock_monotonic_us();
    c->events = EPOLLIN;
    if (peer_size <= sizeof c->peer)
        memcpy(&c->peer, peer, peer_size);
    if (t->o.login == NULL)
        c->who.rights = HTTP_ALL_RIGHTS;
    else
        (void)t->o.login(t->o.login_ctx, peer, slice_of(NULL, 0),
                         slice_of(NULL, 0), false, &c->who);
    ev.data.ptr = c;
    (void)atomic_fetch_add(&t->connections, 1);
    lock_take(&l->lock);
    if (epoll_ctl(l->poller.epoll, EPOLL_CTL_ADD, fd, &ev) != 0) {
        lock_drop(&l->lock);
        (void)atomic_fetch_sub(&t->connections, 1);
        free(c);
        (void)close(fd);
        return error_set(e, ST_IO, "epoll_ctl: %s", strerror(errno));
    }
    c->next = l->all;
    if (c->next != NULL)
        c->next->prev = c;
    l->all = c;
    lock_drop(&l->lock);
    return ST_OK;
}

static void
end(struct telnet_loop *l, struct telnet_conn *c)
{
    struct telnet *t = l->telnet;
    uint8_t rest[4096];

    lock_take(&l->lock);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        l->all = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    lock_drop(&l->lock);
    /* close() is not enough while a process that was forked has it, too: a
     * symbolizer's, of a sanitizer. */
    watch(l, c, 0);
    /* Unread bytes would turn our close into a reset, which may overtake what
     * we said. */
    (void)shutdown(c->fd, SHUT_WR);
    for (int i = 0; i < 64 && recv(c->fd, rest, sizeof rest, 0) > 0; i++)
        ;
    (void)close(c->fd);
    (void)atomic_fetch_sub(&t->connections, 1);
    if (t->o.closed != NULL)
        t->o.closed(t->o.closed_ctx, c->cookie);
    free(c->in);
    buf_fini(&c->out);
    free(c);
}

static void
send_out(struct telnet_loop *l, struct telnet_conn *c)
{
    size_t at = 0;

    while (at < c->out.size && !c->deaf) {
        ssize_t n = send(c->fd, c->out.data + at, c->out.size - at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n == 0 || errno != EINTR)
            c->deaf = true;
    }
    if (c->deaf || at == c->out.size) {
        buf_fini(&c->out);
    } else {
        memmove(c->out.data, c->out.data + at, c->out.size - at);
        c->out.size -= at;
    }
    (void)atomic_fetch_add(&l->telnet->bytes_out, at);
}

/* Sends, and then ends the connection or says what it waits for. */
static void
settle(struct telnet_loop *l, struct telnet_conn *c)
{
    uint32_t events;

    send_out(l, c);
    events = c->out.size > 0 ? EPOLLOUT : 0;
    if (c->closing && events == 0 && !c->waiting) {
        end(l, c);
        return;
    }
    if (c->closing && c->deadline_us == 0)
        c->deadline_us = clock_monotonic_us() + LAST_WORDS_US;
    if (!c->closing && !c->waiting)
        events |= EPOLLIN;
    watch(l, c, events);
}

/* -- turns ----------------------------------------------------------------- */

static void
commit_failed(struct telnet_loop *l, const struct error *e)
{
    log_error("telnet", "cannot commit: %s", e->text);
    for (struct telnet_conn *c = l->touched; c != NULL; c = c->next_touched) {
        if (!c->has_put)
            continue;
        /* What was to be said would say that the points are safe. */
        buf_clear(&c->out);
        buf_put_str(&c->out, "put: storage error: ");
        buf_put_str(&c->out, e->text);
        buf_put_str(&c->out, "\n");
        c->closing = true;
    }
}

static void
end_turn(struct telnet_loop *l)
{
    struct telnet_conn *next;
    struct error e;

    if (l->batch != NULL && put_batch_commit(l->batch, false, &e) != ST_OK)
        commit_failed(l, &e);
    for (struct telnet_conn *c = l->touched; c != NULL; c = next) {
        next = c->next_touched;
        c->touched = false;
        c->has_put = c->waiting;
        settle(l, c);
    }
    l->touched = NULL;
}

/* The store had no room: offer it the batch again, and then go on with those
 * who waited behind it. */
static void
retry(struct telnet_loop *l)
{
    struct telnet_conn *c = l->waiting, *next;

    if (!telnet_flush(l))
        return;
    free(l->held);
    l->held = NULL;
    l->waiting = NULL;
    l->waiting_end = &l->waiting;
    for (; c != NULL; c = next) {
        next = c->next_waiting;
        telnet_conn_resume(l, c);
    }
}

static void
handle(struct telnet_loop *l, const struct epoll_event *ev)
{
    struct telnet_conn *c = ev->data.ptr;

    if (c == NULL) {
        poller_heard(&l->poller);
        telnet_end_checks(l);
        return;
    }
    if (!c->closing && !c->waiting &&
        (ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
        (void)telnet_conn_read(l, c, TELNET_READ_BYTES);
    telnet_touch(l, c);
}

/* Closes those who take too long. */
static void
sweep(struct telnet_loop *l)
{
    int64_t now = clock_monotonic_us();
    int64_t idle_us = (int64_t)l->telnet->o.idle_ms * 1000;
    struct telnet_conn *c, *next;

    lock_take(&l->lock);
    c = l->all;
    lock_drop(&l->lock);
    for (; c != NULL; c = next) {
        next = c->next; /* only this thread removes */
        if (c->waiting)
            continue;
        if ((c->deadline_us != 0 && now > c->deadline_us) ||
            (idle_us != 0 && now - c->active_us > idle_us)) {
            counter_add(CNT_CONN_TIMEOUT, 1);
            end(l, c);
        }
    }
}

/* -- stopping -------------------------------------------------------------- */

static struct telnet_conn *
first(struct telnet_loop *l)
{
    struct telnet_conn *c;

    lock_take(&l->lock);
    c = l->all;
    lock_drop(&l->lock);
    return c;
}

/* Reads what had arrived when the stop was asked for, not what still comes. */
static void
drain_conn(struct telnet_loop *l, struct telnet_conn *c)
{
    int arrived = 0;

    if (ioctl(c->fd, FIONREAD, &arrived) != 0)
        return;
    while (arrived > 0 && !c->closing && !c->waiting) {
        size_t n = telnet_conn_read(l, c, (size_t)arrived);

        if (n == 0)
            break;
        arrived -= (int)n;
    }
}

/* While 'c' waits for its login, or, NULL, the store rejects the batch. */
static void
drain_wait(struct telnet_loop *l, const struct telnet_conn *c)
{
    while ((l->stalled && clock_monotonic_us() < l->telnet->stop_us) ||
           (c != NULL && c->check != NULL)) {
        (void)usleep(BUSY_RETRY_MS * 1000);
        telnet_end_checks(l);
        if (l->stalled)
            retry(l);
    }
}

static void
drain(struct telnet_loop *l)
{
    for (struct telnet_conn *c = first(l); c != NULL; c = c->next) {
        drain_wait(l, c);
        drain_conn(l, c);
        drain_wait(l, c);
    }
    end_turn(l);
    for (struct telnet_conn *c; (c = first(l)) != NULL;)
        end(l, c);
}

/* -- threads --------------------------------------------------------------- */

static void *
run_loop(void *arg)
{
    struct telnet_loop *l = arg;
    struct epoll_event events[EVENTS_MAX];
    int64_t swept = clock_monotonic_us();

    while (!atomic_load(&l->telnet->stopping)) {
        int n = epoll_wait(l->poller.epoll, events, EVENTS_MAX,
                           l->stalled ? BUSY_RETRY_MS : SWEEP_MS);

        INSIST(n >= 0 || errno == EINTR);
        if (l->stalled)
            retry(l);
        for (int i = 0; i < n; i++)
            handle(l, &events[i]);
        end_turn(l);
        if (clock_monotonic_us() - swept > SWEEP_MS * INT64_C(1000)) {
            sweep(l);
            swept = clock_monotonic_us();
        }
    }
    drain(l);
    return NULL;
}

static enum status
start_loop(struct telnet *t, struct telnet_loop *l, struct error *e)
{
    enum status st;

    l->telnet = t;
    if (t->o.put != NULL)
        l->batch = put_batch_new(t->o.put, telnet_put_failed, l);
    l->buf = mem_resize(NULL, t->buf_bytes, 1);
    l->call = mem_new(sizeof *l->call);
    l->waiting_end = &l->waiting;
    st = poller_start(&l->poller, run_loop, l, e);
    t->loops_len += st == ST_OK;
    return st;
}

static void
free_loop(struct telnet_loop *l)
{
    poller_fini(&l->poller);
    put_batch_free(&l->batch);
    free(l->buf);
    free(l->held);
    free(l->call);
    buf_fini(&l->text);
    lock_fini(&l->lock);
}

enum status
telnet_start(const struct telnet_options *o, struct telnet **out,
             struct error *e)
{
    struct telnet *t = mem_new(sizeof *t);
    unsigned len = o->threads == 0 ? 2 : o->threads;
    enum status status = ST_OK;

    t->magic = TELNET_MAGIC;
    t->o = *o;
    t->o.threads = len;
    if (t->o.line_bytes == 0)
        t->o.line_bytes = (size_t)64 << 10;
    if (t->o.output_bytes == 0)
        t->o.output_bytes = (size_t)64 << 10;
    /* A rest, a line's end, a chunk, and the end of a last line. */
    t->buf_bytes = t->o.line_bytes + 3 + TELNET_READ_BYTES;
    for (size_t i = 0; i < o->routes_len; i++)
        t->has_put |= o->put != NULL && strcmp(o->routes[i].name, "put") == 0;
    t->loops = mem_new_array(len, sizeof *t->loops);
    for (unsigned i = 0; i < len; i++) {
        lock_init(&t->loops[i].lock);
        t->loops[i].poller = (struct poller)POLLER_INIT;
    }
    for (unsigned i = 0; i < len && status == ST_OK; i++)
        status = start_loop(t, &t->loops[i], e);
    *out = t;
    if (status != ST_OK)
        telnet_stop(out, 0);
    return status;
}

void
telnet_stop(struct telnet **t, unsigned drain_ms)
{
    struct telnet *x = *t;

    if (x == NULL)
        return;
    OBJ_CHECK(x, TELNET_MAGIC);
    x->stop_us = clock_monotonic_us() + (int64_t)drain_ms * 1000;
    atomic_store(&x->stopping, true);
    for (unsigned i = 0; i < x->loops_len; i++)
        poller_wake(&x->loops[i].poller);
    for (unsigned i = 0; i < x->loops_len; i++)
        poller_join(&x->loops[i].poller);
    for (unsigned i = 0; i < x->o.threads; i++)
        free_loop(&x->loops[i]);
    free(x->loops);
    OBJ_CLEAR(x);
    free(x);
    *t = NULL;
}

struct telnet_counts
telnet_counts(struct telnet *t)
{
    OBJ_CHECK(t, TELNET_MAGIC);
    return (struct telnet_counts){ atomic_load(&t->connections),
                                   atomic_load(&t->bytes_in),
                                   atomic_load(&t->bytes_out) };
}
