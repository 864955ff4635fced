/* Series, tasks, threads; fetch_rows.c: what comes of a row. */
#include "query/fetch/fetch_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define ROWS_BETWEEN_CHECKS 256
/* So few rows are one thread's: others would have to wake up, and each to look
 * where the rows begin.  Of a pool each bucket costs round trips, which are
 * better waited for by many threads. */
#define ROWS_A_BATCH 256

/* -- series of a task ------------------------------------------------------ */

/* The first bytes behind the metric, four tags of most; zeros where there are
 * fewer. */
static void
set_head(const struct plan *p, struct fetched *f)
{
    size_t at = p->metric_id.size, left = f->tsuid.size - at;
    uint8_t bytes[sizeof f->head] = { 0 };

    memcpy(bytes, f->tsuid.data + at,
           left < sizeof bytes ? left : sizeof bytes);
    for (size_t i = 0; i < FETCHED_HEAD; i++)
        f->head[i] = key_get_uint(bytes + 8 * i, 8);
}

static struct fetched *
add_series(struct task *t, const struct store_row *row)
{
    size_t downsamplers = t->job->downsamplers.len;
    struct slice tsuid = row->tsuid;
    struct bucket_acc *more = NULL;
    struct fetched_rows *rows = NULL;
    struct fetched *f;

    /* Of a row that is kept, the head's stays. */
    if (row->block.size > 0 || downsamplers > 0)
        tsuid.data = arena_copy(t->batch->arena, tsuid.data, tsuid.size);
    if (downsamplers > 1)
        more = arena_array(t->batch->arena, downsamplers - 1, sizeof *more);
    if (fetch_collects(t->job))
        rows = arena_array(t->batch->arena, 1, sizeof *rows);
    if (tsuid.data == NULL || (downsamplers > 1 && more == NULL) ||
        (fetch_collects(t->job) && rows == NULL))
        return NULL;
    if (t->len == t->cap) {
        size_t cap = t->cap == 0 ? 64 : t->cap * 2;
        struct fetched *series =
            mem_try_resize(t->series, cap * sizeof *series);

        if (series == NULL)
            return NULL;
        /* They are copied once, when all are gathered. */
        t->new_held += (cap - t->cap) * 2 * sizeof *series;
        t->series = series;
        t->cap = cap;
    }
    f = &t->series[t->len];
    *f = (struct fetched){ .tsuid = tsuid, .more = more, .rows = rows };
    set_head(t->job->p, f);
    t->current = t->len++;
    return f;
}

static inline bool
is_series(const struct task *t, size_t i, struct slice tsuid)
{
    struct slice other = t->series[i].tsuid;

    return other.data == tsuid.data || slice_eq(other, tsuid);
}

/* For the hash table of a task. */
static bool
is_key(const void *ctx, uint32_t i, const void *key)
{
    return is_series(ctx, i, *(const struct slice *)key);
}

/* Adds the series that are not in the table. */
static bool
fill_table(struct task *t)
{
    for (size_t i = t->table.len; i < t->len; i++) {
        t->new_held += 2 * sizeof(struct table_slot);
        if (!table_try_add(&t->table,
                           hash_slice(t->series[i].tsuid, t->job->seed),
                           (uint32_t)i))
            return false;
    }
    return true;
}

/* The series behind the one that was found last. */
static size_t
expected_series(const struct task *t)
{
    return t->current + 1 < t->len ? t->current + 1 : 0;
}

/* Finds or adds; NULL when there is no memory. */
static struct fetched *
series_of(struct task *t, const struct store_row *row)
{
    struct slice tsuid = row->tsuid;
    size_t next = expected_series(t);

    if (t->len > 0 && is_series(t, t->current, tsuid))
        return &t->series[t->current];
    if (t->len == 0 || !is_series(t, next, tsuid)) {
        /* The first span's ascend: most queries need no table. */
        if (t->table.len == 0 &&
            (t->len == 0 || slice_cmp(t->series[t->len - 1].tsuid, tsuid) < 0))
            return add_series(t, row);
        if (!fill_table(t))
            return NULL;
        next = table_find(&t->table, hash_slice(tsuid, t->job->seed), is_key, t,
                          &tsuid);
        if (next == TABLE_NONE)
            return add_series(t, row);
    }
    t->current = next;
    return &t->series[next];
}

