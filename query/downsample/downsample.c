#include <math.h>
#include <string.h>

#include "query/downsample/arithmetic.h"
#include "query/downsample/downsample.h"

/* A bucket's time is its start; its value is always a double.  Without a fill
 * policy a series has the buckets in which it has points.  With one it has
 * every bucket of the scanned range, whether or not it has points. */

enum status
too_many_buckets(struct error *e)
{
    return error_set(e, ST_LIMIT,
                     "the downsampling interval makes too many points. Please "
                     "ask for less time or a longer interval.");
}

#define CALENDAR_STEPS 64 /* of the deadline, for the next bucket */

static enum status
grid_count(const struct downsampler *d, int64_t from, int64_t to, size_t *n,
           struct error *e)
{
    const struct buckets *b = &d->reading->buckets;
    enum status st = ST_OK;

    *n = 0;
    if (b->length != 0 && from < to)
        *n = (size_t)((to - from - 1) / b->length + 1);
    for (; b->length == 0 && from < to && st == ST_OK; ++*n) {
        from = bucket_next(b, from);
        st = deadline_tick(d->deadline, CALENDAR_STEPS, e);
    }
    return st;
}

/* The grid has every bucket from the one that contains the start of the scanned
 * range.  The bucket that contains the end of that range is the first one that
 * it lacks; of calendar buckets, the one that contains the end of the query is
 * the last one that it has. */
static enum status
make_grid(struct downsampler *d, struct error *e)
{
    const struct buckets *b = &d->reading->buckets;
    int64_t at = bucket_floor(b, d->reading->window.scan_start_ms);
    int64_t to = b->to == INT64_MAX
                     ? bucket_floor(b, d->reading->window.scan_end_ms)
                     : bucket_next(b, bucket_floor(b, b->to - 1));
    enum status st;

    /* The rollups of a split query can end within their first bucket. */
    if (b->spec->calendar && to == at)
        to = bucket_next(b, at);
    st = grid_count(d, at, to, &d->grid_len, e);
    if (st != ST_OK)
        return st;
    d->grid = arena_array_raw(d->arena, d->grid_len, sizeof *d->grid);
    if (d->grid_len > 0 && d->grid == NULL)
        return too_many_buckets(e);
    for (size_t i = 0; i < d->grid_len && st == ST_OK; i++) {
        d->grid[i] = at;
        at = bucket_next(b, at);
        st = deadline_tick(d->deadline, b->length != 0 ? 1 : CALENDAR_STEPS, e);
    }
    return st;
}

enum status
downsampler_init(struct downsampler *d, size_t longest, struct error *e)
{
    d->scratch = arena_array_raw(d->arena, longest, sizeof *d->scratch);
    if (longest > 0 && d->scratch == NULL)
        return too_many_buckets(e);
    if (d->spec->fill == FILL_NONE || d->spec->all)
        return ST_OK;
    return make_grid(d, e);
}

/* The value of a bucket of rollups: the sum of their counts, or the sum of
 * their sums divided by it.  The sum of counts wraps at 64 bits, as in Java. */
static double
rollups_value(const struct downsampler *d, const struct column *in, size_t from,
              size_t to)
{
    double sum = 0;
    uint64_t count = 0;

    for (size_t i = from; i < to; i++) {
        sum += in->is_float[i] != 0 ? in->v[i].d : (double)in->v[i].i;
        if (in->counts != NULL)
            count += (uint64_t)in->counts[i];
    }
    if (d->sum_counts)
        return sum;
    return count == 0 ? 0 : sum / (double)(int64_t)count;
}

double
bucket_value(const struct aggregator *a, const union number *v,
             const uint8_t *is_float, size_t len, bool doubles,
             union number *scratch)
{
    if (doubles && !aggregator_sorts(a))
        return aggregator_run_unsorted(a, true, v, len).d;
    for (size_t i = 0; i < len; i++)
        scratch[i].d = is_float[i] != 0 ? v[i].d : (double)v[i].i;
    return aggregator_run(a, true, scratch, len).d;
}

