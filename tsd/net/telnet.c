/* The loops: see tsd/net/telnet.h for what a turn is. */
#include "tsd/net/telnet_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"

#define TELNET_MAGIC  FOURCC('T', 'E', 'L', 'N')
#define BUSY_RETRY_MS 2
#define TICK_MS       1000
/* Memory of connections that ended goes back to the system when it is so much.
 */
#define GIVE_BACK_BYTES ((size_t)8 << 20)
/* Points without an answer to give are committed together: so many, or after
 * that time. */
#define COMMIT_POINTS ((size_t)256 << 10)
#define COMMIT_US     INT64_C(50000)
/* How long a client that has said goodbye may take to read our last words. */
#define LAST_WORDS_US INT64_C(10000000)

/* -- the life of a connection ---------------------------------------------- */

enum status
telnet_adopt_socket(struct telnet *t, int fd, const struct sockaddr *peer,
                    socklen_t peer_size, struct error *e)
{
    struct telnet_loop *l;
    struct telnet_conn *c;

    OBJ_CHECK(t, TELNET_MAGIC);
    l = &t->loops[atomic_fetch_add(&t->next, 1) % t->loops_len];
    c = mem_new(sizeof *c);
    c->socket = (struct watch){ .fd = fd, .data = (uintptr_t)c };
    c->budget = &t->shares[hash_u64(address_key(peer)) % TELNET_SHARES];
    buf_init_after(&c->out, 0, TELNET_OUT_FREE_BYTES, c->budget);
    c->active_us = clock_monotonic_us();
    if (peer_size <= sizeof c->peer)
        memcpy(&c->peer, peer, peer_size);
    if (t->o.login == NULL)
        c->who.rights = HTTP_ALL_RIGHTS;
    else
        (void)t->o.login(t->o.login_ctx, peer, slice_of(NULL, 0),
                         slice_of(NULL, 0), false, &c->who);
    if (loop_add(&l->loop, &c->link, &c->socket, EPOLLIN))
        return ST_OK;
    free(c);
    (void)close(fd);
    return error_set(e, ST_IO, "epoll_ctl: %m");
}

static void
telnet_end_conn(struct telnet_loop *l, struct telnet_conn *c)
{
    struct telnet *t = l->telnet;

    /* close() is not enough while a process that was forked has it, too: a
     * symbolizer's, of a sanitizer. */
    loop_watch(&l->loop, &c->socket, 0);
    loop_close(c->socket.fd);
    if (t->o.closed != NULL)
        t->o.closed(t->o.closed_ctx);
    telnet_conn_forget(l, c);
    loop_end(&l->loop, &c->link);
}

/* Sends, and then ends the connection or says what it waits for. */
static void
send_and_watch(struct telnet_loop *l, struct telnet_conn *c)
{
    uint32_t events;
    size_t at = 0;

    while (at < c->out.size && !c->write_failed) {
        ssize_t n = send(c->socket.fd, c->out.data + at, c->out.size - at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n == 0 || errno != EINTR)
            c->write_failed = true;
    }
    if (c->write_failed || at == c->out.size) {
        buf_fini(&c->out);
        buf_init_after(&c->out, 0, TELNET_OUT_FREE_BYTES, c->budget);
    } else {
        memmove(c->out.data, c->out.data + at, c->out.size - at);
        c->out.size -= at;
    }
    c->out_old = c->out.size;
    events = c->out.size > 0 ? EPOLLOUT : 0;
    if (c->closing && events == 0 && !c->waiting) {
        telnet_end_conn(l, c);
        return;
    }
    if (c->closing && c->deadline_us == 0)
        c->deadline_us = clock_monotonic_us() + LAST_WORDS_US;
    if (!c->closing && !c->waiting)
        events |= EPOLLIN;
    loop_watch(&l->loop, &c->socket, events);
}

/* -- turns ----------------------------------------------------------------- */

/* A line in front of, or 'instead' of what this turn has to say, which would
 * say that all points are safe; to each who has put since the last commit. */
static void
say_to_putters(struct telnet_loop *l, const struct error *e, bool instead)
{
    for (struct loop_conn *at = NULL; (at = loop_next(&l->loop, at)) != NULL;) {
        struct telnet_conn *c = (struct telnet_conn *)at;
        struct buf said = BUF_INIT;

        if (c->put_in != l->period)
            continue;
        if (!instead && c->out.size >= l->telnet->o.output_bytes) {
            counter_add(CNT_ERR_BLOCKED, 1);
            continue;
        }
        if (c->out.size > c->out_old)
            buf_put(&said, c->out.data + c->out_old, c->out.size - c->out_old);
        c->out.size = instead ? 0 : c->out_old;
        buf_put_str(&c->out, "put: storage error: ");
        buf_put_str(&c->out, e->text);
        buf_put_str(&c->out, "\n");
        if (!instead)
            buf_put_slice(&c->out, buf_slice(&said));
        c->closing |= instead || said.failed || c->out.failed;
        telnet_mark_dirty(l, c);
        buf_fini(&said);
    }
}

