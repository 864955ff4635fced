#include "query/downsample/fold.h"

#include <math.h>
#include <string.h>

#include "query/model/aggregator.h"
#include "query/downsample/arithmetic.h"
#include "query/parse/parse.h"
#include "tests/harness.h"

#define BASE_S  INT64_C(1356998400)
#define BASE_MS (BASE_S * 1000)
#define HOURS   12

/* Rows of hours, and the same points together. */
struct series {
    uint32_t bases[HOURS];
    struct points rows[HOURS];
    struct points all;
};

enum values { SMALL, LARGE, DECIMALS, WILD, NANS, MIXED, VALUES };

static struct point
random_point(uint64_t *state, enum values values, int64_t ms)
{
    uint64_t x = harness_random(state);
    struct point p = { .ts_ms = ms, .is_float = true };

    if (values == MIXED)
        values = (enum values)(x >> 32) % MIXED;
    switch (values) {
    case SMALL:
        return (struct point){ ms, { .i = (int64_t)(x % 100) - 20 }, false };
    case LARGE:
        return (struct point){ ms, { .i = (int64_t)x >> (x % 40) }, false };
    case DECIMALS:
        p.v.d = (double)((int64_t)(x % 20000) - 5000) / 100;
        break;
    case NANS:
        p.v.d = x % 3 == 0   ? (double)NAN
                : x % 3 == 1 ? (double)INFINITY
                             : -(double)INFINITY;
        break;
    case WILD:
    case MIXED:
    case VALUES:
        p.v.d = (double)(int64_t)x / 7e3 * (x % 5 == 0 ? 1e-9 : 1);
        break;
    }
    return p;
}

/* Hours from 'base' on, 'apart' or fewer from one another; VALUES: each hour
 * has its own. */
static void
fill_with(struct series *s, uint64_t *state, uint32_t base, uint64_t apart,
          enum values all)
{
    int64_t steps[] = { 10000, 20000, 60000, 30137, 900000 };

    for (int64_t h = 0; h < HOURS; h++) {
        enum values values =
            all < VALUES ? all : (enum values)(harness_random(state) % VALUES);
        int64_t step = steps[harness_random(state) % 5];
        int64_t ms = (int64_t)base * 1000, end = ms + HOUR_MS;
        bool regular = harness_random(state) % 2 == 0;

        points_clear(&s->rows[h]);
        s->bases[h] = base;
        base += HOUR_S * (uint32_t)(1 + harness_random(state) % apart);
        ms += (int64_t)(harness_random(state) % 5000);
        if (harness_random(state) % 6 == 0)
            continue;
        while (ms < end) {
            ck_assert(points_add(&s->rows[h], random_point(state, values, ms)));
            ms += regular ? step
                          : 1 + (int64_t)(harness_random(state) %
                                          (uint64_t)(3 * step));
        }
    }
}

static void
fill(struct series *s, uint64_t *state, uint32_t base, uint64_t apart)
{
    fill_with(s, state, base, apart, VALUES);
}

/* Leaves the rows that a scan would read. */
static void
cut(struct series *s, const struct query *q, const struct sub_query *sq)
{
    struct query_reading r;

    reading_make(&r, q, sq);
    points_clear(&s->all);
    for (uint32_t h = 0; h < HOURS; h++) {
        if (s->bases[h] < r.from_base || s->bases[h] > r.to_base)
            points_clear(&s->rows[h]);
        ck_assert(points_append(&s->all, &s->rows[h]));
    }
}

/* How rows went in; and how often weeks did. */
struct ways {
    size_t summaries, spaced, points, weeks;
};

static struct batch
batch_of_points(const struct points *p)
{
    return batch_of_row(p, &(struct spacing){ .even = false });
}

static void
accumulate_row(const struct fold *f, const struct points *p, uint32_t base,
               bool spread_out, struct arena *a, struct bucket_acc *out,
               struct ways *ways)
{
    struct buf b = BUF_INIT;
    struct summary summary;
    struct spacing spacing;
    struct points back = { 0 };

