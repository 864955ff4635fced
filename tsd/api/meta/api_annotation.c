/* /api/annotation, /api/annotations, /api/annotation/bulk. */
#include "tsd/api/api.h"

#include <jansson.h>

#include "base/text/java.h"
#include "query/parse/parse.h"
#include "tsd/api/annotation_json.h"
#include "web/json/json.h"

static enum status
time_of(const struct api_call *w, struct slice text, int64_t *ms,
        struct error *e)
{
    return parse_time(text, clock_now_ms(w->a->clock), w->a->zone, ms, e);
}

/* The parameter's time in seconds: 0 when it is absent or empty. */
static bool
read_time_param(const struct api_call *w, const char *name, int64_t *out)
{
    struct slice text;
    int64_t ms = 0;
    struct error e;

    if (http_param(w->r, name, &text) && text.size > 0 &&
        time_of(w, text, &ms, &e) != ST_OK) {
        http_reply_failure(w->out, &e);
        return false;
    }
    *out = ms / 1000;
    return true;
}

static bool
read_request(const struct api_call *w, struct annotation_request *n)
{
    struct json_t *body;
    struct error e;
    enum status st;

    if (http_body(w->r).size == 0) {
        if (!annotation_read_params(w->r, n, w->out) ||
            !read_time_param(w, "start_time", &n->note.start) ||
            !read_time_param(w, "end_time", &n->note.end))
            return false;
        if (n->note.start < 1) {
            http_reply_error(w->out, 400, "Missing start time", NULL);
            return false;
        }
        n->fields |= n->note.end != 0 ? ANNOTATION_END : 0u;
        return true;
    }
    body = api_parse_body(w->r, w->out);
    if (body == NULL)
        return false;
    st = annotation_read(body, w->arena, n, &e);
    json_decref(body);
    if (st != ST_OK)
        api_reject_json(w->out, &e);
    return st == ST_OK;
}

static enum status
read_tsuid(const struct api_call *w, struct annotation_request *n,
           struct error *e)
{
    return annotation_read_tsuid(n, store_layout(w->a->store)->metric_width,
                                 w->arena, e);
}

static void
get_one(const struct api_call *w, const struct annotation_request *ask)
{
    struct annotation_request n = *ask;
    struct error e;

    if (read_tsuid(w, &n, &e) != ST_OK ||
        annotation_get(w->a->records, n.note.tsuid, n.note.start, w->arena,
                       &n.note, &e) != ST_OK) {
        http_reply_failure(w->out, &e);
        return;
    }
    annotation_write_as(http_reply_body(w->out), &n.note, n.tsuid_text);
}

/* Without an end OpenTSDB takes now in milliseconds for seconds, which
 * overflows, and finds nothing. */
static void
get_globals(const struct api_call *w, const struct annotation *n)
{
    struct buf *b = http_reply_body(w->out);
    struct annotation *list = NULL;
    size_t len = 0;
    struct error e;

    if (n->end != 0 && n->end < n->start) {
        http_reply_error(
            w->out, 400,
            "The end timestamp cannot be less than the start timestamp", NULL);
        return;
    }
    if (n->end != 0 && annotation_globals(w->a->records, n->start, n->end,
                                          w->arena, &list, &len, &e) != ST_OK) {
        http_reply_failure(w->out, &e);
        return;
    }
    buf_put_u8(b, '[');
    for (size_t i = 0; i < len; i++)
        annotation_write(b, &list[i]);
    buf_put_u8(b, ']');
}

static enum status
store(const struct api_call *w, struct annotation_request *n, bool *changed,
      struct error *e)
{
    /* What would not change anything is not looked at any further. */
    enum status st = read_tsuid(w, n, e);

    if (st != ST_OK) {
        *changed = false;
        if (n->note.start < 1)
            return error_set(e, ST_INVALID,
                             "The start timestamp has not been set");
        return n->fields == 0 ? ST_OK : st;
    }
    return annotation_put(
        w->a->records, &n->note,
        &(struct record_change){ n->fields, http_method(w->r) == HTTP_PUT,
                                 w->arena },
        changed, e);
}

