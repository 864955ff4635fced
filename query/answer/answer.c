/* See query/answer/answer.h.  Groups that are written are made in memory that
 * is used again for the next ones: what a million of them need comes from the
 * processor's caches then. */
#include "query/answer/answer.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "query/aggregate/aggregate.h"
#include "query/answer/group.h"
#include "query/answer/tag_texts.h"

/* A query with less is done before another thread would have woken up. */
#define POINTS_ALONE 16384
#define GROUPS_ALONE 128
/* Each task takes neighbouring groups, about CHUNKS_A_TASK times, and at most
 * GROUPS_MOST of them at a time. */
#define CHUNKS_A_TASK 4
#define GROUPS_MOST   64
#define WRITTEN_MOST  512 /* the same of groups that are written */
/* How many series ahead are prefetched: their points, their structs. */
#define PREFETCH_POINTS 4
#define PREFETCH_SERIES 8
/* Groups whose tags are looked for at once. */
#define TAGS_AT_ONCE 64

/* Some groups of a sub-query, ascending. */
struct task {
    struct arena *arena;   /* of the answer */
    struct arena *tags;    /* of groups that are written: for a chunk */
    struct arena *scratch; /* for a group */
    struct names names;
    enum status status;
    struct error error;
    size_t failed_at; /* the group */
    uint64_t points_out;
    uint64_t epoch; /* of the names */
    struct tag_text known[TAGS_AT_ONCE];
    struct deadline deadline;
};

struct job {
    const struct answer_job *w;
    const struct key_layout *layout;
    const struct grouping *g;
    struct result_group *groups; /* NULL: they are written */
    struct task *tasks;
    size_t tasks_len;
    size_t chunk_len;    /* groups that a task takes at a time */
    _Atomic size_t next; /* group that no task has */
};

/* -- numbers --------------------------------------------------------------- */

/* Its numbers, in 'a'. */
static enum status
run_numbers(const struct job *job, struct task *t, const struct group *group,
            struct arena *a, struct dps *out)
{
    const struct answer_job *w = job->w;
    struct column one = { 0 }, *series = &one;
    size_t steps = group->len;
    enum status status;

    if (group->len > 1)
        series = arena_array_raw(a, group->len, sizeof *series);
    if (series == NULL)
        return error_no_memory(&t->error);
    for (size_t k = 0; k < group->len; k++) {
        series[k] = fetched_data(w->fetch, job->g->order[group->first + k]);
        steps += series[k].len;
    }
    /* One task leaves all other threads to its groups. */
    status = aggregate_group(
        &(struct aggregate_job){ .q = w->q,
                                 .sq = w->sq,
                                 .reading = w->reading,
                                 .workers =
                                     job->tasks_len == 1 ? w->workers : NULL,
                                 .deadline = &t->deadline },
        series, group->len, a, out, &t->error);
    if (status != ST_OK)
        return status;
    t->points_out += out->len;
    return deadline_tick(&t->deadline, out->len + steps, &t->error);
}

/* -- a group -------------------------------------------------------------- */

/* Those of one series whose tags are known are not described. */
static enum status
describe(const struct job *job, struct task *t, size_t i, struct slice known,
         struct result_group *out)
{
    const struct fetched *series;

    if (known.size == 0)
        return group_describe(job->layout, &t->names, job->g, i, false, t->tags,
                              out, &t->error);
    series = job->g->order[job->g->groups[i].first];
    out->tsuids = arena_copy(t->tags, &series->tsuid, sizeof *out->tsuids);
    out->tsuids_len = 1;
    if (out->tsuids == NULL)
        return error_no_memory(&t->error);
    return names_get(&t->names, UID_METRIC,
                     tsuid_metric_id(job->layout, series->tsuid), &out->metric,
                     &t->error);
}

/* What a lazy query may do without: its group has the error. */
static enum status
keep_failure(struct task *t, struct result_group *out)
{
    out->failed = arena_copy(t->arena, &t->error, sizeof t->error);
    return out->failed == NULL ? ST_LIMIT : ST_OK;
}

