/* A group that the threads of a pool add, against the same that one thread
 * adds: the same bits, or the same error. */
#include "query/aggregate/aggregate.h"

#include "storage/block/block_priv.h"
#include "storage/head/open_row.h"
#include "tests/harness.h"

#define BASE   UINT32_C(1356998400)
#define SERIES 400
#define POINTS 180

static struct error e;
static uint64_t random_state;

/* Series of one hour, open rows and blocks; at each ten seconds, so that all
 * timestamps are one stretch. */
struct world {
    uint8_t tsuids[SERIES][9];
    struct open_row rows[SERIES];
    struct open_copy copies[SERIES];
    struct buf blocks[SERIES];
    struct column columns[SERIES];
    struct arena *arena;
};

static const struct kind {
    const char *aggregator;
    bool rate, counter;
    unsigned doubles; /* of ten series */
    unsigned odd;     /* of ten: begin, step or end like no other */
} kinds[] = {
    { "sum", false, false, 0, 0 },    { "max", false, false, 0, 3 },
    { "avg", false, false, 10, 0 },   { "sum", false, false, 10, 5 },
    { "dev", false, false, 10, 2 },   { "sum", false, false, 4, 0 },
    { "sum", true, false, 0, 0 },     { "sum", true, true, 0, 4 },
    { "avg", true, false, 10, 4 },    { "p95", false, false, 0, 1 },
    { "zimsum", false, false, 6, 5 }, { "count", false, false, 0, 2 },
    { "avg", false, false, 0, 1 },
};

static unsigned
below(unsigned n)
{
    return (unsigned)(harness_random(&random_state) % n);
}

static void
add_series(struct world *w, size_t i, const struct kind *k)
{
    struct points p = { 0 };
    bool odd = below(10) < k->odd, doubles = below(10) < k->doubles;
    int64_t at = (int64_t)BASE * 1000 + (odd ? below(180) * 10000 : 0);
    int64_t step = odd ? 10000 * (1 + below(3)) : 20000, v = below(1000000);
    struct store_row row = { .base = BASE };
    struct packed_hour *hour;

    memset(w->tsuids[i], (int)(i % 251), sizeof w->tsuids[i]);
    row.tsuid = slice_of(w->tsuids[i], sizeof w->tsuids[i]);
    w->rows[i].base = BASE;
    for (unsigned n = 0; n < POINTS && at < (BASE + HOUR_S) * INT64_C(1000);
         n++, at += step) {
        struct point x = { at, { .i = v += below(3000) }, doubles };

        if (doubles)
            x.v.d = (double)v / 7;
        ck_assert(points_add(&p, x));
        ck_assert(open_row_append(&w->rows[i], x));
    }
    w->copies[i] = (struct open_copy){
        .tsuid = row.tsuid,
        .base = BASE,
        .count = w->rows[i].count,
        .row_count = w->rows[i].count,
        .last.i = (int64_t)w->rows[i].last,
        .spacing = open_row_spacing(&w->rows[i]),
        .bytes = slice_of(w->rows[i].bytes, w->rows[i].size),
    };
    if (below(10) < 7) {
        block_encode(&p, BASE, &w->blocks[i]);
        row.block = buf_slice(&w->blocks[i]);
    } else {
        row.open = &w->copies[i];
        row.open_len = 1;
    }
    ck_assert_int_eq(packed_hour_keep(&row, w->arena, &hour, &e), ST_OK);
    column_add(&w->columns[i], hour);
    points_fini(&p);
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
    for (size_t i = 0; i < SERIES; i++) {
        open_row_fini(&w->rows[i]);
        buf_fini(&w->blocks[i]);
    }
    arena_free(&w->arena);
    free(w);
}

static enum status
run(const struct world *w, const struct kind *k, struct pool *pool,
    struct dps *out, struct error *why)
{
    struct query q = { .start_ms = (int64_t)BASE * 1000,
                       .end_ms = (BASE + HOUR_S) * INT64_C(1000) - 1 };
    struct sub_query sq = {
        .aggregator = aggregator_find(slice_str(k->aggregator)),
        .rate = k->rate,
        .rate_options = { .counter = k->counter, .counter_max = INT64_MAX }
    };
    struct deadline deadline = { 0 };

    ck_assert_ptr_nonnull(sq.aggregator);
    return aggregate_group(&q, &sq, w->columns, SERIES, pool, &deadline,
                           w->arena, out, why);
}

START_TEST(adds_as_one_thread_does)
{
    const struct kind *k = &kinds[_i];
    struct pool *pool = pool_new(3);

    for (unsigned round = 0; round < 4; round++) {
        struct world *w;
        struct dps alone, helped;

        random_state = 100 * round + (unsigned)_i;
        w = make(k);
        ck_assert_int_eq(run(w, k, NULL, &alone, &e), ST_OK);
        ck_assert_int_eq(run(w, k, pool, &helped, &e), ST_OK);
        ck_assert_uint_ge(alone.len, POINTS - 1);
        ck_assert_uint_eq(alone.len, helped.len);
        ck_assert_mem_eq(alone.ts_ms, helped.ts_ms,
                         alone.len * sizeof *alone.ts_ms);
        ck_assert_mem_eq(alone.v, helped.v, alone.len * sizeof *alone.v);
        ck_assert_mem_eq(alone.kind, helped.kind, alone.len);
        end(w);
    }
    pool_free(&pool);
}
END_TEST

/* Blocks whose values are cut off: the first in the order of series is told. */
START_TEST(says_what_is_damaged)
{
    static const struct kind sums[2] = { { "sum", false, false, 0, 0 },
                                         { "sum", false, false, 10, 0 } };
    const struct kind *k = &sums[_i];
    struct pool *pool = pool_new(3);
    struct world *w;
    struct dps out;
    struct error alone, helped;
    unsigned damaged = 0;

    random_state = 1;
    w = make(k);
    for (size_t i = SERIES / 3; i < SERIES; i++) {
        struct slice *block = &w->columns[i].hours->row.block;

        if (block->size == 0)
            continue;
        *(uint8_t *)(uintptr_t)block->data = BLOCK_WITHOUT_CRC;
        block->size -= BLOCK_CRC_SIZE + 1;
        damaged++;
    }
    ck_assert_uint_gt(damaged, 10);
    ck_assert_int_eq(run(w, k, NULL, &out, &alone), ST_CORRUPT);
    ck_assert_int_eq(run(w, k, pool, &out, &helped), ST_CORRUPT);
    ck_assert_str_eq(alone.text, helped.text);
    end(w);
    pool_free(&pool);
}
END_TEST

TEST_MAIN("add_tasks", LOOP(adds_as_one_thread_does, kinds),
          TIMES(says_what_is_damaged, 2))
