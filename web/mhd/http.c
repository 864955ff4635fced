/* The server: start and stop, and the life of a request. */
#include "web/mhd/http_priv.h"

#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/mem.h"

/* On a connection's thread others have to wait for it. */
#define SLOW_US        20000
#define NOT_QUICK_US   INT64_C(1000000)
#define NOT_QUICK_EACH 20 /* or so many times as long as it took */

/* At stop, for the rejections of what still waited. */
#define LAST_REPLIES_MS 100

/* At stop, for sockets just given: libmicrohttpd should know them all, since it
 * throws its list of new ones away without a lock. */
#define FRESH_MS 1000

/* -- a request's life ------------------------------------------------------ */

void
http_one_less(struct http_server *s, atomic_size_t *count)
{
    if (atomic_fetch_sub(count, 1) > 1 || !atomic_load(&s->stopping))
        return;
    lock_take(&s->lock);
    cond_broadcast(&s->quiet);
    lock_drop(&s->lock);
}

struct http_request *
http_request_new(struct http_conn *c, struct MHD_Connection *mhd,
                 const char *url)
{
    struct http_server *s = c->server;
    struct http_request *r = mem_new(sizeof *r);

    r->magic = HTTP_REQUEST_MAGIC;
    r->server = s;
    r->conn = c;
    r->mhd = mhd;
    r->arena = http_arena_of(s, &http_share_of(r)->bodies);
    r->start_us = clock_monotonic_us();
    r->failures = mem_failures();
    r->method_text = "";
    r->url = arena_strdup(r->arena, slice_str(url));
    if (r->url == NULL)
        r->url = "";
    r->reply = (struct http_reply){ .magic = HTTP_REPLY_MAGIC,
                                    .request = r,
                                    .status = 200 };
    buf_init_after(&r->reply.body, s->o.reply_bytes, ANSWER_FREE_BYTES,
                   &http_share_of(r)->answers);
    c->request = r;
    atomic_fetch_add(&s->active, 1);
    if (http_conn_state(c) == CONN_IDLE)
        (void)http_conn_enter(c, CONN_HEAD);
    return r;
}

void
http_request_free(struct http_request *r)
{
    struct http_server *s = r->server;

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    INSIST(http_conn_state(r->conn) != CONN_WORK || r->ready);
    http_report_failure(r); /* the client did not wait for the answer */
    r->conn->request = NULL;
    http_body_free(r);
    budget_return(&http_share_of(r)->answers, r->answer_bytes);
    http_reply_fini(&r->reply);
    http_mhd_response_free(r->response);
    arena_free(&r->arena);
    OBJ_FREE(r);
    http_one_less(s, &s->active);
}

static bool
send_reply(struct http_request *r)
{
    return r->response != NULL && http_conn_enter(r->conn, CONN_SEND) &&
           http_mhd_send(r);
}

/* The head is admitted, the client known: what comes is the body. */
static bool
expect_body(struct http_request *r)
{
    if (http_is_read_on(r))
        return http_conn_enter(r->conn, CONN_BODY);
    http_serve_now(r);
    return send_reply(r);
}

static bool
on_head(struct http_request *r, const char *method, const char *version)
{
    r->method_text = arena_strdup(r->arena, slice_str(method));
    if (r->method_text == NULL)
        return false;
    r->is_1_0 = strcmp(version, "HTTP/1.0") == 0;
    counter_add(CNT_RPC_HTTP, 1);
    if (!http_admit(r, method, version)) {
        http_serve_now(r);
        return send_reply(r);
    }
    if (r->undecided && !r->answered) {
        if (!http_conn_enter(r->conn, CONN_CHECK))
            return false;
        http_check_client(r);
        return true;
    }
    return expect_body(r);
}

/* After one that was not as quick as it promised, or took long to tell: others
 * will not be quick, either. */
static void
look_at_time(struct http_server *s, int64_t from_us)
{
    int64_t now_us = clock_monotonic_us(), took_us = now_us - from_us;
    int64_t wait_us = took_us * NOT_QUICK_EACH;

    if (took_us > SLOW_US)
        atomic_store(&s->quick_again_us,
                     now_us +
                         (wait_us > NOT_QUICK_US ? wait_us : NOT_QUICK_US));
}

/* To hand a request to another thread and back takes as long as storing some
 * hundred points, so one that is quick stays on its connection's. */
static bool
is_for_worker(struct http_request *r)
{
    const struct http_route *route = r->route;
    struct http_server *s = r->server;
    int64_t now_us;
    bool quick;

    if (r->answered)
        return false;
    if (r->body.coding != CODING_NONE || r->body.is_latin1)
        return true;
    if (!route->worker)
        return false;
    now_us = clock_monotonic_us();
    quick = route->quick != NULL && atomic_load(&s->active) <= 1 &&
            now_us >= atomic_load(&s->quick_again_us) &&
            route->quick(route->ctx, r, &r->kept);
    look_at_time(s, now_us);
    return !quick;
}

