/* What comes of a row: summaries, weeks and points go into buckets; rows whose
 * points are wanted together are kept packed. */
#include "query/fetch/fetch_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/downsample/downsample.h"

#define HEAD_POINT_BYTES 16 /* a time and a value, for the limit of bytes */

/* What was read: a block, and points that are still in memory. */
static size_t
row_bytes(const struct store_row *row)
{
    size_t bytes = row->block.size;

    for (size_t i = 0; i < row->open_len; i++)
        bytes += row->open[i].row_count * HEAD_POINT_BYTES;
    return bytes;
}

static void
count_points(struct task *t, uint64_t points)
{
    t->points += points;
    t->new_points += points;
}

static struct bucket_acc *
acc_of(struct fetched *f, size_t k)
{
    return k == 0 ? &f->acc : &f->more[k - 1];
}

/* Points of the row that the scan left out. */
static uint64_t
left_out(const struct store_row *row)
{
    uint64_t n = 0;

    for (size_t i = 0; i < row->open_len; i++)
        n += row->open[i].row_count - row->open[i].count;
    return n;
}

/* Unpacks the row into the batch's points; where they are even, '*out' has only
 * those that are wanted. */
static enum status
unpack_row(struct task *t, const struct store_row *row, struct batch *out)
{
    const struct row_want *want = &t->job->reading->want;
    struct points *points = &t->batch->row;
    struct spacing spacing;
    struct value_range wanted;
    enum status status;

    points_clear(points);
    status = store_row_spaced(row, ALL_VALUES, points, &spacing, &t->error);
    if (status != ST_OK)
        return status;
    *out = batch_of_row(points, &spacing);
    if (!want->crops || !spacing.even)
        return ST_OK;
    wanted = column_window_range(&want->window, spacing.first_ms,
                                 spacing.step_ms, points->len);
    *out = batch_part(out, wanted.from, wanted.end - wanted.from);
    return ST_OK;
}

void
fetch_drop_sorted(const struct fetch_job *job, struct fetch_batch *batch)
{
    free(batch->sorted);
    budget_return(job->limits->budget,
                  batch->sorted_cap * sizeof *batch->sorted);
    batch->sorted = NULL;
    batch->sorted_cap = 0;
}

/* As large as the batch's points. */
static enum status
make_room_to_sort(struct task *t)
{
    struct fetch_batch *batch = t->batch;
    struct budget *budget = t->job->limits->budget;
    size_t cap = batch->row.cap, size = cap * sizeof *batch->sorted;

    if (batch->sorted_cap >= cap)
        return ST_OK;
    fetch_drop_sorted(t->job, batch);
    if (!budget_take(budget, size))
        return fetch_out_of_memory(t->job->limits, &t->error);
    batch->sorted = mem_try(size);
    if (batch->sorted == NULL) {
        budget_return(budget, size);
        return fetch_out_of_memory(t->job->limits, &t->error);
    }
    batch->sorted_cap = cap;
    return ST_OK;
}

/* Adds points to the buckets of the k-th function.  If it collects, there is
 * room to sort them. */
static void
add_points(struct task *t, struct fetched *to, size_t k, const struct batch *p)
{
    const struct fold f = reading_fold(t->job->reading, k);

    bucket_acc_add(&f, acc_of(to, k), p, t->batch->sorted, t->batch->arena);
}

/* Why a row could not be unpacked: it is named, unless there was no memory. */
static enum status
fetch_row_error(struct task *t, struct slice tsuid, uint32_t base,
                enum status status)
{
    return status == ST_LIMIT ? fetch_out_of_memory(t->job->limits, &t->error)
                              : key_row_error(tsuid, base, status, &t->error);
}

/* Adds the row to the series' buckets: its block summary, or its points for
 * whom that is not enough. */
