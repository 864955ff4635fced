#include "query/answer/rollup_raw_merge.h"

#include <stdlib.h>

bool
rollup_raw_merge_wanted(const struct rollup_candidate *c, const struct query *q,
                        int64_t *at_ms)
{
    const struct rollup_interval *i = c->sub.rollup.interval;

    if (i == NULL || i->delay_s == 0 || !c->rollups->split)
        return false;
    *at_ms = (q->now_ms / 1000 - i->delay_s) * 1000;
    return q->end_ms > q->now_ms - i->delay_s * 1000;
}

/* Of a tag that both have, the value is that of the points. */
static enum status
join_tags(const struct result_group *x, const struct result_group *y,
          struct arena *a, struct result_group *out, struct error *e)
{
    size_t max = x->tags_len + y->tags_len;

    out->tag_keys = arena_array(a, max, sizeof *out->tag_keys);
    out->tag_values = arena_array(a, max, sizeof *out->tag_values);
    out->tags_len = 0;
    if (out->tag_keys == NULL || out->tag_values == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < max; i++) {
        const struct result_group *from = i < x->tags_len ? x : y;
        size_t k = i < x->tags_len ? i : i - x->tags_len;
        size_t at = 0;

        while (at < out->tags_len &&
               !slice_eq(out->tag_keys[at], from->tag_keys[k]))
            at++;
        out->tag_keys[at] = from->tag_keys[k];
        out->tag_values[at] = from->tag_values[k];
        out->tags_len += at == out->tags_len;
    }
    return ST_OK;
}

/* One after the other, with what is in both twice: so does OpenTSDB. */
static struct slice *
join_slices(const struct slice *x, size_t x_len, const struct slice *y,
            size_t y_len, struct arena *a)
{
    struct slice *out = arena_array(a, x_len + y_len, sizeof *out);

    if (out != NULL && x_len > 0)
        memcpy(out, x, x_len * sizeof *x);
    if (out != NULL && y_len > 0)
        memcpy(out + x_len, y, y_len * sizeof *y);
    return out;
}

/* Each part has what lies in its whole rows, so that both may have numbers on
 * either side of the timestamp: of a time that is in both, the points count. */
static enum status
join_dps(const struct dps *x, const struct dps *y, const struct query *q,
         struct arena *a, struct dps *out, struct error *e)
{
    size_t max = x->len + y->len, i = 0, k = 0;

    if (!dps_alloc(a, max, out))
        return error_no_memory(e);
    out->len = 0;
    while (i < x->len || k < y->len) {
        bool points = i == x->len || (k < y->len && y->ts_ms[k] <= x->ts_ms[i]);
        int64_t ts = points ? y->ts_ms[k] : x->ts_ms[i];

        if (q->whole_hours || (ts >= q->start_ms && ts <= q->end_ms)) {
            out->ts_ms[out->len] = ts;
            out->v[out->len] = points ? y->v[k] : x->v[i];
            out->kind[out->len++] = points ? y->kind[k] : x->kind[i];
        }
        k += points;
        i += !points || (i < x->len && x->ts_ms[i] == ts);
    }
    return ST_OK;
}

static struct slice
key_of(const struct result_group *g, bool each_alone)
{
    if (each_alone && g->tsuids_len > 0)
        return g->tsuids[0];
    return each_alone && g->note_tsuids_len > 0 ? g->note_tsuids[0] : g->key;
}

enum status
rollup_raw_merge(const struct rollup_raw *parts, struct arena *a,
                 struct subquery_result *out, struct error *e)
{
    const struct subquery_result *before = parts->before, *after = parts->after;
    static const struct result_group none = { 0 };
    size_t i = 0, k = 0;
    enum status st = ST_OK;

    *out = (struct subquery_result){ 0 };
    out->groups = arena_array(a, before->len + after->len, sizeof *out->groups);
    if (out->groups == NULL)
        return error_no_memory(e);
    while ((i < before->len || k < after->len) && st == ST_OK) {
        int order =
            i == before->len ? 1
            : k == after->len
                ? -1
                : slice_cmp(key_of(&before->groups[i], parts->each_alone),
                            key_of(&after->groups[k], parts->each_alone));
        const struct result_group *x =
            order <= 0 ? &before->groups[i++] : &none;
        const struct result_group *y = order >= 0 ? &after->groups[k++] : &none;
        struct result_group *g = &out->groups[out->len++];

        *g =
            (struct result_group){ .metric = order <= 0 ? x->metric : y->metric,
                                   .note_tsuids = y->note_tsuids,
                                   .note_tsuids_len = y->note_tsuids_len,
                                   .annotated = y->annotated,
                                   .annotated_len = y->annotated_len,
                                   .rollup = y->rollup,
                                   .rollup_table = "raw",
                                   .split_rollup = x->rollup,
                                   .split_tsuids = x->tsuids_len,
                                   .split_ms = parts->at_ms };
        g->failed = x->failed != NULL ? x->failed : y->failed;
        g->sub = order <= 0 ? x->sub : y->sub;
        st = join_tags(x, y, a, g, e);
        g->aggregate_tags =
            join_slices(x->aggregate_tags, x->aggregate_tags_len,
                        y->aggregate_tags, y->aggregate_tags_len, a);
        g->aggregate_tags_len = x->aggregate_tags_len + y->aggregate_tags_len;
        g->tsuids =
            join_slices(x->tsuids, x->tsuids_len, y->tsuids, y->tsuids_len, a);
        g->tsuids_len = x->tsuids_len + y->tsuids_len;
        if (st == ST_OK && (g->aggregate_tags == NULL || g->tsuids == NULL))
            st = error_no_memory(e);
        if (st == ST_OK)
            st = join_dps(&x->dps, &y->dps, parts->q, a, &g->dps, e);
    }
    return st;
}