static enum status
keep_group(const struct job *job, struct task *t, size_t i)
{
    const struct group *group = &job->g->groups[i];
    struct result_group *out = &job->groups[i];
    struct dps dps = { 0 };
    enum status status;

    *out = job->w->like;
    out->key = group->key;
    if (group->key.size > 0 && !arena_keep(t->arena, &out->key))
        return error_no_memory(&t->error);
    status = group_describe(job->layout, &t->names, job->g, i, true, t->arena,
                            out, &t->error);
    if (status != ST_OK || group->len == 0)
        return status;
    status = run_numbers(job, t, group, t->scratch, &dps);
    if (status == ST_OK && !dps_copy(t->arena, &dps, &out->dps))
        status = error_no_memory(&t->error);
    return status == ST_INVALID && job->w->q->lazy ? keep_failure(t, out)
                                                   : status;
}

static enum status
write_group(const struct job *job, struct task *t, size_t i,
            struct tag_text *tags)
{
    const struct group *group = &job->g->groups[i];
    size_t sub = job->w->like.sub->index;
    struct result_group out = job->w->like;
    struct slice text = tags->text;
    enum status status = describe(job, t, i, text, &out);

    if (status == ST_OK && group->len > 0)
        status = run_numbers(job, t, group, t->scratch, &out.dps);
    if (status == ST_OK)
        status = chunks_put(job->w->chunks, sub, i, &out, &text, &t->error);
    if (status != ST_OK)
        return status;
    if (tags->pairs.size > 0 && tags->text.size == 0 &&
        arena_keep(t->tags, &text))
        tags->text = text;
    else
        tags->pairs.size = 0; /* not to be added */
    return ST_OK;
}

/* -- tasks ----------------------------------------------------------------- */

/* Series lie in memory in the order in which they were read, not in that of the
 * groups: prefetches the series of the groups that follow, before 'end' of the
 * order. */
static inline __attribute__((always_inline)) void
prefetch_series(const struct job *job, size_t i, size_t end)
{
    size_t at = job->g->groups[i].first;
    const struct fetched *series;

    if (at + PREFETCH_SERIES >= end)
        return;
    __builtin_prefetch(job->g->order[at + PREFETCH_SERIES]);
    __builtin_prefetch((const char *)job->g->order[at + PREFETCH_SERIES] + 64);
    __builtin_prefetch((const char *)job->g->order[at + PREFETCH_SERIES] + 128);
    series = job->g->order[at + PREFETCH_POINTS];
    __builtin_prefetch(series->tsuid.data);
    if (job->w->fetch->downsampled) {
        __builtin_prefetch(fetched_acc(job->w->fetch, series)->ts);
        __builtin_prefetch(fetched_acc(job->w->fetch, series)->v);
    }
}

/* Groups from .. end - 1, at most TAGS_AT_ONCE. */
static void
run_groups(const struct job *job, struct task *t, size_t from, size_t end)
{
    bool written = job->groups == NULL;

    for (size_t i = from; i < end && t->status == ST_OK; i++) {
        t->failed_at = i;
        t->status = written ? write_group(job, t, i, &t->known[i - from])
                            : keep_group(job, t, i);
        arena_reset(t->scratch);
    }
    if (!written)
        return;
    if (t->status == ST_OK)
        tag_texts_add(job->w->tag_texts, t->epoch, t->known, end - from,
                      job->g->groups_len);
    arena_reset(t->tags);
}

/* Groups from .. end - 1, of those that there are.  Others are other tasks',
 * and so are their series. */
static void
run_chunk(const struct job *job, struct task *t, size_t from, size_t end)
{
    size_t order_end = job->g->order_len;

    if (end < job->g->groups_len)
        order_end = job->g->groups[end].first;
    else
        end = job->g->groups_len;
    for (size_t i = from; i < end && t->status == ST_OK; i += TAGS_AT_ONCE) {
        size_t stop = end - i < TAGS_AT_ONCE ? end : i + TAGS_AT_ONCE;
        size_t metric_width = job->layout->metric_width;

        /* Reads the series of groups from .. end - 1, before 'order_end' of the
         * order, and finds what is known of the tags of those of one series. */
        for (size_t k = i; k < stop; k++) {
            struct group *group = &job->g->groups[k];
            struct slice tsuid, *pairs = &t->known[k - i].pairs;

            prefetch_series(job, k, order_end);
            drop_series_out_of_range(job->w->reading, job->w->fetch, job->g,
                                     group);
            tsuid = job->g->order[group->first]->tsuid;
            *pairs = group->len == 1 && group->annotated_only == 0
                         ? slice_of(tsuid.data + metric_width,
                                    tsuid.size - metric_width)
                         : (struct slice){ NULL, 0 };
        }
        if (job->groups == NULL)
            tag_texts_find(job->w->tag_texts, t->epoch, t->known, stop - i,
                           t->tags);
        run_groups(job, t, i, stop);
    }
}

