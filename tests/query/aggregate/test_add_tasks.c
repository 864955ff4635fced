/* A group that several workers add, against the same that one thread
 * adds, packed and unpacked: the same bits, or the same error. */
#include "query/aggregate/aggregate.h"

#include "tests/storage/made_hour.h"

#define BASE   UINT32_C(1356998400)
#define SERIES 400
#define HOURS  3
#define POINTS 180 /* an hour */

static struct error e;
static uint64_t random_state;

/* Open rows and blocks. */
struct world {
    uint8_t tsuids[SERIES][9];
    struct made_hour hours[SERIES][HOURS];
    struct column columns[SERIES];
    struct arena *arena;
};

/* Odd series begin, step and end like no other, each ten seconds or, scattered,
 * at any second: then timestamps are several stretches. */
static const struct kind {
    const char *aggregator;
    bool rate, counter;
    unsigned doubles; /* of ten series */
    unsigned odd;
    bool scattered;
} kinds[] = {
    { "sum", false, false, 0, 0, false },
    { "max", false, false, 0, 3, false },
    { "avg", false, false, 10, 0, false },
    { "sum", false, false, 10, 5, false },
    { "dev", false, false, 10, 2, false },
    { "sum", false, false, 4, 0, false },
    { "sum", true, false, 0, 0, false },
    { "sum", true, true, 0, 4, false },
    { "avg", true, false, 10, 4, false },
    { "p95", false, false, 0, 1, false },
    { "zimsum", false, false, 6, 5, false },
    { "count", false, false, 0, 2, false },
    { "avg", false, false, 0, 1, false },
    { "sum", false, false, 0, 2, true },
    { "min", false, false, 10, 2, true },
    { "sum", true, false, 0, 3, true },
    { "avg", true, true, 10, 1, true },
    { "mimmax", false, false, 3, 1, true },
    { "range", false, false, 0, 2, false },
    { "range", false, false, 5, 2, true },
};

static unsigned
below(unsigned n)
{
    return (unsigned)(harness_random(&random_state) % n);
}

static void
add_hour(struct world *w, size_t i, unsigned hour, const struct points *p)
{
    struct store_row row;
    uint32_t read;

    if (p->len == 0)
        return;
    row = make_hour(&w->hours[i][hour], slice_of(w->tsuids[i], 9),
                    BASE + hour * HOUR_S, p, below(10) < 7);
    ck_assert_int_eq(column_add_row(&w->columns[i], &row, w->arena, &read, &e),
                     ST_OK);
}

static void
add_series(struct world *w, size_t i, const struct kind *k)
{
    bool odd = below(10) < k->odd, doubles = below(10) < k->doubles;
    int64_t unit = k->scattered ? 1000 : 10000;
    int64_t at = (int64_t)BASE * 1000, step = 20000, v = below(1000000);
    int64_t end = at + HOURS * HOUR_MS - (odd ? below(HOUR_S) * 1000 : 0);

    if (odd) {
        at += below((unsigned)(HOUR_MS / 2 / unit)) * unit;
        step = unit * (1 + below(30));
    }
    memset(w->tsuids[i], (int)(i % 251), sizeof w->tsuids[i]);
    for (unsigned hour = 0; hour < HOURS; hour++) {
        int64_t until = (BASE + (hour + 1) * HOUR_S) * INT64_C(1000);
        struct points p = { 0 };

        for (; at < until && at < end; at += step) {
            struct point x = { at, { .i = v += below(3000) }, doubles };

            if (doubles)
                x.v.d = (double)v / 7;
            ck_assert(points_add(&p, x));
        }
        add_hour(w, i, hour, &p);
        points_fini(&p);
    }
}

static struct world *
make(const struct kind *k)
{
    struct world *w = calloc(1, sizeof *w);

    w->arena = arena_new(0);
    for (size_t i = 0; i < SERIES; i++)
        add_series(w, i, k);
    return w;
}

static void
end(struct world *w)
{
    for (size_t i = 0; i < SERIES; i++)
        for (unsigned h = 0; h < HOURS; h++)
            made_hour_fini(&w->hours[i][h]);
    arena_free(&w->arena);
    free(w);
}