    block_encode(p, base, &b);
    ck_assert_int_eq(block_summary(buf_slice(&b), base, &summary, NULL), ST_OK);
    ck_assert_int_eq(block_decode_spaced(buf_slice(&b), base, ALL_VALUES, &back,
                                         &spacing, NULL),
                     ST_OK);
    if (bucket_acc_summary(f, out, &summary, a)) {
        ways->summaries++;
    } else {
        bool even = spacing.even && !spread_out;
        struct batch batch =
            even ? batch_of_row(&back, &spacing) : batch_of_points(p);

        ways->spaced += even;
        ways->points += !even;
        bucket_acc_add(f, out, &batch, NULL, a);
    }
    points_fini(&back);
    buf_fini(&b);
}

static void
accumulate_all(const struct fold *f, const struct series *s, bool spread_out,
               struct arena *a, struct bucket_acc *out, struct ways *ways)
{
    *out = (struct bucket_acc){ 0 };
    for (uint32_t h = 0; h < HOURS; h++)
        if (s->rows[h].len > 0)
            accumulate_row(f, &s->rows[h], s->bases[h], spread_out, a, out,
                           ways);
    ck_assert(bucket_acc_end(f, out, a));
}

static bool
same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void
compare(const struct sub_query *sq, const struct bucket_acc *got,
        const struct column *want)
{
    ck_assert_uint_eq(got->len, want->len);
    for (size_t i = 0; i < want->len; i++) {
        ck_assert_int_eq(got->ts[i], want->ts_ms[i]);
        ck_assert_msg(same_number(got->v[i].d, want->v[i].d),
                      "%s: %a is not %a", sq->downsample.aggregator->name,
                      got->v[i].d, want->v[i].d);
    }
}

/* The buckets of all points, one after the other. */
static struct column
by_points(const struct query *q, const struct sub_query *sq,
          const struct series *s, struct arena *a)
{
    const struct points *p = &s->all;
    int64_t *ts = arena_alloc(a, (p->len + 1) * sizeof *ts);
    union number *v = arena_alloc(a, (p->len + 1) * sizeof *v);
    union number *values = arena_alloc(a, (p->len + 1) * sizeof *values);
    struct query_reading r;
    size_t len = 0, n;

    reading_make(&r, q, sq);
    for (size_t i = 0; i < p->len; i += n) {
        struct bucket at = { 0, 0 };

        n = 1;
        if (p->ts_ms[i] < r.buckets.from || p->ts_ms[i] >= r.buckets.to)
            continue;
        bucket_move(&r.buckets, &at, p->ts_ms[i]);
        for (n = 0; i + n < p->len && p->ts_ms[i + n] < at.next &&
                    p->ts_ms[i + n] < r.buckets.to;
             n++)
            values[n].d =
                p->is_float[i + n] != 0 ? p->v[i + n].d : (double)p->v[i + n].i;
        ts[len] = at.start;
        v[len++] = aggregator_run(sq->downsample.aggregator, true, values, n);
    }
    return (struct column){ .ts_ms = ts, .v = v, .len = len };
}

/* Rows wait until there is another one, and buckets that it ends are made. */
static void
collect_all(const struct fold *f, const struct series *s, struct arena *a,
            struct bucket_acc *out)
{
    struct points wait = { 0 };
    union number *scratch = arena_alloc(a, (s->all.len + 1) * sizeof *scratch);

    *out = (struct bucket_acc){ 0 };
    for (uint32_t h = 0; h < HOURS; h++) {
        int64_t end_ms =
            h + 1 < HOURS ? (int64_t)s->bases[h + 1] * 1000 : INT64_MAX;
        struct points rest = { 0 };
        struct batch batch;

        ck_assert(points_append(&wait, &s->rows[h]));
        batch = batch_of_points(&wait);
        if (end_ms < INT64_MAX)
            end_ms = buckets_complete(f->buckets, out->bucket, end_ms);
        batch = batch_part(&batch, 0, times_find(&batch.times, end_ms));
        bucket_acc_add(f, out, &batch, scratch, a);
        for (size_t i = batch.times.len; i < wait.len; i++)
            ck_assert(points_add(&rest, points_at(&wait, i)));
        points_fini(&wait);
        wait = rest;
    }
    ck_assert_uint_eq(wait.len, 0);
    points_fini(&wait);
    ck_assert(bucket_acc_end(f, out, a));
}

/* One row after the other, each as it comes. */
static void
collect_rows(const struct fold *f, const struct series *s, struct arena *a,
             struct bucket_acc *out, struct ways *ways)
{
    union number *scratch = arena_alloc(a, (s->all.len + 1) * sizeof *scratch);

