#include <math.h>
#include <string.h>

#include "query/aggregate/arithmetic.h"
#include "query/aggregate/aggregate_priv.h"

/*
 * Buckets: of equal length from 1970 on, or the calendar's, or one for all.
 * A bucket's time is its start; its value is always a double.
 *
 * Without a fill policy a series has the buckets in which it has points.  With
 * one it has every bucket of the scanned range, whether or not it has points.
 */

/* What 'count' of a unit last, or 0 when the calendar must be asked. */
static int64_t
fixed_length(const struct downsample *s)
{
    static const int64_t unit_ms[] = {
        [UNIT_MS] = 1,      [UNIT_S] = 1000, [UNIT_M] = 60000,
        [UNIT_H] = 3600000, [UNIT_Y] = 0,
    };

    if (!s->calendar)
        return s->interval_ms;
    return unit_ms[s->unit] * s->count;
}

/* 'by' buckets of the calendar on from a bucket's start: 1 or -1. */
static int64_t
step(const struct downsample *s, int64_t start, int by)
{
    int64_t length = fixed_length(s);

    if (length != 0)
        return start + by * length;
    return calendar_next(s->zone, start, by * s->count, s->unit);
}

static int64_t
bucket_floor(const struct downsample *s, int64_t ms)
{
    if (s->calendar)
        return calendar_floor(s->zone, ms, s->count, s->unit);
    return ms - ms % s->interval_ms;
}

struct bucket
bucket_of(const struct downsample *s, int64_t ms)
{
    int64_t start = bucket_floor(s, ms);

    return (struct bucket){ start, step(s, start, 1) };
}

void
bucket_move(const struct downsample *s, struct bucket *b, int64_t ms)
{
    int64_t length = fixed_length(s);

    if (ms < b->next)
        return;
    if (length != 0) {
        b->start = b->next;
        if (ms - b->start >= length)
            b->start += (ms - b->start) / length * length;
        b->next = b->start + length;
        return;
    }
    while (ms >= b->next) {
        int64_t next = step(s, b->next, 1);

        b->start = b->next;
        b->next = next > b->next ? next : b->next + 1;
    }
}

/* The first time of which points are taken: the start of the first bucket that
 * lies wholly in the scanned range. */
static int64_t
seek_time(const struct downsampler *d)
{
    struct bucket b;

    if (d->spec->all)
        return d->window.start_ms > d->window.scan_start_ms
                   ? d->window.start_ms
                   : d->window.scan_start_ms;
    b = bucket_of(d->spec, d->window.scan_start_ms);
    return b.start < d->window.scan_start_ms ? b.next : b.start;
}

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT,
                     "the downsampling interval makes too many points");
}

static size_t
grid_count(const struct downsample *s, int64_t from, int64_t to)
{
    int64_t length = fixed_length(s), at = from;
    size_t n = 0;

    if (length != 0)
        return from >= to ? 0 : (size_t)((to - from - 1) / length + 1);
    while (at < to) {
        at = step(s, at, 1);
        n++;
    }
    return n;
}

/* Every bucket from the one that holds the start of the scanned range up to,
 * but without, the one that holds its end. */
static enum status
make_grid(struct downsampler *d, struct error *e)
{
    const struct downsample *s = d->spec;
    int64_t from = bucket_floor(s, d->window.scan_start_ms);
    int64_t to = bucket_floor(s, d->window.scan_end_ms);
    int64_t shown = from;

    if (s->calendar) {
        if (to == from)
            to = step(s, to, 1);
        shown = step(s, step(s, from, -1), 1);
    }
    d->grid_len = grid_count(s, from, to);
    d->want = column_array(d->arena, d->grid_len, sizeof *d->want);
    d->shown = d->want;
    if (shown != from)
        d->shown = column_array(d->arena, d->grid_len, sizeof *d->shown);
    if (d->grid_len > 0 && (d->want == NULL || d->shown == NULL))
        return no_memory(e);
    for (size_t i = 0; i < d->grid_len; i++) {
        d->shown[i] = shown;
        d->want[i] = from;
        shown = step(s, shown, 1);
        from = step(s, from, 1);
    }
    return ST_OK;
}

enum status
downsampler_init(struct downsampler *d, const struct downsample *spec,
                 const struct window *w, size_t longest, struct arena *a,
                 struct error *e)
{
    *d = (struct downsampler){ .spec = spec,
                               .window = *w,
                               .arena = a,
                               .sum_counts = d->sum_counts,
                               .deadline = d->deadline };
    d->seek_ms = seek_time(d);
    d->scratch = column_array(a, longest, sizeof *d->scratch);
    if (longest > 0 && d->scratch == NULL)
        return no_memory(e);
    if (spec->fill == FILL_NONE || spec->all)
        return ST_OK;
    return make_grid(d, e);
}

