#include "query/aggregate/stream_downsampler.h"

#include <math.h>
#include <string.h>

#include "query/aggregate/arithmetic.h"
#include "query/aggregate/aggregate_priv.h"

/* A sum is of doubles, added one by one in the order of time.  While all values
 * are integers and the sum of their magnitudes stays within 2^53, each step is
 * exact, so they may be added in any order, or as integers, or be a block
 * summary'. The sum in a block summary of doubles was added one by one from 0,
 * so it stands for the points of a bucket only when nothing was added before
 * it. */

#define EXACT_MAX 0x1p53

/* -- memory of buckets ----------------------------------------------------- */

/* A running number or two are enough. */
static bool
can_fold(enum aggregator_kind kind)
{
    return kind == KIND_SUM || kind == KIND_AVG || kind == KIND_MIN ||
           kind == KIND_MAX || kind == KIND_COUNT || kind == KIND_FIRST ||
           kind == KIND_LAST;
}

static bool
adds_up(const struct stream_downsampler *f)
{
    return f->kind == KIND_SUM || f->kind == KIND_AVG;
}

bool
stream_downsampler_init(struct stream_downsampler *f, const struct query *q,
                        const struct sub_query *sq, struct arena *a)
{
    const struct downsample *d = &sq->downsample;
    struct window w = numbers_window(q, sq);

    if (!d->on || rollup_is_used(&sq->rollup) || !can_fold(d->aggregator->kind))
        return false;
    *f = (struct stream_downsampler){ .kind = d->aggregator->kind,
                                      .buckets = buckets_make(d, &w) };
    if (a != NULL)
        buckets_list(&f->buckets, a);
    return true;
}

bool
stream_downsampler_uses_summaries(const struct stream_downsampler *f)
{
    const struct downsample *d = f->buckets.spec;

    return d->all || d->interval_ms >= HOUR_MS;
}

bool
stream_downsampler_uses_weeks(const struct stream_downsampler *f,
                              enum week_hours *hours)
{
    const struct downsample *d = f->buckets.spec;
    bool adds = adds_up(f) || f->kind == KIND_COUNT;

    *hours = HOURS_NONE;
    if (d->all)
        return true;
    /* Days of the calendar are others than UTC's in most zones. */
    if (d->calendar || d->interval_ms % DAY_MS != 0)
        *hours = adds ? HOURS_SUMS : HOURS_ALL;
    return d->interval_ms % (*hours != HOURS_NONE ? HOUR_MS : DAY_MS) == 0;
}

/* -- buckets --------------------------------------------------------------- */

/* Of the last, 'value' is that. */
static double
bucket_value(const struct stream_downsampler *f, const struct bucket_acc *s)
{
    union number v = { .d = s->value };

    return arithmetic_end(f->kind, true, s->count, v, v).d;
}

/* The times that are there go into an array of the series' own. */
static bool
own_times(struct bucket_acc *s, size_t cap, struct arena *a)
{
    int64_t *ts = column_array(a, cap, sizeof *ts);

    if (ts == NULL) {
        s->failed = true;
        return false;
    }
    if (s->len > 0)
        memcpy(ts, s->ts, s->len * sizeof *ts);
    s->ts = s->own = ts;
    return true;
}

/* Can the next 'n' buckets, the first at 'at', have their times in the list of
 * all? */
