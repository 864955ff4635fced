/*
 * A server of a few routes, and clients which talk raw bytes to it over the
 * loopback, for the tests of web/http.h.
 *
 *     rig_start(&(struct http_options){ .body_bytes = 100 });
 *     int fd = rig_connect();
 *     rig_send(fd, "GET /api/echo HTTP/1.1\r\n\r\n");
 *     struct answer a = rig_read(fd);
 *     rig_stop();
 *
 * Routes: "/api/echo" and "/page" answer the method, the path, the parameters
 * and the body; "/api/slow" waits on a worker for rig_open_gate(), or until it
 * is told that its client is gone, if not "?stay"; "/api/large"
 * answers as many bytes as "?n=" says, in as many chunks as "&chunks=" says;
 * "/api/charge" charges "?n=" bytes for what it makes of its body;
 * "/api/trust" answers what it is trusted with; "/api/fail" errors;
 * "/api/lack?status=" fails for want of memory;
 * "/api/empty" 204;
 * "/api/hold" waits until its client hung up; "/api/quick", a worker's, answers
 * "here" on its connection's thread, where it may not be served with "?no";
 * else "kept" where that was asked, and "later" where it was not.
 */
#pragma once

#include "web/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "tests/harness.h"
#include "web/json/json.h"

static struct rig {
    struct http_server *server;
    int listener;
    struct sockaddr_in address;
    struct lock lock;
    struct cond changed;
    bool open;       /* the gate of /api/slow */
    unsigned inside; /* requests in a route now */
    unsigned served;
    unsigned gone;   /* /api/hold saw its client leave */
    unsigned closed; /* connections that ended */
} rig;

struct answer {
    unsigned status; /* 0: closed without one */
    char head[4096];
    struct buf body;
    bool closed; /* by the server, behind it */
};

/* -- routes ---------------------------------------------------------------- */

static inline void
rig_enter(int by)
{
    lock_take(&rig.lock);
    rig.inside += (unsigned)by;
    rig.served += by > 0;
    cond_broadcast(&rig.changed);
    lock_drop(&rig.lock);
}

static inline void
rig_echo(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    size_t len;
    const struct http_param *p = http_params(r, &len);

    rig_enter(1);
    buf_printf(b, "{\"method\":%d,\"path\":", (int)http_method(r));
    json_put_string(b, slice_str(http_path(r)));
    buf_put_str(b, ",\"params\":[");
    for (size_t i = 0; i < len; i++) {
        buf_put_str(b, i > 0 ? "," : "");
        json_put_string(b, p[i].name);
        buf_put_str(b, ",");
        json_put_string(b, p[i].value);
    }
    buf_put_str(b, "],\"body\":");
    json_put_string(b, http_body(r));
    buf_put_str(b, "}");
    rig_enter(-1);
}

static inline void
rig_slow(void *ctx, const struct http_request *r, struct http_reply *out)
{
    rig_enter(1);
    lock_take(&rig.lock);
    while (!rig.open && (http_has_param(r, "stay") || !http_is_cancelled(r)))
        cond_wait_ms(&rig.changed, &rig.lock, 20);
    buf_put_str(http_reply_body(out), rig.open ? "\"slow\"" : "\"gone\"");
    lock_drop(&rig.lock);
    rig_enter(-1);
}

static inline void
rig_hold(void *ctx, const struct http_request *r, struct http_reply *out)
{
    rig_enter(1);
    lock_take(&rig.lock);
    while (!http_is_cancelled(r))
        cond_wait_ms(&rig.changed, &rig.lock, 10);
    rig.gone++;
    lock_drop(&rig.lock);
    rig_enter(-1);
}

/* Called on connections' threads alone. */
static _Thread_local bool rig_is_connections;

static inline bool
rig_is_quick(void *ctx, const struct http_request *r, void **kept)
{
    rig_is_connections = true;
    *kept = arena_strdup(http_arena(r), slice_str("kept"));
    return !http_has_param(r, "no");
}

static inline void
rig_quick(void *ctx, const struct http_request *r, struct http_reply *out)
{
    if (http_has_param(r, "slow"))
        (void)usleep(40000);
    buf_put_str(http_reply_body(out), rig_is_connections     ? "here"
                                      : http_kept(r) != NULL ? http_kept(r)
                                                             : "later");
}

/* The byte at a place of what "/api/large" answers. */
static inline uint8_t
rig_large_byte(uint64_t at)
{
    return (uint8_t)('a' + (at + at / 1000 * 7) % 26);
}

static inline void
rig_large(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct slice s = { 0 };
    uint64_t n = 0;

    if (!http_param(r, "n", &s) || !number_parse_u64(s, &n)) {
        http_reply_error(out, 400, "n is missing", "say how many");
        return;
    }
    uint64_t chunks = 0, at = 0;

    if (http_param(r, "chunks", &s))
        ck_assert(number_parse_u64(s, &chunks));
    for (uint64_t i = 0; i <= chunks; i++) {
        /* Uneven, and now and then none. */
        uint64_t end = i == chunks ? n : n / chunks * i + i % 3 * (n > 9999);
        struct buf chunk = BUF_INIT;

        struct buf *b = i % 5 == 4 ? http_reply_body(out) : &chunk;
        uint8_t *p = buf_reserve(b, end - at);

        ck_assert_ptr_nonnull(p);
        for (b->size += end - at; at < end; at++)
            *p++ = rig_large_byte(at);
        http_reply_append_owned(out, &chunk);
    }
}

