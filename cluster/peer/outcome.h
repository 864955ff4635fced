/* What became of PUTs, in their order, until it is answered: each item is of
 * all numbers behind those of the item before it.  So a run of PUTs that went
 * well, or that failed alike, is one item.
 *
 * Threads: owner. */
#pragma once

#include <stdint.h>

#include "base/error.h"

#define OUTCOMES_MAX 256

struct outcome {
    uint64_t number; /* the last one */
    uint64_t lsn;    /* to be committed before it is answered */
    enum status status;
    char text[160]; /* why not ST_OK */
};

struct outcomes {
    struct outcome items[OUTCOMES_MAX];
    size_t len;
};

static inline bool
outcomes_are_full(const struct outcomes *o)
{
    return o->len == OUTCOMES_MAX;
}

/* There must be room. */
static inline void
outcomes_add(struct outcomes *all, const struct outcome *o)
{
    struct outcome *last = all->len == 0 ? NULL : &all->items[all->len - 1];

    if (last == NULL || last->status != o->status) {
        all->items[all->len++] = *o;
        return;
    }
    last->number = o->number;
    last->lsn = o->lsn > last->lsn ? o->lsn : last->lsn;
}

static inline uint64_t
outcomes_lsn(const struct outcomes *all)
{
    uint64_t lsn = 0;

    for (size_t i = 0; i < all->len; i++)
        lsn = all->items[i].lsn > lsn ? all->items[i].lsn : lsn;
    return lsn;
}
