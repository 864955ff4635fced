/* Authentication, and who is trusted with what: both are decided before the
 * body is read.
 *
 * A browser sends the requests of a page with the credentials, and from the
 * network, of the person who looks at that page.  It tells where the page comes
 * from: in Origin except for plain GETs; in Sec-Fetch-Site for all requests, if
 * the connection can be trusted; in Referer, unless the page forbids that.
 * Other clients send none of these. */
#include "web/mhd/http_priv.h"

#include <strings.h>

#include "base/process/log.h"

unsigned
http_rights_required(const struct http_request *r)
{
    if (r->method == HTTP_GET)
        return r->route->get_requires;
    return r->method == HTTP_DELETE ? r->route->delete_requires
                                    : r->route->requires;
}

/* 'may_block': on the thread that 'later' is for. */
static void
check_rights(struct http_request *r, bool may_block)
{
    const struct http_options *o = &r->server->o;
    enum http_verdict v = o->allow(o->allow_ctx, r, http_rights_required(r),
                                   may_block, &r->rights, &r->reply);

    r->undecided = v == HTTP_SLOW;
    r->answered = v == HTTP_DENIED;
}

void
http_admit_client(struct http_request *r)
{
    const struct http_server *s = r->server;
    unsigned required = http_rights_required(r);

    r->rights = s->o.allow == NULL ? HTTP_ALL_RIGHTS : 0;
    /* A page that only reads needs no method_override. */
    if (((required & ~(unsigned)HTTP_READS) != 0 ||
         http_has_param(r, "method_override")) &&
        !http_is_trusted(r, HTTP_TO_CHANGE)) {
        http_reject(r, 403, "Pages of other sites may not do that",
                    "tsd.http.request.cors_domains does not name their origin "
                    "(* lets them read only)");
        http_reply_status(&r->reply, 403); /* that of a page too */
    } else if (required != 0 && s->o.allow != NULL) {
        check_rights(r, false);
    }
}

static void
reject_client(struct http_request *r, unsigned status, const char *message)
{
    http_reject(r, status, message, "Please try again later");
    http_reply_status(&r->reply, status);
    http_reply_header(&r->reply, "Retry-After", "10");
}

static void
check_later(void *arg)
{
    struct http_request *r = arg;
    struct http_server *s = r->server;
    struct MHD_Connection *mhd = r->mhd;

    if (atomic_load(&s->aborting))
        reject_client(r, 503, "The server is stopping");
    else
        check_rights(r, true);
    /* From here on the request is its connection's again. */
    http_mhd_resume(mhd);
    http_one_less(s, &s->checking);
}

void
http_check_client(struct http_request *r)
{
    struct http_server *s = r->server;

    (void)atomic_fetch_add(&s->checking, 1);
    http_mhd_suspend(r);
    if (s->o.later(s->o.allow_ctx, check_later, r))
        return;
    reject_client(r, 429, "Too many passwords are waiting to be checked");
    http_mhd_resume(r->mhd);
    http_one_less(s, &s->checking);
}

bool
http_has_right(const struct http_request *r, enum http_right right)
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
is_same_origin(struct slice origin, const char *host)
{
    const char *at = memmem(origin.data, origin.size, "://", 3);
    struct slice a, b;

    if (at == NULL || host == NULL)
        return false;
    at += 3;
    a = without_port(
        slice_of(at, origin.size - (size_t)(at - (const char *)origin.data)));
    b = without_port(slice_str(host));
    return a.size > 0 && slice_eq_nocase(a, b);
}

/* Of "http://host:port/path". */
static struct slice
origin_of(const char *url)
{
    const char *host = strstr(url, "://");

    return host == NULL ? slice_str(url)
                        : slice_of(url, (size_t)(host - url) + 3 +
                                            strcspn(host + 3, "/?#"));
}

static bool
is_address(struct slice host)
{
    bool digits = host.size > 0;

    for (size_t i = 0; i < host.size; i++)
        digits &=
            host.data[i] == '.' || (host.data[i] >= '0' && host.data[i] <= '9');
    return digits || (host.size > 0 && host.data[0] == '[');
}

/* Is the Host absent, an address, localhost or one of these? */
static bool
host_is_one_of(const struct http_request *r, const char *hosts)
{
    const char *host = http_header(r, "Host");
    struct slice name, left;

    if (host == NULL)
        return true;
    name = slice_of(host, host[0] == '[' ? strlen(host) : strcspn(host, ":"));
    if (is_address(name) || slice_eq_nocase(name, slice_str("localhost")))
        return true;
    for (left = slice_str(hosts); left.size > 0;) {
        struct slice word = slice_trim(slice_cut(&left, ','));

        if (word.size > 0 && slice_eq_nocase(word, name))
            return true;
    }
    return false;
}