/* Of rollups: a sum of counts, or of sums over counts. */
static double
rollups_value(const struct downsampler *d, const struct column *in, size_t from,
              size_t to)
{
    double sum = 0;
    int64_t count = 0;

    for (size_t i = from; i < to; i++) {
        sum += in->is_float[i] != 0 ? in->v[i].d : (double)in->v[i].i;
        if (in->counts != NULL)
            count += in->counts[i];
    }
    if (d->sum_counts)
        return sum;
    return count == 0 ? 0 : sum / (double)count;
}

/* The value of the bucket of points from..to, which may be known to be
 * doubles. */
static double
bucket_value(const struct downsampler *d, const struct column *in, bool doubles,
             size_t from, size_t to)
{
    const struct aggregator *a = d->spec->aggregator;
    const union number *v = in->v;

    if (in->counts != NULL || d->sum_counts)
        return rollups_value(d, in, from, to);
    if (doubles && !aggregator_sorts(a))
        return aggregator_run_unsorted(a, true, &v[from], to - from).d;
    for (size_t i = from; i < to; i++)
        d->scratch[i - from].d = in->is_float[i] != 0 ? v[i].d : (double)v[i].i;
    return aggregator_run(a, true, d->scratch, to - from).d;
}

/* How many buckets points at these times can be in at most.  Some may lie
 * behind the scanned range: with explicit tags an hour more is read. */
static size_t
buckets_max(const struct downsampler *d, const int64_t *ts, size_t len)
{
    int64_t length = fixed_length(d->spec);
    uint64_t most;

    if (len == 0 || d->spec->all)
        return len == 0 ? 0 : 1;
    if (length <= 0)
        return len;
    most = (uint64_t)(ts[len - 1] - ts[0]) / (uint64_t)length + 2;
    return most < len ? (size_t)most : len;
}

/* The buckets in which there are points. */
static enum status
run_points(const struct downsampler *d, const struct column *in,
           struct column *out, struct error *e)
{
    bool ints = in->len > 0 && memchr(in->is_float, 0, in->len) != NULL;
    bool all = d->spec->all;
    size_t at = times_seek(in->ts_ms, in->len, d->seek_ms), n = 0;
    size_t to =
        all ? times_seek(in->ts_ms, in->len, d->window.end_ms) : in->len;
    size_t cap = at < to ? buckets_max(d, in->ts_ms + at, to - at) : 0;
    int64_t *ts = column_array(d->arena, cap, sizeof *ts);
    union number *v = column_array(d->arena, cap, sizeof *v);
    struct bucket b = { d->window.start_ms, d->window.end_ms };

    if (cap > 0 && (ts == NULL || v == NULL))
        return no_memory(e);
    if (at < to && !all)
        b = bucket_of(d->spec, in->ts_ms[at]);
    while (at < to) {
        size_t end;

        bucket_move(d->spec, &b, in->ts_ms[at]);
        end = at + times_seek(in->ts_ms + at, to - at, b.next);
        ts[n] = b.start;
        v[n++].d = bucket_value(d, in, !ints, at, end);
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
    union number *v = column_array(d->arena, d->grid_len, sizeof *v);
    size_t at = 0;
    enum status st = ST_OK;

    if (d->grid_len > 0 && v == NULL)
        return no_memory(e);
    for (size_t i = 0; i < d->grid_len && st == ST_OK; i++) {
        while (at < in->len && in->ts_ms[at] < d->want[i])
            at++;
        if (at < in->len && in->ts_ms[at] == d->want[i])
            v[i] = in->v[at];
        else
            st = fill_value(d->spec->fill, &v[i].d, e);
        /* A grid may be long. */
        if (st == ST_OK && i % 65536 == 65535)
            st = deadline_check(d->deadline, e);
    }
    *out = (struct column){ .ts_ms = d->shown, .v = v, .len = d->grid_len };
    return st;
}

enum status
downsampler_run(const struct downsampler *d, const struct column *in,
                struct column *out, struct error *e)
{
    struct column buckets = { .ts_ms = in->ts_ms, .v = in->v, .len = in->len };
    enum status st = in->downsampled ? ST_OK : run_points(d, in, &buckets, e);

    if (st == ST_OK && !d->spec->all && d->spec->fill != FILL_NONE)
        return fill_grid(d, &buckets, out, e);
    *out = buckets;
    return st;
}

size_t
downsample_starts(const struct downsample *spec, const struct window *w,
                  const int64_t *ts, size_t len, int64_t *starts)
{
    struct downsampler d = { .spec = spec, .window = *w };
    size_t from = times_seek(ts, len, seek_time(&d));
    struct bucket b = { 0, 0 };

    for (size_t i = from; i < len; i++) {
        if (i == from)
            b = bucket_of(spec, ts[i]);
        bucket_move(spec, &b, ts[i]);
        starts[i] = b.start;
    }
    return from;
}
