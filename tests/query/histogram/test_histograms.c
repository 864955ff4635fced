/* Queries of histograms, end to end without the network: random histograms of
 * random series against sums made one by one. */
#include "query/histogram/histograms.h"

#include <string.h>

#include "query/parse/parse.h"
#include "storage/histogram/histogram.h"
#include "storage/histogram/histogram_table.h"
#include "tests/query/engine/world.h"

#define SERIES     6
#define TIMESTAMPS 40
#define STEP       INT64_C(150000)
#define BOUNDS     4

/* What was stored: counts[series][time][bucket], and whether it was. */
static int64_t counts[SERIES][TIMESTAMPS][BOUNDS];
static bool stored[SERIES][TIMESTAMPS];

static struct world
open_codec(int codec, unsigned buckets)
{
    return open_engine(
        buckets,
        (struct engine_options){ .threads = 1, .histogram_codec = codec + 1 });
}

/* Series i is host=h<i>, dc=d<i mod 2>; the last one has no dc. */
static void
put_one(struct world *w, int i, int64_t ms, const int64_t *n)
{
    struct series_rules rules = { true, true, true, 8, false };
    struct histogram_bucket all[BOUNDS];
    struct histogram h = { all, 0, 1, 2 };
    struct kv_batch *batch = kv_batch_new();
    struct buf bytes = BUF_INIT;
    char host[16], dc[8];
    struct tag tags[2];
    struct tsuid tsuid;
    series_ref ref;

    (void)snprintf(host, sizeof host, "h%d", i);
    (void)snprintf(dc, sizeof dc, "d%d", i % 2);
    tags[0] = (struct tag){ slice_str("host"), slice_str(host) };
    tags[1] = (struct tag){ slice_str("dc"), slice_str(dc) };
    for (int b = 0; b < BOUNDS; b++)
        if (n[b] > 0)
            all[h.len++] =
                (struct histogram_bucket){ (float)(10 * b),
                                           (float)(10 * b + 10), n[b] };
    ck_assert_int_eq(
        series_resolve(w->series, &rules,
                       &(struct series_text){ 0, slice_str("m"), tags,
                                              i == SERIES - 1 ? 1 : 2 },
                       &ref, &tsuid, &e),
        ST_OK);
    buf_put_u8(&bytes, 0);
    histogram_encode(&h, &bytes);
    histogram_put(batch, tsuid_slice(&tsuid), ms, buf_slice(&bytes));
    ck_assert_int_eq(store_write(w->store, batch, NULL, &e), ST_OK);
    kv_batch_free(&batch);
    buf_fini(&bytes);
}

static void
put_all(struct world *w, uint64_t *state)
{
    for (int i = 0; i < SERIES; i++)
        for (int t = 0; t < TIMESTAMPS; t++) {
            stored[i][t] = harness_random(state) % 3 > 0;
            if (!stored[i][t])
                continue;
            for (int b = 0; b < BOUNDS; b++)
                counts[i][t][b] = (int64_t)(harness_random(state) % 4);
            counts[i][t][0]++; /* so that the first bucket is always there */
            put_one(w, i, T0 + t * STEP, counts[i][t]);
        }
}

struct answer {
    struct arena *arena;
    struct query q;
    struct query_result r;
};

static enum status
ask(struct world *w, const char *m, int64_t end_ms, struct answer *out)
{
    struct parse_options po = { .now_ms = T0 + 100 * HOUR_MS };
    struct query_param params[3];
    struct parse_error pe;
    char start[32], end[32];
    enum status st;

    (void)snprintf(start, sizeof start, "%lld", (long long)T0);
    (void)snprintf(end, sizeof end, "%lld", (long long)end_ms);
    params[0] = (struct query_param){ slice_str("start"), slice_str(start) };
    params[1] = (struct query_param){ slice_str("end"), slice_str(end) };
    params[2] = (struct query_param){ slice_str("m"), slice_str(m) };
    out->arena = arena_new(0);
    st = query_parse_uri(params, 3, &po, out->arena, &out->q, &pe);
    ck_assert_msg(st == ST_OK, "%s: %s", m, pe.message.text);
    st = engine_run(w->engine, &out->q, CANCEL_NEVER, NULL, out->arena, &out->r,
                    &pe);
    e = pe.message;
    return st;
}

