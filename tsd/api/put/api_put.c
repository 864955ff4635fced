/* POST /api/put: points as JSON, one object or an array of them; /api/rollup
 * and /api/histogram: the same with rollups and histograms.
 *
 *     204                   all stored (200 with ?summary or ?details)
 *     400 and a summary     some were rejected; the good ones are stored
 *     400 and an error      the body is no JSON; nothing is stored
 *     503                   the store stays too busy; sending again is safe;
 *                           or no codec of histograms is configured
 *
 * The answer goes out when the points are in the WAL; with ?sync, when they
 * are on the disk.
 *
 * The body is read to its end before anything is stored, so a body that is cut
 * off leaves nothing behind.  The points of the first reading are kept, up to a
 * number; of a longer body the rest is read a second time, chunk by chunk. */
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/process/clock.h"
#include "base/text/java.h"
#include "base/text/number.h"
#include "tsd/api/api.h"
#include "tsd/api/fields.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/put/put_json.h"
#include "web/http.h"
#include "web/json/json.h"

struct put_reply {
    struct http_reply *reply;
    bool details, summary, sync;
    int64_t sync_timeout;
    size_t total, stored;
    bool broken;       /* the store failed, not the client */
    struct buf errors; /* ?details: the elements of a JSON array */
};

#define DETAILS_BYTES ((size_t)16 << 20)

/* 400; returns false. */
static bool
put_reply_reject(struct put_reply *p, const char *message, const char *details)
{
    http_reply_error(p->reply, 400, message, details);
    return false;
}

/* Reads the switches.  False: it replied. */
static bool
put_reply_init(struct put_reply *p, const struct http_request *r,
               struct http_reply *reply)
{
    struct slice text;
    char why[200];

    *p = (struct put_reply){ .reply = reply,
                             .details = http_has_param(r, "details"),
                             .summary = http_has_param(r, "summary"),
                             .sync = http_has_param(r, "sync") };
    if (!http_param(r, "sync_timeout", &text) ||
        (number_parse_i64(text, &p->sync_timeout) &&
         p->sync_timeout <= INT32_MAX && p->sync_timeout >= INT32_MIN))
        return true;
    (void)snprintf(why, sizeof why, "For input string: \"%.*s\"",
                   text.size > 100 ? 100 : (int)text.size,
                   (const char *)text.data);
    return put_reply_reject(p, why, "sync_timeout needs a number");
}

/* Starts an element of 'errors'; the point and the reason follow.
 * NULL when no details are wanted, or there are too many. */
static struct buf *
put_reply_point(struct put_reply *p)
{
    if (!p->details || p->errors.size > DETAILS_BYTES)
        return NULL;
    buf_put_str(&p->errors,
                p->errors.size == 0 ? "{\"datapoint\":" : ",{\"datapoint\":");
    return &p->errors;
}

/* The reply to a body that was read to its end. */
static void
put_reply_end(struct put_reply *p)
{
    struct buf *body = http_reply_body(p->reply);
    size_t failed = p->total - p->stored;

    if (p->broken && !p->details) {
        http_reply_error(p->reply, 503, "The store failed",
                         "Some points were not stored; send again later");
        http_reply_reported(p->reply); /* point by point */
        return;
    }
    if (!p->details && !p->summary) {
        if (failed == 0)
            http_reply_status(p->reply, 204); /* with a type, as OpenTSDB */
        else
            (void)put_reply_reject(
                p, "One or more data points had errors",
                "Please see the TSD logs or append \"details\" to the put "
                "request");
        http_reply_reported(p->reply);
        return;
    }
    http_reply_status(p->reply, failed == 0 ? 200 : p->broken ? 503 : 400);
    buf_printf(body, "{\"success\":%zu,\"failed\":%zu", p->stored, failed);
    if (p->sync_timeout > 0)
        buf_put_str(body, ",\"timeouts\":0");
    if (p->details) {
        buf_put_str(body, ",\"errors\":[");
        buf_put_slice(body, buf_slice(&p->errors));
        buf_put_str(body, "]");
    }
    buf_put_str(body, "}");
}

#define KEPT_MAX      16384
#define BUSY_RETRY_MS 5
#define AHEAD_MAX     16384 /* points */
#define BUSY_MAX_MS   10000
#define QUICK_BYTES   ((size_t)256 << 10)
#define SLOW_US       20000

struct job {
    struct put_path *path;
    const struct http_request *request;
    struct http_reply *reply;
    enum put_json_kind kind;
    struct histogram_writer *histograms; /* of that kind; or NULL */
    struct slice extra_key, extra_value; /* of the header, or data NULL */

    struct put_json_point *points; /* a chunk of the body */
    size_t points_max, points_len;
    size_t next;           /* of the chunk, the first that is in no batch yet */
    struct put_json *rest; /* reads what comes after the chunk */
    struct put_batch *batch;
    struct put_reply result;
};

/* -- what is wrong with a point -------------------------------------------- */

static void
print_text(struct buf *out, const char *name, struct slice raw)
{
    struct buf text = BUF_INIT;

    if (raw.data == NULL)
        return;
    put_json_unescape(raw, &text);
    json_put_member(out, name, buf_slice(&text));
    buf_fini(&text);
}