bool
http_host_is_ours(const struct http_request *r)
{
    const char *hosts = r->server->o.hosts;

    return hosts == NULL || host_is_one_of(r, hosts);
}

/* -- who is trusted with what ---------------------------------------------- */

/* Who makes a request, the most trusted first. */
enum http_from {
    FROM_HERE,       /* this machine: a program, or a page that is ours */
    FROM_ANYWHERE,   /* any other client, or a page that is ours */
    FROM_FRIEND,     /* a page of an origin that cors_domains names */
    FROM_GUEST,      /* a page that cors_domains lets in by '*' */
    FROM_OTHER_SITE, /* a page of another site */
};

/* The least trusted origin from which each deed is accepted. */
static const enum http_from needs[] = {
    [HTTP_TO_ADMINISTER] = FROM_HERE,
    [HTTP_TO_CHANGE] = FROM_FRIEND,
    [HTTP_TO_RUN_SCRIPTS] = FROM_GUEST,
};

/* Headers by which a proxy tells that a request is not its own. */
static const char *const proxy_headers[] = {
    "Forwarded", "X-Forwarded-For",   "X-Forwarded-Host",
    "X-Real-IP", "X-Forwarded-Proto", "Via",
};

static const char *
proxy_header(const struct http_request *r)
{
    for (size_t i = 0; i < sizeof proxy_headers / sizeof proxy_headers[0]; i++)
        if (http_header(r, proxy_headers[i]) != NULL)
            return proxy_headers[i];
    return NULL;
}

/* Returns FROM_ANYWHERE for requests of this machine, too, which only
 * http_is_trusted() tells apart. */
static enum http_from
from_where(const struct http_request *r)
{
    const char *from = http_header(r, "Origin");
    const char *site = http_header(r, "Sec-Fetch-Site");
    enum http_from foreign =
        r->server->o.allow_cross_site_writes ? FROM_FRIEND : FROM_OTHER_SITE;

    if (from == NULL || from[0] == '\0')
        from = http_header(r, "Referer");
    if (from != NULL && from[0] != '\0') {
        struct slice origin = origin_of(from);

        if (!is_same_origin(origin, http_header(r, "Host"))) {
            enum http_cors cors = http_origin_is_allowed(r->server, origin);

            return cors == CORS_NAMED ? FROM_FRIEND
                   : cors == CORS_ANY && foreign == FROM_OTHER_SITE ? FROM_GUEST
                                                                    : foreign;
        }
    }
    return site != NULL && strcasecmp(site, "same-origin") != 0 &&
                   strcasecmp(site, "none") != 0
               ? foreign
               : FROM_ANYWHERE;
}

bool
http_is_trusted(const struct http_request *r, enum http_deed deed)
{
    const struct http_options *o = &r->server->o;
    enum http_from from = from_where(r);

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    /* Most requests need not be of this machine, so it is found out last. */
    if (from == FROM_ANYWHERE && needs[deed] == FROM_HERE &&
        r->conn->loopback && !o->no_local && proxy_header(r) == NULL &&
        host_is_one_of(r, o->hosts == NULL ? "" : o->hosts))
        from = FROM_HERE;
    return from <= needs[deed];
}

void
http_reply_not_local(struct http_reply *out, const char *message,
                     const char *details)
{
    const struct http_request *r = out->request;
    const char *proxy = proxy_header(r);
    struct buf b = BUF_INIT;

    if (!r->conn->loopback) {
        http_reply_error(out, 403, message, details);
        return;
    }
    if (r->server->o.no_local)
        buf_printf(&b, "%s, and not while halite.local is none", message);
    else if (from_where(r) > FROM_ANYWHERE)
        buf_printf(&b, "%s, and no page of another site", message);
    else if (proxy != NULL)
        buf_printf(&b, "%s, and not through a proxy (the request has %s)",
                   message, proxy);
    else
        buf_printf(&b,
                   "%s, and by its own name: if the Host, %s, is one, add it "
                   "to halite.http.hosts",
                   message, log_quote(slice_str(http_header(r, "Host"))));
    http_reply_error(out, 403, buf_cstr(&b), NULL);
    buf_fini(&b);
}
