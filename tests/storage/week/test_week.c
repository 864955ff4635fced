/* Weeks: what a series' blocks say, summed by week_add(), written, and read. */
#include "storage/week/week.h"

#include <math.h>
#include <string.h>

#include "storage/block/block_columns.h"

#include "tests/harness.h"

#define START UINT32_C(1735776000) /* a week begins */

static uint64_t state;

static uint64_t
rnd(uint64_t below)
{
    return harness_random(&state) % below;
}

/* How values of a series are made. */
enum values { INTS, LARGE_INTS, DECIMALS, DOUBLES, MIXED, ZEROS, VALUES_LAST };

static void
add_value(struct points *p, int64_t ms, enum values kind)
{
    enum values k = kind != MIXED ? kind : rnd(2) ? INTS : DECIMALS;
    struct point v = { .ts_ms = ms, .is_float = k != INTS && k != LARGE_INTS };

    if (k == LARGE_INTS)
        v.v.i = (int64_t)(rnd(1u << 30) << 8) - (INT64_C(1) << 37);
    else if (k == DECIMALS)
        v.v.d = (double)((int64_t)rnd(200000) - 100000) / 100;
    else if (k == DOUBLES)
        v.v.d = ((double)rnd(1u << 31) - 1e9) / 7;
    else if (k == ZEROS)
        v.v.d = rnd(2) ? 0.0 : -0.0;
    else
        v.v.i = (int64_t)rnd(1000) - 500;
    ck_assert(points_add(p, v));
}

/* The plain way: a day's points, one after the other. */
static void
check_day(const struct week *w, unsigned day, const struct points *p)
{
    const struct summary *s = &w->day[day];
    int64_t from = ((int64_t)w->base + (int64_t)day * DAY_S) * 1000;
    double sum = 0, min = 0, max = 0, first = 0, last = 0;
    int64_t isum = 0, first_ms = 0, last_ms = 0;
    uint32_t n = 0;

    for (size_t i = 0; i < p->len; i++) {
        double d = p->is_float[i] ? p->v[i].d : (double)p->v[i].i;

        if (p->ts_ms[i] < from || p->ts_ms[i] >= from + DAY_MS)
            continue;
        if (n++ == 0) {
            first_ms = p->ts_ms[i];
            first = min = max = d;
        }
        last_ms = p->ts_ms[i];
        last = d;
        sum += d;
        isum += p->is_float[i] ? 0 : p->v[i].i;
        min = d < min ? d : min;
        max = d > max ? d : max;
    }
    ck_assert_uint_eq(s->count, n);
    if (n == 0)
        return;
    ck_assert_int_eq(s->first_ms, first_ms);
    ck_assert_int_eq(s->last_ms, last_ms);
    if (w->all_int) {
        ck_assert_int_eq(s->sum.i, isum);
        ck_assert(s->first.i == (int64_t)first && s->last.i == (int64_t)last &&
                  s->min.i == (int64_t)min && s->max.i == (int64_t)max);
        return;
    }
    ck_assert(memcmp(&s->sum.d, &sum, 8) == 0);
    ck_assert(memcmp(&s->first.d, &first, 8) == 0);
    ck_assert(memcmp(&s->last.d, &last, 8) == 0);
    ck_assert(memcmp(&s->min.d, &min, 8) == 0);
    ck_assert(memcmp(&s->max.d, &max, 8) == 0);
}

static void
check_hour(const struct week *w, unsigned hour, const struct points *p)
{
    int64_t from = ((int64_t)w->base + (int64_t)hour * HOUR_S) * 1000;
    const struct week_values *v = &w->hour;
    struct points all = { 0 };
    struct summary s;

    for (size_t i = 0; i < p->len; i++)
        if (p->ts_ms[i] >= from && p->ts_ms[i] < from + HOUR_MS) {
            struct point x = points_at(p, i);

            if (!w->all_int && !x.is_float)
                x = (struct point){ x.ts_ms, { .d = (double)x.v.i }, true };
            ck_assert(points_add(&all, x));
        }
    ck_assert_uint_eq(w->count[hour], all.len);
    if (all.len > 0) {
        s = points_summary(&all);
        ck_assert_int_eq(v->sum[hour].i, s.sum.i); /* or its bits */
        ck_assert(w->hours == HOURS_SUMS ||
                  (v->first[hour].i == s.first.i &&
                   v->last[hour].i == s.last.i && v->min[hour].i == s.min.i &&
                   v->max[hour].i == s.max.i));
    }
    points_fini(&all);
}

