#include "query/engine/engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/latency.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "query/aggregate/aggregate.h"
#include "query/answer/answer.h"
#include "query/answer/rollup_raw_merge.h"
#include "query/fetch/fetch.h"
#include "query/histogram/histograms.h"
#include "query/plan/plan.h"
#include "query/plan/rollup_candidates.h"
#include "query/model/rollup.h"
#include "query/engine/subqueries.h"
#include "storage/histogram/histogram_table.h"
#include "storage/store/owners.h"
#include "storage/store/store_retention.h"

#define ENGINE_MAGIC FOURCC('E', 'N', 'G', 'N')

#define MB ((size_t)1 << 20)

/* Of queries that ask for dropped points one in so long is logged. */
#define WARN_EVERY_US (INT64_C(60) * 1000000)

struct engine {
    uint32_t magic;
    struct plan_context context;
    struct engine_options options;
    struct arena_budget budget; /* of all that run */
    struct pool *pool;
    struct latency latency;    /* of reading points */
    _Atomic int64_t warned_us; /* monotonic, of dropped points, the last time */
};

enum status
engine_open(struct store *s, struct uid_table *u, struct series_directory *d,
            const struct engine_options *o, struct engine **out,
            struct error *e)
{
    struct engine *en = mem_new(sizeof *en);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    en->magic = ENGINE_MAGIC;
    en->options = *o;
    if (en->options.threads == 0)
        en->options.threads = cpus < 1 ? 1 : (size_t)cpus;
    en->budget.max = o->all_bytes;
    if (en->options.query_bytes == 0)
        en->options.query_bytes = 1024 * MB;
    if (en->options.expansion_limit == 0)
        en->options.expansion_limit = 4096;
    en->context = (struct plan_context){
        .store = s,
        .uids = u,
        .series = d,
        .options = { .expansion_limit = en->options.expansion_limit,
                     .skip_unresolved_tagvs = o->skip_unresolved_tagvs,
                     .force_way = o->force_way - 1 },
    };
    en->pool = pool_new(en->options.threads);
    *out = en;
    return ST_OK;
}

void
engine_close(struct engine **ep)
{
    struct engine *en = OBJ_TAKE(ep, ENGINE_MAGIC);

    if (en == NULL)
        return;
    pool_free(&en->pool);
    OBJ_FREE(en);
}

/* What takes less is done before another thread would have woken up. */
#define HELP_US 1000

/* Hours of series that take a fraction of that, decoded whole. */
#define SMALL_HOURS   48
#define SMALL_PLAN_MS 2

const struct latency *
engine_latency(const struct engine *en)
{
    OBJ_CHECK(en, ENGINE_MAGIC);
    return &en->latency;
}

/* -- costs ----------------------------------------------------------------- */

/* Adds what a fetch cost: a sub-query may fetch several times. */
static void
add_scans(struct result_stats *to, const struct fetch *f, struct arena *a)
{
    scan_counts_add(&to->scan, &f->counts);
    to->series += f->len;
    to->points += f->points;
    to->decoded += f->decoded;
    if (to->scans == NULL && f->scans_len > 0) {
        to->scans = arena_array(a, f->scans_len, sizeof *to->scans);
        to->scans_len = to->scans == NULL ? 0 : f->scans_len;
    }
    for (size_t i = 0; i < to->scans_len && i < f->scans_len; i++) {
        scan_counts_add(&to->scans[i].scan, &f->scans[i].scan);
        to->scans[i].points += f->scans[i].points;
        to->scans[i].us += f->scans[i].us;
    }
}

/* -- one sub-query --------------------------------------------------------- */

/* The execution of one sub-query, or of a part of its range. */
struct execution {
    struct engine *en;
    const struct query *q;
    const struct sub_query *sq; /* as the client wrote it */
    struct fetch_limits *limits;
    struct arena *arena; /* of the groups */
    struct result_stats *stats;
    struct error *e;
};

static void
set_limits(const struct execution *x)
{
    const struct engine_options *o = &x->en->options;
    struct engine_limits found = { 0, 0 };

    if (o->limits != NULL)
        o->limits(o->limits_ctx, x->q, x->sq, &found);
    x->limits->max_points = found.points;
    x->limits->max_bytes = found.bytes;
    fetch_limits_reset(x->limits);
}

