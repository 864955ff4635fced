/* Histograms of the line protocol: see tsd/api/put/histogram_put.h.  OpenTSDB
 * says nothing when buckets are malformed, so we say nothing either, and count.
 */
#include "base/peer.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/put/put.h"
#include "tsd/put/put_tags.h"
#include "tsd/put/put_value.h"

/* What a line is rejected with. */
struct line_rejection {
    const char *kind; /* NULL: silently */
    enum put_fault fault;
    struct buf why;
};

static bool
line_reject(struct line_rejection *r, const char *kind, enum put_fault fault,
            const char *why)
{
    r->kind = kind;
    r->fault = fault;
    buf_put_str(&r->why, why);
    return false;
}

static bool
line_reject_argument(struct line_rejection *r, const char *why)
{
    return line_reject(r, "illegal argument", PUT_BAD_ARGUMENT, why);
}

static bool
line_reject_status(struct line_rejection *r, enum status st,
                   const struct error *e)
{
    enum put_fault fault = put_fault_of(st);

    return line_reject(r,
                       fault == PUT_STORAGE ? "storage error" : "HBase error",
                       fault, e->text);
}

struct line {
    struct slice metric, value;
    int64_t time;
    bool has_id; /* the value is a codec's bytes in base64 */
    int64_t id;
    struct put_tags tags;
};

static bool
parse_tags(const struct telnet_call *call, size_t from, struct line *out,
           struct line_rejection *r)
{
    for (size_t i = from; i < call->words_len; i++)
        if (call->words[i].size > 0 &&
            !put_tags_parse(&out->tags, call->words[i], &r->why))
            return line_reject_argument(r, "");
    return true;
}

static bool
parse_words(const struct api *a, const struct telnet_call *call,
            struct line *out, struct line_rejection *r)
{
    struct error e;

    if (!a->histograms.on)
        return line_reject_argument(r, HISTOGRAMS_ARE_OFF);
    if (call->words_len < 5) {
        buf_printf(&r->why, "not enough arguments (need least 5, got %zu)",
                   call->words_len - 1);
        return line_reject_argument(r, "");
    }
    out->metric = call->words[1];
    if (out->metric.size == 0)
        return line_reject_argument(r, "empty metric name");
    if (!put_parse_time(call->words[2], &out->time, &r->why))
        return line_reject(r, "invalid value", PUT_BAD_VALUE, "");
    if (out->time <= 0) {
        buf_printf(&r->why, "invalid timestamp: %lld", (long long)out->time);
        return line_reject_argument(r, "");
    }
    out->has_id = api_parse_int(call->words[3], &out->id);
    out->value = call->words[out->has_id ? 4 : 3];
    if (!out->has_id && histogram_simple_check(&a->histograms, &e) != ST_OK)
        return line_reject_argument(r, e.text);
    if (out->value.size == 0)
        return line_reject_argument(r, "empty histogram value");
    return parse_tags(call, out->has_id ? 5 : 4, out, r);
}

static bool
parse_value(const struct histogram_writer *w, const struct line *line,
            struct histogram *out, struct line_rejection *r)
{
    struct error e;
    enum status st;

    if (!line->has_id) {
        st = histogram_parse_line(line->value, w->arena, out, &e);
        return st == ST_OK || line_reject(r, NULL, PUT_BAD_ARGUMENT, e.text);
    }
    st = histogram_codec_check(&w->a->histograms, line->id, &e);
    if (st == ST_OK)
        st = histogram_parse_base64(line->value, w->arena, out, &e);
    return st == ST_OK ||
           line_reject_status(r, st == ST_CORRUPT ? ST_INVALID : st, &e);
}

static bool
line_store(struct histogram_writer *w, const struct line *line,
           const struct histogram *h, struct line_rejection *r)
{
    struct histogram_point p = { .metric = line->metric,
                                 .tags = line->tags.tags,
                                 .tags_len = line->tags.len,
                                 .time = line->time,
                                 .histogram = *h };
    struct error e;
    enum status st;

    st = histogram_writer_add(w, &p, &e);
    if (st == ST_OK)
        st = histogram_writer_flush(w, &e);
    return st == ST_OK || line_reject_status(r, st, &e);
}

void
telnet_histogram(void *ctx, struct telnet_call *call)
{
    const struct api *a = ctx;
    struct line_rejection r = { .kind = NULL };
    struct line line = { .time = 0 };
    struct histogram_writer w;
    struct histogram h;
    char peer[PEER_NAME_SIZE];

    histogram_writer_init(&w, a);
    if (!parse_words(a, call, &line, &r) || !parse_value(&w, &line, &h, &r) ||
        !line_store(&w, &line, &h, &r)) {
        peer_name(call->peer, peer, sizeof peer);
        put_path_rejected(a->put, r.fault, peer, line.metric,
                          buf_slice(&r.why));
        if (r.kind != NULL &&
            settings_bool(a->settings, "tsd.rpc.telnet.return_errors"))
            buf_printf(call->out, "histogram: %s: %s\n", r.kind,
                       buf_cstr(&r.why));
    }
    call->lsn = w.lsn;
    histogram_writer_fini(&w);
    buf_fini(&r.why);
}
