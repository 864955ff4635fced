/* The head of a request: what is rejected before its body is read, in the order
 * in which OpenTSDB looks.
 *
 * The first checks are our own defence.  libmicrohttpd 0.9.75 takes the first
 * of two Content-Lengths and reads what remains as a next request; it ignores a
 * Content-Length beside Transfer-Encoding; reads any coding but "chunked" until
 * the connection's end; keeps blanks in header names; appends a folded line to
 * the *name* of its header; leaves out headers without a name, and what follows
 * a NUL.  A proxy in front may see another request than we do in each of these,
 * so they are rejected, and the connection closed. */
#include "web/mhd/http_priv.h"

#include <ctype.h>
#include <strings.h>

#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/text/java.h"
#include "base/text/number.h"

/* -- ambiguous heads ------------------------------------------------------- */

struct head {
    size_t lengths, codings, hosts;
    const char *host;
    bool chunked;
    enum head_fault bad; /* of a single header */
};

static const char *const head_faults[] = {
    [HEAD_TARGET] = "the target contains a blank or a control character",
    [HEAD_METHOD] = "the method is not a token",
    [HEAD_NAME] = "the name of a header is empty, or contains a character "
                  "that it may not",
    [HEAD_VALUE] = "the value of a header contains a carriage return",
    [HEAD_RAW] = "a line is folded or contains a NUL, a header has no name, or "
                 "the line ends differ",
    [HEAD_LENGTHS] = "there is more than one Content-Length",
    [HEAD_CODINGS] = "there is more than one Transfer-Encoding",
    [HEAD_HOSTS] = "there is more than one Host",
    [HEAD_CODING] = "Transfer-Encoding is not chunked",
    [HEAD_BOTH] = "there are both Content-Length and Transfer-Encoding",
    [HEAD_1_0] = "Transfer-Encoding with HTTP/1.0",
    [HEAD_SIZE] = "it is larger than halite.http.head_bytes",
    [HEAD_OTHER_HOST] = "the target is \"*\", or of another host than Host",
    [HEAD_MALFORMED] = "it is not valid HTTP/1.1",
};

void
http_head_rejected(struct http_server *s, const char *peer,
                   enum head_fault fault)
{
    char more[LOG_MORE_SIZE];

    counter_add(CNT_HEADS_REJECTED, 1);
    if (log_throttle_pass(&s->heads[fault], more))
        log_warn("web", "rejected the head of a request from %s: %s%s", peer,
                 head_faults[fault], more);
}

/* RFC 9110, 5.6.2 */
static bool
is_token(const char *s, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)s[i]) &&
            (s[i] == '\0' || strchr("!#$%&'*+-.^_`|~", s[i]) == NULL))
            return false;
    return size > 0;
}

static void
check_header(void *arg, struct slice name, struct slice value)
{
    struct head *h = arg;

    if (!is_token((const char *)name.data, name.size))
        h->bad = HEAD_NAME;
    else if (value.size > 0 && memchr(value.data, '\r', value.size) != NULL)
        h->bad = HEAD_VALUE;
    if (slice_eq_nocase(name, slice_str("Host"))) {
        h->hosts++;
        h->host = (const char *)value.data;
    } else if (slice_eq_nocase(name, slice_str("Content-Length"))) {
        h->lengths++;
    } else if (slice_eq_nocase(name, slice_str("Transfer-Encoding"))) {
        h->codings++;
        h->chunked = slice_eq_nocase(value, slice_str("chunked"));
    }
}

/* Why a proxy could see another request in this head than we do.  'method' and
 * 'version' are where they came. */
static enum head_fault
find_ambiguity(struct http_request *r, const char *method, const char *version,
               struct head *h)
{
    const char *url = r->url;

