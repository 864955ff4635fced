/*
 * POST /api/histogram: histograms as JSON, one object or an array of them.
 *
 *     204                   all stored (200 with ?summary or ?details)
 *     400 and a summary     some were refused; the good ones are stored
 *     400 and an error      the body is no JSON, or has a member that is not
 *                           what it should be; nothing is stored
 *     503                   no codec is configured
 *
 * The answer goes out when they are in the journal; with ?sync, when they are
 * on the disk.
 *
 * The body is read twice, to check it and to store it, each time element by
 * element, so that memory does not grow with it.
 */
#include "config.h"

#include <jansson.h>

#include "base/counters.h"
#include "base/java.h"
#include "base/number.h"
#include "tsd/put/histogram_put.h"
#include "tsd/put/put.h"
#include "tsd/put/put_tags.h"
#include "web/json.h"

#define DETAILS_BYTES ((size_t)16 << 20)
#define ELEMENT_BYTES ((size_t)4 << 20)
#define ARENA_BYTES   ((size_t)64 << 20)

/* One element of the body. */
struct item {
    const json_t *json;         /* NULL: null stands there */
    struct slice metric, value; /* data NULL: null or absent */
    int64_t time, id, underflow, overflow;
    json_t *tags, *buckets; /* NULL: null or absent */
};

struct job {
    const struct api *a;
    const char *peer;
    struct arena *arena; /* of one element */
    bool details, summary, sync;
    size_t len, stored;
    bool broken; /* the store failed, not the client */
    struct buf errors;
};

/* -- reading --------------------------------------------------------------- */

/* Anything that Jackson takes for a text. */
static bool
read_text(struct job *j, const json_t *object, const char *name,
          struct slice *out)
{
    const json_t *v = json_object_get(object, name);
    char number[NUMBER_TEXT_MAX];
    struct slice text;
    char *copy;

    *out = slice_of(NULL, 0);
    if (v == NULL || json_is_null(v))
        return true;
    if (!api_json_text(object, name, number, &text))
        return false;
    copy = arena_strdup(j->arena, text);
    *out = slice_of(copy, text.size);
    return copy != NULL;
}

/* Anything that Jackson takes for a whole number; fractions are cut off. */
static bool
read_whole(const json_t *v, int64_t *out)
{
    struct slice text;

    *out = 0;
    if (v == NULL || json_is_null(v))
        return true;
    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return true;
    }
    if (json_is_real(v)) {
        double d = json_real_value(v);

        if (!(d > -9.2e18 && d < 9.2e18))
            return false;
        *out = (int64_t)d;
        return true;
    }
    if (!json_is_string(v))
        return false;
    text = java_trim(slice_of(json_string_value(v), json_string_length(v)));
    return text.size == 0 || slice_eq_str(text, "null") ||
           number_parse_i64(text, out);
}

/* A map, or nothing. */
static bool
read_map(const json_t *object, const char *name, json_t **out)
{
    json_t *v = json_object_get(object, name);

    *out = json_is_null(v) ? NULL : v;
    return *out == NULL || json_is_object(*out);
}

static bool
has_good_maps(const struct item *x)
{
    const char *name;
    json_t *v;
    int64_t n;

    json_object_foreach(x->tags, name, v)
    {
        if (json_is_object(v) || json_is_array(v))
            return false;
    }
    json_object_foreach(x->buckets, name, v)
    {
        if (!read_whole(v, &n))
            return false;
    }
    return true;
}

static bool
read_item(struct job *j, const json_t *v, struct item *x)
{
    *x = (struct item){ .json = json_is_null(v) ? NULL : v };
    if (x->json == NULL)
        return true;
    return json_is_object(v) && read_text(j, v, "metric", &x->metric) &&
           read_text(j, v, "value", &x->value) &&
           read_whole(json_object_get(v, "timestamp"), &x->time) &&
           read_whole(json_object_get(v, "id"), &x->id) && x->id >= INT32_MIN &&
           x->id <= INT32_MAX &&
           read_whole(json_object_get(v, "underflow"), &x->underflow) &&
           read_whole(json_object_get(v, "overflow"), &x->overflow) &&
           read_map(v, "tags", &x->tags) &&
           read_map(v, "buckets", &x->buckets) && has_good_maps(x);
}

/* -- elements -------------------------------------------------------------- */

struct walk {
    struct slice left;
    bool array, started, done;
};

/* Where the element at the start of an array's rest ends: at a comma or at the
 * array's end.  SIZE_MAX: nowhere. */