    *out = (struct bucket_acc){ 0 };
    for (uint32_t h = 0; h < HOURS; h++) {
        const struct points *p = &s->rows[h];
        struct points back = { 0 };
        struct spacing spacing = { .even = false };
        struct batch batch;
        struct buf b = BUF_INIT;

        if (p->len > 0) {
            block_encode(p, s->bases[h], &b);
            ck_assert_int_eq(block_decode_spaced(buf_slice(&b), s->bases[h],
                                                 ALL_VALUES, &back, &spacing,
                                                 NULL),
                             ST_OK);
        }
        ways->spaced += spacing.even;
        batch =
            spacing.even ? batch_of_row(&back, &spacing) : batch_of_points(p);
        bucket_acc_add(f, out, &batch, scratch, a);
        points_fini(&back);
        buf_fini(&b);
    }
    ck_assert(bucket_acc_end(f, out, a));
}

/* With a list of the buckets' starts, where there is an arena for it. */
static struct fold
make_fold(const struct query *q, const struct sub_query *sq, struct arena *a,
          struct query_reading *r)
{
    reading_make(r, q, sq);
    ck_assert_uint_eq(r->functions_len, 1);
    if (a != NULL)
        buckets_list(&r->buckets, a);
    return reading_fold(r, 0);
}

static void
check(const struct query *q, const struct sub_query *sq, const struct series *s,
      struct arena *a, struct ways *ways)
{
    const struct points *all = &s->all;
    struct column want = by_points(q, sq, s, a);
    struct query_reading r;
    struct bucket_acc got;

    for (int i = 0; i < 4; i++) {
        struct fold f = make_fold(q, sq, i < 2 ? NULL : a, &r);

        if (i % 2 != 0 && r.form == READ_ROWS)
            collect_rows(&f, s, a, &got, ways);
        else if (r.form != READ_FOLDED)
            collect_all(&f, s, a, &got);
        else
            accumulate_all(&f, s, i % 2 != 0, a, &got, ways);
        compare(sq, &got, &want);
        ck_assert_uint_eq(got.some, all->len > 0);
        if (all->len > 0) {
            ck_assert_int_eq(got.first_ms, all->ts_ms[0]);
            ck_assert_int_eq(got.last_ms, all->ts_ms[all->len - 1]);
        }
    }
}

static const char *const names[] = { "sum",   "zimsum", "pfsum", "avg",
                                     "min",   "mimmin", "max",   "mimmax",
                                     "count", "first",  "last",  "range" };

/* Those that collect. */
static const char *const others[] = { "p99",       "ep50r3", "median", "dev",
                                      "squareSum", "mult",   "diff" };

static void
check_range(struct query *q, struct sub_query *sq, struct series *s,
            struct arena *a, uint64_t *state, struct ways *ways)
{
    int64_t first_ms = (int64_t)s->bases[0] * 1000;
    int64_t range = (int64_t)s->bases[HOURS - 1] * 1000 - first_ms;

    q->start_ms = first_ms + (int64_t)(harness_random(state) % 4000000);
    q->end_ms =
        q->start_ms + (int64_t)(harness_random(state) % (uint64_t)range);
    sq->downsample.on = true;
    /* Then the hour behind the range is read, too. */
    sq->explicit_tags = harness_random(state) % 2 == 0;
    sq->filters_len = 1;
    cut(s, q, sq);
    check(q, sq, s, a, ways);
    arena_reset(a);
}

static void
series_fini(struct series *s)
{
    for (int h = 0; h < HOURS; h++)
        points_fini(&s->rows[h]);
    points_fini(&s->all);
}

START_TEST(collects_to_the_same_bits)
{
    static const int64_t intervals[] = { 1000,    300000,   3600000, 60000,
                                         5400000, 86400000, 0 };
    uint64_t state = harness_seed(4);
    struct arena *a = arena_new(0);
    struct series s = { 0 };
    struct ways ways = { 0 };

    for (size_t i = 0; i < 70; i++) {
        struct query q = { 0 };
        struct sub_query sq = { 0 };
        struct downsample *d = &sq.downsample;

        fill(&s, &state, (uint32_t)BASE_S, 1 + i % 4);
        d->interval_ms = intervals[i % 7];
        d->all = intervals[i % 7] == 0;
        if (i % 5 == 0 && !d->all) {
            d->calendar = true;
            d->unit = UNIT_D;
            d->count = 1;
            d->interval_ms = DAY_MS;
            ck_assert_int_eq(
                timezone_find(slice_str("America/St_Johns"), &d->zone, NULL),
                ST_OK);
        }
        d->aggregator = aggregator_find(slice_str(others[_i]));
        check_range(&q, &sq, &s, a, &state, &ways);
    }
    ck_assert_uint_gt(ways.spaced, 50);
    series_fini(&s);
    arena_free(&a);
}
END_TEST