static bool
on_request_complete(struct http_request *r)
{
    struct http_server *s = r->server;
    int64_t from_us;

    if (!http_conn_enter(r->conn, CONN_WORK))
        return false;
    if (is_for_worker(r)) {
        if (http_work_admit(s, r->conn->address)) {
            http_mhd_suspend(r);
            http_work_push(r);
            return true;
        }
        counter_add(CNT_HTTP_REFUSED, 1);
        http_reject(r, 503,
                    atomic_load(&s->stopping) ? "The server is stopping"
                                              : "Too many requests are waiting",
                    "Please try again");
        http_reply_header(&r->reply, "Retry-After", "1");
    }
    from_us = clock_monotonic_us();
    http_serve_now(r);
    look_at_time(s, from_us);
    return send_reply(r);
}

bool
http_request_step(struct http_request *r, const char *method,
                  const char *version, struct slice chunk)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    switch (http_conn_state(r->conn)) {
    case CONN_HEAD:
        return on_head(r, method, version);
    case CONN_CHECK:
        return expect_body(r);
    case CONN_BODY:
        return chunk.size > 0 ? http_body_take(r, chunk)
                              : on_request_complete(r);
    case CONN_WORK:
        return !r->ready || send_reply(r);
    case CONN_SEND:
    case CONN_CUT:
    case CONN_NEW:
    case CONN_IDLE:
    default:
        return false;
    }
}

/* -- connections ----------------------------------------------------------- */

enum status
http_server_adopt_socket(struct http_server *s, int fd,
                         const struct sockaddr *peer, socklen_t peer_size,
                         struct error *e)
{
    struct http_conn *c;

    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    if (atomic_load(&s->stopping)) {
        (void)close(fd);
        return error_set(e, ST_BUSY, "the server is stopping");
    }
    c = http_conn_new(s, fd, peer);
    atomic_fetch_add(&s->fresh, 1);
    if (http_mhd_adopt_socket(s, fd, peer, peer_size))
        return ST_OK;
    http_one_less(s, &s->fresh);
    http_conn_end(&c, false);
    return error_set(e, ST_BUSY, "cannot take a connection: %m");
}

/* -- start and stop -------------------------------------------------------- */

static void
http_fill_defaults(struct http_options *o)
{
#define DEFAULT(member, value) o->member = o->member ? o->member : (value)
    DEFAULT(cors_domains, "");
    DEFAULT(cors_headers, "");
    DEFAULT(threads, 2);
    DEFAULT(workers, 4);
    DEFAULT(workers_queue, 1024);
    DEFAULT(body_bytes, (size_t)32 << 20);
    DEFAULT(bodies_bytes, (size_t)256 << 20);
    DEFAULT(answers_bytes, (size_t)256 << 20);
    DEFAULT(reply_bytes, (size_t)128 << 20);
    DEFAULT(arena_bytes, (size_t)256 << 20);
    DEFAULT(head_bytes, (size_t)32 << 10);
    DEFAULT(head_ms, 30 * 1000);
    DEFAULT(body_ms, 120 * 1000);
    DEFAULT(idle_ms, 300 * 1000);
#undef DEFAULT
}

static void
server_free(struct http_server *s)
{
    free(s->routes);
    cond_fini(&s->quiet);
    lock_fini(&s->lock);
    OBJ_FREE(s);
}

static enum status
start_parts(struct http_server *s, struct error *e)
{
    enum status st = http_cors_check(s->o.cors_domains, s->o.cors_headers, e);

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
    st = http_mhd_start(s, e);
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
    size_t arenas_max;
    enum status st;

    *out = NULL;
    s->magic = HTTP_SERVER_MAGIC;
    s->o = *o;
    http_fill_defaults(&s->o);
    arenas_max = s->o.arenas == NULL ? 0 : s->o.arenas->max;
    s->bodies.max = s->o.bodies_bytes;
    s->derived.max = s->o.bodies_bytes / 4 * 3;
    s->answers.max = s->o.answers_bytes;
    for (size_t i = 0; i < HTTP_SHARES; i++)
        s->shares[i] = (struct http_share){
            .answers = { .max = s->answers.max / 4 * 3, .parent = &s->answers },
            .bodies = { .max = s->bodies.max / 4 * 3, .parent = &s->bodies },
            .derived = { .max = s->bodies.max / 2, .parent = &s->derived },
            .arenas = { .max = arenas_max / 4 * 3, .parent = s->o.arenas },
        };
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
http_drain(struct http_server *s, atomic_size_t *count, unsigned ms)
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
    struct http_server *s = OBJ_TAKE(sp, HTTP_SERVER_MAGIC);

    if (s == NULL)
        return;
    atomic_store(&s->stopping, true);
    http_drain(s, &s->active, drain_ms);
    atomic_store(&s->aborting, true);
    http_work_close(s);
    while (atomic_load(&s->checking) > 0)
        http_drain(s, &s->checking, LAST_REPLIES_MS);
    http_drain(s, &s->active, LAST_REPLIES_MS);
    http_drain(s, &s->fresh, FRESH_MS);
    http_conns_stop(s);
    http_mhd_stop(s);
    http_work_stop(s);
    http_conns_fini(s);
    INSIST(atomic_load(&s->active) == 0);
    INSIST(budget_used(&s->bodies) == 0);
    INSIST(budget_used(&s->answers) == 0);
    server_free(s);
}

const struct latency *
http_server_latency(struct http_server *s)
{
    OBJ_CHECK(s, HTTP_SERVER_MAGIC);
    return &s->latency;
}
