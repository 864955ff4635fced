/* A budget is a number of bytes that several allocations may hold together:
 * arenas, buffers, arrays.  Whoever allocates takes the bytes from the budget
 * first, and returns them after free().  A budget may be a part of a larger
 * one, its parent: what is taken from it is taken from both, as the memory of
 * one query is also memory of all queries.
 *
 * Owns:    budget_new() makes a counted one: it lives until its last reference
 *          is dropped.  Arenas and buffers hold references, so that what a
 *          request made of a query may outlive the query.  A budget that is
 *          static, or part of another struct, has no references, and outlives
 *          whatever takes from it.
 * Threads: any. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    size_t max; /* bytes; 0: no limit */
    struct budget *parent;
    atomic_size_t used;
    atomic_size_t refs;          /* 0: it is not counted */
    atomic_size_t refused;       /* how often a taker was refused */
    atomic_size_t refused_above; /* of them, because the parent had less */
};

/* NULL: there is no memory. */
struct budget *budget_new(size_t max, struct budget *parent);
/* budget_ref() and budget_unref() accept NULL. */
struct budget *budget_ref(struct budget *b);
void budget_unref(struct budget **b);

/* False, and nothing is taken, when this budget or its parent has less.  NULL:
 * nothing is counted. */
bool budget_take(struct budget *b, size_t size);
/* Takes them, although there may be less: for memory that is there already. */
void budget_force(struct budget *b, size_t size);
void budget_return(struct budget *b, size_t size);
/* From an allocation of 'from' bytes to one of 'to'; only taking more can
 * fail. */
bool budget_change(struct budget *b, size_t from, size_t to);

/* Returns the bytes that were taken and not returned. */
size_t budget_used(const struct budget *b);
/* Returns the bytes that this budget and its parents have left, or SIZE_MAX if
 * none of them has a limit. Other threads may take them meanwhile. */
size_t budget_left(const struct budget *b);