static void
print_histogram(struct buf *out, const struct put_json_point *x)
{
    struct slice left = x->buckets;
    struct buf bounds = BUF_INIT;
    int64_t count;

    json_put_int(out, "id", x->id);
    if (left.data != NULL) {
        json_open(out, "buckets", '{');
        while (put_json_bucket(&left, &bounds, &count)) {
            json_put_item(out, buf_slice(&bounds));
            buf_printf(out, ":%lld", (long long)count);
        }
        buf_put_u8(out, '}');
    }
    json_put_int(out, "underflow", x->underflow);
    json_put_int(out, "overflow", x->overflow);
    buf_fini(&bounds);
}

/* The point as it was understood, without the members that are null. */
static void
print_point(struct buf *out, const struct job *j,
            const struct put_json_point *x)
{
    if (x->absent) {
        buf_put_str(out, "null");
        return;
    }
    buf_put_u8(out, '{');
    print_text(out, "metric", x->metric);
    json_put_int(out, "timestamp", x->time);
    print_text(out, "value", x->value);
    if (x->tags.data != NULL) {
        /* Those of the body, and what the batch added to them. */
        struct buf text = BUF_INIT;
        struct put_tags tags;
        struct slice key, value;

        put_json_tags(x->tags, &tags, &text);
        if (put_batch_added_tag(j->batch, &key, &value))
            put_tags_set(&tags, key, value);
        put_tags_sort(&tags);
        field_put_pairs(out, "tags", tags.tags, tags.len);
        buf_fini(&text);
    }
    if (j->kind == PUT_JSON_ROLLUPS) {
        print_text(out, "interval", x->interval);
        print_text(out, "aggregator", x->aggregator);
        print_text(out, "groupByAggregator", x->group_by);
    }
    if (j->kind == PUT_JSON_HISTOGRAMS)
        print_histogram(out, x);
    buf_put_u8(out, '}');
}

static void
on_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    struct job *j = ctx;
    struct buf *out = put_reply_point(&j->result);

    j->result.broken |= fault == PUT_STORAGE;
    if (out == NULL)
        return;
    print_point(out, j, &j->points[id]);
    if (fault == PUT_UNKNOWN_NAME)
        why = slice_str("Unknown metric");
    if (fault == PUT_NO_ROLLUP)
        why = slice_str("Unexpected exception");
    buf_put_str(&j->result.errors, ",\"error\":");
    json_put_string(&j->result.errors, why);
    buf_put_u8(&j->result.errors, '}');
}

/* -- storing --------------------------------------------------------------- */

/* Replies when the disk is at fault: the client may send all of it again. */
static bool
is_rejected(struct job *j)
{
    struct error e;

    if (put_batch_rejected(j->batch, &e) == ST_OK)
        return false;
    http_reply_failure(j->reply, &e);
    return true;
}

/* False when the store stays busy, or when the client has left. */
static bool
put_api_flush(struct job *j)
{
    int64_t until = clock_monotonic_us() + BUSY_MAX_MS * INT64_C(1000);

    if (is_rejected(j))
        return false;
    while (put_batch_flush(j->batch, &j->result.stored) != ST_OK) {
        if (clock_monotonic_us() > until || http_is_cancelled(j->request)) {
            http_reply_error(j->reply, 503, "Please throttle writes",
                             put_batch_why_busy(j->batch));
            return false;
        }
        (void)usleep(BUSY_RETRY_MS * 1000);
    }
    return !is_rejected(j);
}

/* Where a name costs an answer of other machines, all that come in the body are
 * looked up with the first that is not known. */
static void
look_ahead(void *ctx, struct put_batch *b)
{
    const struct job *j = ctx;
    struct put_json rest = *j->rest;
    struct put_json_point x;
    bool rollup = j->kind == PUT_JSON_ROLLUPS;
    size_t left = AHEAD_MAX;

    for (size_t i = j->next; i < j->points_len && left > 0; i++, left--)
        put_batch_json_ahead(b, &j->points[i], rollup);
    while (left-- > 0 && put_json_next(&rest, &x))
        put_batch_json_ahead(b, &x, rollup);
}

static bool
store_chunk(struct job *j)
{
    for (j->next = 0; j->next < j->points_len; j->next++) {
        if (put_batch_is_full(j->batch) && !put_api_flush(j))
            return false;
        put_batch_json(j->batch, &j->points[j->next], j->next,
                       j->kind == PUT_JSON_ROLLUPS);
    }
    if (!put_api_flush(j))
        return false;
    j->points_len = 0;
    return true;
}

static bool
store_histograms(struct job *j)
{
    struct error e;
    bool good;

    for (size_t i = 0; i < j->points_len; i++) {
        const struct put_json_point *x = &j->points[i];
        enum status st = histogram_writer_json(j->histograms, x, &e);

        if (st == ST_OK) {
            j->result.stored++;
            continue;
        }
        put_path_rejected(j->path, put_fault_of(st), http_peer(j->request),
                          x->metric, slice_str(e.text));
        on_failed(j, i, put_fault_of(st), slice_str(e.text));
    }
    good = histogram_writer_flush(j->histograms, &e) == ST_OK;
    if (!good)
        http_reply_failure(j->reply, &e);
    put_batch_note(j->batch, j->histograms->lsn);
    j->points_len = 0;
    return good;
}

