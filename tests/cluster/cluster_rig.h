/* A server on a port of its own that notes what it is told, and sockets that
 * speak to it by hand. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "cluster/peer/peer.h"
#include "cluster/peer/peer_server.h"
#include "tests/harness.h"

#define RIG_WAIT_US INT64_C(60000000)

static const uint8_t rig_secret[FRAME_SECRET_SIZE] =
    "the secret of a test's own store";

static inline int64_t
rig_end(void)
{
    return clock_monotonic_us() + RIG_WAIT_US;
}

/* Waits until 'cond' holds. */
#define RIG_UNTIL(cond)                                   \
    do {                                                  \
        int64_t end_ = rig_end();                         \
        while (!(cond)) {                                 \
            ck_assert_int_lt(clock_monotonic_us(), end_); \
            (void)usleep(1000);                           \
        }                                                 \
    } while (0)

/* What the daemon's listener is to a server. */
struct rig_port {
    struct peer_server *server;
    int fd, stop[2];
    char address[32];
    pthread_t thread;
};

static inline void *
rig_accept(void *arg)
{
    struct rig_port *p = arg;
    struct pollfd fds[2] = { { .fd = p->fd, .events = POLLIN },
                             { .fd = p->stop[0], .events = POLLIN } };

    for (;;) {
        struct sockaddr_in a;
        socklen_t size = sizeof a;
        struct error e;
        int fd;

        (void)poll(fds, 2, -1);
        if (fds[1].revents != 0)
            return NULL;
        fd = accept4(p->fd, (struct sockaddr *)&a, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            (void)!peer_server_adopt(p->server, fd, (struct sockaddr *)&a, &e);
    }
}

/* 'port' 0: any. */
static inline void
rig_listen(struct rig_port *p, uint16_t port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
    socklen_t size = sizeof a;
    int one = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(p->fd, 0);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    ck_assert_int_eq(bind(p->fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(p->fd, 64), 0);
    ck_assert_int_eq(getsockname(p->fd, (struct sockaddr *)&a, &size), 0);
    (void)snprintf(p->address, sizeof p->address, "127.0.0.1:%u",
                   (unsigned)ntohs(a.sin_port));
}

static inline uint16_t
rig_number(const struct rig_port *p)
{
    return (uint16_t)atoi(strrchr(p->address, ':') + 1);
}

static inline void
rig_open(struct rig_port *p, const struct peer_server_options *o, uint16_t port)
{
    rig_listen(p, port);
    p->server = peer_server_open(o);
    ck_assert_int_eq(pipe(p->stop), 0);
    ck_assert_int_eq(pthread_create(&p->thread, NULL, rig_accept, p), 0);
}

/* Also one that only listens, or is closed already. */
static inline void
rig_close(struct rig_port *p)
{
    if (p->server != NULL) {
        ck_assert_int_eq((int)write(p->stop[1], "", 1), 1);
        ck_assert_int_eq(pthread_join(p->thread, NULL), 0);
        (void)close(p->stop[0]);
        (void)close(p->stop[1]);
        peer_server_close(&p->server);
    }
    if (p->fd > 0)
        (void)close(p->fd);
    p->fd = 0;
}

/* -- by hand --------------------------------------------------------------- */

static inline int
rig_dial(const char *address)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    struct timeval limit = { .tv_sec = 60 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    a.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline void
rig_send(int fd, struct slice s)
{
    while (s.size > 0) {
        ssize_t n = send(fd, s.data, s.size, MSG_NOSIGNAL);

        ck_assert_int_gt((int)n, 0);
        s = slice_of(s.data + n, s.size - (size_t)n);
    }
}

/* False: the connection ended before. */
static inline bool
rig_read(int fd, uint8_t *to, size_t size)
{
    while (size > 0) {
        ssize_t n = recv(fd, to, size, 0);

        if (n <= 0)
            return false;
        to += n;
        size -= (size_t)n;
    }
    return true;
}

/* Waits for the end, whatever comes before it. */
static inline void
rig_expect_end(int fd)
{
    uint8_t bytes[4096];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    ck_assert(n == 0 || errno == ECONNRESET);
    (void)close(fd);
}

/* Over to frames. */
static inline void
rig_hello(int fd)
{
    uint8_t ask[HELLO_ASK_SIZE], answer[HELLO_ANSWER_SIZE],
        proof[HELLO_PROOF_SIZE];
    struct hello h;
    struct error e;

    hello_init(&h, rig_secret);
    hello_ask(&h, ask);
    rig_send(fd, slice_of(ask, sizeof ask));
    ck_assert(rig_read(fd, answer, sizeof answer));
    ck_assert_int_eq(
        hello_prove(&h, slice_of(answer, sizeof answer), proof, &e), ST_OK);
    rig_send(fd, slice_of(proof, sizeof proof));
}

/* The server's part, of one who is no server. */
static inline void
rig_hear_hello(int fd)
{
    uint8_t ask[HELLO_ASK_SIZE], answer[HELLO_ANSWER_SIZE],
        proof[HELLO_PROOF_SIZE];
    struct hello h;
    struct error e;

    hello_init(&h, rig_secret);
    ck_assert(rig_read(fd, ask, sizeof ask));
    ck_assert_int_eq(hello_answer(&h, slice_of(ask, sizeof ask), answer, &e),
                     ST_OK);
    rig_send(fd, slice_of(answer, sizeof answer));
    ck_assert(rig_read(fd, proof, sizeof proof));
    ck_assert_int_eq(hello_check(&h, slice_of(proof, sizeof proof), &e), ST_OK);
}

/* -- a server that notes what it is told ---------------------------------- */

static struct notes {
    struct lock lock;
    struct cond changed;
    struct buf records; /* of PUTs, one behind the other */
    uint64_t lsn;       /* of the last one */
    uint64_t committed; /* up to here */
    uint64_t sessions;  /* open */
    uint64_t serving;   /* requests at the gate */
    bool holds_commits, holds_serving, holds_puts;
    enum status commit_fails;
} notes = { .lock = LOCK_INIT };

static inline void *
note_session(void *ctx)
{
    (void)ctx;
    lock_take(&notes.lock);
    notes.sessions++;
    lock_drop(&notes.lock);
    return mem_new(1);
}

static inline void
note_session_end(void *ctx, void *session)
{
    (void)ctx;
    free(session);
    lock_take(&notes.lock);
    notes.sessions--;
    cond_broadcast(&notes.changed);
    lock_drop(&notes.lock);
}

/* "!moved" is a bucket that is not here, "!bad" no record, "!wait" waits. */
static inline enum status
note_put(void *ctx, void *session, struct slice record, uint64_t *lsn,
         struct error *e)
{
    (void)ctx;
    ck_assert_ptr_nonnull(session);
    if (slice_eq_str(record, "!bad"))
        return error_set(e, ST_CORRUPT, "malformed record");
    if (slice_eq_str(record, "!moved"))
        return error_set(e, ST_MOVED, "bucket 3 is not here");
    lock_take(&notes.lock);
    notes.serving += slice_eq_str(record, "!wait");
    while (notes.holds_puts && slice_eq_str(record, "!wait"))
        cond_wait(&notes.changed, &notes.lock);
    buf_put_slice(&notes.records, record);
    *lsn = ++notes.lsn;
    cond_broadcast(&notes.changed);
    lock_drop(&notes.lock);
    return ST_OK;
}

static inline enum status
note_commit(void *ctx, uint64_t lsn, struct error *e)
{
    enum status st;

    (void)ctx;
    lock_take(&notes.lock);
    while (notes.holds_commits)
        cond_wait(&notes.changed, &notes.lock);
    st = notes.commit_fails;
    if (st == ST_OK)
        notes.committed = lsn;
    lock_drop(&notes.lock);
    return st == ST_OK ? ST_OK : error_set(e, st, "the disk is full");
}

/* LAST says what it was asked, HEAD much, DELETE waits at the gate. */
static inline enum status
note_serve(void *ctx, uint8_t type, struct slice request, struct buf *answer,
           struct error *e)
{
    (void)ctx;
    if (type == FRAME_FLUSH)
        return error_set(e, ST_NOT_FOUND, "no such thing: %.*s",
                         SLICE_ARG(request));
    if (type == FRAME_DELETE) {
        lock_take(&notes.lock);
        notes.serving++;
        cond_broadcast(&notes.changed);
        while (notes.holds_serving)
            cond_wait(&notes.changed, &notes.lock);
        notes.serving--;
        lock_drop(&notes.lock);
    }
    buf_put_slice(answer, request);
    if (type == FRAME_HEAD)
        for (uint32_t i = 0; i < 1 << 18; i++)
            buf_put_u32(answer, i * 2654435761u);
    return ST_OK;
}

static inline void
notes_begin(void)
{
    log_set_level(LOG_ERROR);
    notes = (struct notes){ .lock = LOCK_INIT };
    cond_init(&notes.changed);
}

static inline void
notes_end(void)
{
    ck_assert_uint_eq(notes.sessions, 0);
    buf_fini(&notes.records);
    cond_fini(&notes.changed);
}

static inline void
open_gates(void)
{
    lock_take(&notes.lock);
    notes.holds_commits = notes.holds_serving = notes.holds_puts = false;
    cond_broadcast(&notes.changed);
    lock_drop(&notes.lock);
}

static inline uint64_t
noted(const uint64_t *what)
{
    uint64_t n;

    lock_take(&notes.lock);
    n = *what;
    lock_drop(&notes.lock);
    return n;
}

static inline bool
records_are(const char *want)
{
    bool same;

    lock_take(&notes.lock);
    same = slice_eq_str(buf_slice(&notes.records), want);
    lock_drop(&notes.lock);
    return same;
}

static const struct peer_server_options server_defaults = {
    .secret = rig_secret,
    .handlers = { .session_open = note_session,
                  .session_close = note_session_end,
                  .put = note_put,
                  .commit = note_commit,
                  .serve = note_serve },
};

static atomic_ullong links;

static inline struct peer *
open_peer(const char *address, struct peer_options o)
{
    o.secret = o.secret == NULL ? rig_secret : o.secret;
    o.links = &links;
    o.retry_ms = 1;
    return peer_open(&o, address);
}

static const struct peer_options plain = { 0 };

/* The peer's link, as soon as there is one. */
static inline uint64_t
wait_link(struct peer *p)
{
    uint64_t link;

    RIG_UNTIL((link = peer_link(p)) != 0);
    return link;
}

static inline enum status
wait_put_until(struct peer *p, uint64_t link, uint64_t ticket, int64_t end_us,
               struct error *e)
{
    const struct peer_waiter w = { link, ticket, end_us, NULL, NULL };

    return peer_put_wait(p, &w, e);
}

static inline enum status
wait_put(struct peer *p, uint64_t link, uint64_t ticket, struct error *e)
{
    return wait_put_until(p, link, ticket, rig_end(), e);
}

/* A record that is put, and waited for. */
static inline enum status
put_one(struct peer *p, const char *record, struct error *e)
{
    uint64_t link = wait_link(p), ticket;
    enum status st = peer_put(p, link, slice_str(record), &ticket, e);

    return st == ST_OK ? wait_put(p, link, ticket, e) : st;
}

static inline enum status
begin_call(struct peer *p, uint8_t type, const char *request,
           struct peer_call *call, struct error *e)
{
    *call = (struct peer_call){ .end_us = rig_end(), .max = call->max };
    return peer_call_begin(p, call, type, slice_str(request), e);
}

/* 'max': bytes of the answer; 0: any. */
static inline enum status
ask(struct peer *p, uint8_t type, const char *request, size_t max,
    struct peer_call *call, struct error *e)
{
    enum status st;

    call->max = max;
    st = begin_call(p, type, request, call, e);
    return st == ST_OK ? peer_call_end(call, e) : st;
}