static void
forget(struct answer *a)
{
    query_fini(&a->q);
    arena_free(&a->arena);
}

enum group_of { ALL, BY_DC, EACH, ONLY_H1 };

static const struct {
    const char *m;
    enum group_of groups;
    int steps; /* of a bucket of time */
} asked[] = {
    { "sum:percentiles[50,99.9]:show-histogram-buckets:m", ALL, 1 },
    { "sum:show-histogram-buckets:percentiles[50,99.9]:m{dc=*}", BY_DC, 1 },
    { "none:percentiles[50,99.9]:show-histogram-buckets:m", EACH, 1 },
    { "none:10m-sum:percentiles[50,99.9]:show-histogram-buckets:m{dc=*}", EACH,
      4 },
    { "sum:10m-sum:percentiles[50,99.9]:show-histogram-buckets:m", ALL, 4 },
    { "sum:rate:10m-sum-zero:show-histogram-buckets:m{dc=wildcard(d*)}", BY_DC,
      4 },
    { "sum:percentiles[50,99.9]:show-histogram-buckets:m{host=h1}", ONLY_H1,
      1 },
    { "sum:percentiles[50,99.9]:show-histogram-buckets:m{}{host=regexp(^h1$)}",
      ONLY_H1, 1 },
};

static const char *
tag_of(const struct result_group *g, const char *key)
{
    static char text[16];

    for (size_t i = 0; i < g->tags_len; i++)
        if (slice_eq_str(g->tag_keys[i], key)) {
            (void)snprintf(text, sizeof text, "%.*s",
                           SLICE_ARG(g->tag_values[i]));
            return text;
        }
    return "";
}

static bool
belongs(enum group_of groups, const struct result_group *g, int series)
{
    char host[16], dc[8];

    (void)snprintf(host, sizeof host, "h%d", series);
    (void)snprintf(dc, sizeof dc, "d%d", series % 2);
    if (groups == BY_DC)
        return series != SERIES - 1 && strcmp(tag_of(g, "dc"), dc) == 0;
    if (groups == EACH)
        return strcmp(tag_of(g, "host"), host) == 0;
    return groups == ALL || series == 1;
}

/* The sums of a group from step 'from' on; false when there are none. */
static bool
expect(enum group_of groups, const struct result_group *g, int from, int steps,
       int64_t sums[BOUNDS + 2])
{
    bool any = false;

    memset(sums, 0, (BOUNDS + 2) * sizeof *sums);
    for (int i = 0; i < SERIES; i++)
        for (int t = from; t < from + steps && t < TIMESTAMPS; t++) {
            if (!stored[i][t] || !belongs(groups, g, i))
                continue;
            any = true;
            for (int b = 0; b < BOUNDS; b++)
                sums[b] += counts[i][t][b];
            sums[BOUNDS] += 1;
            sums[BOUNDS + 1] += 2;
        }
    return any;
}

static double
middle_of(const int64_t *sums, double percent)
{
    int64_t total = 0, so_far = 0;

    for (int b = 0; b < BOUNDS; b++)
        total += sums[b];
    for (int b = 0; b < BOUNDS; b++) {
        so_far += sums[b];
        if ((double)so_far * 100 / (double)total >= percent)
            return 10 * b + 5;
    }
    return 0;
}

static void
check_number(const struct result_group *g, size_t i, const int64_t *sums)
{
    static const char *const views[] = { "m_0.0_10.0",  "m_10.0_20.0",
                                         "m_20.0_30.0", "m_30.0_40.0",
                                         "m_UNDERFLOW", "m_OVERFLOW" };

    if (slice_eq_str(g->metric, "m_pct_50.0") ||
        slice_eq_str(g->metric, "m_pct_99.9")) {
        bool half = g->metric.data[6] == '5';

        ck_assert_int_eq(g->dps.kind[i], DP_DOUBLE);
        ck_assert(g->dps.v[i].d == middle_of(sums, half ? 50 : (double)99.9F));
        return;
    }
    for (int v = 0; v < BOUNDS + 2; v++)
        if (slice_eq_str(g->metric, views[v])) {
            ck_assert_int_eq(g->dps.kind[i], DP_INT);
            ck_assert_int_eq(g->dps.v[i].i, sums[v]);
            return;
        }
    ck_abort_msg("%.*s", SLICE_ARG(g->metric));
}