START_TEST(folds_to_the_same_bits)
{
    static const int64_t intervals[] = { 1000,    7000,     60000,
                                         300000,  3600000,  7200000,
                                         5400000, 86400000, 0 };
    uint64_t state = harness_seed(1);
    struct arena *a = arena_new(0);
    struct series s = { 0 };
    struct ways ways = { 0 };

    for (int i = 0; i < 90; i++) {
        struct query q = { 0 };
        struct sub_query sq = { 0 };

        fill(&s, &state, (uint32_t)BASE_S, 1);
        sq.downsample.interval_ms = intervals[i % 9];
        sq.downsample.all = intervals[i % 9] == 0;
        sq.downsample.aggregator = aggregator_find(slice_str(names[_i]));
        check_range(&q, &sq, &s, a, &state, &ways);
    }
    ck_assert_uint_gt(ways.summaries, 8);
    ck_assert_uint_gt(ways.spaced, 40);
    ck_assert_uint_gt(ways.points, 40);
    series_fini(&s);
    arena_free(&a);
}
END_TEST

/* Zones, and days on which their clocks are changed: by half an hour, at
 * midnight (so that a day begins at 1 o'clock), by a day that is left out; and
 * zones of half and quarter hours. */
static const struct {
    const char *zone;
    uint32_t days[3];
} changes[] = {
    { "UTC", { 1356912000, 1362009600, 1483142400 } },
    { "Europe/Berlin", { 1364601600, 1382745600, 1711756800 } },
    { "America/New_York", { 1362787200, 1383350400, 4076524800 } },
    { "Australia/Lord_Howe", { 1365177600, 1380931200, 1727956800 } },
    { "Asia/Kolkata", { 1356912000, 1362009600, 1483142400 } },
    { "Asia/Kathmandu", { 1356912000, 1362009600, 504835200 } },
    { "America/Sao_Paulo", { 1476489600, 1487376000, 1508025600 } },
    { "Pacific/Apia", { 1325116800, 1325030400, 1316736000 } },
    { "America/St_Johns", { 1299888000, 1320537600, 1143849600 } },
    { "Asia/Tehran", { 1363824000, 1379721600, 1205971200 } },
};

START_TEST(folds_by_the_calendar)
{
    static const struct {
        enum time_unit unit;
        int64_t ms;
        int counts; /* random, up to */
        uint64_t apart;
    } units[] = {
        { UNIT_S, 1000, 900, 1 },
        { UNIT_M, 60000, 120, 2 },
        { UNIT_H, 3600000, 30, 6 },
        { UNIT_D, 86400000, 9, 48 },
        { UNIT_W, 604800000, 4, 200 },
        { UNIT_N, 2592000000, 5, 1200 },
        { UNIT_Y, INT64_C(31536000000), 2, 3000 },
    };
    uint64_t state = harness_seed(2);
    struct arena *a = arena_new(0);
    struct series s = { 0 };
    struct ways ways = { 0 };

    for (size_t i = 0; i < 210; i++) {
        size_t unit = i % 7, zone = harness_random(&state) % 10;
        struct query q = { 0 };
        struct sub_query sq = { .downsample = { .calendar = true } };
        struct downsample *d = &sq.downsample;
        uint32_t base = changes[zone].days[harness_random(&state) % 3];

        ck_assert_int_eq(
            timezone_find(slice_str(changes[zone].zone), &d->zone, NULL),
            ST_OK);
        base += HOUR_S * (uint32_t)(harness_random(&state) % 24);
        fill(&s, &state, base, units[unit].apart);
        d->unit = units[unit].unit;
        d->count = 1;
        if (harness_random(&state) % 2 != 0)
            d->count +=
                (int)(harness_random(&state) % (uint64_t)units[unit].counts);
        d->interval_ms = units[unit].ms * d->count;
        d->aggregator = aggregator_find(slice_str(names[_i]));
        check_range(&q, &sq, &s, a, &state, &ways);
    }
    ck_assert_uint_gt(ways.summaries, 100);
    ck_assert_uint_gt(ways.spaced, 100);
    ck_assert_uint_gt(ways.points, 100);
    series_fini(&s);
    arena_free(&a);
}
END_TEST

