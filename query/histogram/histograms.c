#include "query/histogram/histograms.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/text/number.h"
#include "query/answer/group.h"
#include "query/downsample/downsample.h"
#include "storage/histogram/histogram.h"
#include "storage/histogram/histogram_table.h"

#define BETWEEN_CHECKS 256
#define ITEM_STEPS     64 /* of the deadline, to add a histogram */

/* One series' or one group's, ascending by time. */
struct item {
    int64_t ms;
    size_t order; /* among items of the same time */
    struct histogram h;
};

struct items {
    struct item *v;
    size_t len, cap;
};

struct run {
    const struct histograms_job *job;
    struct kv_iter *it;
    struct window window;
    struct fetch fetch;   /* the series, without points: for grouping */
    struct items *series; /* of each */
    size_t cap;
    size_t seen; /* series and histograms */
    struct deadline deadline;
    enum status status; /* of series_each() */
    uint64_t points;
    struct kv_iter_counts counts;
    struct names names;
    struct result_group *groups; /* of the answer */
    size_t groups_len, groups_cap;
    struct error *e;
};

/* -- reading --------------------------------------------------------------- */

static enum status
check_limits(struct run *r)
{
    return ++r->seen % BETWEEN_CHECKS == 0
               ? fetch_check_limits(r->job->limits, r->e)
               : ST_OK;
}

static enum status
add_histogram(void *ctx, int64_t ms, uint8_t codec, struct slice bytes,
              struct error *e)
{
    struct run *r = ctx;
    const struct histograms_job *job = r->job;
    struct items *items = &r->series[r->fetch.len];
    enum status st;

    if (codec != job->codec)
        return error_set(e, ST_INVALID, "No codec found mapped to ID %u",
                         codec);
    r->points++;
    fetch_limits_add(job->limits, 1, bytes.size);
    st = check_limits(r);
    if (st != ST_OK)
        return st;
    items->v = arena_grow(job->arena, items->v, items->len, &items->cap,
                          sizeof *items->v);
    if (items->v == NULL)
        return error_no_memory(e);
    items->v[items->len] = (struct item){ .ms = ms };
    return histogram_decode(bytes, job->arena, &items->v[items->len++].h, e);
}

/* A series without histograms is none of the answer's. */
static enum status
read_series(struct run *r, struct slice tsuid)
{
    const struct plan *p = r->job->plan;
    struct arena *a = r->job->arena;
    struct fetch *f = &r->fetch;
    size_t cap = r->cap;
    struct fetched *one = arena_array(a, 1, sizeof *one);
    enum status st = check_limits(r);

    if (st != ST_OK)
        return st;
    f->series =
        arena_grow(a, f->series, f->len, &cap, sizeof(struct fetched *));
    r->series = arena_grow(a, r->series, f->len, &r->cap, sizeof *r->series);
    if (one == NULL || f->series == NULL || r->series == NULL)
        return error_no_memory(r->e);
    r->series[f->len] = (struct items){ 0 };
    st = histogram_each(r->it, tsuid, (int64_t)p->from_base * 1000,
                        (int64_t)p->to_base * 1000 + HOUR_MS - 1, add_histogram,
                        r, r->e);
    if (st != ST_OK || r->series[f->len].len == 0)
        return st;
    one->tsuid = tsuid;
    one->place = f->len;
    f->series[f->len++] = one;
    return arena_keep(a, &one->tsuid) ? ST_OK : error_no_memory(r->e);
}

/* -- which series ---------------------------------------------------------- */

static bool
visit_series(void *ctx, struct slice tsuid)
{
    struct run *r = ctx;

    r->status = check_limits(r);
    if (r->status != ST_OK)
        return false;
    if (plan_reads_series(r->job->plan, store_layout(r->job->context->store),
                          tsuid))
        r->status = read_series(r, tsuid);
    return r->status == ST_OK;
}

