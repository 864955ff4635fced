#include "query/aggregate/aggregate.h"

#include "query/aggregate/aggregate_priv.h"
#include "query/model/rollup.h"

/* Which rows to read, and the order of the stages.  What lies between the range
 * that was asked for and the range that is read feeds interpolation, rates and
 * the last bucket, so both must be OpenTSDB's to the second. */

#define SECONDS_END (INT64_C(1) << 32)
#define LAST_BASE   ((SECONDS_END - 1) / HOUR_S * HOUR_S)

/* OpenTSDB takes a time below 2^32 for seconds, whatever it was meant to be:
 * so a range early in 1970, in ms, reads other rows than one would think. */
static int64_t
scan_seconds(int64_t ms, bool *was_ms)
{
    *was_ms = ms >= SECONDS_END;
    return *was_ms ? ms / 1000 : ms;
}

static int64_t
downsample_interval(const struct sub_query *sq)
{
    const struct downsample *d = &sq->downsample;

    return d->on && !d->all ? d->interval_ms : 0;
}

static int64_t
scan_start_s(const struct query *q, const struct sub_query *sq)
{
    const struct rollup_interval *rollup = sq->rollup.interval;
    int64_t interval_ms = downsample_interval(sq);
    bool was_ms;
    int64_t s = scan_seconds(q->start_ms, &was_ms);

    if (rollup != NULL) {
        s = rollup_base_s(rollup, s);
        /* One span more, for the first rate. */
        return sq->rate && s > 0 ? rollup_base_s(rollup, s - 1) : s;
    }
    if (interval_ms > 0)
        s -= (int64_t)((uint64_t)s * 1000 % (uint64_t)interval_ms) / 1000;
    s -= s % HOUR_S;
    return s > 0 ? s : 0;
}

/* The first second of the first row that is not read. */
static int64_t
scan_end_s(const struct query *q, const struct sub_query *sq)
{
    const struct rollup_interval *rollup = sq->rollup.interval;
    int64_t interval_ms = downsample_interval(sq);
    bool was_ms;
    int64_t s = scan_seconds(q->end_ms, &was_ms);

    if (was_ms)
        s++;
    if (rollup != NULL)
        return rollup_base_s(rollup, s + rollup->seconds * rollup->slots);
    if (interval_ms > 0) {
        int64_t past = s * 1000 % interval_ms;

        s += (interval_ms - past) / 1000;
        return (s + HOUR_S - 1) / HOUR_S * HOUR_S;
    }
    return s - s % HOUR_S + HOUR_S;
}

void
numbers_scan_range(const struct query *q, const struct sub_query *sq,
                   uint32_t *from_base, uint32_t *to_base)
{
    int64_t from = scan_start_s(q, sq);
    int64_t to = scan_end_s(q, sq) - HOUR_S;

    from = from < LAST_BASE ? from : LAST_BASE;
    /* With explicit tags the last row that is read is that at which others
     * stop (OpenTSDB's fuzzy filter sets another stop key). */
    if (sq->explicit_tags && sq->filters_len > 0 && !sq->fuzzy_off)
        to += HOUR_S;
    to = to < LAST_BASE ? to : LAST_BASE;
    *from_base = (uint32_t)from;
    *to_base = (uint32_t)(to > from ? to : from);
}

/* A time as OpenTSDB compares it: what is below 2^32 must be seconds.  To the
 * ends of a scan it does so twice. */
static int64_t
opentsdb_seconds_quirk(int64_t t)
{
    return t < SECONDS_END ? t * 1000 : t;
}

/* It takes the end of the scan for ms too when it lies beyond 2^32 seconds.  We
 * do not where the query ends in the last hour that can be stored. */
static int64_t
last_seen(const struct query *q, int64_t end_s)
{
    if (end_s >= SECONDS_END && q->end_ms / HOUR_MS * HOUR_S == LAST_BASE)
        return end_s * 1000;
    return opentsdb_seconds_quirk(opentsdb_seconds_quirk(end_s));
}

struct numbers_bounds
numbers_bounds(const struct query *q, const struct sub_query *sq)
{
    struct window w = numbers_window(q, sq);

    return (struct numbers_bounds){
        .first_most = last_seen(q, w.scan_end_ms / 1000),
        .last_least = opentsdb_seconds_quirk(
            opentsdb_seconds_quirk(w.scan_start_ms / 1000)),
    };
}

bool
series_in_range(const struct numbers_bounds *b, const struct column *s)
{
    bool any = s->downsampled ? s->has_points : s->len > 0;
    bool written = !s->downsampled && any && s->ts_ms != NULL;
    int64_t first_ms = written ? s->ts_ms[0] : s->first_ms;
    int64_t last_ms = written ? s->ts_ms[s->len - 1] : s->last_ms;

    return any && opentsdb_seconds_quirk(first_ms) <= b->first_most &&
           opentsdb_seconds_quirk(last_ms) >= b->last_least;
}

