#include "base/process/latency.h"

/* 0 .. 15 are classes of their own; above, eight classes for each doubling:
 *
 *     16 17 | 18 19 | .. | 30 31 | 32 33 34 35 | .. */
#define EXACT  16
#define PARTS  8
#define MAX_US ((UINT64_C(1) << 32) - 1)

static unsigned
class_of(uint64_t us)
{
    unsigned doublings;

    if (us < EXACT)
        return (unsigned)us;
    if (us > MAX_US)
        us = MAX_US;
    doublings = 63 - (unsigned)__builtin_clzll(us);
    return EXACT + (doublings - 4) * PARTS +
           (unsigned)(us >> (doublings - 3) & (PARTS - 1));
}

/* The greatest of a class. */
static uint64_t
end_of(unsigned class)
{
    unsigned doublings = (class - EXACT) / PARTS + 4;
    unsigned part = (class - EXACT) % PARTS;

    if (class < EXACT)
        return class;
    return ((uint64_t)(PARTS + part + 1) << (doublings - 3)) - 1;
}

void
latency_add(struct latency *l, uint64_t us)
{
    atomic_fetch_add_explicit(&l->counts[class_of(us)], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&l->sum_us, us, memory_order_relaxed);
}

uint64_t
latency_below(const struct latency *l, unsigned exponent)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < LATENCY_CLASSES; i++)
        if (exponent >= 64 || end_of(i) < UINT64_C(1) << exponent)
            n += atomic_load_explicit(&l->counts[i], memory_order_relaxed);
    return n;
}

uint64_t
latency_percentile(const struct latency *l, unsigned percent)
{
    uint64_t counts[LATENCY_CLASSES], total = 0, seen = 0;
    unsigned i;

    for (i = 0; i < LATENCY_CLASSES; i++) {
        counts[i] = atomic_load_explicit(&l->counts[i], memory_order_relaxed);
        total += counts[i];
    }
    if (total == 0)
        return 0;
    for (i = 0; i < LATENCY_CLASSES - 1; i++) {
        seen += counts[i];
        if ((double)seen * 100 >= (double)total * percent)
            break;
    }
    return end_of(i);
}