/* -- the scan -------------------------------------------------------------- */

static enum status
add_row(struct task *t, const struct store_row *row)
{
    struct fetched *f = series_of(t, row);

    if (f == NULL)
        return fetch_out_of_memory(t->job->limits, &t->error);
    return fetch_row(t, f, row);
}

static enum status
check_limits(struct task *t, struct error *e)
{
    struct fetch_limits *l = t->job->limits;
    size_t held = arena_used(t->batch->arena);

    t->new_held += held - t->batch->held;
    t->batch->held = held;
    fetch_limits_add(l, t->new_points, t->new_bytes, t->new_held);
    t->new_points = t->new_bytes = t->new_held = 0;
    return fetch_check_limits(l, e);
}

/* Asked by a scan, also while it opens or walks over keys that are not wanted. */
static bool
is_over(void *ctx)
{
    struct task *t = ctx;

    if (t->stop.status == ST_OK)
        t->stop.status = check_limits(t, &t->stop);
    return t->stop.status != ST_OK;
}

static struct scan_spec
spec_of(struct task *t)
{
    const struct downsamplers *d = &t->job->downsamplers;
    const struct plan *p = t->job->p;
    const struct plan_bucket *b = &p->buckets[t->bucket];
    enum week_hours hours = HOURS_NONE, wanted;
    bool weeks = d->len > 0;

    for (size_t k = 0; k < d->len; k++) {
        weeks &= stream_downsampler_uses_weeks(&d->all[k], &wanted);
        hours = wanted > hours ? wanted : hours;
    }

    return (struct scan_spec){
        .masks = p->masks,
        .bucket = (unsigned)t->bucket,
        .path = b->path,
        .from_base = p->from_base,
        .to_base = p->to_base,
        .series = b->series,
        .series_len = b->series_len,
        .metric = p->metric_id,
        .summaries = d->len > 0 && stream_downsampler_uses_summaries(d->all),
        .weeks = weeks,
        .hours = hours,
        .window = t->job->window,
        .arena = d->len == 0 ? t->batch->arena : NULL,
        .max_bytes = t->job->limits->max_memory,
        .budget = t->job->limits->budget,
        .end_us = t->job->limits->deadline.end_us,
        .cancel = { is_over, t },
    };
}

/* By TSUID, of one metric. */
static inline bool
is_before(const struct fetched *a, const struct fetched *b)
{
    for (size_t i = 0; i < FETCHED_HEAD; i++)
        if (a->head[i] != b->head[i])
            return a->head[i] < b->head[i];
    return slice_cmp(a->tsuid, b->tsuid) < 0;
}

