#include "query/downsample/reading.h"

#include "base/obj.h"
#include "query/downsample/arithmetic.h"
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

/* A rate needs one point more, and where rates are dropped any point may be the
 * last one before the start.  Of buckets all sub-queries want one more, so that
 * those with rates and those without share a scan, unless rates are dropped. */
static void
set_crop(struct row_want *want, const struct query *q,
         const struct sub_query *sq)
{
    const struct downsample *d = &sq->downsample;
    bool even = !d->on || (!d->all && !d->calendar);
    int64_t length = d->on && even ? d->interval_ms : 1;

    want->window = (struct column_window){
        .from_ms = q->start_ms - q->start_ms % length,
        .to_ms = q->end_ms - q->end_ms % length + (length - 1),
        .around = sq->rate || d->on ? 2 : 1,
        .bucket_ms = length,
    };
    want->crops =
        even && !rollup_is_used(&sq->rollup) && !q->whole_hours &&
        !(sq->rate && sq->rate_options.counter && sq->rate_options.drop_resets);
}

static enum reading_form
form_of(const struct sub_query *sq)
{
    const struct downsample *d = &sq->downsample;

    if (!d->on || rollup_is_used(&sq->rollup))
        return READ_POINTS;
    if (arithmetic_of(d->aggregator)->folds)
        return READ_FOLDED;
    return !d->all && !d->calendar && HOUR_MS % d->interval_ms == 0
               ? READ_ROWS
               : READ_WHOLE;
}

/* Summaries and weeks can stand for the points of buckets that are long enough.
 */
static void
set_substitutes(struct row_want *want, const struct downsample *d)
{
    const struct arithmetic *m = arithmetic_of(d->aggregator);
    bool sums = m->adds || arithmetic_values(m) == 0;

    want->summaries = d->all || d->interval_ms >= HOUR_MS;
    want->weeks = true;
    want->hours = HOURS_NONE;
    if (d->all)
        return;
    /* Days of the calendar are others than UTC's in most zones. */
    if (d->calendar || d->interval_ms % DAY_MS != 0)
        want->hours = sums ? HOURS_SUMS : HOURS_ALL;
    want->weeks = d->interval_ms % HOUR_MS == 0;
}

void
reading_make(struct query_reading *r, const struct query *q,
             const struct sub_query *sq)
{
    int64_t from, to;

    *r = (struct query_reading){
        .window = { .scan_start_ms = scan_start_s(q, sq) * 1000,
                    .scan_end_ms = scan_end_s(q, sq) * 1000,
                    .start_ms = q->start_ms,
                    .end_ms = q->end_ms,
                    .buckets_end_ms =
                        ends_with_query(q, sq) ? q->end_ms + 1 : INT64_MAX },
        .form = form_of(sq),
    };
    from = scan_start_s(q, sq);
    to = scan_end_s(q, sq) - HOUR_S;
    from = from < LAST_BASE ? from : LAST_BASE;
    /* With explicit tags the last row that is read is that at which others
     * stop (OpenTSDB's fuzzy filter sets another stop key). */
    if (sq->explicit_tags && sq->filters_len > 0 && !sq->fuzzy_off)
        to += HOUR_S;
    to = to < LAST_BASE ? to : LAST_BASE;
    r->from_base = (uint32_t)from;
    r->to_base = (uint32_t)(to > from ? to : from);
    set_crop(&r->want, q, sq);
    if (sq->downsample.on)
        r->buckets = buckets_make(&sq->downsample, &r->window);
    if (r->form != READ_POINTS)
        r->functions[r->functions_len++] = sq->downsample.aggregator;
    if (r->form == READ_FOLDED)
        set_substitutes(&r->want, &sq->downsample);
}

/* -- several sub-queries --------------------------------------------------- */

static bool
are_same_crops(const struct row_want *a, const struct row_want *b)
{
    return a->crops == b->crops &&
           (!a->crops || (a->window.from_ms == b->window.from_ms &&
                          a->window.to_ms == b->window.to_ms &&
                          a->window.around == b->window.around));
}

bool
reading_join(struct query_reading *r, const struct query *q,
             const struct sub_query *sq)
{
    struct query_reading other;

    reading_make(&other, q, sq);
    if (other.form != r->form || !are_same_crops(&other.want, &r->want) ||
        (other.buckets.spec == NULL) != (r->buckets.spec == NULL) ||
        (other.buckets.spec != NULL &&
         !(other.buckets.spec->all == r->buckets.spec->all &&
           other.buckets.spec->calendar == r->buckets.spec->calendar &&
           other.buckets.spec->interval_ms == r->buckets.spec->interval_ms &&
           other.buckets.spec->count == r->buckets.spec->count &&
           other.buckets.spec->unit == r->buckets.spec->unit &&
           other.buckets.spec->zone == r->buckets.spec->zone)))
        return false;
    if (other.want.hours > r->want.hours)
        r->want.hours = other.want.hours;
    if (r->form == READ_POINTS || reading_function(r, sq) < r->functions_len)
        return true;
    INSIST(r->functions_len < READING_FUNCTIONS_MOST);
    r->functions[r->functions_len++] = sq->downsample.aggregator;
    return true;
}

size_t
reading_function(const struct query_reading *r, const struct sub_query *sq)
{
    const struct aggregator *a = sq->downsample.aggregator;
    size_t k = 0;

    /* What is folded depends only on the kind. */
    while (k < r->functions_len && r->functions[k] != a &&
           !(r->form == READ_FOLDED && r->functions[k]->kind == a->kind))
        k++;
    return k;
}

/* -- series ---------------------------------------------------------------- */

bool
reading_has(const struct query_reading *r, const struct column *s)
{
    bool any = s->downsampled ? s->has_points : s->len > 0;
    bool written = !s->downsampled && any && s->ts_ms != NULL;
    int64_t first_ms = written ? s->ts_ms[0] : s->first_ms;
    int64_t last_ms = written ? s->ts_ms[s->len - 1] : s->last_ms;

    return any && first_ms <= r->window.scan_end_ms &&
           last_ms >= r->window.scan_start_ms;
}

int64_t
reading_needs_from(const struct query_reading *r, const struct sub_query *sq,
                   bool joins_series)
{
    const struct downsample *d = &sq->downsample;
    bool interpolates = joins_series && d->fill == FILL_NONE &&
                        (sq->aggregator->interpolation == INTERPOLATE_LINEAR ||
                         sq->aggregator->interpolation == INTERPOLATE_PREV);
    int64_t start_ms = r->window.start_ms, from_ms = r->buckets.from;

    if (!d->on || d->all || !(sq->rate || interpolates))
        return start_ms;
    return from_ms < start_ms ? from_ms : start_ms;
}
