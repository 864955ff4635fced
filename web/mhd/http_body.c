/* A request's body: one growing chunk of memory, inside two limits, that of one
 * body and that of all together.  Memory doubles, so that a body of many small
 * chunks is copied a constant number of times, and only what is held counts
 * against the budget, never what a Content-Length promises.
 *
 * gzip and deflate are undone when all is there, by a worker: a bomb ends at
 * the limit, but the way there is long, and no other connection may have to
 * wait. */
#include "web/mhd/http_priv.h"

#include <zlib.h>

#include "base/utf8.h"
#include "base/mem.h"

#define GROW_MIN   ((size_t)16 << 10)
#define FREE_BYTES ((size_t)8 << 10)
/* Only as many bodies as there are workers are inflated at a time. */
#define INFLATED_FREE_BYTES ((size_t)64 << 10)
/* The JSON tree of a body is free up to this size, for the same reasons. */
#define DERIVED_FREE_BYTES ((size_t)64 << 10)

static void
body_reject(struct http_request *r, unsigned status, const char *message,
            const char *details)
{
    http_reject(r, status, message, details);
    http_body_free(r);
}

void
http_reject_size(struct http_request *r)
{
    char details[96];

    (void)snprintf(details, sizeof details,
                   "The limit for one body is %zu bytes",
                   r->server->o.body_bytes);
    body_reject(r, 413, "The request's body is too large", details);
}

static void
reject_budget(struct http_request *r)
{
    body_reject(r, 503, "Too many request bodies at once, please try again",
                "The memory for the bodies of all requests is used up");
    http_reply_header(&r->reply, "Retry-After", "1");
}

static void
reject_coding(struct http_request *r)
{
    body_reject(r, 400, "Unable to decompress the request's body",
                "It is not what its Content-Encoding says");
}

/* A small body does not count, so that clients which send little are served
 * while others have exhausted the budget. */
static size_t
body_counted(const struct http_body *b, size_t cap)
{
    return cap <= (b->inflated ? INFLATED_FREE_BYTES : FREE_BYTES) ? 0 : cap;
}

/* How large to make it, for at least 'need' bytes: need <= body_bytes. */
static size_t
next_cap(const struct http_body *b, size_t need, size_t limit)
{
    size_t cap = b->cap > limit / 2 ? limit : b->cap * 2;

    if (cap < GROW_MIN)
        cap = GROW_MIN;
    if (cap < need)
        cap = need;
    if (b->expected < cap && b->expected >= need)
        cap = (size_t)b->expected;
    return cap < limit ? cap : limit;
}

/* Room for 'size' more; false when the body was rejected. */
static bool
reserve(struct http_request *r, size_t size)
{
    struct budget *bodies = &http_share_of(r)->bodies;
    struct http_body *b = &r->body;
    size_t limit = r->server->o.body_bytes, cap, more;
    uint8_t *p;

    if (size > limit - b->size) {
        http_reject_size(r);
        return false;
    }
    if (b->size + size <= b->cap)
        return true;
    cap = next_cap(b, b->size + size, limit);
    more = body_counted(b, cap) - body_counted(b, b->cap);
    if (!budget_take(bodies, more)) {
        reject_budget(r);
        return false;
    }
    p = mem_try_resize(b->data, cap);
    if (p == NULL) {
        budget_return(bodies, more);
        reject_budget(r);
        return false;
    }
    b->data = p;
    b->cap = cap;
    return true;
}

void
http_body_free(struct http_request *r)
{
    struct http_body *b = &r->body;

    budget_return(&http_share_of(r)->bodies,
                  body_counted(b, b->cap) + b->charged);
    budget_return(&http_share_of(r)->derived, b->charged);
    b->charged = 0;
    free(b->data);
    b->data = NULL;
    b->size = b->cap = 0;
}

enum status
http_body_charge(const struct http_request *r, size_t size, struct error *e)
{
    struct http_request *mine = (void *)(uintptr_t)r;
    struct budget *derived = &http_share_of(r)->derived;

    OBJ_CHECK(r, HTTP_REQUEST_MAGIC);
    if (mine->body.charged == 0 && size <= DERIVED_FREE_BYTES)
        return ST_OK;
    if (size > derived->max)
        return error_set(e, ST_LIMIT,
                         "The request's body would take %zu bytes of memory; "
                         "the limit, half of halite.http.bodies_bytes, is %zu",
                         size, derived->max);
    if (budget_take(derived, size)) {
        if (budget_take(&http_share_of(r)->bodies, size)) {
            mine->body.charged += size;
            return ST_OK;
        }
        budget_return(derived, size);
    }
    return error_set(e, ST_BUSY,
                     "The memory for the bodies of all requests is used up "
                     "(halite.http.bodies_bytes)");
}