static inline void
rig_trust(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);

    (void)ctx;
    buf_put_u8(b, http_is_trusted(r, HTTP_TO_ADMINISTER) ? 'a' : '-');
    buf_put_u8(b, http_is_trusted(r, HTTP_TO_CHANGE) ? 'c' : '-');
    buf_put_u8(b, http_is_trusted(r, HTTP_TO_RUN_SCRIPTS) ? 's' : '-');
}

static inline void
rig_charge(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct slice s = { 0 };
    uint64_t n = 0;
    struct error e;

    if (http_param(r, "n", &s) && number_parse_u64(s, &n) &&
        http_body_charge(r, (size_t)n, &e) != ST_OK)
        http_reply_failure(out, &e);
}

static inline void
rig_fail(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct error e;

    (void)error_set(&e, ST_BUSY, "not \"now\"");
    http_reply_failure(out, &e);
}

/* A buffer that got no memory, and a client who is told that he is wrong. */
static inline void
rig_lack(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct slice status = slice_str("400");

    mem_note_failure();
    if (http_param(r, "status", &status))
        http_reply_header(out, "X-Lost", "1");
    http_reply_error(out, (unsigned)atoi((const char *)status.data), "wrong",
                     NULL);
}

static inline void
rig_empty(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_empty(out, 204);
}

/* -- the server ------------------------------------------------------------ */

static inline void
rig_closed(void *ctx)
{
    lock_take(&rig.lock);
    rig.closed++;
    cond_broadcast(&rig.changed);
    lock_drop(&rig.lock);
}

static inline void
rig_open_gate(void)
{
    lock_take(&rig.lock);
    rig.open = true;
    cond_broadcast(&rig.changed);
    lock_drop(&rig.lock);
}

/* Stops the server, if there is one. */
static inline void
rig_stop(void)
{
    if (rig.listener == 0)
        return;
    rig_open_gate();
    http_server_stop(&rig.server, 2000);
    (void)close(rig.listener);
    rig.listener = 0;
    cond_fini(&rig.changed);
    lock_fini(&rig.lock);
    ck_assert_uint_eq(rig.inside, 0);
}

/* Starts the server; one that runs is stopped before. */
static inline void
rig_start(const struct http_options *from)
{
    const unsigned any =
        HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE | HTTP_HEAD;
    const struct http_route routes[] = {
        { "/api/echo", any, false, rig_echo, NULL, 0, 0, 0, NULL },
        { "/api/echo/deep", HTTP_GET | HTTP_OVERRIDE, true, rig_echo, NULL, 0,
          0, 0, NULL },
        { "/api/get", HTTP_GET, false, rig_echo, NULL, 0, 0, 0, NULL },
        { "/api/work", any, true, rig_echo, NULL, 0, 0, 0, NULL },
        { "/api/slow", any, true, rig_slow, NULL, 0, 0, 0, NULL },
        { "/api/hold", any, true, rig_hold, NULL, 0, 0, 0, NULL },
        { "/api/quick", any, true, rig_quick, NULL, 0, 0, 0, rig_is_quick },
        { "/api/large", HTTP_GET, true, rig_large, NULL, 0, 0, 0, NULL },
        { "/api/fail", HTTP_GET, false, rig_fail, NULL, 0, 0, 0, NULL },
        { "/api/charge", any, false, rig_charge, NULL, 0, 0, 0, NULL },
        { "/api/trust", HTTP_GET, false, rig_trust, NULL, 0, 0, 0, NULL },
        { "/api/lack", HTTP_GET, false, rig_lack, NULL, 0, 0, 0, NULL },
        { "/api/empty", any, false, rig_empty, NULL, 0, 0, 0, NULL },
        { "/page", HTTP_GET, false, rig_echo, NULL, 0, 0, 0, NULL },
        { "/", HTTP_GET, false, rig_echo, NULL, 0, 0, 0, NULL },
    };
    struct http_options o = *from;
    struct error e;
    socklen_t size = sizeof rig.address;

    rig_stop();
    rig = (struct rig){ .listener = -1 };
    lock_init(&rig.lock);
    cond_init(&rig.changed);
    o.routes = routes;
    o.routes_len = sizeof routes / sizeof routes[0];
    o.closed = rig_closed;
    ck_assert_int_eq(http_server_start(&o, &rig.server, &e), ST_OK);
    rig.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rig.address.sin_family = AF_INET;
    rig.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(rig.listener, (struct sockaddr *)&rig.address, size),
                     0);
    ck_assert_int_eq(listen(rig.listener, 512), 0);
    ck_assert_int_eq(
        getsockname(rig.listener, (struct sockaddr *)&rig.address, &size), 0);
}

