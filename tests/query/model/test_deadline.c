#include "query/model/deadline.h"

#include "base/process/clock.h"
#include "query/exp/exp.h"
#include "query/exp/gexp_priv.h"
#include "tests/harness.h"

static struct error e;

/* A client that leaves at the n-th check. */
struct leaver {
    int asked, goes;
};

static bool
is_cancelled(void *ctx)
{
    struct leaver *l = ctx;

    return ++l->asked >= l->goes;
}

START_TEST(lasts_until_the_deadline)
{
    struct deadline p = deadline_start(0, CANCEL_NEVER);

    ck_assert_int_eq(deadline_check(&p, &e), ST_OK);
    p = deadline_start(100000, CANCEL_NEVER);
    ck_assert_int_eq(p.end_us - p.started_us, 100000000);
    ck_assert_int_eq(deadline_check(&p, &e), ST_OK);
    p.end_us = p.started_us - 1;
    ck_assert_int_eq(deadline_check(&p, &e), ST_LIMIT);
    ck_assert_ptr_nonnull(
        strstr(e.text, "Sorry, your query timed out. Time limit: 100000 ms"));
}
END_TEST

START_TEST(looks_now_and_then)
{
    struct leaver l = { 0, 3 };
    struct deadline p = deadline_start(0, (struct cancel){ is_cancelled, &l });
    size_t steps = 0;

    while (deadline_tick(&p, 10, &e) == ST_OK && steps < 10000000)
        steps += 10;
    ck_assert_int_eq(e.status, ST_BUSY);
    ck_assert_str_eq(e.text, "the client hung up");
    ck_assert_int_eq(l.asked, 3);
    ck_assert_uint_gt(steps, 50000);
    ck_assert_uint_lt(steps, 1000000);
    l = (struct leaver){ 0, 1 };
    ck_assert_int_eq(deadline_tick(&p, SIZE_MAX, &e), ST_BUSY);
}
END_TEST

#define POINTS 1000
#define SERIES 40

static struct result_group *
make_groups(const struct sub_query *sub, size_t len, struct arena *a)
{
    struct result_group *g = arena_array(a, len, sizeof *g);

    for (size_t i = 0; i < len; i++) {
        struct dps *d = &g[i].dps;

        g[i].sub = sub;
        ck_assert(dps_alloc(a, POINTS, d));
        for (size_t k = 0; k < POINTS; k++)
            gexp_put_double(d, k, (int64_t)(k * SERIES + i) * 1000, (double)k);
    }
    return g;
}

static const struct {
    const char *text; /* of one or two metrics, each with all the series */
    int looks;        /* at least */
} functions[] = {
    { "movingAverage(sum:a,500)", 100 },
    { "highestMax(sum:a,3)", 100 },
    { "highestCurrent(sum:a,3)", 100 },
    { "sum(scale(sum:a,2),sum:b)", 1 },
    { "scale(absolute(scale(absolute(sum:a),2)),3)", 2 },
};

START_TEST(functions_take_no_longer)
{
    struct leaver l = { 0, INT32_MAX };
    struct arena *a = arena_new(0);
    struct sub_query subs[2] = { { .index = 0 }, { .index = 1 } };
    struct query q = { .end_ms = INT64_C(9999999999999),
                       .subs = subs,
                       .subs_len = 1 };
    struct query_result result = { .groups_len = SERIES }, out;
    struct gexp g = { 0 };
    int looks;

    ck_assert_int_eq(gexp_parse(slice_str(functions[_i].text), a, &g, &e),
                     ST_OK);
    /* No names: all series of a metric are one to a sum. */
    result.groups = make_groups(subs, SERIES, a);
    if (g.metrics_len == 2) {
        struct result_group *both = arena_array(a, 2 * SERIES, sizeof *both);

        memcpy(both, result.groups, SERIES * sizeof *both);
        memcpy(both + SERIES, make_groups(subs + 1, SERIES, a),
               SERIES * sizeof *both);
        result.groups = both;
        result.groups_len = 2 * SERIES;
        q.subs_len = 2;
    }
    result.deadline = deadline_start(0, (struct cancel){ is_cancelled, &l });
    out = result;
    ck_assert_msg(gexp_run(&g, &q, &out, NULL, a, &e) == ST_OK, "%s", e.text);
    looks = l.asked;
    ck_assert_int_ge(looks, functions[_i].looks);
    /* Whenever it is that he goes. */
    for (int goes = 1; goes <= looks; goes += 1 + looks / 4) {
        l = (struct leaver){ 0, goes };
        out = result;
        ck_assert_int_eq(gexp_run(&g, &q, &out, NULL, a, &e), ST_BUSY);
    }
    result.deadline = deadline_start(1, CANCEL_NEVER);
    result.deadline.end_us = result.deadline.started_us - 1;
    ck_assert_int_eq(gexp_run(&g, &q, &result, NULL, a, &e), ST_LIMIT);
    arena_free(&a);
}
END_TEST