static bool
are_listed(const struct buckets *b, struct bucket_acc *s, int64_t at, size_t n)
{
    size_t i = s->len;

    if (s->own != NULL)
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
add_times(const struct stream_downsampler *f, struct bucket_acc *s, int64_t at,
          size_t n, struct arena *a)
{
    if (are_listed(&f->buckets, s, at, n))
        return true;
    if (s->own == NULL && !own_times(s, s->cap, a))
        return false;
    for (size_t i = 0; i < n; i++)
        s->own[s->len + i] = at + (int64_t)i * f->buckets.length;
    return true;
}

/* Room for 'more' buckets.  There may be more of them than the scanned range
 * has: with explicit tags an hour behind it is read. */
static bool
grow(const struct stream_downsampler *f, struct bucket_acc *s, size_t more,
     struct arena *a)
{
    size_t cap = s->cap == 0 ? 16 : (size_t)s->cap * 4;
    union number *v;

    if (cap > f->buckets.most || f->buckets.most <= 128)
        cap = f->buckets.most;
    if (cap < s->len + more || cap > UINT32_MAX)
        cap = s->len + more + 16;
    v = column_array(a, cap, sizeof *v);
    if (v == NULL || (s->own != NULL && !own_times(s, cap, a))) {
        s->failed = true;
        return false;
    }
    if (s->len > 0)
        memcpy(v, s->v, s->len * sizeof *v);
    s->v = v;
    s->cap = (uint32_t)cap;
    return true;
}

static void
end_bucket(const struct stream_downsampler *f, struct bucket_acc *s,
           struct arena *a)
{
    if (s->all == 0 || (s->len == s->cap && !grow(f, s, 1, a)) ||
        !add_times(f, s, s->bucket.start, 1, a))
        return;
    s->v[s->len++].d = bucket_value(f, s);
    s->all = 0;
}

static void
empty_bucket(const struct stream_downsampler *f, struct bucket_acc *s)
{
    s->all = s->count = 0;
    s->bound = 0;
    s->value = aggregator_arithmetic[f->kind].start[1].d;
}

/* Makes the bucket that holds 'ms' the one that is filled. */
static void
move_to(const struct stream_downsampler *f, struct bucket_acc *s, int64_t ms,
        struct arena *a)
{
    if (ms < s->bucket.next)
        return;
    end_bucket(f, s, a);
    bucket_move(&f->buckets, &s->bucket, ms);
    empty_bucket(f, s);
}

bool
bucket_acc_end(const struct stream_downsampler *f, struct bucket_acc *s,
               struct arena *a)
{
    if (!s->failed)
        end_bucket(f, s, a);
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

static void
note_range(struct bucket_acc *s, int64_t first_ms, int64_t last_ms)
{
    if (!s->some)
        s->first_ms = first_ms;
    s->last_ms = last_ms;
    s->some = true;
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
acc_doubles(const struct stream_downsampler *f, struct bucket_acc *s,
            const union number *v, size_t len)
{
    union number a = { .d = s->value }, b = { .i = 0 };
    uint32_t before = s->all > 0, n = before;

    aggregator_arithmetic[f->kind].all[1](&n, &a, &b, v, len);
    s->value = f->kind == KIND_LAST ? b.d : a.d;
    s->count += n - before;
    s->bound = INFINITY;
}

/* But for sums their result is that of one double. */
static void
acc_ints(const struct stream_downsampler *f, struct bucket_acc *s,
         const union number *v, size_t len, double greatest)
{
    const struct arithmetic *m = &aggregator_arithmetic[f->kind];
    union number a = m->start[0], b = { .i = 0 };
    uint32_t n = 0;

    if (adds_up(f)) {
        sum_ints(s, v, len, greatest);
    } else if (f->kind != KIND_COUNT) {
        m->all[0](&n, &a, &b, v, len);
        a.d = (double)arithmetic_end(f->kind, false, n, a, b).i;
        acc_doubles(f, s, &a, 1);
        len--;
    }
    s->count += len;
}

/* Points of one kind, from[0] .. to[-1], bucket by bucket. */
static void
acc_run(const struct stream_downsampler *f, struct bucket_acc *s,
        const struct points *p, size_t from, size_t to, struct arena *a)
{
    bool is_float = p->is_float[from] != 0;
    double greatest = adds_up(f) && !is_float
                          ? greatest_magnitude(p->v + from, to - from)
                          : 0;

    while (from < to && !s->failed) {
        size_t len;

        move_to(f, s, p->ts_ms[from], a);
        len = times_seek(p->ts_ms + from, to - from, s->bucket.next);
        if (is_float)
            acc_doubles(f, s, p->v + from, len);
        else
            acc_ints(f, s, p->v + from, len, greatest);
        s->all += len;
        from += len;
    }
}

void
bucket_acc_points(const struct stream_downsampler *f, struct bucket_acc *s,
                  const struct points *p, struct arena *a)
{
    size_t at, to;

    if (p->len == 0 || s->failed)
        return;
    note_range(s, p->ts_ms[0], p->ts_ms[p->len - 1]);
    at = times_seek(p->ts_ms, p->len, f->buckets.from);
    to = times_seek(p->ts_ms, p->len, f->buckets.to);
    while (at < to) {
        const uint8_t *kinds = p->is_float;
        const uint8_t *other = memchr(kinds + at, !kinds[at], to - at);
        size_t end = other == NULL ? to : (size_t)(other - kinds);

        acc_run(f, s, p, at, end, a);
        at = end;
    }
}

/* -- points at equal distances --------------------------------------------- */

/* Points of the one bucket that has v[0], which is at 'ms': returns how many
 * there are. */
static size_t
acc_one(const struct stream_downsampler *f, struct bucket_acc *s,
        const struct spacing *p, int64_t ms, const union number *v, size_t len,
        struct arena *a)
{
    size_t n;

    move_to(f, s, ms, a);
    n = even_seek(ms, p->step_ms, len, s->bucket.next);
    if (p->is_float)
        acc_doubles(f, s, v, n);
    else
        acc_ints(f, s, v, n, (double)p->greatest);
    s->all += n;
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
acc_each(const struct stream_downsampler *f, const struct spacing *p,
         const union number *v, size_t every, size_t len, union number *out)
{
    const struct arithmetic *m = &aggregator_arithmetic[f->kind];
    struct bucket_acc s = { 0 };

    if (!p->is_float && adds_up(f) &&
        (double)p->greatest * (double)every <= EXACT_MAX) {
        sum_each(v, every, len, f->kind == KIND_AVG ? (double)every : 1, out);
        return;
    }
    for (size_t i = 0; i < len; i++, v += every) {
        union number a = m->start[p->is_float], b = { .i = 0 };
        uint32_t n = 0;

        if (!p->is_float && adds_up(f)) {
            empty_bucket(f, &s);
            acc_ints(f, &s, v, every, (double)p->greatest);
            out[i].d = bucket_value(f, &s);
            continue;
        }
        m->all[p->is_float](&n, &a, &b, v, every);
        a = arithmetic_end(f->kind, p->is_float, n, a, b);
        out[i].d = p->is_float ? a.d : (double)a.i;
    }
}

/* Buckets behind the one that is filled, of 'every' points each: as many as are
 * followed by a point, so that they are complete.  Returns their points. */
static size_t
acc_many(const struct stream_downsampler *f, struct bucket_acc *s,
         const struct spacing *p, const union number *v, size_t len,
         struct arena *a)
{
    size_t every = (size_t)(f->buckets.length / p->step_ms);
    size_t n = (len - 1) / every;

    end_bucket(f, s, a);
    if (n > s->cap - s->len && !grow(f, s, n, a))
        return len;
    if (n == 0 || !add_times(f, s, s->bucket.next, n, a))
        return n == 0 ? 0 : len;
    acc_each(f, p, v, every, n, s->v + s->len);
    s->bucket.next += (int64_t)n * f->buckets.length;
    s->len += (uint32_t)n;
    return n * every;
}

void
bucket_acc_spaced(const struct stream_downsampler *f, struct bucket_acc *s,
                  const struct spacing *p, const union number *v, size_t len,
                  struct arena *a)
{
    int64_t length = f->buckets.length;
    bool fits = p->step_ms > 0 && length > 0 && length % p->step_ms == 0;
    size_t at = even_seek(p->first_ms, p->step_ms, len, f->buckets.from), to;

    if (len == 0 || s->failed)
        return;
    note_range(s, p->first_ms, p->first_ms + (int64_t)(len - 1) * p->step_ms);
    to = even_seek(p->first_ms, p->step_ms, len, f->buckets.to);
    while (at < to && !s->failed) {
        at += acc_one(f, s, p, p->first_ms + (int64_t)at * p->step_ms, v + at,
                      to - at, a);
        if (fits && at < to)
            at += acc_many(f, s, p, v + at, to - at, a);
    }
}

/* -- block summaries ------------------------------------------------------ */

/* What is known of some points that follow each other, without having them. */
struct known {
    int64_t first_ms, last_ms;
    uint32_t count;
    bool all_int;
    double value;    /* that this function takes */
    double greatest; /* of integers: none's magnitude is greater */
};

/* What this function takes of a block summary, or of a week's hour. */
#define VALUE_OF(f, x)                       \
    ((f)->kind == KIND_MIN     ? &(x)->min   \
     : (f)->kind == KIND_MAX   ? &(x)->max   \
     : (f)->kind == KIND_FIRST ? &(x)->first \
     : (f)->kind == KIND_LAST  ? &(x)->last  \
                               : &(x)->sum)

static inline double
number_of(bool all_int, union number v)
{
    return all_int ? (double)v.i : v.d;
}

static double
greatest_of(const struct summary *row)
{
    double low = fabs((double)row->min.i), high = fabs((double)row->max.i);

    return low > high ? low : high;
}

/* May their sum be added?  'fresh': nothing was added before. */
static inline bool
sum_is_fit(const struct bucket_acc *s, const struct known *k, bool fresh,
           double *bound)
{
    if (!k->all_int) {
        *bound = INFINITY;
        return fresh;
    }
    *bound = (fresh ? 0 : s->bound) + k->greatest * (double)k->count;
    return *bound <= EXACT_MAX;
}

/* All of them lie in one bucket, and take part. */
static inline bool
lies_within(const struct buckets *b, const struct bucket_acc *s,
            const struct known *k)
{
    struct bucket at = s->bucket;

    if (k->first_ms < b->from || k->last_ms >= b->to)
        return false;
    bucket_move(b, &at, k->first_ms);
    return k->last_ms < at.next;
}

/* False: they must be unpacked; nothing has changed. */
static inline bool
acc_known(const struct stream_downsampler *f, struct bucket_acc *s,
          const struct known *k, struct arena *a)
{
    bool fresh = s->all == 0 || k->first_ms >= s->bucket.next;
    double bound = 0, v = k->value;

    if (s->failed)
        return true;
    if (k->last_ms < f->buckets.from || k->first_ms >= f->buckets.to) {
        note_range(s, k->first_ms, k->last_ms);
        return true;
    }
    if (!lies_within(&f->buckets, s, k))
        return false;
    if (adds_up(f) && !sum_is_fit(s, k, fresh, &bound) && !s->loose)
        return false;
    note_range(s, k->first_ms, k->last_ms);
    move_to(f, s, k->first_ms, a);
    if (adds_up(f))
        s->value += v;
    else if (s->all == 0 || f->kind == KIND_LAST ||
             (f->kind == KIND_MIN && v < s->value) ||
             (f->kind == KIND_MAX && v > s->value))
        s->value = v;
    s->bound = bound;
    s->count += k->count;
    s->all += k->count;
    return true;
}

bool
bucket_acc_summary(const struct stream_downsampler *f, struct bucket_acc *s,
                   const struct summary *row, struct arena *a)
{
    const union number *v = VALUE_OF(f, row);
    struct known k = {
        .first_ms = row->first_ms,
        .last_ms = row->last_ms,
        .count = row->count,
        .all_int = row->all_int,
        .value = number_of(row->all_int, *v),
        .greatest = row->all_int ? greatest_of(row) : 0,
    };
    bool outside =
        row->last_ms < f->buckets.from || row->first_ms >= f->buckets.to;

    /* Where there is a NaN, the sum is one. */
    if (!s->failed && !outside && !row->all_int && isnan(row->sum.d))
        return false;
    return acc_known(f, s, &k, a);
}

/* -- weeks ----------------------------------------------------------------- */

/* The times of an hour's points are not known, but for the first and the last
 * of the day: they are taken to fill it. */
static bool
add_hours(const struct stream_downsampler *f, struct bucket_acc *s,
          const struct week *w, unsigned day, struct arena *a)
{
    const struct summary *of = &w->day[day];
    int64_t from = ((int64_t)w->base + (int64_t)day * DAY_S) * 1000;
    struct known k = { .all_int = w->all_int,
                       .greatest = w->all_int ? greatest_of(of) : 0 };

    for (unsigned i = 0; i < DAY_HOURS; i++, from += HOUR_MS) {
        const struct week_hour *hour = &w->hour[day * DAY_HOURS + i];

        if (hour->count == 0)
            continue;
        k.first_ms = from > of->first_ms ? from : of->first_ms;
        k.last_ms =
            from + HOUR_MS - 1 < of->last_ms ? from + HOUR_MS - 1 : of->last_ms;
        k.count = hour->count;
        k.value = number_of(w->all_int, *VALUE_OF(f, hour));
        if (!acc_known(f, s, &k, a))
            return false;
    }
    return true;
}

/* Do hours tell what this function takes? */
static bool
has_hours(const struct stream_downsampler *f, const struct week *w)
{
    return w->hours == HOURS_ALL ||
           (w->hours == HOURS_SUMS && (adds_up(f) || f->kind == KIND_COUNT));
}

bool
bucket_acc_week(const struct stream_downsampler *f, struct bucket_acc *s,
                const struct week *w, unsigned day, unsigned day_end,
                bool loose, struct arena *a)
{
    struct bucket_acc before = *s;

    s->loose = loose;
    for (unsigned i = day; i < day_end; i++)
        if (w->day[i].count > 0 && !bucket_acc_summary(f, s, &w->day[i], a) &&
            !(has_hours(f, w) && add_hours(f, s, w, i, a))) {
            *s = before; /* arrays that have grown are copies */
            return false;
        }
    s->loose = false;
    return true;
}
