#include "tsd/api/graph/graph_chart.h"

#include <math.h>

#define PARTS_MAX 64 /* of a name that all series may have in common */

/* -- names ----------------------------------------------------------------- */

void
graph_name(struct buf *b, const struct result_group *g)
{
    buf_put_slice(b, g->metric);
    for (size_t i = 0; i < g->tags_len; i++) {
        buf_put_str(b, i == 0 ? "{" : ", ");
        buf_put_slice(b, g->tag_keys[i]);
        buf_put_u8(b, '=');
        buf_put_slice(b, g->tag_values[i]);
    }
    if (g->tags_len > 0)
        buf_put_u8(b, '}');
}

/* What all groups agree on: written once, in front of the key. */
struct common {
    bool metric;
    bool tags[PARTS_MAX]; /* of the first group */
    const struct result_group *first;
};

static bool
group_has_tag(const struct result_group *g, struct slice key,
              struct slice value)
{
    for (size_t i = 0; i < g->tags_len; i++)
        if (slice_eq(g->tag_keys[i], key))
            return slice_eq(g->tag_values[i], value);
    return false;
}

static struct common
find_common(const struct result_group *groups, size_t len)
{
    struct common c = { .metric = len > 1, .first = groups };

    for (size_t k = 0; len > 1 && k < groups->tags_len && k < PARTS_MAX; k++)
        c.tags[k] = true;
    for (size_t i = 1; i < len; i++) {
        c.metric &= slice_eq(groups[i].metric, groups->metric);
        for (size_t k = 0; k < groups->tags_len && k < PARTS_MAX; k++)
            c.tags[k] &= group_has_tag(&groups[i], groups->tag_keys[k],
                                       groups->tag_values[k]);
    }
    return c;
}

static bool
is_common_key(const struct common *c, struct slice key)
{
    for (size_t k = 0; k < c->first->tags_len && k < PARTS_MAX; k++)
        if (c->tags[k] && slice_eq(c->first->tag_keys[k], key))
            return true;
    return false;
}

/* The metric, and the tags that are ('common') or are not common. */
static void
put_name(struct buf *b, const struct common *c, const struct result_group *g,
         bool common)
{
    size_t n = 0;

    if (c->metric == common)
        buf_put_slice(b, g->metric);
    for (size_t i = 0; i < g->tags_len; i++) {
        if (is_common_key(c, g->tag_keys[i]) != common)
            continue;
        buf_put_str(b, n++ > 0 ? ", " : c->metric == common ? "{" : "");
        buf_put_slice(b, g->tag_keys[i]);
        buf_put_u8(b, '=');
        buf_put_slice(b, g->tag_values[i]);
    }
    if (n > 0 && c->metric == common)
        buf_put_u8(b, '}');
}

static const char *
series_name(const struct query *q, const struct common *c,
            const struct result_group *g, struct arena *a)
{
    struct buf b = BUF_INIT;

    if (q->subs_len > 1 && c->metric) {
        /* What distinguishes two sub-queries of one metric. */
        buf_put_slice(&b, g->sub->aggregator_name);
        if (g->sub->downsample.text.size > 0) {
            buf_put_u8(&b, ':');
            buf_put_slice(&b, g->sub->downsample.text);
        }
        if (g->sub->rate)
            buf_put_str(&b, ":rate");
    }
    if (b.size > 0 && g->tags_len > 0)
        buf_put_u8(&b, ' ');
    put_name(&b, c, g, false);
    if (b.size == 0)
        buf_put_slice(&b, g->metric);
    return (const char *)arena_take(a, &b).data;
}

/* -- points ---------------------------------------------------------------- */

static bool
copy_points(const struct query *q, const struct dps *dps,
            enum graph_smooth smooth, struct arena *a, struct chart_series *out)
{
    int64_t *ts_ms = arena_array(a, dps->len + 1, sizeof *ts_ms);
    double *v = arena_array(a, dps->len + 1, sizeof *v);
    size_t n = 0;

    if (ts_ms == NULL || v == NULL)
        return false;
    for (size_t i = 0; i < dps->len; i++) {
        if (dps->ts_ms[i] < q->start_ms || dps->ts_ms[i] > q->end_ms)
            continue;
        ts_ms[n] = dps->ts_ms[i];
        v[n++] = dps->kind[i] == DP_INT      ? (double)dps->v[i].i
                 : dps->kind[i] == DP_DOUBLE ? dps->v[i].d
                                             : NAN;
    }
    if (smooth == SMOOTH_UNIQUE) {
        size_t k = 0, count = 0;

        /* The mean of the points of each second. */
        for (size_t i = 0; i < n; i++) {
            bool same = k > 0 && ts_ms[k - 1] / 1000 == ts_ms[i] / 1000;

            count = same ? count + 1 : 1;
            k += !same;
            if (!same) {
                ts_ms[k - 1] = ts_ms[i];
                v[k - 1] = v[i];
            } else {
                v[k - 1] += (v[i] - v[k - 1]) / (double)count;
            }
        }
        n = k;
    } else if (smooth == SMOOTH_CUMULATIVE) {
        double sum = 0;

        for (size_t i = 0; i < n; i++) {
            sum += isfinite(v[i]) ? v[i] : 0;
            v[i] = isfinite(v[i]) ? sum : v[i];
        }
    }
    out->ts_ms = ts_ms;
    out->v = v;
    out->len = n;
    return true;
}

/* Will points still come into the last bucket? */
static bool
is_partial(const struct query *q, const struct result_group *g,
           const struct chart_series *s)
{
    const struct downsample *d = &g->sub->downsample;

    return d->on && !d->all && d->interval_ms > 0 && s->len > 0 &&
           s->ts_ms[s->len - 1] > q->now_ms - d->interval_ms;
}

enum status
graph_chart_make(const struct query *q, const struct query_result *result,
                 size_t most, struct arena *a, struct graph_params *p,
                 struct error *e)
{
    struct chart *c = &p->chart;
    size_t len = result->groups_len < most ? result->groups_len : most;
    struct chart_series *series = arena_array(a, len + 1, sizeof *series);
    struct buf b = BUF_INIT;
    struct common common;

    if (series == NULL)
        return error_no_memory(e);
    c->from_ms = q->start_ms;
    c->to_ms = q->end_ms;
    c->zone = q->zone == NULL ? timezone_utc() : q->zone;
    c->zone_name = c->zone == timezone_utc() ? "UTC"
                   : q->timezone_text.size == 0
                       ? NULL
                       : arena_strdup(a, q->timezone_text);
    c->series = series;
    c->series_len = len;
    c->left_out = result->groups_len - len;
    if (len == 0)
        return ST_OK;
    common = find_common(result->groups, len);
    for (size_t i = 0; i < len; i++) {
        const struct result_group *g = &result->groups[i];
        size_t sub = (size_t)(g->sub - q->subs);

        series[i].name = series_name(q, &common, g, a);
        series[i].is_right = sub < p->is_right_len && p->is_right[sub];
        if (series[i].name == NULL ||
            !copy_points(q, &g->dps, p->smooth, a, &series[i]))
            return error_no_memory(e);
        series[i].is_partial = is_partial(q, g, &series[i]);
    }
    if (len > 1)
        put_name(&b, &common, common.first, true);
    c->key.common = b.size == 0 ? NULL : (const char *)arena_take(a, &b).data;
    buf_fini(&b);
    return ST_OK;
}
