/* A reply made ready for the wire. */
#include "web/mhd/http_priv.h"

#include <ctype.h>
#include <endian.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/mem.h"

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
send_holds(const char *s, size_t size, const char *word)
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
        else if (send_holds(s, n, "gzip"))
            gzip = w > gzip ? w : gzip;
        else if (send_holds(s, n, "deflate"))
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

/* Compresses all chunks into 'to', which has room for what may come of it. */
static bool
deflate_chunks(z_stream *z, const struct http_chunks *p, struct buf *to,
               size_t bound)
{
    uint8_t *out = buf_reserve(to, bound);

    if (out == NULL)
        return false;
    z->next_out = out;
    z->avail_out = (uInt)bound;
    for (size_t i = 0; i < p->len; i++) {
        bool last = i + 1 == p->len;
        int rc;

        z->next_in = p->list[i].data;
        z->avail_in = (uInt)p->list[i].size;
        rc = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        if (z->avail_in != 0 || rc != (last ? Z_STREAM_END : Z_OK))
            return false;
    }
    to->size = z->total_out;
    return true;
}

/* Puts 'to', which is not empty, in place of the chunks. */
static void
replace_chunks(struct http_chunks *p, struct buf *to)
{
    while (p->len > 0) {
        p->len--;
        buf_fini(&p->list[p->len]);
    }
    p->size = 0;
    buf_shrink(to);
    INSIST(http_chunks_put(p, 0, to)); /* there was a chunk, so there is room */
}

/* Replaces the chunks by their compressed form; leaves them when that fails. */
static bool
compress_chunks(struct http_chunks *p, enum http_coding coding,
                struct budget *answers)
{
    bool small = p->size <= 4096, done;
    int bits = (small ? 12 : 15) + (coding == CODING_GZIP ? 16 : 0);
    z_stream z = { 0 };
    struct buf to;

