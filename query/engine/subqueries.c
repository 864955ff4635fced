/* See query/engine/subqueries.h.  How long one took decides whether it is worth
 * to wake another thread for the next. */
#include "query/engine/subqueries.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/mem.h"

/* One sub-query of a parallel run. */
struct parallel_slot {
    struct subquery_run run;
    enum status status;
};

struct parallel_run {
    const struct subqueries *s;
    size_t first; /* the number of slots[0] */
    struct parallel_slot *slots;
    _Atomic uint64_t held; /* points, of all */
    size_t arena_bytes;
};

static void
start_run(const struct subqueries *s, struct subquery_run *r, struct arena *a,
          _Atomic uint64_t *all_held)
{
    *r = (struct subquery_run){ .arena = a };
    r->limits.max_memory = s->max_memory;
    r->limits.budget = s->budget;
    r->limits.deadline = s->deadline;
    r->limits.all_held = all_held;
}

static enum status
run_alone(const struct subqueries *s, size_t i, struct arena *a,
          struct subquery_result *result, struct result_stats *stats,
          struct error *e)
{
    struct subquery_run r;
    enum status status;

    start_run(s, &r, a, NULL);
    status = s->run(s->ctx, i, &r);
    *result = r.result;
    *stats = r.stats;
    if (status != ST_OK)
        *e = r.error;
    return status;
}

static void
run_slot(void *ctx, size_t i)
{
    struct parallel_run *t = ctx;
    struct parallel_slot *b = &t->slots[i];

    start_run(t->s, &b->run, arena_new_within(t->arena_bytes, t->s->budget),
              &t->held);
    b->status = t->s->run(t->s->ctx, t->first + i, &b->run);
    fetch_limits_reset(&b->run.limits);
}

/* What came of one; again, if it had no memory.  Its figures lie in its arena,
 * also when it failed. */
static enum status
finish_slot(struct parallel_run *t, size_t i, struct arena *a,
            struct subquery_result *result, struct result_stats *stats,
            struct error *e)
{
    struct parallel_slot *b = &t->slots[i];

    if (b->run.limits.out_of_memory) {
        arena_free(&b->run.arena);
        return run_alone(t->s, t->first + i, a, result, stats, e);
    }
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
    size_t len = s->len - first;
    struct parallel_run t = { .s = s, .first = first };
    enum status status = ST_OK;

    t.slots = mem_new_array(len, sizeof *t.slots);
    t.arena_bytes = arena_left(a);
    workers_run(s->workers, len, run_slot, &t);
    for (size_t i = 0; i < len && status == ST_OK; i++)
        status =
            finish_slot(&t, i, a, &results[first + i], &stats[first + i], e);
    for (size_t i = 0; i < len; i++)
        arena_free(&t.slots[i].run.arena);
    free(t.slots);
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
