/* A peer's thread: it makes one link after the other, takes answers off it, and
 * ends it where it must. */
#include "cluster/peer/peer_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"

#define RETRY_MIN_MS 20
#define COMPLAIN_US  INT64_C(60000000) /* at most so often, of one thing */

/* -- receiving ------------------------------------------------------------- */

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
        struct peer_failed_range *f =
            &p->failed[p->failed_len++ % PEER_FAILED_LEN];

        *f = (struct peer_failed_range){ .from = p->put_answered,
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
            call_done(call, ST_MOVED, "the connection to the peer has ended");
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

void *
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
