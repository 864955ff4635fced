/* /api/query/exp: parse, run the metrics, then the expressions; write. */
#include <math.h>
#include <stdlib.h>

#include "tsd/api/api.h"
#include "query/exp/exp.h"
#include "tsd/api/query/serve.h"
#include "base/text/number.h"
#include "tsd/api/query/query_json.h"
#include "web/json/json.h"

static void
put_double(struct buf *b, double v)
{
    char text[NUMBER_TEXT_MAX];
    size_t size = number_format_double(v, text);
    const char *quote = isfinite(v) ? "" : "\"";

    buf_put_str(b, quote);
    buf_put(b, text, size);
    buf_put_str(b, quote);
}

struct shown {
    size_t rows;
    int64_t first_ms, last_ms;
};

/* The metrics of the first series stand for all. */
static void
write_metrics(struct buf *b, const struct series_meta *m)
{
    struct slice names[EXP_IDS_MAX] = { { NULL, 0 } };
    size_t len = m->metrics_len < EXP_IDS_MAX ? m->metrics_len : EXP_IDS_MAX;

    for (size_t i = 0; i < len; i++)
        names[i] = m->metrics[i].name;
    qsort(names, len, sizeof *names, slice_compare);
    for (size_t i = 0; i < len; i++)
        json_put_item(b, names[i]);
}

static void
write_meta(struct buf *b, const struct exp_table *t)
{
    buf_put_str(b, ",\"meta\":[{\"index\":0,\"metrics\":[\"timestamp\"]}");
    for (size_t i = 0; i < t->list.len; i++) {
        const struct series_meta *m = &t->list.series[i].meta;

        buf_printf(b, ",{\"index\":%zu,\"metrics\":[", i + 1);
        write_metrics(b, &t->list.series[0].meta);
        buf_put_str(b, "],\"commonTags\":{");
        for (size_t k = 0; k < m->tags_len; k++)
            json_put_pair(b, m->tags[k].key.name, m->tags[k].value.name);
        buf_put_str(b, "},\"aggregatedTags\":[");
        for (size_t k = 0; k < m->aggregate_tags_len; k++)
            json_put_item(b, m->aggregate_tags[k].name);
        buf_put_str(b, "]}");
    }
    buf_put_u8(b, ']');
}

/* {"id":..,"alias":..,"dps":[[ms,v,v],..],"dpsMeta":{..},"meta":[..]}: the rows
 * of an expression that are in the range, or all rows of a metric.  Returns how
 * many rows it wrote. */
static size_t
exp_json_output(struct buf *b, const struct exp_query *q, struct slice id,
                struct slice alias, const struct exp_table *t)
{
    struct shown s;

    json_open(b, NULL, '{');
    json_put_text(b, "id", id);
    if (alias.data != NULL)
        json_put_text(b, "alias", alias);
    json_open(b, "dps", '[');
    /* The last time of an expression is told from the second row on, and that
     * of no rows of a metric is the largest there is: OpenTSDB's. */
    s = (struct shown){ 0, t->is_metric ? INT64_MAX : 0, 0 };
    for (size_t i = 0; i < t->rows && !b->failed; i++) {
        int64_t ts = t->ts_ms[i];
        char text[NUMBER_TEXT_MAX];

        if (!t->is_metric && (ts < q->q.start_ms || ts > q->q.end_ms))
            continue;
        json_open(b, NULL, '[');
        buf_put(b, text, number_format_i64(ts, text));
        for (size_t k = 0; k < t->list.len; k++) {
            json_next(b);
            put_double(b, t->list.series[k].dps.v[i].d);
        }
        buf_put_u8(b, ']');
        if (s.rows == 0)
            s.first_ms = ts;
        if (s.rows > 0 || t->is_metric)
            s.last_ms = ts;
        s.rows++;
    }
    buf_put_u8(b, ']');
    json_open(b, "dpsMeta", '{');
    json_put_int(b, "firstTimestamp", s.first_ms);
    json_put_int(b, "lastTimestamp", s.last_ms);
    json_put_int(b, "setCount", (int64_t)s.rows);
    json_put_int(b, "series", (int64_t)t->list.len);
    buf_put_u8(b, '}');
    if (t->list.len > 0)
        write_meta(b, t);
    buf_put_u8(b, '}');
    return s.rows;
}

static void
write_fill(struct buf *b, const struct exp_fill *f)
{
    buf_put_str(b, ",\"fillPolicy\":");
    if (!f->given) {
        buf_put_str(b, "null");
        return;
    }
    buf_printf(b, "{\"policy\":\"%s\",\"value\":", fill_policies[f->policy]);
    put_double(b, f->value);
    buf_put_u8(b, '}');
}

static void
write_filter(struct buf *b, const struct exp_filter *f)
{
    json_open(b, NULL, '{');
    json_put_text(b, "id", f->id);
    buf_put_str(b, f->tags != NULL ? ",\"tags\":[" : ",\"tags\":null");
    for (size_t i = 0; i < f->tags_len; i++) {
        const struct exp_filter_tag *t = &f->tags[i];

        query_json_filter(b, t->texts.tagk, t->texts.text, t->texts.group_by,
                          t->kind);
    }
    if (f->tags != NULL)
        buf_put_u8(b, ']');
    json_put_bool(b, "explicitTags", f->explicit_tags);
    buf_put_u8(b, '}');
}

static void
write_metric(struct buf *b, const struct exp_metric *m)
{
    json_open(b, NULL, '{');
    json_put_text(b, "metric", m->metric);
    json_put_text(b, "id", m->id);
    json_put_text(b, "filter", m->filter);
    json_put_text(b, "aggregator", m->aggregator);
    json_put_text(b, "timeOffset", m->time_offset);
    write_fill(b, &m->fill);
    buf_put_u8(b, '}');
}