/* "deflate" is zlib's format by the standard, and raw in some clients: the
 * first two bytes tell. */
static int
window_bits(const struct http_body *b, struct slice coded)
{
    unsigned head = (unsigned)coded.data[0] << 8 | coded.data[1];

    if (b->coding == CODING_GZIP)
        return 15 + 16;
    return (coded.data[0] & 15) == 8 && head % 31 == 0 ? 15 : -15;
}

/* At the limit one byte of room is lent, to see whether there is more. */
static void
inflate_all(struct http_request *r, struct slice coded)
{
    struct http_body *b = &r->body;
    size_t limit = r->server->o.body_bytes;
    union {
        const uint8_t *from;
        uint8_t *to;
    } in = { .from = coded.data }; /* zlib does not write there */
    z_stream z = { .next_in = in.to, .avail_in = (uInt)coded.size };
    int rc = inflateInit2(&z, window_bits(b, coded));

    if (rc != Z_OK) {
        reject_budget(r);
        return;
    }
    do {
        bool full = b->size == limit;
        uint8_t spare;
        uInt room;

        /* gzip: another member may follow, and zeros are padding. */
        while (rc == Z_STREAM_END && z.avail_in > 0 && *z.next_in == 0) {
            z.next_in++;
            z.avail_in--;
        }
        if (rc == Z_STREAM_END && z.avail_in == 0)
            break;
        if (rc == Z_STREAM_END &&
            (b->coding != CODING_GZIP || inflateReset(&z) != Z_OK))
            break;
        if (!full && b->size == b->cap && !reserve(r, 1))
            break;
        room = full                            ? 1
               : b->cap - b->size > UINT32_MAX ? UINT32_MAX
                                               : (uInt)(b->cap - b->size);
        z.next_out = full ? &spare : b->data + b->size;
        z.avail_out = room;
        rc = inflate(&z, Z_NO_FLUSH);
        if (!full)
            b->size += room - z.avail_out;
        else if (z.avail_out == 0)
            http_reject_size(r);
    } while (!r->answered &&
             (rc == Z_STREAM_END
                  ? z.avail_in > 0
                  : rc == Z_OK && (z.avail_in > 0 || z.avail_out == 0)));
    (void)inflateEnd(&z);
    if (!r->answered && rc != Z_STREAM_END)
        reject_coding(r);
}

/* Twice the limit of a body, but at least 1 MB. */
uint64_t
http_body_drop_max(const struct http_server *s)
{
    uint64_t max = (uint64_t)s->o.body_bytes * 2;

    return max < (uint64_t)1 << 20 ? (uint64_t)1 << 20 : max;
}

bool
http_body_take(struct http_request *r, struct slice chunk)
{
    struct http_body *b = &r->body;

    b->received += chunk.size;
    if (r->answered) {
        b->dropped += chunk.size;
        return b->dropped <= http_body_drop_max(r->server);
    }
    if (chunk.size > 0 && reserve(r, chunk.size)) {
        memcpy(b->data + b->size, chunk.data, chunk.size);
        b->size += chunk.size;
    }
    return true;
}

void
http_body_decode(struct http_request *r)
{
    struct http_body *b = &r->body;
    struct slice coded = slice_of(b->data, b->size);
    size_t counted = body_counted(b, b->cap), size;
    uint8_t *data = b->data;

    if (!r->answered && b->coding != CODING_NONE && b->received > 0) {
        b->data = NULL;
        b->size = b->cap = 0;
        b->expected = UINT64_MAX;
        b->inflated = true;
        if (coded.size < 2)
            reject_coding(r);
        else if (coded.size > UINT32_MAX)
            http_reject_size(r);
        else
            inflate_all(r, coded);
        free(data);
        budget_return(&http_share_of(r)->bodies, counted);
    }
    if (r->answered || !b->is_latin1)
        return;
    size = utf8_size_of_latin1(slice_of(b->data, b->size));
    if (size > b->size && reserve(r, size - b->size)) {
        utf8_of_latin1(slice_of(b->data, b->size), size, b->data);
        b->size = size;
    }
}
