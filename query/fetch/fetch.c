/* Tasks and threads. task_series.c finds the series of a row, fetch_rows.c adds
 * the row to it. */
#include "query/fetch/fetch_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define ROWS_BETWEEN_CHECKS 256
#define GATHER_STEPS        16 /* of the deadline, to place a series */
/* So few rows are one thread's: others would have to wake up, and each to look
 * where the rows begin.  Of a pool each bucket costs round trips, which are
 * better waited for by many threads. */
#define ROWS_A_BATCH 256

/* -- the scan -------------------------------------------------------------- */

static enum status
add_row(struct task *t, const struct store_row *row)
{
    struct fetched *f = task_find_series(t, row);

    if (f == NULL)
        return fetch_out_of_memory(t->job->limits, &t->error);
    return fetch_row(t, f, row);
}

static enum status
check_limits(struct task *t, struct error *e)
{
    struct fetch_limits *l = t->job->limits;

    fetch_limits_add(l, t->new_points, t->new_bytes);
    t->new_points = t->new_bytes = 0;
    return fetch_check_limits(l, e);
}

/* Asked by a scan, also while it opens or walks over keys that are not wanted.
 */
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
    const struct fetch_job *job = t->job;
    const struct plan *p = job->p;
    const struct plan_bucket *b = &p->buckets[t->bucket];
    struct budget *budget = job->limits->budget;

    return (struct scan_spec){
        .masks = p->masks,
        .bucket = (unsigned)t->bucket,
        .path = b->path,
        .from_base = p->from_base,
        .to_base = p->to_base,
        .series = b->series,
        .series_len = b->series_len,
        .metric = p->metric_id,
        .want = job->reading->want,
        .rows_first = job->rows_first,
        .arena = job->reading->form == READ_POINTS ? t->batch->arena : NULL,
        .max_bytes = budget == NULL ? 0 : budget->max,
        .budget = budget,
        .end_us = job->limits->deadline.end_us,
        .cancel = { is_over, t },
    };
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
    if (status == ST_OK) {
        /* The scan ends early if it is told to; 'stop' says why. */
        if (t->stop.status != ST_OK)
            t->error = t->stop;
        status = t->stop.status;
    }
    if (status == ST_OK)
        status = check_limits(t, &t->error);
    for (size_t i = 0; i < t->len; i++) {
        uint64_t decoded = t->decoded;

        if (status == ST_OK)
            status = fetch_end_series(t, t->series[i]);
        fetch_drop_rows(t, t->series[i]);
        if (status == ST_OK)
            status = deadline_tick(&t->deadline,
                                   (size_t)(t->decoded - decoded) + END_STEPS,
                                   &t->error);
    }
    task_end_series(t);
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
    batch->row.budget = job->limits->budget;
    run_tasks(&job->tasks[from], to - from);
    points_fini(&batch->row);
    fetch_drop_sorted(job, batch);
}

/* -- together -------------------------------------------------------------- */

/* What is left of a task's series.  'head' has the bytes of the next TSUID that
 * follow the metric, which are those of four tags at most; zeros where there
 * are fewer. */
struct rest {
    struct fetched **next, **end;
    uint64_t head[3];
};

static void
read_head(const struct plan *p, struct rest *r)
{
    struct slice tsuid = (*r->next)->tsuid;
    size_t at = p->metric_id.size, left = tsuid.size - at;
    uint8_t bytes[sizeof r->head] = { 0 };

    memcpy(bytes, tsuid.data + at, left < sizeof bytes ? left : sizeof bytes);
    for (size_t i = 0; i < sizeof r->head / sizeof *r->head; i++)
        r->head[i] = key_get_uint(bytes + 8 * i, 8);
}

static inline bool
is_rest_before(const struct rest *a, const struct rest *b)
{
    for (size_t i = 0; i < sizeof a->head / sizeof *a->head; i++)
        if (a->head[i] != b->head[i])
            return a->head[i] < b->head[i];
    return slice_cmp((*a->next)->tsuid, (*b->next)->tsuid) < 0;
}

/* Moves rests[i] of a heap, whose root has the least next series, down to where
 * it belongs. */
static void
sift_down(struct rest *rests, size_t len, size_t i)
{
    struct rest x = rests[i];

    for (size_t child; (child = 2 * i + 1) < len; i = child) {
        if (child + 1 < len && is_rest_before(&rests[child + 1], &rests[child]))
            child++;
        if (!is_rest_before(&rests[child], &x))
            break;
        rests[i] = rests[child];
    }
    rests[i] = x;
}

enum status
fetch_make_room(struct fetch *f, size_t len, struct budget *budget,
                struct error *e)
{
    struct fetched **series;

    if (!budget_take(budget, len * sizeof(struct fetched *)))
        return error_no_memory(e);
    series = mem_try((len + 1) * sizeof(struct fetched *));
    if (series == NULL) {
        budget_return(budget, len * sizeof(struct fetched *));
        return error_no_memory(e);
    }
    f->series = series;
    f->cap = len;
    f->budget = budget;
    return ST_OK;
}

static void
drop_series(struct fetch *f)
{
    free(f->series);
    budget_return(f->budget, f->cap * sizeof(struct fetched *));
}

void
fetch_take_series(struct fetch *f, struct fetch *from)
{
    drop_series(f);
    f->series = from->series;
    f->len = from->len;
    f->cap = from->cap;
    f->budget = from->budget;
    *from = (struct fetch){ 0 };
}