static int
compare_fetched(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

/* Most do ascend. */
static void
sort_series(struct task *t)
{
    size_t i = 1;

    while (i < t->len && is_before(&t->series[i - 1], &t->series[i]))
        i++;
    if (i < t->len)
        qsort(t->series, t->len, sizeof *t->series, compare_fetched);
}

/* Why its scan ended early, if it was told to. */
static enum status
stopped(struct task *t)
{
    if (t->stop.status != ST_OK)
        t->error = t->stop;
    return t->stop.status;
}

/* All rows of a bucket, its series ascending in the end; closes the scan. */
static enum status
read_bucket(struct task *t, struct store_scan **scan)
{
    enum status status = ST_OK;
    struct store_row row;
    size_t rows = 0;

    t->scan = *scan;
    while (status == ST_OK && store_scan_next(*scan, &row)) {
        status = add_row(t, &row);
        if (++rows % ROWS_BETWEEN_CHECKS == 0 && status == ST_OK)
            status = check_limits(t, &t->error);
    }
    if (status == ST_OK)
        status = stopped(t);
    if (status == ST_OK) /* with what is held until now */
        status = check_limits(t, &t->error);
    for (size_t i = 0; i < t->len; i++) {
        uint64_t decoded = t->decoded;

        if (status == ST_OK)
            status = fetch_end_series(t, &t->series[i]);
        fetch_drop_rows(t, &t->series[i]);
        if (status == ST_OK)
            status = deadline_tick(&t->deadline,
                                   (size_t)(t->decoded - decoded) + END_STEPS,
                                   &t->error);
    }
    sort_series(t);
    status = store_scan_close(scan, &t->counts, status, &t->error);
    return status == ST_OK ? check_limits(t, &t->error) : status;
}

/* One task after the other; none behind one that failed. */
static void
run_tasks(struct task *tasks, size_t len)
{
    const struct fetch_job *job = tasks->job;
    struct scan_spec *specs = mem_new_array(len, sizeof *specs);
    struct store_scan **scans = mem_new_array(len, sizeof(struct store_scan *));
    enum status status = check_limits(tasks, &tasks->error);

    for (size_t i = 0; i < len; i++)
        specs[i] = spec_of(&tasks[i]);
    if (status == ST_OK) {
        status =
            store_scans_open(job->c->store, specs, len, scans, &tasks->error);
        if (status == ST_LIMIT)
            status = fetch_out_of_memory(job->limits, &tasks->error);
        for (size_t i = 0; i < len; i++)
            if (tasks[i].stop.status != ST_OK) {
                tasks->error = tasks[i].stop;
                status = tasks->error.status;
            }
    }
    tasks->status = status;
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        int64_t from_us = clock_monotonic_us();

        status = tasks[i].status = read_bucket(&tasks[i], &scans[i]);
        tasks[i].us = clock_monotonic_us() - from_us;
    }
    /* What was not read is closed all the same. */
    for (size_t i = 0; i < len; i++)
        (void)!store_scan_close(&scans[i], NULL, ST_OK, NULL);
    free(specs);
    free(scans);
}

static void
run_batch(void *ctx, size_t i)
{
    struct fetch_job *job = ctx;
    struct fetch_batch *batch = &job->batches[i];
    size_t from = i * job->tasks_len / job->batches_len;
    size_t to = (i + 1) * job->tasks_len / job->batches_len;

    for (size_t k = from; k < to; k++)
        job->tasks[k].batch = batch;
    run_tasks(&job->tasks[from], to - from);
    points_fini(&batch->row);
    free(batch->sorted);
}

/* -- together -------------------------------------------------------------- */

/* What is left of a task's series. */
struct rest {
    struct fetched *next, *end;
};

/* Moves rests[i] of a heap, whose root has the least next series, down to where
 * it belongs. */
static void
sift_down(struct rest *rests, size_t len, size_t i)
{
    struct rest x = rests[i];

    for (size_t child; (child = 2 * i + 1) < len; i = child) {
        if (child + 1 < len &&
            is_before(rests[child + 1].next, rests[child].next))
            child++;
        if (!is_before(rests[child].next, x.next))
            break;
        rests[i] = rests[child];
    }
    rests[i] = x;
}

/* All tasks' series, ascending; no TSUID is in two tasks. */
static enum status
gather_series(struct task *tasks, size_t len, size_t total, struct fetch *out,
              struct error *e)
{
    struct rest *rests = mem_new_array(len, sizeof *rests);
    size_t n = 0;

    out->series = mem_try((total + 1) * sizeof *out->series);
    for (size_t i = 0; i < len; i++)
        if (tasks[i].len > 0)
            rests[n++] = (struct rest){ tasks[i].series,
                                        tasks[i].series + tasks[i].len };
    for (size_t i = n / 2; i-- > 0;)
        sift_down(rests, n, i);
    while (n > 0 && out->series != NULL) {
        out->series[out->len++] = *rests->next++;
        if (rests->next == rests->end)
            *rests = rests[--n];
        sift_down(rests, n, 0);
    }
    free(rests);
    return out->series != NULL ? ST_OK : error_no_memory(e);
}

