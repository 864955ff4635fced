/*
 * POST /api/histogram: histograms as JSON, one object or an array of them.
 *
 *     204                   all stored (200 with ?summary or ?details)
 *     400 and a summary     some were rejected; the good ones are stored
 *     400 and an error      the body is no JSON, or has a member that is not
 *                           what it should be; nothing is stored
 *     503                   no codec is configured
 *
 * The answer goes out when they are in the WAL; with ?sync, when they are
 * on the disk.
 *
 * The body is read twice, to check it and to store it, each time element by
 * element, so that memory does not grow with it.
 */
#include <jansson.h>

#include "base/counters.h"
#include "base/text/java.h"
#include "tsd/api/fields.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/put/put.h"
#include "tsd/api/put/put_reply.h"
#include "tsd/put/put_tags.h"
#include "web/json/json.h"

#define ELEMENT_BYTES ((size_t)4 << 20)
#define ARENA_BYTES   ((size_t)64 << 20)

/* One element of the body. */
struct item {
    const json_t *json;         /* NULL: null stands there */
    struct slice metric, value; /* data NULL: null or absent */
    int64_t time, id, underflow, overflow;
    struct text_pairs tags;
    json_t *buckets; /* NULL: null or absent */
};

struct job {
    const struct api *a;
    const char *peer;
    struct arena *arena; /* of one element */
    struct put_reply result;
};

/* -- reading --------------------------------------------------------------- */

static const struct field item_fields[] = {
#define AT(member) offsetof(struct item, member)
    { NULL, "metric", FIELD_TEXT, AT(metric), 0, 0, NULL },
    { NULL, "value", FIELD_TEXT, AT(value), 0, 0, NULL },
    { NULL, "timestamp", FIELD_WHOLE, AT(time), 0, 0, NULL },
    { NULL, "id", FIELD_INT, AT(id), 0, 0, NULL },
    { NULL, "underflow", FIELD_WHOLE, AT(underflow), 0, 0, NULL },
    { NULL, "overflow", FIELD_WHOLE, AT(overflow), 0, 0, NULL },
    { NULL, "tags", FIELD_PAIRS, AT(tags), 0, 0, NULL },
#undef AT
};

/* null counts as 0. */
static enum status
read_count(struct job *j, const json_t *buckets, const char *name, int64_t *out,
           struct error *e)
{
    const struct field count = { .json = name, .type = FIELD_WHOLE };
    unsigned seen;

    *out = 0;
    return fields_read_json(buckets, &count, 1, j->arena, out, &seen, e);
}

static enum status
read_item(struct job *j, const json_t *v, struct item *x, struct error *e)
{
    unsigned seen;
    const char *name;
    json_t *ignored;
    int64_t n;
    enum status st;

    *x = (struct item){ .json = json_is_null(v) ? NULL : v };
    if (x->json == NULL)
        return ST_OK;
    st = fields_read_json(v, FIELDS(item_fields), j->arena, x, &seen, e);
    x->buckets = json_object_get(v, "buckets");
    if (json_is_null(x->buckets))
        x->buckets = NULL;
    if (st == ST_OK && x->buckets != NULL && !json_is_object(x->buckets))
        st = error_set(e, ST_INVALID, "'buckets' must be an object");
    json_object_foreach(x->buckets, name, ignored)
    {
        if (st == ST_OK)
            st = read_count(j, x->buckets, name, &n, e);
    }
    return st;
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
    return st == ST_OK ? read_item(j, *json, x, e) : st;
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
            (void)error_wrap(&e, st, "element %zu", j->result.total);
            return put_reply_reject(&j->result,
                                    "Unable to parse the given JSON", e.text);
        }
        j->result.total++;
    }
    return j->result.total > 0 ||
           put_reply_reject(&j->result, "No datapoints found in content", NULL);
}

static bool
open_body(struct job *j, struct slice body, struct walk *w)
{
    struct slice text = java_trim(body);

    if (text.size == 0)
        return put_reply_reject(&j->result, "Missing request content", NULL);
    if (text.data[0] != '{' && text.data[0] != '[')
        return put_reply_reject(
            &j->result, "The JSON must start as an object or an array", NULL);
    *w = (struct walk){ .left = text, .array = text.data[0] == '[' };
    if (w->array)
        w->left = slice_of(text.data + 1, text.size - 1);
    return true;
}

/* -- tags ------------------------------------------------------------------ */

/* In the order of a HashMap. */
static void
make_tags(const struct item *x, struct put_tags *out)
{
    out->len = 0;
    for (size_t i = 0; i < x->tags.len; i++)
        put_tags_set(out, x->tags.pairs[i].key, x->tags.pairs[i].value);
    put_tags_sort(out);
}

