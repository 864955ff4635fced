#include "base/process/counters.h"

#include <stdatomic.h>

static _Atomic uint64_t values[COUNTER_LEN];

void
counter_add(enum counter c, uint64_t n)
{
    atomic_fetch_add_explicit(&values[c], n, memory_order_relaxed);
}

uint64_t
counter_get(enum counter c)
{
    return atomic_load_explicit(&values[c], memory_order_relaxed);
}
