#include "query/downsample/fold_priv.h"

#include <math.h>
#include <string.h>

/* -- buckets --------------------------------------------------------------- */

static double
acc_value(const struct arithmetic *m, const struct bucket_acc *s)
{
    return m->folds ? m->end[true](s->count, s->a, s->b).d : s->a.d;
}

/* The times that are there go into an array of the series' own. */
static bool
own_times(struct bucket_acc *s, size_t cap, struct arena *a)
{
    int64_t *ts = arena_array_raw(a, cap, sizeof *ts);

    if (ts == NULL) {
        s->failed = true;
        return false;
    }
    if (s->len > 0)
        memcpy(ts, s->ts, s->len * sizeof *ts);
    s->ts = ts;
    s->owns = true;
    return true;
}

/* Can the next 'n' buckets, the first at 'at', have their times in the list of
 * all? */
static bool
are_listed(const struct buckets *b, struct bucket_acc *s, int64_t at, size_t n)
{
    size_t i = s->len;

    if (s->owns)
        return false;
    i = i > 0 ? i + (size_t)(s->ts - b->starts)
              : times_seek(b->starts, b->starts_len, at);
    if (i >= b->starts_len || n > b->starts_len - i || b->starts[i] != at)
        return false;
    if (s->len == 0)
        s->ts = b->starts + i;
    return true;
}

static bool
add_times(const struct fold *f, struct bucket_acc *s, int64_t at, size_t n,
          struct arena *a)
{
    int64_t *own;

    if (are_listed(f->buckets, s, at, n))
        return true;
    if (!s->owns && !own_times(s, s->cap, a))
        return false;
    own = (int64_t *)(uintptr_t)s->ts; /* an array that own_times() made */
    for (size_t i = 0; i < n; i++)
        own[s->len + i] = at + (int64_t)i * f->buckets->length;
    return true;
}

/* Room for 'more' buckets.  There may be more of them than the scanned range
 * has: with explicit tags an hour behind it is read. */
static bool
grow(const struct fold *f, struct bucket_acc *s, size_t more, struct arena *a)
{
    size_t cap = s->cap == 0 ? 16 : (size_t)s->cap * 4;
    union number *v;

    if (cap > f->buckets->most || f->buckets->most <= 128)
        cap = f->buckets->most;
    if (cap < s->len + more || cap > UINT32_MAX)
        cap = s->len + more + 16;
    v = arena_array_raw(a, cap, sizeof *v);
    if (v == NULL || (s->owns && !own_times(s, cap, a))) {
        s->failed = true;
        return false;
    }
    if (s->len > 0)
        memcpy(v, s->v, s->len * sizeof *v);
    s->v = v;
    s->cap = (uint32_t)cap;
    return true;
}

bool
bucket_acc_room(const struct fold *f, struct bucket_acc *s, int64_t at,
                size_t n, struct arena *a)
{
    return (n <= s->cap - s->len || grow(f, s, n, a)) &&
           add_times(f, s, at, n, a);
}

void
bucket_acc_close(const struct fold *f, struct bucket_acc *s, struct arena *a)
{
    if (!s->filled || !bucket_acc_room(f, s, s->bucket.start, 1, a))
        return;
    s->v[s->len++].d = acc_value(arithmetic_of(f->function), s);
    s->filled = false;
}

static void
empty_bucket(const struct arithmetic *m, struct bucket_acc *s)
{
    s->filled = false;
    s->count = 0;
    s->a = m->start[true];
    s->b.i = 0; /* which is a bound of 0.0, too */
}

void
bucket_acc_next(const struct fold *f, struct bucket_acc *s, int64_t ms,
                struct arena *a)
{
    bucket_acc_close(f, s, a);
    bucket_move(f->buckets, &s->bucket, ms);
    empty_bucket(arithmetic_of(f->function), s);
}

bool
bucket_acc_end(const struct fold *f, struct bucket_acc *s, struct arena *a)
{
    if (!s->failed)
        bucket_acc_close(f, s, a);
    return !s->failed;
}

struct column
bucket_acc_column(const struct bucket_acc *s)
{
    return (struct column){ .ts_ms = s->ts,
                            .v = s->v,
                            .len = s->len,
                            .downsampled = true,
                            .has_points = s->some,
                            .first_ms = s->first_ms,
                            .last_ms = s->last_ms };
}

/* -- points ---------------------------------------------------------------- */

