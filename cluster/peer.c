/* See cluster/peer.h.  The peer's thread connects, receives and, where the
 * socket would not take all, sends the rest; all else is sent by who asks. */
#include "cluster/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"

#define PEER_MAGIC   FOURCC('P', 'E', 'E', 'R')
#define GATHER_BYTES ((size_t)64 << 10)
#define FAILED_LEN   256 /* ranges of PUTs that failed */
#define RETRY_MIN_MS 20
#define COMPLAIN_US  INT64_C(60000000) /* at most so often, of one thing */

/* PUTs with from < number <= to have failed. */
struct failed_range {
    uint64_t from, to;
    enum status status;
    char text[160];
};

struct peer {
    uint32_t magic;
    struct peer_options o;
    char *address;
    int wake_fd;
    atomic_bool stopping, ended;
    bool has_thread;
    pthread_t thread;
    struct lock lock;
    struct cond changed;                      /* a link, an answer to PUTs */
    struct channel *channel GUARDED_BY(lock); /* NULL: no link */
    uint64_t link GUARDED_BY(lock);           /* 0: none */
    uint64_t number GUARDED_BY(lock);         /* the last one used */
    struct buf out GUARDED_BY(lock);          /* frames to be sent .. */
    size_t out_at GUARDED_BY(lock);           /* .. from here on */
    bool blocked GUARDED_BY(lock); /* the thread sends what is left */
    bool broken GUARDED_BY(lock);  /* sending failed */
    bool late GUARDED_BY(lock);    /* a PUT was not answered in time */
    /* Numbers of PUTs: the last that was queued, was sent (or is blocked), was
     * answered, or its link ended. */
    uint64_t put_queued GUARDED_BY(lock);
    uint64_t put_sent GUARDED_BY(lock);
    uint64_t put_answered GUARDED_BY(lock);
    uint64_t timed GUARDED_BY(lock);   /* a PUT whose latency is taken .. */
    int64_t timed_us GUARDED_BY(lock); /* .. from here on; 0: none */
    struct failed_range failed[FAILED_LEN] GUARDED_BY(lock);
    size_t failed_len GUARDED_BY(lock); /* all there were on this link */
    struct peer_call *calls GUARDED_BY(lock);
    struct peer_counts counts GUARDED_BY(lock);
    struct error why GUARDED_BY(lock); /* there is no link */
    int64_t complain_us;               /* the thread's: not before */
    char complained[160];
};

/* -- sending --------------------------------------------------------------- */

static void
peer_signal(struct peer *p)
{
    uint64_t one = 1;

    (void)!write(p->wake_fd, &one, sizeof one);
}

/* Sends what waits.  What the socket does not take is left to the thread. */
static void
peer_send(struct peer *p) REQUIRES(p->lock)
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

/* Queues a frame; its number is p->number then. */
static enum status
peer_queue(struct peer *p, uint8_t type, struct slice payload, struct error *e)
    REQUIRES(p->lock)
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
    p->counts.frames_sent++;
    counter_add(CNT_PEER_FRAMES_SENT, 1);
    return ST_OK;
}

