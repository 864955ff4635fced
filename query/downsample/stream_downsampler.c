#include "query/downsample/stream_downsampler_priv.h"

#include <math.h>
#include <string.h>

#include "query/downsample/downsample.h"

/* -- buckets --------------------------------------------------------------- */

/* Of the last, 'value' is that. */
static double
acc_value(const struct fold *f, const struct bucket_acc *s)
{
    union number v = { .d = s->value };

    return arithmetic_end(f->function->kind, true, s->count, v, v).d;
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
    s->v[s->len++].d = acc_value(f, s);
    s->filled = false;
}

static void
empty_bucket(const struct fold *f, struct bucket_acc *s)
{
    s->filled = false;
    s->count = 0;
    s->bound = 0;
    s->value = aggregator_arithmetic[f->function->kind].start[1].d;
}

void
bucket_acc_next(const struct fold *f, struct bucket_acc *s, int64_t ms,
                struct arena *a)
{
    bucket_acc_close(f, s, a);
    bucket_move(f->buckets, &s->bucket, ms);
    empty_bucket(f, s);
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
        s->value += (double)(int64_t)sum;
        return;
    }
    for (size_t i = 0; i < len; i++)
        s->value += (double)v[i].i;
}

static void
acc_doubles(const struct fold *f, struct bucket_acc *s, const union number *v,
            size_t len)
{
    union number a = { .d = s->value }, b = { .i = 0 };
    uint32_t before = s->filled, n = before;

    aggregator_arithmetic[f->function->kind].all[1](&n, &a, &b, v, len);
    s->value = f->function->kind == KIND_LAST ? b.d : a.d;
    s->count += n - before;
    s->bound = INFINITY;
}

/* But for sums their result is that of one double. */
static void
acc_ints(const struct fold *f, struct bucket_acc *s, const union number *v,
         size_t len, double greatest)
{
    const struct arithmetic *m = &aggregator_arithmetic[f->function->kind];
    union number a = m->start[0], b = { .i = 0 };
    uint32_t n = 0;

    if (adds_up(f)) {
        sum_ints(s, v, len, greatest);
    } else if (f->function->kind != KIND_COUNT) {
        m->all[0](&n, &a, &b, v, len);
        a.d = (double)arithmetic_end(f->function->kind, false, n, a, b).i;
        acc_doubles(f, s, &a, 1);
        len--;
    }
    s->count += len;
}

/* Points of one kind, from[0] .. to[-1], bucket by bucket. */
static void
acc_run(const struct fold *f, struct bucket_acc *s, const struct points *p,
        size_t from, size_t to, struct arena *a)
{
    bool is_float = p->is_float[from] != 0;
    double greatest = adds_up(f) && !is_float
                          ? greatest_magnitude(p->v + from, to - from)
                          : 0;

    while (from < to && !s->failed) {
        size_t len;

        bucket_acc_move(f, s, p->ts_ms[from], a);
        len = times_seek(p->ts_ms + from, to - from, s->bucket.next);
        if (is_float)
            acc_doubles(f, s, p->v + from, len);
        else
            acc_ints(f, s, p->v + from, len, greatest);
        s->filled |= len > 0;
        from += len;
    }
}

void
bucket_acc_points(const struct fold *f, struct bucket_acc *s,
                  const struct points *p, struct arena *a)
{
    size_t at, to;

    if (p->len == 0 || s->failed)
        return;
    bucket_acc_note(s, p->ts_ms[0], p->ts_ms[p->len - 1]);
    at = times_seek(p->ts_ms, p->len, f->buckets->from);
    to = times_seek(p->ts_ms, p->len, f->buckets->to);
    while (at < to) {
        const uint8_t *kinds = p->is_float;
        const uint8_t *other = memchr(kinds + at, !kinds[at], to - at);
        size_t end = other == NULL ? to : (size_t)(other - kinds);

        acc_run(f, s, p, at, end, a);
        at = end;
    }
}

/* -- functions that collect ------------------------------------------------ */

size_t
bucket_acc_collect(const struct fold *f, struct bucket_acc *s,
                   const struct points *p, int64_t end_ms,
                   union number *scratch, struct arena *a)
{
    bool doubles = p->len == 0 || memchr(p->is_float, 0, p->len) == NULL;
    size_t at = times_seek(p->ts_ms, p->len, f->buckets->from);
    size_t to = times_seek(p->ts_ms, p->len, f->buckets->to);

    if (p->len > 0)
        bucket_acc_note(s, p->ts_ms[0], p->ts_ms[p->len - 1]);
    while (at < to) {
        struct bucket bucket = s->bucket;
        size_t end;

        bucket_move(f->buckets, &bucket, p->ts_ms[at]);
        if (bucket.next > end_ms)
            return at;
        if (!bucket_acc_room(f, s, bucket.start, 1, a))
            return p->len;
        end = at + times_seek(p->ts_ms + at, to - at, bucket.next);
        s->v[s->len++].d =
            bucket_value(f->function, p->v + at, p->is_float + at, end - at,
                         doubles, scratch);
        s->bucket = bucket;
        at = end;
    }
    return p->len;
}

/* Of 'every' values each. */
static void
run_each(const struct aggregator *g, union number *v, size_t every, size_t len,
         union number *out)
{
    size_t n = 0;

    if (g->kind == KIND_DEV)
        n = deviations(v, every, len, out);
    for (; n < len; n++)
        out[n] = aggregator_run(g, true, v + n * every, every);
}