static void
put_one(const struct api_call *w, struct annotation_request *n)
{
    struct error e;
    bool changed;

    if (store(w, n, &changed, &e) != ST_OK)
        api_reject(w->out, &e);
    else if (changed)
        annotation_write_as(http_reply_body(w->out), &n->note, n->tsuid_text);
    else
        http_reply_empty(w->out, 304);
}

static void
delete_one(const struct api_call *w, struct annotation_request *n)
{
    struct error e;

    if (n->note.start < 1)
        (void)error_set(&e, ST_INVALID, "The start timestamp has not been set");
    else if (read_tsuid(w, n, &e) == ST_OK &&
             annotation_delete(w->a->records, n->note.tsuid, n->note.start,
                               &e) == ST_OK) {
        http_reply_empty(w->out, 204);
        return;
    }
    if (e.status == ST_INVALID)
        http_reply_error(w->out, 400, "Unable to delete Annotation information",
                         e.text);
    else
        http_reply_failure(w->out, &e);
}

static void
reject_of_bulk(const struct api_call *w, const struct annotation_request *n,
               const struct error *e)
{
    struct buf text = BUF_INIT;

    if (e->status != ST_INVALID) {
        http_reply_failure(w->out, e);
        return;
    }
    buf_put_str(&text, "Annotation error: TSUID: ");
    buf_put_slice(&text, n->tsuid_text);
    buf_printf(&text, " Start: %lld  Description: ", (long long)n->note.start);
    buf_put_slice(&text, n->note.description);
    http_reply_error(w->out, 400, e->text, buf_cstr(&text));
    buf_fini(&text);
}

/* Stores one of many and writes it, unless nothing changes. */
static bool
put_of_bulk(const struct api_call *w, const struct json_t *json)
{
    struct annotation_request n;
    struct error e;
    bool changed;

    if (annotation_read(json, w->arena, &n, &e) != ST_OK) {
        api_reject(w->out, &e);
        return false;
    }
    if (store(w, &n, &changed, &e) != ST_OK) {
        reject_of_bulk(w, &n, &e);
        return false;
    }
    if (changed)
        annotation_write_as(http_reply_body(w->out), &n.note, n.tsuid_text);
    return true;
}

static void
put_bulk(const struct api_call *w)
{
    struct json_t *body = api_parse_body(w->r, w->out);
    struct buf *b = http_reply_body(w->out);
    bool good = true;

    if (body == NULL)
        return;
    if (!json_is_array(body)) {
        http_reply_error(w->out, 400, "Unable to parse the given JSON",
                         "an array of annotations is wanted");
        json_decref(body);
        return;
    }
    buf_put_u8(b, '[');
    for (size_t i = 0; good && i < json_array_size(body); i++)
        good = put_of_bulk(w, json_array_get(body, i));
    if (good)
        buf_put_u8(b, ']');
    json_decref(body);
}

/* -- deleting many --------------------------------------------------------- */

struct range {
    struct slice start_text, end_text;
    int64_t from_ms, to_ms;
    struct field_list tsuids; /* as written */
    bool global;
    int64_t ignored;
};

static const struct field of_range[] = {
#define AT(member) offsetof(struct range, member)
    { "start_time", "startTime", FIELD_TEXT, AT(start_text), FIELD_NEEDED, 0,
      NULL },
    { "end_time", "endTime", FIELD_TEXT, AT(end_text), 0, 0, NULL },
    { "global", "global", FIELD_BOOL, AT(global), 0, 0, NULL },
    { "tsuids", "tsuids", FIELD_LIST, AT(tsuids), 0, 0, NULL },
    { NULL, "totalDeleted", FIELD_WHOLE, AT(ignored), 0, 0, NULL },
#undef AT
};

const struct field_table annotation_range_fields = { FIELDS(of_range) };

/* From the body, or the parameters when it is empty.  A member misspelt must
 * not make the range a larger one. */
static bool
read_range(const struct api_call *w, struct range *range)
{
    struct json_t *body;
    unsigned seen;
    enum status st;
    struct error e;

    if (http_body(w->r).size == 0)
        return fields_read_params(w->r, FIELDS(of_range), range, &seen, w->out);
    body = api_parse_body(w->r, w->out);
    if (body == NULL)
        return false;
    st = fields_only(body, FIELDS(of_range), &e);
    if (st == ST_OK)
        st = fields_read_json(body, FIELDS(of_range), http_arena(w->r), range,
                              &seen, &e);
    json_decref(body);
    if (st != ST_OK)
        api_reject_json(w->out, &e);
    return st == ST_OK;
}

