/* See cluster/peer/peer.h: what callers ask of a peer, and its sending. */
#include "cluster/peer/peer.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/mem.h"
#include "cluster/peer/peer_priv.h"

#define PEER_MAGIC   FOURCC('P', 'E', 'E', 'R')
#define GATHER_BYTES ((size_t)64 << 10)

/* -- sending --------------------------------------------------------------- */

static void
peer_signal(struct peer *p)
{
    uint64_t one = 1;

    (void)!write(p->wake_fd, &one, sizeof one);
}

void
peer_send(struct peer *p)
{
    bool was_blocked = p->blocked;

    if (p->timed_us == 0 && p->put_queued > p->put_sent) {
        p->timed = p->put_queued;
        p->timed_us = clock_monotonic_us();
    }
    p->put_sent = p->put_queued;
    p->blocked = false;
    while (p->out_at < p->out.size && !p->blocked && !p->broken) {
        ssize_t n = channel_send(p->channel, slice_of(p->out.data + p->out_at,
                                                      p->out.size - p->out_at));

        p->counts.sends++;
        p->broken = n < 0;
        p->blocked = n == 0;
        if (n > 0) {
            p->out_at += (size_t)n;
            counter_add(CNT_PEER_BYTES_SENT, (uint64_t)n);
        }
    }
    if (p->out_at == p->out.size) {
        buf_clear(&p->out);
        p->out_at = 0;
    }
    if (p->broken || (p->blocked && !was_blocked))
        peer_signal(p);
}

enum status
peer_queue(struct peer *p, uint8_t type, struct slice payload, struct error *e)
{
    if (p->out_at > GATHER_BYTES) {
        p->out.size -= p->out_at;
        memmove(p->out.data, p->out.data + p->out_at, p->out.size);
        p->out_at = 0;
    }
    frame_put(&p->out, type, p->number + 1, payload);
    if (p->out.failed) { /* all of it or nothing */
        p->out.failed = false;
        return error_set(e, ST_BUSY, "peer %s: no memory for a frame",
                         p->address);
    }
    p->number++;
    counter_add(CNT_PEER_FRAMES_SENT, 1);
    return ST_OK;
}

static enum status
link_ended(const struct peer *p, struct error *e)
{
    return error_set(e, ST_MOVED, "peer %s: the connection has ended",
                     p->address);
}

static unsigned
ms_until(int64_t end_us)
{
    int64_t left = end_us - clock_monotonic_us();

    return left <= 0           ? 0
           : left > 3600000000 ? 3600000u
                               : (unsigned)(left / 1000) + 1;
}

enum status
peer_put(struct peer *p, uint64_t link, struct slice record, uint64_t *ticket,
         struct error *e)
{
    enum status st;

    OBJ_CHECK(p, PEER_MAGIC);
    if (record.size > FRAME_PAYLOAD_MAX)
        return error_set(e, ST_LIMIT, "a record of %zu bytes", record.size);
    lock_take(&p->lock);
    st = p->link != link || link == 0 ? link_ended(p, e) : ST_OK;
    if (st == ST_OK && p->out.size - p->out_at > p->o.out_bytes)
        st = error_set(e, ST_BUSY,
                       "peer %s takes points more slowly than they come",
                       p->address);
    if (st == ST_OK)
        st = peer_queue(p, FRAME_PUT, record, e);
    if (st == ST_OK) {
        *ticket = p->put_queued = p->number;
        if (!p->blocked && p->out.size - p->out_at >= GATHER_BYTES)
            peer_send(p);
    }
    lock_drop(&p->lock);
    return st;
}

/* What became of a PUT that was answered.  Of one that failed so long ago that
 * it is forgotten nothing is known. */
static enum status
put_outcome(const struct peer *p, uint64_t ticket, struct error *e)
    REQUIRES(p->lock)
{
    size_t first =
        p->failed_len < PEER_FAILED_LEN ? 0 : p->failed_len - PEER_FAILED_LEN;

    for (size_t i = p->failed_len; i-- > first;) {
        const struct peer_failed_range *f = &p->failed[i % PEER_FAILED_LEN];

        if (ticket > f->to)
            return ST_OK;
        if (ticket > f->from)
            return error_set(e, f->status, "%s", f->text);
    }
    return first == 0 ? ST_OK : link_ended(p, e);
}

