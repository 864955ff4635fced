/* A reply made ready for the wire. */
#include "config.h"

#include "web/http_priv.h"

#include <ctype.h>
#include <strings.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

#define API_TYPE "application/json; charset=UTF-8"

/* -- Accept-Encoding ------------------------------------------------------- */

/* The weight behind ";q=", 1 without, in thousandths; what is no number is 0.
 */
static int
weight(const char *s, size_t size)
{
    const char *equals = memchr(s, '=', size);
    size_t i;
    int v, unit = 100;

    if (equals == NULL)
        return 1000;
    i = (size_t)(equals - s) + 1;
    while (i < size && s[i] == ' ')
        i++;
    if (i == size || (s[i] != '0' && s[i] != '1'))
        return 0;
    v = s[i++] == '1' ? 1000 : 0;
    if (i < size && s[i] == '.')
        for (i++; i < size && isdigit((unsigned char)s[i]); i++, unit /= 10)
            v += (s[i] - '0') * unit;
    return v > 1000 ? 1000 : v;
}

static bool
holds(const char *s, size_t size, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= size; i++)
        if (strncasecmp(s + i, word, n) == 0)
            return true;
    return false;
}

enum http_coding
http_accepts(const char *s)
{
    int star = -1, gzip = -1, deflate = -1;

    if (s == NULL)
        return CODING_NONE;
    while (*s != '\0') {
        size_t n = strcspn(s, ",");
        int w = weight(s, n);

        if (memchr(s, '*', n) != NULL)
            star = w;
        else if (holds(s, n, "gzip"))
            gzip = w > gzip ? w : gzip;
        else if (holds(s, n, "deflate"))
            deflate = w > deflate ? w : deflate;
        s += n + (s[n] == ',');
    }
    if (gzip > 0 || deflate > 0)
        return gzip >= deflate ? CODING_GZIP : CODING_DEFLATE;
    if (star > 0)
        return gzip == -1      ? CODING_GZIP
               : deflate == -1 ? CODING_DEFLATE
                               : CODING_NONE;
    return CODING_NONE;
}

