/* See query/engine/engine.h. */
#include "config.h"

#include "query/engine/engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/latency.h"
#include "base/mem.h"
#include "base/obj.h"
#include "query/answer/answer.h"
#include "query/fetch/fetch.h"
#include "query/histogram/histograms.h"
#include "query/plan/plan.h"
#include "query/model/rollup.h"
#include "query/answer/rollup_raw_merge.h"
#include "query/engine/subqueries.h"
#include "storage/histogram/histogram_table.h"

#define ENGINE_MAGIC FOURCC('E', 'N', 'G', 'N')

#define MB ((size_t)1 << 20)

struct engine {
    uint32_t magic;
    struct plan_context context;
    struct engine_options options;
    struct arena_budget budget; /* of all that run */
    struct pool *pool;
    struct latency latency; /* of reading points */
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
    struct engine *en = *ep;

    *ep = NULL;
    if (en == NULL)
        return;
    OBJ_CHECK(en, ENGINE_MAGIC);
    pool_free(&en->pool);
    OBJ_CLEAR(en);
    free(en);
}

/* What takes less is done before another thread would have woken up. */
#define HELP_US 1000

const struct latency *
engine_latency(const struct engine *en)
{
    OBJ_CHECK(en, ENGINE_MAGIC);
    return &en->latency;
}

/* -- one sub-query --------------------------------------------------------- */

static void
set_limits(const struct engine *en, const struct query *q,
           const struct sub_query *sq, struct fetch_limits *limits)
{
    struct engine_limits found = { 0, 0 };

    if (en->options.limits != NULL)
        en->options.limits(en->options.limits_ctx, q, sq, &found);
    limits->max_points = found.points;
    limits->max_bytes = found.bytes;
    fetch_limits_forget(limits);
}

/* The counts that belong to an average's sums, in '*f' already. */
static enum status
join_counts(struct engine *en, const struct query *q,
            const struct sub_query *sq, struct fetch_limits *limits,
            struct arena *a, struct fetch *f, struct error *e)
{
    const struct key_layout *layout = store_layout(en->context.store);
    struct rollup_use use = { sq->rollup->interval, sq->rollup->count_kind, 0 };
    struct sub_query counts = *sq;
    struct plan p;
    struct fetch more = { 0 };
    enum status status;

    counts.rollup = &use;
    status = plan_make(&en->context, q, &counts, a, &p, e);
    if (status != ST_OK)
        return status;
    if (!p.empty)
        status = fetch_run(&en->context, &p, NULL, en->pool, limits, &more, e);
    if (status == ST_OK)
        status = fetch_unroll(layout, q, &counts, &more, a, e);
    if (status == ST_OK)
        status = fetch_join_counts(f, &more, a, e);
    fetch_fini(&more);
    plan_fini(&p);
    return status;
}

static enum status
read_series(struct engine *en, const struct query *q,
            const struct sub_query *sq, const struct plan *p,
            struct fetch_limits *limits, struct arena *a, struct fetch *f,
            struct error *e)
{
    struct stream_downsampler downsampler;
    bool folds = stream_downsampler_init(&downsampler, q, sq);
    enum status status = ST_OK;

    *f = (struct fetch){ 0 };
    if (folds)
        stream_downsampler_make_grid(&downsampler, a);
    if (!p->empty)
        status = fetch_run(&en->context, p, folds ? &downsampler : NULL,
                           en->pool, limits, f, e);
    if (status == ST_OK && sq->rollup != NULL)
        status = fetch_unroll(store_layout(en->context.store), q, sq, f, a, e);
    if (status == ST_OK && sq->rollup != NULL && sq->rollup->count_kind != 0)
        status = join_counts(en, q, sq, limits, a, f, e);
    return status;
}

/* The groups belong to the sub-query as it was asked. */
static enum status
answer(struct engine *en, const struct query *q, const struct sub_query *asked,
       const struct rollup_try *t, const struct plan *p, const struct fetch *f,
       struct fetch_limits *limits, struct arena *a, struct part *out,
       struct result_stats *stats, struct error *e)
{
    struct answer w = {
        .context = &en->context,
        .pool = en->pool,
        .threads = en->options.threads,
        .query_bytes = en->options.query_bytes,
        .q = q,
        .sq = &t->sub,
        .plan = p,
        .fetch = f,
        .limits = limits,
        .chunks = out->chunks,
        .like = { .sub = asked, .rollup_table = rollup_try_table(t) },
    };