static enum status
gather(struct task *tasks, size_t len, struct fetch *out, struct error *e)
{
    size_t total = 0;
    enum status status = ST_OK;

    for (size_t i = 0; i < len; i++) {
        total += tasks[i].len;
        scan_counts_add(&out->counts, &tasks[i].counts);
        out->points += tasks[i].points;
        out->decoded += tasks[i].decoded;
        if (status == ST_OK && tasks[i].status != ST_OK) {
            status = tasks[i].status;
            *e = tasks[i].error;
        }
    }
    if (status == ST_OK)
        status = gather_series(tasks, len, total, out, e);
    out->scans = mem_new_array(len, sizeof *out->scans);
    out->scans_len = len;
    for (size_t i = 0; i < len; i++) {
        out->scans[i] = (struct result_scan){ tasks[i].counts, tasks[i].points,
                                              tasks[i].us };
        free(tasks[i].series);
        table_fini(&tasks[i].table);
    }
    return status;
}

/* A task for each bucket in which there may be something. */
static void
make_tasks(struct fetch_job *job)
{
    const struct plan *p = job->p;
    size_t len = 0;

    for (size_t i = 0; i < p->buckets_len; i++)
        len += !p->listed || p->buckets[i].series_len > 0;
    job->tasks = mem_new_array(len, sizeof *job->tasks);
    for (size_t i = 0; i < p->buckets_len; i++)
        if (!p->listed || p->buckets[i].series_len > 0)
            job->tasks[job->tasks_len++] = (struct task){
                .job = job, .bucket = i, .deadline = job->limits->deadline
            };
}

static void
make_turns(struct fetch_job *job, struct fetch *out)
{
    const struct plan *p = job->p;
    uint64_t hours = (p->to_base - p->from_base) / HOUR_S + 1;
    uint64_t rows = (p->listed ? p->matches : p->series) * hours;

    job->batches_len = job->tasks_len;
    if (!kv_traits(store_kv(job->c->store))->shared &&
        rows / ROWS_A_BATCH + 1 < job->batches_len)
        job->batches_len = (size_t)(rows / ROWS_A_BATCH) + 1;
    job->batches = mem_new_array(job->batches_len, sizeof *job->batches);
    out->arenas = mem_new_array(job->batches_len, sizeof(struct arena *));
    out->arenas_len = job->batches_len;
    for (size_t i = 0; i < job->batches_len; i++)
        job->batches[i].arena = out->arenas[i] =
            arena_new_within(job->limits->max_memory, job->limits->budget);
}

enum status
fetch_run(const struct plan_context *c, const struct plan *p,
          struct downsamplers downsamplers, const struct column_window *window,
          struct workers *workers, struct fetch_limits *limits,
          struct fetch *out, struct error *e)
{
    struct fetch_job job = { .c = c,
                             .p = p,
                             .downsamplers = downsamplers,
                             .window = window,
                             .limits = limits,
                             .seed = hash_random_seed() };
    enum status status;

    *out = (struct fetch){ .downsampled = downsamplers.len > 0 };
    make_tasks(&job);
    make_turns(&job, out);
    workers_run(workers, job.batches_len, run_batch, &job);
    status = gather(job.tasks, job.tasks_len, out, e);
    free(job.batches);
    free(job.tasks);
    if (status != ST_OK)
        fetch_fini(out);
    return status;
}

struct column
fetched_data(const struct fetch *f, const struct fetched *s)
{
    return f->downsampled ? bucket_acc_column(fetched_acc(f, s)) : s->column;
}

void
fetch_fini(struct fetch *f)
{
    free(f->series);
    free(f->scans);
    for (size_t i = 0; i < f->arenas_len; i++)
        arena_free(&f->arenas[i]);
    free(f->arenas);
    *f = (struct fetch){ 0 };
}