static void
read_chunk(struct job *j, struct put_json *r)
{
    while (j->points_len < j->points_max &&
           put_json_next(r, &j->points[j->points_len]))
        j->points_len++;
}

static bool
store_all(struct job *j, struct put_json rest)
{
    bool ok = true;

    j->batch = put_batch_new(j->path, on_failed, j);
    put_batch_set_peer(j->batch, http_peer(j->request), NULL);
    put_batch_set_extra(j->batch, j->extra_key, j->extra_value);
    j->rest = &rest;
    put_batch_set_ahead(j->batch, look_ahead, j);
    while (ok && j->points_len > 0) {
        ok = j->histograms != NULL ? store_histograms(j) : store_chunk(j);
        read_chunk(j, &rest);
    }
    if (ok) {
        struct error e;

        ok = put_batch_commit(j->batch, j->result.sync, &e) == ST_OK;
        if (!ok)
            http_reply_failure(j->reply, &e);
    }
    put_batch_free(&j->batch);
    return ok;
}

/* -- the request ----------------------------------------------------------- */

/* The header's tag, "key=value". */
static bool
read_header_tag(struct job *j)
{
    const char *name = put_path_header_tag(j->path);
    const char *value = name == NULL ? NULL : http_header(j->request, name);
    struct put_tags tags = { .len = 0 };
    struct buf why = BUF_INIT;
    bool ok = true;

    if (value == NULL)
        return true;
    if (put_tags_parse(&tags, slice_str(value), &why)) {
        j->extra_key = tags.tags[0].key;
        j->extra_value = tags.tags[0].value;
    } else {
        (void)put_reply_reject(&j->result, buf_cstr(&why), NULL);
        ok = false;
    }
    buf_fini(&why);
    return ok;
}

/* Reads the body to its end, keeps the first chunk, and leaves 'rest' behind
 * it.  False after having answered. */
static bool
read_body(struct job *j, struct slice body, struct put_json *rest)
{
    struct put_json_point point;
    struct put_json r;
    struct error e;

    if (java_trim(body).size == 0)
        return put_reply_reject(&j->result, "Missing request content", NULL);
    if (!put_json_open(rest, body))
        return put_reply_reject(
            &j->result, "The JSON must start as an object or an array", NULL);
    j->points_max =
        body.size / 32 + 1 < KEPT_MAX ? body.size / 32 + 1 : KEPT_MAX;
    j->points =
        arena_alloc(http_arena(j->request), j->points_max * sizeof *j->points);
    if (j->points == NULL) {
        http_reply_error(j->reply, 413, "The request is too large", NULL);
        return false;
    }
    rest->kind = j->kind;
    read_chunk(j, rest);
    j->result.total = j->points_len;
    r = *rest;
    while (put_json_next(&r, &point))
        j->result.total++;
    if (put_json_status(&r, &e) != ST_OK)
        return put_reply_reject(&j->result, "Unable to parse the given JSON",
                                e.text);
    return j->result.total > 0 ||
           put_reply_reject(&j->result, "No datapoints found in content", NULL);
}

static void
put_api_serve(struct job *j)
{
    int64_t from_us = clock_monotonic_us();
    struct put_json rest;

    if (put_reply_init(&j->result, j->request, j->reply) &&
        read_body(j, http_body(j->request), &rest) && read_header_tag(j) &&
        store_all(j, rest))
        put_reply_end(&j->result);
    buf_fini(&j->result.errors);
    /* Of those that might have been quick. */
    if (http_body(j->request).size <= QUICK_BYTES &&
        clock_monotonic_us() - from_us > SLOW_US)
        put_path_was_slow(j->path);
}

/* Some hundred points, and a disk that is in no hurry. */
bool
api_put_is_quick(void *ctx, const struct http_request *r, void **kept)
{
    const struct api *a = ctx;

    return http_body(r).size <= QUICK_BYTES && !http_has_param(r, "sync") &&
           !http_has_param(r, "details") && put_path_is_quick(a->put);
}

void
api_put(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct job j = { .path = a->put, .request = r, .reply = out };

    put_api_serve(&j);
}

void
api_rollup(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct job j = {
        .path = a->put, .request = r, .reply = out, .kind = PUT_JSON_ROLLUPS
    };

    put_api_serve(&j);
}

void
api_histogram(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct histogram_writer w;
    struct job j = { .path = a->put,
                     .request = r,
                     .reply = out,
                     .kind = PUT_JSON_HISTOGRAMS,
                     .histograms = &w };

    if (!a->histograms.on) {
        http_reply_error(out, 503, HISTOGRAMS_ARE_OFF, NULL);
    } else if (http_method(r) != HTTP_POST) {
        http_reply_bad_method(out, r);
    } else {
        histogram_writer_init(&w, a);
        put_api_serve(&j);
        histogram_writer_fini(&w);
    }
}
