/* Sub-queries that read the same share a scan: what each answers is what it
 * answers alone. */
#include "query/engine/sharing.h"

#include "query/parse/parse.h"
#include "tests/query/engine/world.h"

#define HOSTS 12
#define MOST  10

static void
put_points(struct world *w, uint64_t *random)
{
    struct series_rules rules = { true, true, true, 8, false };

    for (int host = 0; host < HOSTS; host++) {
        char name[16], dc[16];
        struct tag tags[] = { { slice_str("dc"), slice_str("") },
                              { slice_str("host"), slice_str("") } };
        struct series_point p[120];
        struct tsuid tsuid;
        series_ref ref;
        uint64_t lsn;

        (void)snprintf(dc, sizeof dc, "d%d", host % 3);
        (void)snprintf(name, sizeof name, "h%d", host);
        tags[0].value = slice_str(dc);
        tags[1].value = slice_str(name);
        ck_assert_msg(
            series_resolve(w->series, &rules,
                           &(struct series_text){ 0, slice_str("m"), tags, 2 },
                           &ref, &tsuid, &e) == ST_OK,
            "%s", e.text);
        for (int i = 0; i < 120; i++)
            p[i] = (struct series_point){
                ref,
                { T0 + i * 60000 + (int64_t)(harness_random(random) % 2) * 7000,
                  { .i = (int64_t)(harness_random(random) % 1000) },
                  false },
                ST_OK
            };
        for (int i = 0; i < 120 && host % 2 == 0; i++) {
            p[i].point.v.d = (double)p[i].point.v.i / 8;
            p[i].point.is_float = true;
        }
        ck_assert_int_eq(store_put(w->store, p, 120, &lsn, &e), ST_OK);
    }
}

/* A query of these sub-queries, run. */
struct run {
    struct arena *arena;
    struct query q;
    struct query_result r;
};

static struct run
run(struct world *w, const char *const *subs, size_t len)
{
    struct run x = { .arena = arena_new(0) };
    struct query_param params[MOST + 2] = { { .name = slice_str("start") },
                                            { .name = slice_str("end") } };
    struct parse_options po = { .now_ms = T0 + 100 * HOUR_MS };
    struct parse_error pe;
    enum status status;

    params[0].value = slice_str("1357000200"); /* half an hour on */
    params[1].value = slice_str("1357004700");
    for (size_t i = 0; i < len; i++)
        params[2 + i] =
            (struct query_param){ slice_str("m"), slice_str(subs[i]) };
    ck_assert_msg(query_parse_uri(params, len + 2, &po, x.arena, &x.q, &pe) ==
                      ST_OK,
                  "%s", pe.message.text);
    status =
        engine_run(w->engine, &x.q, CANCEL_NEVER, NULL, x.arena, &x.r, &pe);
    ck_assert_msg(status == ST_OK, "%s", pe.message.text);
    return x;
}

static void
run_free(struct run *x)
{
    query_fini(&x->q);
    arena_free(&x->arena);
}

static void
check_group(const struct result_group *a, const struct result_group *b,
            const char *text)
{
    ck_assert_uint_eq(a->tags_len, b->tags_len);
    for (size_t i = 0; i < a->tags_len; i++)
        ck_assert(slice_eq(a->tag_values[i], b->tag_values[i]));
    ck_assert_uint_eq(a->tsuids_len, b->tsuids_len);
    ck_assert_msg(a->dps.len == b->dps.len, "%s: %zu of %zu", text, a->dps.len,
                  b->dps.len);
    ck_assert_mem_eq(a->dps.ts_ms, b->dps.ts_ms, a->dps.len * sizeof(int64_t));
    for (size_t i = 0; i < a->dps.len; i++)
        ck_assert_msg(a->dps.v[i].i == b->dps.v[i].i, "%s: point %zu", text, i);
}

/* Together as each alone; returns how many scans there were. */
static size_t
check(struct world *w, const char *const *subs, size_t len)
{
    struct run all = run(w, subs, len);
    size_t at = 0, scans = 0;

    for (size_t i = 0; i < all.q.subs_len; i++) {
        struct run one = run(w, &subs[i], 1);

        ck_assert_uint_gt(one.r.groups_len, 0);
        for (size_t k = 0; k < one.r.groups_len; k++, at++) {
            ck_assert_uint_lt(at, all.r.groups_len);
            ck_assert_uint_eq(all.r.groups[at].sub->index, i);
            check_group(&all.r.groups[at], &one.r.groups[k], subs[i]);
        }
        ck_assert_uint_eq(all.r.stats[i].points_out, one.r.stats[0].points_out);
        scans += all.r.stats[i].scan.rows + all.r.stats[i].scan.head_rows > 0;
        run_free(&one);
    }
    ck_assert_uint_eq(at, all.r.groups_len);
    run_free(&all);
    return scans;
}

