/* What an endpoint may ask a request. */
#include "config.h"

#include "web/http_priv.h"

#include <poll.h>

#include "base/clock.h"

/* How often the socket itself is asked whether the client is still there. */
#define ASK_US 5000

enum http_method
http_method(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->method;
}

const char *
http_path(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->target.path;
}

const char *
http_url(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->url;
}

bool
http_is_api(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->target.is_api;
}

struct slice
http_body(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return slice_of(r->body.data, r->body.size);
}

const struct http_param *
http_params(const struct http_request *r, size_t *len)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    *len = r->target.params_len;
    return r->target.params;
}

bool
http_param(const struct http_request *r, const char *name, struct slice *out)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    for (size_t i = r->target.params_len; i > 0; i--) {
        const struct http_param *p = &r->target.params[i - 1];

        if (slice_eq_str(p->name, name)) {
            *out = p->value;
            return true;
        }
    }
    return false;
}

bool
http_has_param(const struct http_request *r, const char *name)
{
    struct slice ignored;

    return http_param(r, name, &ignored);
}

const char *
http_header(const struct http_request *r, const char *name)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

struct each {
    void (*f)(void *ctx, const char *name, const char *value);
    void *ctx;
};

static enum MHD_Result
one_header(void *arg, enum MHD_ValueKind kind, const char *name,
           const char *value)
{
    const struct each *each = arg;

    each->f(each->ctx, name, value == NULL ? "" : value);
    return MHD_YES;
}

void
http_each_header(const struct http_request *r,
                 void (*f)(void *ctx, const char *name, const char *value),
                 void *ctx)
{
    struct each each = { f, ctx };

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    (void)MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, one_header, &each);
}

const char *
http_peer(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->conn->peer;
}

bool
http_peer_is_loopback(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->conn->loopback;
}

/* libmicrohttpd does not look at a suspended connection, so the socket is asked
 * here; a system call every few milliseconds, however often a caller asks. */
bool
http_gone(const struct http_request *cr)
{
    union {
        const struct http_request *from;
        struct http_request *to;
    } cast = { .from = cr }; /* only its two atomic members change */
    struct http_request *r = cast.to;
    struct pollfd p = { .fd = r->conn->fd, .events = POLLRDHUP };
    int64_t now, asked;

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    if (atomic_load_explicit(&r->gone, memory_order_relaxed) ||
        atomic_load_explicit(&r->server->aborting, memory_order_relaxed))
        return true;
    now = clock_monotonic_us();
    asked = atomic_load_explicit(&r->asked_us, memory_order_relaxed);
    if (now - asked < ASK_US ||
        !atomic_compare_exchange_strong(&r->asked_us, &asked, now))
        return false;
    if (poll(&p, 1, 0) <= 0 ||
        (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0)
        return false;
    atomic_store(&r->gone, true);
    return true;
}

struct arena *
http_arena(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return r->arena;
}