/* All tasks' series, ascending; no TSUID is in two tasks. */
static enum status
gather_series(const struct fetch_job *job, size_t total, struct fetch *out,
              struct error *e)
{
    struct task *tasks = job->tasks;
    struct rest *rests = mem_new_array(job->tasks_len, sizeof *rests);
    struct deadline deadline = job->limits->deadline;
    size_t n = 0;
    enum status status = fetch_make_room(out, total, job->limits->budget, e);

    for (size_t i = 0; i < job->tasks_len; i++)
        if (tasks[i].len > 0) {
            rests[n] = (struct rest){ .next = tasks[i].series,
                                      .end = tasks[i].series + tasks[i].len };
            read_head(job->p, &rests[n++]);
        }
    for (size_t i = n / 2; i-- > 0;)
        sift_down(rests, n, i);
    while (n > 0 && status == ST_OK) {
        out->series[out->len++] = *rests->next++;
        if (rests->next == rests->end)
            *rests = rests[--n];
        else
            read_head(job->p, rests);
        sift_down(rests, n, 0);
        status = deadline_tick(&deadline, GATHER_STEPS, e);
    }
    free(rests);
    return status;
}

static enum status
gather(const struct fetch_job *job, struct fetch *out, struct error *e)
{
    struct task *tasks = job->tasks;
    size_t total = 0, len = job->tasks_len;
    struct budget *budget = job->limits->budget;
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
        table_fini(&tasks[i].table);
        budget_return(budget, tasks[i].table_bytes);
    }
    if (status == ST_OK)
        status = gather_series(job, total, out, e);
    out->scans = mem_new_array(len, sizeof *out->scans);
    out->scans_len = len;
    for (size_t i = 0; i < len; i++) {
        out->scans[i] = (struct result_scan){ tasks[i].counts, tasks[i].points,
                                              tasks[i].us };
        free(tasks[i].series);
        budget_return(budget, tasks[i].cap * sizeof(struct fetched *));
    }
    return status;
}

static enum status
run_job(struct fetch_job *job, struct workers *workers, struct fetch *out,
        struct error *e)
{
    enum status status;
    const struct plan *p;
    size_t len = 0;
    uint64_t hours, rows;

    *out = (struct fetch){ .downsampled = job->reading->form != READ_POINTS };
    /* A task for each bucket in which there may be something. */
    p = job->p;
    for (size_t i = 0; i < p->buckets_len; i++)
        len += !p->listed || p->buckets[i].series_len > 0;
    job->tasks = mem_new_array(len, sizeof *job->tasks);
    for (size_t i = 0; i < p->buckets_len; i++)
        if (!p->listed || p->buckets[i].series_len > 0)
            job->tasks[job->tasks_len++] = (struct task){
                .job = job, .bucket = i, .deadline = job->limits->deadline
            };
    hours = (p->to_base - p->from_base) / HOUR_S + 1;
    rows = (p->listed ? p->matches : p->series) * hours;
    job->batches_len = job->tasks_len;
    if (!kv_traits(store_kv(job->c->store))->shared &&
        rows / ROWS_A_BATCH + 1 < job->batches_len)
        job->batches_len = (size_t)(rows / ROWS_A_BATCH) + 1;
    if (job->alone && job->batches_len > 1)
        job->batches_len = 1;
    job->batches = mem_new_array(job->batches_len, sizeof *job->batches);
    out->arenas = mem_new_array(job->batches_len, sizeof(struct arena *));
    out->arenas_len = job->batches_len;
    for (size_t i = 0; i < job->batches_len; i++)
        job->batches[i].arena = out->arenas[i] =
            arena_new_within(0, job->limits->budget);
    workers_run(workers, job->batches_len, run_batch, job);
    status = gather(job, out, e);
    free(job->batches);
    free(job->tasks);
    job->batches_len = job->tasks_len = 0;
    job->weeks_are_damaged = out->counts.weeks_are_damaged;
    if (status != ST_OK)
        fetch_fini(out);
    return status;
}

enum status
fetch_run(const struct fetch_request *r, struct fetch *out, struct error *e)
{
    struct fetch_limits *limits = r->limits;
    struct fetch_job job = { .c = r->context,
                             .p = r->plan,
                             .reading = r->reading,
                             .limits = limits,
                             .seed = hash_random_seed() };
    uint64_t points = atomic_load(&limits->points);
    uint64_t bytes = atomic_load(&limits->bytes);
    const struct budget *budget = limits->budget;
    size_t refused = budget == NULL ? 0 : atomic_load(&budget->refused);
    enum status status = run_job(&job, r->workers, out, e);

    while (status != ST_OK) {
        if (job.weeks_are_damaged && !job.rows_first)
            job.rows_first = true;
        /* Each thread unpacks a bucket of functions that collect.  If that was
         * more than the memory of the query, one thread unpacks one after the
         * other. */
        else if (status == ST_LIMIT && !job.alone && budget != NULL &&
                 r->reading->form >= READ_ROWS &&
                 atomic_load(&budget->refused) != refused)
            job.alone = true;
        else
            break;
        atomic_store(&limits->points, points);
        atomic_store(&limits->bytes, bytes);
        status = run_job(&job, r->workers, out, e);
    }
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
    drop_series(f);
    free(f->scans);
    for (size_t i = 0; i < f->arenas_len; i++)
        arena_free(&f->arenas[i]);
    free(f->arenas);
    *f = (struct fetch){ 0 };
}
