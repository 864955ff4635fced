/* One sub-query: plan, fetch, aggregate, answer; of rollups one candidate after
 * the other. */
#include "base/process/counters.h"
#include "base/process/log.h"
#include "query/answer/answer.h"
#include "query/engine/engine_priv.h"
#include "query/histogram/histograms.h"
#include "query/plan/rollup_candidates.h"
#include "storage/store/store_retention.h"

#define WARN_EVERY_US (INT64_C(60) * 1000000)

/* -- one sub-query --------------------------------------------------------- */

static enum status
make_plan(const struct execution *x, const struct sub_query *sq,
          const struct query_reading *reading, struct plan *out)
{
    int64_t from_us = clock_monotonic_us();
    enum status status =
        plan_take(sq, out)
            ? ST_OK
            : plan_make(&x->en->context, sq, reading, &x->limits->deadline,
                        x->arena, out, x->e);
    char *text;

    if (status != ST_OK)
        return status;
    text = arena_strdup(x->arena, slice_str(out->text));
    x->stats->plan = text == NULL ? "" : text;
    x->stats->plan_us += clock_monotonic_us() - from_us;
    return ST_OK;
}

/* Fetches what a plan reads; of rollups with their real times. */
static enum status
fetch_plan(const struct execution *x, const struct sub_query *sq,
           const struct plan *p, const struct query_reading *reading,
           struct fetch *f)
{
    struct engine *en = x->en;
    enum status status = ST_OK;

    if (!p->empty)
        status = fetch_run(&(struct fetch_request){ &en->context, p, reading,
                                                    en->workers, x->limits },
                           f, x->e);
    if (status == ST_OK && rollup_is_used(&sq->rollup))
        status = rollup_restore_times(
            &(struct rollup_times){ store_layout(en->context.store),
                                    sq->rollup.interval, reading,
                                    x->limits->deadline },
            f, x->arena, x->e);
    return status;
}

/* A query that deletes remembers them. */
static enum status
find_annotated(const struct execution *x, const struct sub_query *sq,
               const struct plan *p, struct annotated *out)
{
    enum status status = fetch_find_annotated(
        &x->en->context, sq, p, x->en->options.records, x->arena, out, x->e);

    out->from_ms = x->q->start_ms;
    if (status != ST_OK || !x->q->delete_points)
        return status;
    if (x->stats->annotated.len > 0) {
        out->before = arena_copy(x->arena, &x->stats->annotated, sizeof *out);
        if (out->before == NULL)
            return error_no_memory(x->e);
    }
    x->stats->annotated = *out;
    return ST_OK;
}

/* Fetches the counts of an average whose sums are in '*f'. */
static enum status
fetch_counts(const struct execution *x, const struct sub_query *sq,
             const struct query_reading *reading, struct fetch *f)
{
    struct sub_query counts = *sq;
    struct deadline deadline = x->limits->deadline;
    struct plan p;
    struct fetch more = { 0 };
    enum status status;

    counts.rollup =
        (struct rollup_use){ sq->rollup.interval, sq->rollup.count_kind, 0 };
    status = plan_make(&x->en->context, &counts, reading, &x->limits->deadline,
                       x->arena, &p, x->e);
    if (status != ST_OK)
        return status;
    status = fetch_plan(x, &counts, &p, reading, &more);
    if (status == ST_OK)
        status = fetch_join_counts(f, &more, &deadline, x->arena, x->e);
    fetch_fini(&more);
    plan_fini(&p);
    return status;
}

/* Leaves those out that filters by name do not take, of a plan that could not
 * ask the directory. */
static enum status
filter_by_name(const struct execution *x, struct plan *p, struct fetch *f)
{
    size_t n = 0;
    enum status status = ST_OK;

    for (size_t i = 0; i < f->len && status == ST_OK; i++) {
        bool takes;

        status = plan_takes(p, f->series[i]->tsuid, &takes, x->e);
        if (status == ST_OK && takes)
            f->series[n++] = f->series[i];
    }
    f->len = n;
    return status;
}