static const struct {
    const char *subs[MOST];
    size_t scans;
} sets[] = {
    { { "sum:m", "avg:m", "max:m", "min:m", "dev:m", "p99:m", "count:m",
        "median:m", "mimmax:m", "zimsum:m" },
      1 },
    { { "sum:1m-avg:m{host=*}", "max:1m-avg:m{host=*}",
        "sum:1m-avg-zero:m{host=*}", "sum:rate:1m-avg:m{host=*}" },
      1 },
    { { "sum:m", "sum:rate:m", "max:rate:m", "max:m" }, 2 },
    { { "sum:1m-avg:m", "sum:1m-max:m", "sum:2m-avg:m", "max:2m-avg:m" }, 2 },
    { { "sum:1h-avg:m", "sum:1h-sum:m", "avg:1h-min:m", "max:1h-max:m",
        "sum:1h-count:m", "sum:1h-first:m", "sum:1h-last:m", "max:1h-avg:m" },
      1 },
    { { "sum:1m-p99:m", "sum:1m-dev:m", "sum:1m-avg:m" }, 2 },
    { { "sum:m{dc=d0}", "sum:m{dc=d1}", "sum:m{dc=*}", "max:m{dc=d0}" }, 3 },
    { { "sum:m{dc=*}", "max:m{}{dc=*}", "none:m{dc=*}", "avg:m{}{dc=*}" }, 2 },
    { { "sum:explicit_tags:m{dc=*,host=*}", "sum:m{dc=*,host=*}" }, 2 },
    { { "sum:10m-minmax:m", "sum:m" }, 2 },
};

START_TEST(each_answers_as_alone)
{
    uint64_t random = harness_seed(7) + (unsigned)_i;
    struct world w = open_world(8, 0);
    size_t len = 0;

    put_points(&w, &random);
    while (len < MOST && sets[_i].subs[len] != NULL)
        len++;
    ck_assert_uint_eq(check(&w, sets[_i].subs, len), sets[_i].scans);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    ck_assert_uint_eq(check(&w, sets[_i].subs, len), sets[_i].scans);
    close_world(&w);
}
END_TEST

START_TEST(random_sets_answer_as_alone)
{
    static const char *const aggregators[] = { "sum",  "avg",    "max",  "p95",
                                               "none", "mimmin", "count" };
    static const char *const steps[] = {
        "",        "1m-avg:",      "1m-sum:",   "1m-p90:",
        "1h-avg:", "5m-avg-zero:", "0all-max:", "7m-last:",
        "1m-max:", "1h-max:",      "1h-sum:",   "7m-avg:"
    };
    static const char *const series[] = { "m", "m{host=*}", "m{dc=d1}",
                                          "m{dc=d1|d2}", "m{}{dc=d0}" };
    uint64_t random = harness_seed(20261126) + (unsigned)_i;
    struct world w = open_world(8, 0);

    put_points(&w, &random);
    for (int round = 0; round < 60; round++) {
        char texts[MOST][96];
        const char *subs[MOST];
        size_t len = 2 + harness_random(&random) % (MOST - 1);
        const char *of = series[harness_random(&random) % 5];

        for (size_t i = 0; i < len; i++) {
            bool unique = false;

            while (!unique) { /* equals are asked for once */
                (void)snprintf(texts[i], sizeof texts[i], "%s:%s%s%s",
                               aggregators[harness_random(&random) % 7],
                               steps[harness_random(&random) % 12],
                               harness_random(&random) % 4 == 0 ? "rate:" : "",
                               harness_random(&random) % 5 == 0
                                   ? series[harness_random(&random) % 5]
                                   : of);
                unique = true;
                for (size_t k = 0; k < i; k++)
                    unique &= strcmp(texts[k], texts[i]) != 0;
            }
            subs[i] = texts[i];
        }
        (void)check(&w, subs, len);
    }
    close_world(&w);
}
END_TEST

TEST_MAIN("sharing", LOOP(each_answers_as_alone, sets),
          TIMES(random_sets_answer_as_alone, 3))
