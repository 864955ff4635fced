/* Who asks, and may he?
 *
 * A browser sends a page's requests with the credentials, and from the network,
 * of whoever looks at that page.  It says where the page is from: in Origin
 * with all but plain GETs, and, where the connection can be trusted, in
 * Sec-Fetch-Site with those too.  Other clients send neither. */
#include "config.h"

#include "web/http_priv.h"

#include <strings.h>

static unsigned
needs_of(const struct http_request *r)
{
    if (r->method == HTTP_GET)
        return r->route->get_needs;
    return r->method == HTTP_DELETE ? r->route->delete_needs : r->route->needs;
}

/* 'may_block': on the thread that 'later' is for. */
static void
check_rights(struct http_request *r, bool may_block)
{
    const struct http_options *o = &r->server->o;
    enum http_verdict v = o->allow(o->allow_ctx, r, needs_of(r), may_block,
                                   &r->rights, &r->reply);

    r->undecided = v == HTTP_SLOW;
    r->answered = v == HTTP_DENIED;
}

void
http_admit_client(struct http_request *r)
{
    const struct http_server *s = r->server;
    unsigned needs = needs_of(r);

    r->rights = s->o.allow == NULL ? HTTP_ALL_RIGHTS : 0;
    if ((needs & ~(unsigned)HTTP_READS) != 0 && http_is_foreign(r)) {
        http_reply_error(&r->reply, 403, "Pages of other sites may not do that",
                         "Their origin is not in "
                         "tsd.http.request.cors_domains");
        http_reply_status(&r->reply, 403); /* that of a page too */
        r->answered = true;
    } else if (needs != 0 && s->o.allow != NULL) {
        check_rights(r, false);
    }
}

static void
refuse_client(struct http_request *r, unsigned status, const char *message)
{
    http_reply_error(&r->reply, status, message, "Please try again later");
    http_reply_status(&r->reply, status);
    http_reply_header(&r->reply, "Retry-After", "10");
    r->answered = true;
}

static void
check_later(void *arg)
{
    struct http_request *r = arg;
    struct http_server *s = r->server;
    struct MHD_Connection *mhd = r->mhd;

    if (atomic_load(&s->aborting))
        refuse_client(r, 503, "The server is stopping");
    else
        check_rights(r, true);
    /* From here on the request is its connection's again. */
    MHD_resume_connection(mhd);
    http_check_done(s);
}

void
http_check_client(struct http_request *r)
{
    struct http_server *s = r->server;

    (void)atomic_fetch_add(&s->checking, 1);
    MHD_suspend_connection(r->mhd);
    if (s->o.later(s->o.allow_ctx, check_later, r))
        return;
    refuse_client(r, 429, "Too many passwords are waiting to be checked");
    MHD_resume_connection(r->mhd);
    http_check_done(s);
}

bool
http_may(const struct http_request *r, enum http_right right)
{
    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    return (r->rights & right) != 0;
}

/* Without ":80" and ":443", which one side may leave out. */
static struct slice
without_port(struct slice s)
{
    static const char *const ports[] = { ":80", ":443" };

    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        size_t n = strlen(ports[i]);

        if (s.size > n && memcmp(s.data + s.size - n, ports[i], n) == 0)
            return slice_of(s.data, s.size - n);
    }
    return s;
}

/* The scheme does not count: a proxy may have undone TLS. */
static bool
is_same_origin(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");
    struct slice a, b;

    if (at == NULL || host == NULL)
        return false;
    a = without_port(slice_str(at + 3));
    b = without_port(slice_str(host));
    return a.size > 0 && a.size == b.size &&
           strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

bool
http_is_foreign(const struct http_request *r)
{
    const char *origin = http_header(r, "Origin");
    const char *site = http_header(r, "Sec-Fetch-Site");

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    if (r->server->o.foreign_changes || r->cors_ok)
        return false;
    if (origin != NULL && origin[0] != '\0')
        return !is_same_origin(origin, http_header(r, "Host"));
    return site != NULL && strcasecmp(site, "same-origin") != 0 &&
           strcasecmp(site, "none") != 0;
}