static void
write_expression(struct buf *b, const struct exp_expression *x)
{
    json_open(b, NULL, '{');
    json_put_text(b, "id", x->id);
    json_put_text(b, "expr", x->expr);
    buf_printf(b, ",\"join\":{\"operator\":\"%s\"",
               x->intersection ? "intersection" : "union");
    json_put_bool(b, "useQueryTags", x->use_query_tags);
    json_put_bool(b, "includeAggTags", x->include_agg_tags);
    buf_put_u8(b, '}');
    write_fill(b, &x->fill);
    buf_put_u8(b, '}');
}

static void
write_output_id(struct buf *b, const struct exp_output *o)
{
    json_open(b, NULL, '{');
    json_put_text(b, "id", o->id);
    json_put_text(b, "alias", o->alias);
    buf_put_u8(b, '}');
}

/* One list of the query, or null; 'write' gets each element. */
#define WRITE_LIST(b, q, member, write)                       \
    if ((q)->member == NULL) {                                \
        json_put_text(b, #member, (struct slice){ NULL, 0 }); \
    } else {                                                  \
        json_open(b, #member, '[');                           \
        for (size_t i = 0; i < (q)->member##_len; i++)        \
            write(b, &(q)->member[i]);                        \
        buf_put_u8(b, ']');                                   \
    }

/* Writes the query, with what was left out filled in. */
static void
exp_json_query(struct buf *b, const struct exp_query *q)
{
    const struct exp_time *t;

    json_open(b, NULL, '{');
    json_put_text(b, "name", q->name);
    t = &q->time;
    json_open(b, "time", '{');
    json_put_text(b, "start", t->start);
    json_put_text(b, "end", t->end);
    json_put_text(b, "timezone", t->timezone);
    json_name(b, "downsampler");
    if (t->downsampler_given) {
        buf_put_u8(b, '{');
        json_put_text(b, "interval", t->interval);
        json_put_text(b, "aggregator", t->downsample_aggregator);
        write_fill(b, &t->downsample_fill);
        buf_put_u8(b, '}');
    } else {
        buf_put_str(b, "null");
    }
    json_put_text(b, "aggregator", t->aggregator);
    json_put_bool(b, "rate", t->rate);
    buf_put_u8(b, '}');
    WRITE_LIST(b, q, filters, write_filter)
    WRITE_LIST(b, q, metrics, write_metric)
    WRITE_LIST(b, q, expressions, write_expression)
    WRITE_LIST(b, q, outputs, write_output_id)
    buf_put_u8(b, '}');
}

/* A request being served. */
struct work {
    struct serving s;
    struct arena *arena;
    struct exp_query q;
};

static enum status
write_output(struct work *w, struct exp_plan *p, struct slice id,
             struct slice alias, struct error *e)
{
    struct buf *b = http_reply_body(w->s.out);
    struct exp_table t;
    bool found;
    enum status st = exp_run(p, id, &found, &t, e);

    if (st != ST_OK || !found)
        return st;
    w->s.points += exp_json_output(b, &w->q, id, alias, &t);
    return ST_OK;
}

/* Without a list all expressions are shown, or else all metrics. */
static enum status
write_outputs(struct work *w, struct exp_plan *p, struct error *e)
{
    const struct slice none = { NULL, 0 };
    const struct exp_query *q = &w->q;
    enum status st = ST_OK;

    for (size_t i = 0; i < q->outputs_len && st == ST_OK; i++)
        st = write_output(w, p, q->outputs[i].id, q->outputs[i].alias, e);
    if (q->outputs_len > 0)
        return st;
    for (size_t i = 0; i < q->expressions_len && st == ST_OK; i++)
        st = write_output(w, p, q->expressions[i].id, none, e);
    if (q->expressions_len > 0)
        return st;
    for (size_t i = 0; i < q->metrics_len && st == ST_OK; i++)
        st = write_output(w, p, q->metrics[i].id, none, e);
    return st;
}

static enum status
answer(struct work *w, struct parse_error *e)
{
    const struct api *a = w->s.a;
    struct buf *b = http_reply_body(w->s.out);
    struct exp_plan *p;
    enum status st = serve_run(&w->s, &w->q.q, NULL, e);

    if (st == ST_OK)
        st = exp_join(&w->q, &w->s.result, a->uids, w->arena, &p, &e->message);
    if (st != ST_OK)
        return st;
    b->max = a->answer_bytes;
    buf_put_str(b, "{\"outputs\":[");
    st = write_outputs(w, p, &e->message);
    buf_put_str(b, "],\"query\":");
    exp_json_query(b, &w->q);
    buf_put_u8(b, '}');
    return st == ST_OK ? serve_check_size(&w->s, &e->message) : st;
}

/* What fails while it runs is told twice. */
static enum status
run(void *ctx, struct parse_error *e)
{
    enum status st = answer(ctx, e);

    return st == ST_OK || e->details[0] != '\0' ? st : parse_fail_twice(e, st);
}

void
api_exp(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct work w = { .s = { .a = a, .r = r, .out = out },
                      .arena = http_arena(r) };
    const struct parse_options o = serve_options(a);
    struct parse_error e = { 0 };
    struct buf query = BUF_INIT;

    if (http_method(r) == HTTP_PUT) {
        http_reply_bad_method(out, r);
        return;
    }
    if (!api_may_delete(a, r, http_method(r) == HTTP_DELETE, out))
        return;
    if (exp_parse(http_body(r), &o, w.arena, &w.q, &e) == ST_OK) {
        exp_json_query(&query, &w.q);
        serve_query(&w.s, &query, run, &w);
    } else {
        (void)serve_reject(out, &e);
    }
    query_fini(&w.q.q);
}