/* Replaces 'b' by its compressed form; leaves it when that fails. */
static bool
compress_body(struct buf *b, enum http_coding coding)
{
    bool small = b->size <= 4096;
    int bits = (small ? 12 : 15) + (coding == CODING_GZIP ? 16 : 0);
    z_stream z = { 0 };
    struct buf to = BUF_INIT;
    uLong bound;
    uint8_t *p;
    bool done;

    if (b->size > UINT32_MAX / 2 ||
        deflateInit2(&z, 1, Z_DEFLATED, bits, small ? 5 : 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    bound = deflateBound(&z, b->size);
    p = buf_reserve(&to, bound);
    z.next_in = b->data;
    z.avail_in = (uInt)b->size;
    z.next_out = p;
    z.avail_out = (uInt)bound;
    done = p != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
    to.size = done ? z.total_out : 0;
    (void)deflateEnd(&z);
    if (!done) {
        buf_fini(&to);
        return false;
    }
    buf_fini(b);
    *b = to;
    return true;
}

/* -- the type -------------------------------------------------------------- */

static bool
ends_with(const char *s, size_t size, const char *end)
{
    size_t n = strlen(end);

    return size > n && memcmp(s + size - n, end, n) == 0;
}

/* As OpenTSDB guesses outside of /api: by the path, then by the content. */
static const char *
guess_type(const struct http_request *r)
{
    static const struct {
        const char *end;
        const char *type;
    } types[] = {
        { ".png", "image/png" }, { ".html", "text/html; charset=UTF-8" },
        { ".css", "text/css" },  { ".js", "text/javascript" },
        { ".gif", "image/gif" }, { ".ico", "image/x-icon" },
    };
    const struct buf *b = &r->reply.body;
    size_t size = strcspn(r->url, "?");

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ends_with(r->url, size, types[i].end))
            return types[i].type;
    if (b->size == 0)
        return "text/plain";
    switch (b->data[0]) {
    case '<':
        return "text/html; charset=UTF-8";
    case '{':
    case '[':
        return "application/json";
    case 0x89:
        return "image/png";
    default:
        return "text/plain";
    }
}

/* -- the response ---------------------------------------------------------- */

static void
wrap_jsonp(struct http_reply *out, const char *name)
{
    struct buf b = BUF_INIT;

    buf_put_str(&b, name);
    buf_put_u8(&b, '(');
    buf_put_slice(&b, buf_slice(&out->body));
    buf_put_u8(&b, ')');
    buf_fini(&out->body);
    out->body = b;
}

static void
add_header(struct http_request *r, const char *name, const char *value)
{
    if (MHD_add_response_header(r->response, name, value) != MHD_YES)
        log_debug("web", "a header of a reply was left out: %s",
                  log_quote(slice_str(name)));
}

static void
add_headers(struct http_request *r, const char *type, enum http_coding coding)
{
    const struct http_server *s = r->server;

    if (type != NULL)
        add_header(r, "Content-Type", type);
    if (coding != CODING_NONE) {
        add_header(r, "Content-Encoding",
                   coding == CODING_GZIP ? "gzip" : "deflate");
        add_header(r, "Vary", "Accept-Encoding");
    }
    for (struct http_header *h = r->reply.headers; h != NULL; h = h->next)
        add_header(r, h->name, h->value);
    if (r->cors_ok) {
        add_header(r, "Access-Control-Allow-Origin", http_header(r, "Origin"));
        add_header(r, "Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
        if (s->cors_headers[0] != '\0')
            add_header(r, "Access-Control-Allow-Headers", s->cors_headers);
    }
    if (r->reply.close || atomic_load(&s->stopping))
        add_header(r, "Connection", "close");
}

static bool
is_json(const char *type)
{
    return strncmp(type, "application/json", 16) == 0;
}

static bool
is_image(const char *type)
{
    return strncmp(type, "image/", 6) == 0;
}

void
http_finish(struct http_request *r)
{
    struct http_reply *out = &r->reply;
    enum http_coding coding = CODING_NONE;
    const char *type = NULL;

    http_body_free(r);
    if (out->body.failed) {
        buf_fini(&out->body);
        http_reply_error(out, 503, "The reply did not fit into memory", NULL);
    }
    if (out->empty) {
        buf_clear(&out->body);
    } else {
        type = out->type != NULL                      ? out->type
               : r->target.is_api && !out->plain_page ? API_TYPE
                                                      : guess_type(r);
        if (r->jsonp != NULL && is_json(type))
            wrap_jsonp(out, r->jsonp);
        if (out->body.size > 0 && !is_image(type))
            coding = http_accepts(http_header(r, "Accept-Encoding"));
        if (coding != CODING_NONE && !compress_body(&out->body, coding))
            coding = CODING_NONE;
    }
    r->response_size = out->body.size;
    r->response = MHD_create_response_from_buffer_with_free_callback(
        out->body.size, out->body.data, free);
    if (r->response == NULL)
        return; /* out of memory: the connection will be closed */
    out->body = (struct buf)BUF_INIT;
    add_headers(r, type, coding);
}

void
http_serve_now(struct http_request *r)
{
    struct http_server *s = r->server;
    int64_t took_us;

    if (!r->answered)
        r->route->serve(r->route->ctx, r, &r->reply);
    r->answered = true;
    http_finish(r);
    r->ready = true;
    if (r->reply.status == 500)
        counter_add(CNT_RPC_EXCEPTIONS, 1);
    if (r->reply.status >= 400)
        atomic_fetch_add(&s->errors, 1);
    atomic_fetch_add(&s->bytes_out, r->response_size);
    took_us = clock_monotonic_us() - r->start_us;
    latency_add(&s->latency, (uint64_t)took_us / 1000);
    log_debug("web", "%s %s %s: %u, %zu bytes, %lld us", r->conn->peer,
              r->method_text, log_quote(slice_str(r->url)), r->reply.status,
              r->response_size, (long long)took_us);
}
