/* Histograms of the line protocol: see tsd/api/put/histogram_put.h.  OpenTSDB
 * says nothing when buckets are malformed, so we say nothing either, and count.
 */
#include "base/address.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/put/put_value.h"

/* What a line says, and what it is rejected with. */
struct line {
    struct histogram_writer w;
    struct histogram_point p;
    struct slice value;
    bool has_id; /* the value is a codec's bytes in base64 */
    int64_t id;
    const char *kind; /* NULL: silently */
    enum put_fault fault;
    struct buf why;
};

#define LINE_REJECT(l, kind_, fault_, ...)       \
    ((l)->kind = (kind_), (l)->fault = (fault_), \
     buf_printf(&(l)->why, __VA_ARGS__), false)
#define LINE_REJECT_ARGUMENT(l, ...) \
    LINE_REJECT(l, "illegal argument", PUT_BAD_ARGUMENT, __VA_ARGS__)

static bool
is_time(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] != '.' && (word.data[i] < '0' || word.data[i] > '9'))
            return false;
    return word.size > 0;
}

/* Drops the empty words between doubled blanks, unless the metric or the time
 * seems to be missing. */
static void
join_blanks(struct telnet_call *call)
{
    size_t len = 0, second = 0;

    for (size_t i = 1; i < call->words_len && len < 2; i++)
        if (call->words[i].size > 0 && ++len == 2)
            second = i;
    if (len < 2 || !is_time(call->words[second]))
        return;
    len = 1;
    for (size_t i = 1; i < call->words_len; i++)
        if (call->words[i].size > 0)
            call->words[len++] = call->words[i];
    call->words_len = len;
}

static bool
parse_words(const struct telnet_call *call, struct line *l)
{
    const struct histogram_codecs *codecs = &l->w.a->histograms;
    const struct slice *words = call->words;
    struct error e;

    if (!codecs->on)
        return LINE_REJECT_ARGUMENT(l, HISTOGRAMS_ARE_OFF);
    if (call->words_len < 5)
        return LINE_REJECT_ARGUMENT(
            l, "not enough arguments (need least 5, got %zu)",
            call->words_len - 1);
    l->p.metric = words[1];
    if (l->p.metric.size == 0)
        return LINE_REJECT_ARGUMENT(l, "empty metric name");
    if (!put_parse_time(words[2], &l->p.time, &l->why))
        return LINE_REJECT(l, "invalid value", PUT_BAD_VALUE, "%s", "");
    if (l->p.time <= 0)
        return LINE_REJECT_ARGUMENT(l, "invalid timestamp: %lld",
                                    (long long)l->p.time);
    l->has_id = api_parse_int(words[3], &l->id);
    l->value = words[l->has_id ? 4 : 3];
    if (!l->has_id && histogram_simple_check(codecs, &e) != ST_OK)
        return LINE_REJECT_ARGUMENT(l, "%s", e.text);
    if (l->value.size == 0)
        return LINE_REJECT_ARGUMENT(l, "empty histogram value");
    for (size_t i = l->has_id ? 5 : 4; i < call->words_len; i++)
        if (words[i].size > 0 && !put_tags_parse(&l->p.tags, words[i], &l->why))
            return LINE_REJECT_ARGUMENT(l, "%s", "");
    return true;
}

/* Parses the value and stores it. */
static bool
line_store(struct line *l)
{
    struct histogram_writer *w = &l->w;
    struct histogram *h = &l->p.histogram;
    struct error e;
    enum status st;
    enum put_fault fault;

    if (!l->has_id && histogram_parse_line(l->value, w->arena, h, &e) != ST_OK)
        return LINE_REJECT(l, NULL, PUT_BAD_ARGUMENT, "%s", e.text);
    st =
        l->has_id ? histogram_codec_check(&w->a->histograms, l->id, &e) : ST_OK;
    if (st == ST_OK && l->has_id)
        st = histogram_parse_base64(l->value, w->arena, h, &e);
    if (st == ST_OK)
        st = histogram_writer_add(w, &l->p, &e);
    if (st == ST_OK)
        st = histogram_writer_flush(w, &e);
    fault = st == ST_CORRUPT ? PUT_BAD_ARGUMENT : put_fault_of(st);
    return st == ST_OK ||
           LINE_REJECT(l,
                       fault == PUT_STORAGE ? "storage error" : "HBase error",
                       fault, "%s", e.text);
}

void
telnet_histogram(void *ctx, struct telnet_call *call)
{
    const struct api *a = ctx;
    struct line l = { .kind = NULL };
    char peer[ADDRESS_NAME_SIZE];

    histogram_writer_init(&l.w, a);
    join_blanks(call);
    if (!parse_words(call, &l) || !line_store(&l)) {
        address_name(call->peer, peer, sizeof peer);
        put_path_rejected(a->put, l.fault, peer, l.p.metric, buf_slice(&l.why));
        if (l.kind != NULL && a->settings->rpc_telnet_return_errors)
            buf_printf(call->out, "histogram: %s: %s\n", l.kind,
                       buf_cstr(&l.why));
    }
    call->lsn = l.w.lsn;
    histogram_writer_fini(&l.w);
    buf_fini(&l.why);
}