static enum status
make_plan(const struct execution *x, const struct sub_query *sq,
          struct plan *out)
{
    int64_t from_us = clock_monotonic_us();
    enum status status = plan_make(&x->en->context, x->q, sq,
                                   &x->limits->deadline, x->arena, out, x->e);
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
           const struct plan *p, const struct stream_downsampler *downsampler,
           struct fetch *f)
{
    struct engine *en = x->en;
    struct column_window window;
    bool crops = numbers_crop(x->q, sq, &window);
    enum status status = ST_OK;

    if (!p->empty)
        status = fetch_run(&en->context, p, downsampler, crops ? &window : NULL,
                           en->pool, x->limits, f, x->e);
    if (status == ST_OK && rollup_is_used(&sq->rollup))
        status = rollup_restore_times(store_layout(en->context.store), x->q, sq,
                                      f, x->arena, x->e);
    return status;
}

/* Fetches the counts of an average whose sums are in '*f'. */
static enum status
fetch_counts(const struct execution *x, const struct sub_query *sq,
             struct fetch *f)
{
    struct sub_query counts = *sq;
    struct plan p;
    struct fetch more = { 0 };
    enum status status;

    counts.rollup =
        (struct rollup_use){ sq->rollup.interval, sq->rollup.count_kind, 0 };
    status = plan_make(&x->en->context, x->q, &counts, &x->limits->deadline,
                       x->arena, &p, x->e);
    if (status != ST_OK)
        return status;
    status = fetch_plan(x, &counts, &p, NULL, &more);
    if (status == ST_OK)
        status = fetch_join_counts(f, &more, x->arena, x->e);
    fetch_fini(&more);
    plan_fini(&p);
    return status;
}

static enum status
fetch_series(const struct execution *x, const struct sub_query *sq,
             const struct plan *p, struct fetch *f)
{
    struct engine *en = x->en;
    struct stream_downsampler downsampler;
    bool streams = stream_downsampler_init(&downsampler, x->q, sq, x->arena);
    int64_t from_us = clock_monotonic_us();
    enum status status;

    status = fetch_plan(x, sq, p, streams ? &downsampler : NULL, f);
    if (status == ST_OK && sq->rollup.count_kind != 0)
        status = fetch_counts(x, sq, f);
    x->stats->scan_us += clock_monotonic_us() - from_us;
    add_scans(x->stats, f, x->arena);
    /* Annotations lie among points, never among rollups. */
    if (status == ST_OK && en->options.records != NULL &&
        !rollup_is_used(&sq->rollup))
        status = fetch_annotated_only(&en->context, sq, p, en->options.records,
                                      x->arena, f, x->e);
    return status;
}

/* Aggregates each group and, where the part has chunks, writes it. */
static enum status
aggregate_and_answer(const struct execution *x,
                     const struct rollup_candidate *c, const struct plan *p,
                     const struct fetch *f, struct part *out)
{
    int64_t from_us = clock_monotonic_us();
    struct rollup_use *use = arena_alloc(x->arena, sizeof *use);
    const struct answer_job job = {
        .context = &x->en->context,
        .pool = x->en->pool,
        .threads = x->en->options.threads,
        .query_bytes = x->en->options.query_bytes,
        .q = x->q,
        .sq = &c->sub,
        .plan = p,
        .fetch = f,
        .limits = x->limits,
        .chunks = out->chunks,
        .like = { .sub = x->sq,
                  .rollup = rollup_is_used(&c->sub.rollup) ? use : NULL,
                  .rollup_table = rollup_candidate_table(c) },
    };
    enum status status;

    if (use == NULL)
        return query_no_memory(x->e);
    *use = c->sub.rollup;
    status = answer_groups(&job, x->arena, out, x->stats, x->e);
    x->stats->numbers_us += clock_monotonic_us() - from_us;
    return status;
}

/* What retention dropped is not told from what never was: the answer says so,
 * unless hourly values were enough.  After the fetch, as the cut is written
 * before rows go. */
static void
note_dropped(const struct execution *x, uint64_t metric, bool lacks_rows)
{
    struct engine *en = x->en;
    int64_t cut_ms = lacks_rows
                         ? store_cut_ms(en->context.store, metric)
                         : store_hourly_cut_ms(en->context.store, metric);
    int64_t now_us = clock_monotonic_us(), warned_us;

    if (x->q->start_ms >= cut_ms)
        return;
    x->stats->dropped_before_ms = cut_ms;
    counter_add(CNT_QUERY_EXPIRED, 1);
    warned_us = atomic_load(&en->warned_us);
    if ((warned_us == 0 || now_us - warned_us > WARN_EVERY_US) &&
        atomic_compare_exchange_strong(&en->warned_us, &warned_us, now_us))
        log_warn("query",
                 "a query wants raw points of %s since %lld, and those before "
                 "%lld are dropped (retention)",
                 log_quote(x->sq->metric), (long long)x->q->start_ms / 1000,
                 (long long)cut_ms / 1000);
}