static enum status
fetch_series(const struct execution *x, const struct sub_query *sq,
             struct plan *p, const struct query_reading *reading,
             struct fetch *f)
{
    int64_t from_us = clock_monotonic_us();
    enum status status = fetch_plan(x, sq, p, reading, f);

    if (status == ST_OK && sq->rollup.count_kind != 0)
        status = fetch_counts(x, sq, reading, f);
    x->stats->scan_us += clock_monotonic_us() - from_us;
    /* Adds what a fetch cost: a sub-query may fetch several times. */
    scan_counts_add(&x->stats->scan, &f->counts);
    x->stats->series += f->len;
    x->stats->points += f->points;
    x->stats->decoded += f->decoded;
    if (x->stats->scans == NULL && f->scans_len > 0) {
        x->stats->scans =
            arena_array(x->arena, f->scans_len, sizeof *x->stats->scans);
        x->stats->scans_len = x->stats->scans == NULL ? 0 : f->scans_len;
    }
    for (size_t i = 0; i < x->stats->scans_len && i < f->scans_len; i++) {
        scan_counts_add(&x->stats->scans[i].scan, &f->scans[i].scan);
        x->stats->scans[i].points += f->scans[i].points;
        x->stats->scans[i].us += f->scans[i].us;
    }
    /* Annotations lie among points, never among rollups. */
    if (status == ST_OK && !rollup_is_used(&sq->rollup))
        status = find_annotated(x, sq, p, &f->annotated);
    if (status == ST_OK && !rollup_is_used(&sq->rollup))
        status = fetch_add_annotated(f, &f->annotated, x->arena, x->e);
    return status == ST_OK && p->by_name != NULL ? filter_by_name(x, p, f)
                                                 : status;
}

/* A scan that has been read. */
struct scanned {
    const struct execution *x;
    const struct plan *plan;
    const struct query_reading *reading;
    const struct fetch *fetch;
};

/* Aggregates each group and, where there are chunks, writes it. */
static enum status
aggregate_and_answer(const struct scanned *s, const struct rollup_candidate *c)
{
    const struct execution *x = s->x;
    int64_t from_us = clock_monotonic_us();
    struct rollup_use *use = arena_alloc(x->arena, sizeof *use);
    const struct answer_job job = {
        .context = &x->en->context,
        .workers = x->en->workers,
        .threads = x->en->options.threads,
        .q = x->q,
        .sq = &c->sub,
        .plan = s->plan,
        .reading = s->reading,
        .fetch = s->fetch,
        .limits = x->limits,
        .chunks = x->chunks,
        .tag_texts = x->en->tag_texts,
        .like = { .sub = x->sq,
                  .annotated = s->fetch->annotated.tsuids,
                  .annotated_len = s->fetch->annotated.len,
                  .rollup = rollup_is_used(&c->sub.rollup) ? use : NULL,
                  .rollup_table = rollup_candidate_table(c) },
    };
    enum status status;

    if (use == NULL)
        return error_no_memory(x->e);
    *use = c->sub.rollup;
    status = answer_groups(&job, x->arena, x->result, x->stats, x->e);
    x->stats->numbers_us += clock_monotonic_us() - from_us;
    return status;
}

/* What those that share a scan make of it.  The first adds to the stats what it
 * costs beside the scan. */
static enum status
answer_sharer(void *ctx, size_t i, struct subquery_run *r)
{
    const struct scanned *s = ctx;
    struct execution x = *s->x;
    size_t sub = x.scan->subs[i];
    struct fetch fetch = *s->fetch;
    const struct scanned own = { &x, s->plan, s->reading, &fetch };
    struct rollup_candidate c;
    enum status status;

    x.sq = &x.q->subs[sub];
    x.limits = &r->limits;
    x.arena = r->arena;
    x.result = &x.run->results[sub];
    x.stats = &x.run->stats[sub];
    x.e = &r->error;
    if (i > 0)
        *x.stats =
            (struct result_stats){ .plan = "the scan of another sub-query" };
    if (fetch.downsampled)
        fetch.which = reading_function(s->reading, x.sq);
    status = rollup_candidate_first(&c, NULL, x.en->context.series, x.sq, x.e);
    return status == ST_OK ? aggregate_and_answer(&own, &c) : status;
}