struct batch
batch_of_row(const struct points *p, const struct spacing *spacing)
{
    struct batch out = { .v = p->v };

    if (spacing->even) {
        out.times = (struct times){ .first_ms = spacing->first_ms,
                                    .step_ms = spacing->step_ms };
        out.doubles = spacing->is_float;
        out.greatest = spacing->greatest;
    } else {
        out.times.list = p->ts_ms;
        out.is_float = p->is_float;
    }
    out.times.len = p->len;
    return out;
}

struct batch
batch_part(const struct batch *p, size_t from, size_t len)
{
    struct batch out = *p;

    out.times = times_part(&p->times, from, len);
    out.v += from;
    out.is_float = p->is_float == NULL ? NULL : p->is_float + from;
    return out;
}

/* No value's magnitude is greater. */
static double
greatest_magnitude(const union number *v, size_t len)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < len; i++)
        bits |= (uint64_t)(v[i].i ^ (v[i].i >> 63));
    return (double)bits + 1;
}

static void
sum_ints(struct bucket_acc *s, const union number *v, size_t len,
         double greatest)
{
    double bound = s->bound + greatest * (double)len;
    uint64_t sum = 0;

    s->bound = bound;
    if (bound <= EXACT_MAX) {
        for (size_t i = 0; i < len; i++)
            sum += (uint64_t)v[i].i;
        s->a.d += (double)(int64_t)sum;
        return;
    }
    for (size_t i = 0; i < len; i++)
        s->a.d += (double)v[i].i;
}

void
bucket_acc_doubles(const struct arithmetic *m, struct bucket_acc *s,
                   const union number *v, size_t len)
{
    uint32_t before = s->count > 0, n = before;

    m->all[true](&n, &s->a, &s->b, v, len);
    s->count += n - before;
    if (m->adds)
        s->bound = INFINITY;
}

/* Integers that are not summed stand for one or two doubles. */
static void
add_ints(const struct arithmetic *m, struct bucket_acc *s,
         const union number *v, size_t len, double greatest)
{
    union number ends[2] = { m->start[false], { .i = 0 } };
    uint64_t count = s->count + len;
    uint32_t n = 0;

    if (m->adds) {
        sum_ints(s, v, len, greatest);
    } else if (m->values[0] != SUMMARY_NOTHING) {
        m->all[false](&n, &ends[0], &ends[1], v, len);
        for (size_t i = 0; i < 2; i++)
            ends[i].d = (double)ends[i].i;
        bucket_acc_doubles(m, s, ends, 1 + m->pairs);
    }
    s->count = count;
}

/* Adds 'len' points, from the place 'at' on, of one kind. */
static void
fold_points(const struct arithmetic *m, struct bucket_acc *s,
            const struct batch *p, size_t at, size_t len)
{
    const union number *v = p->v + at;

    if (p->is_float != NULL ? p->is_float[at] != 0 : p->doubles)
        bucket_acc_doubles(m, s, v, len);
    else
        add_ints(m, s, v, len,
                 p->is_float == NULL ? (double)p->greatest
                 : m->adds           ? greatest_magnitude(v, len)
                                     : 0);
}

/* Makes doubles of 'len' points, from the place 'at' on. */
static void
copy_doubles(const struct batch *p, size_t at, size_t len, union number *out)
{
    const union number *v = p->v + at;

    if (p->is_float == NULL && p->doubles)
        memcpy(out, v, len * sizeof *v);
    else if (p->is_float == NULL)
        for (size_t i = 0; i < len; i++)
            out[i].d = (double)v[i].i;
    else
        for (size_t i = 0; i < len; i++)
            out[i].d = p->is_float[at + i] != 0 ? v[i].d : (double)v[i].i;
}

/* -- whole buckets --------------------------------------------------------- */

