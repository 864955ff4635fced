/* Inside of a fetch: its tasks, and what comes of a row.
 *
 * Threads: a task and a batch are one thread's; a job is frozen while it runs.
 */
#pragma once

#include "base/table.h"
#include "query/fetch/fetch.h"

#define END_STEPS 64 /* of the deadline, for a row or a series that ends */

/* What the tasks of one batch share. */
struct fetch_batch {
    struct arena *arena;
    struct points row;    /* what is unpacked for buckets */
    union number *sorted; /* of READ_ROWS and READ_WHOLE: values of 'row' */
    size_t sorted_cap;
};

/* One bucket's task. */
struct task {
    const struct fetch_job *job;
    size_t bucket;
    struct fetch_batch *batch;
    struct fetched **series; /* the list is on the heap, within the budget */
    size_t len, cap;
    /* Room for the next ones: those of a task follow each other in memory, as
     * they are read again in this order. */
    struct fetched *room;
    size_t room_len;
    struct hash_table table; /* of the series, by TSUID */
    size_t table_bytes;      /* of the budget, for the table */
    struct store_scan *scan;
    /* The series that was found last: hours of a series come one after the
     * other, and the series of a span as in the one before. */
    size_t current;
    struct scan_counts counts;
    uint64_t points, decoded;
    int64_t us;
    /* Not yet in the limits: */
    uint64_t new_points, new_bytes;
    struct deadline deadline;
    struct error stop; /* why its scan was told to stop; ST_OK: it was not */
    enum status status;
    struct error error;
};

struct fetch_job {
    const struct plan_context *c;
    const struct plan *p;
    const struct query_reading *reading;
    struct fetch_limits *limits;
    bool rows_first; /* see struct scan_spec */
    bool alone;      /* one batch, so that only one bucket is unpacked */
    bool weeks_are_damaged;
    struct task *tasks;
    size_t tasks_len;
    struct fetch_batch *batches;
    size_t batches_len;
    uint64_t seed;
};

struct row_copy {
    struct row_copy *next; /* a later one */
    struct store_row row;
    size_t size; /* of all */
};

/* Of a series, in the order of time: those of buckets that are not complete. */
struct fetched_rows {
    struct row_copy *first, *last;
    int64_t done_ms;    /* points before it are in buckets */
    int64_t counted_ms; /* and before it are counted */
    int64_t due_ms;     /* the end of the bucket of the first other point */
};

/* Returns the series of the row, which it adds if the task does not have it, or
 * NULL if there is no memory. */
struct fetched *task_find_series(struct task *t, const struct store_row *row);
/* Sorts the list of series by TSUID, and returns its unused end to the budget:
 * no series is added after it. */
void task_end_series(struct task *t);

/* Adds a row to a series of the task, by what the job makes of it.  Fails into
 * the task's error. */
MUST_CHECK enum status fetch_row(struct task *t, struct fetched *f,
                                 const struct store_row *row);
/* When all rows of the scan have come, and before it is closed. */
MUST_CHECK enum status fetch_end_series(struct task *t, struct fetched *f);
/* Frees rows that wait for the end of their bucket. */
void fetch_drop_rows(struct task *t, struct fetched *f);
/* Frees the values that the batch has sorted. */
void fetch_drop_sorted(const struct fetch_job *job, struct fetch_batch *batch);