/* From an address of 127.0.0.0/8. */
static inline int
rig_connect_from(uint32_t address)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    struct error e = { 0 };
    int other;

    ck_assert_int_ge(fd, 0);
    from.sin_addr.s_addr = htonl(address);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    ck_assert_int_eq(
        connect(fd, (struct sockaddr *)&rig.address, sizeof rig.address), 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    other = accept4(rig.listener, (struct sockaddr *)&peer, &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(http_server_adopt_socket(
                         rig.server, other, (struct sockaddr *)&peer, size, &e),
                     ST_OK);
    return fd;
}

static inline int
rig_connect(void)
{
    return rig_connect_from(INADDR_LOOPBACK);
}

static inline unsigned
rig_count(const unsigned *count)
{
    unsigned n;

    lock_take(&rig.lock);
    n = *count;
    lock_drop(&rig.lock);
    return n;
}

/* Waits until a count of the rig's has reached 'n'; no longer than a minute. */
static inline bool
rig_wait(const unsigned *count, unsigned n)
{
    int64_t end = clock_monotonic_us() + 60000000;
    bool reached;

    lock_take(&rig.lock);
    while (*count < n && clock_monotonic_us() < end)
        cond_wait_ms(&rig.changed, &rig.lock, 100);
    reached = *count >= n;
    lock_drop(&rig.lock);
    return reached;
}

/* -- the client ------------------------------------------------------------ */

/* What cannot be sent, since the server hung up, is dropped. */
static inline void
rig_send_bytes(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        p += n;
        size -= (size_t)n;
    }
}

static inline void
rig_send(int fd, const char *s)
{
    rig_send_bytes(fd, s, strlen(s));
}

/* One byte; -1 at the end, or after a minute of silence. */
static inline int
rig_byte(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    unsigned char c;

    if (poll(&p, 1, 60000) != 1 || recv(fd, &c, 1, 0) != 1)
        return -1;
    return c;
}

static inline bool
rig_header(const struct answer *a, const char *name, char *value, size_t size)
{
    char wanted[64];
    const char *p;

    (void)snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
    p = strcasestr(a->head, wanted);
    if (p == NULL)
        return false;
    p += strlen(wanted);
    (void)snprintf(value, size, "%.*s", (int)strcspn(p, "\r"), p);
    return true;
}

/* To the end of its empty line, and nothing of what follows; false if that did
 * not come.  A byte by a call would be most of what the tests take. */
static inline bool
rig_read_head(int fd, char *head, size_t room)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    const char *end = NULL;
    size_t n = 0;

    while (end == NULL && n < room) {
        ssize_t got = poll(&p, 1, 60000) == 1
                          ? recv(fd, head + n, room - n, MSG_PEEK)
                          : -1;
        size_t len;

        if (got <= 0)
            return false;
        len = n + (size_t)got;
        end = memmem(head, len, "\r\n\r\n", 4);
        if (end != NULL)
            len = (size_t)(end - head) + 4;
        if (recv(fd, head + n, len - n, 0) != (ssize_t)(len - n))
            return false;
        n = len;
        head[n] = '\0';
    }
    return true;
}

/* Reads one answer; 'bodiless': it is of a HEAD. */
static inline struct answer
rig_read_answer(int fd, bool bodiless)
{
    struct answer a = { 0 };
    char length[32];
    size_t left;

    a.closed = !rig_read_head(fd, a.head, sizeof a.head - 1);
    if (a.closed)
        return a;
    if (sscanf(a.head, "HTTP/1.%*1[01] %u", &a.status) != 1)
        a.status = 0;
    if (bodiless || !rig_header(&a, "Content-Length", length, sizeof length))
        return a;
    left = strtoull(length, NULL, 10);
    while (left > 0) {
        uint8_t *p = buf_reserve(&a.body, left);
        struct pollfd poll_in = { .fd = fd, .events = POLLIN };
        ssize_t got;

        if (poll(&poll_in, 1, 60000) != 1 ||
            (got = recv(fd, p, left, 0)) <= 0) {
            a.closed = true;
            break;
        }
        a.body.size += (size_t)got;
        left -= (size_t)got;
    }
    return a;
}

static inline struct answer
rig_read(int fd)
{
    return rig_read_answer(fd, false);
}

/* Does the server hang up next? */
static inline bool
rig_is_closed(int fd)
{
    return rig_byte(fd) < 0;
}

/* One request on a connection of its own. */
static inline struct answer
rig_ask(const char *request)
{
    int fd = rig_connect();
    struct answer a;

    rig_send(fd, request);
    a = rig_read_answer(fd, strncmp(request, "HEAD", 4) == 0);
    (void)close(fd);
    return a;
}

static inline const char *
rig_body(struct answer *a)
{
    return buf_cstr(&a->body);
}

/* libmicrohttpd 1.0 answers by itself what 0.9 leaves to us. */
static inline bool
rig_is_library_error(struct answer *a)
{
    return a->status >= 400 && strncmp(rig_body(a), "<html>", 6) == 0;
}
