/* All that is called of libmicrohttpd, and that it calls.
 *
 * It runs without a listening socket, with epoll in each of a few threads, and
 * without a connection limit (which deadlocks it in 0.9.75 when it is reached
 * through MHD_add_connection) or a timeout of its own (see http_conn.c).
 *
 * Its versions differ; 0.9.75 and 1.0.1 are tested.
 *
 *                              0.9.75                       1.0.1
 *     folded lines, bare LF    taken                        rejected, level 1
 *     names: empty, spaced     left out, kept               rejected, level 1
 *     Content-Length: 0, 0     rejected, its head sent       rejected
 *                              twice
 *     HTTP/1.1 without Host    taken                        rejected
 *     chunk extensions         skipped                      rejected
 *     bare LF between chunks   taken                        rejected
 *     on_completed() before    always                       not after some
 *     a close                                               rejected bodies
 *
 * The version is looked up when the program runs: both have the same soname. */
#include <microhttpd.h>
#include <stdlib.h>

#include "base/process/counters.h"
#include "base/mem.h"
#include "web/mhd/http_priv.h"

/* For libmicrohttpd's own notes about a head, and the head of the reply. */
#define HEAD_SLACK ((size_t)8 << 10)

/* MHD_OPTION_CLIENT_DISCIPLINE_LVL, which 0.9.75's header does not have: level
 * 1 is strict. */
#define DISCIPLINE ((enum MHD_OPTION)38)

/* Does it reject folded lines, bare line feeds, NULs, nameless headers?  0.9
 * does not, and http_mhd_head_is_plain() must. */
static bool
is_strict(void)
{
    return atoi(MHD_get_version()) >= 1;
}

/* -- what it calls --------------------------------------------------------- */

/* libmicrohttpd would note each parameter in the memory that is meant for the
 * head, and where a few hundred do not fit, it answers nothing for as long as
 * it may.  We read them ourselves, so it gets to see none: it looks from the
 * query mark to the next NUL, in bytes which are its own. */
static void
hide_params(const char *uri)
{
    union {
        const char *from;
        char *to;
    } at = { .from = uri + strcspn(uri, "?") };

    if (at.to[0] == '?' && at.to[1] != '\0')
        at.to[1] = '\0';
}

/* The first line was read. */
static void *
on_request_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_request *r;

    INSIST(i != NULL && i->socket_context != NULL);
    r = http_request_new(i->socket_context, mhd, uri == NULL ? "" : uri);
    if (uri != NULL)
        hide_params(uri);
    return r;
}

/* The reply was sent, or the connection ended. */
static void
on_completed(void *arg, struct MHD_Connection *mhd, void **ctx,
             enum MHD_RequestTerminationCode why)
{
    struct http_server *s = arg;
    struct http_request *r = *ctx;
    struct http_conn *c;

    *ctx = NULL;
    if (r == NULL)
        return;
    /* libmicrohttpd rejected what followed the request line. */
    if (http_conn_state(r->conn) == CONN_HEAD &&
        why == MHD_REQUEST_TERMINATED_WITH_ERROR)
        http_head_rejected(s, r->conn->peer, HEAD_MALFORMED);
    if (why == MHD_REQUEST_TERMINATED_CLIENT_ABORT)
        counter_add(CNT_CONN_CLOSED, 1);
    else if (why == MHD_REQUEST_TERMINATED_READ_ERROR)
        counter_add(CNT_CONN_RESET, 1);
    c = r->conn;
    http_request_free(r);
    (void)http_conn_enter(c, CONN_IDLE);
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *mhd, const char *url,
           const char *method, const char *version, const char *data,
           size_t *size, void **ctx)
{
    struct http_request *r = *ctx;
    struct slice chunk = slice_of(data, *size);

    if (r == NULL)
        return MHD_NO;
    if (http_conn_state(r->conn) == CONN_BODY)
        *size = 0; /* all of it is taken */
    return http_request_step(r, method, version, chunk) ? MHD_YES : MHD_NO;
}

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
            http_request_free(c->request);
        http_conn_end(&c, true);
        return;
    }
    i = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    INSIST(i != NULL);
    c = http_conn_find(s, i->connect_fd);
    INSIST(c != NULL);
    *socket_ctx = c;
    (void)http_conn_enter(c, CONN_HEAD);
    http_one_less(s, &s->fresh);
}

/* -- the daemon ------------------------------------------------------------ */

enum status
http_mhd_start(struct http_server *s, struct error *e)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;

    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_line, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_CONNECTION_LIMIT, 1u << 24,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->o.head_bytes + HEAD_SLACK,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        is_strict() ? DISCIPLINE : MHD_OPTION_CONNECTION_TIMEOUT,
        is_strict() ? 1 : 0,
        s->o.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
        s->o.threads, MHD_OPTION_END);
    if (s->daemon == NULL)
        return error_set(e, ST_IO, "start libmicrohttpd: %m");
    return ST_OK;
}

void
http_mhd_stop(struct http_server *s)
{
    MHD_stop_daemon(s->daemon);
}

bool
http_mhd_adopt_socket(struct http_server *s, int fd,
                      const struct sockaddr *peer, socklen_t peer_size)
{
    return MHD_add_connection(s->daemon, fd, peer, peer_size) == MHD_YES;
}

void
http_mhd_suspend(struct http_request *r)
{
    MHD_suspend_connection(r->mhd);
}

void
http_mhd_resume(struct MHD_Connection *mhd)
{
    MHD_resume_connection(mhd);
}

/* -- the head -------------------------------------------------------------- */

size_t
http_mhd_head_bytes(const struct http_request *r)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(
        r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return i == NULL ? 0 : i->header_size;
}

