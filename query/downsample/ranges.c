#include "query/downsample/ranges.h"

#include "query/model/rollup.h"

#define LAST_BASE (POINT_MAX_TS_MS / 1000 / HOUR_S * HOUR_S)

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
    int64_t s = q->start_ms / 1000;

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

/* The last calendar bucket ends with the query.  In a query that is split
 * between rollups and points, the buckets of the rollups end where the points
 * begin. */
static bool
ends_with_query(const struct query *q, const struct sub_query *sq)
{
    return sq->downsample.on && sq->downsample.calendar &&
           !(q->whole_hours && rollup_is_used(&sq->rollup));
}

/* The first second of the first row that is not read. */
static int64_t
scan_end_s(const struct query *q, const struct sub_query *sq)
{
    const struct rollup_interval *rollup = sq->rollup.interval;
    int64_t interval_ms = ends_with_query(q, sq) ? 0 : downsample_interval(sq);
    int64_t s = q->end_ms / 1000 + 1;

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

struct numbers_bounds
numbers_bounds(const struct query *q, const struct sub_query *sq)
{
    struct window w = numbers_window(q, sq);

    return (struct numbers_bounds){ .first_most = w.scan_end_ms,
                                    .last_least = w.scan_start_ms };
}

bool
series_in_range(const struct numbers_bounds *b, const struct column *s)
{
    bool any = s->downsampled ? s->has_points : s->len > 0;
    bool written = !s->downsampled && any && s->ts_ms != NULL;
    int64_t first_ms = written ? s->ts_ms[0] : s->first_ms;
    int64_t last_ms = written ? s->ts_ms[s->len - 1] : s->last_ms;

    return any && first_ms <= b->first_most && last_ms >= b->last_least;
}

struct window
numbers_window(const struct query *q, const struct sub_query *sq)
{
    return (struct window){
        .scan_start_ms = scan_start_s(q, sq) * 1000,
        .scan_end_ms = scan_end_s(q, sq) * 1000,
        .start_ms = q->start_ms,
        .end_ms = q->end_ms,
        .buckets_end_ms = ends_with_query(q, sq) ? q->end_ms + 1 : INT64_MAX,
    };
}

/* A rate needs a point more, and where rates are dropped any may be the last
 * one before the start.  Of buckets it is one more for all, so that sub-queries
 * with rates and without share a scan, unless rates are dropped. */
bool
numbers_crop(const struct query *q, const struct sub_query *sq,
             struct column_window *out)
{
    const struct downsample *d = &sq->downsample;
    bool even = !d->on || (!d->all && !d->calendar);
    int64_t length = d->on && even ? d->interval_ms : 1;

    *out = (struct column_window){
        .from_ms = q->start_ms - q->start_ms % length,
        .to_ms = q->end_ms - q->end_ms % length + (length - 1),
        .around = sq->rate || d->on ? 2 : 1,
        .bucket_ms = length,
    };
    return even && !rollup_is_used(&sq->rollup) && !q->whole_hours &&
           !(sq->rate && sq->rate_options.counter &&
             sq->rate_options.drop_resets);
}
