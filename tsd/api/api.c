#include "tsd/api/api.h"

#include <jansson.h>
#include <strings.h>

#include "base/process/counters.h"
#include "base/text/json_clean.h"
#include "base/text/json_form.h"
#include "base/text/number.h"
#include "storage/store/owners.h"
#include "tsd/put/put.h"
#include "tsd/stats/queries.h"
#include "web/json/json.h"

struct json_t *
api_parse_body(const struct http_request *r, struct http_reply *out)
{
    struct slice body = http_body(r);
    struct json_t *json;
    struct error e;

    if (body.size == 0) {
        http_reply_error(out, 400, "Missing message content",
                         "Supply valid JSON formatted data in the body of "
                         "your request");
        return NULL;
    }
    if (api_parse_json(r, body, &json, &e) != ST_OK)
        api_reject_json(out, &e);
    return json;
}

/* What Jansson allocates for a value: at most an empty object, which has eight
 * buckets. */
#define JSON_VALUE_BYTES ((size_t)256)

/* Bodies that need to be cleaned are rare: only what was rejected is looked
 * at. */
enum status
api_parse_json(const struct http_request *r, struct slice body,
               struct json_t **out, struct error *e)
{
    struct buf clean = BUF_INIT;
    enum status st;
    size_t values;

    *out = NULL;
    /* The texts of the tree are at most as large as the body; a cleaned copy of
     * it, in a buffer that doubles, takes at most twice as much. */
    values = json_form(body).values;
    if (values > JSON_REQUEST_VALUES)
        values = 0; /* it will be rejected */
    st = http_body_charge(r, values * JSON_VALUE_BYTES + 3 * body.size, e);
    if (st != ST_OK)
        return st;
    st = json_parse(body, JSON_REQUEST_VALUES, out, e);
    if (st == ST_INVALID && json_clean(body, &clean))
        st = json_parse(buf_slice(&clean), JSON_REQUEST_VALUES, out, e);
    buf_fini(&clean);
    return st;
}

void
api_reject(struct http_reply *out, const struct error *e)
{
    if (e->status == ST_INVALID)
        http_reply_error(out, 400, e->text, e->text);
    else
        http_reply_failure(out, e);
}

void
api_reject_json(struct http_reply *out, const struct error *e)
{
    if (e->status == ST_INVALID)
        http_reply_error(out, 400, "Unable to parse the given JSON", e->text);
    else
        http_reply_failure(out, e);
}

bool
api_json_value_text(const struct json_t *v, char *number, struct slice *out)
{
    if (json_is_string(v)) {
        *out = slice_of(json_string_value(v), json_string_length(v));
        return true;
    }
    if (json_is_integer(v)) {
        *out =
            slice_of(number, number_format_i64(json_integer_value(v), number));
        return true;
    }
    if (json_is_real(v)) {
        *out =
            slice_of(number, number_format_double(json_real_value(v), number));
        return true;
    }
    if (json_is_boolean(v)) {
        *out = slice_str(json_is_true(v) ? "true" : "false");
        return true;
    }
    return false;
}

static bool
is_cancelled(void *request)
{
    return http_is_cancelled(request);
}

struct cancel
api_cancel(const struct http_request *r)
{
    return (struct cancel){ is_cancelled, (void *)(uintptr_t)r };
}

enum status
api_go_on(const struct http_request *r, struct http_reply *out, struct error *e)
{
    const struct buf *b = http_reply_body(out);

    if (b->failed && b->fault == BUF_TOO_LARGE)
        return error_set(e, ST_LIMIT,
                         "The answer is larger than %zu bytes. Please ask for "
                         "less, or for one part after the other.",
                         b->max);
    if (b->failed)
        return error_set(e, ST_BUSY,
                         "Too many answers wait to be read: the memory for "
                         "the answers of all requests is used up "
                         "(halite.answers.bytes)");
    if (http_is_cancelled(r))
        return error_set(e, ST_BUSY, "the client hung up");
    return ST_OK;
}

