#include <math.h>

#include "query/downsample/arithmetic.h"
#include "query/downsample/downsample.h"
#include "query/downsample/fold.h"

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
    int64_t from = at;
    enum status st = ST_OK;

    /* The rollups of a split query can end within their first bucket. */
    if (b->spec->calendar && to == at)
        to = bucket_next(b, at);
    d->grid_len = 0;
    if (b->length != 0 && from < to)
        d->grid_len = (size_t)((to - from - 1) / b->length + 1);
    for (; b->length == 0 && from < to && st == ST_OK; d->grid_len++) {
        from = bucket_next(b, from);
        st = deadline_tick(d->deadline, CALENDAR_STEPS, e);
    }
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
downsampler_init(struct downsampler *d, struct error *e)
{
    if (d->spec->fill == FILL_NONE || d->spec->all)
        return ST_OK;
    return make_grid(d, e);
}

/* The buckets in which there are points. */
static enum status
fold_column(const struct downsampler *d, const struct column *in,
            struct column *out, struct error *e)
{
    bool sums = d->sum_counts || in->counts != NULL;
    const struct aggregator *function =
        sums ? aggregator_find(slice_str("sum")) : d->spec->aggregator;
    const struct fold f = { function, &d->reading->buckets };
    const struct batch points = { .times = { .list = in->ts_ms,
                                             .len = in->len },
                                  .v = in->v,
                                  .is_float = in->is_float };
    struct bucket_acc acc = { 0 };
    union number *scratch =
        arena_array_raw(d->arena, arithmetic_of(function)->folds ? 0 : in->len,
                        sizeof *scratch);

    if (scratch == NULL)
        return too_many_buckets(e);
    bucket_acc_add(&f, &acc, &points, scratch, d->arena);
    if (!bucket_acc_end(&f, &acc, d->arena))
        return too_many_buckets(e);
    if (in->counts != NULL) {
        size_t at =
            acc.len == 0 ? 0 : times_seek(in->ts_ms, in->len, acc.ts[0]);

        /* Divides sums of rollups, which lie in the buckets that start at
         * 'acc.ts', by the sums of their counts.  These wrap at 64 bits, as in
         * Java. */
        for (size_t i = 0; i < acc.len; i++) {
            int64_t end_ms = i + 1 < acc.len ? acc.ts[i + 1] : INT64_MAX;
            uint64_t count = 0;

            for (; at < in->len && in->ts_ms[at] < end_ms; at++)
                count += (uint64_t)in->counts[at];
            acc.v[i].d = count == 0 ? 0 : acc.v[i].d / (double)(int64_t)count;
        }
    }
    *out = (struct column){ .ts_ms = acc.ts, .v = acc.v, .len = acc.len };
    return ST_OK;
}

enum status
downsampler_run(const struct downsampler *d, const struct column *in,
                struct column *out, struct error *e)
{
    const struct downsample *spec = d->spec;
    struct column buckets = { .ts_ms = in->ts_ms, .v = in->v, .len = in->len };
    enum status st = in->downsampled ? ST_OK : fold_column(d, in, &buckets, e);

    if (st == ST_OK && !spec->all && spec->fill != FILL_NONE) {
        union number *v = arena_array_raw(d->arena, d->grid_len, sizeof *v);
        size_t at = 0;

        /* The buckets that are there, in the grid of a fill policy. */
        if (d->grid_len > 0 && v == NULL)
            return too_many_buckets(e);
        for (size_t i = 0; i < d->grid_len && st == ST_OK; i++) {
            while (at < buckets.len && buckets.ts_ms[at] < d->grid[i])
                at++;
            if (at < buckets.len && buckets.ts_ms[at] == d->grid[i])
                v[i] = buckets.v[at];
            else if (spec->fill == FILL_SCALAR)
                return error_set(e, ST_INVALID, "unhandled fill policy");
            else
                v[i].d = spec->fill == FILL_ZERO ? 0 : (double)NAN;
            /* A grid may be long. */
            if (st == ST_OK && i % 65536 == 65535)
                st = deadline_check(d->deadline, e);
        }
        *out = (struct column){ .ts_ms = d->grid, .v = v, .len = d->grid_len };
        return st;
    }
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
