/* The server: what libmicrohttpd is told, and what it calls.
 *
 * It runs without a listening socket, with epoll in each of a few threads, and
 * without a connection limit (which deadlocks it in 0.9.75 when it is reached
 * through MHD_add_connection) or a timeout of its own (see http_conn.c). */
#include "config.h"

#include "web/mhd/http_priv.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"

/* For libmicrohttpd's own notes about a head, and the head of the reply. */
#define HEAD_SLACK ((size_t)8 << 10)

/* At stop, for the rejections of what still waited. */
#define LAST_REPLIES_MS 100

/* At stop, for sockets just given: libmicrohttpd should know them all, since it
 * throws its list of new ones away without a lock. */
#define FRESH_MS 1000

/* -- a request's life ------------------------------------------------------ */

static struct http_conn *
conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return i == NULL ? NULL : i->socket_context;
}

static void
one_less(struct http_server *s, atomic_size_t *count)
{
    if (atomic_fetch_sub(count, 1) > 1 || !atomic_load(&s->stopping))
        return;
    lock_take(&s->lock);
    cond_broadcast(&s->quiet);
    lock_drop(&s->lock);
}

void
http_check_done(struct http_server *s)
{
    one_less(s, &s->checking);
}

/* The first line was read. */
static void *
on_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    struct http_server *s = arg;
    struct http_request *r = mem_new(sizeof *r);

    r->magic = HTTP_REQUEST_MAGIC;
    r->phase = PHASE_HEAD;
    r->server = s;
    r->conn = conn_of(mhd);
    r->mhd = mhd;
    r->arena = arena_new(s->o.arena_bytes);
    r->start_us = clock_monotonic_us();
    r->method_text = "";
    r->url = arena_strdup(r->arena, slice_str(uri == NULL ? "" : uri));
    if (r->url == NULL)
        r->url = "";
    if (uri != NULL)
        http_mhd_hide_params(uri);
    http_reply_init(&r->reply, r);
    r->conn->request = r;
    atomic_fetch_add(&s->active, 1);
    if (http_conn_state(r->conn) == CONN_IDLE)
        (void)http_conn_enter(r->conn, CONN_HEAD, s->o.head_ms);
    return r;
}

static void
request_free(struct http_request *r)
{
    struct http_server *s = r->server;

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    INSIST(r->phase != PHASE_AWAY || r->ready);
    r->conn->request = NULL;
    http_body_free(r);
    http_budget_give(&s->answers, r->answer_bytes);
    http_reply_fini(&r->reply);
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    arena_free(&r->arena);
    OBJ_CLEAR(r);
    free(r);
    one_less(s, &s->active);
}

/* The reply was sent, or the connection ended. */
static void
on_completed(void *arg, struct MHD_Connection *mhd, void **ctx,
             enum MHD_RequestTerminationCode why)
{
    struct http_server *s = arg;
    struct http_request *r = *ctx;

    *ctx = NULL;
    if (r == NULL)
        return;
    (void)http_conn_enter(r->conn, CONN_IDLE, s->o.idle_ms);
    if (why == MHD_REQUEST_TERMINATED_CLIENT_ABORT)
        counter_add(CNT_CONN_CLOSED, 1);
    else if (why == MHD_REQUEST_TERMINATED_READ_ERROR)
        counter_add(CNT_CONN_RESET, 1);
    request_free(r);
}

static enum MHD_Result
send_reply(struct http_request *r)
{
    struct http_server *s = r->server;

    r->phase = PHASE_DONE;
    if (r->response == NULL ||
        !http_conn_enter(r->conn, CONN_SEND, s->o.body_ms))
        return MHD_NO;
    return MHD_queue_response(r->mhd, r->reply.status, r->response);
}

/* The head is admitted, the client known: what comes is the body. */
static enum MHD_Result
expect_body(struct http_request *r)
{
    struct http_server *s = r->server;

    r->phase = PHASE_BODY;
    if (!http_is_read_on(r)) {
        http_serve_now(r);
        return send_reply(r);
    }
    if (r->body.expected == 0)
        return http_conn_enter(r->conn, CONN_BUSY, 0) ? MHD_YES : MHD_NO;
    return http_conn_enter(r->conn, CONN_BODY, s->o.body_ms) ? MHD_YES : MHD_NO;
}

