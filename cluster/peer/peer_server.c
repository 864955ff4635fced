/* See cluster/peer/peer_server.h. */
#include "cluster/peer/peer_server.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "cluster/peer/channel.h"

#define PEER_SERVER_MAGIC FOURCC('S', 'V', 'C', 'E')
#define COMPLAIN_US       INT64_C(10000000)
#define STALL_US          INT64_C(100000)   /* a record that has waited */
#define KEEP_BYTES        ((size_t)1 << 20) /* of an answer's memory */

struct peer_server {
    uint32_t magic;
    struct peer_server_options o;
    struct lock lock;
    struct cond changed;                        /* a connection has ended */
    struct server_conn *conns GUARDED_BY(lock); /* youngest first */
    struct peer_server_counts counts GUARDED_BY(lock);
    int64_t complain_us GUARDED_BY(lock);
    size_t running GUARDED_BY(lock); /* threads of connections */
    bool stopping GUARDED_BY(lock);
};

struct server_conn {
    struct peer_server *s;
    struct server_conn *next, *prev;
    bool proven, evicted; /* guarded by the server's lock */
    char name[ADDRESS_NAME_SIZE];
    struct channel *channel;
    void *session;
    struct channel_frame in;
    struct buf out;
};

/* -- requests -------------------------------------------------------------- */

/* Records that failed one after the other, alike. */
struct failed_run {
    struct frame_failure f;
    char text[160];
};

static void
run_end(struct failed_run *run, struct buf *out)
{
    run->f.text = slice_str(run->text);
    if (run->f.len > 0)
        frame_put_failure(out, &run->f);
    run->f.len = 0;
}

static void
run_add(struct failed_run *run, uint32_t number, const struct error *why,
        struct buf *out)
{
    if (why->status != run->f.status || number != run->f.first + run->f.len)
        run_end(run, out);
    if (run->f.len++ > 0)
        return;
    run->f.first = number;
    run->f.status = why->status;
    (void)snprintf(run->text, sizeof run->text, "%.150s", why->text);
}

/* ST_CORRUPT: the connection is to be closed. */
static enum status
handle_record(const struct server_conn *c, struct slice record, uint64_t *lsn,
              struct error *e)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    int64_t from_us = clock_monotonic_us();
    uint64_t at = 0;
    enum status st = h->put(h->ctx, c->session, record, &at, e);

    *lsn = at > *lsn ? at : *lsn;
    /* A peer that has ended the connection has told its clients that nothing
     * was stored: nothing more of it is. */
    if (clock_monotonic_us() - from_us > STALL_US &&
        !channel_is_quiet(c->channel))
        return error_set(e, ST_CORRUPT, "ended by the peer while it waited");
    return st;
}

static enum status
serve_put(struct server_conn *c, struct error *e)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    struct cursor records = cursor_of(c->in.payload);
    struct failed_run run = { { 0 }, "" };
    struct buf failed = BUF_INIT;
    struct error why = { .text = "" };
    uint32_t number = 0;
    uint64_t lsn = 0;
    enum status st = ST_OK;

    for (; cursor_left(&records) > 0 && st != ST_CORRUPT; number++) {
        struct slice record = cursor_sized(&records);

        st = records.failed ? error_set(e, ST_CORRUPT, "malformed PUT")
                            : handle_record(c, record, &lsn, e);
        if (st != ST_OK && st != ST_CORRUPT)
            run_add(&run, number, e, &failed);
    }
    run_end(&run, &failed);
    lock_take(&c->s->lock);
    c->s->counts.puts += number;
    c->s->counts.commits += lsn != 0;
    lock_drop(&c->s->lock);
    if (st != ST_CORRUPT) {
        st = lsn == 0 ? ST_OK : h->commit(h->ctx, lsn, &why);
        buf_put_sized(&c->out, slice_str(st == ST_OK ? "" : why.text));
        buf_put_slice(&c->out, buf_slice(&failed));
        frame_end(&c->out, frame_code(st));
        st = ST_OK;
    }
    buf_fini(&failed);
    return st;
}

