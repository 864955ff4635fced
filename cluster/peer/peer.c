/* See cluster/peer/peer.h. */
#include "cluster/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/cursor.h"
#include "base/mem.h"

#define PEER_MAGIC  FOURCC('P', 'E', 'E', 'R')
#define FAILED_LEN  256               /* ranges of PUTs that failed */
#define IDLE_LEN    8                 /* connections that are kept */
#define COMPLAIN_US INT64_C(60000000) /* at most so often, of one thing */

/* PUTs with from < ticket <= to have failed. */
struct failed_range {
    uint64_t from, to;
    enum status status;
    char text[160];
};

struct peer {
    uint32_t magic;
    struct peer_options o;
    char *address;
    atomic_bool stopping;
    atomic_bool link_ended; /* whoever uses the link's connection gives up */
    struct lock lock;
    struct cond changed; /* PUTs were answered, or the link has ended */
    struct channel *channel GUARDED_BY(lock); /* the link's; NULL: none yet */
    uint64_t link GUARDED_BY(lock);           /* 0: none */
    bool sending GUARDED_BY(lock);   /* a thread uses the link's connection */
    struct buf out GUARDED_BY(lock); /* the next request */
    /* Tickets: the last that was given, sent, and answered. */
    uint64_t queued GUARDED_BY(lock);
    uint64_t sent GUARDED_BY(lock);
    uint64_t answered GUARDED_BY(lock);
    struct failed_range failed[FAILED_LEN] GUARDED_BY(lock);
    size_t failed_len GUARDED_BY(lock); /* all there were on this link */
    int64_t retry_us GUARDED_BY(lock);  /* no new link before */
    struct channel *idle[IDLE_LEN] GUARDED_BY(lock);
    size_t idle_len GUARDED_BY(lock);
    struct peer_counts counts GUARDED_BY(lock);
    int64_t complain_us GUARDED_BY(lock); /* not before */
    char complained[160] GUARDED_BY(lock);
};

/* The text of a peer becomes one line of limited size. */
static void
copy_text(char *to, size_t size, struct slice text)
{
    (void)snprintf(to, size, "%.*s", (int)(text.size < size ? text.size : size),
                   text.size == 0 ? "" : (const char *)text.data);
    for (; *to != '\0'; to++)
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            *to = ' ';
}

/* -- links ----------------------------------------------------------------- */

/* One line for each thing, and again when it has lasted. */
static void
complain(struct peer *p, const struct error *e) REQUIRES(p->lock)
{
    int64_t now_us = clock_monotonic_us();

    if (atomic_load(&p->stopping) ||
        (now_us < p->complain_us &&
         strncmp(p->complained, e->text, sizeof p->complained - 1) == 0))
        return;
    (void)snprintf(p->complained, sizeof p->complained, "%.159s", e->text);
    p->complain_us = now_us + COMPLAIN_US;
    log_warn("cluster", "peer %s: %s; trying again", p->address, e->text);
}

/* A thread that uses its connection closes that. */
static void
link_end(struct peer *p) REQUIRES(p->lock)
{
    p->link = 0;
    atomic_store(&p->link_ended, true);
    if (!p->sending)
        channel_close(&p->channel);
    buf_fini(&p->out);
    cond_broadcast(&p->changed);
}

uint64_t
peer_link(struct peer *p)
{
    uint64_t link;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    if (p->link == 0 && !p->sending && !atomic_load(&p->stopping) &&
        clock_monotonic_us() >= p->retry_us) {
        /* The connection of the link before must not be in use any more. */
        p->link = atomic_fetch_add(p->o.links, 1) + 1;
        p->sent = p->answered = p->queued;
        p->failed_len = 0;
        atomic_store(&p->link_ended, false);
    }
    link = p->link;
    lock_drop(&p->lock);
    return link;
}

static enum status
connection_ended(const struct peer *p, struct error *e)
{
    return error_set(e, ST_MOVED, "peer %s: the connection has ended",
                     p->address);
}