static enum MHD_Result
on_head(struct http_request *r, const char *method, const char *version)
{
    struct http_server *s = r->server;

    r->method_text = arena_strdup(r->arena, slice_str(method));
    if (r->method_text == NULL)
        return MHD_NO;
    r->is_1_0 = strcmp(version, "HTTP/1.0") == 0;
    atomic_fetch_add(&s->requests, 1);
    counter_add(CNT_RPC_HTTP, 1);
    if (!http_admit(r, method, version)) {
        r->phase = PHASE_BODY;
        http_serve_now(r);
        return send_reply(r);
    }
    if (r->undecided && !r->answered) {
        if (!http_conn_enter(r->conn, CONN_BUSY, 0))
            return MHD_NO;
        r->phase = PHASE_CHECK;
        http_check_client(r);
        return MHD_YES;
    }
    return expect_body(r);
}

/* To hand a request to another thread and back takes as long as storing some
 * hundred points. */
static bool
is_for_worker(const struct http_request *r)
{
    const struct http_route *route = r->route;

    if (r->answered)
        return false;
    if (r->body.coding != CODING_NONE)
        return true;
    return route->worker &&
           (route->quick == NULL || atomic_load(&r->server->active) > 1 ||
            !route->quick(route->ctx, r));
}

static enum MHD_Result
on_whole(struct http_request *r)
{
    struct http_server *s = r->server;

    if (!http_conn_enter(r->conn, CONN_BUSY, 0))
        return MHD_NO;
    if (is_for_worker(r)) {
        if (http_work_admit(s, r->conn->address)) {
            r->phase = PHASE_AWAY;
            MHD_suspend_connection(r->mhd);
            http_work_push(r);
            return MHD_YES;
        }
        http_reply_error(&r->reply, 503,
                         atomic_load(&s->stopping)
                             ? "The server is stopping"
                             : "Too many requests are waiting",
                         "Please try again");
        http_reply_header(&r->reply, "Retry-After", "1");
        r->answered = true;
    }
    http_serve_now(r);
    return send_reply(r);
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *mhd, const char *url,
           const char *method, const char *version, const char *data,
           size_t *size, void **ctx)
{
    struct http_request *r = *ctx;

    if (r == NULL)
        return MHD_NO;
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    switch (r->phase) {
    case PHASE_HEAD:
        return on_head(r, method, version);
    case PHASE_CHECK:
        return expect_body(r);
    case PHASE_BODY:
        if (*size > 0) {
            bool more = http_body_take(r, slice_of(data, *size));

            *size = 0;
            return more ? MHD_YES : MHD_NO;
        }
        return on_whole(r);
    case PHASE_AWAY:
        return r->ready ? send_reply(r) : MHD_YES;
    case PHASE_DONE:
    default:
        return MHD_NO;
    }
}

/* -- connections ----------------------------------------------------------- */

static void
on_connection(void *arg, struct MHD_Connection *mhd, void **socket_ctx,
              enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = arg;
    struct http_conn *c = *socket_ctx;
    const union MHD_ConnectionInfo *i;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        *socket_ctx = NULL;
        /* 1.0.1 may close a connection whose body it rejects without a call
         * of on_completed(). */
        if (c != NULL && c->request != NULL)
            request_free(c->request);
        http_conn_end(&c, true);
        return;
    }
    i = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    INSIST(i != NULL);
    c = http_conn_find(s, i->connect_fd);
    INSIST(c != NULL);
    *socket_ctx = c;
    (void)http_conn_enter(c, CONN_HEAD, s->o.head_ms);
    one_less(s, &s->fresh);
}

enum status
http_server_give(struct http_server *s, int fd, const struct sockaddr *peer,
                 socklen_t peer_size, void *cookie, struct error *e)
{
    struct http_conn *c;

    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    if (atomic_load(&s->stopping)) {
        (void)close(fd);
        return error_set(e, ST_BUSY, "the server is stopping");
    }
    c = http_conn_new(s, fd, peer, cookie);
    atomic_fetch_add(&s->fresh, 1);
    if (MHD_add_connection(s->daemon, fd, peer, peer_size) == MHD_YES)
        return ST_OK;
    one_less(s, &s->fresh);
    http_conn_end(&c, false);
    return error_set(e, ST_BUSY, "cannot take a connection: %s",
                     strerror(errno));
}

/* -- start and stop -------------------------------------------------------- */

static void
fill_defaults(struct http_options *o)
{
#define DEFAULT(member, value) o->member = o->member == 0 ? (value) : o->member
    DEFAULT(threads, 2);
    DEFAULT(workers, 4);
    DEFAULT(workers_queue, 1024);
    DEFAULT(body_bytes, (size_t)32 << 20);
    DEFAULT(bodies_bytes, (size_t)256 << 20);
    DEFAULT(answers_bytes, (size_t)256 << 20);
    DEFAULT(arena_bytes, (size_t)256 << 20);
    DEFAULT(head_bytes, (size_t)32 << 10);
    DEFAULT(head_ms, 30 * 1000);
    DEFAULT(body_ms, 120 * 1000);
    DEFAULT(idle_ms, 300 * 1000);
#undef DEFAULT
}

