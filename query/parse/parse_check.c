/* What a query must be, whichever way it came: OpenTSDB's validation, in its
 * order, because the first fault found is the one that is reported. */
#include "query/parse/parse.h"

#include "base/hash.h"
#include "base/text/number.h"
#include "storage/block/point.h"

static enum status
check_times(struct query *q, const struct parse_options *o, bool known_zone,
            struct error *e)
{
    const struct timezone *zone = known_zone ? q->zone : NULL;
    enum status st;

    if (q->start_text.size == 0)
        return error_set(e, ST_INVALID, "Missing start time");
    st = parse_time_in(q->start_text, o->now_ms, zone, q->timezone_text,
                       &q->start_ms, e);
    if (st != ST_OK)
        return st;
    q->end_ms = o->now_ms;
    if (q->end_text.size > 0)
        st = parse_time_in(q->end_text, o->now_ms, zone, q->timezone_text,
                           &q->end_ms, e);
    if (st != ST_OK)
        return st;
    if (q->end_ms <= q->start_ms)
        return error_set(e, ST_INVALID,
                         "End time [%lld] must be greater than the start time "
                         "[%lld]",
                         (long long)q->end_ms, (long long)q->start_ms);
    /* OpenTSDB accepts no time before 1970, and no start of more than 13
     * digits. An end after the last time that can be stored, which scripts use
     * for "forever", means that time. */
    if (q->start_ms < 0 || q->start_ms > INT64_C(9999999999999))
        return error_set(e, ST_INVALID, "Invalid timestamp: %lld",
                         (long long)q->start_ms);
    if (q->end_ms > POINT_MAX_TS_MS && q->start_ms < POINT_MAX_TS_MS)
        q->end_ms = POINT_MAX_TS_MS;
    return ST_OK;
}

static enum status
check_downsample(const struct query *q, struct sub_query *s, bool known_zone,
                 struct error *e)
{
    struct downsample *d = &s->downsample;

    if (!d->on && d->thin == THIN_NONE)
        return ST_OK;
    if (q->timezone_text.size > 0) {
        if (!known_zone)
            return error_set(e, ST_INVALID,
                             "The timezone specification could not be found");
        d->zone = q->zone;
    }
    if (d->calendar && !d->all && d->count == 0)
        return error_set(e, ST_INVALID,
                         "Calendar intervals have at most 2147483647 units: "
                         "%.*s",
                         SLICE_ARG(d->text));
    return ST_OK;
}

/* -- equal sub-queries ----------------------------------------------------- */

/* An absent text is not an empty one. */
static void
put_text(struct buf *b, struct slice text)
{
    buf_put_u8(b, text.data != NULL);
    buf_put_sized(b, text);
}

enum status
query_canonical(const struct sub_query *s, struct arena *a, struct slice *out,
                struct error *e)
{
    struct buf b = BUF_INIT;
    const bool flags[] = { s->rate,
                           s->rate_options_given,
                           s->rate_options.counter,
                           s->rate_options.drop_resets,
                           s->explicit_tags,
                           s->pre_aggregate,
                           s->fuzzy_off,
                           s->multi_get_off,
                           s->show_histogram_buckets };

    put_text(&b, s->metric);
    put_text(&b, s->aggregator_name);
    put_text(&b, s->downsample.text);
    put_text(&b, s->rollup_usage);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        buf_put_u8(&b, flags[i]);
    buf_put_u64(&b, (uint64_t)s->rate_options.counter_max);
    buf_put_u64(&b, (uint64_t)s->rate_options.reset_value);
    buf_put_u8(&b, s->tsuids != NULL);
    buf_put_u64(&b, s->tsuids_len);
    for (size_t i = 0; i < s->tsuids_len; i++)
        buf_put_sized(&b, s->tsuids[i]);
    buf_put_u64(&b, s->filters_len);
    for (size_t i = 0; i < s->filters_len; i++) {
        filter_cache_key(&s->filters[i], &b);
        buf_put_u8(&b, s->filters[i].group_by);
    }
    buf_put_sized(&b, slice_of(s->percentiles,
                               s->percentiles_len * sizeof *s->percentiles));
    *out = arena_take(a, &b);
    return out->data == NULL ? error_no_memory(e) : ST_OK;
}

uint64_t
query_series_hash(const struct sub_query *s, uint64_t seed)
{
    uint64_t hash = hash_slice(s->metric, seed);

    for (size_t i = 0; i < s->tsuids_len; i++)
        hash = hash_slice(s->tsuids[i], hash);
    for (size_t i = 0; i < s->filters_len; i++)
        hash = filter_hash(&s->filters[i], hash);
    return hash;
}

