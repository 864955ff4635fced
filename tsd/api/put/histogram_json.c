/* Histograms of JSON bodies: see tsd/api/put/histogram_put.h.  The texts of
 * the failures are OpenTSDB's. */
#include "tsd/api/put/histogram_put.h"

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