/* The week that all rows lie in, as a scan lends it; false: there is none. */
static bool
make_week(const struct series *s, enum week_hours hours, struct week *w)
{
    struct points scratch = { 0 };
    struct buf b = BUF_INIT;
    uint32_t base = week_base(s->bases[0]);

    week_init(w, base);
    for (int h = 0; h < HOURS; h++) {
        if (s->rows[h].len == 0)
            continue;
        buf_clear(&b);
        block_encode(&s->rows[h], s->bases[h], &b);
        ck_assert_int_eq(
            week_add(w, buf_slice(&b), s->bases[h], &scratch, NULL), ST_OK);
    }
    points_fini(&scratch);
    buf_clear(&b);
    if (!week_is_empty(w)) {
        week_encode(w, &b);
        ck_assert_int_eq(week_decode(buf_slice(&b), base, hours, w, NULL),
                         ST_OK);
    }
    buf_fini(&b);
    return !week_is_empty(w);
}

/* Whole days of the range by the week, the rest by rows. */
static void
accumulate_week(const struct fold *f, const struct series *s,
                const struct week *w, uint32_t from, uint32_t to,
                struct arena *a, struct bucket_acc *out, struct ways *ways)
{
    unsigned day = (from - w->base + DAY_S - 1) / DAY_S;
    unsigned day_end = (to + HOUR_S - w->base) / DAY_S;
    bool by_week = false, met = false, left_out = false;

    *out = (struct bucket_acc){ 0 };
    for (uint32_t h = 0; h < HOURS; h++) {
        unsigned d = (s->bases[h] - w->base) / DAY_S;
        bool within = d >= day && d < day_end;

        if (within && !met) {
            met = true;
            by_week =
                bucket_acc_week(f, out, w, day, day_end, false, &left_out, a);
            ck_assert(!left_out);
            ways->weeks += by_week;
        }
        if (s->rows[h].len > 0 && !(within && by_week))
            accumulate_row(f, &s->rows[h], s->bases[h], false, a, out, ways);
    }
    ck_assert(bucket_acc_end(f, out, a));
}

START_TEST(folds_weeks)
{
    static const int64_t hours[] = { 1, 1, 2, 5, 24, 48, 168, 0 };
    static const enum values values[] = { SMALL, DECIMALS, WILD, SMALL };
    uint64_t state = harness_seed(3);
    struct arena *a = arena_new(0);
    struct series s = { 0 };
    struct ways ways = { 0 };

    for (size_t i = 0; i < 400; i++) {
        struct query q = { 0 };
        struct sub_query sq = { 0 };
        struct downsample *d = &sq.downsample;
        uint32_t base = week_base((uint32_t)BASE_S);
        struct query_reading r;
        struct fold f;
        struct bucket_acc got;
        struct column want;
        struct week w;

        /* A day begins at the hour in which the range does, too. */
        base += i % 3 == 0 ? DAY_S * (uint32_t)(i % 2)
                           : HOUR_S * (uint32_t)(harness_random(&state) % 60);
        fill_with(&s, &state, base, 3 + harness_random(&state) % 6,
                  values[harness_random(&state) % 4]);
        d->interval_ms = hours[i % 8] * HOUR_MS;
        d->all = hours[i % 8] == 0;
        d->aggregator = aggregator_find(slice_str(names[_i]));
        if (i % 8 == 1) {
            const char *zone = "Asia/Kolkata"; /* of half an hour */

            d->calendar = true;
            d->unit = UNIT_H;
            d->count = 1;
            ck_assert_int_eq(timezone_find(slice_str(zone), &d->zone, NULL),
                             ST_OK);
        }
        check_range(&q, &sq, &s, a, &state, &ways);
        f = make_fold(&q, &sq, i % 3 ? a : NULL, &r);
        if (!r.want.weeks || !make_week(&s, r.want.hours, &w))
            continue;
        accumulate_week(&f, &s, &w, r.from_base, r.to_base, a, &got, &ways);
        want = by_points(&q, &sq, &s, a);
        compare(&sq, &got, &want);
        arena_reset(a);
    }
    ck_assert_uint_gt(ways.weeks, 60);
    series_fini(&s);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *zone; /* NULL: one bucket for all */
    int from, to;     /* minutes from the week's first one */
    double counts[4]; /* of 2 points an hour */
    bool left_out;
} only_hours[] = {
    { "UTC", 0, 72 * 60, { 48, 48, 48 }, false },
    { "Asia/Tokyo", 0, 72 * 60, { 48, 48, 18 }, false },
    { "Asia/Kolkata", 0, 72 * 60, { 46, 46, 10 }, true },
    { "Asia/Kathmandu", 0, 48 * 60, { 46, 10 }, true },
    { "UTC", 0, 36 * 60 + 1, { 48, 24 }, true },
    { "UTC", 0, 36 * 60, { 48, 24 }, false },
    { NULL, 60, 71 * 60, { 140 }, false },
    { NULL, 30, 71 * 60, { 140 }, true },
    { NULL, 60, 71 * 60 + 30, { 140 }, true },
    { NULL, 24 * 60, 48 * 60, { 48 }, false },
};