    if (t->sub.rollup != NULL) {
        struct rollup_use *use = arena_alloc(a, sizeof *use);

        if (use == NULL)
            return error_set(e, ST_LIMIT, "no memory for the groups");
        *use = t->use;
        w.like.rollup = use;
    }
    return answer_make(&w, a, out, stats, e);
}

static void
keep_scans(const struct fetch *f, struct arena *a, struct result_stats *stats)
{
    size_t size = f->scans_len * sizeof *f->scans;

    stats->scan = f->counts;
    stats->series = f->len;
    stats->points = f->points;
    stats->scans = arena_alloc(a, size);
    stats->scans_len = stats->scans == NULL ? 0 : f->scans_len;
    if (stats->scans_len > 0)
        memcpy(stats->scans, f->scans, size);
}

/* One way of running a sub-query; '*found' is whether there were series. */
static enum status
run_try(struct engine *en, const struct query *q, const struct sub_query *asked,
        const struct rollup_try *t, struct fetch_limits *limits,
        struct arena *a, struct part *out, struct result_stats *stats,
        bool *found, struct error *e)
{
    int64_t at_us = clock_monotonic_us(), now_us;
    const struct sub_query *sq = &t->sub;
    struct plan p;
    struct fetch f = { 0 };
    enum status status = plan_make(&en->context, q, sq, a, &p, e);
    char *text;

    if (status != ST_OK)
        return status;
    if (t->missing.status != ST_OK) {
        *e = t->missing;
        plan_fini(&p);
        return e->status;
    }
    text = arena_strdup(a, slice_str(p.text));
    stats->plan = text == NULL ? "" : text;
    now_us = clock_monotonic_us();
    stats->plan_us += now_us - at_us;
    at_us = now_us;
    status = read_series(en, q, sq, &p, limits, a, &f, e);
    now_us = clock_monotonic_us();
    stats->scan_us += now_us - at_us;
    keep_scans(&f, a, stats);
    /* Notes lie among points, never among rollups. */
    if (status == ST_OK && en->options.annotations != NULL &&
        sq->rollup == NULL)
        status = fetch_add_noted(&en->context, sq, &p, en->options.annotations,
                                 a, &f, e);
    *found = f.len > 0;
    if (status == ST_OK && *found) {
        status = answer(en, q, asked, t, &p, &f, limits, a, out, stats, e);
        stats->numbers_us = clock_monotonic_us() - now_us;
    }
    fetch_fini(&f);
    plan_fini(&p);
    return status;
}

static enum status
run_histograms(struct engine *en, const struct query *q,
               const struct sub_query *sq, struct fetch_limits *limits,
               struct arena *a, struct part *out, struct result_stats *stats,
               struct error *e)
{
    int64_t at_us = clock_monotonic_us(), now_us;
    struct plan p;
    const struct histograms_job job = {
        .context = &en->context,
        .q = q,
        .sq = sq,
        .plan = &p,
        .limits = limits,
        .codec = en->options.histogram_codec - 1,
        .arena = a,
    };
    enum status status = plan_make(&en->context, q, sq, a, &p, e);
    char *text;

    if (status != ST_OK)
        return status;
    text = arena_strdup(a, slice_str(p.text));
    stats->plan = text == NULL ? "" : text;
    now_us = clock_monotonic_us();
    stats->plan_us = now_us - at_us;
    if (!p.empty)
        status = histograms_run(&job, &out->groups, &out->len, stats, e);
    stats->scan_us = clock_monotonic_us() - now_us;
    for (size_t i = 0; i < out->len; i++)
        out->groups[i].rollup_table = "raw";
    plan_fini(&p);
    return status;
}

/* One way after the other, until one finds something. */
static enum status
run_tries(struct engine *en, const struct query *q, const struct sub_query *sq,
          struct rollup_try *t, struct fetch_limits *limits, struct arena *a,
          struct part *out, struct result_stats *stats, struct error *e)
{
    bool again = true, found = false;
    enum status status = ST_OK;