/* Several sub-queries. */
static enum status
answer_sharers(struct scanned *s)
{
    const struct execution *x = s->x;
    const struct subqueries subs = {
        .len = x->scan->len,
        .run = answer_sharer,
        .ctx = s,
        .workers = x->en->workers,
        .worth_us = HELP_US,
        .budget = x->limits->budget,
        .deadline = x->limits->deadline,
    };
    size_t kept;

    return subqueries_run(&subs, x->arena, &kept, x->e);
}

/* Logs at most one query a minute that needs dropped points. */
static void
log_dropped(const struct execution *x, const struct sub_query *sq,
            const struct dropped *dropped)
{
    struct engine *en = x->en;
    int64_t now_us = clock_monotonic_us();
    int64_t warned_us = atomic_load(&en->warned_us);
    char text[DROPPED_TEXT];

    counter_add(CNT_QUERY_EXPIRED, 1);
    if ((warned_us != 0 && now_us - warned_us <= WARN_EVERY_US) ||
        !atomic_compare_exchange_strong(&en->warned_us, &warned_us, now_us))
        return;
    dropped_text(dropped, text);
    log_warn("query", "a query asks for %s since %lld, and %s",
             log_quote(sq->metric), (long long)x->q->start_ms / 1000, text);
}

/* Notes for each sub-query that shares the scan what retention has dropped of
 * it. This comes after the fetch: a cut is written before its rows are dropped,
 * so it covers all rows that the fetch missed. */
static void
note_dropped(const struct scanned *s, const struct sub_query *sq)
{
    const struct execution *x = s->x;

    for (size_t i = 0; i < x->scan->len; i++) {
        const struct sub_query *sub =
            i == 0 ? sq : &x->q->subs[x->scan->subs[i]];
        struct result_stats *stats =
            i == 0 ? x->stats : &x->run->stats[x->scan->subs[i]];

        stats->dropped = plan_find_dropped(
            &x->en->context, s->plan->metric,
            reading_needs_from(s->reading, sub, stats->joins_series),
            s->fetch->counts.lacks_rows);
        if (stats->dropped.before_ms > 0)
            log_dropped(x, sub, &stats->dropped);
    }
}

/* Plan, fetch, aggregate, answer; '*found' is whether there were series. */
static enum status
execute(const struct execution *x, const struct rollup_candidate *c,
        bool *found)
{
    struct plan p;
    struct fetch f = { 0 };
    struct query_reading reading = x->scan->reading;
    struct scanned scanned = { x, &p, &reading, &f };
    enum status status;

    if (x->en->options.rollups !=
        NULL) /* a candidate, or a part of the range */
        reading_make(&reading, x->q, &c->sub);
    if (reading.form != READ_POINTS)
        buckets_list(&reading.buckets, x->arena);
    status = make_plan(x, &c->sub, &reading, &p);
    if (status != ST_OK)
        return status;
    status = c->missing.status;
    if (status != ST_OK)
        *x->e = c->missing;
    else
        status = fetch_series(x, &c->sub, &p, &reading, &f);
    *found = f.len > 0;
    if (status == ST_OK && *found && x->scan->len > 1)
        status = answer_sharers(&scanned);
    else if (status == ST_OK && *found)
        status = aggregate_and_answer(&scanned, c);
    if (status == ST_OK && !rollup_is_used(&c->sub.rollup))
        note_dropped(&scanned, &c->sub);
    if (status == ST_OK && f.counts.lacks_weeks) {
        int64_t cut_ms = store_cut_ms(x->en->context.store, p.metric);

        /* Hourly values, where rows are dropped: each sub-query says so. */
        x->stats->damaged_before_ms = cut_ms;
        for (size_t i = 1; i < x->scan->len; i++)
            x->run->stats[x->scan->subs[i]].damaged_before_ms = cut_ms;
    }
    fetch_fini(&f);
    plan_fini(&p);
    return status;
}

