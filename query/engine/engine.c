#include "query/engine/engine.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/process/clock.h"
#include "base/obj.h"
#include "query/answer/chunks.h"
#include "query/engine/engine_priv.h"
#include "storage/histogram/histogram_table.h"
#include "storage/store/owners.h"

#define MB ((size_t)1 << 20)

struct engine *
engine_new(struct store *s, struct uid_table *u, struct series_directory *d,
           const struct engine_options *o)
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
                     .force_path = o->force_path - 1 },
    };
    en->workers = workers_new(en->options.threads);
    en->tag_texts = tag_texts_new(TAG_TEXTS_BYTES);
    return en;
}

void
engine_free(struct engine **ep)
{
    struct engine *en = OBJ_TAKE(ep, ENGINE_MAGIC);

    if (en == NULL)
        return;
    workers_free(&en->workers);
    tag_texts_free(&en->tag_texts);
    OBJ_FREE(en);
}

struct budget *
engine_budget(struct engine *en)
{
    OBJ_CHECK(en, ENGINE_MAGIC);
    return &en->budget;
}

const struct latency *
engine_latency(const struct engine *en)
{
    OBJ_CHECK(en, ENGINE_MAGIC);
    return &en->latency;
}

/* -- a query --------------------------------------------------------------- */

static enum status
join_results(struct subquery_result *results, size_t len, struct arena *a,
             struct query_result *out, struct error *e)
{
    size_t total = 0;

    if (len == 1) {
        out->groups = results[0].groups;
        out->groups_len = results[0].len;
        return ST_OK;
    }
    for (size_t i = 0; i < len; i++)
        total += results[i].len;
    out->groups = arena_alloc(a, total * sizeof *out->groups);
    if (out->groups == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        if (results[i].len > 0)
            memcpy(out->groups + out->groups_len, results[i].groups,
                   results[i].len * sizeof *out->groups);
        out->groups_len += results[i].len;
    }
    return ST_OK;
}

static enum status
run_scan(void *ctx, size_t i, struct subquery_run *r)
{
    const struct running *run = ctx;
    size_t first = run->scans[i].subs[0];
    const struct execution x = {
        .en = run->en,
        .q = run->q,
        .sq = &run->q->subs[first],
        .run = run,
        .scan = &run->scans[i],
        .chunks = run->chunks,
        .limits = &r->limits,
        .arena = r->arena,
        .result = &run->results[first],
        .stats = &run->stats[first],
        .e = &r->error,
    };
    enum status status;

    *x.result = (struct subquery_result){ 0 }; /* it may be the second try */
    *x.stats = (struct result_stats){ 0 };
    status = engine_execute(&x);
    latency_add(&run->en->latency, (uint64_t)x.stats->scan_us);
    return status;
}

/* With the memory of the query, in which 'a' and all that is made count. */
static enum status
run_within(struct running *run, struct cancel cancel, struct arena *a,
           struct query_result *out, struct parse_error *e)
{
    struct engine *en = run->en;
    const struct query *q = run->q;
    struct subqueries subs = {
        .run = run_scan,
        .ctx = run,
        .workers = en->workers,
        .worth_us = HELP_US,
        .budget = arena_budget(a),
        .deadline = deadline_start(en->options.timeout_ms, cancel),
    };
    enum status status;

    *out = (struct query_result){ .stats_len = q->subs_len,
                                  .deadline = subs.deadline };
    e->details[0] = '\0';
    out->stats = arena_array(a, q->subs_len, sizeof *out->stats);
    run->results = arena_array(a, q->subs_len, sizeof *run->results);
    run->stats = out->stats;
    /* Of rollups each sub-query has candidates of its own. */
    run->scans = shared_scans(q, en->options.rollups == NULL, a, &subs.len);
    if (run->results == NULL || out->stats == NULL || run->scans == NULL ||
        (run->chunks != NULL && !chunks_init(run->chunks, q->subs_len)))
        return error_no_memory(&e->message);
    /* The plan is made of names and tag-key sets in memory. */
    status = store_wait_current(en->context.store, &e->message);
    if (status == ST_OK) {
        size_t kept;

        /* All scans.  The stats of those that ran in vain are in no arena any
         * more. */
        status = subqueries_run(&subs, a, &kept, &e->message);
        for (; kept < subs.len; kept++)
            for (size_t k = 0; k < run->scans[kept].len; k++)
                run->stats[run->scans[kept].subs[k]] =
                    (struct result_stats){ 0 };
    }
    return status == ST_OK
               ? join_results(run->results, q->subs_len, a, out, &e->message)
               : status;
}

/* The budget of all queries, or the part of it in which 'a' counts: that of the
 * client. */
static struct budget *
budget_of_client(struct engine *en, struct arena *a)
{
    struct budget *part = arena_budget(a);

    /* A counted budget is that of an earlier query with the same arena. */
    while (part != NULL && atomic_load(&part->refs) > 0)
        part = part->parent;
    for (struct budget *b = part; b != NULL; b = b->parent)
        if (b == &en->budget)
            return part;
    return &en->budget;
}

/* Was a query refused memory only because other queries had it?  Then the same
 * query succeeds later. */
static bool
lacked_memory_of_others(const struct budget *budget,
                        const struct deadline *deadline)
{
    size_t above = atomic_load(&budget->refused_above);

    return above > 0 && above == atomic_load(&budget->refused) &&
           (deadline->end_us == 0 || clock_monotonic_us() < deadline->end_us);
}