static size_t
count_buckets(const struct buckets *b, const int64_t *ts, size_t len)
{
    struct bucket at = { 0, 0 };
    size_t n = 0;

    for (size_t i = 0; i < len; n++) {
        bucket_move(b, &at, ts[i]);
        i += times_seek(ts + i, len - i, at.next);
    }
    return n;
}

/* The buckets in which there are points. */
static enum status
run_points(const struct downsampler *d, const struct column *in,
           struct column *out, struct error *e)
{
    const struct buckets *b = &d->reading->buckets;
    bool ints = in->len > 0 && memchr(in->is_float, 0, in->len) != NULL;
    size_t at = times_seek(in->ts_ms, in->len, b->from), n = 0;
    size_t to = times_seek(in->ts_ms, in->len, b->to);
    size_t cap = at < to ? count_buckets(b, in->ts_ms + at, to - at) : 0;
    int64_t *ts = arena_array_raw(d->arena, cap, sizeof *ts);
    union number *v = arena_array_raw(d->arena, cap, sizeof *v);
    struct bucket bucket = { 0, 0 };

    if (cap > 0 && (ts == NULL || v == NULL))
        return too_many_buckets(e);
    while (at < to) {
        size_t end;

        bucket_move(b, &bucket, in->ts_ms[at]);
        end = at + times_seek(in->ts_ms + at, to - at, bucket.next);
        ts[n] = bucket.start;
        v[n++].d =
            in->counts != NULL || d->sum_counts
                ? rollups_value(d, in, at, end)
                : bucket_value(d->spec->aggregator, in->v + at,
                               in->is_float + at, end - at, !ints, d->scratch);
        at = end;
    }
    *out = (struct column){ .ts_ms = ts, .v = v, .len = n };
    return ST_OK;
}

static enum status
fill_value(enum fill_policy fill, double *out, struct error *e)
{
    if (fill == FILL_SCALAR)
        return error_set(e, ST_INVALID, "unhandled fill policy");
    *out = fill == FILL_ZERO ? 0 : (double)NAN;
    return ST_OK;
}

/* The buckets that are there, in the grid of a fill policy. */
static enum status
fill_grid(const struct downsampler *d, const struct column *in,
          struct column *out, struct error *e)
{
    union number *v = arena_array_raw(d->arena, d->grid_len, sizeof *v);
    size_t at = 0;
    enum status st = ST_OK;

    if (d->grid_len > 0 && v == NULL)
        return too_many_buckets(e);
    for (size_t i = 0; i < d->grid_len && st == ST_OK; i++) {
        while (at < in->len && in->ts_ms[at] < d->grid[i])
            at++;
        if (at < in->len && in->ts_ms[at] == d->grid[i])
            v[i] = in->v[at];
        else
            st = fill_value(d->spec->fill, &v[i].d, e);
        /* A grid may be long. */
        if (st == ST_OK && i % 65536 == 65535)
            st = deadline_check(d->deadline, e);
    }
    *out = (struct column){ .ts_ms = d->grid, .v = v, .len = d->grid_len };
    return st;
}

enum status
downsampler_run(const struct downsampler *d, const struct column *in,
                struct column *out, struct error *e)
{
    const struct downsample *spec = d->spec;
    struct column buckets = { .ts_ms = in->ts_ms, .v = in->v, .len = in->len };
    enum status st = in->downsampled ? ST_OK : run_points(d, in, &buckets, e);

    if (st == ST_OK && !spec->all && spec->fill != FILL_NONE)
        return fill_grid(d, &buckets, out, e);
    *out = buckets;
    return st;
}

size_t
downsample_starts(const struct buckets *b, const int64_t *ts, size_t len,
                  int64_t *starts, size_t *end)
{
    struct bucket bucket = { 0, 0 };
    size_t from = times_seek(ts, len, b->from);

    *end = times_seek(ts, len, b->to);
    for (size_t i = from; i < *end; i++) {
        bucket_move(b, &bucket, ts[i]);
        starts[i] = bucket.start;
    }
    return from;
}