    /* One word, as a proxy sees it. */
    while ((unsigned char)*url > ' ' && *url != 0x7f)
        url++;
    if (*url != '\0')
        return HEAD_TARGET;
    if (!is_token(method, strlen(method)))
        return HEAD_METHOD;
    http_each_header(r, check_header, h);
    if (h->bad != HEAD_FINE)
        return h->bad;
    if (!http_mhd_head_is_plain(r, method, version))
        return HEAD_RAW;
    if (h->lengths > 1 || h->codings > 1 || h->hosts > 1)
        return h->lengths > 1   ? HEAD_LENGTHS
               : h->codings > 1 ? HEAD_CODINGS
                                : HEAD_HOSTS;
    if (h->codings == 0)
        return HEAD_FINE;
    return !h->chunked      ? HEAD_CODING
           : h->lengths > 0 ? HEAD_BOTH
           : r->is_1_0      ? HEAD_1_0
                            : HEAD_FINE;
}

/* "http://host/path": the path, "/" when there is none, and NULL when it is of
 * another host than Host says.  Others are returned as they are. */
static const char *
admit_path_of(const char *url, const char *host)
{
    const char *at = strncasecmp(url, "http://", 7) == 0    ? url + 7
                     : strncasecmp(url, "https://", 8) == 0 ? url + 8
                                                            : NULL;
    size_t n;

    if (at == NULL)
        return url;
    n = strcspn(at, "/?");
    if (host == NULL || strlen(host) != n || strncasecmp(at, host, n) != 0)
        return NULL;
    return at[n] == '/' ? at + n : at[n] == '\0' ? "/" : NULL;
}

/* -- CORS ------------------------------------------------------------------ */

static bool
headers_are_fine(const char *s)
{
    while (*s != '\0') {
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

        if (n == 0)
            return false;
        s += n;
        if (*s == '\0')
            return true;
        if (*s++ != ',')
            return false;
        while (isspace((unsigned char)*s))
            s++;
        if (*s == '\0')
            return false;
    }
    return true;
}

enum status
http_cors_check(const char *domains, const char *headers, struct error *e)
{
    struct slice left = slice_str(domains);
    bool any = false, other = false;

    if (!headers_are_fine(headers))
        return error_set(e, ST_INVALID,
                         "the CORS headers must be a list of header names, "
                         "separated by commas, without wildcards");
    while (left.size > 0) {
        struct slice domain = slice_trim(slice_cut(&left, ','));

        any |= slice_eq_str(domain, "*");
        other |= domain.size > 0 && !slice_eq_str(domain, "*");
    }
    if (any && other)
        return error_set(e, ST_INVALID,
                         "tsd.http.request.cors_domains: * or a list of "
                         "domains, not both");
    return ST_OK;
}

enum http_cors
http_origin_is_allowed(const struct http_server *s, struct slice origin)
{
    struct slice left = slice_str(s->o.cors_domains);

    while (left.size > 0) {
        struct slice domain = slice_trim(slice_cut(&left, ','));

        if (slice_eq_str(domain, "*"))
            return CORS_ANY;
        if (slice_eq_nocase(origin, domain))
            return CORS_NAMED;
    }
    return CORS_NONE;
}

static void
admit_empty(struct http_request *r, unsigned status)
{
    http_reply_empty(&r->reply, status);
    r->answered = true;
}

static void
admit_origin(struct http_request *r)
{
    const char *origin = http_header(r, "Origin");
    char details[256];

    if (origin == NULL || origin[0] == '\0' ||
        r->server->o.cors_domains[0] == '\0') {
        /* haproxy's "option httpchk" asks for this, and wants a success. */
        if (r->method == HTTP_OPTIONS && r->is_1_0 &&
            strcmp(r->target.path, "/") == 0)
            admit_empty(r, 204);
        else if (r->method == HTTP_OPTIONS)
            http_reject(r, 405, "Method not allowed",
                        "The HTTP method [OPTIONS] is not permitted");
    } else if (http_origin_is_allowed(r->server, slice_str(origin)) ==
               CORS_NONE) {
        (void)snprintf(details, sizeof details,
                       "The domain [%.200s] is not permitted access", origin);
        http_reject(r, 200, "CORS domain not allowed", details);
    } else {
        r->cors_ok = true;
        if (r->method == HTTP_OPTIONS)
            admit_empty(r, 200);
    }
}