bool
api_is_current(const struct api *a, struct http_reply *out)
{
    struct error e;

    if (store_wait_current(a->store, &e) == ST_OK)
        return true;
    http_reply_failure(out, &e);
    return false;
}

struct slice
api_sub_path(const struct http_request *r)
{
    const char *at = http_path(r);

    for (int i = 0; i < 2 && at != NULL; i++)
        at = strchr(at + 1, '/');
    return at == NULL ? slice_str("") : slice_of(at + 1, strcspn(at + 1, "/"));
}

const char *
api_status_word(const struct api *a)
{
    struct error e;

    return store_may_write(a->store, &e) == ST_OK ? "ok" : "partial";
}

bool
api_may_delete(const struct api *a, const struct http_request *r, bool wants,
               struct http_reply *out)
{
    if (!wants)
        return true;
    if (!a->allow_delete)
        http_reply_error(
            out, 400, "Bad request",
            "Deleting data is not enabled (tsd.http.query.allow_delete=false)");
    else if (!http_has_right(r, HTTP_ADMIN))
        http_reply_error(out, 403, "Forbidden",
                         "Deleting needs the role admin");
    else if (!http_is_trusted(r, HTTP_TO_CHANGE))
        http_reply_error(out, 403, "Pages of other sites may not do that",
                         NULL);
    else
        return true;
    counter_add(CNT_QUERY_INVALID, 1);
    return false;
}

bool
api_need_param(const struct http_request *r, const char *name,
               struct slice *out, struct http_reply *reply)
{
    char text[100];

    if (http_param(r, name, out) && out->size > 0)
        return true;
    (void)snprintf(text, sizeof text, "Missing parameter <code>%s</code>",
                   name);
    http_reply_error(reply, 400, text, NULL);
    return false;
}

bool
api_parse_int(struct slice s, int64_t *out)
{
    return number_parse_i64(s, out) && *out >= INT32_MIN && *out <= INT32_MAX;
}

void
api_put_hex(struct buf *b, struct slice bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    uint8_t *p = buf_reserve(b, bytes.size * 2);

    if (p == NULL)
        return;
    for (size_t i = 0; i < bytes.size; i++) {
        *p++ = (uint8_t)digits[bytes.data[i] >> 4];
        *p++ = (uint8_t)digits[bytes.data[i] & 15];
    }
    b->size += bytes.size * 2;
}

void
api_put_id(struct buf *b, const char *name, struct slice bytes)
{
    json_open(b, name, '"');
    api_put_hex(b, bytes);
    buf_put_u8(b, '"');
}

void
api_drop_caches(const struct api *a)
{
    uid_drop_caches(a->uids);
    put_path_drop_cache(a->put);
}

/* Every reader sees the queries of all, with the headers that proxies and
 * dashboards add to tell who asks.  Only what could be used to log in is
 * masked: headers whose names contain one of these words, or end with "key". */
static bool
header_is_secret(struct slice name)
{
    static const char *const words[] = {
        "authorization", "cookie",    "token",   "secret", "passw",
        "credential",    "assertion", "session", "jwt",    "signature",
    };
    const char *text = (const char *)name.data;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(text, words[i]) != NULL)
            return true;
    return name.size >= 3 && strcasecmp(text + name.size - 3, "key") == 0;
}

/* A header as a member. */
static void
put_header(void *ctx, struct slice name, struct slice value)
{
    json_put_pair(ctx, name,
                  header_is_secret(name) ? slice_str("*******") : value);
}

struct query_entry *
api_begin_query(const struct api *a, const struct http_request *r,
                struct slice query, struct error *e)
{
    struct buf headers = BUF_INIT;
    struct queries_ask ask = {
        .query = query,
        .remote = http_peer(r),
    };
    struct query_entry *entry;

    http_each_header(r, put_header, &headers);
    ask.headers = buf_slice(&headers);
    entry = queries_begin(a->queries, &ask, clock_now_ms(a->clock), e);
    buf_fini(&headers);
    return entry;
}

void
api_json_type(const struct http_request *r, struct http_reply *out)
{
    if (!http_is_api(r))
        http_reply_type(out, "application/json");
}
