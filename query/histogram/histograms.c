/* See query/histogram/histograms.h. */
#include "config.h"

#include "query/histogram/histograms.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/text/number.h"
#include "query/answer/group.h"
#include "query/aggregate/aggregate.h"
#include "storage/histogram/histogram.h"
#include "storage/histogram/histogram_table.h"

#define BETWEEN_CHECKS 256

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
    uint64_t points;
    struct kv_iter_counts counts;
    struct names names;
    struct error *e;
};

bool
histograms_wanted(const struct sub_query *sq)
{
    return sq->percentiles_len > 0 || sq->show_histogram_buckets;
}

/* -- reading --------------------------------------------------------------- */

static enum status
add_histogram(void *ctx, int64_t ms, uint8_t codec, struct slice bytes,
              struct error *e)
{
    struct run *r = ctx;
    const struct histograms_job *job = r->job;
    struct items *items = &r->series[r->fetch.len];
    enum status st = ST_OK;

    if (codec != job->codec)
        return error_set(e, ST_INVALID, "No codec found mapped to ID %u",
                         codec);
    r->points++;
    fetch_limits_add(job->limits, 1, bytes.size, FETCH_POINT_BYTES);
    if (++r->seen % BETWEEN_CHECKS == 0)
        st = fetch_check_limits(job->limits, e);
    if (st != ST_OK)
        return st;
    items->v = arena_grow(job->arena, items->v, items->len, &items->cap,
                          sizeof *items->v);
    if (items->v == NULL)
        return query_no_memory(e);
    items->v[items->len] = (struct item){ .ms = ms };
    return histogram_decode(bytes, job->arena, &items->v[items->len++].h, e);
}

/* Makes room for one series more. */
static bool
reserve_series(struct run *r)
{
    size_t cap = r->cap;

    r->fetch.series = arena_grow(r->job->arena, r->fetch.series, r->fetch.len,
                                 &cap, sizeof *r->fetch.series);
    r->series = arena_grow(r->job->arena, r->series, r->fetch.len, &r->cap,
                           sizeof *r->series);
    return r->fetch.series != NULL && r->series != NULL;
}

/* A series without histograms is none of the answer's. */
static enum status
read_series(struct run *r, struct slice tsuid)
{
    const struct plan *p = r->job->plan;
    struct items *items;
    enum status st;
    char *copy;

    if (!reserve_series(r))
        return query_no_memory(r->e);
    items = &r->series[r->fetch.len];
    *items = (struct items){ 0 };
    st = histogram_each(r->it, tsuid, (int64_t)p->from_base * 1000,
                        (int64_t)p->to_base * 1000 + HOUR_MS - 1, add_histogram,
                        r, r->e);
    if (st != ST_OK || items->len == 0)
        return st;
    copy = arena_strdup(r->job->arena, tsuid);
    if (copy == NULL)
        return query_no_memory(r->e);
    r->fetch.series[r->fetch.len++] =
        (struct fetched){ .tsuid = slice_of(copy, tsuid.size) };
    return ST_OK;
}

/* -- which series ---------------------------------------------------------- */

struct listing {
    struct run *run;
    enum status status;
};

static bool
visit_series(void *ctx, struct slice tsuid)
{
    struct listing *l = ctx;
    const struct histograms_job *job = l->run->job;

    if (!plan_reads_series(job->plan, store_layout(job->context->store), tsuid))
        return true;
    l->status = read_series(l->run, tsuid);
    if (l->status == ST_OK && ++l->run->seen % BETWEEN_CHECKS == 0)
        l->status = fetch_check_limits(job->limits, l->run->e);
    return l->status == ST_OK;
}

/* Those that the plan has listed, by bucket, ascending over all. */
static enum status
read_listed(struct run *r)
{
    const struct plan *p = r->job->plan;
    struct slice *all;
    size_t len = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < p->buckets_len; i++)
        len += p->buckets[i].series_len;
    all = arena_array(r->job->arena, len, sizeof *all);
    if (all == NULL)
        return query_no_memory(r->e);
    len = 0;
    for (size_t i = 0; i < p->buckets_len; i++)
        for (size_t k = 0; k < p->buckets[i].series_len; k++)
            all[len++] = p->buckets[i].series[k];
    qsort(all, len, sizeof *all, slice_compare);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        st = read_series(r, all[i]);
        if (st == ST_OK && ++r->seen % BETWEEN_CHECKS == 0)
            st = fetch_check_limits(r->job->limits, r->e);
    }
    return st;
}