static enum status
downsample_row(struct task *t, const struct store_row *row, struct fetched *f)
{
    const struct query_reading *reading = t->job->reading;
    struct points *points = &t->batch->row;
    bool unpack[READING_FUNCTIONS_MOST] = { false }, any = false, known = false;
    struct batch batch;
    struct summary summary;
    enum status status = ST_OK;

    if (reading->want.summaries)
        status = store_row_summary(row, &summary, &known, &t->error);
    if (status != ST_OK)
        return status;
    for (size_t k = 0; k < reading->functions_len; k++) {
        const struct fold fold = reading_fold(reading, k);

        unpack[k] = !known || !bucket_acc_summary(&fold, acc_of(f, k), &summary,
                                                  t->batch->arena);
        any |= unpack[k];
    }
    if (!any) {
        count_points(t, summary.count);
        return ST_OK;
    }
    status = unpack_row(t, row, &batch);
    if (status == ST_OK && reading->form != READ_FOLDED)
        status = make_room_to_sort(t);
    for (size_t k = 0; k < reading->functions_len && status == ST_OK; k++)
        if (unpack[k])
            add_points(t, f, k, &batch);
    if (status != ST_OK)
        return fetch_row_error(t, f->tsuid, row->base, status);
    count_points(t, points->len + left_out(row));
    /* Of a part all of its block. */
    t->decoded += points->len + row->part.of - row->part.count;
    return ST_OK;
}

/* Adds a week to the series' buckets, or asks for its rows. */
static void
downsample_week(struct task *t, const struct store_row *row, struct fetched *f)
{
    const struct query_reading *reading = t->job->reading;
    struct bucket_acc before[READING_FUNCTIONS_MOST];
    bool left_out = false;

    for (size_t k = 0; k < reading->functions_len; k++) {
        const struct fold fold = reading_fold(reading, k);

        before[k] = *acc_of(f, k);
        if (bucket_acc_week(&fold, acc_of(f, k), row->week, row->day,
                            row->day_end, row->is_only_source, &left_out,
                            t->batch->arena))
            continue;
        while (k-- > 0)
            *acc_of(f, k) = before[k]; /* arrays that have grown are copies */
        store_scan_reject(t->scan);
        return;
    }
    if (left_out)
        store_scan_lacks_rows(t->scan);
    for (unsigned i = row->day; i < row->day_end; i++)
        count_points(t, row->week->day[i].count);
}

/* -- rows of buckets that are not complete --------------------------------- */

static void
drop_first(struct task *t, struct fetched_rows *r)
{
    struct row_copy *row = r->first;

    r->first = row->next;
    budget_return(t->job->limits->budget, row->size);
    free(row);
}

void
fetch_drop_rows(struct task *t, struct fetched *f)
{
    while (f->rows != NULL && f->rows->first != NULL)
        drop_first(t, f->rows);
}

/* Unpacks all of them into the batch's points; '*out' has those that are not in
 * buckets yet. */
static enum status
unpack_rows(struct task *t, struct fetched_rows *r, struct batch *out)
{
    struct fetch_batch *batch = t->batch;
    struct points *all = &batch->row;
    size_t done;

    points_clear(all);
    for (const struct row_copy *row = r->first; row != NULL; row = row->next) {
        size_t before = all->len;
        enum status status = store_row_points(&row->row, all, &t->error);

        if (status != ST_OK)
            return fetch_row_error(t, row->row.tsuid, row->row.base, status);
        status = deadline_tick(&t->deadline, all->len - before + END_STEPS,
                               &t->error);
        if (status != ST_OK)
            return status;
    }
    count_points(t, all->len - times_seek(all->ts_ms, all->len, r->counted_ms));
    t->decoded += all->len;
    if (all->len > 0)
        r->counted_ms = all->ts_ms[all->len - 1] + 1;
    done = times_seek(all->ts_ms, all->len, r->done_ms);
    *out = batch_of_row(all, &(struct spacing){ .even = false });
    *out = batch_part(out, done, all->len - done);
    return make_room_to_sort(t);
}

/* Makes the buckets that end before 'end_ms', where the next row begins, and
 * drops what they were made of. */
static enum status
collect(struct task *t, struct fetched *f, int64_t end_ms)
{
    const struct query_reading *reading = t->job->reading;
    struct fetched_rows *r = f->rows;
    struct batch points, complete;
    enum status status = unpack_rows(t, r, &points);
    size_t n;

    if (status != ST_OK)
        return status;
    n = times_find(&points.times,
                   end_ms == INT64_MAX
                       ? end_ms
                       : buckets_complete(&reading->buckets,
                                          acc_of(f, 0)->bucket, end_ms));
    complete = batch_part(&points, 0, n);
    for (size_t k = 0; k < reading->functions_len; k++)
        add_points(t, f, k, &complete);
    r->done_ms = n < points.times.len ? times_at(&points.times, n) : end_ms;
    while (r->first != NULL &&
           (r->first->next == NULL
                ? end_ms
                : (int64_t)r->first->next->row.base * 1000) <= r->done_ms)
        drop_first(t, r);
    return ST_OK;
}