enum status
peer_put_wait(struct peer *p, uint64_t link, uint64_t ticket, int64_t end_us,
              bool (*moved)(void *ctx), void *ctx, struct error *e)
{
    enum status st;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    for (;;) {
        if (p->link != link || link == 0 || (moved != NULL && moved(ctx))) {
            st = link_ended(p, e);
            break;
        }
        if (p->put_answered >= ticket) {
            st = put_outcome(p, ticket, e);
            break;
        }
        if (ticket > p->put_sent && p->put_sent <= p->put_answered &&
            !p->blocked)
            peer_send(p);
        if (ms_until(end_us) == 0) {
            st = error_set(e, ST_BUSY, "peer %s gave no answer in time",
                           p->address);
            p->late = true;
            peer_signal(p);
            break;
        }
        cond_wait_ms(&p->changed, &p->lock, ms_until(end_us));
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

enum status
peer_call_begin(struct peer *p, uint64_t link, uint8_t type,
                struct slice request, size_t max, struct peer_call *call,
                struct error *e)
{
    enum status st;

    OBJ_CHECK(p, PEER_MAGIC);
    *call = (struct peer_call){ .link = link };
    if (request.size > FRAME_PAYLOAD_MAX)
        return error_set(e, ST_LIMIT, "a request of %zu bytes to peer %s",
                         request.size, p->address);
    lock_take(&p->lock);
    st = p->link != link || link == 0 ? link_ended(p, e)
                                      : peer_queue(p, type, request, e);
    if (st == ST_OK) {
        call->peer = p;
        call->number = p->number;
        buf_init(&call->answer, max);
        cond_init(&call->changed);
        call->next = p->calls;
        p->calls = call;
        if (!p->blocked)
            peer_send(p);
    }
    lock_drop(&p->lock);
    return st;
}

static void
call_remove(struct peer *p, struct peer_call *call) REQUIRES(p->lock)
{
    struct peer_call **at = &p->calls;

    while (*at != NULL && *at != call)
        at = &(*at)->next;
    if (*at != NULL)
        *at = call->next;
}

enum status
peer_call_end(struct peer_call *call, int64_t end_us, struct error *e)
{
    struct peer *p = call->peer;
    enum status st = ST_OK;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    while (!call->done && st == ST_OK) {
        if (ms_until(end_us) == 0)
            st = error_set(e, ST_BUSY, "peer %s gave no answer in time",
                           p->address);
        else
            cond_wait_ms(&call->changed, &p->lock, ms_until(end_us));
    }
    call_remove(p, call);
    lock_drop(&p->lock);
    if (st != ST_OK || call->status == ST_OK)
        return st;
    return error_set(e, call->status, "%s", buf_cstr(&call->answer));
}

void
peer_call_fini(struct peer_call *call)
{
    struct peer *p = call->peer;

    if (p == NULL)
        return;
    lock_take(&p->lock);
    call_remove(p, call);
    lock_drop(&p->lock);
    buf_fini(&call->answer);
    cond_fini(&call->changed);
    call->peer = NULL;
}

/* -- life ------------------------------------------------------------------ */

enum status
peer_open(const struct peer_options *o, const char *address, struct peer **out,
          struct error *e)
{
    struct peer *p = mem_new(sizeof *p);
    enum status st;

    p->magic = PEER_MAGIC;
    p->o = *o;
    p->o.connect_ms = o->connect_ms == 0 ? 5000 : o->connect_ms;
    p->o.retry_ms = o->retry_ms == 0 ? 1000 : o->retry_ms;
    p->o.silence_ms = o->silence_ms == 0 ? 15000 : o->silence_ms;
    p->o.out_bytes = o->out_bytes == 0 ? (size_t)64 << 20 : o->out_bytes;
    p->address = mem_strdup(address);
    lock_init(&p->lock);
    cond_init(&p->changed);
    (void)error_set(&p->why, ST_BUSY, "connecting");
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    st = p->wake_fd < 0 ? error_set(e, ST_IO, "peer %s: eventfd: %m", address)
                        : thread_start(&p->thread, peer_run, p, address, e);
    *out = p;
    if (st != ST_OK)
        peer_close(out);
    return st;
}

void
peer_stop(struct peer *p)
{
    OBJ_CHECK(p, PEER_MAGIC);
    atomic_store(&p->stopping, true);
    peer_signal(p);
}

bool
peer_has_ended(struct peer *p)
{
    OBJ_CHECK(p, PEER_MAGIC);
    return atomic_load(&p->ended);
}

void
peer_close(struct peer **p)
{
    struct peer *x = OBJ_TAKE(p, PEER_MAGIC);

    if (x == NULL)
        return;
    peer_stop(x);
    thread_join(&x->thread);
    if (x->wake_fd >= 0)
        (void)close(x->wake_fd);
    INSIST(x->calls == NULL);
    buf_fini(&x->out);
    cond_fini(&x->changed);
    lock_fini(&x->lock);
    free(x->address);
    OBJ_FREE(x);
}

uint64_t
peer_link(struct peer *p)
{
    uint64_t link;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    link = p->link;
    lock_drop(&p->lock);
    return link;
}

enum status
peer_wait_link(struct peer *p, int64_t end_us, uint64_t *link, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(p, PEER_MAGIC);
    lock_take(&p->lock);
    while ((*link = p->link) == 0 && st == ST_OK) {
        if (ms_until(end_us) == 0)
            st = error_set(e, ST_BUSY, "peer %s cannot be reached: %s",
                           p->address, p->why.text);
        else
            cond_wait_ms(&p->changed, &p->lock, ms_until(end_us));
    }
    lock_drop(&p->lock);
    return st;
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