static enum status
read_all(struct run *r)
{
    const struct histograms_job *job = r->job;
    struct listing l = { r, ST_OK };
    enum status st, closed;

    st = fetch_check_limits(job->limits, r->e);
    if (st != ST_OK)
        return st;
    r->it = kv_iter_open(store_kv(job->context->store),
                         KEY_TABLE(TABLE_HISTOGRAMS));
    if (job->plan->listed) {
        st = read_listed(r);
    } else {
        st = series_each(job->context->series, job->plan->metric, NULL,
                         visit_series, &l, r->e);
        if (st == ST_OK)
            st = l.status;
    }
    r->counts = kv_iter_counts(r->it);
    closed = kv_iter_close(&r->it, st == ST_OK ? r->e : NULL);
    return st != ST_OK ? st : closed;
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

/* One bucket for all lies at time 0, which no request asks for: OpenTSDB makes
 * it without having set its end.  It still says which buckets there are. */
static void
keep_all(const struct run *r, struct items *items)
{
    size_t kept = 0;

    for (size_t i = 0; i < items->len; i++) {
        struct item item = items->v[i];

        if (item.ms < r->window.start_ms || item.ms >= r->window.end_ms)
            continue;
        item.ms = 0;
        items->v[kept++] = item;
    }
    items->len = kept;
}

static enum status
sum_buckets(const struct run *r, struct items *items)
{
    int64_t *ts = arena_array(r->job->arena, items->len, 2 * sizeof *ts);
    int64_t *starts;
    size_t from, len = items->len;

    if (ts == NULL)
        return query_no_memory(r->e);
    starts = ts + len;
    for (size_t i = 0; i < len; i++)
        ts[i] = items->v[i].ms;
    from =
        downsample_starts(&r->job->sq->downsample, &r->window, ts, len, starts);
    for (size_t i = from; i < len; i++) {
        items->v[i - from] = items->v[i];
        items->v[i - from].ms = starts[i];
    }
    items->len = len - from;
    return ST_OK;
}

static enum status
downsample(const struct run *r, struct items *items)
{
    const struct downsample *d = &r->job->sq->downsample;
    enum status st = ST_OK;

    if (!d->on)
        return ST_OK;
    if (d->all)
        keep_all(r, items);
    else
        st = sum_buckets(r, items);
    return st == ST_OK ? sum_equal(r, items) : st;
}

/* The sums of a group's series, moment by moment. */
static enum status
sum_group(const struct run *r, const struct grouping *g, const struct group *gr,
          struct items *out)
{
    enum status st = ST_OK;
    size_t total = 0;

    *out = (struct items){ 0 };
    for (size_t k = 0; k < gr->len && st == ST_OK; k++) {
        struct items *items =
            &r->series[g->order[gr->first + k] - r->fetch.series];

        st = downsample(r, items);
        total += items->len;
    }
    if (st != ST_OK)
        return st;
    out->v = arena_array(r->job->arena, total, sizeof *out->v);
    if (out->v == NULL)
        return query_no_memory(r->e);
    for (size_t k = 0; k < gr->len; k++) {
        const struct items *items =
            &r->series[g->order[gr->first + k] - r->fetch.series];

        for (size_t i = 0; i < items->len; i++) {
            out->v[out->len] = items->v[i];
            out->v[out->len].order = out->len;
            out->len++;
        }
    }
    if (gr->len > 1)
        qsort(out->v, out->len, sizeof *out->v, compare_items);
    return sum_equal(r, out);
}

/* -- answers --------------------------------------------------------------- */

/* What one answered series shows of each moment. */
struct view {
    enum { VIEW_PERCENTILE, VIEW_BUCKET, VIEW_UNDERFLOW, VIEW_OVERFLOW } what;
    float percentile;
    struct histogram_bucket bucket;
};

static void
put_suffix(const struct view *v, struct buf *out)
{
    char text[NUMBER_TEXT_MAX];

    switch (v->what) {
    case VIEW_PERCENTILE:
        buf_put_str(out, "_pct_");
        buf_put(out, text, number_format_float(v->percentile, text));
        return;
    case VIEW_UNDERFLOW:
        buf_put_str(out, "_UNDERFLOW");
        return;
    case VIEW_OVERFLOW:
        buf_put_str(out, "_OVERFLOW");
        return;
    case VIEW_BUCKET:
        break;
    }
    buf_put_str(out, "_");
    buf_put(out, text, number_format_float(v->bucket.low, text));
    buf_put_str(out, "_");
    buf_put(out, text, number_format_float(v->bucket.high, text));
}

static union number
value_of(const struct view *v, const struct histogram *h)
{
    union number n = { 0 };

    if (v->what == VIEW_PERCENTILE)
        n.d = histogram_percentile(h, (double)v->percentile);
    else if (v->what == VIEW_BUCKET)
        n.i = histogram_count(h, &v->bucket);
    else
        n.i = v->what == VIEW_UNDERFLOW ? h->underflow : h->overflow;
    return n;
}

static enum status
fill_view(const struct run *r, const struct items *items, const struct view *v,
          struct result_group *out)
{
    struct arena *a = r->job->arena;
    struct buf name = BUF_INIT;
    struct dps *d = &out->dps;
    char *copy;

    buf_put_slice(&name, out->metric);
    put_suffix(v, &name);
    copy = arena_strdup(a, buf_slice(&name));
    if (copy != NULL)
        out->metric = slice_of(copy, name.size);
    buf_fini(&name);
    d->ts_ms = arena_array(a, items->len, sizeof *d->ts_ms);
    d->v = arena_array(a, items->len, sizeof *d->v);
    d->kind = arena_array(a, items->len, sizeof *d->kind);
    if (copy == NULL || d->ts_ms == NULL || d->v == NULL || d->kind == NULL)
        return query_no_memory(r->e);
    for (size_t i = 0; i < items->len; i++) {
        const struct item *item = &items->v[i];

        if (item->ms < r->window.start_ms || item->ms > r->window.end_ms)
            continue;
        d->ts_ms[d->len] = item->ms;
        d->v[d->len] = value_of(v, &item->h);
        d->kind[d->len++] = v->what == VIEW_PERCENTILE ? DP_DOUBLE : DP_INT;
    }
    return ST_OK;
}

struct histogram_groups {
    struct result_group *groups;
    size_t len, cap;
};

static enum status
add_view(const struct run *r, const struct result_group *described,
         const struct items *items, const struct view *v,
         struct histogram_groups *out)
{
    enum status st = fetch_check_limits(r->job->limits, r->e);

    if (st != ST_OK)
        return st;
    out->groups = arena_grow(r->job->arena, out->groups, out->len, &out->cap,
                             sizeof *out->groups);
    if (out->groups == NULL)
        return query_no_memory(r->e);
    out->groups[out->len] = *described;
    return fill_view(r, items, v, &out->groups[out->len++]);
}

static enum status
add_buckets(const struct run *r, const struct result_group *described,
            const struct items *items, struct histogram_groups *out)
{
    const struct histogram *first = items->len == 0 ? NULL : &items->v[0].h;
    struct view v = { .what = VIEW_UNDERFLOW };
    enum status st;

    if (first == NULL)
        return ST_OK;
    st = add_view(r, described, items, &v, out);
    v.what = VIEW_BUCKET;
    for (size_t i = 0; i < first->len && st == ST_OK; i++) {
        v.bucket = first->buckets[i];
        st = add_view(r, described, items, &v, out);
    }
    v.what = VIEW_OVERFLOW;
    return st == ST_OK ? add_view(r, described, items, &v, out) : st;
}

static enum status
answer_group(struct run *r, const struct grouping *g, size_t i,
             struct histogram_groups *out)
{
    const struct sub_query *sq = r->job->sq;
    struct result_group described = { .sub = sq };
    struct items items;
    enum status st =
        group_describe(store_layout(r->job->context->store), &r->names, g, i,
                       true, r->job->arena, &described, r->e);

    if (st == ST_OK)
        st = sum_group(r, g, &g->groups[i], &items);
    for (size_t k = 0; k < sq->percentiles_len && st == ST_OK; k++) {
        const struct view v = { .what = VIEW_PERCENTILE,
                                .percentile = (float)sq->percentiles[k] };

        st = add_view(r, &described, &items, &v, out);
    }
    if (st == ST_OK && sq->show_histogram_buckets)
        st = add_buckets(r, &described, &items, out);
    return st;
}

enum status
histograms_run(const struct histograms_job *job, struct result_group **groups,
               size_t *len, struct result_stats *stats, struct error *e)
{
    struct run r = { .job = job,
                     .window = numbers_window(job->q, job->sq),
                     .e = e };
    struct histogram_groups out = { 0 };
    struct grouping g;
    enum status st = read_all(&r);

    if (st == ST_OK)
        st = group_series(store_layout(job->context->store), job->plan,
                          job->sq->aggregator->kind == KIND_NONE, &r.fetch,
                          job->arena, &g, e);
    if (st != ST_OK)
        return st;
    names_init(&r.names, job->context->uids, job->arena);
    for (size_t i = 0; i < g.groups_len && st == ST_OK; i++)
        st = answer_group(&r, &g, i, &out);
    names_fini(&r.names);
    stats->series = r.fetch.len;
    stats->points = r.points;
    stats->scan.rows = r.points;
    stats->scan.keys = r.counts.steps;
    stats->scan.seeks = r.counts.seeks;
    stats->scan.bytes = r.counts.bytes;
    for (size_t i = 0; i < out.len; i++)
        stats->points_out += out.groups[i].dps.len;
    *groups = out.groups;
    *len = out.len;
    return st;
}