static enum status
read_all(struct run *r)
{
    const struct plan_context *c = r->job->context;
    const struct plan *p = r->job->plan;
    struct slice *all = p->listed ? plan_series(p, r->job->arena) : NULL;
    enum status st = fetch_check_limits(r->job->limits, r->e);

    if (st != ST_OK)
        return st;
    if (p->listed && all == NULL)
        return error_no_memory(r->e);
    r->it = kv_iter_open(store_kv(c->store), KEY_TABLE(TABLE_HISTOGRAMS));
    if (p->listed) { /* by bucket; they ascend over all buckets */
        qsort(all, p->matches, sizeof *all, slice_compare);
        for (size_t i = 0; i < p->matches && st == ST_OK; i++)
            st = read_series(r, all[i]);
    } else {
        st = series_each(c->series, p->metric, NULL, visit_series, r, r->e);
    }
    if (st == ST_OK)
        st = r->status;
    r->counts = kv_iter_counts(r->it);
    return kv_iter_end(&r->it, st, r->e);
}

/* -- sums ------------------------------------------------------------------ */

static int
compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Items of one time become one, in place. */
static enum status
sum_equal(const struct run *r, struct items *items)
{
    size_t kept = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < items->len && st == ST_OK; i++) {
        if (kept > 0 && items->v[kept - 1].ms == items->v[i].ms)
            st = histogram_add(&items->v[kept - 1].h, &items->v[i].h,
                               r->job->arena, r->e);
        else
            items->v[kept++] = items->v[i];
    }
    items->len = kept;
    return st;
}

/* Gives each item the time of its bucket.  One bucket for all lies at time 0,
 * which no request asks for: OpenTSDB makes it without having set its end.  It
 * still says which buckets there are. */
static enum status
downsample(const struct run *r, struct items *items)
{
    const struct downsample *d = &r->job->sq->downsample;
    size_t len = items->len, from = 0, end = len;
    int64_t *ts, *starts;

    if (!d->on)
        return ST_OK;
    ts = arena_array(r->job->arena, len, 2 * sizeof *ts);
    if (ts == NULL)
        return error_no_memory(r->e);
    starts = ts + len;
    for (size_t i = 0; i < len; i++)
        ts[i] = items->v[i].ms;
    if (!d->all)
        from =
            downsample_starts(&r->job->reading->buckets, ts, len, starts, &end);
    items->len = 0;
    for (size_t i = from; i < end; i++) {
        if (d->all && (ts[i] < r->window.start_ms || ts[i] >= r->window.end_ms))
            continue;
        items->v[items->len] = items->v[i];
        items->v[items->len++].ms = d->all ? 0 : starts[i];
    }
    return sum_equal(r, items);
}

/* The sums of a group's series, time by time. */
static enum status
sum_group(struct run *r, const struct grouping *g, const struct group *gr,
          struct items *out)
{
    enum status st = ST_OK;

    *out = (struct items){ 0 };
    for (size_t k = 0; k < gr->len && st == ST_OK; k++) {
        struct items *items = &r->series[g->order[gr->first + k]->place];

        st = downsample(r, items);
        if (st == ST_OK)
            st = deadline_tick(&r->deadline, items->len * ITEM_STEPS + 1, r->e);
        for (size_t i = 0; i < items->len && st == ST_OK; i++) {
            out->v = arena_grow(r->job->arena, out->v, out->len, &out->cap,
                                sizeof *out->v);
            if (out->v == NULL)
                return error_no_memory(r->e);
            items->v[i].order = out->len;
            out->v[out->len++] = items->v[i];
        }
    }
    if (out->len > 0)
        qsort(out->v, out->len, sizeof *out->v, compare_items);
    return st == ST_OK ? sum_equal(r, out) : st;
}

/* -- answers --------------------------------------------------------------- */

/* What one answered series shows of each time. */
struct view {
    enum { VIEW_PERCENTILE, VIEW_BUCKET, VIEW_UNDERFLOW, VIEW_OVERFLOW } what;
    float percentile;
    struct histogram_bucket bucket;
};

static union number
value_of(const struct view *v, const struct histogram *h)
{
    if (v->what == VIEW_PERCENTILE)
        return (union number){ .d = histogram_percentile(
                                   h, (double)v->percentile) };
    if (v->what == VIEW_BUCKET)
        return (union number){ .i = histogram_count(h, &v->bucket) };
    return (union number){ .i = v->what == VIEW_UNDERFLOW ? h->underflow
                                                          : h->overflow };
}

