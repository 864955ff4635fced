#include "query/plan/explain.h"

#include <stdio.h>

/* Fewer buckets are no picture. */
#define BUCKETS_LEAST 10

#define DOWNSAMPLE_TEXT 48

static struct dropped
what_is_dropped(const struct explainer *x, const struct sub_query *sq,
                const struct query_reading *r, const struct plan *p)
{
    bool joins = sq->aggregator->kind != KIND_NONE;

    if (p->empty || rollup_is_used(&sq->rollup))
        return (struct dropped){ 0, NULL };
    return plan_find_dropped(x->c, p->metric, reading_needs_from(r, sq, joins),
                             !r->want.weeks);
}

/* Rollups of all kinds count as series of a plan that does not list them. */
static enum status
count_series(const struct explainer *x, const struct sub_query *sq,
             const struct query_reading *r, const struct plan *p, uint64_t *out)
{
    struct plan_context c = *x->c;
    struct plan listed;
    enum status st;

    *out = p->listed ? p->matches : p->series;
    if (p->listed || p->empty || !rollup_is_used(&sq->rollup))
        return ST_OK;
    c.options.list_kinds = true;
    st = plan_make(&c, sq, r, x->deadline, x->arena, &listed, x->e);
    if (st != ST_OK)
        return st;
    *out = listed.listed ? listed.matches : listed.series;
    plan_fini(&listed);
    return ST_OK;
}

static enum status
explain_candidate(const struct explainer *x, const struct rollup_candidate *c,
                  struct explanation *out)
{
    struct query_reading r;
    struct plan p;
    /* Of averages the counts are read, too. */
    uint64_t reads = c->sub.rollup.count_kind != 0 ? 2 : 1;
    enum status st;

    reading_make(&r, x->q, &c->sub);
    st = plan_make(x->c, &c->sub, &r, x->deadline, x->arena, &p, x->e);
    if (st != ST_OK)
        return st;
    *out = (struct explanation){
        .table = rollup_candidate_table(c),
        .text = arena_strdup(x->arena, slice_str(p.text)),
        .path = p.path,
        .reads = r.want.summaries        ? PLAN_READS_SUMMARIES
                 : r.form == READ_FOLDED ? PLAN_READS_BUCKETS
                                         : PLAN_READS_POINTS,
        .tagk_set_series = p.series,
        .dropped = what_is_dropped(x, &c->sub, &r, &p),
    };
    st = count_series(x, &c->sub, &r, &p, &out->series);
    if (st == ST_OK && out->series > 0) {
        out->hours = (p.to_base - p.from_base) / HOUR_S + 1;
        out->rows = out->series * out->hours * reads;
        out->seeks = p.seeks * reads;
        out->price = p.price * reads;
        memcpy(out->prices, p.prices, sizeof out->prices);
    }
    plan_fini(&p);
    if (st != ST_OK)
        return st;
    if (c->missing.status != ST_OK)
        *x->e = c->missing;
    return out->text == NULL ? error_no_memory(x->e) : c->missing.status;
}

/* As the engine goes through them, but for rollups of no points. */
static enum status
explain_candidates(const struct explainer *x, const struct sub_query *sq,
                   struct explanation *out)
{
    struct rollup_candidate c;
    bool again = true;
    enum status st =
        rollup_candidate_first(&c, x->rollups, x->c->series, sq, x->e);

    while (st == ST_OK && again) {
        again = false;
        st = explain_candidate(x, &c, out);
        if (st == ST_OK && out->series == 0)
            st = rollup_candidate_next(&c, &again, x->e);
    }
    return st;
}

/* -- cheaper --------------------------------------------------------------- */

/* The sub-query with an interval of that many seconds. */
static struct sub_query
downsampled(const struct sub_query *sq, int64_t seconds)
{
    struct sub_query out = *sq;

    out.downsample.on = true;
    out.downsample.all = out.downsample.calendar = false;
    out.downsample.thin = THIN_NONE;
    out.downsample.interval_ms = seconds * 1000;
    if (!sq->downsample.on)
        out.downsample.aggregator = aggregator_find(slice_str("avg"));
    return out;
}

static enum status
set_cheaper(const struct explainer *x, const char *interval,
            const struct sub_query *sq, struct explained *out)
{
    char text[DOWNSAMPLE_TEXT];

    (void)snprintf(text, sizeof text, "%s-%s", interval,
                   sq->downsample.aggregator->name);
    out->cheaper = arena_strdup(x->arena, slice_str(text));
    return out->cheaper == NULL ? error_no_memory(x->e) : ST_OK;
}

static bool
is_coarser(const struct explainer *x, const struct sub_query *sq,
           int64_t seconds)
{
    int64_t now_s = sq->downsample.on ? sq->downsample.interval_ms / 1000 : 0;

    return seconds > now_s &&
           (x->q->end_ms - x->q->start_ms) / 1000 / seconds >= BUCKETS_LEAST;
}

/* The finest rollups that are coarser than the sub-query, and have series. */
static enum status
find_rollups(const struct explainer *x, const struct sub_query *sq,
             struct explained *out)
{
    const struct rollup_interval *best = NULL;

    for (size_t i = 0; x->rollups != NULL && i < x->rollups->len; i++) {
        const struct rollup_interval *r = &x->rollups->intervals[i];
        struct sub_query coarser = downsampled(sq, r->seconds);
        struct explanation plan;

        if (r->is_default || !is_coarser(x, sq, r->seconds) ||
            (best != NULL && r->seconds >= best->seconds))
            continue;
        if (explain_candidates(x, &coarser, &plan) != ST_OK ||
            plan.series == 0 || strcmp(plan.table, "raw") == 0)
            continue;
        best = r;
        out->cheaper_plan = plan;
        if (set_cheaper(x, r->text, &coarser, out) != ST_OK)
            return ST_LIMIT;
    }
    return ST_OK;
}

enum status
explain_subquery(const struct explainer *x, const struct sub_query *sq,
                 struct explained *out)
{
    struct sub_query coarser;
    struct query_reading r;
    enum status st;

    *out = (struct explained){ 0 };
    if (sq->percentiles_len > 0 || sq->show_histogram_buckets) {
        struct rollup_candidate points = { .sub = *sq };

        return explain_candidate(x, &points, &out->plan);
    }
    st = explain_candidates(x, sq, &out->plan);
    if (st != ST_OK || out->plan.series == 0 || sq->downsample.all ||
        strcmp(out->plan.table, "raw") != 0)
        return st;
    st = find_rollups(x, sq, out);
    if (st != ST_OK || out->cheaper != NULL)
        return st;
    /* An hour a bucket: summaries are enough if they have the function. */
    coarser = downsampled(sq, HOUR_S);
    reading_make(&r, x->q, &coarser);
    if (out->plan.reads == PLAN_READS_SUMMARIES || !is_coarser(x, sq, HOUR_S) ||
        !r.want.summaries)
        return ST_OK;
    out->cheaper_plan = out->plan;
    out->cheaper_plan.reads = PLAN_READS_SUMMARIES;
    return set_cheaper(x, "1h", &coarser, out);
}