/* Out of the query's memory; NULL: there is no more. */
static void *
keep_bytes(const struct task *t, size_t size)
{
    struct budget *budget = t->job->limits->budget;
    void *p;

    if (!budget_take(budget, size))
        return NULL;
    p = mem_try(size);
    if (p == NULL)
        budget_return(budget, size);
    return p;
}

/* Finds the end of the bucket that the kept rows begin with.  Until a row
 * begins there, no bucket is complete, so that nothing needs to be unpacked. */
static void
find_due(struct task *t, struct fetched *f)
{
    struct fetched_rows *r = f->rows;
    struct bucket at = acc_of(f, 0)->bucket;
    int64_t ms = (int64_t)r->first->row.base * 1000;

    bucket_move(&t->job->reading->buckets, &at,
                ms > r->done_ms ? ms : r->done_ms);
    r->due_ms = at.next;
}

/* Keeps the row until its buckets are complete. */
static enum status
collect_row(struct task *t, const struct store_row *row, struct fetched *f)
{
    struct fetched_rows *r = f->rows;
    int64_t ms = (int64_t)row->base * 1000;
    size_t size = sizeof *r->first + row->block.size;
    struct row_copy *copy;
    enum status status = ST_OK;

    if (r->first != NULL && ms >= r->due_ms) {
        status = collect(t, f, ms);
        if (status == ST_OK && r->first != NULL)
            find_due(t, f);
    }
    if (status != ST_OK)
        return status;
    copy = keep_bytes(t, size);
    if (copy == NULL)
        return fetch_out_of_memory(t->job->limits, &t->error);
    *copy = (struct row_copy){ .row = *row, .size = size };
    copy->row.tsuid = f->tsuid;
    copy->row.block.data = (uint8_t *)(copy + 1);
    if (row->block.size > 0)
        memcpy(copy + 1, row->block.data, row->block.size);
    if (r->first == NULL) {
        r->first = copy;
        find_due(t, f);
    } else {
        r->last->next = copy;
    }
    r->last = copy;
    count_points(t, left_out(row));
    return ST_OK;
}

/* -- all ------------------------------------------------------------------- */

enum status
fetch_row(struct task *t, struct fetched *f, const struct store_row *row)
{
    if (row->week != NULL) {
        downsample_week(t, row, f);
        return ST_OK;
    }
    t->new_bytes += row_bytes(row);
    switch (t->job->reading->form) {
        struct store_row kept;
        uint32_t read;
        enum status status;

    case READ_POINTS:
        /* Adds the row to the series' column. */
        kept = *row;
        kept.tsuid = f->tsuid;
        status = column_add_row(&f->column, &kept, t->batch->arena, &read,
                                &t->error);
        if (status == ST_LIMIT)
            return fetch_out_of_memory(t->job->limits, &t->error);
        if (status != ST_OK)
            return status;
        count_points(t, read);
        return ST_OK;
    case READ_WHOLE:
        return collect_row(t, row, f);
    case READ_FOLDED:
    case READ_ROWS:
        break;
    }
    return downsample_row(t, row, f);
}

enum status
fetch_end_series(struct task *t, struct fetched *f)
{
    const struct query_reading *reading = t->job->reading;
    enum status status = ST_OK;
    bool good = true;

    if (reading->form == READ_POINTS) {
        /* Each point that a column keeps is decoded once, after the scan. */
        if (t->job->reading->want.crops)
            column_crop(&f->column, &t->job->reading->want.window);
        for (const struct packed_hour *h = f->column.hours; h != NULL;
             h = h->next)
            t->decoded += h->unpacked;
    } else if (reading->form == READ_WHOLE)
        status = collect(t, f, INT64_MAX);
    for (size_t k = 0; k < reading->functions_len && good && status == ST_OK;
         k++) {
        const struct fold fold = reading_fold(reading, k);

        good = bucket_acc_end(&fold, acc_of(f, k), t->batch->arena);
    }
    return good ? status : fetch_out_of_memory(t->job->limits, &t->error);
}