    fetch_limits_release(limits);
    while (status == ST_OK && again) {
        again = false;
        status = run_try(en, q, sq, t, limits, a, out, stats, &found, e);
        if (status == ST_OK && !found)
            status = rollup_try_next(t, &again, e);
    }
    return status;
}

static void
add_counts(struct scan_counts *to, const struct scan_counts *more)
{
    to->rows += more->rows;
    to->head_rows += more->head_rows;
    to->bytes += more->bytes;
    to->keys += more->keys;
    to->seeks += more->seeks;
}

static void
add_stats(struct result_stats *to, const struct result_stats *more)
{
    add_counts(&to->scan, &more->scan);
    for (size_t i = 0; i < to->scans_len && i < more->scans_len; i++) {
        add_counts(&to->scans[i].scan, &more->scans[i].scan);
        to->scans[i].points += more->scans[i].points;
        to->scans[i].us += more->scans[i].us;
    }
    if (to->scans_len == 0) {
        to->scans = more->scans;
        to->scans_len = more->scans_len;
    }
    to->series += more->series;
    to->points += more->points;
    to->points_out += more->points_out;
    to->plan_us += more->plan_us;
    to->scan_us += more->scan_us;
    to->numbers_us += more->numbers_us;
}

/* Rollups up to 'at_ms', points from there on: see
 * query/answer/rollup_raw_merge.h. */
static enum status
run_split(struct engine *en, const struct query *q, const struct sub_query *sq,
          struct rollup_try *t, int64_t at_ms, struct fetch_limits *limits,
          struct arena *a, struct part *out, struct result_stats *stats,
          struct error *e)
{
    struct query before = *q, after = *q;
    struct rollup_try points = *t;
    struct result_stats rollup_stats = { 0 };
    struct part parts[2] = { { .len = 0 }, { .len = 0 } };
    enum status status = rollup_try_points(&points, sq, e);

    if (status != ST_OK)
        return status;
    if (at_ms <= q->start_ms)
        return run_tries(en, q, sq, &points, limits, a, out, stats, e);
    before.end_ms = after.start_ms = at_ms;
    before.whole_hours = after.whole_hours = true;
    status =
        run_tries(en, &before, sq, t, limits, a, &parts[0], &rollup_stats, e);
    if (status == ST_OK)
        status =
            run_tries(en, &after, sq, &points, limits, a, &parts[1], stats, e);
    add_stats(stats, &rollup_stats);
    if (status == ST_OK)
        status = split_merge(&parts[0], &parts[1],
                             aggregator_is_none(sq->aggregator), q, at_ms, a,
                             out, e);
    part_fini(&parts[0]);
    part_fini(&parts[1]);
    return status;
}

/* Its groups are kept, and then written if need be. */
static enum status
run_kept(struct engine *en, const struct query *q, const struct sub_query *sq,
         struct rollup_try *t, int64_t at_ms, struct fetch_limits *limits,
         struct arena *a, struct part *out, struct result_stats *stats,
         struct error *e)
{
    struct chunks *chunks = out->chunks;
    enum status status;

    out->chunks = NULL;
    if (t == NULL)
        status = run_histograms(en, q, sq, limits, a, out, stats, e);
    else
        status = run_split(en, q, sq, t, at_ms, limits, a, out, stats, e);
    for (size_t i = 0; i < out->len; i++)
        out->groups[i].is_split = t != NULL;
    if (status != ST_OK || chunks == NULL)
        return status;
    status = answer_write(out, (size_t)(sq - q->subs), en->pool, chunks, a, e);
    part_fini(out);
    return status;
}

static enum status
run_sub(struct engine *en, const struct query *q, const struct sub_query *sq,
        struct fetch_limits *limits, struct arena *a, struct part *out,
        struct result_stats *stats, struct error *e)
{
    struct rollup_try t;
    int64_t at_ms;
    enum status status;

    set_limits(en, q, sq, limits);
    if (histograms_wanted(sq))
        return run_kept(en, q, sq, NULL, 0, limits, a, out, stats, e);
    status =
        rollup_try_first(&t, en->options.rollups, en->context.series, sq, e);
    if (status != ST_OK)
        return status;
    return split_wanted(&t, q, &at_ms)
               ? run_kept(en, q, sq, &t, at_ms, limits, a, out, stats, e)
               : run_tries(en, q, sq, &t, limits, a, out, stats, e);
}

