/* /api/query/exp: parse, run the metrics, then the expressions; write. */
#include "config.h"

#include "tsd/api/api.h"

#include "base/counters.h"
#include "base/log.h"
#include "query/exp/exp.h"
#include "tsd/api/query/exp_json.h"
#include "tsd/stats/queries.h"

/* A request being served. */
struct work {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena;
    struct exp_query q;
    struct query_result result;
    size_t outputs_written, rows;
};

/* An unknown name is the client's fault here: 400, not 404. */
static unsigned
reject(const struct work *w, const struct parse_error *e)
{
    const struct error *m = &e->message;
    unsigned status =
        m->status == ST_NOT_FOUND ? 400 : (unsigned)status_http(m->status);

    counter_add(status < 500 ? CNT_QUERY_INVALID : CNT_QUERY_EXCEPTIONS, 1);
    http_reply_error(w->out, status, m->text,
                     e->details[0] == '\0' ? NULL : e->details);
    return status;
}

static bool
is_gone(void *ctx)
{
    return http_is_cancelled(ctx);
}

static enum status
write_output(struct work *w, struct exp_plan *p, struct slice id,
             struct slice alias, struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    struct exp_table t;
    bool found;
    enum status st = exp_run(p, id, &found, &t, e);

    if (st != ST_OK || !found)
        return st;
    w->rows += exp_json_output(b, &w->q, id, alias, &t);
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
run(struct work *w, struct parse_error *e)
{
    struct buf *b = http_reply_body(w->out);
    /* The engine takes any pointer; is_gone() reads it. */
    void *gone_ctx = (void *)(uintptr_t)w->r;
    struct exp_plan *p;
    enum status st = engine_run(w->a->engine, &w->q.q, is_gone, gone_ctx, NULL,
                                w->arena, &w->result, e);

    if (st == ST_OK)
        st = exp_join(&w->q, &w->result, w->a->uids, w->arena, &p, &e->message);
    if (st != ST_OK)
        return st;
    b->max = w->a->answer_bytes;
    buf_put_str(b, "{\"outputs\":[");
    st = write_outputs(w, p, &e->message);
    buf_put_str(b, "],\"query\":");
    exp_json_query(b, &w->q);
    buf_put_u8(b, '}');
    if (st == ST_OK && b->failed)
        st = error_set(&e->message, ST_LIMIT,
                       "The answer is larger than %zu bytes. Please ask for "
                       "less time, fewer series or coarser points.",
                       w->a->answer_bytes);
    return st;
}

static void
serve(struct work *w)
{
    struct parse_error e = { 0 };
    struct buf query = BUF_INIT;
    struct query_entry *entry;
    unsigned status = 200;
    enum status st;

    exp_json_query(&query, &w->q);
    entry = api_begin_query(w->a, w->r, buf_slice(&query), &e.message);
    if (entry == NULL) {
        (void)snprintf(e.details, sizeof e.details, "%s", e.message.text);
        (void)reject(w, &e);
        buf_fini(&query);
        return;
    }
    st = run(w, &e);
    queries_add_costs(entry, w->result.stats, w->result.stats_len);
    if (st == ST_OK) {
        counter_add(CNT_QUERY_SUCCESS, 1);
    } else {
        /* What fails while it runs is told twice. */
        if (e.details[0] == '\0')
            (void)snprintf(e.details, sizeof e.details, "%s", e.message.text);
        status = reject(w, &e);
        log_debug("query", "%u %s: %s", status, e.message.text,
                  log_quote(buf_slice(&query)));
    }
    queries_end(w->a->queries, &entry, status,
                st == ST_OK ? NULL : e.message.text, w->rows,
                clock_now_ms(w->a->clock));
    buf_fini(&query);
}

void
api_exp(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct work w = { .a = ctx, .r = r, .out = out, .arena = http_arena(r) };
    const struct parse_options o = {
        .now_ms = clock_now_ms(w.a->clock),
        .default_zone = w.a->zone,
    };
    struct parse_error e = { 0 };

    if (http_method(r) == HTTP_PUT) {
        http_reply_bad_method(out, r);
        return;
    }
    if (!api_may_delete(w.a, r, http_method(r) == HTTP_DELETE, out))
        return;
    if (exp_parse(http_body(r), &o, w.arena, &w.q, &e) == ST_OK)
        serve(&w);
    else
        (void)reject(&w, &e);
    query_fini(&w.q.q);
}
