/* See cluster/peer/peer_server.h. */
#include "cluster/peer/peer_server.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/mem.h"
#include "cluster/peer/outcome.h"
#include "cluster/peer/peer_socket.h"
#include "cluster/peer/requests.h"

#define PEER_SERVER_MAGIC FOURCC('S', 'V', 'C', 'E')
#define WORKERS           3 /* of a connection */
#define OUT_BYTES         ((size_t)1 << 20)
#define COMPLAIN_US       INT64_C(10000000)
#define STALL_US          INT64_C(100000) /* a PUT that has waited */

struct peer_server {
    uint32_t magic;
    struct peer_server_options o;
    struct lock lock;
    struct cond changed;                        /* a connection has ended */
    struct server_conn *conns GUARDED_BY(lock); /* youngest first */
    struct peer_server_counts counts GUARDED_BY(lock);
    int64_t complain_us GUARDED_BY(lock);
    size_t running GUARDED_BY(lock); /* main threads of connections */
    bool stopping GUARDED_BY(lock);
};

struct server_conn {
    struct peer_server *s;
    struct server_conn *next, *prev;
    bool proven, evicted; /* guarded by the server's lock */
    int fd;
    char name[ADDRESS_NAME_SIZE];
    void *session;
    struct frame_reader reader; /* its main thread's */
    struct requests requests;

    struct lock lock;
    struct cond put; /* for the committer, and who waits for room */
    struct outcomes outcomes GUARDED_BY(lock); /* of PUTs, to be answered */
    bool ending GUARDED_BY(lock);

    struct lock out_lock;
    struct cond out_changed;
    struct buf out GUARDED_BY(out_lock); /* waits to be sent */
    bool sending GUARDED_BY(out_lock);   /* some thread does */
    bool broken GUARDED_BY(out_lock);    /* it cannot be sent to */
};

/* -- sending --------------------------------------------------------------- */

/* Queues whole frames.  Who finds no other thread sending does it for all; no
 * lock is held while it does. */
static void
conn_say(struct server_conn *c, struct slice frames)
{
    struct buf busy = BUF_INIT;

    lock_take(&c->out_lock);
    while (c->sending && !c->broken && c->out.size > OUT_BYTES)
        cond_wait(&c->out_changed, &c->out_lock);
    buf_put_slice(&c->out, frames);
    while (!c->sending && !c->broken && c->out.size > 0) {
        struct buf full = c->out;
        bool good;

        c->out = busy;
        c->sending = true;
        lock_drop(&c->out_lock);
        good = !full.failed &&
               peer_socket_send(c->fd, buf_slice(&full), c->s->o.stall_ms);
        if (!good)
            (void)shutdown(c->fd, SHUT_RDWR); /* wakes the main thread */
        buf_clear(&full);
        busy = full;
        lock_take(&c->out_lock);
        c->sending = false;
        c->broken = c->broken || !good;
        cond_broadcast(&c->out_changed);
    }
    lock_drop(&c->out_lock);
    buf_fini(&busy);
}

static void
conn_answer(struct server_conn *c, uint8_t type, uint64_t number,
            enum status status, struct slice body)
{
    struct buf frames = BUF_INIT;
    bool more;

    do {
        buf_clear(&frames);
        more = frame_put_answer(&frames, type, number, status, &body);
        counter_add(CNT_PEER_FRAMES_SENT, 1);
        conn_say(c, buf_slice(&frames));
    } while (more);
    buf_fini(&frames);
}

/* -- PUTs ------------------------------------------------------------------ */

/* Tells the committer what became of PUTs up to a number. */
static void
put_outcome(struct server_conn *c, const struct outcome *o)
{
    lock_take(&c->lock);
    while (outcomes_are_full(&c->outcomes))
        cond_wait(&c->put, &c->lock);
    outcomes_add(&c->outcomes, o);
    cond_broadcast(&c->put);
    lock_drop(&c->lock);
}

static void
commit_and_answer(struct server_conn *c, const struct outcomes *all)
{
    struct peer_server *s = c->s;
    struct buf frames = BUF_INIT;
    struct error e = { 0 };
    uint64_t lsn = outcomes_lsn(all);
    enum status st = ST_OK;

    if (lsn != 0)
        st = s->o.handlers.commit(s->o.handlers.ctx, lsn, &e);
    for (size_t i = 0; i < all->len; i++) {
        const struct outcome *o = &all->items[i];
        bool good = o->status == ST_OK;
        struct slice text = slice_str(good ? e.text : o->text);

        if (good && st == ST_OK)
            text = slice_str("");
        (void)frame_put_answer(&frames, FRAME_PUT, o->number,
                               good ? st : o->status, &text);
    }
    lock_take(&s->lock);
    s->counts.commits += lsn != 0;
    lock_drop(&s->lock);
    counter_add(CNT_PEER_FRAMES_SENT, all->len);
    conn_say(c, buf_slice(&frames));
    buf_fini(&frames);
}

