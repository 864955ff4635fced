#include "query/aggregate/aggregate.h"

#include "query/aggregate/aggregate_priv.h"

/* What comes before the first row that was read is dropped at the very end:
 * a bucket that began there has had its part in the rate. */
static void
drop_before(struct column *c, int64_t ms)
{
    size_t n = times_seek(c->ts_ms, c->len, ms);

    if (n == 0)
        return;
    c->ts_ms += n;
    c->v += n;
    c->is_float = c->is_float == NULL ? NULL : c->is_float + n;
    c->len -= n;
}

/* Are its points used as they are, or the rates of all of them? */
static bool
stays_packed(const struct sub_query *sq, const struct window *w,
             const struct column *c)
{
    bool drops = sq->rate_options.counter && sq->rate_options.drop_resets;

    return column_is_packed(c) && !c->uneven && !sq->downsample.on &&
           c->first_ms >= w->scan_start_ms &&
           !(sq->rate && (drops || c->first_ms <= 0));
}

static enum status
make_column(const struct sub_query *sq, const struct downsampler *d,
            struct column *c, struct points *scratch, struct arena *a,
            struct error *e)
{
    struct column packed = *c;
    enum status st = ST_OK;

    if (stays_packed(sq, &d->reading->window, c)) {
        if (sq->rate) {
            c->rates = c->all_int ? RATES_OF_INTS : RATES_OF_DOUBLES;
            c->all_int = false;
        }
        return ST_OK;
    }
    if (column_is_packed(c)) {
        st = column_unpack(&packed, scratch, c, e);
        if (st == ST_OK && !sq->downsample.on && !sq->rate) {
            /* Out of scratch memory. */
            c->ts_ms = arena_copy(a, c->ts_ms, c->len * sizeof *c->ts_ms);
            c->v = arena_copy(a, c->v, c->len * sizeof *c->v);
            c->is_float = arena_copy(a, c->is_float, c->len);
            if (c->ts_ms == NULL || c->v == NULL || c->is_float == NULL)
                return error_no_memory(e);
        }
    }
    if (st == ST_OK && sq->downsample.on)
        st = downsampler_run(d, c, c, e);
    if (st == ST_OK && sq->rate)
        st = rate_run(c, &sq->rate_options, a, c, e);
    if (st == ST_OK)
        drop_before(c, d->reading->window.scan_start_ms);
    return st;
}

enum status
aggregate_group(const struct aggregate_job *job, struct column *series,
                size_t len, struct arena *a, struct dps *out, struct error *e)
{
    const struct sub_query *sq = job->sq;
    struct downsampler d = { .spec = &sq->downsample,
                             .reading = job->reading,
                             .arena = a,
                             .deadline = job->deadline };
    struct aggregate_spec merge = {
        .arena = a,
        .aggregator = sq->aggregator,
        .rate = sq->rate ? &sq->rate_options : NULL,
        .null_fill = sq->downsample.on && sq->downsample.fill == FILL_NULL,
        .window = job->reading->window,
        .deadline = job->deadline,
        .workers = job->workers,
    };
    struct points scratch = { .budget = arena_budget(a) };
    enum status st = ST_OK;

    *out = (struct dps){ 0 };
    if (len == 0)
        return ST_OK;
    if (job->q->whole_hours) {
        merge.window.start_ms = merge.window.scan_start_ms;
        merge.window.end_ms = merge.window.scan_end_ms;
    }
    if (len > 1 && sq->aggregator->kind == KIND_NONE)
        return error_set(e, ST_INVALID, "More than one value in aggregator");
    d.sum_counts = sq->rollup.interval != NULL && sq->downsample.on &&
                   sq->downsample.aggregator->kind == KIND_COUNT;
    /* Without a fill policy, buckets that were made while rows were read are
     * used as they are. */
    if (sq->downsample.on &&
        !(series[0].downsampled &&
          (sq->downsample.all || sq->downsample.fill == FILL_NONE)))
        st = downsampler_init(&d, e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        st = make_column(sq, &d, &series[i], &scratch, a, e);
        if (st == ST_OK)
            st = deadline_tick(job->deadline, series[i].len, e);
    }
    if (st == ST_OK)
        st = aggregate_columns(&merge, series, len, &scratch, out, e);
    points_fini(&scratch);
    if (st == ST_OK && sq->downsample.thin != THIN_NONE)
        thin_dps(&sq->downsample, out);
    return st;
}