static bool
check_range(const struct api_call *w, struct range *range)
{
    struct error e;

    if (range->start_text.size == 0) {
        http_reply_error(w->out, 400, "Missing the start time value", NULL);
        return false;
    }
    if (!range->global && range->tsuids.len == 0) {
        http_reply_error(w->out, 400,
                         "Missing the TSUIDs or global annotations flag", NULL);
        return false;
    }
    range->to_ms = clock_now_ms(w->a->clock);
    if (time_of(w, range->start_text, &range->from_ms, &e) != ST_OK ||
        (range->end_text.size > 0 &&
         time_of(w, range->end_text, &range->to_ms, &e) != ST_OK)) {
        api_reject(w->out, &e);
        return false;
    }
    if (range->to_ms < range->from_ms) {
        (void)error_set(&e, ST_INVALID,
                        "The end timestamp cannot be less than the start "
                        "timestamp");
        api_reject(w->out, &e);
        return false;
    }
    return true;
}

static enum status
delete_of(const struct api_call *w, const struct range *range,
          struct slice text, uint64_t *total, struct error *e)
{
    struct annotation_request n = { .tsuid_text = text };
    uint64_t deleted = 0;
    enum status st = read_tsuid(w, &n, e);

    if (st == ST_OK)
        st = annotation_delete_range(
            w->a->records,
            &(struct annotation_query){ &n.note.tsuid, 1, range->from_ms,
                                        range->to_ms, NULL },
            &deleted, e);
    *total += deleted;
    return st;
}

static void
delete_bulk(const struct api_call *w)
{
    struct range range = { .start_text = slice_str(""),
                           .end_text = slice_str("") };
    struct slice *texts;
    uint64_t total = 0;
    enum status st = ST_OK;
    struct error e;

    if (!read_range(w, &range) || !check_range(w, &range))
        return;
    texts = range.tsuids.texts;
    if (range.global)
        st = delete_of(w, &range, slice_str(""), &total, &e);
    for (size_t i = 0; i < range.tsuids.len && st == ST_OK; i++) {
        if (http_body(w->r).size == 0)
            texts[i] = java_trim(texts[i]);
        st = texts[i].size == 0 ? error_set(&e, ST_INVALID, "UID was empty")
                                : delete_of(w, &range, texts[i], &total, &e);
    }
    if (st != ST_OK)
        api_reject(w->out, &e);
    else {
        struct buf *b = http_reply_body(w->out);
        static const struct slice none;

        buf_put_u8(b, '{');
        json_put_list(b, "tsuids",
                      !range.tsuids.has       ? NULL
                      : range.tsuids.len == 0 ? &none
                                              : range.tsuids.texts,
                      range.tsuids.len);
        json_put_bool(b, "global", range.global);
        json_put_int(b, "startTime", range.from_ms);
        json_put_int(b, "endTime", range.to_ms);
        json_put_int(b, "totalDeleted", (int64_t)total);
        buf_put_u8(b, '}');
    }
}

void
api_annotation(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api_call w = { ctx, r, out, http_arena(r) };
    enum http_method method = http_method(r);
    struct slice what = api_sub_path(r);
    struct annotation_request n;

    if (what.size >= 4 && memcmp(what.data + what.size - 4, "bulk", 4) == 0) {
        if (method == HTTP_DELETE)
            delete_bulk(&w);
        else if (method == HTTP_GET)
            http_reply_bad_method(out, r);
        else
            put_bulk(&w);
        return;
    }
    if (!read_request(&w, &n))
        return;
    if (method == HTTP_POST || method == HTTP_PUT)
        put_one(&w, &n);
    else if (method == HTTP_DELETE)
        delete_one(&w, &n);
    else if (strncmp(http_path(r), "/api/annotations", 16) == 0)
        get_globals(&w, &n.note);
    else
        get_one(&w, &n);
}