/* OpenTSDB keeps sub-queries in a set: the first of equals stays. */
static enum status
drop_duplicates(struct query *q, struct arena *a, struct error *e)
{
    struct slice *texts = arena_array(a, q->subs_len, sizeof *texts);
    uint64_t *hashes = arena_array(a, q->subs_len, sizeof *hashes);
    uint64_t seed = hash_random_seed();
    size_t len = 0;

    if (q->subs_len < 2)
        return ST_OK;
    if (texts == NULL || hashes == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < q->subs_len; i++) {
        struct sub_query *s = &q->subs[i];
        enum status st = query_canonical(s, a, &texts[len], e);
        size_t k = 0;

        if (st != ST_OK)
            return st;
        hashes[len] = hash_slice(texts[len], seed);
        while (hashes[k] != hashes[len] || !slice_eq(texts[k], texts[len]))
            k++;
        if (k == len) {
            q->subs[len++] = *s;
            continue;
        }
        for (size_t f = 0; f < s->filters_len; f++)
            filter_fini(&s->filters[f]);
    }
    q->subs_len = len;
    return ST_OK;
}

/* -- one sub-query --------------------------------------------------------- */

static enum status
check_sub(struct query *q, struct sub_query *s, struct arena *a,
          struct error *e)
{
    struct slice downsample = s->downsample.text;
    enum status st = ST_OK;
    char text[NUMBER_TEXT_MAX];

    if (s->aggregator_name.size == 0)
        return error_set(e, ST_INVALID, "Missing the aggregation function");
    s->aggregator = aggregator_find(s->aggregator_name);
    if (s->aggregator == NULL)
        return error_set(e, ST_INVALID, "No such aggregation function: %.*s",
                         SLICE_ARG(s->aggregator_name));
    if (s->tsuids_len == 0 && s->metric.size == 0)
        return error_set(e, ST_INVALID,
                         "Missing the metric or tsuids, provide at least one");
    s->downsample =
        (struct downsample){ .zone = timezone_utc(), .text = downsample };
    if (downsample.size > 0)
        st = parse_downsample(downsample, a, &s->downsample, e);
    if (st != ST_OK)
        return st;
    if (q->use_calendar && downsample.size > 0)
        s->downsample.calendar = true;
    if (s->percentiles_len == 0 && !s->show_histogram_buckets)
        return ST_OK;
    if (s->aggregator->kind != KIND_NONE &&
        !slice_eq_str(s->aggregator_name, "sum"))
        return error_set(e, ST_INVALID,
                         "Only NONE or SUM aggregation function supported for "
                         "histogram query");
    if (s->downsample.thin != THIN_NONE)
        return error_set(e, ST_INVALID,
                         "Histograms have no extremes: 'minmax' and 'm4' do "
                         "not go with percentiles or buckets");
    if (s->downsample.on && strcmp(s->downsample.aggregator->name, "sum") != 0)
        return error_set(e, ST_INVALID,
                         "Only SUM downsampling aggregation supported for "
                         "histogram query");
    for (size_t i = 0; i < s->percentiles_len; i++) {
        double p = s->percentiles[i];

        if (p < 0 || p > 100)
            return error_set(e, ST_INVALID,
                             "Invalid percentile parameters: %.*s",
                             (int)number_format_double(p, text), text);
    }
    return ST_OK;
}

enum status
query_check(struct query *q, const struct parse_options *o, struct arena *a,
            struct parse_error *e)
{
    const struct timezone *zone = NULL;
    bool known_zone = true;
    enum status st;

    q->now_ms = o->now_ms;
    /* A name that nothing asks for is no fault. */
    q->zone = o->default_zone == NULL ? timezone_utc() : o->default_zone;
    if (q->timezone_text.size > 0) {
        known_zone = timezone_find(q->timezone_text, &zone, NULL) == ST_OK;
        if (known_zone)
            q->zone = zone;
    }
    st = drop_duplicates(q, a, &e->message);
    if (st == ST_OK)
        st = check_times(q, o, known_zone, &e->message);
    if (st == ST_OK && q->subs_len == 0)
        st = error_set(&e->message, ST_INVALID, "Missing queries");
    for (size_t i = 0; i < q->subs_len && st == ST_OK; i++) {
        q->subs[i].index = i;
        st = check_sub(q, &q->subs[i], a, &e->message);
        if (st == ST_OK)
            st = check_downsample(q, &q->subs[i], known_zone, &e->message);
    }
    return st == ST_OK ? ST_OK : parse_fail_twice(e, st);
}
