/* /api/query/exp: parse, run the metrics, then the expressions; write. */
#include "tsd/api/api.h"

#include "query/exp/exp.h"
#include "tsd/api/query/exp_json.h"
#include "tsd/api/query/serve.h"

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