static const char *const requests[] = {
    "\"expressions\":[{\"id\":\"x\",\"expr\":\"m1+m2\"}]",
    ("\"expressions\":[{\"id\":\"x\",\"expr\":\"m1*2\"},"
     "{\"id\":\"y\",\"expr\":\"x-1\"}],\"outputs\":[{\"id\":\"y\"}]"),
    "\"outputs\":[{\"id\":\"m1\"}]",
};

static enum status
run_exp(const struct exp_query *q, const struct query_result *result,
        struct arena *a)
{
    struct exp_plan *p;
    struct exp_table t;
    bool found;
    struct slice id =
        q->outputs_len > 0 ? q->outputs[0].id : q->expressions[0].id;
    enum status st = exp_join(q, result, NULL, a, &p, &e);

    return st == ST_OK ? exp_run(p, id, &found, &t, &e) : st;
}

START_TEST(expressions_take_no_longer)
{
    struct leaver l = { 0, INT32_MAX };
    struct arena *a = arena_new(0);
    struct parse_options o = { .now_ms = INT64_C(1700000000000) };
    struct parse_error pe;
    struct exp_query q;
    struct query_result result = { 0 };
    struct buf body = BUF_INIT;
    struct result_group *groups = arena_array(a, 2 * SERIES, sizeof *groups);
    int looks;

    buf_printf(&body,
               "{\"time\":{\"start\":\"1h-ago\",\"aggregator\":\"sum\"},"
               "\"metrics\":[{\"id\":\"m1\",\"metric\":\"a\"},"
               "{\"id\":\"m2\",\"metric\":\"b\"}],%s}",
               requests[_i]);
    ck_assert_msg(exp_parse(buf_slice(&body), &o, a, &q, &pe) == ST_OK, "%s",
                  pe.message.text);
    for (size_t i = 0; i < 2; i++)
        memcpy(groups + i * SERIES, make_groups(&q.q.subs[i], SERIES, a),
               SERIES * sizeof *groups);
    result.groups = groups;
    result.groups_len = 2 * SERIES;
    result.deadline = deadline_start(0, (struct cancel){ is_cancelled, &l });
    ck_assert_msg(run_exp(&q, &result, a) == ST_OK, "%s", e.text);
    looks = l.asked;
    ck_assert_int_ge(looks, 20);
    for (int goes = 1; goes <= looks; goes += 1 + looks / 4) {
        l = (struct leaver){ 0, goes };
        ck_assert_int_eq(run_exp(&q, &result, a), ST_BUSY);
    }
    result.deadline = deadline_start(1, CANCEL_NEVER);
    result.deadline.end_us = result.deadline.started_us - 1;
    ck_assert_int_eq(run_exp(&q, &result, a), ST_LIMIT);
    query_fini(&q.q);
    buf_fini(&body);
    arena_free(&a);
}
END_TEST

TEST_MAIN("deadline", TEST(lasts_until_the_deadline), TEST(looks_now_and_then),
          LOOP(functions_take_no_longer, functions),
          LOOP(expressions_take_no_longer, requests))
