#include <string.h>

#include "query/aggregate/aggregate_priv.h"

/* The union of sorted lists of times.  Series that were sampled or downsampled
 * alike have the same times, so that most lists are dropped after one
 * comparison; the others are merged two by two, then four by four, until one is
 * left. */

static bool
same(struct times a, struct times b)
{
    if (a.len != b.len || (a.list == NULL) != (b.list == NULL))
        return false;
    if (a.list == NULL)
        return a.first_ms == b.first_ms &&
               (a.len == 1 || a.step_ms == b.step_ms);
    return a.list == b.list ||
           memcmp(a.list, b.list, a.len * sizeof *a.list) == 0;
}

static int64_t
last_of(struct times t)
{
    return t.first_ms + (int64_t)(t.len - 1) * t.step_ms;
}

/* Is there an even list that all others are a part of? */
static bool
find_widest(const struct times *lists, size_t len, struct times *out)
{
    const struct times *one = NULL;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < len; i++) {
        const struct times *t = &lists[i];

        if (t->len == 0)
            continue;
        one = one == NULL ? t : one;
        if (t->list != NULL || t->step_ms != one->step_ms ||
            (t->first_ms != one->first_ms &&
             (t->step_ms == 0 ||
              (t->first_ms - one->first_ms) % t->step_ms != 0)))
            return false;
        first = t->first_ms < first ? t->first_ms : first;
        last = last_of(*t) > last ? last_of(*t) : last;
    }
    *out = (struct times){ .len = 0 };
    for (size_t i = 0; i < len && out->len == 0; i++)
        if (lists[i].len > 0 && lists[i].first_ms == first &&
            last_of(lists[i]) == last)
            *out = lists[i];
    return one == NULL || out->len > 0;
}

/* Those from the i-th on; where there are none, the array may be NULL. */
static size_t
copy_rest(int64_t *out, struct times t, size_t i)
{
    if (i < t.len)
        memcpy(out, t.list + i, (t.len - i) * sizeof *out);
    return t.len - i;
}

/* Leaves half of the lists. */
static enum status
merge_pairs(struct times *lists, size_t *len, int64_t *out,
            struct deadline *deadline, struct error *e)
{
    size_t n = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < *len && st == ST_OK; i += 2) {
        struct times t = lists[i];

        if (i + 1 < *len) {
            struct times b = lists[i + 1];
            size_t k = 0, j = 0, m = 0;

            /* 'out' has room for both; what both have comes once. */
            while (k < t.len && j < b.len) {
                int64_t x = t.list[k], y = b.list[j];

                out[m++] = x < y ? x : y;
                k += x <= y;
                j += y <= x;
            }
            m += copy_rest(out + m, t, k);
            m += copy_rest(out + m, b, j);
            t = (struct times){ .list = out, .len = m };
        } else
            (void)copy_rest(out, t, 0);
        lists[n++] = (struct times){ .list = out, .len = t.len };
        out += t.len;
        st = deadline_tick(deadline, t.len, e);
    }
    *len = n;
    return st;
}

enum status
times_union(struct times *lists, size_t len, struct deadline *deadline,
            struct arena *a, struct times *out, struct error *e)
{
    size_t n, total = 0;
    int64_t *from, *to;
    enum status st = ST_OK;

    if (find_widest(lists, len, out))
        return ST_OK;
    /* A list that equals its neighbour is left out. */
    n = 0;
    for (size_t i = 0; i < len; i++)
        if (lists[i].len > 0 && (n == 0 || !same(lists[n - 1], lists[i])))
            lists[n++] = lists[i];
    for (size_t i = 0; i < n; i++) { /* the times of even lists are written */
        int64_t *ms;

        if (lists[i].list != NULL)
            continue;
        ms = arena_array_raw(a, lists[i].len, sizeof *ms);
        if (ms == NULL)
            return error_no_memory(e);
        for (size_t k = 0; k < lists[i].len; k++)
            ms[k] = lists[i].first_ms + (int64_t)k * lists[i].step_ms;
        lists[i].list = ms;
    }
    for (size_t i = 0; i < n && n > 1; i++)
        total += lists[i].len;
    if (total == 0) { /* one list, or nothing in any */
        *out = lists[0];
        return ST_OK;
    }
    from = arena_array_raw(a, total, sizeof *from);
    to = arena_array_raw(a, total, sizeof *to);
    if (from == NULL || to == NULL)
        return error_no_memory(e);
    while (n > 1 && st == ST_OK) {
        int64_t *swap = from;

        st = merge_pairs(lists, &n, to, deadline, e);
        from = to;
        to = swap;
    }
    *out = lists[0];
    return st;
}