static enum status
peer_dial(struct peer *p, const atomic_bool *stop, int64_t end_us,
          struct channel **out, struct error *e)
{
    const struct channel_target t = { .address = p->address,
                                      .secret = p->o.secret,
                                      .version = p->o.version,
                                      .tls = p->o.tls,
                                      .silence_ms = p->o.silence_ms,
                                      .stop = stop };
    int64_t most_us = clock_monotonic_us() + (int64_t)p->o.connect_ms * 1000;
    enum status st =
        channel_dial(&t, end_us < most_us ? end_us : most_us, out, e);

    if (st == ST_OK)
        counter_add(CNT_PEER_LINKS, 1);
    return st;
}

/* -- PUTs ------------------------------------------------------------------ */

enum status
peer_put(struct peer *p, uint64_t link, struct slice record, uint64_t *ticket,
         struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    if (p->link != link || link == 0) {
        st = connection_ended(p, e);
    } else if (p->out.size + record.size + 16 > p->o.out_bytes) {
        st = error_set(e, ST_BUSY,
                       "peer %s takes points more slowly than they come",
                       p->address);
    } else {
        size_t size = p->out.size;

        if (size == 0)
            frame_begin(&p->out);
        buf_put_sized(&p->out, record);
        if (p->out.failed) { /* all of it or nothing */
            p->out.failed = false;
            p->out.size = size;
            st = error_set(e, ST_BUSY, "peer %s: no memory for a record",
                           p->address);
        }
    }
    if (st == ST_OK)
        *ticket = ++p->queued;
    lock_drop(&p->lock);
    return st;
}

static void
note_failed(struct peer *p, uint64_t from, const struct frame_failure *f)
    REQUIRES(p->lock)
{
    struct failed_range *r = &p->failed[p->failed_len++ % FAILED_LEN];

    *r = (struct failed_range){ .from = from + f->first,
                                .to = from + f->first + f->len,
                                .status = f->status };
    copy_text(r->text, sizeof r->text, f->text);
}

/* What became of a PUT that was answered.  Of one that failed so long ago that
 * it is forgotten nothing is known. */
static enum status
put_outcome(const struct peer *p, uint64_t ticket, struct error *e)
    REQUIRES(p->lock)
{
    size_t first = p->failed_len < FAILED_LEN ? 0 : p->failed_len - FAILED_LEN;

    for (size_t i = first; i < p->failed_len; i++) {
        const struct failed_range *f = &p->failed[i % FAILED_LEN];

        if (ticket > f->from && ticket <= f->to)
            return error_set(e, f->status, "%s", f->text);
    }
    return first == 0 || ticket > p->failed[first % FAILED_LEN].from
               ? ST_OK
               : connection_ended(p, e);
}

/* The answer to the PUTs from < ticket <= to.  If their commit failed, that is
 * noted after those that failed alone, and so counts for the others. */
static enum status
read_answer(struct peer *p, uint64_t from, uint64_t to, uint8_t code,
            struct slice payload, struct error *e) REQUIRES(p->lock)
{
    struct cursor c = cursor_of(payload);
    struct frame_failure all = { .len = (uint32_t)(to - from) }, f;
    enum status st = frame_status(code, &all.status, e);

    all.text = cursor_sized(&c);
    if (st == ST_OK && c.failed)
        st = error_set(e, ST_CORRUPT, "malformed answer to a PUT");
    if (st != ST_OK)
        return st;
    while (frame_next_failure(&c, &f, e))
        note_failed(p, from, &f);
    if (all.status != ST_OK)
        note_failed(p, from, &all);
    return e->status;
}

/* A request of PUTs, which its answer replaces in 'frame'. */
struct exchange {
    struct channel *channel; /* NULL: it has to be made */
    struct channel_frame frame;
    int64_t end_us;
};