static enum status
join_parts(struct part *parts, size_t len, struct arena *a,
           struct query_result *out, struct error *e)
{
    size_t total = 0;

    if (len == 1 && parts[0].owned == NULL) {
        out->groups = parts[0].groups;
        out->groups_len = parts[0].len;
        return ST_OK;
    }
    for (size_t i = 0; i < len; i++)
        total += parts[i].len;
    out->groups = arena_alloc(a, total * sizeof *out->groups);
    if (out->groups == NULL)
        return error_set(e, ST_LIMIT, "no memory for the groups");
    for (size_t i = 0; i < len; i++) {
        if (parts[i].len > 0)
            memcpy(out->groups + out->groups_len, parts[i].groups,
                   parts[i].len * sizeof *out->groups);
        out->groups_len += parts[i].len;
        part_fini(&parts[i]);
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
run_one(void *ctx, size_t i, struct sub_run *r)
{
    const struct running *run = ctx;
    enum status status;

    r->part.chunks = run->chunks;
    status = run_sub(run->en, run->q, &run->q->subs[i], &r->limits, r->arena,
                     &r->part, &r->stats, &r->error);
    latency_add(&run->en->latency, (uint64_t)r->stats.scan_us);
    return status;
}

static enum status
run(struct engine *en, const struct query *asked, bool (*gone)(void *ctx),
    void *gone_ctx, struct chunks *chunks, struct arena *a,
    struct query_result *out, struct parse_error *e)
{
    struct query with_deadline = *asked, *q = &with_deadline;
    struct running run = { en, q, chunks };
    const struct subs subs = {
        .len = q->subs_len,
        .run = run_one,
        .ctx = &run,
        .pool = en->pool,
        .worth_us = HELP_US,
        .max_memory = en->options.query_bytes,
        .budget = &en->budget,
        .deadline = deadline_start(en->options.timeout_ms, gone, gone_ctx),
    };
    struct part *parts = arena_array(a, q->subs_len, sizeof *parts);
    enum status status;

    OBJ_CHECK(en, ENGINE_MAGIC);
    q->deadline = &subs.deadline;
    *out = (struct query_result){ .stats_len = q->subs_len,
                                  .deadline = subs.deadline };
    e->details[0] = '\0';
    out->stats = arena_array(a, q->subs_len, sizeof *out->stats);
    if (parts == NULL || out->stats == NULL)
        return error_set(&e->message, ST_LIMIT, "no memory for the query");
    status = subs_run(&subs, a, parts, out->stats, &e->message);
    if (status == ST_OK)
        status = join_parts(parts, q->subs_len, a, out, &e->message);
    for (size_t i = 0; i < q->subs_len; i++)
        part_fini(&parts[i]);
    return status;
}

enum status
engine_run(struct engine *en, const struct query *q, bool (*gone)(void *ctx),
           void *gone_ctx, struct arena *a, struct query_result *out,
           struct parse_error *e)
{
    return run(en, q, gone, gone_ctx, NULL, a, out, e);
}

enum status
engine_write(struct engine *en, const struct query *q, bool (*gone)(void *ctx),
             void *gone_ctx, struct chunks *chunks, struct arena *a,
             struct query_result *out, struct parse_error *e)
{
    chunks->metric_width = store_layout(en->context.store)->metric_width;
    chunks_init(chunks, q->subs_len);
    return run(en, q, gone, gone_ctx, chunks, a, out, e);
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
delete_histograms(struct engine *en, const struct query *q, struct slice tsuid,
                  uint64_t *deleted, uint64_t *lsn, struct error *e)
{
    uint64_t gone;
    enum status status = histogram_delete(en->context.store, tsuid, q->start_ms,
                                          q->end_ms, &gone, lsn, e);

    *deleted += gone;
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

        status =
            histograms_wanted(g->sub)
                ? delete_histograms(en, q, g->tsuids[k], deleted, lsn, e)
                : delete_series(
                      en, first || g->split_ms == 0 ? q->start_ms : g->split_ms,
                      first ? g->split_ms : q->end_ms, g->tsuids[k],
                      first ? g->split_rollup : g->rollup, deleted, lsn, e);
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