static size_t
element_end(struct slice s)
{
    struct json_depth d = { 0 };

    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];
        bool ends = d.open == 0 && (c == ',' || c == ']');

        if (!json_depth_step(&d, c) && ends)
            return i;
    }
    return SIZE_MAX;
}

/* False at the end. */
static bool
next_element(struct walk *w, struct slice *out)
{
    size_t end;

    if (w->done)
        return false;
    *out = w->left;
    end = w->array ? element_end(w->left) : SIZE_MAX;
    w->done = end == SIZE_MAX || w->left.data[end] == ']';
    if (end != SIZE_MAX) {
        out->size = end;
        w->left = slice_of(w->left.data + end + 1, w->left.size - end - 1);
    }
    if (w->done && !w->started && w->array && end != SIZE_MAX &&
        java_trim(*out).size == 0)
        return false;
    w->started = true;
    return true;
}

static enum status
open_element(struct job *j, const struct walk *w, struct slice text,
             json_t **json, struct item *x, struct error *e)
{
    enum status st;

    if (w->array && w->done && w->left.data == text.data)
        return error_set(e, ST_INVALID, "the array does not end");
    if (text.size > ELEMENT_BYTES)
        return error_set(e, ST_LIMIT, "a histogram has more than %zu bytes",
                         ELEMENT_BYTES);
    arena_reset(j->arena);
    st = json_parse(text, json, e);
    if (st == ST_OK && !read_item(j, *json, x))
        return error_set(e, ST_INVALID,
                         "a member is of another type than it should be");
    return st;
}

static bool
refuse(struct http_reply *out, const char *message, const char *details)
{
    http_reply_error(out, 400, message, details);
    return false;
}

/* All of it, before any is stored.  False after having answered. */
static bool
check_elements(struct job *j, struct walk w, struct http_reply *out)
{
    struct slice text;

    while (next_element(&w, &text)) {
        json_t *json = NULL;
        struct item x;
        struct error e;
        enum status st = open_element(j, &w, text, &json, &x, &e);

        json_decref(json);
        if (st == ST_LIMIT) {
            http_reply_failure(out, &e);
            return false;
        }
        if (st != ST_OK) {
            (void)error_wrap(&e, st, "element %zu", j->len);
            return refuse(out, "Unable to parse the given JSON", e.text);
        }
        j->len++;
    }
    return j->len > 0 || refuse(out, "No datapoints found in content", NULL);
}

static bool
open_body(struct slice body, struct walk *w, struct http_reply *out)
{
    struct slice text = java_trim(body);

    if (text.size == 0)
        return refuse(out, "Missing request content", NULL);
    if (text.data[0] != '{' && text.data[0] != '[')
        return refuse(out, "The JSON must start as an object or an array",
                      NULL);
    *w = (struct walk){ .left = text, .array = text.data[0] == '[' };
    if (w->array)
        w->left = slice_of(text.data + 1, text.size - 1);
    return true;
}

/* -- tags ------------------------------------------------------------------ */

/* In the order of a HashMap. */
static enum status
make_tags(struct job *j, const struct item *x, struct tag **out, size_t *len,
          struct error *e)
{
    size_t max = json_object_size(x->tags);
    struct put_tags tags = { .len = 0 };
    uint8_t order[PUT_TAGS_MAX];
    const char *name;
    json_t *v;