static enum status
exchange_run(struct peer *p, struct exchange *x, struct error *e)
{
    enum status st = ST_OK;

    if (x->channel == NULL) {
        st = peer_dial(p, &p->link_ended, x->end_us, &x->channel, e);
        if (st == ST_OK)
            log_info("cluster", "peer %s: connected", p->address);
    }
    frame_end(&x->frame.bytes, FRAME_PUT);
    if (st == ST_OK)
        st = channel_send(x->channel, &x->frame.bytes, x->end_us, e);
    if (st == ST_OK)
        st = channel_receive(x->channel, FRAME_REQUEST_MAX, &x->frame,
                             x->end_us, e);
    return st;
}

/* Sends all records that wait, and takes their answer.  The lock is dropped
 * meanwhile. */
static void
send_puts(struct peer *p, int64_t end_us) REQUIRES(p->lock)
{
    struct exchange x = { p->channel, { .bytes = p->out }, end_us };
    uint64_t from = p->sent, to = p->queued;
    int64_t from_us = clock_monotonic_us();
    struct error e = { .status = ST_OK };
    enum status st;

    /* The peer closes a link that was idle for long: that is no trouble. */
    if (p->channel != NULL && !channel_is_quiet(p->channel)) {
        link_end(p);
        return;
    }
    p->out = (struct buf)BUF_INIT;
    p->sent = to;
    p->sending = true;
    p->counts.sends++;
    lock_drop(&p->lock);
    st = exchange_run(p, &x, &e);
    lock_take(&p->lock);
    p->sending = false;
    p->counts.links += p->channel == NULL && x.channel != NULL;
    p->channel = x.channel;
    if (st == ST_OK && p->link != 0)
        st = read_answer(p, from, to, x.frame.kind, x.frame.payload, &e);
    if (p->link == 0) {
        channel_close(&p->channel); /* it was ended meanwhile */
    } else if (st == ST_OK) {
        p->answered = to;
        if (p->o.put_latency != NULL)
            latency_add(p->o.put_latency,
                        (uint64_t)(clock_monotonic_us() - from_us));
    } else {
        complain(p, &e);
        if (p->channel == NULL)
            p->retry_us = clock_monotonic_us() + (int64_t)p->o.retry_ms * 1000;
        link_end(p);
    }
    cond_broadcast(&p->changed);
    buf_fini(&x.frame.bytes);
}

static enum status
no_answer(const struct peer *p, struct error *e)
{
    return error_set(e, ST_BUSY, "peer %s gave no answer in time", p->address);
}

enum status
peer_put_wait(struct peer *p, const struct peer_waiter *w, struct error *e)
{
    enum status st;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    for (;;) {
        int64_t left_us = w->end_us - clock_monotonic_us();

        if (p->link != w->link || w->link == 0 ||
            (w->moved != NULL && w->moved(w->ctx))) {
            st = left_us <= 0 ? no_answer(p, e) : connection_ended(p, e);
            break;
        }
        if (p->answered >= w->ticket) {
            st = put_outcome(p, w->ticket, e);
            break;
        }
        if (left_us <= 0) {
            st = no_answer(p, e);
            link_end(p);
        } else if (!p->sending) {
            send_puts(p, w->end_us);
        } else {
            cond_wait_ms(&p->changed, &p->lock,
                         left_us > 3600000000 ? 3600000
                                              : (unsigned)(left_us / 1000) + 1);
        }
    }
    lock_drop(&p->lock);
    return st;
}

void
peer_wake(struct peer *p)
{
    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    cond_broadcast(&p->changed);
    lock_drop(&p->lock);
}

/* -- calls ----------------------------------------------------------------- */

/* Returns ST_MOVED, so that the caller asks again, unless it is too late. */
static enum status
call_failed(struct peer_call *call, const struct error *why, struct error *e)
{
    struct peer *p = call->peer;

    channel_close(&call->channel);
    if (why->status == ST_LIMIT)
        return error_set(e, ST_LIMIT, "peer %s: %s", p->address, why->text);
    lock_take(&p->lock);
    complain(p, why);
    lock_drop(&p->lock);
    return clock_monotonic_us() >= call->end_us
               ? no_answer(p, e)
               : error_set(e, ST_MOVED, "peer %s: %s", p->address, why->text);
}

