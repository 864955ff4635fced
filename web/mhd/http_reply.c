/* Replies, and errors in their two forms: JSON under /api, a page elsewhere. */
#include "web/mhd/http_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "web/json/json.h"

void
http_reply_fini(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    http_chunks_free(&out->chunks);
    buf_fini(&out->body);
    OBJ_CLEAR(out);
}

struct buf *
http_reply_body(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    out->empty = false;
    return &out->body;
}

struct budget *
http_reply_budget(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    return &http_share_of(out->request)->answers;
}

bool
http_chunks_put(struct http_chunks *p, size_t at, struct buf *b)
{
    size_t cap = p->cap == 0 ? 4 : p->cap * 2;
    struct buf *list = p->list;

    INSIST(at <= p->len);
    if (p->len == p->cap) {
        list = mem_try_resize(list, cap * sizeof *list);
        if (list == NULL)
            return false;
        p->list = list;
        p->cap = cap;
    }
    memmove(p->list + at + 1, p->list + at, (p->len - at) * sizeof *p->list);
    p->list[at] = *b;
    p->len++;
    p->size += b->size;
    buf_init_after(b, b->max, b->free_bytes, b->budget);
    return true;
}

void
http_chunks_free(struct http_chunks *p)
{
    for (size_t i = 0; i < p->len; i++)
        buf_fini(&p->list[i]);
    free(p->list);
    *p = (struct http_chunks){ 0 };
}

/* Counts a chunk that was made without the budget of replies, and checks how
 * large the reply becomes. */
static bool
count_chunk(struct http_reply *out, struct buf *chunk, enum buf_fault *fault)
{
    struct budget *answers = http_reply_budget(out);
    size_t max = out->body.max;

    if (max != 0 && out->chunks.size + out->body.size + chunk->size > max) {
        *fault = BUF_TOO_LARGE;
        return false;
    }
    if (chunk->budget == answers)
        return true;
    buf_shrink(chunk);
    if (chunk->cap > ANSWER_FREE_BYTES && !budget_take(answers, chunk->cap)) {
        *fault = BUF_NO_BUDGET;
        return false;
    }
    buf_leave_budget(chunk);
    chunk->free_bytes = ANSWER_FREE_BYTES;
    chunk->budget = budget_ref(answers);
    return true;
}

void
http_reply_append_owned(struct http_reply *out, struct buf *chunk)
{
    struct http_chunks *p = &out->chunks;
    bool failed;
    enum buf_fault fault;

    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    failed = out->body.failed || chunk->failed;
    fault = out->body.failed ? out->body.fault : chunk->fault;
    out->empty = false;
    if (!failed && !count_chunk(out, chunk, &fault)) {
        failed = true;
    } else if ((out->body.size > 0 &&
                !http_chunks_put(p, p->len, &out->body)) ||
               (chunk->size > 0 && !http_chunks_put(p, p->len, chunk))) {
        failed = true;
        fault = BUF_NO_MEMORY;
    }
    buf_fini(chunk);
    out->body.failed = failed;
    out->body.fault = (uint8_t)fault;
}

void
http_reply_status(struct http_reply *out, unsigned status)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    INSIST(status >= 200 && status <= 599);
    out->status = status;
}

void
http_reply_type(struct http_reply *out, const char *content_type)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    out->type = arena_strdup(out->request->arena, slice_str(content_type));
}

void
http_reply_gzipped(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    out->gzipped = true;
}

void
http_reply_header(struct http_reply *out, const char *name, const char *value)
{
    struct http_header *h;

    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    h = arena_array(out->request->arena, 1, sizeof *h);
    if (h == NULL)
        return;
    h->name = arena_strdup(out->request->arena, slice_str(name));
    h->value = arena_strdup(out->request->arena, slice_str(value));
    if (h->name == NULL || h->value == NULL)
        return;
    h->next = out->headers;
    out->headers = h;
}

void
http_reply_empty(struct http_reply *out, unsigned status)
{
    http_reply_status(out, status);
    http_chunks_free(&out->chunks);
    buf_clear(&out->body);
    out->empty = true;
}

void
http_reply_close(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    out->close = true;
}