    buf_init_within(&to, 0, answers);
    if (p->size > UINT32_MAX / 2 ||
        deflateInit2(&z, 1, Z_DEFLATED, bits, small ? 5 : 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    done = deflate_chunks(&z, p, &to, deflateBound(&z, p->size));
    (void)deflateEnd(&z);
    if (done)
        replace_chunks(p, &to);
    buf_fini(&to);
    return done;
}

/* Replaces a body that is one gzip member by what is in it; its last four bytes
 * say how much that is. */
static bool
inflate_chunk(struct http_chunks *p, struct budget *answers)
{
    union {
        const uint8_t *from;
        uint8_t *to;
    } in = { .from = p->list[0].data }; /* zlib does not write there */
    uint32_t size;
    z_stream z = { .next_in = in.to, .avail_in = (uInt)p->size };
    struct buf to;
    bool done = false;

    buf_init_within(&to, 0, answers);
    INSIST(p->len == 1 && p->size > sizeof size);
    memcpy(&size, in.from + p->size - sizeof size, sizeof size);
    size = le32toh(size);
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    z.next_out = buf_reserve(&to, size);
    z.avail_out = size;
    if (z.next_out != NULL)
        done = inflate(&z, Z_FINISH) == Z_STREAM_END;
    (void)inflateEnd(&z);
    if (done) {
        to.size = size;
        replace_chunks(p, &to);
    }
    buf_fini(&to);
    return done;
}

/* -- the type -------------------------------------------------------------- */

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
    const struct http_chunks *p = &r->reply.chunks;
    size_t size = strcspn(r->url, "?");

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n = strlen(types[i].end);

        if (size > n && memcmp(r->url + size - n, types[i].end, n) == 0)
            return types[i].type;
    }
    if (p->size == 0)
        return "text/plain";
    switch (p->list[0].data[0]) {
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

static bool
wrap_jsonp(struct http_chunks *p, const char *name)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    bool done;

    buf_put_str(&before, name);
    buf_put_u8(&before, '(');
    buf_put_u8(&after, ')');
    done = !before.failed && !after.failed && http_chunks_put(p, 0, &before) &&
           http_chunks_put(p, p->len, &after);
    buf_fini(&before);
    buf_fini(&after);
    return done;
}

static void
add_header(struct http_request *r, const char *name, const char *value)
{
    if (!http_mhd_add_header(r->response, name, value))
        log_debug("web", "a header of a reply was left out: %s",
                  log_quote(slice_str(name)));
}

static void
add_allow(struct http_request *r)
{
    static const char *const names[] = { "GET",    "POST", "PUT",
                                         "DELETE", "HEAD", "OPTIONS" };
    const struct http_server *s = r->server;
    const struct http_route *route =
        http_route_find(s->routes, s->o.routes_len, &r->target);
    struct buf b = BUF_INIT;

    for (unsigned i = 0; route != NULL && i < 6; i++)
        if ((route->methods & 1u << i) != 0)
            buf_printf(&b, "%s%s", b.size == 0 ? "" : ", ", names[i]);
    add_header(r, "Allow", buf_cstr(&b));
    buf_fini(&b);
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
    }
    if (r->reply.status == 405 || r->method == HTTP_OPTIONS)
        add_allow(r);
    add_header(r, "X-Content-Type-Options", "nosniff");
    /* What a cache must compare, whatever this request had. */
    if (r->may_compress)
        add_header(r, "Vary", "Accept-Encoding");
    if (s->o.cors_domains[0] != '\0')
        add_header(r, "Vary", "Origin");
    for (struct http_header *h = r->reply.headers; h != NULL; h = h->next)
        add_header(r, h->name, h->value);
    if (r->cors_ok) {
        add_header(r, "Access-Control-Allow-Origin", http_header(r, "Origin"));
        add_header(r, "Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
        if (s->o.cors_headers[0] != '\0')
            add_header(r, "Access-Control-Allow-Headers", s->o.cors_headers);
    }
    if (r->reply.close || atomic_load(&s->stopping))
        add_header(r, "Connection", "close");
}

/* The charge of the bytes that are sent passes from the buffers to the request,
 * since libmicrohttpd frees them. */
static void
keep_charge(struct http_request *r)
{
    struct http_chunks *p = &r->reply.chunks;
    struct budget *answers = http_reply_budget(&r->reply);
    size_t size;

    for (size_t i = 0; i < p->len; i++) {
        buf_shrink(&p->list[i]);
        size = buf_counted(&p->list[i]);
        budget_force(answers, size);
        buf_leave_budget(&p->list[i]);
        r->answer_bytes += size;
    }
}

/* The bytes of the body, as they are sent; false when there is no memory for
 * them. */
static bool
make_body(struct http_request *r, const char **type, enum http_coding *coding)
{
    struct http_reply *out = &r->reply;
    struct budget *answers = http_reply_budget(out);

    if (out->empty) {
        buf_clear(&out->body);
        return true;
    }
    http_reply_append_owned(out, &(struct buf)BUF_INIT);
    if (out->body.failed)
        return false;
    *type = out->type != NULL                      ? out->type
            : r->target.is_api && !out->plain_page ? API_TYPE
                                                   : guess_type(r);
    if (r->jsonp != NULL && strncmp(*type, "application/json", 16) == 0 &&
        !wrap_jsonp(&out->chunks, r->jsonp))
        return false;
    /* Images are compressed already, but for those that are text. */
    r->may_compress =
        out->chunks.size > 0 && (strncmp(*type, "image/", 6) != 0 ||
                                 strncmp(*type, "image/svg", 9) == 0);
    if (r->may_compress)
        *coding = http_accepts(http_header(r, "Accept-Encoding"));
    if (out->gzipped) {
        if (*coding != CODING_GZIP && !inflate_chunk(&out->chunks, answers))
            return false;
        *coding = *coding == CODING_GZIP ? CODING_GZIP : CODING_NONE;
    } else if (*coding != CODING_NONE &&
               !compress_chunks(&out->chunks, *coding, answers)) {
        *coding = CODING_NONE;
    }
    return true;
}

/* Replaces an answer that could not be built by the reason. */
static void
reply_no_room(struct http_reply *out)
{
    enum buf_fault fault = out->body.fault;
    size_t most = out->body.max;
    char text[96];

    out->headers = NULL;
    buf_fini(&out->body);
    if (fault == BUF_TOO_LARGE) {
        (void)snprintf(text, sizeof text, "The answer is larger than %zu bytes",
                       most);
        http_reply_error(out, 413, text,
                         "Please ask for less, or for one part after the "
                         "other (halite.query.answer_bytes)");
        return;
    }
    if (fault == BUF_NO_BUDGET)
        http_reply_error(out, 503, "Too many answers wait to be read",
                         "The memory for the answers of all requests is used "
                         "up (halite.answers.bytes)");
    else
        http_reply_error(out, 503, "The reply did not fit into memory", NULL);
    http_reply_header(out, "Retry-After", "1");
}

/* Turns the reply into a response for libmicrohttpd. */
static void
http_finish(struct http_request *r)
{
    struct http_reply *out = &r->reply;
    enum http_coding coding = CODING_NONE;
    const char *type = NULL;

    http_body_free(r);
    /* If memory was short meanwhile, what looked like the client's fault, as a
     * path or a point that is cut off, or like the limit of a query, may be
     * none: who is told so drops its points. */
    if (out->status >= 400 && out->status < 500 &&
        mem_failures() != r->failures) {
        out->headers = NULL;
        http_reply_error(out, 503, "The server is short of memory",
                         "Please try again");
        http_reply_header(out, "Retry-After", "1");
    }
    if (out->body.failed && !out->empty)
        reply_no_room(out);
    if (!make_body(r, &type, &coding)) {
        if (!out->body.failed)
            out->body.fault = BUF_NO_BUDGET;
        reply_no_room(out);
        coding = CODING_NONE;
        (void)make_body(r, &type, &coding);
    }
    keep_charge(r);
    r->response_size = out->chunks.size;
    r->response = http_mhd_response_new(&out->chunks);
    if (r->response == NULL)
        return; /* out of memory: the connection will be closed */
    add_headers(r, type, coding);
}

/* Does the request only read?  Then half an answer is none, and no change is
 * lost by saying so. */
static bool
only_reads(const struct http_request *r)
{
    return (http_rights_required(r) & ~(unsigned)HTTP_READS) == 0;
}

static void
serve_in_time(struct http_request *r)
{
    struct http_server *s = r->server;
    char text[100];

    if (s->o.read_ms != 0 && (r->route->methods & HTTP_KEEPS_TIME) == 0 &&
        only_reads(r))
        r->end_us = clock_monotonic_us() + (int64_t)s->o.read_ms * 1000;
    r->route->serve(r->route->ctx, r, &r->reply);
    if (!atomic_load(&r->cut) || !only_reads(r))
        return;
    r->reply.headers = NULL;
    if (atomic_load(&s->aborting)) {
        http_reply_error(&r->reply, 503, "The server is stopping", NULL);
        return;
    }
    (void)snprintf(text, sizeof text,
                   "Sorry, your query timed out. Time limit: %u ms",
                   s->o.read_ms);
    http_reply_error(&r->reply, 413, text, NULL);
}

void
http_report_failure(struct http_request *r)
{
    struct http_server *s = r->server;

    if (r->reply.why[0] != '\0' && s->o.failed != NULL)
        s->o.failed(s->o.failed_ctx, r, r->reply.status, r->reply.why);
    http_reply_reported(&r->reply);
}

void
http_serve_now(struct http_request *r)
{
    struct http_server *s = r->server;
    int64_t took_us;

    if (!r->answered)
        http_body_decode(r);
    arena_set_budget(r->arena, http_arena_budget(r));
    if (!r->answered)
        serve_in_time(r);
    r->answered = true;
    http_finish(r);
    r->ready = true;
    if (r->reply.status == 500)
        counter_add(CNT_RPC_EXCEPTIONS, 1);
    http_report_failure(r);
    took_us = clock_monotonic_us() - r->start_us;
    latency_add(&s->latency, (uint64_t)took_us);
    log_debug("web", "%s %s %s: %u, %zu bytes, %lld us", r->conn->peer,
              r->method_text, log_quote(slice_str(r->url)), r->reply.status,
              r->response_size, (long long)took_us);
}
