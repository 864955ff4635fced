/* Which queries are small by their plan: see query/plan/plan.h. */
#include "query/plan/plan.h"

/* Hours of series that take a fraction of a millisecond, decoded whole. */
#define SMALL_HOURS   192
#define SMALL_QUERIES 16
#define SMALL_PLAN_MS 2
#define SMALL_PATTERN 64 /* bytes of a wildcard */
/* Buckets to fill that take as long as an hour of a series. */
#define HOUR_BUCKETS 360

/* Filters that take few steps for each value of their tag key: the deadline of
 * the plan is looked at after some values. */
static bool
is_evaluated_quickly(const struct filter *f)
{
    return f->type == FILTER_LITERAL_OR || f->type == FILTER_NOT_KEY ||
           f->matches_all ||
           ((f->type == FILTER_WILDCARD || f->type == FILTER_IWILDCARD) &&
            f->text.size <= SMALL_PATTERN);
}

/* Adds what a sub-query costs; false: that is too much, or not known. */
static bool
add_hours(const struct plan_context *c, const struct query *q,
          struct sub_query *sq, const struct deadline *deadline,
          struct arena *a, uint64_t *hours)
{
    struct plan_context context = *c;
    struct query_reading reading;
    const struct downsample *d = &sq->downsample;
    uint64_t series, each, buckets = 0;
    struct plan *p = arena_array(a, 1, sizeof *p);

    if (p == NULL || histograms_wanted(sq))
        return false;
    for (size_t i = 0; i < sq->filters_len; i++)
        if (!is_evaluated_quickly(&sq->filters[i]))
            return false;
    context.options.list_limit = SMALL_HOURS;
    reading_make(&reading, q, sq);
    if (plan_make(&context, sq, &reading, deadline, a, p, NULL) != ST_OK)
        return false;
    sq->plan = p;
    each = (p->to_base - p->from_base) / HOUR_S + 1;
    series = p->empty ? 0 : p->listed ? p->matches : p->series;
    if (series > SMALL_HOURS)
        return false;
    /* Filled buckets cost time whether or not they have points. */
    if (d->on && d->interval_ms > 0 && d->fill != FILL_NONE)
        buckets = each * HOUR_MS / (uint64_t)d->interval_ms;
    *hours += series * (each + buckets / HOUR_BUCKETS);
    return *hours <= SMALL_HOURS;
}

bool
plan_is_small(const struct plan_context *c, struct query *q, struct arena *a)
{
    struct deadline deadline = deadline_start(SMALL_PLAN_MS, CANCEL_NEVER);
    bool small = !kv_traits(store_kv(c->store))->shared &&
                 !q->global_annotations && q->subs_len <= SMALL_QUERIES;
    uint64_t hours = 0;

    for (size_t i = 0; i < q->subs_len && small; i++)
        small = deadline_check(&deadline, NULL) == ST_OK &&
                add_hours(c, q, &q->subs[i], &deadline, a, &hours);
    if (!small)
        plan_drop(q);
    return small;
}

bool
plan_take(const struct sub_query *sq, struct plan *out)
{
    if (sq->plan == NULL || sq->plan->is_taken)
        return false;
    *out = *sq->plan;
    sq->plan->is_taken = true;
    return true;
}

void
plan_drop(const struct query *q)
{
    for (size_t i = 0; i < q->subs_len; i++)
        if (q->subs[i].plan != NULL && !q->subs[i].plan->is_taken) {
            plan_fini(q->subs[i].plan);
            q->subs[i].plan->is_taken = true;
        }
}