/* Of two points an hour. */
static void
make_three_days(uint32_t base, struct week *w)
{
    struct points scratch = { 0 };
    struct buf b = BUF_INIT;

    week_init(w, base);
    for (uint32_t at = base; at < base + 3 * DAY_S; at += HOUR_S) {
        struct points p = { 0 };

        for (int i = 0; i < 2; i++)
            ck_assert(points_add(
                &p, (struct point){ .ts_ms = at * INT64_C(1000) + 600000 +
                                             i * 1800000 }));
        buf_clear(&b);
        block_encode(&p, at, &b);
        ck_assert_int_eq(week_add(w, buf_slice(&b), at, &scratch, NULL), ST_OK);
        points_fini(&p);
    }
    buf_clear(&b);
    week_encode(w, &b);
    ck_assert_int_eq(week_decode(buf_slice(&b), base, HOURS_ALL, w, NULL),
                     ST_OK);
    points_fini(&scratch);
    buf_fini(&b);
}

/* Where hourly values are all that is left, an hour that an edge of a bucket or
 * of the range cuts is left out, and nothing else. */
START_TEST(only_hours_that_are_cut_are_left_out)
{
    uint32_t base = week_base((uint32_t)BASE_S);
    bool all = only_hours[_i].zone == NULL, left_out = false;
    struct query q = {
        .start_ms = base * INT64_C(1000) + only_hours[_i].from * 60000,
        .end_ms = base * INT64_C(1000) + only_hours[_i].to * 60000 -
                  (all           ? 0
                   : _i % 2 == 0 ? 1000
                                 : 1),
    };
    struct sub_query sq = { .downsample = { .on = true,
                                            .all = all,
                                            .calendar = !all,
                                            .unit = UNIT_D,
                                            .count = 1,
                                            .interval_ms = all ? 0 : DAY_MS } };
    struct arena *a = arena_new(0);
    struct query_reading r;
    struct fold f;
    struct bucket_acc got = { 0 };
    struct week w;
    size_t n = 0;

    sq.downsample.aggregator = aggregator_find(slice_str("count"));
    if (!all)
        ck_assert_int_eq(timezone_find(slice_str(only_hours[_i].zone),
                                       &sq.downsample.zone, NULL),
                         ST_OK);
    f = make_fold(&q, &sq, a, &r);
    make_three_days(base, &w);
    ck_assert(bucket_acc_week(&f, &got, &w, 0, 3, true, &left_out, a));
    ck_assert(bucket_acc_end(&f, &got, a));
    ck_assert_int_eq(left_out, only_hours[_i].left_out);
    for (; n < 4 && only_hours[_i].counts[n] > 0; n++) {
        ck_assert_uint_lt(n, got.len);
        ck_assert_double_eq(got.v[n].d, only_hours[_i].counts[n]);
    }
    ck_assert_uint_eq(got.len, n);
    arena_free(&a);
}
END_TEST

/* In Santiago the clock skips midnight a week later: the week that starts at
 * this midnight does not know of it. */
