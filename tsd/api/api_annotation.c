/* /api/annotation, /api/annotations, /api/annotation/bulk. */
#include "config.h"

#include "tsd/api/api.h"

#include <jansson.h>

#include "base/java.h"
#include "base/log.h"
#include "base/number.h"
#include "query/parse/parse.h"
#include "tsd/api/annotation_json.h"
#include "tsd/api/json_read.h"
#include "web/json.h"

/* A request being served. */
struct work {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena;
};

static bool read_request(const struct work *w, struct annotation_request *n);
static void get_one(const struct work *w, const struct annotation_request *n);
static void get_globals(const struct work *w, const struct annotation *n);
static void put_one(const struct work *w, struct annotation_request *n);
static void delete_one(const struct work *w, struct annotation_request *n);
static void put_bulk(const struct work *w);
static void delete_bulk(const struct work *w);

static bool
ends_with(struct slice s, const char *end)
{
    size_t n = strlen(end);

    return s.size >= n && memcmp(s.data + s.size - n, end, n) == 0;
}

void
api_annotation(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct work w = { ctx, r, out, http_arena(r) };
    enum http_method method = http_method(r);
    struct annotation_request n;

    if (ends_with(api_sub_path(r), "bulk")) {
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

/* 'message' and 'details' are the same text where OpenTSDB wraps an exception
 * without a word of its own. */
static void
refuse_twice(const struct work *w, const struct error *e)
{
    if (e->status == ST_INVALID)
        http_reply_error(w->out, 400, e->text, e->text);
    else
        http_reply_failure(w->out, e);
}

static enum status
time_of(const struct work *w, struct slice text, int64_t *ms, struct error *e)
{
    return parse_time(text, clock_now_ms(w->a->clock), w->a->zone, ms, e);
}

/* The parameter's time in seconds: 0 when it is absent or empty. */
static bool
read_time_param(const struct work *w, const char *name, int64_t *out)
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
read_params(const struct work *w, struct annotation_request *n)
{
    *n = (struct annotation_request){ .tsuid_text = slice_str("") };
    n->note.description = n->note.notes = slice_str("");
    (void)http_param(w->r, "tsuid", &n->tsuid_text);
    if (!read_time_param(w, "start_time", &n->note.start) ||
        !read_time_param(w, "end_time", &n->note.end))
        return false;
    if (n->note.start < 1) {
        http_reply_error(w->out, 400, "Missing start time", NULL);
        return false;
    }
    n->fields = n->note.end != 0 ? ANNOTATION_END : 0;
    if (http_param(w->r, "description", &n->note.description))
        n->fields |= ANNOTATION_DESCRIPTION;
    if (http_param(w->r, "notes", &n->note.notes))
        n->fields |= ANNOTATION_NOTES;
    return true;
}

static bool
read_request(const struct work *w, struct annotation_request *n)
{
    struct json_t *body;
    struct error e;
    enum status st;

    if (http_body(w->r).size == 0)
        return read_params(w, n);
    body = api_parse_body(w->r, w->out);
    if (body == NULL)
        return false;
    st = annotation_read(body, w->arena, n, &e);
    json_decref(body);
    if (st == ST_INVALID)
        http_reply_error(w->out, 400, "Unable to parse the given JSON", e.text);
    else if (st != ST_OK)
        http_reply_failure(w->out, &e);
    return st == ST_OK;
}

static enum status
read_tsuid(const struct work *w, struct annotation_request *n, struct error *e)
{
    return annotation_read_tsuid(n, store_shape(w->a->store)->metric_width,
                                 w->arena, e);
}

static void
get_one(const struct work *w, const struct annotation_request *ask)
{
    struct annotation_request n = *ask;
    struct error e;

    if (read_tsuid(w, &n, &e) != ST_OK ||
        annotation_get(w->a->annotations, n.note.tsuid, n.note.start, w->arena,
                       &n.note, &e) != ST_OK) {
        http_reply_failure(w->out, &e);
        return;
    }
    annotation_write_as(http_reply_body(w->out), &n.note, n.tsuid_text);
}

struct list {
    struct buf *b;
    int64_t from_s, to_s;
    bool first;
};

/* OpenTSDB compares what is written, be it seconds or milliseconds, and the end
 * of a note with the end of the range. */
static bool
put_global(void *ctx, const struct annotation *n)
{
    struct list *l = ctx;

    if (n->start < l->from_s || n->end > l->to_s)
        return true;
    if (!l->first)
        buf_put_u8(l->b, ',');
    l->first = false;
    annotation_write(l->b, n);
    return !l->b->failed;
}

/* The hour that holds this second, in ms; all that lies behind the last row is
 * one time. */
static int64_t
hour_ms(int64_t s)
{
    const int64_t last = INT64_C(1) << 33;

    return (s > last ? last : s) / HOUR_S * HOUR_MS;
}

/* Rows are hours, and OpenTSDB lists them whole.  Without an end it takes now
 * in milliseconds for seconds, which overflows, and finds nothing. */
static void
get_globals(const struct work *w, const struct annotation *n)
{
    struct list l = { http_reply_body(w->out), n->start, n->end, true };
    struct error e;

    if (n->end != 0 && n->end < n->start) {
        http_reply_error(
            w->out, 400,
            "The end timestamp cannot be less than the start timestamp", NULL);
        return;
    }
    buf_put_u8(l.b, '[');
    if (n->end != 0 &&
        annotation_each(w->a->annotations, slice_str(""), hour_ms(n->start),
                        hour_ms(n->end) + HOUR_MS - 1, put_global, &l,
                        &e) != ST_OK) {
        http_reply_failure(w->out, &e);
        return;
    }
    buf_put_u8(l.b, ']');
}

static enum status
store(const struct work *w, struct annotation_request *n, bool *changed,
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
    return annotation_put(w->a->annotations, &n->note, n->fields,
                          http_method(w->r) == HTTP_PUT, w->arena, changed, e);
}

static void
put_one(const struct work *w, struct annotation_request *n)
{
    struct error e;
    bool changed;

    if (store(w, n, &changed, &e) != ST_OK)
        refuse_twice(w, &e);
    else if (changed)
        annotation_write_as(http_reply_body(w->out), &n->note, n->tsuid_text);
    else
        http_reply_empty(w->out, 304);
}

static void
delete_one(const struct work *w, struct annotation_request *n)
{
    struct error e;

    if (n->note.start < 1)
        (void)error_set(&e, ST_INVALID, "The start timestamp has not been set");
    else if (read_tsuid(w, n, &e) == ST_OK &&
             annotation_delete(w->a->annotations, n->note.tsuid, n->note.start,
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
refuse_of_bulk(const struct work *w, const struct annotation_request *n,
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
put_of_bulk(const struct work *w, const struct json_t *json, bool *first)
{
    struct buf *b = http_reply_body(w->out);
    struct annotation_request n;
    struct error e;
    bool changed;

    if (annotation_read(json, w->arena, &n, &e) != ST_OK) {
        refuse_twice(w, &e);
        return false;
    }
    if (store(w, &n, &changed, &e) != ST_OK) {
        refuse_of_bulk(w, &n, &e);
        return false;
    }
    if (changed) {
        if (!*first)
            buf_put_u8(b, ',');
        *first = false;
        annotation_write_as(b, &n.note, n.tsuid_text);
    }
    return true;
}

static void
put_bulk(const struct work *w)
{
    struct json_t *body = api_parse_body(w->r, w->out);
    struct buf *b = http_reply_body(w->out);
    bool first = true, good = true;

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
        good = put_of_bulk(w, json_array_get(body, i), &first);
    if (good)
        buf_put_u8(b, ']');
    json_decref(body);
}

/* -- deleting many --------------------------------------------------------- */

struct range {
    struct slice start_text, end_text;
    int64_t from_ms, to_ms;
    struct slice *tsuids; /* as written */
    size_t tsuids_len;
    bool has_tsuids; /* null is not the same as none */
    bool global;
};

static struct slice
copy_text(const struct work *w, const struct json_t *object, const char *name)
{
    char number[NUMBER_TEXT_MAX], *copy;
    struct slice text;

    if (!api_json_text(object, name, number, &text))
        return slice_str("");
    copy = arena_strdup(w->arena, text);
    return copy == NULL ? slice_str("") : slice_of(copy, text.size);
}

static enum status
read_range_tsuids(const struct work *w, const struct json_t *list,
                  struct range *range, struct error *e)
{
    char number[NUMBER_TEXT_MAX];
    struct slice text;

    range->has_tsuids = list != NULL && !json_is_null(list);
    if (!range->has_tsuids)
        return ST_OK;
    range->tsuids =
        arena_array(w->arena, json_array_size(list) + 1, sizeof *range->tsuids);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *copy;

        if (!api_json_value_text(json_array_get(list, i), number, &text))
            return error_set(e, ST_INVALID, "a TSUID must be a text");
        copy = arena_strdup(w->arena, text);
        if (copy == NULL || range->tsuids == NULL)
            return error_set(e, ST_LIMIT, "the request needs too much memory");
        range->tsuids[range->tsuids_len++] = slice_of(copy, text.size);
    }
    return json_is_array(list)
               ? ST_OK
               : error_set(e, ST_INVALID, "'tsuids' must be an array of texts");
}

static bool
read_range_body(const struct work *w, struct range *range)
{
    struct json_t *body = api_parse_body(w->r, w->out);
    struct error e;
    enum status st = ST_OK;

    if (body == NULL)
        return false;
    if (!json_is_object(body))
        st = error_set(&e, ST_INVALID, "an object is wanted");
    range->start_text = copy_text(w, body, "startTime");
    range->end_text = copy_text(w, body, "endTime");
    if (st == ST_OK)
        st = json_read_bool(body, "global", &range->global, &e);
    if (st == ST_OK)
        st = read_range_tsuids(w, json_object_get(body, "tsuids"), range, &e);
    json_decref(body);
    if (st != ST_OK)
        refuse_twice(w, &e);
    return st == ST_OK;
}

/* Java's split(","): what is empty at the end does not count, unless all is. */
static void
split_tsuids(struct slice list, struct range *range)
{
    size_t end = list.size, at = 0;

    while (end > 0 && list.data[end - 1] == ',')
        end--;
    if (end == 0 && list.size > 0)
        return;
    while (at <= end) {
        const uint8_t *comma =
            at == end ? NULL : memchr(list.data + at, ',', end - at);
        size_t to = comma == NULL ? end : (size_t)(comma - list.data);

        range->tsuids[range->tsuids_len++] =
            java_trim(slice_of(list.data + at, to - at));
        at = to + 1;
    }
}

static bool
read_range_params(const struct work *w, struct range *range)
{
    struct slice list;

    if (!api_need_param(w->r, "start_time", &range->start_text, w->out))
        return false;
    (void)http_param(w->r, "end_time", &range->end_text);
    range->global = http_has_param(w->r, "global");
    range->has_tsuids = http_param(w->r, "tsuids", &list);
    if (!range->has_tsuids)
        return true;
    range->tsuids = arena_array(w->arena, list.size + 1, sizeof *range->tsuids);
    if (range->tsuids != NULL)
        split_tsuids(list, range);
    return true;
}

static bool
check_range(const struct work *w, struct range *range)
{
    struct error e;

    if (range->start_text.size == 0) {
        http_reply_error(w->out, 400, "Missing the start time value", NULL);
        return false;
    }
    if (!range->global && range->tsuids_len == 0) {
        http_reply_error(w->out, 400,
                         "Missing the TSUIDs or global annotations flag", NULL);
        return false;
    }
    range->to_ms = clock_now_ms(w->a->clock);
    if (time_of(w, range->start_text, &range->from_ms, &e) != ST_OK ||
        (range->end_text.size > 0 &&
         time_of(w, range->end_text, &range->to_ms, &e) != ST_OK)) {
        refuse_twice(w, &e);
        return false;
    }
    if (range->to_ms < range->from_ms) {
        (void)error_set(&e, ST_INVALID,
                        "The end timestamp cannot be less than the start "
                        "timestamp");
        refuse_twice(w, &e);
        return false;
    }
    return true;
}

static enum status
delete_of(const struct work *w, const struct range *range, struct slice text,
          uint64_t *total, struct error *e)
{
    struct annotation_request n = { .tsuid_text = text };
    uint64_t deleted = 0;
    enum status st = read_tsuid(w, &n, e);

    if (st == ST_OK)
        st = annotation_delete_range(w->a->annotations, n.note.tsuid,
                                     range->from_ms, range->to_ms, &deleted, e);
    *total += deleted;
    return st;
}

static void
write_range(struct buf *b, const struct range *range, uint64_t total)
{
    buf_put_str(b, "{\"tsuids\":");
    buf_put_str(b, range->has_tsuids ? "[" : "null");
    for (size_t i = 0; i < range->tsuids_len; i++) {
        if (i > 0)
            buf_put_u8(b, ',');
        json_put_string(b, range->tsuids[i]);
    }
    buf_put_str(b, range->has_tsuids ? "]" : "");
    buf_printf(b,
               ",\"global\":%s,\"startTime\":%lld,\"endTime\":%lld,"
               "\"totalDeleted\":%llu}",
               range->global ? "true" : "false", (long long)range->from_ms,
               (long long)range->to_ms, (unsigned long long)total);
}

static void
delete_bulk(const struct work *w)
{
    struct range range = { .end_text = slice_str("") };
    uint64_t total = 0;
    enum status st = ST_OK;
    struct error e;

    if (!(http_body(w->r).size > 0 ? read_range_body(w, &range)
                                   : read_range_params(w, &range)) ||
        !check_range(w, &range))
        return;
    if (range.global)
        st = delete_of(w, &range, slice_str(""), &total, &e);
    for (size_t i = 0; i < range.tsuids_len && st == ST_OK; i++)
        st = range.tsuids[i].size == 0
                 ? error_set(&e, ST_INVALID, "UID was empty")
                 : delete_of(w, &range, range.tsuids[i], &total, &e);
    if (st != ST_OK)
        refuse_twice(w, &e);
    else
        write_range(http_reply_body(w->out), &range, total);
}