enum status
peer_call_begin(struct peer *p, struct peer_call *call, uint8_t type,
                struct slice request, struct error *e)
{
    struct buf frame = BUF_INIT;
    struct error why;
    enum status st = ST_OK;
    struct channel *c = NULL;

    OBJ_CHECK(p, PEER_MAGIC);
    if (request.size > FRAME_REQUEST_MAX)
        return error_set(e, ST_LIMIT, "a request of %zu bytes to peer %s",
                         request.size, p->address);
    call->peer = p;
    /* A connection that was kept and still lives, or NULL. */
    lock_take(&p->lock);
    while (c == NULL && p->idle_len > 0) {
        c = p->idle[--p->idle_len];
        if (!channel_is_quiet(c))
            channel_close(&c);
    }
    lock_drop(&p->lock);
    call->channel = c;
    if (call->channel == NULL)
        st = peer_dial(p, &p->stopping, call->end_us, &call->channel, &why);
    frame_begin(&frame);
    buf_put_slice(&frame, request);
    frame_end(&frame, type);
    if (st == ST_OK)
        st = channel_send(call->channel, &frame, call->end_us, &why);
    buf_fini(&frame);
    return st == ST_OK ? ST_OK : call_failed(call, &why, e);
}

enum status
peer_call_end(struct peer_call *call, struct error *e)
{
    struct error why;
    enum status st, status = ST_OK;
    char text[400];

    OBJ_CHECK(call->peer, PEER_MAGIC);
    st = channel_receive(call->channel, call->max == 0 ? SIZE_MAX : call->max,
                         &call->in, call->end_us, &why);
    if (st == ST_OK)
        st = frame_status(call->in.kind, &status, &why);
    if (st != ST_OK)
        return call_failed(call, &why, e);
    lock_take(&call->peer->lock);
    if (call->peer->idle_len < IDLE_LEN) {
        call->peer->idle[call->peer->idle_len++] = call->channel;
        call->channel = NULL;
    }
    lock_drop(&call->peer->lock);
    channel_close(&call->channel);
    call->answer = call->in.payload;
    if (status == ST_OK)
        return ST_OK;
    copy_text(text, sizeof text, call->answer);
    return error_set(e, status, "%s", text);
}

void
peer_call_fini(struct peer_call *call)
{
    channel_close(&call->channel);
    buf_fini(&call->in.bytes);
    call->peer = NULL;
}

/* -- life ------------------------------------------------------------------ */

struct peer *
peer_open(const struct peer_options *o, const char *address)
{
    struct peer *p = mem_new(sizeof *p);

    p->magic = PEER_MAGIC;
    p->o = *o;
    p->o.connect_ms = o->connect_ms == 0 ? 5000 : o->connect_ms;
    p->o.retry_ms = o->retry_ms == 0 ? 100 : o->retry_ms;
    p->o.silence_ms = o->silence_ms == 0 ? 15000 : o->silence_ms;
    p->o.out_bytes = o->out_bytes == 0 ? FRAME_REQUEST_MAX : o->out_bytes;
    p->address = mem_strdup(address);
    lock_init(&p->lock);
    cond_init(&p->changed);
    return p;
}

void
peer_stop(struct peer *p)
{
    OBJ_CHECK(p, PEER_MAGIC);
    atomic_store(&p->stopping, true);
    lock_take(&p->lock);
    link_end(p);
    lock_drop(&p->lock);
}

void
peer_close(struct peer **p)
{
    struct peer *x = OBJ_TAKE(p, PEER_MAGIC);

    if (x == NULL)
        return;
    peer_stop(x);
    lock_take(&x->lock);
    INSIST(!x->sending);
    for (size_t i = 0; i < x->idle_len; i++)
        channel_close(&x->idle[i]);
    lock_drop(&x->lock);
    cond_fini(&x->changed);
    lock_fini(&x->lock);
    free(x->address);
    OBJ_FREE(x);
}

struct peer_counts
peer_counts(struct peer *p)
{
    struct peer_counts counts;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    counts = p->counts;
    lock_drop(&p->lock);
    return counts;
}