static void
summarise_hours(const struct points *p, struct week *w)
{
    struct points scratch = { 0 };
    struct buf block = BUF_INIT;

    week_init(w, START);
    for (size_t i = 0, n; i < p->len; i += n) {
        struct points hour = points_of_hour(p, i);
        uint32_t base = hour_base(p->ts_ms[i]);

        n = hour.len;
        buf_clear(&block);
        block_encode(&hour, base, &block);
        ck_assert_int_eq(week_add(w, buf_slice(&block), base, &scratch, NULL),
                         ST_OK);
    }
    points_fini(&scratch);
    buf_fini(&block);
}

/* The same of rows whose hours are one block. */
static void
summarise_rows(const struct points *p, struct week *w)
{
    const struct key_layout layout = KEY_LAYOUT_DEFAULT;
    struct points scratch = { 0 };
    struct buf block = BUF_INIT;

    week_init(w, START);
    for (size_t i = 0; i < p->len;) {
        struct points row = { .ts_ms = p->ts_ms + i,
                              .v = p->v + i,
                              .is_float = p->is_float + i };
        uint32_t span = key_span_base(&layout, hour_base(p->ts_ms[i]));

        while (i < p->len &&
               key_span_base(&layout, hour_base(p->ts_ms[i])) == span) {
            row.len++;
            i++;
        }
        buf_clear(&block);
        block_encode_row(&row, span, layout.row_hours, &block);
        ck_assert_int_eq(week_add_row(w,
                                      &(struct row_of_parts){ .layout = &layout,
                                                              .span = span },
                                      buf_slice(&block), &scratch, NULL),
                         ST_OK);
    }
    points_fini(&scratch);
    buf_fini(&block);
}

/* Both say the same. */
static void
summarise(const struct points *p, struct week *w)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct week of_rows;

    summarise_hours(p, w);
    summarise_rows(p, &of_rows);
    week_encode(w, &a);
    week_encode(&of_rows, &b);
    ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
    buf_fini(&a);
    buf_fini(&b);
}

static void
make_points(struct points *p, enum values kind, int64_t step_ms, unsigned gaps)
{
    int64_t ms = (int64_t)START * 1000 + (int64_t)rnd(1 + rnd(86400000));
    int64_t end = ((int64_t)START + WEEK_S) * 1000;

    for (; ms < end;
         ms += gaps == 2 ? 1 + (int64_t)rnd(2 * (uint64_t)step_ms) : step_ms) {
        if (gaps == 1 && rnd(50) == 0)
            ms += (int64_t)rnd(2 * 86400000u);
        if (ms < end)
            add_value(p, ms, kind);
    }
}

/* A week of points within hours alone says the same as the crop of all. */
START_TEST(a_part_has_its_hours)
{
    state = harness_seed(4);
    for (int turn = 0; turn < 60; turn++) {
        struct points p = { 0 }, some = { 0 };
        int64_t from = ((int64_t)START + (int64_t)rnd(WEEK_HOURS) * HOUR_S);
        int64_t end = from + (int64_t)rnd(WEEK_HOURS) * HOUR_S;
        struct week w, part;

        make_points(&p, turn % 2 ? INTS : DECIMALS, 600000, (unsigned)rnd(3));
        for (size_t i = 0; i < p.len; i++)
            if (p.ts_ms[i] >= from * 1000 && p.ts_ms[i] < end * 1000)
                ck_assert(points_add(&some, points_at(&p, i)));
        summarise_hours(&p, &w);
        summarise_hours(&some, &part);
        week_crop(&w, from * 1000, end * 1000);
        ck_assert_mem_eq(w.count, part.count, sizeof w.count);
        for (unsigned d = 0; d < WEEK_DAYS; d++) {
            const struct summary *a = &w.day[d], *b = &part.day[d];

            ck_assert_uint_eq(a->count, b->count);
            if (a->count == 0)
                continue;
            ck_assert(a->first.i == b->first.i && a->last.i == b->last.i &&
                      a->min.i == b->min.i && a->max.i == b->max.i);
            ck_assert(turn % 2 ? a->sum.i == b->sum.i
                               : fabs(a->sum.d - b->sum.d) < 1e-6);
            ck_assert(a->first_ms <= b->first_ms && a->last_ms >= b->last_ms);
            ck_assert_int_eq(a->first_ms / HOUR_MS, b->first_ms / HOUR_MS);
            ck_assert_int_eq(a->last_ms / HOUR_MS, b->last_ms / HOUR_MS);
        }
        points_fini(&p);
        points_fini(&some);
    }
}
END_TEST