static void
run_task(void *ctx, size_t at)
{
    struct job *job = ctx;
    const struct answer_job *w = job->w;
    struct task *t = &job->tasks[at];

    t->arena = arena_new_within(0, w->limits->budget);
    t->tags = arena_new_within(0, w->limits->budget);
    t->scratch = arena_new_within(0, w->limits->budget);
    t->deadline = w->limits->deadline;
    t->epoch = uid_epoch(w->context->uids);
    names_init(&t->names, w->context->uids, t->arena);
    while (t->status == ST_OK) {
        size_t i = atomic_fetch_add(&job->next, job->chunk_len);

        if (i >= job->g->groups_len)
            break;
        t->failed_at = i;
        t->status = fetch_check_limits(w->limits, &t->error);
        run_chunk(job, t, i, i + job->chunk_len);
    }
    if (t->status != ST_OK) /* what is behind it need not be done */
        atomic_store(&job->next, job->g->groups_len);
    arena_free(&t->scratch);
    arena_free(&t->tags);
}

/* Whether they have fewer points than another thread is worth.  What the fetch
 * holds in bytes does not say so: most of it are the series themselves. */
static bool
few_points(const struct job *job)
{
    size_t points = 0;

    for (size_t i = 0; i < job->g->order_len && points < POINTS_ALONE; i++)
        points += fetched_data(job->w->fetch, job->g->order[i]).len;
    return points < POINTS_ALONE;
}

static enum status
run_tasks(struct job *job, struct arena *a, struct result_stats *stats,
          struct error *e)
{
    const struct answer_job *w = job->w;
    const struct task *failed = NULL;
    enum status status = ST_OK;

    if (w->chunks != NULL && !chunks_begin(w->chunks, w->like.sub->index,
                                           job->g->groups_len, job->chunk_len))
        return error_no_memory(e);
    atomic_store(&job->next, 0);
    stats->points_out = 0;
    job->tasks = mem_new_array(job->tasks_len, sizeof *job->tasks);
    workers_run(w->workers, job->tasks_len, run_task, job);
    for (size_t i = 0; i < job->tasks_len; i++) {
        const struct task *t = &job->tasks[i];

        stats->points_out += t->points_out;
        if (t->status != ST_OK &&
            (failed == NULL || t->failed_at < failed->failed_at))
            failed = t;
        if (status == ST_OK && !arena_absorb(a, &job->tasks[i].arena))
            status = error_no_memory(e);
        arena_free(&job->tasks[i].arena);
    }
    if (failed != NULL) {
        status = failed->status;
        *e = failed->error;
    }
    free(job->tasks);
    return status;
}

/* Each task has the numbers of a group in memory.  If these were together more
 * than the memory of the query, one task makes one group after the other. */
static enum status
run_groups_within(struct job *job, struct arena *a, struct result_stats *stats,
                  struct error *e)
{
    const struct budget *budget = job->w->limits->budget;
    size_t refused = budget == NULL ? 0 : atomic_load(&budget->refused);
    enum status status = run_tasks(job, a, stats, e);

    if (status == ST_LIMIT && job->tasks_len > 1 && budget != NULL &&
        atomic_load(&budget->refused) != refused) {
        job->tasks_len = 1;
        status = run_tasks(job, a, stats, e);
    }
    return status;
}

#define NAMES_AT_ONCE 1024

/* Where a name costs a round trip, those of all groups are read into the cache,
 * many at once.  What fails is told when the name is asked for; without memory
 * for all of them it is read then, too. */