/* Plan, fetch, aggregate, answer; '*found' is whether there were series. */
static enum status
execute(const struct execution *x, const struct rollup_candidate *c,
        struct part *out, bool *found)
{
    struct plan p;
    struct fetch f = { 0 };
    enum status status = make_plan(x, &c->sub, &p);

    if (status != ST_OK)
        return status;
    status = c->missing.status;
    if (status != ST_OK)
        *x->e = c->missing;
    else
        status = fetch_series(x, &c->sub, &p, &f);
    if (status == ST_OK && !rollup_is_used(&c->sub.rollup))
        note_dropped(x, p.metric, f.counts.lacks_rows);
    *found = f.len > 0;
    if (status == ST_OK && *found)
        status = aggregate_and_answer(x, c, &p, &f, out);
    fetch_fini(&f);
    plan_fini(&p);
    return status;
}

/* One candidate after the other, until one has series. */
static enum status
execute_candidates(const struct execution *x, struct rollup_candidate *c,
                   struct part *out)
{
    bool again = true, found = false;
    enum status status = ST_OK;

    fetch_limits_release(x->limits);
    while (status == ST_OK && again) {
        again = false;
        status = execute(x, c, out, &found);
        if (status == ST_OK && !found)
            status = rollup_candidate_next(c, &again, x->e);
    }
    return status;
}

/* Rollups up to 'at_ms', raw points from then on: see
 * query/answer/rollup_raw_merge.h. */
static enum status
execute_rollups_and_raw(const struct execution *x, struct rollup_candidate *c,
                        int64_t at_ms, struct part *out)
{
    struct query before = *x->q, after = *x->q;
    struct execution x_before = *x, x_after = *x;
    struct rollup_candidate points = *c;
    struct part parts[2] = { { .len = 0 }, { .len = 0 } };
    enum status status = rollup_candidate_points(&points, x->sq, x->e);

    if (status != ST_OK)
        return status;
    if (at_ms <= x->q->start_ms)
        return execute_candidates(x, &points, out);
    before.end_ms = after.start_ms = at_ms;
    before.whole_hours = after.whole_hours = true;
    x_before.q = &before;
    x_after.q = &after;
    status = execute_candidates(&x_before, c, &parts[0]);
    if (status == ST_OK)
        status = execute_candidates(&x_after, &points, &parts[1]);
    if (status == ST_OK)
        status = rollup_raw_merge(&parts[0], &parts[1],
                                  x->sq->aggregator->kind == KIND_NONE, x->q,
                                  at_ms, x->arena, out, x->e);
    return status;
}

static enum status
execute_histograms(const struct execution *x, struct part *out)
{
    struct plan p;
    const struct histograms_job job = {
        .context = &x->en->context,
        .q = x->q,
        .sq = x->sq,
        .plan = &p,
        .limits = x->limits,
        .codec = x->en->options.histogram_codec - 1,
        .arena = x->arena,
    };
    enum status status = make_plan(x, x->sq, &p);
    int64_t from_us = clock_monotonic_us();

    if (status != ST_OK)
        return status;
    if (!p.empty)
        status = histograms_run(&job, &out->groups, &out->len, x->stats, x->e);
    x->stats->scan_us = clock_monotonic_us() - from_us;
    for (size_t i = 0; i < out->len; i++)
        out->groups[i].rollup_table = "raw";
    plan_fini(&p);
    return status;
}

/* Groups of histograms, and of rollups and raw points, are all made before the
 * first is written. */