struct window
numbers_window(const struct query *q, const struct sub_query *sq)
{
    return (struct window){
        .scan_start_ms = scan_start_s(q, sq) * 1000,
        .scan_end_ms = scan_end_s(q, sq) * 1000,
        .start_ms = q->start_ms,
        .end_ms = q->end_ms,
    };
}

/* A rate needs a point more, and where rates are dropped any may be the last
 * one before the start. */
bool
numbers_crop(const struct query *q, const struct sub_query *sq,
             struct column_window *out)
{
    *out = (struct column_window){ q->start_ms, q->end_ms, sq->rate ? 2 : 1 };
    return !sq->downsample.on && !rollup_is_used(&sq->rollup) &&
           !q->whole_hours && q->start_ms >= SECONDS_END &&
           !(sq->rate && sq->rate_options.counter &&
             sq->rate_options.drop_resets);
}

static size_t
longest_series(const struct column *series, size_t len)
{
    size_t longest = 0;

    for (size_t i = 0; i < len; i++)
        if (series[i].len > longest && !series[i].downsampled)
            longest = series[i].len;
    return longest;
}

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

/* Out of scratch memory. */
static enum status
keep_points(struct column *c, struct arena *a, struct error *e)
{
    c->ts_ms = arena_copy(a, c->ts_ms, c->len * sizeof *c->ts_ms);
    c->v = arena_copy(a, c->v, c->len * sizeof *c->v);
    c->is_float = arena_copy(a, c->is_float, c->len);
    if (c->ts_ms == NULL || c->v == NULL || c->is_float == NULL)
        return error_no_memory(e);
    return ST_OK;
}

static enum status
make_column(const struct sub_query *sq, const struct downsampler *d,
            const struct column *series, struct points *scratch,
            struct arena *a, struct column *out, struct error *e)
{
    struct column c = *series;
    enum status st = ST_OK;

    *out = c;
    if (stays_packed(sq, &d->window, series)) {
        if (sq->rate) {
            out->rates = c.all_int ? RATES_OF_INTS : RATES_OF_DOUBLES;
            out->all_int = false;
        }
        return ST_OK;
    }
    if (column_is_packed(&c)) {
        st = column_unpack(series, scratch, &c, e);
        if (st == ST_OK && !sq->downsample.on && !sq->rate)
            st = keep_points(&c, a, e);
    }
    if (st == ST_OK && sq->downsample.on)
        st = downsampler_run(d, &c, &c, e);
    if (st == ST_OK && sq->rate)
        st = rate_run(&c, &sq->rate_options, a, &c, e);
    if (st != ST_OK)
        return st;
    drop_before(&c, d->window.scan_start_ms);
    *out = c;
    return ST_OK;
}

/* Are buckets that were made while rows were read used as they are? */
static bool
buckets_are_final(const struct sub_query *sq)
{
    return sq->downsample.all || sq->downsample.fill == FILL_NONE;
}

enum status
aggregate_group(const struct query *q, const struct sub_query *sq,
                const struct column *series, size_t len, struct pool *pool,
                struct deadline *deadline, struct arena *a, struct dps *out,
                struct error *e)
{
    struct downsampler d = { .buckets = { .spec = &sq->downsample },
                             .window = numbers_window(q, sq),
                             .deadline = deadline };
    struct aggregate_spec merge = {
        .aggregator = sq->aggregator,
        .rate = sq->rate ? &sq->rate_options : NULL,
        .null_fill = sq->downsample.on && sq->downsample.fill == FILL_NULL,
        .window = d.window,
        .deadline = deadline,
        .pool = pool,
    };
    struct column one, *columns = &one;
    struct points scratch = { 0 };
    enum status st = ST_OK;

    *out = (struct dps){ 0 };
    if (len == 0)
        return ST_OK;
    if (q->whole_hours) {
        merge.window.start_ms = merge.window.scan_start_ms;
        merge.window.end_ms = merge.window.scan_end_ms;
    }
    if (len > 1 && sq->aggregator->kind == KIND_NONE)
        return error_set(e, ST_INVALID, "More than one value in aggregator");
    if (len > 1)
        columns = arena_array(a, len, sizeof *columns);
    if (columns == NULL)
        return error_no_memory(e);
    d.sum_counts = sq->rollup.interval != NULL && sq->downsample.on &&
                   sq->downsample.aggregator->kind == KIND_COUNT;
    if (sq->downsample.on && !(series[0].downsampled && buckets_are_final(sq)))
        st = downsampler_init(&d, &sq->downsample, &d.window,
                              longest_series(series, len), a, e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        st = make_column(sq, &d, &series[i], &scratch, a, &columns[i], e);
        if (st == ST_OK)
            st = deadline_tick(deadline, columns[i].len, e);
    }
    if (st == ST_OK)
        st = aggregate_columns(&merge, columns, len, &scratch, a, out, e);
    points_fini(&scratch);
    if (st == ST_OK && sq->downsample.thin != THIN_NONE)
        thin_dps(&sq->downsample, out);
    return st;
}
