/* See query/fetch.h. */
#include "config.h"

#include "query/fetch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define ROWS_BETWEEN_CHECKS 256
#define POINT_BYTES         17 /* of one point in struct points */
#define HEAD_POINT_BYTES    16 /* a time and a value, for the limit of bytes */

/* One bucket's task. */
struct task {
    const struct fetch_job *job;
    size_t bucket;
    struct arena *arena;
    struct fetched *series;
    size_t len, cap;
    uint32_t *slots; /* hash table: index + 1 */
    size_t slots_len;
    /* The series after the one that was found last: rows of an hour come in the
     * same order as those of the hour before. */
    size_t expected;
    struct scan_counts counts;
    uint64_t points;
    enum status status;
    struct error error;
};

struct fetch_job {
    const struct plan_context *c;
    const struct plan *p;
    struct fetch_limits *limits;
    struct task *tasks;
    uint64_t seed;
};

enum status
fetch_may_go_on(struct fetch_limits *l, struct error *e)
{
    enum status st = patience_left(&l->patience, e);

    if (st != ST_OK)
        return st;
    if (l->max_points != 0 && atomic_load(&l->points) > l->max_points)
        return error_set(
            e, ST_LIMIT,
            "Sorry, you have attempted to fetch more than our limit of %llu "
            "data points. Please try filtering using more tags or decrease "
            "your time range.",
            (unsigned long long)l->max_points);
    if (l->max_bytes != 0 && atomic_load(&l->bytes) > l->max_bytes)
        return error_set(
            e, ST_LIMIT,
            "Sorry, you have attempted to fetch more than our maximum amount "
            "of %lluMB from storage. Please try filtering using more tags or "
            "decrease your time range.",
            (unsigned long long)(l->max_bytes >> 20));
    if (atomic_load(&l->points) * POINT_BYTES > l->max_memory)
        return error_set(
            e, ST_LIMIT,
            "Sorry, the points of this query do not fit into the %zu MB that "
            "it may use. Please try filtering using more tags or decrease "
            "your time range.",
            l->max_memory >> 20);
    return ST_OK;
}

/* -- series of a task ------------------------------------------------------ */

