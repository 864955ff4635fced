#include "storage/block/point.h"

#include <stdlib.h>

#define FIRST_CAP   8
#define POINT_BYTES (sizeof(int64_t) + sizeof(union number) + 1)
#define FREE_CAP    256 /* so few points count in no budget */
#define FEW         24  /* points that are sorted one by one */

static bool
resize_arrays(struct points *p, size_t cap)
{
    int64_t *ts_ms;
    union number *v;
    uint8_t *is_float;

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
    return true;
}

static size_t
charge_of(size_t cap)
{
    return cap <= FREE_CAP ? 0 : cap * POINT_BYTES;
}

/* Small at first: a query may hold a million series with a point each. */
bool
points_reserve(struct points *p, size_t more)
{
    size_t need, cap = p->cap < FIRST_CAP ? FIRST_CAP : p->cap;
    size_t charge;

    if (__builtin_add_overflow(p->len, more, &need))
        return false;
    if (need <= p->cap)
        return true;
    while (cap < need)
        if (__builtin_mul_overflow(cap, 2, &cap))
            return false;
    if (cap > FREE_CAP && budget_left(p->budget) / POINT_BYTES < cap)
        cap = need; /* there may still be so much */
    if (cap > SIZE_MAX / (2 * POINT_BYTES))
        return false;
    charge = charge_of(cap) - charge_of(p->cap);
    if (charge > 0 && !budget_take(p->budget, charge))
        return false;
    if (!resize_arrays(p, cap)) {
        budget_return(p->budget, charge);
        return false;
    }
    p->cap = cap;
    return true;
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

/* There is room. */
static void
append_from(const struct points *more, size_t from, struct points *p)
{
    size_t len = more->len - from;

    if (len == 0)
        return;
    memcpy(p->ts_ms + p->len, more->ts_ms + from, len * sizeof *p->ts_ms);
    memcpy(p->v + p->len, more->v + from, len * sizeof *p->v);
    memcpy(p->is_float + p->len, more->is_float + from, len);
    p->len += len;
}

bool
points_append(struct points *p, const struct points *more)
{
    if (!points_reserve(p, more->len))
        return false;
    append_from(more, 0, p);
    return true;
}

bool
points_split(const struct points *all, int64_t from_ms, int64_t to_ms,
             struct points *within, struct points *outside)
{
    bool good = true;

    for (size_t i = 0; i < all->len && good; i++) {
        struct point p = points_at(all, i);
        bool is_within = p.ts_ms >= from_ms && p.ts_ms <= to_ms;

        good = points_add(is_within ? within : outside, p);
    }
    return good;
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
    budget_return(p->budget, charge_of(p->cap));
    *p = (struct points){ .budget = p->budget };
}

static bool
is_sorted_unique(const struct points *p)
{
    for (size_t i = 1; i < p->len; i++)
        if (p->ts_ms[i - 1] >= p->ts_ms[i])
            return false;
    return true;
}

/* Column by column: a struct point would be put together in memory only to be
 * read from there at once, which takes longer than all else. */
static inline void
copy_point(const struct points *from, size_t i, struct points *to, size_t at)
{
    to->ts_ms[at] = from->ts_ms[i];
    to->v[at] = from->v[i];
    to->is_float[at] = from->is_float[i];
}

static unsigned
bits_of(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

/* How the points are sorted: by numbers of 64 bits that hold the time since the
 * earliest point above the point's index.  So 16 bytes a point are allocated,
 * whatever a point consists of. */
struct sort_keys {
    uint64_t *keys, *spare;
    int64_t first_ms;
    unsigned index_bits, time_bits;
};

/* False when there is no memory, or if the times are too far apart for the
 * number of points: 2^22 points may be 136 years apart, and those of a row are
 * one day apart at most. */
static bool
make_keys(const struct points *p, struct sort_keys *k)
{
    uint64_t any = 0;
    size_t size;

    *k = (struct sort_keys){ .first_ms = p->ts_ms[0],
                             .index_bits = bits_of(p->len - 1) };
    for (size_t i = 1; i < p->len; i++)
        k->first_ms = p->ts_ms[i] < k->first_ms ? p->ts_ms[i] : k->first_ms;
    for (size_t i = 0; i < p->len; i++)
        any |= (uint64_t)p->ts_ms[i] - (uint64_t)k->first_ms;
    k->time_bits = bits_of(any);
    if (k->time_bits + k->index_bits > 64 ||
        __builtin_mul_overflow(p->len, 2 * sizeof *k->keys, &size))
        return false;
    k->keys = malloc(size);
    if (k->keys == NULL)
        return false;
    k->spare = k->keys + p->len;
    for (size_t i = 0; i < p->len; i++)
        k->keys[i] = ((uint64_t)p->ts_ms[i] - (uint64_t)k->first_ms)
                         << k->index_bits |
                     i;
    return true;
}

/* By one byte of the times; equal times stay in their order. */
static void
sort_by_byte(const uint64_t *in, size_t len, unsigned shift, uint64_t *out)
{
    size_t starts[257] = { 0 };

    for (size_t i = 0; i < len; i++)
        starts[(in[i] >> shift & 0xff) + 1]++;
    for (size_t i = 1; i < 256; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < len; i++)
        out[starts[in[i] >> shift & 0xff]++] = in[i];
}

/* False, and nothing changed, when there is no memory. */
static bool
radix_sort_unique(struct points *p)
{
    struct sort_keys k;
    uint64_t *all, *in, *out, mask;
    uint8_t *kinds;
    size_t len;
    size_t kept = 0;

    if (!make_keys(p, &k))
        return false;
    all = in = k.keys;
    out = k.spare;
    /* The byte of the last pass may include bits above the time: they are 0. */
    for (unsigned i = 0; i < k.time_bits; i += 8) {
        uint64_t *sorted = out;

        sort_by_byte(in, p->len, k.index_bits + i, out);
        out = in;
        in = sorted;
    }
    /* Of points with equal times the last one is kept. */
    for (size_t i = 0; i < p->len; i++)
        if (i + 1 == p->len ||
            in[i] >> k.index_bits != in[i + 1] >> k.index_bits)
            in[kept++] = in[i];
    len = kept;
    mask = k.index_bits == 0 ? 0 : UINT64_MAX >> (64 - k.index_bits);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint64_t)p->v[in[i] & mask].i;
    memcpy(p->v, out, len * sizeof *out);
    kinds = (uint8_t *)out;
    for (size_t i = 0; i < len; i++)
        kinds[i] = p->is_float[in[i] & mask];
    memcpy(p->is_float, kinds, len);
    for (size_t i = 0; i < len; i++)
        p->ts_ms[i] = (int64_t)((uint64_t)k.first_ms + (in[i] >> k.index_bits));
    p->len = len;
    free(all);
    return true;
}

bool
points_sort_unique(struct points *p)
{
    size_t len = 0;

    if (is_sorted_unique(p))
        return true;
    if (p->len > FEW)
        return radix_sort_unique(p);
    /* In place: for few. */
    for (size_t i = 1; i < p->len; i++) {
        int64_t ts_ms = p->ts_ms[i];
        union number v = p->v[i];
        uint8_t is_float = p->is_float[i];
        size_t at = i;

        for (; at > 0 && p->ts_ms[at - 1] > ts_ms; at--)
            copy_point(p, at - 1, p, at);
        p->ts_ms[at] = ts_ms;
        p->v[at] = v;
        p->is_float[at] = is_float;
    }
    for (size_t i = 0; i < p->len; i++) {
        if (len > 0 && p->ts_ms[len - 1] == p->ts_ms[i])
            len--;
        copy_point(p, i, p, len++);
    }
    p->len = len;
    return true;
}

bool
points_merge(const struct points *older, const struct points *newer,
             struct points *out)
{
    size_t i = 0, k = 0;

    if (!points_reserve(out, older->len + newer->len))
        return false;
    while (i < older->len && k < newer->len) {
        bool takes_newer = newer->ts_ms[k] <= older->ts_ms[i];

        i += newer->ts_ms[k] == older->ts_ms[i];
        if (takes_newer)
            copy_point(newer, k++, out, out->len++);
        else
            copy_point(older, i++, out, out->len++);
    }
    append_from(older, i, out);
    append_from(newer, k, out);
    return true;
}

struct points
points_of_hour(const struct points *p, size_t from)
{
    struct points hour = { .ts_ms = p->ts_ms + from,
                           .v = p->v + from,
                           .is_float = p->is_float + from };
    uint32_t base = hour_base(hour.ts_ms[0]);

    while (from + hour.len < p->len && hour_base(hour.ts_ms[hour.len]) == base)
        hour.len++;
    return hour;
}

size_t
times_seek(const int64_t *ts, size_t len, int64_t ms)
{
    size_t from = 0, to = len;

    /* Mostly all lie on one side. */
    if (len == 0 || ts[0] >= ms)
        return 0;
    if (ts[len - 1] < ms)
        return len;
    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (ts[middle] < ms)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}