static void *
committer(void *arg)
{
    struct server_conn *c = arg;
    struct outcomes *all = mem_new(sizeof *all);

    lock_take(&c->lock);
    for (;;) {
        while (c->outcomes.len == 0 && !c->ending)
            cond_wait(&c->put, &c->lock);
        if (c->outcomes.len == 0)
            break;
        *all = c->outcomes;
        c->outcomes.len = 0;
        cond_broadcast(&c->put);
        lock_drop(&c->lock);
        commit_and_answer(c, all);
        lock_take(&c->lock);
    }
    lock_drop(&c->lock);
    free(all);
    return NULL;
}

/* -- requests -------------------------------------------------------------- */

static void
serve_request(struct server_conn *c, const struct request *r)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    struct buf answer = BUF_INIT;
    struct error e = { 0 };
    enum status st = h->serve(h->ctx, r->type, r->payload, &answer, &e);

    if (st == ST_OK && answer.failed)
        st = error_set(&e, ST_LIMIT, "no memory for an answer");
    conn_answer(c, r->type, r->number, st,
                st == ST_OK ? buf_slice(&answer) : slice_str(e.text));
    buf_fini(&answer);
}

static void *
worker(void *arg)
{
    struct server_conn *c = arg;
    struct request *r;

    while ((r = requests_take(&c->requests)) != NULL) {
        serve_request(c, r);
        requests_done(&c->requests, r);
    }
    return NULL;
}

/* -- a connection ---------------------------------------------------------- */

static enum status
hear_hello(const struct server_conn *c, struct error *e)
{
    const struct peer_server_options *o = &c->s->o;
    struct hello h;

    hello_init(&h, o->secret);
    if (o->version != 0)
        h.version = o->version;
    return peer_socket_hello(c->fd, &h,
                             clock_monotonic_us() + (int64_t)o->hello_ms * 1000,
                             o->stall_ms, e);
}

/* What became of the PUTs of one reading, so far. */
struct put_run {
    struct outcome o;
    uint64_t puts;
};

static void
run_end(struct server_conn *c, struct put_run *run)
{
    if (run->o.number != 0)
        put_outcome(c, &run->o);
    run->o = (struct outcome){ 0 };
}

static enum status
handle_put(struct server_conn *c, const struct frame *f, struct put_run *run,
           struct error *e)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    int64_t from_us = clock_monotonic_us();
    uint64_t lsn = 0;
    enum status st = h->put(h->ctx, c->session, f->payload, &lsn, e);

    run->puts++;
    if (clock_monotonic_us() - from_us > STALL_US && peer_socket_is_left(c->fd))
        return error_set(e, ST_CORRUPT, "ended by the peer while it waited");
    if (st == ST_OK) {
        run->o.number = f->number;
        run->o.lsn = lsn > run->o.lsn ? lsn : run->o.lsn;
    } else if (st != ST_CORRUPT) {
        struct outcome failed = { .number = f->number, .status = st };

        (void)snprintf(failed.text, sizeof failed.text, "%.150s", e->text);
        run_end(c, run);
        put_outcome(c, &failed);
        st = ST_OK;
    }
    return st;
}

/* ST_CORRUPT: the connection is to be closed. */
static enum status
handle_frames(struct server_conn *c, uint64_t *number, struct error *e)
{
    uint64_t before = c->reader.frames;
    struct put_run run = { 0 };
    enum status st = ST_OK;
    struct frame f;

    while (st == ST_OK && frame_reader_next(&c->reader, &f)) {
        if ((f.type & FRAME_ANSWER) != 0 || f.number <= *number)
            st = error_set(e, ST_CORRUPT,
                           "malformed frame: type %u, number %llu after %llu",
                           (unsigned)f.type, (unsigned long long)f.number,
                           (unsigned long long)*number);
        else if (f.type == FRAME_PUT)
            st = handle_put(c, &f, &run, e);
        else if (f.type == FRAME_PING)
            conn_answer(c, f.type, f.number, ST_OK, slice_of(NULL, 0));
        else
            requests_add(&c->requests, &f);
        *number = f.number;
    }
    counter_add(CNT_PEER_FRAMES_RECEIVED, c->reader.frames - before);
    if (run.puts > 0) {
        lock_take(&c->s->lock);
        c->s->counts.puts += run.puts;
        lock_drop(&c->s->lock);
    }
    run_end(c, &run);
    return st != ST_OK || c->reader.error.status == ST_OK
               ? st
               : error_set(e, c->reader.error.status, "%s",
                           c->reader.error.text);
}