/* One candidate after the other, until one has series. */
static enum status
execute_candidates(const struct execution *x, struct rollup_candidate *c)
{
    bool again = true, found = false;
    enum status status = ST_OK;

    while (status == ST_OK && again) {
        again = false;
        status = execute(x, c, &found);
        if (status == ST_OK && !found)
            status = rollup_candidate_next(c, &again, x->e);
    }
    return status;
}

/* Rollups up to 'at_ms', raw points from then on: see
 * query/answer/rollup_raw_merge.h. */
static enum status
execute_rollups_and_raw(const struct execution *x, struct rollup_candidate *c,
                        int64_t at_ms)
{
    struct query before = *x->q, after = *x->q;
    struct execution x_before = *x, x_after = *x;
    struct rollup_candidate points = *c;
    struct subquery_result results[2] = { { .len = 0 }, { .len = 0 } };
    enum status status = rollup_candidate_points(&points, x->sq, x->e);

    if (status != ST_OK)
        return status;
    if (at_ms <= x->q->start_ms)
        return execute_candidates(x, &points);
    before.end_ms = after.start_ms = at_ms;
    before.whole_hours = after.whole_hours = true;
    x_before.q = &before;
    x_before.result = &results[0];
    x_after.q = &after;
    x_after.result = &results[1];
    status = execute_candidates(&x_before, c);
    if (status == ST_OK)
        status = execute_candidates(&x_after, &points);
    if (status == ST_OK)
        status = rollup_raw_merge(
            &(struct rollup_raw){ &results[0], &results[1],
                                  x->sq->aggregator->kind == KIND_NONE, x->q,
                                  at_ms },
            x->arena, x->result, x->e);
    return status;
}

static enum status
execute_histograms(const struct execution *x)
{
    struct subquery_result *out = x->result;
    struct plan p;
    const struct histograms_job job = {
        .context = &x->en->context,
        .q = x->q,
        .sq = x->sq,
        .plan = &p,
        .reading = &x->scan->reading,
        .limits = x->limits,
        .codec = x->en->options.histogram_codec - 1,
        .arena = x->arena,
    };
    enum status status = make_plan(x, x->sq, &x->scan->reading, &p);
    int64_t from_us = clock_monotonic_us();
    struct annotated annotated;

    if (status != ST_OK)
        return status;
    if (!p.empty)
        status = histograms_run(&job, &out->groups, &out->len, x->stats, x->e);
    x->stats->scan_us = clock_monotonic_us() - from_us;
    if (status == ST_OK && x->q->delete_points)
        status = find_annotated(x, x->sq, &p, &annotated);
    for (size_t i = 0; i < out->len; i++)
        out->groups[i].rollup_table = "raw";
    plan_fini(&p);
    return status;
}

/* Groups of histograms, and of rollups and raw points, are all made before the
 * first is written. */
enum status
engine_execute(const struct execution *x)
{
    bool histograms = histograms_wanted(x->sq), merge = false;
    struct execution made = *x;
    struct rollup_candidate c;
    int64_t at_ms = 0;
    enum status status = ST_OK;
    const struct engine_options *o = &x->en->options;
    struct engine_limits found = { 0, 0 };

    if (o->limits != NULL)
        o->limits(o->limits_ctx, x->q, x->sq, &found);
    x->limits->max_points = found.points;
    x->limits->max_bytes = found.bytes;
    fetch_limits_reset(x->limits);
    if (!histograms)
        status = rollup_candidate_first(&c, x->en->options.rollups,
                                        x->en->context.series, x->sq, x->e);
    if (status != ST_OK)
        return status;
    merge = !histograms && rollup_raw_merge_wanted(&c, x->q, &at_ms);
    if (!histograms && !merge)
        return execute_candidates(x, &c);
    made.chunks = NULL;
    status = histograms ? execute_histograms(&made)
                        : execute_rollups_and_raw(&made, &c, at_ms);
    for (size_t i = 0; i < x->result->len; i++)
        x->result->groups[i].lists_notes = merge;
    if (status != ST_OK || x->chunks == NULL)
        return status;
    status =
        answer_write(x->result, x->sq->index, x->en->workers, x->chunks, x->e);
    *x->result = (struct subquery_result){ 0 };
    return status;
}