static enum status
execute_subquery(const struct execution *x, struct part *out)
{
    bool histograms = histograms_wanted(x->sq), merge = false;
    struct chunks *chunks = out->chunks;
    struct rollup_candidate c;
    int64_t at_ms = 0;
    enum status status = ST_OK;

    set_limits(x);
    if (!histograms)
        status = rollup_candidate_first(&c, x->en->options.rollups,
                                        x->en->context.series, x->sq, x->e);
    if (status != ST_OK)
        return status;
    merge = !histograms && rollup_raw_merge_wanted(&c, x->q, &at_ms);
    if (!histograms && !merge)
        return execute_candidates(x, &c, out);
    out->chunks = NULL;
    status = histograms ? execute_histograms(x, out)
                        : execute_rollups_and_raw(x, &c, at_ms, out);
    for (size_t i = 0; i < out->len; i++)
        out->groups[i].is_split = merge;
    if (status != ST_OK || chunks == NULL)
        return status;
    status =
        answer_write(out, x->sq->index, x->en->pool, chunks, x->arena, x->e);
    *out = (struct part){ .len = 0 };
    return status;
}

/* -- a query --------------------------------------------------------------- */

static enum status
join_parts(struct part *parts, size_t len, struct arena *a,
           struct query_result *out, struct error *e)
{
    size_t total = 0;

    if (len == 1) {
        out->groups = parts[0].groups;
        out->groups_len = parts[0].len;
        return ST_OK;
    }
    for (size_t i = 0; i < len; i++)
        total += parts[i].len;
    out->groups = arena_alloc(a, total * sizeof *out->groups);
    if (out->groups == NULL)
        return query_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        if (parts[i].len > 0)
            memcpy(out->groups + out->groups_len, parts[i].groups,
                   parts[i].len * sizeof *out->groups);
        out->groups_len += parts[i].len;
    }
    return ST_OK;
}

/* A query being run. */
struct running {
    struct engine *en;
    const struct query *q;
    struct chunks *chunks;
};

static enum status
run_subquery(void *ctx, size_t i, struct subquery_run *r)
{
    const struct running *run = ctx;
    const struct execution x = {
        .en = run->en,
        .q = run->q,
        .sq = &run->q->subs[i],
        .limits = &r->limits,
        .arena = r->arena,
        .stats = &r->stats,
        .e = &r->error,
    };
    enum status status;

    r->part.chunks = run->chunks;
    status = execute_subquery(&x, &r->part);
    latency_add(&run->en->latency, (uint64_t)r->stats.scan_us);
    return status;
}

enum status
engine_run(struct engine *en, const struct query *q, bool (*gone)(void *ctx),
           void *gone_ctx, struct chunks *chunks, struct arena *a,
           struct query_result *out, struct parse_error *e)
{
    struct running running = { en, q, chunks };
    const struct subqueries subs = {
        .len = q->subs_len,
        .run = run_subquery,
        .ctx = &running,
        .pool = en->pool,
        .worth_us = HELP_US,
        .max_memory = en->options.query_bytes,
        .budget = &en->budget,
        .deadline = deadline_start(en->options.timeout_ms, gone, gone_ctx),
    };
    struct part *parts = arena_array(a, q->subs_len, sizeof *parts);
    enum status status;

    OBJ_CHECK(en, ENGINE_MAGIC);
    *out = (struct query_result){ .stats_len = q->subs_len,
                                  .deadline = subs.deadline };
    e->details[0] = '\0';
    out->stats = arena_array(a, q->subs_len, sizeof *out->stats);
    if (parts == NULL || out->stats == NULL)
        return query_no_memory(&e->message);
    if (chunks != NULL) {
        chunks->metric_width = store_layout(en->context.store)->metric_width;
        chunks_init(chunks, q->subs_len);
    }
    /* The plan is made of names and tag-key sets in memory. */
    status = store_wait_current(en->context.store, &e->message);
    if (status == ST_OK)
        status = subqueries_run(&subs, a, parts, out->stats, &e->message);
    return status == ST_OK ? join_parts(parts, q->subs_len, a, out, &e->message)
                           : status;
}

/* Filters that are not evaluated for every value of their tag key. */
static bool
is_found_by_ids(const struct filter *f)
{
    return f->type == FILTER_LITERAL_OR || f->type == FILTER_NOT_KEY ||
           f->matches_all;
}

/* Adds what a sub-query reads; false: that is too much, or not known. */
static bool
add_hours(struct engine *en, const struct query *q, const struct sub_query *sq,
          const struct deadline *deadline, struct arena *a, uint64_t *hours)
{
    struct plan_context context = en->context;
    uint64_t series, each;
    struct plan p;

    if (histograms_wanted(sq))
        return false;
    for (size_t i = 0; i < sq->filters_len; i++)
        if (!is_found_by_ids(&sq->filters[i]))
            return false;
    context.options.list_limit = SMALL_HOURS;
    if (plan_make(&context, q, sq, deadline, a, &p, NULL) != ST_OK)
        return false;
    each = (p.to_base - p.from_base) / HOUR_S + 1;
    series = p.empty ? 0 : p.listed ? p.matches : p.series;
    plan_fini(&p);
    if (series > SMALL_HOURS)
        return false;
    *hours += series * each;
    return *hours <= SMALL_HOURS;
}