static bool
rehash(struct task *t)
{
    size_t len = t->slots_len == 0 ? 64 : t->slots_len * 2;
    uint32_t *slots = calloc(len, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < t->len; i++) {
        size_t at = hash_slice(t->series[i].tsuid, t->job->seed) & (len - 1);

        while (slots[at] != 0)
            at = (at + 1) & (len - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->slots_len = len;
    return true;
}

static struct fetched *
add_series(struct task *t, struct slice tsuid, size_t slot)
{
    uint8_t *copy = arena_alloc(t->arena, tsuid.size);
    struct fetched *f;

    if (copy == NULL)
        return NULL;
    if (t->len == t->cap) {
        size_t cap = t->cap == 0 ? 64 : t->cap * 2;
        struct fetched *series = realloc(t->series, cap * sizeof *series);

        if (series == NULL)
            return NULL;
        t->series = series;
        t->cap = cap;
    }
    memcpy(copy, tsuid.data, tsuid.size);
    f = &t->series[t->len++];
    *f = (struct fetched){ .tsuid = slice_of(copy, tsuid.size) };
    t->slots[slot] = (uint32_t)t->len;
    return f;
}

/* Finds or adds; NULL when there is no memory. */
static struct fetched *
series_of(struct task *t, struct slice tsuid)
{
    size_t at;

    if (t->expected < t->len && slice_eq(t->series[t->expected].tsuid, tsuid))
        return &t->series[t->expected++];
    if (t->len * 2 >= t->slots_len && !rehash(t))
        return NULL;
    at = hash_slice(tsuid, t->job->seed) & (t->slots_len - 1);
    for (; t->slots[at] != 0; at = (at + 1) & (t->slots_len - 1)) {
        size_t found = t->slots[at] - 1;

        if (slice_eq(t->series[found].tsuid, tsuid)) {
            t->expected = found + 1;
            return &t->series[found];
        }
    }
    t->expected = t->len + 1;
    return add_series(t, tsuid, at);
}

/* -- the scan -------------------------------------------------------------- */

/* What was read: a block, and points that are still in memory. */
static size_t
row_bytes(const struct store_row *row)
{
    return row->block.size +
           (row->head == NULL ? 0 : row->head->len * HEAD_POINT_BYTES);
}

static enum status
take_row(struct task *t, const struct store_row *row)
{
    const struct fetch_job *job = t->job;
    struct fetched *f;
    size_t before;
    bool takes = true;
    enum status status = ST_OK;

    if (!job->p->checked)
        status = plan_takes(job->c, job->p, row->tsuid, &takes, &t->error);
    if (status != ST_OK || !takes)
        return status;
    f = series_of(t, row->tsuid);
    if (f == NULL)
        return error_set(&t->error, ST_LIMIT, "no memory for more series");
    before = f->points.len;
    status = store_row_points(row, &f->points, &t->error);
    t->points += f->points.len - before;
    atomic_fetch_add(&job->limits->points, f->points.len - before);
    atomic_fetch_add(&job->limits->bytes, row_bytes(row));
    return status;
}

static enum status
scan_bucket(struct task *t)
{
    const struct plan *p = t->job->p;
    const struct plan_bucket *b = &p->buckets[t->bucket];
    struct scan_spec spec = {
        .masks = b->masks,
        .bucket = (unsigned)t->bucket,
        .way = b->way,
        .from_base = p->from_base,
        .to_base = p->to_base,
        .series = b->series,
        .series_len = b->series_len,
        .metric = p->metric_id,
    };
    struct store_scan *scan;
    struct store_row row;
    enum status status, closed;
    size_t rows = 0;

    if (p->listed && b->series_len == 0)
        return ST_OK;
    status = fetch_may_go_on(t->job->limits, &t->error);
    if (status != ST_OK)
        return status;
    status = store_scan_open(t->job->c->store, &spec, &scan, &t->error);
    if (status != ST_OK)
        return status;
    while (status == ST_OK && store_scan_next(scan, &row)) {
        status = take_row(t, &row);
        if (++rows % ROWS_BETWEEN_CHECKS == 0 && status == ST_OK)
            status = fetch_may_go_on(t->job->limits, &t->error);
    }
    closed =
        store_scan_close(&scan, &t->counts, status == ST_OK ? &t->error : NULL);
    if (status == ST_OK)
        status = closed;
    return status == ST_OK ? fetch_may_go_on(t->job->limits, &t->error)
                           : status;
}

static void
run_task(void *ctx, size_t i)
{
    struct fetch_job *job = ctx;
    struct task *t = &job->tasks[i];

    t->status = scan_bucket(t);
}

/* -- together -------------------------------------------------------------- */

static int
compare_fetched(const void *a, const void *b)
{
    return slice_cmp(((const struct fetched *)a)->tsuid,
                     ((const struct fetched *)b)->tsuid);
}

static void
add_counts(struct scan_counts *sum, const struct scan_counts *c)
{
    sum->rows += c->rows;
    sum->head_rows += c->head_rows;
    sum->keys += c->keys;
    sum->seeks += c->seeks;
    sum->bytes += c->bytes;
}

static enum status
gather(struct task *tasks, size_t len, struct fetch *out, struct error *e)
{
    size_t total = 0;
    enum status status = ST_OK;

    for (size_t i = 0; i < len; i++) {
        total += tasks[i].len;
        add_counts(&out->counts, &tasks[i].counts);
        out->points += tasks[i].points;
        if (status == ST_OK && tasks[i].status != ST_OK) {
            status = tasks[i].status;
            *e = tasks[i].error;
        }
    }
    out->series = mem_new_array(total, sizeof *out->series);
    for (size_t i = 0; i < len; i++) {
        if (tasks[i].len > 0)
            memcpy(out->series + out->len, tasks[i].series,
                   tasks[i].len * sizeof *out->series);
        out->len += tasks[i].len;
        free(tasks[i].series);
        free(tasks[i].slots);
    }
    qsort(out->series, out->len, sizeof *out->series, compare_fetched);
    return status;
}

enum status
fetch_run(const struct plan_context *c, const struct plan *p, struct pool *pool,
          struct fetch_limits *limits, struct fetch *out, struct error *e)
{
    struct fetch_job job = {
        .c = c, .p = p, .limits = limits, .seed = hash_random_seed()
    };
    enum status status;

    *out = (struct fetch){ .arenas_len = p->buckets_len };
    out->arenas = mem_new_array(p->buckets_len, sizeof(struct arena *));
    job.tasks = mem_new_array(p->buckets_len, sizeof *job.tasks);
    for (size_t i = 0; i < p->buckets_len; i++) {
        out->arenas[i] = arena_new(limits->max_memory);
        job.tasks[i] =
            (struct task){ .job = &job, .bucket = i, .arena = out->arenas[i] };
    }
    pool_run(pool, p->buckets_len, run_task, &job);
    status = gather(job.tasks, p->buckets_len, out, e);
    free(job.tasks);
    if (status != ST_OK)
        fetch_fini(out);
    return status;
}

void
fetch_fini(struct fetch *f)
{
    for (size_t i = 0; i < f->len; i++) {
        points_fini(&f->series[i].points);
        free(f->series[i].counts);
    }
    free(f->series);
    for (size_t i = 0; i < f->arenas_len; i++)
        arena_free(&f->arenas[i]);
    free(f->arenas);
    *f = (struct fetch){ 0 };
}