void
bucket_acc_collect_spaced(const struct fold *f, struct bucket_acc *s,
                          const struct spacing *p, const union number *v,
                          size_t len, union number *scratch, struct arena *a)
{
    int64_t length = f->buckets->length;
    size_t at = even_seek(p->first_ms, p->step_ms, len, f->buckets->from);
    size_t to = even_seek(p->first_ms, p->step_ms, len, f->buckets->to);
    size_t full = p->step_ms > 0 && length % p->step_ms == 0
                      ? (size_t)(length / p->step_ms)
                      : SIZE_MAX;

    bucket_acc_note(s, p->first_ms,
                    p->first_ms + (int64_t)(len - 1) * p->step_ms);
    for (size_t i = at; i < to; i++)
        scratch[i].d = p->is_float ? v[i].d : (double)v[i].i;
    while (at < to) {
        int64_t ms = p->first_ms + (int64_t)at * p->step_ms;
        size_t every, n = 1;

        bucket_move(f->buckets, &s->bucket, ms);
        every = even_seek(ms, p->step_ms, to - at, s->bucket.next);
        if (every == full)
            n = (to - at) / every;
        if (!bucket_acc_room(f, s, s->bucket.start, n, a))
            return;
        run_each(f->function, scratch + at, every, n, s->v + s->len);
        s->len += (uint32_t)n;
        s->bucket.next += (int64_t)(n - 1) * length;
        at += n * every;
    }
}

/* -- points at equal distances --------------------------------------------- */

/* Points of the one bucket that has v[0], which is at 'ms': returns how many
 * there are. */
static size_t
acc_one(const struct fold *f, struct bucket_acc *s, const struct spacing *p,
        int64_t ms, const union number *v, size_t len, struct arena *a)
{
    size_t n;

    bucket_acc_move(f, s, ms, a);
    n = even_seek(ms, p->step_ms, len, s->bucket.next);
    if (p->is_float)
        acc_doubles(f, s, v, n);
    else
        acc_ints(f, s, v, n, (double)p->greatest);
    s->filled |= n > 0;
    return n;
}

/* Sums, which are exact, of so many integers each. */
static void
sum_each(const union number *v, size_t every, size_t len, double divisor,
         union number *out)
{
    for (size_t i = 0; i < len; i++, v += every) {
        uint64_t sum = 0;
        size_t k = 0;

        /* By six, as there are of ten seconds in a minute: a processor guesses
         * well when the loops end. */
        for (; every - k >= 6; k += 6)
            sum += (uint64_t)v[k].i + (uint64_t)v[k + 1].i +
                   (uint64_t)v[k + 2].i + (uint64_t)v[k + 3].i +
                   (uint64_t)v[k + 4].i + (uint64_t)v[k + 5].i;
        for (; k < every; k++)
            sum += (uint64_t)v[k].i;
        out[i].d = (double)(int64_t)sum / divisor;
    }
}

static void
acc_each(const struct fold *f, const struct spacing *p, const union number *v,
         size_t every, size_t len, union number *out)
{
    const struct arithmetic *m = &aggregator_arithmetic[f->function->kind];
    struct bucket_acc s = { 0 };

    if (!p->is_float && adds_up(f) &&
        (double)p->greatest * (double)every <= EXACT_MAX) {
        sum_each(v, every, len,
                 f->function->kind == KIND_AVG ? (double)every : 1, out);
        return;
    }
    for (size_t i = 0; i < len; i++, v += every) {
        union number a = m->start[p->is_float], b = { .i = 0 };
        uint32_t n = 0;

        if (!p->is_float && adds_up(f)) {
            empty_bucket(f, &s);
            acc_ints(f, &s, v, every, (double)p->greatest);
            out[i].d = acc_value(f, &s);
            continue;
        }
        m->all[p->is_float](&n, &a, &b, v, every);
        a = arithmetic_end(f->function->kind, p->is_float, n, a, b);
        out[i].d = p->is_float ? a.d : (double)a.i;
    }
}

/* Buckets behind the one that is filled, of 'every' points each: as many as are
 * followed by a point, so that they are complete.  Returns their points. */
static size_t
acc_many(const struct fold *f, struct bucket_acc *s, const struct spacing *p,
         const union number *v, size_t len, struct arena *a)
{
    size_t every = (size_t)(f->buckets->length / p->step_ms);
    size_t n = (len - 1) / every;

    bucket_acc_close(f, s, a);
    if (n == 0)
        return 0;
    if (!bucket_acc_room(f, s, s->bucket.next, n, a))
        return len;
    acc_each(f, p, v, every, n, s->v + s->len);
    s->bucket.next += (int64_t)n * f->buckets->length;
    s->len += (uint32_t)n;
    return n * every;
}

void
bucket_acc_spaced(const struct fold *f, struct bucket_acc *s,
                  const struct spacing *p, const union number *v, size_t len,
                  struct arena *a)
{
    int64_t length = f->buckets->length;
    bool fits = p->step_ms > 0 && length > 0 && length % p->step_ms == 0;
    size_t at = even_seek(p->first_ms, p->step_ms, len, f->buckets->from), to;

    if (len == 0 || s->failed)
        return;
    bucket_acc_note(s, p->first_ms,
                    p->first_ms + (int64_t)(len - 1) * p->step_ms);
    to = even_seek(p->first_ms, p->step_ms, len, f->buckets->to);
    while (at < to && !s->failed) {
        at += acc_one(f, s, p, p->first_ms + (int64_t)at * p->step_ms, v + at,
                      to - at, a);
        if (fits && at < to)
            at += acc_many(f, s, p, v + at, to - at, a);
    }
}
