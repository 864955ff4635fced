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

static enum status
run_one(const struct subqueries *s, size_t i, struct arena *a,
        struct subquery_run *r)
{
    *r = (struct subquery_run){ .arena = a };
    r->limits.budget = s->budget;
    r->limits.deadline = s->deadline;
    return s->run(s->ctx, i, r);
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

    b->status =
        run_one(t->s, t->first + i,
                arena_new_within(t->arena_bytes, t->s->budget), &b->run);
    b->lacks_memory = b->status == ST_LIMIT && count_refused(t->s) != refused;
}

/* Keeps what one made.  Its figures are in its arena, also when it failed. */
static enum status
keep_slot(struct parallel_slot *b, struct arena *a, struct error *e)
{
    if (b->status != ST_OK)
        *e = b->run.error;
    if (!arena_absorb(a, &b->run.arena))
        return b->status != ST_OK ? b->status : error_no_memory(e);
    return b->status;
}

enum status
subqueries_run(const struct subqueries *s, struct arena *a, size_t *kept,
               struct error *e)
{
    bool is_short = false; /* of memory */
    enum status status = ST_OK;

    *kept = 0;
    while (*kept < s->len && status == ST_OK) {
        int64_t from_us = clock_monotonic_us(), left;
        struct subquery_run r;

        status = run_one(s, (*kept)++, a, &r);
        if (status != ST_OK)
            *e = r.error;
        left = (int64_t)(s->len - *kept);
        if (status == ST_OK && !is_short && left > 1 &&
            (clock_monotonic_us() - from_us) * left >= s->worth_us) {
            size_t len = s->len - *kept;
            struct parallel_run t = { .s = s,
                                      .first = *kept,
                                      .arena_bytes = arena_left(a) };

            /* Runs all from '*kept' on at the same time, and adds to '*kept'
             * those before the first that was refused memory, or up to the
             * first that failed. */
            if (!budget_take(s->budget, len * sizeof *t.slots))
                return error_no_memory(e);
            t.slots = mem_try_array(len, sizeof *t.slots);
            if (t.slots == NULL) {
                budget_return(s->budget, len * sizeof *t.slots);
                return error_no_memory(e);
            }
            workers_run(s->workers, len, run_slot, &t);
            for (size_t k = 0;
                 k < len && status == ST_OK && !t.slots[k].lacks_memory; k++) {
                status = keep_slot(&t.slots[k], a, e);
                *kept += t.slots[k].run.arena == NULL;
            }
            for (size_t k = 0; k < len; k++)
                arena_free(&t.slots[k].run.arena);
            free(t.slots);
            budget_return(s->budget, len * sizeof *t.slots);
            is_short = true; /* or else none is left */
        }
    }
    return status;
}