enum status
engine_run(struct engine *en, const struct query *q, struct cancel cancel,
           struct chunks *chunks, struct arena *a, struct query_result *out,
           struct parse_error *e)
{
    struct running run = { .en = en, .q = q, .chunks = chunks };
    struct budget *budget, *parent;
    size_t max;
    enum status status;

    OBJ_CHECK(en, ENGINE_MAGIC);
    parent = budget_of_client(en, a);
    max = en->options.query_bytes;
    /* A query that cannot fit into a larger budget is told so at once. */
    for (struct budget *b = parent; b != NULL; b = b->parent)
        if (b->max != 0 && b->max < max)
            max = b->max;
    budget = budget_new(max, parent);
    if (budget == NULL)
        return error_no_memory(&e->message);
    arena_set_budget(a, budget);
    status = run_within(&run, cancel, a, out, e);
    if (status == ST_LIMIT && lacked_memory_of_others(budget, &out->deadline))
        status = error_set(&e->message, ST_BUSY,
                           "The memory for queries is used up by other "
                           "queries (halite.queries.bytes). Please try again.");
    budget_unref(&budget); /* what is in the arena keeps it */
    return status;
}

bool
engine_is_small(struct engine *en, struct query *q, struct arena *a)
{
    OBJ_CHECK(en, ENGINE_MAGIC);
    return en->options.rollups == NULL && plan_is_small(&en->context, q, a);
}

enum status
engine_explain(struct engine *en, const struct query *q, struct cancel cancel,
               struct arena *a, struct explained **out, struct error *e)
{
    struct deadline deadline = deadline_start(en->options.timeout_ms, cancel);
    const struct explainer x = {
        &en->context, en->options.rollups, q, &deadline, a, e
    };
    enum status status = ST_OK;

    OBJ_CHECK(en, ENGINE_MAGIC);
    *out = arena_array(a, q->subs_len, sizeof **out);
    if (*out == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < q->subs_len && status == ST_OK; i++)
        status = explain_subquery(&x, &q->subs[i], &(*out)[i]);
    return status;
}

/* A deletion under way. */
struct deletion {
    struct engine *en;
    uint64_t deleted, lsn;
    struct error *e;
};

/* Deletes in the series itself, or in the rollups that were read for it. */
static enum status
delete_series(struct deletion *d, int64_t from, int64_t to, struct slice tsuid,
              const struct rollup_use *use)
{
    struct store *store = d->en->context.store;
    uint64_t kinds[2] = { use == NULL ? 0 : use->kind,
                          use == NULL ? 0 : use->count_kind };
    enum status status = ST_OK;

    if (use != NULL && use->interval != NULL)
        rollup_stored_range(use->interval, from, to, &from, &to);
    for (size_t i = 0; i < 2 && status == ST_OK; i++) {
        uint8_t bytes[TSUID_MAX];
        struct slice stored = tsuid;
        uint64_t n = 0;

        if (i == 1 && kinds[i] == 0)
            break;
        if (kinds[i] != 0)
            stored = slice_of(bytes, series_add_kind(store_layout(store), tsuid,
                                                     kinds[i], bytes));
        if (from <= to)
            status = store_delete(store, stored, from, to, &n, &d->lsn, d->e);
        d->deleted += n;
    }
    return status;
}

/* Where points, or histograms, were read: rollups have none. */
static enum status
delete_annotations(struct engine *en, const struct query *q,
                   const struct query_result *result, struct error *e)
{
    enum status status = ST_OK;
    uint64_t deleted;

    for (size_t i = 0; i < result->stats_len; i++)
        for (const struct annotated *a = &result->stats[i].annotated;
             a != NULL && status == ST_OK; a = a->before)
            if (a->len > 0)
                status = annotation_delete_range(
                    en->options.records,
                    &(struct annotation_query){ a->tsuids, a->len, a->from_ms,
                                                q->end_ms, NULL },
                    &deleted, e);
    return status;
}

enum status
engine_delete(struct engine *en, const struct query *q,
              const struct query_result *result, uint64_t *deleted,
              struct error *e)
{
    struct deletion d = { .en = en, .e = e };
    enum status status = ST_OK;

    OBJ_CHECK(en, ENGINE_MAGIC);
    for (size_t i = 0; i < result->groups_len && status == ST_OK; i++) {
        const struct result_group *g = &result->groups[i];

        for (size_t k = 0; k < g->tsuids_len && status == ST_OK; k++) {
            bool first = k < g->split_tsuids;
            int64_t from =
                first || g->split_ms == 0 ? q->start_ms : g->split_ms;
            uint64_t n = 0;

            status =
                histograms_wanted(g->sub)
                    ? histogram_delete(en->context.store, g->tsuids[k],
                                       q->start_ms, q->end_ms, &n, &d.lsn, e)
                    : delete_series(&d, from, first ? g->split_ms : q->end_ms,
                                    g->tsuids[k],
                                    first ? g->split_rollup : g->rollup);
            d.deleted += n;
        }
    }
    *deleted = d.deleted;
    if (status == ST_OK && d.lsn != 0)
        status = store_commit(en->context.store, d.lsn, false, e);
    return status == ST_OK ? delete_annotations(en, q, result, e) : status;
}