static void
put_page(struct buf *b, unsigned status, const char *message)
{
    const char *title = status == 404  ? "Page Not Found"
                        : status < 500 ? "Bad Request"
                                       : "Internal Server Error";

    buf_printf(b,
               "<!DOCTYPE html>\n"
               "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n"
               "<title>%s</title></head>\n"
               "<body style=\"font-family: sans-serif; margin: 2em; "
               "overflow-wrap: anywhere\">\n"
               "<h1>%s</h1>\n<p>",
               title, title);
    for (const char *s = message; *s != '\0'; s++)
        if (*s == '<')
            buf_put_str(b, "&lt;");
        else if (*s == '>')
            buf_put_str(b, "&gt;");
        else if (*s == '&')
            buf_put_str(b, "&amp;");
        else if (*s == '"')
            buf_put_str(b, "&quot;");
        else
            buf_put(b, s, 1);
    buf_put_str(b, "</p>\n</body></html>\n");
}

static void
put_json(struct buf *b, unsigned status, const char *message,
         const char *details, bool trace)
{
    buf_printf(b, "{\"error\":{\"code\":%u,\"message\":", status);
    json_put_string(b, slice_str(message));
    if (details != NULL) {
        buf_put_str(b, ",\"details\":");
        json_put_string(b, slice_str(details));
    }
    if (trace)
        buf_put_str(b, ",\"trace\":\"http_reply_error() in web/mhd/http_reply.c"
                       "\\n\"");
    buf_put_str(b, "}}");
}

static void
start_error(struct http_reply *out, unsigned status)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    http_reply_status(out, status);
    http_chunks_free(&out->chunks);
    buf_clear(&out->body);
    out->type = NULL;
    out->empty = false;
    out->gzipped = false;
}

static void
reply_fail(struct http_reply *out, unsigned status, const char *message,
           const char *details, bool trace)
{
    const struct http_request *r = out->request;

    (void)snprintf(out->why, sizeof out->why, "%s%s%s", message,
                   details == NULL ? "" : ": ", details == NULL ? "" : details);
    if (r->target.is_api && !out->plain_page) {
        start_error(out, status);
        put_json(&out->body, status, message, details, trace);
        return;
    }
    /* Outside of /api OpenTSDB says 400 to whatever the client did wrong; a
     * page that is not there and our own limits keep their numbers. */
    start_error(out, status == 404 || status == 408 || status == 413 ||
                             status == 429 || status >= 500
                         ? status
                         : 400);
    if (http_has_param(r, "json")) {
        buf_put_str(&out->body, "{\"err\":");
        json_put_string(&out->body, slice_str(message));
        buf_put_u8(&out->body, '}');
        http_reply_type(out, "application/json");
    } else {
        put_page(&out->body, out->status, message);
        http_reply_type(out, "text/html; charset=UTF-8");
    }
}

void
http_reply_error(struct http_reply *out, unsigned status, const char *message,
                 const char *details)
{
    reply_fail(out, status, message, details,
               out->request->server->o.show_stack_trace);
}

void
http_reply_reported(struct http_reply *out)
{
    OBJ_CHECK(out, HTTP_REPLY_MAGIC);
    out->why[0] = '\0';
}

void
http_reject(struct http_request *r, unsigned status, const char *message,
            const char *details)
{
    http_reply_error(&r->reply, status, message, details);
    r->answered = true;
}

void
http_reply_failure(struct http_reply *out, const struct error *e)
{
    unsigned status = (unsigned)status_http(e->status);

    if (status == 404 && !out->request->target.is_api)
        status = 400; /* a name was not found, not the page */
    http_reply_error(out, status, e->text, NULL);
    if (e->status == ST_BUSY)
        http_reply_header(out, "Retry-After", "1");
}

void
http_reply_bad_method(struct http_reply *out, const struct http_request *r)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "The HTTP method [%s] is not permitted for this endpoint",
               r->method_text);
    http_reply_error(out, 405, "Method not allowed", buf_cstr(&b));
    if (strcmp(r->target.path, "/") == 0)
        http_reply_status(out, 405); /* a put to the page has not worked */
    buf_fini(&b);
}

void
http_reply_not_found(struct http_reply *out)
{
    bool api = out->request->target.is_api;

    reply_fail(out, 404, api ? "Endpoint not found" : "Page Not Found", NULL,
               false);
}
