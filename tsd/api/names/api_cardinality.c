/* /api/cardinality: which metrics have the most series, and which tags of a
 * metric make them. */
#include "tsd/api/api.h"

#include "tsd/api/names/ranking.h"
#include "web/json/json.h"

struct work {
    const struct api *a;
    const struct http_request *r;
    struct arena *arena;
    struct buf *b;
    int64_t max;
    bool growth;
    struct series_tallies added; /* by metric, ascending */
};

/* Reads what came in the last 24 hours, where that is asked for. */
static enum status
read_growth(struct work *w, uint64_t metric, struct error *e)
{
    uint32_t now_s = clock_now_s(w->a->clock);

    if (!w->growth)
        return ST_OK;
    return series_added(
        w->a->series,
        &(struct series_tally_query){
            .metric = metric, .cancel = api_cancel(w->r), .arena = w->arena },
        now_s > DAY_S ? now_s - DAY_S : 0, &w->added, e);
}

static int
compare_ids(const void *a, const void *b)
{
    const struct series_tally *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static uint64_t
added_of(const struct work *w, uint64_t metric)
{
    const struct series_tally key = { metric, 0 }, *found;

    if (w->added.len == 0)
        return 0;
    found = bsearch(&key, w->added.all, w->added.len, sizeof key, compare_ids);
    return found == NULL ? 0 : found->series;
}

static void
put_added(const struct work *w)
{
    uint64_t added = 0;

    for (size_t i = 0; i < w->added.len; i++)
        added += w->added.all[i].series;
    if (w->growth)
        json_put_int(w->b, "new", (int64_t)added);
}

/* -- all metrics ----------------------------------------------------------- */

struct metrics {
    const struct work *w;
    struct ranking *top, *growing;
    size_t len;
};

static bool
add_metric(void *ctx, struct slice name, uint64_t id)
{
    struct metrics *m = ctx;
    uint64_t series = series_total_of(m->w->a->series, id);
    uint64_t added = added_of(m->w, id);

    ranking_add(m->top, name, series, added);
    if (added > 0)
        ranking_add(m->growing, name, series, added);
    return !m->top->no_memory && !m->growing->no_memory &&
           (++m->len % 1024 != 0 || !http_is_cancelled(m->w->r));
}

static enum status
write_metrics(struct work *w, struct error *e)
{
    struct metrics m = { .w = w,
                         .top = ranking_new(w->arena, slice_str(""), w->max),
                         .growing =
                             ranking_new(w->arena, slice_str(""), w->max) };
    enum status st;

    if (m.top == NULL || m.growing == NULL)
        return error_no_memory(e);
    m.growing->by_added = true;
    st = read_growth(w, 0, e);
    if (st == ST_OK)
        st = uid_suggest(w->a->uids, UID_METRIC, slice_str(""), 0, add_metric,
                         &m, e);
    if (st == ST_OK && (m.top->no_memory || m.growing->no_memory))
        st = error_no_memory(e);
    if (st != ST_OK)
        return st;
    buf_put_u8(w->b, '{');
    json_put_int(w->b, "series", (int64_t)series_total(w->a->series));
    put_added(w);
    json_put_int(w->b, "metrics", (int64_t)m.len);
    json_name(w->b, "top");
    ranking_write(m.top, w->growth, w->b);
    if (w->growth) {
        json_name(w->b, "growing");
        ranking_write(m.growing, true, w->b);
    }
    buf_put_u8(w->b, '}');
    return ST_OK;
}

/* -- one metric ------------------------------------------------------------ */

/* {"name":"host","series":..,"values":..,"top":[..]}; nothing for a key whose
 * name was deleted. */
static enum status
write_tagk(struct work *w, uint64_t metric, const struct series_tally *tagk,
           struct error *e)
{
    struct ranking *top = ranking_new(w->arena, slice_str(""), w->max);
    const struct series_tally_query q = { .metric = metric,
                                          .tagk = tagk->id,
                                          .cancel = api_cancel(w->r),
                                          .arena = w->arena };
    struct series_tallies values;
    struct slice name;
    enum status st =
        uid_name_dup(w->a->uids, UID_TAGK, tagk->id, w->arena, &name, e);

    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st == ST_OK && top == NULL)
        st = error_no_memory(e);
    if (st == ST_OK)
        st = series_tally(w->a->series, &q, &values, e);
    if (st == ST_OK)
        st = ranking_add_ids(top, w->a->uids, UID_TAGV, &values, q.cancel, e);
    if (st != ST_OK)
        return st;
    json_open(w->b, NULL, '{');
    json_put_text(w->b, "name", name);
    json_put_int(w->b, "series", (int64_t)tagk->series);
    json_put_int(w->b, "values", (int64_t)values.len);
    json_name(w->b, "top");
    ranking_write(top, false, w->b);
    buf_put_u8(w->b, '}');
    return ST_OK;
}

static enum status
write_metric(struct work *w, struct slice name, struct error *e)
{
    struct series_tally_query q = { .cancel = api_cancel(w->r),
                                    .arena = w->arena };
    struct series_tallies tagks;
    enum status st = uid_find(w->a->uids, UID_METRIC, name, &q.metric, e);

    if (st == ST_OK)
        st = read_growth(w, q.metric, e);
    if (st == ST_OK)
        st = series_tally(w->a->series, &q, &tagks, e);
    if (st != ST_OK)
        return st;
    buf_put_u8(w->b, '{');
    json_put_text(w->b, "metric", name);
    json_put_int(w->b, "series",
                 (int64_t)series_total_of(w->a->series, q.metric));
    put_added(w);
    json_open(w->b, "tags", '[');
    for (size_t i = 0; i < tagks.len && st == ST_OK; i++)
        st = write_tagk(w, q.metric, &tagks.all[i], e);
    buf_put_str(w->b, "]}");
    return st;
}

void
api_cardinality(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct work w = { .a = ctx,
                      .r = r,
                      .arena = http_arena(r),
                      .b = http_reply_body(out),
                      .growth = http_has_param(r, "growth") };
    struct slice max, metric;
    struct error e;
    enum status st;

    if (!api_is_current(ctx, out))
        return;
    if (http_param(r, "max", &max) && max.size > 0 &&
        !api_parse_int(max, &w.max)) {
        http_reply_error(out, 400, "Unable to parse 'max' as a number", NULL);
        return;
    }
    st = http_param(r, "metric", &metric) && metric.size > 0
             ? write_metric(&w, metric, &e)
             : write_metrics(&w, &e);
    if (st != ST_OK)
        http_reply_failure(out, &e);
}