static void
serve_call(struct server_conn *c)
{
    const struct peer_handlers *h = &c->s->o.handlers;
    struct error why = { .text = "" };
    enum status st = h->serve(h->ctx, c->in.kind, c->in.payload, &c->out, &why);

    if (st == ST_OK && c->out.failed)
        st = error_set(&why, ST_LIMIT, "no memory for an answer");
    if (st != ST_OK) {
        buf_fini(&c->out);
        frame_begin(&c->out);
        buf_put_str(&c->out, why.text);
    }
    frame_end(&c->out, frame_code(st));
}

/* -- a connection ---------------------------------------------------------- */

static void
conn_free(struct server_conn *c)
{
    channel_close(&c->channel);
    buf_fini(&c->in.bytes);
    buf_fini(&c->out);
    free(c);
}

static enum status
conn_serve(struct server_conn *c, struct error *e)
{
    struct peer_server *s = c->s;
    const struct peer_handlers *h = &s->o.handlers;
    const struct channel_target t = { .secret = s->o.secret,
                                      .version = s->o.version };
    enum status st =
        channel_hear(c->channel, &t,
                     clock_monotonic_us() + (int64_t)s->o.hello_ms * 1000, e);

    if (st != ST_OK)
        return st;
    lock_take(&s->lock);
    c->proven = true;
    s->counts.proven++;
    lock_drop(&s->lock);
    counter_add(CNT_PEER_ADMITTED, 1);
    log_debug("cluster", "peer %s: its connection is admitted", c->name);
    c->session = h->session_open(h->ctx);
    /* Until the connection ends: why is in 'e'. */
    st = ST_OK;
    while (st == ST_OK) {
        st = channel_receive(
            c->channel, FRAME_REQUEST_MAX, &c->in,
            clock_monotonic_us() + (int64_t)c->s->o.idle_ms * 1000, e);
        if (st != ST_OK)
            break;
        if (c->out.cap > KEEP_BYTES)
            buf_fini(&c->out);
        buf_clear(&c->out);
        frame_begin(&c->out);
        if (c->in.kind == FRAME_PUT)
            st = serve_put(c, e);
        else
            serve_call(c);
        if (st == ST_OK)
            st = channel_send(c->channel, &c->out, 0, e);
    }
    h->session_close(h->ctx, c->session);
    return st;
}

static void *
conn_run(void *arg)
{
    struct server_conn *c = arg;
    struct peer_server *s = c->s;
    struct error e;

    if (conn_serve(c, &e) != ST_IO) {
        int64_t now_us = clock_monotonic_us();
        bool now;

        counter_add(CNT_PEER_REJECTED, 1);
        lock_take(&s->lock);
        now = now_us >= s->complain_us;
        if (now)
            s->complain_us = now_us + COMPLAIN_US;
        lock_drop(&s->lock);
        if (now)
            log_warn("cluster", "the connection of peer %s was closed: %s",
                     c->name, e.text);
    }
    lock_take(&s->lock);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        s->conns = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    s->counts.open--;
    s->counts.proven -= c->proven;
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
    s->o.idle_ms = o->idle_ms == 0 ? 600000 : o->idle_ms;
    s->o.stall_ms = o->stall_ms == 0 ? 20000 : o->stall_ms;
    s->o.max_connections = o->max_connections == 0 ? 512 : o->max_connections;
    s->o.max_unproven = o->max_unproven == 0 ? 32 : o->max_unproven;
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
    channel_shutdown(oldest->channel);
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
    c = mem_new(sizeof *c);
    c->s = s;
    c->channel = channel_of_socket(fd, s->o.stall_ms);
    address_name(peer, c->name, sizeof c->name);
    lock_take(&s->lock);
    st = conn_start(s, c, e);
    lock_drop(&s->lock);
    if (st != ST_OK) {
        counter_add(CNT_PEER_REJECTED, 1);
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
        channel_shutdown(c->channel);
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