static void
read_names_ahead(const struct job *job)
{
    const struct plan_context *c = job->w->context;
    const struct key_layout *layout = job->layout;
    struct slice names[NAMES_AT_ONCE];
    struct arena *ids = arena_new_within(0, job->w->limits->budget);
    struct arena *scratch = arena_new_within(0, job->w->limits->budget);
    struct deadline deadline = job->w->limits->deadline;
    uint64_t *tagvs = NULL;
    size_t len = 0, cap = 0;

    for (size_t i = 0; i < job->g->groups_len; i++) {
        struct slice tsuid = job->g->order[job->g->groups[i].first]->tsuid;

        for (size_t k = 0; k < tsuid_tags(layout, tsuid); k++) {
            uint64_t *more = arena_grow(ids, tagvs, len, &cap, sizeof *tagvs);

            if (more == NULL)
                break;
            tagvs = more;
            tagvs[len++] = tsuid_tagv_id(layout, tsuid, k);
        }
    }
    len = len == 0 ? 0 : sort_unique_u64(tagvs, len);
    for (size_t i = 0, n; i < len; i += n) {
        if (deadline_check(&deadline, NULL) != ST_OK)
            break;
        n = len - i < NAMES_AT_ONCE ? len - i : NAMES_AT_ONCE;
        (void)(uid_name_many(c->uids, UID_TAGV, tagvs + i, n, scratch, names,
                             NULL) == ST_OK);
        arena_reset(scratch);
    }
    arena_free(&scratch);
    arena_free(&ids);
}

enum status
answer_groups(const struct answer_job *w, struct arena *a,
              struct subquery_result *out, struct result_stats *stats,
              struct error *e)
{
    struct arena *scratch = arena_new_within(0, w->limits->budget);
    struct grouping g;
    struct job job = { .w = w,
                       .layout = store_layout(w->context->store),
                       .g = &g };
    enum status status =
        group_series(w->context, w->plan, w->sq->aggregator->kind == KIND_NONE,
                     w->fetch, scratch, &g, e);

    stats->nameless += g.nameless;
    if (status == ST_OK && w->chunks == NULL) {
        out->groups = arena_array(a, g.groups_len, sizeof *out->groups);
        out->len = g.groups_len;
        status = out->groups == NULL ? error_no_memory(e) : ST_OK;
    }
    if (status == ST_OK && g.groups_len > 0) {
        size_t most;

        stats->joins_series |= g.groups_len < g.order_len;
        job.groups = out->groups;
        most = job.groups == NULL ? WRITTEN_MOST : GROUPS_MOST;
        job.tasks_len = job.w->threads + 1;
        if (job.g->groups_len < GROUPS_ALONE && few_points(&job))
            job.tasks_len = 1;
        if (job.tasks_len > job.g->groups_len)
            job.tasks_len = job.g->groups_len;
        INSIST(job.tasks_len > 0);
        job.chunk_len = job.g->groups_len / job.tasks_len / CHUNKS_A_TASK;
        job.chunk_len = job.chunk_len < 1      ? 1
                        : job.chunk_len > most ? most
                                               : job.chunk_len;
        if (kv_traits(store_kv(w->context->store))->shared)
            read_names_ahead(&job);
        status = run_groups_within(&job, a, stats, e);
        if (status == ST_OK && w->chunks != NULL)
            status = chunks_end(w->chunks, w->like.sub->index, e);
    }
    arena_free(&scratch);
    return status;
}

/* -- groups that were made before ------------------------------------------ */

struct writing {
    const struct subquery_result *result;
    size_t sub;
    struct chunks *chunks;
    atomic_bool failed;
    struct error *e; /* the first failure in time */
};

static void
write_chunk(void *ctx, size_t chunk)
{
    struct writing *w = ctx;

    for (size_t i = chunk * GROUPS_MOST;
         i < w->result->len && i < (chunk + 1) * GROUPS_MOST && !w->failed;
         i++) {
        struct slice tags = { NULL, 0 };
        struct error e;

        if (chunks_put(w->chunks, w->sub, i, &w->result->groups[i], &tags,
                       &e) != ST_OK &&
            !atomic_exchange(&w->failed, true))
            *w->e = e;
    }
}

enum status
answer_write(const struct subquery_result *result, size_t sub,
             struct workers *workers, struct chunks *chunks, struct error *e)
{
    struct writing w = { result, sub, chunks, false, e };

    if (!chunks_begin(chunks, sub, result->len, GROUPS_MOST))
        return error_no_memory(e);
    workers_run(workers, (result->len + GROUPS_MOST - 1) / GROUPS_MOST,
                write_chunk, &w);
    return w.failed ? e->status : chunks_end(chunks, sub, e);
}