START_TEST(round_trip)
{
    state = harness_seed(1);
    for (int turn = 0; turn < 60; turn++) {
        enum values kind = (enum values)(turn % VALUES_LAST);
        struct points p = { 0 };
        struct week w, back, sums, days;
        struct buf bytes = BUF_INIT;

        make_points(&p, kind, 60000 * (int64_t)(1 + rnd(90)), (unsigned)rnd(3));
        if (p.len == 0)
            continue;
        summarise(&p, &w);
        ck_assert(!w.unfit && !week_is_empty(&w));
        week_encode(&w, &bytes);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_ALL, &back, NULL),
            ST_OK);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_SUMS, &sums, NULL),
            ST_OK);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_NONE, &days, NULL),
            ST_OK);
        ck_assert_int_eq(back.hours, HOURS_ALL);
        ck_assert_int_eq(sums.hours, HOURS_SUMS);
        ck_assert_int_eq(days.hours, HOURS_NONE);
        for (unsigned i = 0; i < WEEK_DAYS; i++) {
            check_day(&back, i, &p);
            check_day(&days, i, &p);
        }
        for (unsigned i = 0; i < WEEK_HOURS; i++) {
            check_hour(&back, i, &p);
            check_hour(&sums, i, &p);
        }
        buf_fini(&bytes);
        points_fini(&p);
    }
}
END_TEST

/* Comes back as it was written. */
static void
check_unfit(const struct week *w)
{
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    struct week back;

    week_encode(w, &bytes);
    ck_assert_int_eq(
        week_decode(buf_slice(&bytes), START, HOURS_NONE, &back, NULL), ST_OK);
    ck_assert(back.unfit);
    week_encode(&back, &again);
    ck_assert(slice_eq(buf_slice(&again), buf_slice(&bytes)));
    buf_fini(&bytes);
    buf_fini(&again);
}

/* Order, kind or NaN matter: such weeks are left to their rows. */
START_TEST(unfit)
{
    static const union number bad[] = {
        { .i = INT64_MAX }, { .i = INT64_MIN }, { .i = INT64_C(1) << 53 },
        { .d = NAN },       { .d = INFINITY },  { .d = 1e308 },
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct points p = { 0 };
        struct week w, back;
        struct buf bytes = BUF_INIT;

        for (int64_t k = 0; k < 30; k++) {
            struct point v = { .ts_ms = ((int64_t)START + 600 * k) * 1000,
                               .is_float = i >= 3,
                               .v = bad[i] };

            ck_assert(points_add(&p, v));
        }
        summarise(&p, &w);
        ck_assert(w.unfit && !week_is_empty(&w));
        week_encode(&w, &bytes);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_ALL, &back, NULL),
            ST_OK);
        ck_assert(back.unfit);
        check_unfit(&back);
        ck_assert(week_is_unfit(buf_slice(&bytes), START));
        ck_assert(!week_answers(buf_slice(&bytes), START));
        ck_assert(!week_is_unfit(slice_str(""), START)); /* stale */
        buf_fini(&bytes);
        points_fini(&p);
    }
}
END_TEST

START_TEST(damage)
{
    struct points p = { 0 };
    struct week w, back;
    struct buf bytes = BUF_INIT;
    struct error e;

    state = 1;
    make_points(&p, DECIMALS, 600000, 1);
    summarise(&p, &w);
    week_encode(&w, &bytes);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_ALL, &back, &e),
            ST_CORRUPT);
        bytes.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_eq(
            week_decode(slice_of(bytes.data, i), START, HOURS_ALL, &back, &e),
            ST_CORRUPT);
    }
    ck_assert_int_eq(
        week_decode(buf_slice(&bytes), START + WEEK_S, true, &back, &e),
        ST_CORRUPT);
    buf_fini(&bytes);
    points_fini(&p);
}
END_TEST

/* -- late hours ------------------------------------------------------------ */

static void
add_hours(struct week *w, const struct points *p, const bool *takes, bool want)
{
    static struct error e;

    for (size_t at = 0; at < p->len;) {
        struct points hour = points_of_hour(p, at);

        at += hour.len;
        if (takes == NULL ||
            takes[(hour_base(hour.ts_ms[0]) - START) / HOUR_S] == want)
            ck_assert_int_eq(week_add_points(w, &hour, &e), ST_OK);
    }
}