/* -- what is wrong with a histogram ---------------------------------------- */

static void
print_tags(const struct item *x, struct buf *out)
{
    struct put_tags tags;

    make_tags(x, &tags);
    field_put_pairs(out, "tags", tags.tags, tags.len);
}

static void
print_buckets(struct job *j, json_t *buckets, struct buf *out)
{
    const char *name;
    json_t *v;

    buf_put_str(out, ",\"buckets\":{");
    json_object_foreach(buckets, name, v)
    {
        int64_t n = 0;

        (void)read_count(j, buckets, name, &n, NULL);
        json_put_item(out, slice_str(name));
        if (json_is_null(v))
            buf_put_str(out, ":null");
        else
            buf_printf(out, ":%lld", (long long)n);
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
    if (x->metric.data != NULL)
        json_put_text(out, "metric", x->metric);
    json_put_int(out, "timestamp", x->time);
    if (x->value.data != NULL)
        json_put_text(out, "value", x->value);
    if (x->tags.has)
        print_tags(x, out);
    buf_printf(out, ",\"id\":%lld", (long long)x->id);
    if (x->buckets != NULL)
        print_buckets(j, x->buckets, out);
    buf_printf(out, ",\"underflow\":%lld,\"overflow\":%lld}",
               (long long)x->underflow, (long long)x->overflow);
}

static void
report(struct job *j, const struct item *x, enum status st,
       const struct error *e)
{
    struct buf *out;
    const char *why = st == ST_NOT_FOUND ? "Unknown metric"
                      : st == ST_CORRUPT ? "Unexpected exception"
                                         : e->text;

    j->result.broken |= st == ST_IO || st == ST_BUSY;
    counter_add(j->result.broken     ? CNT_ERR_STORAGE
                : st == ST_NOT_FOUND ? CNT_ERR_METRICS
                                     : CNT_ERR_ARGUMENTS,
                1);
    put_path_rejected(j->a->put,
                      j->result.broken     ? PUT_STORAGE
                      : st == ST_NOT_FOUND ? PUT_UNKNOWN_NAME
                                           : PUT_BAD_ARGUMENT,
                      j->peer, x->metric, slice_str(why));
    out = put_reply_point(&j->result);
    if (out == NULL)
        return;
    print_item(j, x, out);
    put_reply_why(&j->result, slice_str(why));
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
    if (x->tags.len == 0)
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
    json_t *ignored;

    *out = (struct histogram){ .underflow = x->underflow,
                               .overflow = x->overflow };
    if (len > HISTOGRAM_BUCKETS_MAX)
        return error_set(e, ST_INVALID, "Too many buckets: %zu, at most %d",
                         len, HISTOGRAM_BUCKETS_MAX);
    out->buckets = arena_array(j->arena, len, sizeof *out->buckets);
    if (out->buckets == NULL)
        return error_no_memory(e);
    json_object_foreach(x->buckets, name, ignored)
    {
        struct histogram_bucket *b = &out->buckets[out->len++];
        enum status st = histogram_parse_bounds(slice_str(name), b, e);

        if (st == ST_NOT_FOUND)
            return error_set(e, ST_INVALID,
                             "Unable to parse value to a number");
        if (st != ST_OK)
            return st;
        (void)read_count(j, x->buckets, name, &b->count, NULL);
    }
    return histogram_sort(out, j->arena, e);
}

static enum status
store_item(struct job *j, struct histogram_writer *w, const struct item *x,
           struct error *e)
{
    const struct histogram_codecs *codecs = &j->a->histograms;
    struct histogram_point p = { .metric = x->metric, .time = x->time };
    struct put_tags tags;
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
    make_tags(x, &tags);
    p.tags = tags.tags;
    p.tags_len = tags.len;
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
        j->result.stored++;
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
    if (st == ST_OK && (w.lsn > 0 || j->result.sync))
        st = store_commit(j->a->store, w.lsn, j->result.sync, &e);
    histogram_writer_fini(&w);
    if (st != ST_OK)
        http_reply_failure(out, &e);
    return st == ST_OK;
}

void
api_histogram(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct job j = { .a = ctx, .peer = http_peer(r) };
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
    if (put_reply_init(&j.result, r, out) && open_body(&j, http_body(r), &w) &&
        check_elements(&j, w, out) && store_elements(&j, w, out))
        put_reply_end(&j.result);
    arena_free(&j.arena);
    put_reply_fini(&j.result);
}