/* What is here first, as owners may take their time; then what these say, which
 * may have brought points back here.  False: they did not all answer yet, and
 * there is time. */
static bool
commit(struct telnet_loop *l, bool has_time)
{
    struct error e;
    enum status st;

    if (l->uncommitted_us == 0)
        return true;
    st = put_batch_commit(l->batch, false, &e);
    if (st == ST_OK) {
        st = put_batch_end_window(l->batch, &e);
        if (st == ST_BUSY && has_time)
            return false;
        if (st == ST_IO && !l->telnet->o.silent)
            say_to_putters(l, &e, false);
        if (st != ST_BUSY)
            st = put_batch_commit(l->batch, false, &e);
    }
    if (st != ST_OK) {
        log_error("telnet", "cannot commit: %s", e.text);
        say_to_putters(l, &e, true);
    }
    l->uncommitted_us = 0;
    l->period++;
    return true;
}

/* What is said, and a close, say that what was put before is safe. */
static bool
is_commit_due(const struct telnet_loop *l)
{
    if (l->uncommitted_us == 0)
        return false;
    if (put_batch_uncommitted(l->batch) >= COMMIT_POINTS ||
        clock_monotonic_us() - l->uncommitted_us >= COMMIT_US)
        return true;
    for (const struct telnet_conn *c = l->dirty; c != NULL; c = c->next_dirty)
        if (c->put_in == l->period && (c->out.size > c->out_old || c->closing))
            return true;
    return false;
}

/* 0: until the next tick. */
static unsigned
wait_ms(const struct telnet_loop *l)
{
    int64_t left_us;

    if (l->stalled || l->dirty != NULL)
        return BUSY_RETRY_MS;
    if (l->uncommitted_us == 0)
        return 0;
    left_us = l->uncommitted_us + COMMIT_US - clock_monotonic_us();
    return left_us <= 0 ? 1 : (unsigned)(left_us / 1000) + 1;
}

/* Those whose points wait for a commit that is late are not answered, and
 * nothing more is read of them: they stay dirty. */
static void
end_turn(void *loop)
{
    struct telnet_loop *l = loop;
    struct telnet_conn *c = l->dirty, *next;
    bool late = is_commit_due(l) && !commit(l, true);

    if (!late)
        c = l->dirty; /* with those that got an error line */
    for (l->dirty = NULL; c != NULL; c = next) {
        next = c->next_dirty;
        c->dirty = false;
        if (late && c->put_in == l->period) {
            loop_watch(&l->loop, &c->socket, 0);
            telnet_mark_dirty(l, c);
        } else {
            send_and_watch(l, c);
        }
    }
    l->loop.wait_ms = wait_ms(l);
}

/* The store had no room: offer it the batch again, and then go on with those
 * who waited behind it. */
