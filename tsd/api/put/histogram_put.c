#include "tsd/api/put/histogram_put.h"

#include "base/process/counters.h"
#include "storage/histogram/histogram_table.h"
#include "tsd/put/put_value.h"

#define BATCH_MAX   256
#define ARENA_BYTES ((size_t)64 << 20)

void
histogram_writer_init(struct histogram_writer *w, const struct api *a)
{
    *w = (struct histogram_writer){ .a = a,
                                    .batch = kv_batch_new(),
                                    .arena = arena_new(ARENA_BYTES) };
}

void
histogram_writer_fini(struct histogram_writer *w)
{
    kv_batch_free(&w->batch);
    arena_free(&w->arena);
}

static enum status
reject_time(const struct histogram_point *p, struct slice bytes,
            struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    if (bytes.size > sizeof e->text)
        bytes.size = sizeof e->text;
    buf_printf(&text, "bad timestamp=%lld when trying to add value=",
               (long long)p->time);
    put_bytes_print(&text, bytes);
    buf_printf(&text, "/0 to metric=%.*s, tags=", SLICE_ARG(p->metric));
    put_tags_print(&p->tags, &text);
    st = error_set(e, ST_INVALID, "%s", buf_cstr(&text));
    buf_fini(&text);
    return st;
}

enum status
histogram_writer_add(struct histogram_writer *w,
                     const struct histogram_point *p, struct error *e)
{
    const struct series_rules rules = put_path_rules(w->a->put);
    struct tsuid tsuid;
    series_ref ref;
    int64_t ms = 0;
    struct buf bytes = BUF_INIT;
    enum status st;

    buf_put_u8(&bytes, (uint8_t)w->a->histograms.simple);
    histogram_encode(&p->histogram, &bytes);
    if (bytes.failed)
        st = error_set(e, ST_LIMIT, "no memory for a histogram");
    else if (!put_time_to_ms(p->time, &ms))
        st = reject_time(p, buf_slice(&bytes), e);
    else
        st = series_resolve(
            w->a->series, &rules,
            &(struct series_text){ 0, p->metric, p->tags.tags, p->tags.len },
            &ref, &tsuid, e);
    if (st == ST_OK)
        histogram_put(w->batch, tsuid_slice(&tsuid), ms, buf_slice(&bytes));
    buf_fini(&bytes);
    return st == ST_OK && kv_batch_len(w->batch) >= BATCH_MAX
               ? histogram_writer_flush(w, e)
               : st;
}

static enum status
histogram_check(const struct put_json_point *x, size_t tags_len,
                struct error *e)
{
    struct slice buckets = x->buckets;
    struct buf bounds = BUF_INIT;
    int64_t count;
    bool empty = x->value.size == 0 && !x->absent &&
                 !put_json_bucket(&buckets, &bounds, &count);
    const char *why = x->absent
                          ? "Unexpected null datapoint encountered in set."
                      : x->metric.size == 0 ? "Metric name was empty"
                      : x->time <= 0        ? "Invalid timestamp"
                      : tags_len == 0       ? "Missing tags"
                      : empty ? "Histogram buckets cannot be null or empty if "
                                "'value' is empty."
                      : x->value.size > 0 && (x->id < 0 || x->id > 255)
                          ? "Invalid type. Must be from 0 to 255."
                          : NULL;

    buf_fini(&bounds);
    return why == NULL ? ST_OK : error_set(e, ST_INVALID, "%s", why);
}

static enum status
take_buckets(const struct put_json_point *x, struct arena *a,
             struct histogram *out, struct error *e)
{
    struct slice left = x->buckets;
    struct buf bounds = BUF_INIT;
    enum status st = ST_OK;
    size_t cap = 0;
    int64_t count;

    *out = (struct histogram){ .underflow = x->underflow,
                               .overflow = x->overflow };
    while (st == ST_OK && out->len <= HISTOGRAM_BUCKETS_MAX &&
           put_json_bucket(&left, &bounds, &count)) {
        out->buckets =
            arena_grow(a, out->buckets, out->len, &cap, sizeof *out->buckets);
        st = out->buckets == NULL
                 ? error_no_memory(e)
                 : histogram_parse_bounds(buf_slice(&bounds),
                                          &out->buckets[out->len], e);
        if (st == ST_NOT_FOUND)
            st = error_set(e, ST_INVALID, "Unable to parse value to a number");
        if (st == ST_OK)
            out->buckets[out->len++].count = count;
    }
    buf_fini(&bounds);
    if (st == ST_OK && out->len > HISTOGRAM_BUCKETS_MAX)
        st = error_set(e, ST_INVALID, "Too many buckets: at most %d",
                       HISTOGRAM_BUCKETS_MAX);
    return st == ST_OK ? histogram_sort(out, a, e) : st;
}

enum status
histogram_writer_json(struct histogram_writer *w,
                      const struct put_json_point *x, struct error *e)
{
    struct histogram_point p = { .time = x->time };
    struct buf text = BUF_INIT;
    enum status st = ST_OK;

    arena_reset(w->arena);
    /* All at once, so that what the slices refer to never moves. */
    if (buf_reserve(
            &text, 3 * (x->metric.size + x->value.size + x->tags.size)) == NULL)
        st = error_no_memory(e);
    put_json_tags(x->tags, &p.tags, &text);
    p.metric = put_json_text(x->metric, &text);
    if (st == ST_OK)
        st = histogram_check(x, p.tags.len, e);
    if (st == ST_OK) {
        if (x->value.size > 0) {
            st = histogram_codec_check(&w->a->histograms, x->id, e);
            if (st == ST_OK)
                st = histogram_parse_base64(put_json_text(x->value, &text),
                                            w->arena, &p.histogram, e);
        } else {
            st = histogram_simple_check(&w->a->histograms, e);
            if (st == ST_OK)
                st = take_buckets(x, w->arena, &p.histogram, e);
        }
        st = st == ST_CORRUPT ? error_set(e, ST_INVALID, "Unexpected exception")
                              : st;
    }
    if (st == ST_OK)
        st = histogram_writer_add(w, &p, e);
    buf_fini(&text);
    return st;
}

enum status
histogram_writer_flush(struct histogram_writer *w, struct error *e)
{
    enum status st = ST_OK;
    uint64_t lsn = 0;

    if (kv_batch_len(w->batch) > 0)
        st = store_write(w->a->store, w->batch, &lsn, e);
    if (st == ST_OK)
        counter_add(CNT_POINTS_ADDED, kv_batch_len(w->batch));
    kv_batch_clear(w->batch);
    if (lsn > w->lsn)
        w->lsn = lsn;
    return st;
}