START_TEST(weeks_start_on_sunday_at_midnight)
{
    const uint32_t sunday = 1567310400; /* 2019-09-01 00:00 there */
    struct query q = { .start_ms = (sunday - 52 * HOUR_S) * INT64_C(1000),
                       .end_ms = (sunday + 92 * HOUR_S) * INT64_C(1000) };
    struct sub_query sq = { .downsample = { .on = true,
                                            .calendar = true,
                                            .unit = UNIT_W,
                                            .count = 1,
                                            .interval_ms = 7 * DAY_MS } };
    struct arena *a = arena_new(0);
    struct query_reading r;
    struct fold f;
    struct bucket_acc got;
    struct column want;
    struct series s = { 0 };
    struct ways ways = { 0 };
    struct week w;

    for (uint32_t h = 0; h < HOURS; h++) {
        struct point p = { .v.i = (int64_t)h };

        s.bases[h] = sunday + h * HOUR_S;
        p.ts_ms = s.bases[h] * INT64_C(1000) + 300000;
        ck_assert(points_add(&s.rows[h], p) && points_add(&s.all, p));
    }
    sq.downsample.aggregator = aggregator_find(slice_str("last"));
    ck_assert_int_eq(
        timezone_find(slice_str("America/Santiago"), &sq.downsample.zone, NULL),
        ST_OK);
    f = make_fold(&q, &sq, a, &r);
    ck_assert(r.want.weeks);
    ck_assert(make_week(&s, r.want.hours, &w));
    accumulate_week(&f, &s, &w, sunday - 52 * HOUR_S, sunday + 91 * HOUR_S, a,
                    &got, &ways);
    want = by_points(&q, &sq, &s, a);
    ck_assert_uint_eq(want.len, 1);
    ck_assert_int_eq(want.ts_ms[0], sunday * INT64_C(1000));
    compare(&sq, &got, &want);
    series_fini(&s);
    arena_free(&a);
}
END_TEST

START_TEST(knows_what_it_cannot_fold)
{
    struct query q = { .start_ms = BASE_MS, .end_ms = BASE_MS + HOUR_MS };
    struct sub_query sq = { .downsample = { .on = true, .interval_ms = 1000 } };
    struct query_reading r;

    sq.downsample.aggregator = aggregator_find(slice_str("p99"));
    reading_make(&r, &q, &sq);
    ck_assert_int_eq(r.form, READ_ROWS);
    sq.downsample.interval_ms = 2 * HOUR_MS;
    reading_make(&r, &q, &sq);
    ck_assert_int_eq(r.form, READ_WHOLE);
    ck_assert(!r.want.summaries);
    sq.downsample.aggregator = aggregator_find(slice_str("sum"));
    reading_make(&r, &q, &sq);
    ck_assert(r.want.summaries);
    sq.downsample.interval_ms = 1000;
    reading_make(&r, &q, &sq);
    ck_assert_int_eq(r.form, READ_FOLDED);
    ck_assert(!r.want.summaries);
    sq.downsample.on = false;
    reading_make(&r, &q, &sq);
    ck_assert_int_eq(r.form, READ_POINTS);
}
END_TEST

START_TEST(says_when_the_arena_is_full)
{
    struct query q = { .start_ms = BASE_MS, .end_ms = BASE_MS + 5 * HOUR_MS };
    struct sub_query sq = { .downsample = { .on = true, .interval_ms = 1000 } };
    struct arena *a = arena_new(100);
    uint64_t state = 1;
    struct series s = { 0 };
    struct query_reading r;
    struct fold f;
    struct bucket_acc acc = { 0 };

    sq.downsample.aggregator = aggregator_find(slice_str("sum"));
    fill(&s, &state, (uint32_t)BASE_S, 1);
    f = make_fold(&q, &sq, NULL, &r);
    for (int h = 0; h < HOURS; h++) {
        struct batch row = batch_of_points(&s.rows[h]);

        bucket_acc_add(&f, &acc, &row, NULL, a);
    }
    ck_assert(!bucket_acc_end(&f, &acc, a));
    series_fini(&s);
    arena_free(&a);
}
END_TEST

TEST_MAIN("fold", LOOP(folds_to_the_same_bits, names),
          LOOP(folds_by_the_calendar, names), LOOP(folds_weeks, names),
          TEST(weeks_start_on_sunday_at_midnight),
          LOOP(only_hours_that_are_cut_are_left_out, only_hours),
          LOOP(collects_to_the_same_bits, others),
          TEST(knows_what_it_cannot_fold), TEST(says_when_the_arena_is_full))