static void
check_group(const struct result_group *g, enum group_of groups, int steps,
            int last)
{
    size_t at = 0;

    for (int t = 0; t <= last; t += steps) {
        int64_t sums[BOUNDS + 2];

        if (!expect(groups, g, t, steps, sums))
            continue;
        ck_assert_uint_lt(at, g->dps.len);
        ck_assert_int_eq(g->dps.ts_ms[at], T0 + t * STEP);
        check_number(g, at++, sums);
    }
    ck_assert_uint_eq(at, g->dps.len);
}

START_TEST(sums_as_one_by_one)
{
    static const size_t groups[] = {
        [ALL] = 1, [BY_DC] = 2, [EACH] = SERIES, [ONLY_H1] = 1
    };
    uint64_t state = harness_seed(11);

    for (unsigned buckets = 0; buckets < 4; buckets += 3) {
        struct world w = open_codec(0, buckets);

        put_all(&w, &state);
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            int last = 10 + (int)(harness_random(&state) % 25);
            size_t want = groups[asked[i].groups];
            struct answer a;

            ck_assert_int_eq(ask(&w, asked[i].m, T0 + last * STEP, &a), ST_OK);
            if (asked[i].groups == EACH && asked[i].steps == 4)
                want--; /* the one without a dc */
            /* Under, over, at least one bucket, and perhaps percentiles. */
            ck_assert_uint_ge(a.r.groups_len, want * 3);
            ck_assert_uint_le(a.r.groups_len, want * 8);
            for (size_t k = 0; k < a.r.groups_len; k++)
                check_group(&a.r.groups[k], asked[i].groups, asked[i].steps,
                            last);
            forget(&a);
        }
        close_world(&w);
    }
}
END_TEST

START_TEST(one_bucket_for_all_is_empty)
{
    struct world w = open_codec(0, 3);
    const int64_t n[BOUNDS] = { 1, 2 };
    struct answer a;

    put_one(&w, 0, T0 + 1000, n);
    ck_assert_int_eq(
        ask(&w, "sum:0all-sum:percentiles[50]:show-histogram-buckets:m",
            T0 + HOUR_MS, &a),
        ST_OK);
    ck_assert_uint_eq(a.r.groups_len, 5);
    for (size_t i = 0; i < a.r.groups_len; i++)
        ck_assert_uint_eq(a.r.groups[i].dps.len, 0);
    forget(&a);
    close_world(&w);
}
END_TEST

START_TEST(reads_whole_hours)
{
    struct world w = open_codec(0, 3);
    const int64_t early[BOUNDS] = { 1 }, late[BOUNDS] = { 0, 1 };
    struct answer a;

    /* The bucket of what lies outside is the one there is. */
    put_one(&w, 0, T0, late);
    put_one(&w, 0, T0 + 30 * STEP, early);
    ck_assert_int_eq(ask(&w, "sum:show-histogram-buckets:m", T0 + 1, &a),
                     ST_OK);
    ck_assert_uint_eq(a.r.groups_len, 3);
    ck_assert(slice_eq_str(a.r.groups[1].metric, "m_10.0_20.0"));
    ck_assert_uint_eq(a.r.groups[1].dps.len, 1);
    forget(&a);
    close_world(&w);
}
END_TEST

START_TEST(needs_its_codec)
{
    struct world w = open_codec(3, 3);
    const int64_t n[BOUNDS] = { 1 };
    struct answer a;

    put_one(&w, 0, T0, n);
    ck_assert_int_eq(ask(&w, "sum:percentiles[50]:m", T0 + 1000, &a),
                     ST_INVALID);
    ck_assert_str_eq(e.text, "No codec found mapped to ID 0");
    forget(&a);
    ck_assert_int_eq(ask(&w, "sum:m", T0 + 1000, &a), ST_OK);
    ck_assert_uint_eq(a.r.groups_len, 0);
    forget(&a);
    close_world(&w);
}
END_TEST

TEST_MAIN("histograms", TEST(sums_as_one_by_one),
          TEST(one_bucket_for_all_is_empty), TEST(reads_whole_hours),
          TEST(needs_its_codec))