static void
check_merged_day(const struct week *w, const struct week *whole, unsigned day)
{
    const struct summary *a = &w->day[day], *b = &whole->day[day];

    ck_assert_uint_eq(a->count, b->count);
    if (a->count == 0)
        return;
    ck_assert_int_eq(a->all_int, b->all_int);
    ck_assert_int_eq(a->first_ms, b->first_ms);
    ck_assert_int_eq(a->last_ms, b->last_ms);
    ck_assert(a->min.i == b->min.i && a->max.i == b->max.i); /* or their bits */
    ck_assert(a->first.i == b->first.i && a->last.i == b->last.i);
    ck_assert(w->all_int ? a->sum.i == b->sum.i
                         : fabs(a->sum.d - b->sum.d) <=
                               1e-9 * (1 + fabs(b->sum.d) + a->count * 1e9));
}

static const enum values merged_kinds[] = { INTS, DECIMALS, DOUBLES, MIXED };

/* A week whose hours come in two parts, in any order, is the week of all. */
START_TEST(late_hours_are_merged)
{
    enum values kind = merged_kinds[_i];

    state = harness_seed(90 + (unsigned long)_i);
    for (int turn = 0; turn < 100; turn++) {
        struct points p = { 0 };
        struct week whole, early, late;
        bool takes[WEEK_HOURS];

        for (int n = 1 + (int)rnd(300); n > 0; n--)
            add_value(&p, START * INT64_C(1000) + (int64_t)rnd(7 * DAY_MS),
                      rnd(4) == 0 ? INTS : kind);
        ck_assert(points_sort_unique(&p));
        for (size_t i = 0; i < WEEK_HOURS; i++)
            takes[i] = rnd(2) == 0;
        week_init(&whole, START);
        week_init(&early, START);
        week_init(&late, START);
        add_hours(&whole, &p, NULL, true);
        add_hours(&early, &p, takes, false);
        add_hours(&late, &p, takes, true);
        ck_assert(week_merge(&early, &late));
        ck_assert_int_eq(early.all_int, whole.all_int);
        for (unsigned i = 0; i < WEEK_HOURS; i++)
            check_hour(&early, i, &p);
        for (unsigned i = 0; i < WEEK_DAYS; i++)
            check_merged_day(&early, &whole, i);
        points_fini(&p);
    }
}
END_TEST

/* Each half can be summarised, both together cannot. */
START_TEST(late_hours_may_be_too_large)
{
    struct week w, late;
    struct points p = { 0 };
    static struct error e;

    for (uint32_t i = 0; i < 2; i++) {
        struct week *to = i == 0 ? &w : &late;
        struct point x = { (START + i * HOUR_S) * INT64_C(1000),
                           { .i = INT64_C(1) << 52 },
                           false };

        points_clear(&p);
        x.v.i += i; /* 2 * 2^52 is still exact */
        ck_assert(points_add(&p, x));
        week_init(to, START);
        ck_assert_int_eq(week_add_points(to, &p, &e), ST_OK);
        ck_assert(!to->unfit);
    }
    ck_assert(!week_merge(&w, &late));
    points_fini(&p);
}
END_TEST

/* The bytes say where the rows are, and nothing else changes. */
START_TEST(an_entry_says_where_its_rows_are)
{
    static const enum row_state all[] = { WEEK_ROWS_KEPT, WEEK_ROWS_LATE,
                                          WEEK_ROWS_DROPPED };
    struct points p = { 0 };
    struct buf bytes = BUF_INIT, plain = BUF_INIT;
    struct week w, back;
    static struct error e;

    add_value(&p, START * INT64_C(1000), DECIMALS);
    week_init(&w, START);
    ck_assert_int_eq(week_add_points(&w, &p, &e), ST_OK);
    week_encode(&w, &plain);
    for (size_t i = 0; i < 3; i++) {
        w.rows = all[i];
        buf_clear(&bytes);
        week_encode(&w, &bytes);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_ALL, &back, &e), ST_OK);
        ck_assert_int_eq(back.rows, all[i]);
        ck_assert_int_eq(week_is_late(buf_slice(&bytes)),
                         all[i] == WEEK_ROWS_LATE);
        week_set_rows(&bytes, START, WEEK_ROWS_DROPPED);
        ck_assert(slice_eq(buf_slice(&bytes), buf_slice(&plain)));
        week_set_rows(&bytes, START, all[(i + 1) % 3]);
        ck_assert_int_eq(
            week_decode(buf_slice(&bytes), START, HOURS_ALL, &back, &e), ST_OK);
        ck_assert_int_eq(back.rows, all[(i + 1) % 3]);
    }
    buf_fini(&bytes);
    buf_fini(&plain);
    points_fini(&p);
}
END_TEST

TEST_MAIN("week", TEST(round_trip), TEST(a_part_has_its_hours), TEST(unfit),
          TEST(damage), LOOP(late_hours_are_merged, merged_kinds),
          TEST(late_hours_may_be_too_large),
          TEST(an_entry_says_where_its_rows_are))