/* -- method, parameters, route --------------------------------------------- */

static enum http_method
method_of(struct slice name, bool any_case)
{
    static const char *const names[] = { "GET",    "POST", "PUT",
                                         "DELETE", "HEAD", "OPTIONS" };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (any_case ? slice_eq_nocase(name, slice_str(names[i]))
                     : slice_eq_str(name, names[i]))
            return (enum http_method)(1u << i);
    return HTTP_OTHER;
}

static void
admit_override(struct http_request *r)
{
    enum http_method verb = r->method, other;
    struct slice v;

    if (verb != HTTP_GET || !http_param(r, "method_override", &v))
        return;
    other = method_of(v, true);
    if (v.size == 0)
        http_reject(r, 405, "Missing method override value", NULL);
    else if (other > HTTP_DELETE)
        http_reject(r, 405, "Unknown or unsupported method override value",
                    NULL);
    else
        r->method = other;
    r->overridden = r->method != verb;
}

static void
admit_route(struct http_request *r)
{
    struct http_server *s = r->server;

    r->route = http_route_find(s->routes, s->o.routes_len, &r->target);
    if (r->route == NULL) {
        http_reply_not_found(&r->reply);
        r->answered = true;
        return;
    }
    /* Whatever the route takes: their answers have no body, or are a tunnel. */
    if (strcmp(r->method_text, "CONNECT") == 0 ||
        strcmp(r->method_text, "TRACE") == 0)
        http_reply_close(&r->reply);
    if (r->reply.close || (r->route->methods & (unsigned)r->method) == 0) {
        http_reply_bad_method(&r->reply, r);
        r->answered = true;
        return;
    }
    if ((r->route->methods & HTTP_OVERRIDE) != 0)
        admit_override(r);
    if (r->method == HTTP_HEAD)
        r->method = HTTP_GET;
    if (!r->answered)
        http_admit_client(r);
}

/* The name of a function, or a path to one: nothing that could do more. */
static bool
is_callback(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!isalnum(s.data[i]) &&
            (s.data[i] == '\0' || strchr("_$.[]'\"", s.data[i]) == NULL))
            return false;
    return s.size <= 256;
}

static void
admit_params(struct http_request *r)
{
    struct slice v;
    char details[160];

    if (http_param(r, "serializer", &v) && !slice_eq_str(v, "json")) {
        (void)snprintf(details, sizeof details,
                       "Could not find a serializer with the name: %.*s",
                       (int)(v.size < 100 ? v.size : 100),
                       (const char *)v.data);
        http_reject(r, 400, "Requested serializer was not found", details);
        return;
    }
    if (!r->target.is_api || !http_param(r, "jsonp", &v) || v.size == 0)
        return;
    if (!is_callback(v))
        http_reject(r, 400, "The value of jsonp is no function's name", NULL);
    else if (r->server->o.no_jsonp)
        http_reject(r, 403, "JSONP is switched off", "See halite.http.jsonp");
    else if (!http_is_trusted(r, HTTP_TO_RUN_SCRIPTS))
        http_reject(r, 403, "Scripts of other sites may not read this",
                    "Their origin is not in tsd.http.request.cors_domains");
    else
        r->jsonp = arena_strdup(r->arena, v);
}

/* -- the body to come ------------------------------------------------------ */

static enum http_coding
coding_of(struct slice name)
{
    static const struct {
        const char *name;
        enum http_coding coding;
    } codings[] = {
        { "", CODING_NONE },           { "identity", CODING_NONE },
        { "gzip", CODING_GZIP },       { "x-gzip", CODING_GZIP },
        { "deflate", CODING_DEFLATE }, { "x-deflate", CODING_DEFLATE },
    };

    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++)
        if (slice_eq_nocase(name, slice_str(codings[i].name)))
            return codings[i].coding;
    return CODING_OTHER;
}

