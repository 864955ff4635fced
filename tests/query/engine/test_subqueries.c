#include "query/engine/subqueries.h"

#include "tests/harness.h"

#define MOST 40
/* What the slots and the answers of all take at most. */
#define ANSWERS_BYTES ((size_t)1 << 20)

/* What each sub-query does, and how often it was run. */
#define HELD_BYTES 1700

struct script {
    enum status fails[MOST];
    uint64_t held[MOST]; /* points */
    atomic_int runs[MOST];
    struct workers *workers;
    struct budget *budget;
    struct arena *arena;
    struct result_group *made[MOST]; /* i + 1 of them, in the arena */
    size_t kept;
    struct error error;
};

static enum status
play(void *ctx, size_t i, struct subquery_run *r)
{
    struct script *s = ctx;
    struct result_group *made;
    size_t held = 0;
    enum status st = ST_OK;

    atomic_fetch_add(&s->runs[i], 1);
    fetch_limits_reset(&r->limits);
    for (uint64_t n = 0; n < s->held[i] && st == ST_OK; n++)
        if (!budget_take(r->limits.budget, HELD_BYTES))
            st = fetch_out_of_memory(&r->limits, &r->error);
        else
            held += HELD_BYTES;
    budget_return(r->limits.budget, held);
    if (st != ST_OK)
        return st;
    made = arena_array(r->arena, i + 1, sizeof *made);
    if (made == NULL) /* another one holds the memory just now */
        return fetch_out_of_memory(&r->limits, &r->error);
    made[i].tags_len = i;
    s->made[i] = made;
    return s->fails[i] == ST_OK ? ST_OK
                                : error_set(&r->error, s->fails[i], "%zu", i);
}

static enum status
run(struct script *s, size_t len, int64_t worth_us, size_t points)
{
    struct subqueries subs = {
        .len = len,
        .run = play,
        .ctx = s,
        .workers = s->workers,
        .worth_us = worth_us,
        .budget = s->budget,
        .deadline = deadline_start(0, CANCEL_NEVER),
    };

    s->budget->max = points * HELD_BYTES + ANSWERS_BYTES;
    return subqueries_run(&subs, s->arena, &s->kept, &s->error);
}

static struct script *
set_up(void)
{
    struct script *s = calloc(1, sizeof *s);

    s->workers = workers_new(3);
    s->budget = budget_new(0, NULL);
    s->arena = arena_new(1 << 20);
    return s;
}

static void
tear_down(struct script *s)
{
    arena_free(&s->arena);
    ck_assert_uint_eq(atomic_load(&s->budget->used), 0);
    budget_unref(&s->budget);
    workers_free(&s->workers);
    free(s);
}

START_TEST(keeps_the_order)
{
    for (size_t len = 0; len <= MOST; len += 5) {
        struct script *s = set_up();

        ck_assert_int_eq(run(s, len, _i == 0 ? 0 : INT64_MAX, 100), ST_OK);
        ck_assert_uint_eq(s->kept, len);
        for (size_t i = 0; i < len; i++) {
            ck_assert_uint_eq(s->made[i][i].tags_len, i);
            ck_assert_int_eq(s->runs[i], 1);
        }
        tear_down(s);
    }
}
END_TEST

START_TEST(tells_the_first_failure)
{
    static const size_t fails[][2] = { { 0, 1 },   { 1, 0 },   { 3, 9 },
                                       { 9, 3 },   { 20, 39 }, { 39, 20 },
                                       { 39, 39 }, { 1, 39 } };

    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof fails / sizeof fails[0]; i++) {
            size_t a = fails[i][0], b = fails[i][1], first = a < b ? a : b;
            struct script *s = set_up();
            char want[24];

            s->fails[a] = ST_IO;
            s->fails[b] = ST_INVALID;
            ck_assert_int_eq(run(s, MOST, 0, 100), a < b ? ST_IO : ST_INVALID);
            (void)snprintf(want, sizeof want, "%zu", first);
            ck_assert_str_eq(s->error.text, want);
            ck_assert_uint_eq(s->kept, first + 1);
            for (size_t k = 0; k < s->kept; k++)
                ck_assert_uint_eq(s->made[k][k].tags_len, k);
            tear_down(s);
        }
}
END_TEST

/* Each has memory enough, alone; together they have not. */
START_TEST(shares_the_memory)
{
    for (int round = 0; round < 20; round++) {
        struct script *s = set_up();

        for (size_t i = 0; i < MOST; i++)
            s->held[i] = 2000 - i * 10;
        ck_assert_int_eq(run(s, MOST, 0, 2000), ST_OK);
        for (size_t i = 0; i < MOST; i++) {
            ck_assert_uint_eq(s->made[i][i].tags_len, i);
            ck_assert_int_le(s->runs[i], 2);
        }
        tear_down(s);
    }
}
END_TEST

START_TEST(fails_without_memory)
{
    struct script *s = set_up();

    s->held[7] = 3000;
    s->fails[8] = ST_IO;
    ck_assert_int_eq(run(s, MOST, 0, 2000), ST_LIMIT);
    ck_assert_int_eq(s->runs[7], 2);
    tear_down(s);
}
END_TEST

START_TEST(keeps_the_cap_of_the_arena)
{
    struct script *s = set_up();

    arena_free(&s->arena);
    s->arena = arena_new(20 * sizeof(struct result_group) * MOST / 4);
    ck_assert_int_eq(run(s, MOST, 0, 2000), ST_LIMIT);
    tear_down(s);
}
END_TEST

TEST_MAIN("subs", TIMES(keeps_the_order, 2), TEST(tells_the_first_failure),
          TEST(shares_the_memory), TEST(fails_without_memory),
          TEST(keeps_the_cap_of_the_arena))