static enum status
start_daemon(struct http_server *s, struct error *e)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;

    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_URI_LOG_CALLBACK,
        on_line, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_CONNECTION_LIMIT, 1u << 24,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->o.head_bytes + HEAD_SLACK,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        http_mhd_is_strict() ? HTTP_MHD_DISCIPLINE
                             : MHD_OPTION_CONNECTION_TIMEOUT,
        http_mhd_is_strict() ? 1 : 0,
        s->o.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
        s->o.threads, MHD_OPTION_END);
    if (s->daemon == NULL)
        return error_set(e, ST_IO, "start libmicrohttpd: %s", strerror(errno));
    return ST_OK;
}

static void
server_free(struct http_server *s)
{
    for (size_t i = 0; i < s->cors_len; i++)
        free(s->cors[i]);
    free(s->cors);
    free(s->cors_headers);
    free(s->routes);
    cond_fini(&s->quiet);
    lock_fini(&s->lock);
    OBJ_CLEAR(s);
    free(s);
}

static enum status
start_parts(struct http_server *s, struct error *e)
{
    enum status st = http_cors_init(s, e);

    if (st != ST_OK)
        return st;
    st = http_work_start(s, e);
    if (st != ST_OK)
        return st;
    st = http_conns_start(s, e);
    if (st != ST_OK) {
        http_work_stop(s);
        return st;
    }
    st = start_daemon(s, e);
    if (st != ST_OK) {
        http_conns_stop(s);
        http_conns_fini(s);
        http_work_stop(s);
    }
    return st;
}

enum status
http_server_start(const struct http_options *o, struct http_server **out,
                  struct error *e)
{
    struct http_server *s = mem_new(sizeof *s);
    enum status st;

    *out = NULL;
    s->magic = HTTP_SERVER_MAGIC;
    s->o = *o;
    fill_defaults(&s->o);
    s->routes = mem_new_array(o->routes_len + 1, sizeof *s->routes);
    if (o->routes_len > 0)
        memcpy(s->routes, o->routes, o->routes_len * sizeof *s->routes);
    lock_init(&s->lock);
    cond_init(&s->quiet);
    st = start_parts(s, e);
    if (st != ST_OK)
        server_free(s);
    else
        *out = s;
    return st;
}

/* Waits until 'count' is 0, but no longer than 'ms'. */
static void
drain(struct http_server *s, atomic_size_t *count, unsigned ms)
{
    int64_t end = clock_monotonic_us() + (int64_t)ms * 1000;

    lock_take(&s->lock);
    while (atomic_load(count) > 0) {
        int64_t left = (end - clock_monotonic_us()) / 1000;

        if (left <= 0)
            break;
        cond_wait_ms(&s->quiet, &s->lock, (unsigned)left);
    }
    lock_drop(&s->lock);
}

void
http_server_stop(struct http_server **sp, unsigned drain_ms)
{
    struct http_server *s = *sp;

    *sp = NULL;
    if (s == NULL)
        return;
    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    atomic_store(&s->stopping, true);
    drain(s, &s->active, drain_ms);
    atomic_store(&s->aborting, true);
    http_work_close(s);
    while (atomic_load(&s->checking) > 0)
        drain(s, &s->checking, LAST_REPLIES_MS);
    drain(s, &s->active, LAST_REPLIES_MS);
    drain(s, &s->fresh, FRESH_MS);
    http_conns_stop(s);
    MHD_stop_daemon(s->daemon);
    http_work_stop(s);
    http_conns_fini(s);
    INSIST(atomic_load(&s->active) == 0);
    INSIST(atomic_load(&s->bodies) == 0);
    INSIST(atomic_load(&s->answers) == 0);
    server_free(s);
}

struct http_counts
http_server_counts(struct http_server *s)
{
    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    return (struct http_counts){
        .requests = atomic_load(&s->requests),
        .errors = atomic_load(&s->errors),
        .bytes_in = atomic_load(&s->bytes_in),
        .bytes_out = atomic_load(&s->bytes_out),
        .connections = atomic_load(&s->conns.open),
        .bodies_bytes = atomic_load(&s->bodies),
    };
}

const struct latency *
http_server_latency(struct http_server *s)
{
    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    return &s->latency;
}