static enum status
add_view(struct run *r, const struct result_group *described,
         const struct items *items, const struct view *v)
{
    struct arena *a = r->job->arena;
    struct buf name = BUF_INIT;
    struct slice metric;
    struct dps d;
    bool room = dps_alloc(a, items->len, &d);
    enum status st = fetch_check_limits(r->job->limits, r->e);
    static const char *const before[] = { "_pct_", "_", "_UNDERFLOW",
                                          "_OVERFLOW" };
    char text[NUMBER_TEXT_MAX];

    d.len = 0;
    r->groups = arena_grow(a, r->groups, r->groups_len, &r->groups_cap,
                           sizeof *r->groups);
    buf_put_slice(&name, described->metric);
    buf_put_str(&name, before[v->what]);
    if (v->what == VIEW_PERCENTILE) {
        buf_put(&name, text, number_format_float(v->percentile, text));
    } else if (v->what == VIEW_BUCKET) {
        buf_put(&name, text, number_format_float(v->bucket.low, text));
        buf_put_u8(&name, '_');
        buf_put(&name, text, number_format_float(v->bucket.high, text));
    }
    metric = arena_take(a, &name);
    if (st == ST_OK && (!room || r->groups == NULL || metric.data == NULL))
        st = error_no_memory(r->e);
    for (size_t i = 0; i < items->len && st == ST_OK; i++) {
        const struct item *item = &items->v[i];

        if (item->ms < r->window.start_ms || item->ms > r->window.end_ms)
            continue;
        d.ts_ms[d.len] = item->ms;
        d.v[d.len] = value_of(v, &item->h);
        d.kind[d.len++] = v->what == VIEW_PERCENTILE ? DP_DOUBLE : DP_INT;
    }
    if (st != ST_OK)
        return st;
    r->groups[r->groups_len] = *described;
    r->groups[r->groups_len].metric = metric;
    r->groups[r->groups_len++].dps = d;
    return ST_OK;
}

static enum status
answer_group(struct run *r, const struct grouping *g, size_t i)
{
    const struct sub_query *sq = r->job->sq;
    struct result_group described = { .sub = sq };
    struct view v = { .what = VIEW_PERCENTILE };
    const struct histogram *first;
    struct items items = { 0 };
    enum status st =
        group_describe(store_layout(r->job->context->store), &r->names, g, i,
                       true, r->job->arena, &described, r->e);

    if (st == ST_OK)
        st = sum_group(r, g, &g->groups[i], &items);
    for (size_t k = 0; k < sq->percentiles_len && st == ST_OK; k++) {
        v.percentile = (float)sq->percentiles[k];
        st = add_view(r, &described, &items, &v);
    }
    if (st != ST_OK || !sq->show_histogram_buckets || items.len == 0)
        return st;
    first = &items.v[0].h;
    v.what = VIEW_UNDERFLOW;
    st = add_view(r, &described, &items, &v);
    v.what = VIEW_BUCKET;
    for (size_t k = 0; k < first->len && st == ST_OK; k++) {
        v.bucket = first->buckets[k];
        st = add_view(r, &described, &items, &v);
    }
    v.what = VIEW_OVERFLOW;
    return st == ST_OK ? add_view(r, &described, &items, &v) : st;
}

enum status
histograms_run(const struct histograms_job *job, struct result_group **groups,
               size_t *len, struct result_stats *stats, struct error *e)
{
    struct run r = { .job = job,
                     .window = job->reading->window,
                     .deadline = job->limits->deadline,
                     .e = e };
    struct grouping g;
    enum status st = read_all(&r);

    if (st == ST_OK)
        st = group_series(job->context, job->plan,
                          job->sq->aggregator->kind == KIND_NONE, &r.fetch,
                          job->arena, &g, e);
    if (st != ST_OK)
        return st;
    stats->nameless += g.nameless;
    names_init(&r.names, job->context->uids, job->arena);
    for (size_t i = 0; i < g.groups_len && st == ST_OK; i++)
        st = answer_group(&r, &g, i);
    stats->series = r.fetch.len;
    stats->points = r.points;
    stats->scan.rows = r.points;
    stats->scan.keys = r.counts.steps;
    stats->scan.seeks = r.counts.seeks;
    stats->scan.bytes = r.counts.bytes;
    for (size_t i = 0; i < r.groups_len; i++)
        stats->points_out += r.groups[i].dps.len;
    *groups = r.groups;
    *len = r.groups_len;
    return st;
}