static void
retry(void *loop)
{
    struct telnet_loop *l = loop;
    struct telnet_conn *c = l->waiting, *next;

    if (!l->stalled || !telnet_flush(l))
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
telnet_on_event(void *loop, uint64_t data, uint32_t events)
{
    struct telnet_loop *l = loop;
    struct telnet_conn *c = (struct telnet_conn *)(uintptr_t)data;

    if (c == NULL) {
        telnet_end_checks(l);
        return;
    }
    if (c->link.dead)
        return;
    if (!c->closing && !c->waiting &&
        (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        /* What is read now may have to be kept. */
        if (l->stalled && budget_left(c->budget) == 0)
            telnet_conn_wait(l, c);
        else
            (void)telnet_conn_read(l, c, TELNET_READ_BYTES);
    }
    telnet_mark_dirty(l, c);
}

static void
log_slowness(struct telnet *t, const struct telnet_conn *c)
{
    char peer[ADDRESS_NAME_SIZE], more[LOG_MORE_SIZE];

    if (!log_throttle_pass(&t->slow, more))
        return;
    address_name((const struct sockaddr *)&c->peer, peer, sizeof peer);
    log_warn("telnet", "cut off %s, which %s%s", peer,
             c->deadline_us != 0 ? "did not read the answers before its end"
                                 : "said nothing for tsd.core.socket.timeout",
             more);
}

/* Closes those who take too long. */
static void
close_idle(void *loop, int64_t now)
{
    struct telnet_loop *l = loop;
    int64_t idle_us = (int64_t)l->telnet->o.idle_ms * 1000;
    size_t freed = atomic_load(&l->telnet->freed);

    /* Many small buffers that are freed stay with the process, unless the
     * allocator is told to look. */
    if (freed >= GIVE_BACK_BYTES &&
        atomic_compare_exchange_strong(&l->telnet->freed, &freed, 0))
        mem_give_back();
    for (struct loop_conn *at = NULL; (at = loop_next(&l->loop, at)) != NULL;) {
        struct telnet_conn *c = (struct telnet_conn *)at;

        if (c->waiting || (c->dirty && c->put_in == l->period))
            continue;
        if ((c->deadline_us != 0 && now > c->deadline_us) ||
            (idle_us != 0 && now - c->active_us > idle_us)) {
            counter_add(CNT_CONN_TIMEOUT, 1);
            log_slowness(l->telnet, c);
            telnet_end_conn(l, c);
        }
    }
}

/* -- stopping -------------------------------------------------------------- */

/* While 'c' waits for its login, or, NULL, the store rejects the batch. */
static void
drain_wait(struct telnet_loop *l, const struct telnet_conn *c)
{
    while ((l->stalled && clock_monotonic_us() < l->loop.stop_us) ||
           (c != NULL && c->check != NULL)) {
        (void)usleep(BUSY_RETRY_MS * 1000);
        telnet_end_checks(l);
        retry(l);
    }
}

static void
telnet_drain(void *loop)
{
    struct telnet_loop *l = loop;

    for (struct loop_conn *at = NULL; (at = loop_next(&l->loop, at)) != NULL;) {
        struct telnet_conn *c = (struct telnet_conn *)at;
        int arrived = 0;
        size_t n;

        drain_wait(l, c);
        /* What had arrived when the stop was asked for, not what still comes.
         */
        if (ioctl(c->socket.fd, FIONREAD, &arrived) != 0)
            arrived = 0;
        for (; arrived > 0 && !c->closing && !c->waiting; arrived -= (int)n) {
            n = telnet_conn_read(l, c, (size_t)arrived);
            if (n == 0)
                break;
        }
        drain_wait(l, c);
    }
    (void)commit(l, false);
    end_turn(l);
    for (struct loop_conn *c; (c = loop_oldest(&l->loop)) != NULL;)
        telnet_end_conn(l, (struct telnet_conn *)c);
}

/* -- threads --------------------------------------------------------------- */

static const struct loop_calls telnet_calls = {
    .begin = retry,
    .event = telnet_on_event,
    .end = end_turn,
    .tick = close_idle,
    .stop = telnet_drain,
};

static enum status
telnet_start_loop(struct telnet *t, struct telnet_loop *l, struct error *e)
{
    enum status st;

    t->loops_len++;
    l->telnet = t;
    lock_init(&l->lock);
    if (t->o.put != NULL)
        l->batch = put_batch_new(t->o.put, telnet_put_failed, l);
    if (l->batch != NULL)
        put_batch_begin_window(l->batch);
    l->buf = mem_resize(NULL, t->buf_bytes, 1);
    l->call = mem_new(sizeof *l->call);
    l->waiting_end = &l->waiting;
    l->period = 1;
    st = loop_init(&l->loop, &telnet_calls, l, TICK_MS, e);
    return st == ST_OK ? loop_start(&l->loop, e) : st;
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
    t->budget.max = o->total_bytes == 0 ? (size_t)64 << 20 : o->total_bytes;
    for (size_t i = 0; i < TELNET_SHARES; i++)
        t->shares[i] = (struct budget){ .max = t->budget.max / 4 * 3,
                                        .parent = &t->budget };
    /* A rest, a line's end, a chunk, and the end of a last line. */
    t->buf_bytes = t->o.line_bytes + 3 + TELNET_READ_BYTES;
    for (size_t i = 0; i < o->routes_len; i++)
        t->has_put |= o->put != NULL && strcmp(o->routes[i].name, "put") == 0;
    t->loops = mem_new_array(len, sizeof *t->loops);
    for (unsigned i = 0; i < len && status == ST_OK; i++)
        status = telnet_start_loop(t, &t->loops[i], e);
    *out = t;
    if (status != ST_OK)
        telnet_stop(out, 0);
    return status;
}

void
telnet_stop(struct telnet **t, unsigned drain_ms)
{
    struct telnet *x = OBJ_TAKE(t, TELNET_MAGIC);

    if (x == NULL)
        return;
    for (unsigned i = 0; i < x->loops_len; i++)
        loop_ask_to_stop(&x->loops[i].loop, drain_ms);
    for (unsigned i = 0; i < x->loops_len; i++)
        loop_join(&x->loops[i].loop);
    for (unsigned i = 0; i < x->loops_len; i++) {
        struct telnet_loop *l = &x->loops[i];

        loop_fini(&l->loop);
        put_batch_free(&l->batch);
        free(l->buf);
        free(l->held);
        free(l->call);
        buf_fini(&l->text);
        lock_fini(&l->lock);
    }
    free(x->loops);
    OBJ_FREE(x);
}