static enum status
run(const struct world *w, const struct kind *k, const struct column *columns,
    struct workers *workers, struct dps *out, struct error *why)
{
    struct query q = { .start_ms = (int64_t)BASE * 1000,
                       .end_ms = (BASE + HOURS * HOUR_S) * INT64_C(1000) - 1 };
    struct sub_query sq = {
        .aggregator = aggregator_find(slice_str(k->aggregator)),
        .rate = k->rate,
        .rate_options = { .counter = k->counter, .counter_max = INT64_MAX }
    };
    struct deadline deadline = { 0 };
    struct query_reading r;
    struct column *copies =
        arena_copy(w->arena, columns, SERIES * sizeof *copies);

    ck_assert_ptr_nonnull(sq.aggregator);
    reading_make(&r, &q, &sq);
    return aggregate_group(
        &(struct aggregate_job){ &q, &sq, &r, workers, &deadline }, copies,
        SERIES, w->arena, out, why);
}

/* The same columns, written out. */
static struct column *
unpacked(struct world *w)
{
    struct column *all = arena_array(w->arena, SERIES, sizeof *all);
    struct points scratch = { 0 };

    for (size_t i = 0; i < SERIES; i++) {
        struct column *c = &all[i];

        ck_assert_int_eq(column_unpack(&w->columns[i], &scratch, c, &e), ST_OK);
        c->ts_ms = arena_copy(w->arena, c->ts_ms, c->len * sizeof *c->ts_ms);
        c->v = arena_copy(w->arena, c->v, c->len * sizeof *c->v);
        c->is_float = arena_copy(w->arena, c->is_float, c->len);
    }
    points_fini(&scratch);
    return all;
}

static void
same(const struct dps *a, const struct dps *b)
{
    ck_assert_uint_ge(a->len, POINTS);
    ck_assert_uint_eq(a->len, b->len);
    ck_assert_mem_eq(a->ts_ms, b->ts_ms, a->len * sizeof *a->ts_ms);
    ck_assert_mem_eq(a->v, b->v, a->len * sizeof *a->v);
    ck_assert_mem_eq(a->kind, b->kind, a->len);
}

START_TEST(adds_as_one_thread_does)
{
    const struct kind *k = &kinds[_i];
    struct workers *workers = workers_new(3);

    for (unsigned round = 0; round < 1; round++) {
        struct world *w;
        struct dps alone, helped, plain;

        random_state = 100 * round + (unsigned)_i;
        w = make(k);
        ck_assert_int_eq(run(w, k, w->columns, NULL, &alone, &e), ST_OK);
        ck_assert_int_eq(run(w, k, w->columns, workers, &helped, &e), ST_OK);
        ck_assert_int_eq(run(w, k, unpacked(w), NULL, &plain, &e), ST_OK);
        same(&alone, &helped);
        same(&alone, &plain);
        end(w);
    }
    workers_free(&workers);
}
END_TEST

/* Blocks whose values are cut off: the first in the order of series is told. */
START_TEST(says_what_is_damaged)
{
    static const struct kind sums[2] = { { "sum", false, false, 0, 0, false },
                                         { "sum", false, false, 10, 0,
                                           false } };
    const struct kind *k = &sums[_i];
    struct workers *workers = workers_new(3);
    struct world *w;
    struct dps out;
    struct error alone, helped;
    unsigned damaged = 0;

    random_state = 1;
    w = make(k);
    for (size_t i = SERIES / 3; i < SERIES; i++) {
        struct packed_hour *hour = w->columns[i].hours;

        if (hour->block_size == 0)
            continue;
        *(uint8_t *)(uintptr_t)hour->block = BLOCK_WITHOUT_CRC;
        hour->block_size -= BLOCK_CRC_SIZE + 1;
        damaged++;
    }
    ck_assert_uint_gt(damaged, 10);
    ck_assert_int_eq(run(w, k, w->columns, NULL, &out, &alone), ST_CORRUPT);
    ck_assert_int_eq(run(w, k, w->columns, workers, &out, &helped), ST_CORRUPT);
    ck_assert_str_eq(alone.text, helped.text);
    end(w);
    workers_free(&workers);
}
END_TEST

TEST_MAIN("add_tasks", LOOP(adds_as_one_thread_does, kinds),
          TIMES(says_what_is_damaged, 2))