    if (max > PUT_TAGS_MAX)
        return error_set(e, ST_INVALID, "Too many tags: %zu", max);
    json_object_foreach(x->tags, name, v)
    {
        struct slice value;

        if (!read_text(j, x->tags, name, &value))
            return error_set(e, ST_LIMIT, "the request needs too much memory");
        put_tags_add(&tags, slice_str(name), value, value.data == NULL);
    }
    *out = arena_array(j->arena, tags.len, sizeof **out);
    if (*out == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    put_tags_order(&tags, order);
    for (size_t i = 0; i < tags.len; i++)
        (*out)[i] =
            (struct tag){ tags.tags[order[i]].key, tags.tags[order[i]].value };
    *len = tags.len;
    return ST_OK;
}

/* -- what is wrong with a histogram ---------------------------------------- */

static void
print_tags(struct job *j, const struct item *x, struct buf *out)
{
    struct tag *tags;
    size_t len;

    if (make_tags(j, x, &tags, &len, NULL) != ST_OK)
        return;
    buf_put_str(out, ",\"tags\":{");
    for (size_t i = 0; i < len; i++) {
        if (i > 0)
            buf_put_u8(out, ',');
        json_put_string(out, tags[i].key);
        buf_put_u8(out, ':');
        if (tags[i].value.data == NULL)
            buf_put_str(out, "null");
        else
            json_put_string(out, tags[i].value);
    }
    buf_put_u8(out, '}');
}

static void
print_buckets(json_t *buckets, struct buf *out)
{
    const char *name, *comma = "";
    json_t *v;

    buf_put_str(out, ",\"buckets\":{");
    json_object_foreach(buckets, name, v)
    {
        int64_t n = 0;

        (void)read_whole(v, &n);
        buf_put_str(out, comma);
        json_put_string(out, slice_str(name));
        if (json_is_null(v))
            buf_put_str(out, ":null");
        else
            buf_printf(out, ":%lld", (long long)n);
        comma = ",";
    }
    buf_put_u8(out, '}');
}

/* The histogram as it was understood, without the members that are null. */
static void
print_item(struct job *j, const struct item *x, struct buf *out)
{
    if (x->json == NULL) {
        buf_put_str(out, "null");
        return;
    }
    buf_put_u8(out, '{');
    if (x->metric.data != NULL) {
        buf_put_str(out, "\"metric\":");
        json_put_string(out, x->metric);
        buf_put_u8(out, ',');
    }
    buf_printf(out, "\"timestamp\":%lld", (long long)x->time);
    if (x->value.data != NULL) {
        buf_put_str(out, ",\"value\":");
        json_put_string(out, x->value);
    }
    if (x->tags != NULL)
        print_tags(j, x, out);
    buf_printf(out, ",\"id\":%lld", (long long)x->id);
    if (x->buckets != NULL)
        print_buckets(x->buckets, out);
    buf_printf(out, ",\"underflow\":%lld,\"overflow\":%lld}",
               (long long)x->underflow, (long long)x->overflow);
}

static void
report(struct job *j, const struct item *x, enum status st,
       const struct error *e)
{
    struct buf *out = &j->errors;
    const char *why = st == ST_NOT_FOUND ? "Unknown metric"
                      : st == ST_CORRUPT ? "Unexpected exception"
                                         : e->text;

    j->broken |= st == ST_IO || st == ST_BUSY;
    counter_add(j->broken            ? CNT_ERR_STORAGE
                : st == ST_NOT_FOUND ? CNT_ERR_METRICS
                                     : CNT_ERR_ARGUMENTS,
                1);
    put_path_rejected(j->a->put,
                      j->broken            ? PUT_STORAGE
                      : st == ST_NOT_FOUND ? PUT_UNKNOWN_NAME
                                           : PUT_BAD_ARGUMENT,
                      j->peer, x->metric, slice_str(why));
    if (!j->details || out->size > DETAILS_BYTES)
        return;
    buf_put_str(out, out->size == 0 ? "{\"datapoint\":" : ",{\"datapoint\":");
    print_item(j, x, out);
    buf_put_str(out, ",\"error\":");
    json_put_string(out, slice_str(why));
    buf_put_u8(out, '}');
}

/* -- storing --------------------------------------------------------------- */

static enum status
check_item(const struct item *x, struct error *e)
{
    if (x->json == NULL)
        return error_set(e, ST_INVALID,
                         "Unexpected null datapoint encountered in set.");
    if (x->metric.size == 0)
        return error_set(e, ST_INVALID, "Metric name was empty");
    if (x->time <= 0)
        return error_set(e, ST_INVALID, "Invalid timestamp");
    if (json_object_size(x->tags) == 0)
        return error_set(e, ST_INVALID, "Missing tags");
    if (x->value.size == 0 && json_object_size(x->buckets) == 0)
        return error_set(e, ST_INVALID,
                         "Histogram buckets cannot be null or "
                         "empty if 'value' is empty.");
    if (x->value.size > 0 && (x->id < 0 || x->id > 255))
        return error_set(e, ST_INVALID, "Invalid type. Must be from 0 to 255.");
    return ST_OK;
}

static enum status
take_buckets(struct job *j, const struct item *x, struct histogram *out,
             struct error *e)
{
    size_t len = json_object_size(x->buckets);
    const char *name;
    json_t *v;

