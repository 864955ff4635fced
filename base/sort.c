#include "base/sort.h"

#include <stdlib.h>

int
sort_compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

size_t
sort_unique_u64(uint64_t *items, size_t len)
{
    size_t n = 0;
    bool ascends = true; /* and each is there once */

    for (size_t i = 1; i < len; i++)
        ascends &= items[i - 1] < items[i];
    if (ascends)
        return len;
    qsort(items, len, sizeof *items, sort_compare_u64);
    for (size_t i = 0; i < len; i++)
        if (n == 0 || items[n - 1] != items[i])
            items[n++] = items[i];
    return n;
}

size_t
sort_place_u64(const uint64_t *items, size_t len, uint64_t v)
{
    size_t from = 0, to = len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (items[middle] < v)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool
sort_has_u64(const uint64_t *items, size_t len, uint64_t v)
{
    size_t at = sort_place_u64(items, len, v);

    return at < len && items[at] == v;
}
