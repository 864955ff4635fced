#include <string.h>

#include "query/aggregate/aggregate_priv.h"

/* The union of sorted lists of times.  Series that were sampled or downsampled
 * alike have the same times, so that most lists are gone at a glance; the
 * others are merged two by two, then four by four, until one is left. */

static bool
same(struct times a, struct times b)
{
    return a.len == b.len &&
           (a.ms == b.ms || memcmp(a.ms, b.ms, a.len * sizeof *a.ms) == 0);
}

/* Leaves out what equals its neighbour; returns how many are left. */
static size_t
drop_same(struct times *lists, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        if (lists[i].len > 0 && (n == 0 || !same(lists[n - 1], lists[i])))
            lists[n++] = lists[i];
    return n;
}

/* Those from the i-th on; where there are none, the array may be NULL. */
static size_t
copy_rest(int64_t *out, struct times t, size_t i)
{
    if (i < t.len)
        memcpy(out, t.ms + i, (t.len - i) * sizeof *out);
    return t.len - i;
}

/* 'out' has room for both; what both have comes once. */
static struct times
merge_two(struct times a, struct times b, int64_t *out)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a.len && j < b.len) {
        int64_t x = a.ms[i], y = b.ms[j];

        out[n++] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
    }
    n += copy_rest(out + n, a, i);
    n += copy_rest(out + n, b, j);
    return (struct times){ out, n };
}

static size_t
merge_pairs(struct times *lists, size_t len, int64_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i += 2) {
        struct times t = lists[i];

        if (i + 1 < len)
            t = merge_two(t, lists[i + 1], out);
        else
            (void)copy_rest(out, t, 0);
        lists[n++] = (struct times){ out, t.len };
        out += t.len;
    }
    return n;
}

bool
times_union(struct times *lists, size_t len, struct arena *a, struct times *out)
{
    size_t n = drop_same(lists, len), total = 0;
    int64_t *from, *to;

    *out = (struct times){ NULL, 0 };
    if (n == 0)
        return true;
    for (size_t i = 0; i < n && n > 1; i++)
        total += lists[i].len;
    if (total == 0) { /* one list, or nothing in any */
        *out = lists[0];
        return true;
    }
    from = column_array(a, total, sizeof *from);
    to = column_array(a, total, sizeof *to);
    if (from == NULL || to == NULL)
        return false;
    while (n > 1) {
        int64_t *swap = from;

        n = merge_pairs(lists, n, to);
        from = to;
        to = swap;
    }
    *out = lists[0];
    return true;
}