const char *
http_header(const struct http_request *r, const char *name)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

struct header_visit {
    void (*f)(void *ctx, struct slice name, struct slice value);
    void *ctx;
};

static enum MHD_Result
visit_header(void *arg, enum MHD_ValueKind kind, const char *name,
             size_t name_size, const char *value, size_t value_size)
{
    const struct header_visit *v = arg;

    /* 1.0 has no value for an empty one. */
    v->f(v->ctx, slice_of(name, name_size),
         slice_of(value == NULL ? "" : value, value_size));
    return MHD_YES;
}

void
http_each_header(const struct http_request *r,
                 void (*f)(void *ctx, struct slice name, struct slice value),
                 void *ctx)
{
    struct header_visit v = { f, ctx };

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    (void)MHD_get_connection_values_n(r->mhd, MHD_HEADER_KIND, visit_header,
                                      &v);
}

struct raw_head {
    bool bad;
    const char *at; /* how far it was checked */
    size_t eol;     /* bytes of a line's end; 0: none seen */
};

/* The value of a header lies behind its name in the buffer that was read, with
 * a colon (by now NUL) and blanks between.  Where a line was folded, the name
 * was moved away from it. */
static bool
is_folded(const char *name, size_t name_size, const char *value)
{
    uintptr_t end = (uintptr_t)name + name_size, at = (uintptr_t)value;

    if (at <= end || at - end > ((size_t)1 << 20))
        return true;
    for (const char *p = name + name_size + 1; p < value; p++)
        if (*p != ' ' && *p != '\t')
            return true;
    return false;
}

/* libmicrohttpd leaves names and values where they came, with NULs for what
 * parts them; what it left out lies between.  From where we are to 'to' there
 * may be blanks and 'ends' ends of lines, all of one kind. */
static bool
is_next(struct raw_head *h, const char *to, size_t ends)
{
    const char *p = h->at;
    size_t n;

    if ((uintptr_t)to <= (uintptr_t)p ||
        (uintptr_t)to - (uintptr_t)p > ((size_t)1 << 20))
        return false;
    while (p < to && (*p == ' ' || *p == '\t'))
        p++;
    n = (size_t)(to - p);
    if (n % ends != 0 || n / ends > 2 || (h->eol != 0 && n / ends != h->eol))
        return false;
    h->eol = n / ends;
    for (; p < to; p++)
        if (*p != '\0' && *p != '\r' && *p != '\n')
            return false;
    return true;
}

static void
check_raw_header(void *arg, struct slice name, struct slice value)
{
    struct raw_head *h = arg;
    const char *n = (const char *)name.data, *v = (const char *)value.data;

    if (h->bad || is_folded(n, name.size, v) || !is_next(h, n, 1))
        h->bad = true;
    h->at = v + strlen(v);
}

bool
http_mhd_head_is_plain(const struct http_request *r, const char *method,
                       const char *version)
{
    struct raw_head h = { .at = version + strlen(version) };

    if (is_strict())
        return true;
    http_each_header(r, check_raw_header, &h);
    return !h.bad && is_next(&h, method + http_mhd_head_bytes(r), 2);
}

/* -- the response ---------------------------------------------------------- */

/* Chunks on their way out. */
struct sending {
    struct http_chunks chunks;
    size_t at;     /* the chunk that goes next, */
    size_t offset; /* and where in it */
};

/* How much libmicrohttpd asks for at a time. */
#define SEND_BYTES ((size_t)256 << 10)

/* libmicrohttpd asks for what follows what it had.  Its own way of sending
 * chunks takes a connection's memory for the list of them, and where that does
 * not do it (0.9.75) ends the process. */
static ssize_t
next_bytes(void *cls, uint64_t pos, char *to, size_t max)
{
    struct sending *s = cls;
    size_t n = 0;

    while (n < max && s->at < s->chunks.len) {
        struct buf *b = &s->chunks.list[s->at];
        size_t left = b->size - s->offset;
        size_t take = left < max - n ? left : max - n;

        memcpy(to + n, b->data + s->offset, take);
        n += take;
        s->offset += take;
        if (s->offset == b->size) {
            buf_fini(b);
            s->at++;
            s->offset = 0;
        }
    }
    return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

static void
free_sending(void *cls)
{
    struct sending *s = cls;

    http_chunks_free(&s->chunks);
    free(s);
}

static struct MHD_Response *
respond_in_chunks(struct http_chunks *p)
{
    struct sending *s = mem_try_array(1, sizeof *s);
    struct MHD_Response *response;

    if (s == NULL) {
        http_chunks_free(p);
        return NULL;
    }
    s->chunks = *p;
    *p = (struct http_chunks){ 0 };
    response = MHD_create_response_from_callback(s->chunks.size, SEND_BYTES,
                                                 next_bytes, s, free_sending);
    if (response == NULL)
        free_sending(s);
    return response;
}

struct MHD_Response *
http_mhd_response_new(struct http_chunks *p)
{
    struct buf only = BUF_INIT;
    struct MHD_Response *response;

    if (p->len > 1)
        return respond_in_chunks(p);
    if (p->len == 1)
        only = p->list[0];
    response = MHD_create_response_from_buffer_with_free_callback(
        only.size, only.data, free);
    if (response != NULL)
        p->len = 0; /* its bytes are the response's */
    http_chunks_free(p);
    return response;
}

void
http_mhd_response_free(struct MHD_Response *response)
{
    if (response != NULL)
        MHD_destroy_response(response);
}

bool
http_mhd_add_header(struct MHD_Response *response, const char *name,
                    const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

bool
http_mhd_send(struct http_request *r)
{
    return MHD_queue_response(r->mhd, r->reply.status, r->response) == MHD_YES;
}
