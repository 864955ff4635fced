/* See query/engine/subqueries.h.  How long one took decides whether it is worth
 * to wake another thread for the next. */
#include "query/engine/subqueries.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/process/clock.h"

/* One sub-query of a parallel run. */
struct parallel_slot {
    struct subquery_run run;
    enum status status;
    bool lacks_memory; /* it failed, and memory was refused meanwhile */
};

struct parallel_run {
    const struct subqueries *s;
    size_t first; /* the number of slots[0] */
    struct parallel_slot *slots;
    size_t arena_bytes;
};

static void
start_run(const struct subqueries *s, struct subquery_run *r, struct arena *a)
{
    *r = (struct subquery_run){ .arena = a };
    r->limits.budget = s->budget;
    r->limits.deadline = s->deadline;
}

static enum status
run_alone(const struct subqueries *s, size_t i, struct arena *a,
          struct subquery_result *result, struct result_stats *stats,
          struct error *e)
{
    struct subquery_run r;
    enum status status;

    start_run(s, &r, a);
    status = s->run(s->ctx, i, &r);
    *result = r.result;
    *stats = r.stats;
    if (status != ST_OK)
        *e = r.error;
    return status;
}

static size_t
count_refused(const struct subqueries *s)
{
    return s->budget == NULL ? 0 : atomic_load(&s->budget->refused);
}

static void
run_slot(void *ctx, size_t i)
{
    struct parallel_run *t = ctx;
    struct parallel_slot *b = &t->slots[i];
    size_t refused = count_refused(t->s);

    start_run(t->s, &b->run, arena_new_within(t->arena_bytes, t->s->budget));
    b->status = t->s->run(t->s->ctx, t->first + i, &b->run);
    b->lacks_memory = b->status == ST_LIMIT && count_refused(t->s) != refused;
}

/* What came of one.  Its figures lie in its arena, also when it failed. */
static enum status
finish_slot(struct parallel_slot *b, struct arena *a,
            struct subquery_result *result, struct result_stats *stats,
            struct error *e)
{
    if (b->status != ST_OK)
        *e = b->run.error;
    if (!arena_absorb(a, &b->run.arena))
        return b->status != ST_OK ? b->status : error_no_memory(e);
    *result = b->run.result;
    *stats = b->run.stats;
    return b->status;
}

static enum status
run_parallel(const struct subqueries *s, size_t first, struct arena *a,
             struct subquery_result *results, struct result_stats *stats,
             struct error *e)
{
    size_t len = s->len - first, i = 0;
    struct parallel_run t = { .s = s, .first = first };
    enum status status = ST_OK;

    if (!budget_take(s->budget, len * sizeof *t.slots))
        return error_no_memory(e);
    t.slots = mem_try_array(len, sizeof *t.slots);
    if (t.slots == NULL) {
        budget_return(s->budget, len * sizeof *t.slots);
        return error_no_memory(e);
    }
    t.arena_bytes = arena_left(a);
    workers_run(s->workers, len, run_slot, &t);
    for (; i < len && status == ST_OK && !t.slots[i].lacks_memory; i++)
        status = finish_slot(&t.slots[i], a, &results[first + i],
                             &stats[first + i], e);
    for (size_t k = 0; k < len; k++)
        arena_free(&t.slots[k].run.arena);
    free(t.slots);
    budget_return(s->budget, len * sizeof *t.slots);
    for (; i < len && status == ST_OK; i++)
        status = run_alone(s, first + i, a, &results[first + i],
                           &stats[first + i], e);
    return status;
}

enum status
subqueries_run(const struct subqueries *s, struct arena *a,
               struct subquery_result *results, struct result_stats *stats,
               struct error *e)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < s->len && status == ST_OK; i++) {
        int64_t from_us = clock_monotonic_us(), took_us;

        status = run_alone(s, i, a, &results[i], &stats[i], e);
        took_us = clock_monotonic_us() - from_us;
        if (status == ST_OK && i + 2 < s->len &&
            took_us * (int64_t)(s->len - i - 1) >= s->worth_us)
            return run_parallel(s, i + 1, a, results, stats, e);
    }
    return status;
}