    *out = (struct histogram){ .underflow = x->underflow,
                               .overflow = x->overflow };
    if (len > HISTOGRAM_BUCKETS_MAX)
        return error_set(e, ST_INVALID, "Too many buckets: %zu, at most %d",
                         len, HISTOGRAM_BUCKETS_MAX);
    out->buckets = arena_array(j->arena, len, sizeof *out->buckets);
    if (out->buckets == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    json_object_foreach(x->buckets, name, v)
    {
        struct histogram_bucket *b = &out->buckets[out->len++];
        enum status st = histogram_parse_bounds(slice_str(name), b, e);

        if (st == ST_NOT_FOUND)
            return error_set(e, ST_INVALID,
                             "Unable to parse value to a number");
        if (st != ST_OK)
            return st;
        (void)read_whole(v, &b->count);
    }
    return histogram_sort(out, j->arena, e);
}

static enum status
store_item(struct job *j, struct histogram_writer *w, const struct item *x,
           struct error *e)
{
    const struct histogram_codecs *codecs = &j->a->histograms;
    struct histogram_point p = { .metric = x->metric, .time = x->time };
    struct tag *tags = NULL;
    enum status st = check_item(x, e);

    if (st != ST_OK)
        return st;
    if (x->value.size > 0) {
        st = histogram_codec_check(codecs, x->id, e);
        if (st == ST_OK)
            st = histogram_parse_base64(x->value, j->arena, &p.histogram, e);
    } else {
        st = histogram_simple_check(codecs, e);
        if (st == ST_OK)
            st = take_buckets(j, x, &p.histogram, e);
    }
    if (st == ST_OK)
        st = make_tags(j, x, &tags, &p.tags_len, e);
    p.tags = tags;
    return st == ST_OK ? histogram_writer_add(w, &p, e) : st;
}

static void
store_element(struct job *j, struct histogram_writer *w,
              const struct walk *walk, struct slice text)
{
    json_t *json = NULL;
    struct item x = { .json = NULL };
    struct error e;
    enum status st = open_element(j, walk, text, &json, &x, &e);

    if (st == ST_OK)
        st = store_item(j, w, &x, &e);
    if (st == ST_OK)
        j->stored++;
    else
        report(j, &x, st, &e);
    json_decref(json);
}

/* False after having answered. */
static bool
store_elements(struct job *j, struct walk walk, struct http_reply *out)
{
    struct histogram_writer w;
    struct slice text;
    struct error e;
    enum status st;

    histogram_writer_init(&w, j->a);
    while (next_element(&walk, &text))
        store_element(j, &w, &walk, text);
    st = histogram_writer_flush(&w, &e);
    if (st == ST_OK && (w.lsn > 0 || j->sync))
        st = store_commit(j->a->store, w.lsn, j->sync, &e);
    histogram_writer_fini(&w);
    if (st != ST_OK)
        http_reply_failure(out, &e);
    return st == ST_OK;
}

static void
answer(struct job *j, struct http_reply *out)
{
    struct buf *body = http_reply_body(out);
    size_t failed = j->len - j->stored;

    if (j->broken) {
        http_reply_error(out, 503, "The store failed",
                         "Some histograms were not stored; send again later");
    } else if (!j->details && !j->summary) {
        if (failed == 0)
            http_reply_status(out, 204);
        else
            (void)refuse(out, "One or more data points had errors",
                         "Please see the TSD logs or append \"details\" to the "
                         "put request");
    } else {
        http_reply_status(out, failed == 0 ? 200 : 400);
        buf_printf(body, "{\"success\":%zu,\"failed\":%zu", j->stored, failed);
        if (j->details) {
            buf_put_str(body, ",\"errors\":[");
            buf_put_slice(body, buf_slice(&j->errors));
            buf_put_str(body, "]");
        }
        buf_put_str(body, "}");
    }
}

void
api_histogram(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct job j = { .a = ctx,
                     .peer = http_peer(r),
                     .details = http_has_param(r, "details"),
                     .summary = http_has_param(r, "summary"),
                     .sync = http_has_param(r, "sync") };
    struct walk w;

    if (!j.a->histograms.on) {
        http_reply_error(out, 503, HISTOGRAMS_ARE_OFF, NULL);
        return;
    }
    if (http_method(r) != HTTP_POST) {
        http_reply_bad_method(out, r);
        return;
    }
    j.arena = arena_new(ARENA_BYTES);
    if (open_body(http_body(r), &w, out) && check_elements(&j, w, out) &&
        store_elements(&j, w, out))
        answer(&j, out);
    arena_free(&j.arena);
    buf_fini(&j.errors);
}