static enum status
link_ended(const struct peer *p, struct error *e)
{
    return error_set(e, ST_NOT_FOUND, "peer %s: the connection has ended",
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
    size_t first = p->failed_len < FAILED_LEN ? 0 : p->failed_len - FAILED_LEN;

    for (size_t i = p->failed_len; i-- > first;) {
        const struct failed_range *f = &p->failed[i % FAILED_LEN];

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

static void
call_done(struct peer_call *call, enum status status, const char *text)
{
    call->done = true;
    call->status = status;
    if (status != ST_OK) {
        buf_fini(&call->answer);
        buf_init(&call->answer, 0);
        buf_put_str(&call->answer, text);
    }
    cond_signal(&call->changed);
}

/* -- receiving ------------------------------------------------------------- */

/* The text of a peer is one line, and not endless. */
static void
copy_text(char *to, size_t size, struct slice text)
{
    (void)snprintf(to, size, "%.*s", (int)(text.size < size ? text.size : size),
                   text.size == 0 ? "" : (const char *)text.data);
    for (; *to != '\0'; to++)
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            *to = ' ';
}

static bool
take_put_answer(struct peer *p, uint64_t number, enum status status,
                struct slice text) REQUIRES(p->lock)
{
    if (number <= p->put_answered || number > p->put_sent)
        return false;
    if (status != ST_OK) {
        struct failed_range *f = &p->failed[p->failed_len++ % FAILED_LEN];

        *f = (struct failed_range){ .from = p->put_answered,
                                    .to = number,
                                    .status = status };
        copy_text(f->text, sizeof f->text, text);
    }
    p->put_answered = number;
    if (p->timed_us != 0 && number >= p->timed) {
        if (p->o.put_latency != NULL)
            latency_add(p->o.put_latency,
                        (uint64_t)(clock_monotonic_us() - p->timed_us));
        p->timed_us = 0;
    }
    return true;
}

/* The number of a call that is not waited for any more means nothing. */
static bool
take_call_answer(struct peer *p, const struct frame *f, enum status status,
                 struct slice body) REQUIRES(p->lock)
{
    struct peer_call *call = p->calls;
    char text[400];

    while (call != NULL && (call->number != f->number || call->done))
        call = call->next;
    if (call == NULL)
        return f->number <= p->number;
    if (status == ST_OK)
        buf_put_slice(&call->answer, body);
    if (call->answer.failed) {
        call_done(call, ST_LIMIT, "the answer of a peer is larger than it may");
    } else if ((f->type & FRAME_MORE) == 0) {
        copy_text(text, sizeof text, status == ST_OK ? slice_str("") : body);
        call_done(call, status, text);
    }
    return true;
}

/* False: that is no answer. */
static bool
take_frame(struct peer *p, const struct frame *f) REQUIRES(p->lock)
{
    enum status status = ST_OK;
    struct slice body = f->payload;
    bool more = (f->type & FRAME_MORE) != 0;

    if ((f->type & FRAME_ANSWER) == 0 ||
        (!more && frame_read_answer(f->payload, &status, &body, NULL) != ST_OK))
        return false;
    switch (f->type & ~(FRAME_ANSWER | FRAME_MORE)) {
    case FRAME_PUT:
        return !more && take_put_answer(p, f->number, status, body);
    case FRAME_PING:
        return !more;
    default:
        return take_call_answer(p, f, status, body);
    }
}

/* All frames that are whole.  What was gathered meanwhile is sent. */
static enum status
take_frames(struct peer *p, struct frame_reader *r, struct error *e)
{
    uint64_t before = r->frames;
    uint64_t answered;
    struct frame f;
    bool good = true;

    lock_take(&p->lock);
    answered = p->put_answered;
    while (good && frame_reader_next(r, &f))
        good = take_frame(p, &f);
    if (p->out.size > p->out_at && !p->blocked)
        peer_send(p);
    if (p->put_answered != answered)
        cond_broadcast(&p->changed);
    lock_drop(&p->lock);
    counter_add(CNT_PEER_FRAMES_RECEIVED, r->frames - before);
    if (r->error.status != ST_OK)
        return error_set(e, r->error.status, "%s", r->error.text);
    return good ? ST_OK
                : error_set(e, ST_CORRUPT,
                            "a frame of type %u answers nothing that was asked",
                            (unsigned)f.type);
}

/* Reads what there is. */
static enum status
peer_receive(struct peer *p, struct channel *c, struct frame_reader *r,
             struct error *e)
{
    for (;;) {
        size_t size;
        uint8_t *to = frame_reader_room(r, &size);
        enum status st;
        ssize_t n;

        if (to == NULL)
            return error_set(e, r->error.status, "%s", r->error.text);
        n = channel_receive(c, to, size);
        if (n == 0)
            return ST_OK;
        if (n < 0 && errno != 0)
            return error_set(e, ST_IO, "connection lost: %m");
        if (n < 0)
            return error_set(e, ST_IO, "connection closed by the peer%s",
                             frame_reader_has_part(r) ? " within a frame" : "");
        counter_add(CNT_PEER_BYTES_RECEIVED, (uint64_t)n);
        frame_reader_added(r, (size_t)n);
        st = take_frames(p, r, e);
        if (st != ST_OK)
            return st;
    }
}

/* -- links ----------------------------------------------------------------- */

static void
link_begin(struct peer *p, struct channel *c)
{
    lock_take(&p->lock);
    p->channel = c;
    p->link = atomic_fetch_add(p->o.links, 1) + 1;
    p->put_queued = p->put_sent = p->put_answered = p->number;
    p->failed_len = 0;
    p->timed_us = 0;
    p->broken = p->blocked = p->late = false;
    p->counts.links++;
    cond_broadcast(&p->changed);
    lock_drop(&p->lock);
    counter_add(CNT_PEER_LINKS, 1);
    log_info("cluster", "peer %s: connected", p->address);
}

static void
link_end(struct peer *p, const struct error *why)
{
    lock_take(&p->lock);
    p->channel = NULL;
    p->link = 0;
    p->why = *why;
    buf_fini(&p->out);
    p->out_at = 0;
    for (struct peer_call *call = p->calls; call != NULL; call = call->next)
        if (!call->done)
            call_done(call, ST_NOT_FOUND,
                      "the connection to the peer has ended");
    cond_broadcast(&p->changed);
    lock_drop(&p->lock);
}

static void
peer_ping(struct peer *p)
{
    lock_take(&p->lock);
    if (peer_queue(p, FRAME_PING, slice_of(NULL, 0), NULL) == ST_OK &&
        !p->blocked)
        peer_send(p);
    lock_drop(&p->lock);
}

/* Where a PUT was not answered in time its client is told so: the link ends, so
 * that those behind it, and those on their way, are not taken later. */
static enum status
link_check(struct peer *p, bool writable, bool *blocked, struct error *e)
{
    enum status st = ST_OK;

    lock_take(&p->lock);
    if (writable && p->blocked)
        peer_send(p);
    *blocked = p->blocked;
    if (p->broken)
        st = error_set(e, ST_IO, "connection lost while sending");
    else if (p->late)
        st = error_set(e, ST_TIMEOUT, "points were not answered in time");
    lock_drop(&p->lock);
    return st;
}

/* A link, until it ends: why is in 'e'. */
static void
link_run(struct peer *p, struct channel *c, struct error *e)
{
    int64_t heard_us = clock_monotonic_us(), pinged_us = heard_us;
    int64_t silence_us = (int64_t)p->o.silence_ms * 1000;
    struct pollfd fds[2] = { { .fd = channel_fd(c), .events = POLLIN },
                             { .fd = p->wake_fd, .events = POLLIN } };
    struct frame_reader r;
    bool blocked = false;
    enum status st = ST_OK;

    frame_reader_init(&r);
    while (st == ST_OK && !atomic_load(&p->stopping)) {
        uint64_t frames = r.frames, wakes;
        int64_t now_us;

        st = peer_receive(p, c, &r, e);
        if (st != ST_OK)
            break;
        now_us = clock_monotonic_us();
        if (r.frames != frames)
            heard_us = now_us;
        if (now_us - heard_us > silence_us)
            st = error_set(e, ST_TIMEOUT, "no answer for %u ms",
                           p->o.silence_ms);
        if (now_us - heard_us > silence_us / 4 &&
            now_us - pinged_us > silence_us / 4) {
            peer_ping(p);
            pinged_us = now_us;
        }
        fds[0].events = (short)(blocked ? POLLIN | POLLOUT : POLLIN);
        if (st == ST_OK && poll(fds, 2, (int)(silence_us / 8000) + 1) < 0 &&
            errno != EINTR)
            st = error_set(e, ST_IO, "poll: %m");
        if (fds[1].revents != 0)
            (void)!read(p->wake_fd, &wakes, sizeof wakes);
        if (st == ST_OK)
            st = link_check(p, (fds[0].revents & POLLOUT) != 0, &blocked, e);
    }
    if (st == ST_OK)
        (void)error_set(e, ST_BUSY, "this daemon stops");
    frame_reader_fini(&r);
}

/* One line for each thing, and again when it has lasted. */
static void
complain(struct peer *p, const struct error *e)
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

/* Before the next attempt. */
static void
pause_ms(struct peer *p, unsigned ms)
{
    struct pollfd fd = { .fd = p->wake_fd, .events = POLLIN };

    (void)poll(&fd, 1, (int)ms);
}

static void *
peer_run(void *arg)
{
    struct peer *p = arg;
    struct channel_target target = { .address = p->address,
                                     .secret = p->o.secret,
                                     .version = p->o.version,
                                     .tls = p->o.tls,
                                     .stop_fd = p->wake_fd };
    unsigned retry_ms = RETRY_MIN_MS;
    uint64_t wakes;

    while (!atomic_load(&p->stopping)) {
        int64_t began_us = clock_monotonic_us();
        struct channel *c = NULL;
        struct error e;

        if (channel_dial(&target, began_us + (int64_t)p->o.connect_ms * 1000,
                         &c, &e) == ST_OK) {
            link_begin(p, c);
            link_run(p, c, &e);
        }
        link_end(p, &e);
        channel_close(&c);
        complain(p, &e);
        if (clock_monotonic_us() - began_us > (int64_t)p->o.retry_ms * 1000)
            retry_ms = RETRY_MIN_MS;
        if (!atomic_load(&p->stopping)) {
            (void)!read(p->wake_fd, &wakes, sizeof wakes);
            if (!atomic_load(&p->stopping))
                pause_ms(p, retry_ms);
        }
        retry_ms = retry_ms * 2 < p->o.retry_ms ? retry_ms * 2 : p->o.retry_ms;
    }
    atomic_store(&p->ended, true);
    return NULL;
}

/* -- life ------------------------------------------------------------------ */

enum status
peer_open(const struct peer_options *o, const char *address, struct peer **out,
          struct error *e)
{
    struct peer *p = mem_new(sizeof *p);
    int err;

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
    err =
        p->wake_fd < 0 ? errno : pthread_create(&p->thread, NULL, peer_run, p);
    *out = p;
    p->has_thread = err == 0;
    if (err == 0)
        return ST_OK;
    peer_close(out);
    return error_set(e, ST_IO, "peer %s: no thread: %s", address,
                     strerror(err));
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
    if (x->has_thread)
        INSIST(pthread_join(x->thread, NULL) == 0);
    if (x->wake_fd >= 0)
        (void)close(x->wake_fd);
    INSIST(x->calls == NULL);
    buf_fini(&x->out);
    cond_fini(&x->changed);
    lock_fini(&x->lock);
    free(x->address);
    OBJ_FREE(x);
}

const char *
peer_address(const struct peer *p)
{
    OBJ_CHECK(p, PEER_MAGIC);
    return p->address;
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
