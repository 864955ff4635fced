#include "base/budget.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

struct budget *
budget_new(size_t max, struct budget *parent)
{
    struct budget *b = mem_try(sizeof *b);

    if (b == NULL)
        return NULL;
    *b = (struct budget){ .max = max, .parent = budget_ref(parent) };
    atomic_init(&b->refs, 1);
    return b;
}

struct budget *
budget_ref(struct budget *b)
{
    if (b != NULL && atomic_load_explicit(&b->refs, memory_order_relaxed) > 0)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void
budget_unref(struct budget **bp)
{
    struct budget *b = *bp;

    *bp = NULL;
    if (b == NULL || atomic_load_explicit(&b->refs, memory_order_relaxed) == 0)
        return;
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
        return;
    budget_unref(&b->parent);
    free(b);
}

static bool
take_from(struct budget *b, size_t size)
{
    size_t used = atomic_load_explicit(&b->used, memory_order_relaxed);

    /* 'used' never contains bytes that are refused: otherwise a taker who asks
     * for too much would make others fail meanwhile who ask for little. */
    do {
        if (b->max != 0 && (used > b->max || size > b->max - used))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &b->used, &used, used + size, memory_order_relaxed,
        memory_order_relaxed));
    return true;
}

bool
budget_take(struct budget *b, size_t size)
{
    if (b == NULL)
        return true;
    if (take_from(b, size)) {
        if (budget_take(b->parent, size))
            return true;
        (void)atomic_fetch_sub_explicit(&b->used, size, memory_order_relaxed);
        atomic_fetch_add_explicit(&b->refused_above, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&b->refused, 1, memory_order_relaxed);
    return false;
}

void
budget_force(struct budget *b, size_t size)
{
    for (; b != NULL; b = b->parent)
        (void)atomic_fetch_add_explicit(&b->used, size, memory_order_relaxed);
}

void
budget_return(struct budget *b, size_t size)
{
    if (size == 0)
        return;
    for (; b != NULL; b = b->parent)
        (void)atomic_fetch_sub_explicit(&b->used, size, memory_order_relaxed);
}

bool
budget_change(struct budget *b, size_t from, size_t to)
{
    if (to > from)
        return budget_take(b, to - from);
    budget_return(b, from - to);
    return true;
}

size_t
budget_used(const struct budget *b)
{
    return atomic_load_explicit(&b->used, memory_order_relaxed);
}

size_t
budget_left(const struct budget *b)
{
    size_t least = SIZE_MAX;

    for (; b != NULL; b = b->parent) {
        size_t used = atomic_load_explicit(&b->used, memory_order_relaxed);
        size_t left = b->max == 0 ? SIZE_MAX : b->max - used;

        if (b->max != 0 && used > b->max)
            left = 0;
        least = left < least ? left : least;
    }
    return least;
}