/* Does Content-Type name ISO-8859-1?  HTTP libraries of Java do by default. */
static bool
is_latin1(const struct http_request *r)
{
    const char *type = http_header(r, "Content-Type");
    const char *at = type == NULL ? NULL : strcasestr(type, "charset=");
    struct slice name;

    if (at == NULL)
        return false;
    name = slice_str(at + strlen("charset="));
    name = java_trim(slice_cut(&name, ';'));
    if (name.size > 1 && *name.data == '"')
        name = slice_of(name.data + 1, name.size - 2);
    return slice_eq_nocase(name, slice_str("ISO-8859-1")) ||
           slice_eq_nocase(name, slice_str("latin1"));
}

static void
admit_body(struct http_request *r, const struct head *h)
{
    const char *length = http_header(r, "Content-Length");
    const char *coding = http_header(r, "Content-Encoding");
    char details[512];
    uint64_t size = 0;

    /* It is a number: http_admit() looks.  UINT64_MAX stands for chunks. */
    if (length != NULL && number_parse_u64(slice_str(length), &size) &&
        size == UINT64_MAX)
        size--;
    r->body.expected = h->chunked ? UINT64_MAX : size;
    r->body.coding = coding_of(slice_str(coding == NULL ? "" : coding));
    r->body.is_latin1 = is_latin1(r);
    if (!r->answered && r->body.coding == CODING_OTHER) {
        (void)snprintf(details, sizeof details,
                       "Only gzip and deflate are taken, not %s", coding);
        http_reject(r, 415, "Unsupported Content-Encoding", details);
    }
    if (!r->answered && !h->chunked &&
        r->body.expected > r->server->o.body_bytes)
        http_reject_size(r);
}

bool
http_is_read_on(const struct http_request *r)
{
    const char *expect = http_header(r, "Expect");

    if (!r->answered || r->body.expected == 0)
        return true;
    if (expect != NULL && strcasecmp(expect, "100-continue") == 0)
        return false;
    return r->body.expected == UINT64_MAX ||
           r->body.expected <= http_body_drop_max(r->server);
}

/* What the target is, is not known yet; the answer is JSON. */
static bool
reject_head(struct http_request *r, enum head_fault fault)
{
    http_head_rejected(r->server, r->conn->peer, fault);
    r->target.is_api = true;
    if (fault == HEAD_SIZE)
        http_reject(r, 431, "The request's head is too large", NULL);
    else
        http_reject(r, 400, "The request's head is ambiguous",
                    head_faults[fault]);
    http_reply_reported(&r->reply);
    http_reply_close(&r->reply);
    return false;
}

bool
http_admit(struct http_request *r, const char *method, const char *version)
{
    struct head h = { 0 };
    enum head_fault fault;
    const char *url;

    r->method = method_of(slice_str(r->method_text), false);
    if (http_mhd_head_bytes(r) > r->server->o.head_bytes)
        return reject_head(r, HEAD_SIZE);
    fault = find_ambiguity(r, method, version, &h);
    if (fault != HEAD_FINE)
        return reject_head(r, fault);
    url = admit_path_of(r->url, h.host);
    r->url = url == NULL ? r->url : url;
    http_target_parse(r->arena, r->url, &r->target);
    if (r->url[0] != '/') { /* "*", or of another host */
        http_head_rejected(r->server, r->conn->peer, HEAD_OTHER_HOST);
        admit_empty(r, 400);
        http_reply_close(&r->reply);
        return false;
    }
    if (h.chunked && !r->server->o.chunked) {
        r->reply.plain_page = true; /* OpenTSDB did not read the path yet */
        http_reject(r, 400, "Chunked request not supported.", NULL);
    }
    if (!r->answered && r->target.fault != 0)
        http_reject(r, r->target.fault, r->target.message, r->target.details);
    if (!r->answered && !http_host_is_ours(r)) {
        http_reject(r, 403,
                    "This server is not known by that name: if it is a name of "
                    "this server, add it to halite.http.hosts",
                    NULL);
        http_reply_status(&r->reply, 403); /* of a page too */
    }
    if (!r->answered)
        admit_params(r);
    if (!r->answered)
        admit_origin(r);
    if (!r->answered)
        admit_route(r);
    admit_body(r, &h);
    return http_is_read_on(r);
}