/* Makes 'len' buckets of 'every' points each, from the place 'at' on. */
static void
fold_each(const struct aggregator *g, const struct batch *p, size_t at,
          size_t every, size_t len, union number *out)
{
    const struct arithmetic *m = arithmetic_of(g);
    struct bucket_acc s = { 0 };

    if (!p->doubles && m->adds &&
        (double)p->greatest * (double)every <= EXACT_MAX) {
        const union number *v = p->v + at;

        /* Sums, which are exact, of so many integers each. */
        for (size_t i = 0; i < len; i++, v += every) {
            uint64_t sum = 0;
            size_t k = 0;

            /* By six, as there are of ten seconds in a minute: a processor
             * guesses well when the loops end. */
            for (; every - k >= 6; k += 6)
                sum += (uint64_t)v[k].i + (uint64_t)v[k + 1].i +
                       (uint64_t)v[k + 2].i + (uint64_t)v[k + 3].i +
                       (uint64_t)v[k + 4].i + (uint64_t)v[k + 5].i;
            for (; k < every; k++)
                sum += (uint64_t)v[k].i;
            out[i].d = (double)(int64_t)sum /
                       (g->kind == KIND_AVG ? (double)every : 1);
        }
        return;
    }
    for (size_t i = 0; i < len; i++) {
        const union number *v = p->v + at + i * every;
        union number x = m->start[p->doubles], y = { .i = 0 };
        uint32_t n = 0;

        if (!p->doubles && m->adds) {
            empty_bucket(m, &s);
            add_ints(m, &s, v, every, (double)p->greatest);
            out[i].d = acc_value(m, &s);
            continue;
        }
        m->all[p->doubles](&n, &x, &y, v, every);
        if (!p->doubles) {
            x.d = (double)x.i;
            y.d = (double)y.i;
        }
        out[i] = m->end[true](n, x, y);
    }
}

/* How many points does a bucket have that lacks none?  0: that differs. */
static size_t
points_of_bucket(const struct buckets *b, const struct batch *p)
{
    int64_t step = p->times.step_ms;

    return p->times.list == NULL && step > 0 && b->length % step == 0
               ? (size_t)(b->length / step)
               : 0;
}

/* Adds whole buckets of 'every' points each, as many as are complete: the first
 * is s->bucket, which has no points yet.  A bucket that is folded is complete
 * if a point follows it.  Returns the number of points. */
static size_t
add_buckets(const struct fold *f, struct bucket_acc *s, const struct batch *p,
            size_t at, size_t to, size_t every, union number *scratch,
            struct arena *a)
{
    bool folds = arithmetic_of(f->function)->folds;
    size_t n = (to - at - folds) / every;

    if (n == 0 || !bucket_acc_room(f, s, s->bucket.start, n, a))
        return 0;
    if (folds)
        fold_each(f->function, p, at, every, n, s->v + s->len);
    else {
        union number *out = s->v + s->len;
        size_t i = 0;

        copy_doubles(p, at, every * n, scratch);
        if (f->function->kind == KIND_DEV)
            i = deviations(scratch, every, n, out);
        for (; i < n; i++)
            out[i] =
                aggregator_run(f->function, true, scratch + i * every, every);
    }
    s->len += (uint32_t)n;
    s->bucket.start += (int64_t)(n - 1) * f->buckets->length;
    s->bucket.next += (int64_t)(n - 1) * f->buckets->length;
    return n * every;
}

void
bucket_acc_add(const struct fold *f, struct bucket_acc *s,
               const struct batch *p, union number *scratch, struct arena *a)
{
    const struct arithmetic *m = arithmetic_of(f->function);
    size_t at = times_find(&p->times, f->buckets->from);
    size_t to = times_find(&p->times, f->buckets->to);
    size_t every = points_of_bucket(f->buckets, p);
    size_t bucket_end = at, kind_end = at, end;

    if (p->times.len == 0 || s->failed)
        return;
    bucket_acc_note(s, times_at(&p->times, 0),
                    times_at(&p->times, p->times.len - 1));
    for (; at < to && !s->failed; at = end) {
        if (at >= bucket_end) {
            struct times rest = times_part(&p->times, at, to - at);

            bucket_acc_move(f, s, times_at(&rest, 0), a);
            bucket_end = at + times_find(&rest, s->bucket.next);
            if (bucket_end - at == every && !s->filled) {
                end = at + add_buckets(f, s, p, at, to, every, scratch, a);
                bucket_end = end > at ? end : bucket_end;
                if (end > at || s->failed)
                    continue;
            }
        }
        if (m->folds && at >= kind_end) {
            const uint8_t *kinds = p->is_float;
            const uint8_t *other =
                kinds == NULL ? NULL : memchr(kinds + at, !kinds[at], to - at);

            /* The points from 'at' to 'kind_end' are of one kind. */
            kind_end = other == NULL ? to : (size_t)(other - kinds);
        }
        end = m->folds && kind_end < bucket_end ? kind_end : bucket_end;
        if (m->folds) {
            fold_points(m, s, p, at, end - at);
        } else {
            copy_doubles(p, at, end - at, scratch);
            s->a = aggregator_run(f->function, true, scratch, end - at);
        }
        s->filled = true;
    }
}