/* Reads frames until the connection ends: why is in 'e'. */
static enum status
serve_frames(struct server_conn *c, struct error *e)
{
    int64_t idle_us = (int64_t)c->s->o.idle_ms * 1000;
    enum status st = ST_OK;
    uint64_t number = 0;

    while (st == ST_OK) {
        size_t size, got;
        uint8_t *to = frame_reader_room(&c->reader, &size);

        if (to == NULL)
            return error_set(e, c->reader.error.status, "%s",
                             c->reader.error.text);
        st = peer_socket_receive(c->fd, to, size,
                                 clock_monotonic_us() + idle_us, &got, e);
        if (st != ST_OK)
            return st;
        counter_add(CNT_PEER_BYTES_RECEIVED, got);
        frame_reader_added(&c->reader, got);
        st = handle_frames(c, &number, e);
    }
    return st;
}

/* With the threads of a proven connection. */
static enum status
conn_serve(struct server_conn *c, struct error *e)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    pthread_t threads[1 + WORKERS];
    size_t len = 0;
    enum status st = ST_OK;

    c->session = h->session_open(h->ctx);
    for (; len < 1 + WORKERS && st == ST_OK; len++) {
        int err = pthread_create(&threads[len], NULL,
                                 len == 0 ? committer : worker, c);

        if (err != 0) {
            st = error_set(e, ST_BUSY, "no thread: %s", strerror(err));
            break;
        }
    }
    if (st == ST_OK)
        st = serve_frames(c, e);
    (void)shutdown(c->fd, SHUT_RDWR); /* no thread waits to send any more */
    lock_take(&c->lock);
    c->ending = true;
    cond_broadcast(&c->put);
    lock_drop(&c->lock);
    requests_end(&c->requests);
    while (len > 0)
        INSIST(pthread_join(threads[--len], NULL) == 0);
    h->session_close(h->ctx, c->session);
    return st;
}

static void
server_complain(struct peer_server *s, const struct server_conn *c,
                const struct error *e)
{
    int64_t now_us = clock_monotonic_us();
    bool now;

    counter_add(CNT_PEER_REJECTED, 1);
    lock_take(&s->lock);
    now = now_us >= s->complain_us;
    if (now)
        s->complain_us = now_us + COMPLAIN_US;
    lock_drop(&s->lock);
    if (now)
        log_warn("cluster", "the connection of peer %s was closed: %s", c->name,
                 e->text);
}

static void
conn_free(struct server_conn *c)
{
    frame_reader_fini(&c->reader);
    buf_fini(&c->out);
    requests_fini(&c->requests);
    cond_fini(&c->put);
    cond_fini(&c->out_changed);
    lock_fini(&c->lock);
    lock_fini(&c->out_lock);
    free(c);
}

static void
conn_unlink(struct peer_server *s, struct server_conn *c) REQUIRES(s->lock)
{
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        s->conns = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    s->counts.open--;
    s->counts.proven -= c->proven;
}

static void *
conn_run(void *arg)
{
    struct server_conn *c = arg;
    struct peer_server *s = c->s;
    struct error e;
    enum status st = hear_hello(c, &e);

    if (st == ST_OK) {
        lock_take(&s->lock);
        c->proven = true;
        s->counts.proven++;
        lock_drop(&s->lock);
        counter_add(CNT_PEER_ADMITTED, 1);
        log_debug("cluster", "peer %s: its connection is admitted", c->name);
        st = conn_serve(c, &e);
    }
    if (st != ST_IO)
        server_complain(s, c, &e);
    lock_take(&s->lock);
    conn_unlink(s, c);
    (void)close(c->fd);
    lock_drop(&s->lock);
    conn_free(c);
    if (s->o.closed != NULL)
        s->o.closed(s->o.closed_ctx);
    lock_take(&s->lock);
    s->running--;
    cond_broadcast(&s->changed);
    lock_drop(&s->lock);
    return NULL;
}

