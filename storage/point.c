/* See storage/point.h. */
#include "config.h"

#include "storage/point.h"

#include <stdlib.h>

#define FIRST_CAP 8

static bool
resize(struct points *p, size_t cap)
{
    int64_t *ts_ms;
    union number *v;
    uint8_t *is_float;

    if (cap > SIZE_MAX / 16)
        return false;
    ts_ms = realloc(p->ts_ms, cap * sizeof *ts_ms);
    if (ts_ms == NULL)
        return false;
    p->ts_ms = ts_ms;
    v = realloc(p->v, cap * sizeof *v);
    if (v == NULL)
        return false;
    p->v = v;
    is_float = realloc(p->is_float, cap);
    if (is_float == NULL)
        return false;
    p->is_float = is_float;
    p->cap = cap;
    return true;
}

/* Small at first: a query may hold a million series with a point each. */
bool
points_reserve(struct points *p, size_t more)
{
    size_t need, cap = p->cap < FIRST_CAP ? FIRST_CAP : p->cap;

    if (__builtin_add_overflow(p->len, more, &need))
        return false;
    if (need <= p->cap)
        return true;
    while (cap < need)
        if (__builtin_mul_overflow(cap, 2, &cap))
            return false;
    return resize(p, cap);
}

bool
points_add(struct points *p, struct point x)
{
    if (p->len == p->cap && !points_reserve(p, 1))
        return false;
    p->ts_ms[p->len] = x.ts_ms;
    p->v[p->len] = x.v;
    p->is_float[p->len] = x.is_float;
    p->len++;
    return true;
}

bool
points_append(struct points *p, const struct points *more)
{
    if (more->len == 0)
        return true;
    if (!points_reserve(p, more->len))
        return false;
    memcpy(p->ts_ms + p->len, more->ts_ms, more->len * sizeof *p->ts_ms);
    memcpy(p->v + p->len, more->v, more->len * sizeof *p->v);
    memcpy(p->is_float + p->len, more->is_float, more->len);
    p->len += more->len;
    return true;
}

void
points_clear(struct points *p)
{
    p->len = 0;
}

void
points_fini(struct points *p)
{
    free(p->ts_ms);
    free(p->v);
    free(p->is_float);
    *p = (struct points){ 0 };
}

/* A point and where it stood, so that the sort keeps the order of equals. */
struct placed {
    struct point x;
    size_t at;
};

static int
compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->x.ts_ms != y->x.ts_ms)
        return x->x.ts_ms < y->x.ts_ms ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool
is_sorted_unique(const struct points *p)
{
    for (size_t i = 1; i < p->len; i++)
        if (p->ts_ms[i - 1] >= p->ts_ms[i])
            return false;
    return true;
}

static void
set(struct points *p, size_t i, struct point x)
{
    p->ts_ms[i] = x.ts_ms;
    p->v[i] = x.v;
    p->is_float[i] = x.is_float;
}

/* Slow, in place, without memory: for when there is none. */
static void
insertion_sort(struct points *p)
{
    for (size_t i = 1; i < p->len; i++) {
        struct point x = points_at(p, i);
        size_t at = i;

        for (; at > 0 && p->ts_ms[at - 1] > x.ts_ms; at--)
            set(p, at, points_at(p, at - 1));
        set(p, at, x);
    }
}

void
points_sort_unique(struct points *p)
{
    struct placed *all;
    size_t len = 0;

    if (is_sorted_unique(p))
        return;
    all = malloc(p->len * sizeof *all);
    if (all == NULL) {
        insertion_sort(p);
    } else {
        for (size_t i = 0; i < p->len; i++)
            all[i] = (struct placed){ points_at(p, i), i };
        qsort(all, p->len, sizeof *all, compare_placed);
        for (size_t i = 0; i < p->len; i++)
            set(p, i, all[i].x);
        free(all);
    }
    for (size_t i = 0; i < p->len; i++) {
        if (len > 0 && p->ts_ms[len - 1] == p->ts_ms[i])
            len--;
        set(p, len++, points_at(p, i));
    }
    p->len = len;
}

bool
points_merge(const struct points *older, const struct points *newer,
             struct points *out)
{
    size_t i = 0, k = 0;

    if (!points_reserve(out, older->len + newer->len))
        return false;
    while (i < older->len || k < newer->len) {
        bool take_newer =
            k < newer->len &&
            (i == older->len || newer->ts_ms[k] <= older->ts_ms[i]);

        if (take_newer) {
            if (i < older->len && newer->ts_ms[k] == older->ts_ms[i])
                i++;
            (void)points_add(out, points_at(newer, k++));
        } else {
            (void)points_add(out, points_at(older, i++));
        }
    }
    return true;
}