bool
engine_is_small(struct engine *en, const struct query *q, struct arena *a)
{
    struct deadline deadline = deadline_start(SMALL_PLAN_MS, NULL, NULL);
    bool small = !kv_traits(store_kv(en->context.store))->shared &&
                 !q->global_annotations && en->options.rollups == NULL;
    uint64_t hours = 0;

    OBJ_CHECK(en, ENGINE_MAGIC);
    for (size_t i = 0; i < q->subs_len && small; i++)
        small = add_hours(en, q, &q->subs[i], &deadline, a, &hours);
    return small;
}

enum status
engine_explain(struct engine *en, const struct query *q,
               bool (*gone)(void *ctx), void *gone_ctx, struct arena *a,
               struct explained **out, struct error *e)
{
    struct deadline deadline =
        deadline_start(en->options.timeout_ms, gone, gone_ctx);
    enum status status = ST_OK;

    OBJ_CHECK(en, ENGINE_MAGIC);
    *out = arena_array(a, q->subs_len, sizeof **out);
    if (*out == NULL)
        return query_no_memory(e);
    for (size_t i = 0; i < q->subs_len && status == ST_OK; i++)
        status = explain_subquery(&en->context, en->options.rollups, q,
                                  &q->subs[i], &deadline, a, &(*out)[i], e);
    return status;
}

/* Deletes in the series itself, or in the rollups that were read for it. */
static enum status
delete_series(struct engine *en, int64_t from, int64_t to, struct slice tsuid,
              const struct rollup_use *use, uint64_t *deleted, uint64_t *lsn,
              struct error *e)
{
    uint64_t kinds[2] = { use == NULL ? 0 : use->kind,
                          use == NULL ? 0 : use->count_kind };
    enum status status = ST_OK;

    if (use != NULL && use->interval != NULL)
        rollup_stored_range(use->interval, from, to, &from, &to);
    for (size_t i = 0; i < 2 && status == ST_OK; i++) {
        uint8_t bytes[TSUID_MAX];
        struct slice stored = tsuid;
        uint64_t gone = 0;

        if (i == 1 && kinds[i] == 0)
            break;
        if (kinds[i] != 0)
            stored =
                slice_of(bytes, series_add_kind(store_layout(en->context.store),
                                                tsuid, kinds[i], bytes));
        if (from <= to)
            status = store_delete(en->context.store, stored, from, to, &gone,
                                  lsn, e);
        *deleted += gone;
    }
    return status;
}

static enum status
delete_group(struct engine *en, const struct query *q,
             const struct result_group *g, uint64_t *deleted, uint64_t *lsn,
             struct error *e)
{
    enum status status = ST_OK;

    for (size_t k = 0; k < g->tsuids_len && status == ST_OK; k++) {
        bool first = k < g->split_tsuids;
        int64_t from = first || g->split_ms == 0 ? q->start_ms : g->split_ms;
        uint64_t gone = 0;

        status = histograms_wanted(g->sub)
                     ? histogram_delete(en->context.store, g->tsuids[k],
                                        q->start_ms, q->end_ms, &gone, lsn, e)
                     : delete_series(en, from, first ? g->split_ms : q->end_ms,
                                     g->tsuids[k],
                                     first ? g->split_rollup : g->rollup, &gone,
                                     lsn, e);
        *deleted += gone;
    }
    return status;
}

enum status
engine_delete(struct engine *en, const struct query *q,
              const struct query_result *result, uint64_t *deleted,
              struct error *e)
{
    enum status status = ST_OK;
    uint64_t lsn = 0;

    OBJ_CHECK(en, ENGINE_MAGIC);
    *deleted = 0;
    for (size_t i = 0; i < result->groups_len && status == ST_OK; i++)
        status = delete_group(en, q, &result->groups[i], deleted, &lsn, e);
    if (status == ST_OK && lsn != 0)
        status = store_commit(en->context.store, lsn, false, e);
    return status;
}