/* -- life ------------------------------------------------------------------ */

struct peer_server *
peer_server_open(const struct peer_server_options *o)
{
    struct peer_server *s = mem_new(sizeof *s);

    s->magic = PEER_SERVER_MAGIC;
    s->o = *o;
    s->o.hello_ms = o->hello_ms == 0 ? 5000 : o->hello_ms;
    s->o.idle_ms = o->idle_ms == 0 ? 60000 : o->idle_ms;
    s->o.stall_ms = o->stall_ms == 0 ? 20000 : o->stall_ms;
    s->o.max_connections = o->max_connections == 0 ? 512 : o->max_connections;
    s->o.max_unproven = o->max_unproven == 0 ? 32 : o->max_unproven;
    s->o.request_bytes =
        o->request_bytes == 0 ? (size_t)32 << 20 : o->request_bytes;
    lock_init(&s->lock);
    cond_init(&s->changed);
    return s;
}

/* Ends the connection that has waited longest with its hello, if too many do.
 */
static void
evict_unproven(struct peer_server *s) REQUIRES(s->lock)
{
    struct server_conn *oldest = NULL;
    size_t waiting = 0;

    for (struct server_conn *c = s->conns; c != NULL; c = c->next)
        if (!c->proven && !c->evicted) {
            oldest = c;
            waiting++;
        }
    if (oldest == NULL || waiting < s->o.max_unproven)
        return;
    oldest->evicted = true;
    (void)shutdown(oldest->fd, SHUT_RDWR);
}

static struct server_conn *
conn_new(struct peer_server *s, int fd, const struct sockaddr *peer)
{
    struct server_conn *c = mem_new(sizeof *c);

    c->s = s;
    c->fd = fd;
    address_name(peer, c->name, sizeof c->name);
    frame_reader_init(&c->reader);
    requests_init(&c->requests, WORKERS, s->o.request_bytes);
    lock_init(&c->lock);
    lock_init(&c->out_lock);
    cond_init(&c->put);
    cond_init(&c->out_changed);
    return c;
}

/* Under the server's lock, so that peer_server_close() finds all. */
static enum status
conn_start(struct peer_server *s, struct server_conn *c, struct error *e)
    REQUIRES(s->lock)
{
    pthread_t thread;
    int err;

    if (s->stopping)
        return error_set(e, ST_BUSY, "this daemon stops");
    if (s->counts.open >= s->o.max_connections)
        return error_set(e, ST_BUSY, "%zu peers are connected",
                         s->o.max_connections);
    evict_unproven(s);
    err = pthread_create(&thread, NULL, conn_run, c);
    if (err != 0)
        return error_set(e, ST_BUSY, "no thread: %s", strerror(err));
    INSIST(pthread_detach(thread) == 0);
    c->next = s->conns;
    if (c->next != NULL)
        c->next->prev = c;
    s->conns = c;
    s->counts.open++;
    s->running++;
    return ST_OK;
}

enum status
peer_server_adopt(struct peer_server *s, int fd, const struct sockaddr *peer,
                  struct error *e)
{
    struct server_conn *c;
    enum status st;

    OBJ_CHECK(s, PEER_SERVER_MAGIC);
    c = conn_new(s, fd, peer);
    lock_take(&s->lock);
    st = conn_start(s, c, e);
    lock_drop(&s->lock);
    if (st != ST_OK) {
        counter_add(CNT_PEER_REJECTED, 1);
        (void)close(fd);
        conn_free(c);
    }
    return st;
}

void
peer_server_close(struct peer_server **s)
{
    struct peer_server *x = OBJ_TAKE(s, PEER_SERVER_MAGIC);

    if (x == NULL)
        return;
    lock_take(&x->lock);
    x->stopping = true;
    for (struct server_conn *c = x->conns; c != NULL; c = c->next)
        (void)shutdown(c->fd, SHUT_RDWR);
    while (x->running > 0)
        cond_wait(&x->changed, &x->lock);
    lock_drop(&x->lock);
    cond_fini(&x->changed);
    lock_fini(&x->lock);
    OBJ_FREE(x);
}

struct peer_server_counts
peer_server_counts(struct peer_server *s)
{
    struct peer_server_counts counts;

    OBJ_CHECK(s, PEER_SERVER_MAGIC);
    lock_take(&s->lock);
    counts = s->counts;
    lock_drop(&s->lock);
    return counts;
}
