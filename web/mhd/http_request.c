/* What an endpoint may ask a request; the headers are mhd.c's. */
#include "base/hash.h"
#include "base/process/clock.h"
#include "web/mhd/http_priv.h"

#include "base/utf8.h"

#define GETTER(type, name, member)          \
    type name(const struct http_request *r) \
    {                                       \
        OBJ_CHECK(r, HTTP_REQUEST_MAGIC);   \
        return member;                      \
    }

GETTER(bool, http_is_overridden, r->overridden)
GETTER(enum http_method, http_method, r->method)
GETTER(const char *, http_path, r->target.path)
GETTER(const char *, http_url, r->url)
GETTER(bool, http_is_api, r->target.is_api)
GETTER(bool, http_has_route, r->route != NULL)
GETTER(const char *, http_peer, r->conn->peer)
GETTER(uint64_t, http_peer_key, r->conn->address)
GETTER(struct arena *, http_arena, r->arena)
GETTER(void *, http_kept, r->kept)

struct slice
http_body(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    /* Windows' shells write a byte order mark before their JSON. */
    return utf8_skip_mark(slice_of(r->body.data, r->body.size));
}

/* Small requests work while others have exhausted the budget. */
#define ARENA_FREE_BYTES ((size_t)64 << 10)

struct arena *
http_arena_of(struct http_server *s, struct budget *budget)
{
    return arena_new_after(s->o.arena_bytes, ARENA_FREE_BYTES, budget);
}

struct http_share *
http_share_of(const struct http_request *r)
{
    return &r->server->shares[hash_u64(r->conn->address) % HTTP_SHARES];
}

struct budget *
http_arena_budget(const struct http_request *r)
{
    struct http_server *s = r->server;
    bool writes = r->route == NULL || r->route->requires == HTTP_WRITES;

    if (writes)
        return &http_share_of(r)->bodies;
    return s->o.arenas == NULL ? NULL : &http_share_of(r)->arenas;
}

struct arena *
http_arena_new(const struct http_request *r)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return http_arena_of(r->server, http_arena_budget(r));
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

bool
http_is_cancelled(const struct http_request *r)
{
    struct http_request *mine = (void *)(uintptr_t)r;

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    if (atomic_load_explicit(&r->conn->peer_closed, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(&r->server->aborting, memory_order_relaxed) &&
        (r->end_us == 0 || clock_monotonic_us() < r->end_us))
        return false;
    atomic_store_explicit(&mine->cut, true, memory_order_relaxed);
    return true;
}
