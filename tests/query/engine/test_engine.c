/* The engine against a brute-force matcher: random series of several tag
 * tag-key sets, random filters, each way of scanning, head and engine, several
 * salts. The matcher asks every series by its names, and knows nothing of ids
 * or keys. */
#include "query/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#include "query/plan/plan.h"
#include "tests/query/engine/world.h"

#define TEXT(...) (&(struct series_text){ __VA_ARGS__ })
static const struct series_rules rules = { true, true, true, 8, false };
static struct tsuid tsuid; /* of the last series */

#define SERIES 400
#define HOURS  3
#define NOW_MS (T0 + 100 * HOUR_MS)

/* Of the case that runs: its last query, and what came of it. */
static struct world w;
static struct arena *a;
static struct query q;
static struct query_result r;
static struct parse_error pe;

static void
setup(void)
{
    a = arena_new(0);
}

static void
teardown(void)
{
    query_fini(&q);
    arena_free(&a);
    close_world(&w);
}

static void
parse(int64_t start_ms, int64_t end_ms, const char *m)
{
    static char start[24], end[24];
    const struct parse_options po = { .now_ms = NOW_MS };
    struct query_param params[] = { { slice_str("start"), { 0 } },
                                    { slice_str("end"), { 0 } },
                                    { slice_str("m"), slice_str(m) } };

    query_fini(&q);
    arena_reset(a);
    (void)snprintf(start, sizeof start, "%lld", (long long)start_ms);
    (void)snprintf(end, sizeof end, "%lld", (long long)end_ms);
    params[0].value = slice_str(start);
    params[1].value = slice_str(end);
    ck_assert_msg(query_parse_uri(params, 3, &po, a, &q, &pe) == ST_OK,
                  "%s: %s", m, pe.message.text);
}

static enum status
run(void)
{
    return engine_run(w.engine, &q, CANCEL_NEVER, NULL, a, &r, &pe);
}

/* A series as its names. */
struct named {
    int values[3]; /* of tagks a, b, c; -1: has no such tag */
};

static struct named all[SERIES];
static size_t all_len;

static const char keys[] = "abc";

static void
put_all(int hour)
{
    for (size_t i = 0; i < all_len; i++) {
        char text[3][16];
        struct tag tags[3];
        size_t len = 0;
        struct series_point p = {
            .point = { T0 + hour * HOUR_MS + 1000, { .i = (int64_t)i }, false }
        };

        for (int k = 0; k < 3; k++)
            if (all[i].values[k] >= 0) {
                (void)snprintf(text[k], sizeof text[k], "v%d",
                               all[i].values[k]);
                tags[len++] =
                    (struct tag){ slice_of(&keys[k], 1), slice_str(text[k]) };
            }
        ck_assert_msg(series_resolve(w.series, &rules,
                                     TEXT(0, slice_str("m"), tags, len),
                                     &p.series, &tsuid, &e) == ST_OK,
                      "%s", e.text);
        ck_assert_int_eq(store_put(w.store, &p, 1, NULL, &e), ST_OK);
    }
}

static void
make_series(uint64_t *state)
{
    all_len = 0;
    while (all_len < SERIES) {
        struct named n = { { -1, -1, -1 } };
        bool known = false;

        n.values[0] = (int)(harness_random(state) % 30);
        if (harness_random(state) % 3 > 0)
            n.values[1] = (int)(harness_random(state) % 7);
        if (harness_random(state) % 3 == 0)
            n.values[2] = (int)(harness_random(state) % 4);
        for (size_t i = 0; i < all_len; i++)
            known = known || memcmp(&all[i], &n, sizeof n) == 0;
        if (known && harness_random(state) % 50 != 0)
            continue;
        if (!known)
            all[all_len++] = n;
        else
            break;
    }
}

/* A filter of m=, and what it means. */
struct wanted {
    int key;
    char text[64];
    unsigned kind;
    int x, y;
    bool group_by;
};

#define NOT_KEY 6

static struct wanted
random_filter(uint64_t *state)
{
    struct wanted f = { .key = (int)(harness_random(state) % 3),
                        .kind = (unsigned)(harness_random(state) % 9),
                        .x = (int)(harness_random(state) % 4),
                        .y = (int)(harness_random(state) % 4),
                        .group_by = harness_random(state) % 2 == 0 };
    static const char *const forms[] = {
        "%c=v%d",
        "%c=literal_or(v%d|v%d)",
        "%c=*",
        "%c=wildcard(v%d*)",
        "%c=not_literal_or(v%d|v%d)",
        "%c=regexp(^v[%d%d]$)",
        "%c=not_key()",
        "%c=V%d*",
        "%c=wildcard(V%d*)",
    };
    char form[64];

    (void)snprintf(form, sizeof form, "%s", forms[f.kind]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(f.text, sizeof f.text, form, keys[f.key], f.x, f.y);
#pragma GCC diagnostic pop
    return f;
}

static bool
takes(const struct wanted *f, const struct named *n)
{
    int v = n->values[f->key];
    char text[16], start[16];

    if (v < 0 || f->kind == NOT_KEY)
        return (v < 0) == (f->kind == NOT_KEY);
    (void)snprintf(text, sizeof text, "v%d", v);
    (void)snprintf(start, sizeof start, "v%d", f->x);
    switch (f->kind) {
    case 0:
        return v == f->x;
    case 1:
    case 5:
        return v == f->x || v == f->y;
    case 2:
        return true;
    case 3:
    case 7: /* the old form ignores case */
        return strncmp(text, start, strlen(start)) == 0;
    case 8:
        return false;
    default:
        return v != f->x && v != f->y;
    }
}

/* The dry run says the same as the run did, or more: it is an upper bound. */
static void
check_explained(const char *text)
{
    const struct result_stats *ran = &r.stats[0];
    struct explained *x;

    ck_assert_int_eq(engine_explain(w.engine, &q, CANCEL_NEVER, a, &x, &e),
                     ST_OK);
    ck_assert_str_eq(x->plan.text, ran->plan);
    ck_assert_str_eq(x->plan.table, "raw");
    ck_assert_int_eq(x->plan.reads, PLAN_READS_POINTS);
    ck_assert_msg(x->plan.series >= ran->series, "%s", text);
    ck_assert_msg(x->plan.rows >= ran->scan.rows, "%s: %d rows", text,
                  (int)x->plan.rows);
    if (strncmp(ran->plan, "range", 5) != 0)
        ck_assert_msg(x->plan.series == ran->series, "%s", text);
    if (strncmp(ran->plan, "seeks", 5) == 0) /* some are made twice */
        ck_assert_msg(2 * x->plan.seeks >= ran->scan.seeks, "%s", text);
}

/* Runs 'none' over the query text; counts the points that came for each series
 * by their value, which is the series' number. */
static void
check_query(const struct wanted *filters, size_t len, bool explicit_tags)
{
    static int seen[SERIES];
    char text[512];
    int at;

    at = snprintf(text, sizeof text, "none:%sm{",
                  explicit_tags ? "explicit_tags:" : "");
    for (int pass = 0; pass < 2; pass++) {
        bool first = true;

        for (size_t i = 0; i < len; i++) {
            if (filters[i].group_by != (pass == 0))
                continue;
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s",
                           first ? "" : ",", filters[i].text);
            first = false;
        }
        at += snprintf(text + at, sizeof text - (size_t)at,
                       pass == 0 ? "}{" : "}");
    }
    parse(T0, T0 + HOURS * HOUR_MS - 1, text);
    ck_assert_msg(run() == ST_OK, "%s: %s", text, pe.message.text);
    check_explained(text);
    memset(seen, 0, sizeof seen);
    for (size_t g = 0; g < r.groups_len; g++)
        for (size_t k = 0; k < r.groups[g].dps.len; k++)
            seen[r.groups[g].dps.v[k].i]++;
    for (size_t i = 0; i < all_len; i++) {
        bool wanted = true;
        int required = 0, has = 0;

        for (size_t k = 0; k < len; k++)
            wanted = wanted && takes(&filters[k], &all[i]);
        for (int k = 0; k < 3; k++) {
            bool named = false;

            for (size_t n = 0; n < len; n++)
                named = named ||
                        (filters[n].key == k && filters[n].kind != NOT_KEY);
            required += named;
            has += all[i].values[k] >= 0;
        }
        if (explicit_tags && len > 0 && has != required)
            wanted = false;
        ck_assert_msg(seen[i] == (wanted ? HOURS : 0),
                      "%s: series %zu came %d times, by %s", text, i, seen[i],
                      r.stats[0].plan);
    }
}

static const struct setup {
    unsigned buckets;
    int way; /* enum access_path + 1; 0: chosen */
} setups[] = {
    { 0, 0 },
    { 16, 0 },
    { 16, SCAN_HINTS + 1 },
    { 16, SCAN_RANGE + 1 },
    { 16, SCAN_SEEKS + 1 },
    { 3, SCAN_HINTS + 1 },
};

START_TEST(agrees_with_brute_force)
{
    uint64_t state = harness_seed(7 + (unsigned long)_i);

    w = open_world(setups[_i].buckets, setups[_i].way);
    make_series(&state);
    put_all(0);
    put_all(1);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    put_all(1);
    put_all(2);
    for (int n = 0; n < 150; n++) {
        struct wanted filters[3];
        size_t len = harness_random(&state) % 4;

        for (size_t i = 0; i < len; i++)
            filters[i] = random_filter(&state);
        check_query(filters, len, harness_random(&state) % 4 == 0);
    }
}
END_TEST

/* The number of the tag's value in a group; -1 when it has none. */
static int
value_in(const struct result_group *g, int key)
{
    for (size_t i = 0; i < g->tags_len; i++)
        if (slice_eq(g->tag_keys[i], slice_of(&keys[key], 1)))
            return atoi((const char *)g->tag_values[i].data + 1);
    return -1;
}

/* Of all series with the group's values of the tags that are grouped by. */
static int64_t
sum_of(const struct result_group *g, const char *by)
{
    int64_t sum = 0;

    for (size_t i = 0; i < all_len; i++) {
        bool in = true;

        for (const char *k = by; *k != '\0'; k++)
            in = in && all[i].values[*k - 'a'] >= 0 &&
                 all[i].values[*k - 'a'] == value_in(g, *k - 'a');
        sum += in ? (int64_t)i : 0;
    }
    return sum;
}

static void
check_groups(const char *by, const char *m)
{
    parse(T0, T0 + HOUR_MS - 1, m);
    ck_assert_msg(run() == ST_OK, "%s: %s", m, pe.message.text);
    ck_assert_uint_gt(r.groups_len, 1);
    for (size_t g = 0; g < r.groups_len; g++) {
        ck_assert_uint_eq(r.groups[g].dps.len, 1);
        ck_assert_int_eq(r.groups[g].dps.v[0].i, sum_of(&r.groups[g], by));
        if (g > 0)
            ck_assert(slice_cmp(r.groups[g - 1].key, r.groups[g].key) < 0);
    }
}

/* Many series, and keys that are shorter and longer than 8 bytes. */
START_TEST(groups_ascend_and_have_all_their_series)
{
    uint64_t state = harness_seed(17);

    w = open_world(16, 0);
    make_series(&state);
    put_all(0);
    check_groups("a", "sum:m{a=*}");
    check_groups("b", "sum:m{b=*}");
    check_groups("ab", "sum:m{a=*,b=*}");
    check_groups("abc", "sum:m{a=*,b=*,c=*}");
}
END_TEST

/* Its texts last until the next query. */
static struct result_stats
count_between(int64_t start_ms, int64_t end_ms, const char *m)
{
    parse(start_ms, end_ms, m);
    ck_assert_msg(run() == ST_OK, "%s", pe.message.text);
    return r.stats[0];
}

static struct result_stats
count_query(const char *m)
{
    return count_between(T0, T0 + HOURS * HOUR_MS - 1000, m);
}

/* The mask is the way, not a decoration: rows that it excludes are not read. */
START_TEST(masked_queries_read_no_excluded_rows)
{
    struct result_stats s;

    w = open_world(16, SCAN_HINTS + 1);
    all_len = 0;
    for (int i = 0; i < SERIES; i++)
        all[all_len++] = (struct named){ { i % 5, i / 5, -1 } };
    for (int h = 0; h < HOURS; h++)
        put_all(h);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);

    s = count_query("sum:m");
    ck_assert_uint_eq(s.scan.rows, SERIES); /* hours are one block */
    ck_assert_uint_eq(s.points, SERIES * HOURS);

    /* The last tag: hints jump from value to value of the tag before it, so one
     * of 80 values costs at most two keys for each of those 5. */
    s = count_query("sum:m{b=v3}");
    ck_assert_uint_eq(s.series, 5);
    ck_assert_uint_eq(s.scan.rows, 5);
    ck_assert_uint_le(s.scan.keys, (2 * 5 + 1) * 16 * HOURS);
    ck_assert_uint_lt(s.scan.keys, SERIES * HOURS / 2);

    /* The first tag: its rows lie together; one key more in each bucket. */
    s = count_query("sum:m{a=v3}");
    ck_assert_uint_eq(s.scan.rows, 80);
    ck_assert_uint_le(s.scan.keys, 80 * HOURS + 2 * 16 * HOURS);

    /* Both: one series. */
    s = count_query("sum:m{a=v3,b=v4}");
    ck_assert_uint_eq(s.scan.rows, 1);
    ck_assert_uint_le(s.scan.keys, 3 * HOURS + 1);
    ck_assert_uint_le(s.scan.seeks, 2 * HOURS + 1);
}
END_TEST

START_TEST(the_planner_takes_the_cheapest)
{
    struct result_stats s;

    w = open_world(1, 0);
    all_len = 0;
    for (int i = 0; i < SERIES; i++)
        all[all_len++] = (struct named){ { i % 20, i / 20, -1 } };
    put_all(0);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    s = count_query("sum:m");
    ck_assert_msg(strncmp(s.plan, "range", 5) == 0, "%s", s.plan);
    s = count_query("sum:m{a=v3,b=v4}");
    ck_assert_msg(strncmp(s.plan, "seeks", 5) == 0, "%s", s.plan);
    s = count_query("sum:m{a=v3}");
    ck_assert_msg(strncmp(s.plan, "hints", 5) == 0, "%s", s.plan);
    s = count_query("sum:m{b=literal_or(v1|v2|v3|v4|v5|v6|v7)}");
    ck_assert_msg(strncmp(s.plan, "range", 5) == 0, "%s", s.plan);
}
END_TEST

/* A few series of other tag-key sets beside all those with a and b: the rows of
 * {c} lie before or behind these, those of {a} and {a,c} among them. */
static const struct rare_case {
    const char *m;
    size_t series;
} rare_cases[] = {
    { "sum:m{c=v1}", 2 },
    { "sum:m{c=*}", 6 },
    { "sum:m{c=regexp(v[12])}", 4 },
    { "sum:m{a=*,c=*}", 3 },
    { "sum:m{}{b=not_key()}", 8 },
    { "sum:explicit_tags:m{a=*}", 2 },
    { "sum:explicit_tags:m{c=*}", 3 },
};

START_TEST(rows_of_other_tag_key_sets_are_not_walked)
{
    size_t others = SERIES - 8;

    w = open_world(4, 0);
    all_len = 0;
    for (int i = 0; i < 3; i++) {
        all[all_len++] = (struct named){ { -1, -1, i } };
        all[all_len++] = (struct named){ { i * 7, -1, i } };
    }
    all[all_len++] = (struct named){ { 3, -1, -1 } };
    all[all_len++] = (struct named){ { 11, -1, -1 } };
    while (all_len < SERIES) {
        int i = (int)all_len;

        all[all_len++] = (struct named){ { i % 20, i / 20, -1 } };
    }
    for (int h = 0; h < HOURS; h++)
        put_all(h);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    for (size_t i = 0; i < sizeof rare_cases / sizeof *rare_cases; i++) {
        const struct rare_case *c = &rare_cases[i];
        struct result_stats s = count_query(c->m);

        ck_assert_msg(s.series == c->series, "%s: %d series", c->m,
                      (int)s.series);
        ck_assert_msg(s.scan.keys <= 3 * c->series + 2 * 4,
                      "%s: %d keys of %zu other rows, by %s", c->m,
                      (int)s.scan.keys, others, s.plan);
    }
}
END_TEST

static bool
is_cancelled(void *ctx)
{
    (void)ctx;
    return true;
}

/* Planning checks the deadline, also where no series matches. */
static const char *const ms[] = { "sum:m", "sum:m{a=regexp(zzz)}" };

START_TEST(stops_when_told)
{
    w = open_world(16, 0);
    for (all_len = 0; all_len < SERIES; all_len++)
        all[all_len] = (struct named){ { (int)all_len, 1, 1 } };
    put_all(0);
    parse(T0, NOW_MS, ms[_i]);
    ck_assert_int_eq(engine_run(w.engine, &q,
                                (struct cancel){ is_cancelled, NULL }, NULL, a,
                                &r, &pe),
                     ST_BUSY);
}
END_TEST

static void
five_points(void *ctx, const struct query *query, const struct sub_query *sq,
            struct engine_limits *out)
{
    (void)ctx;
    (void)query;
    (void)sq;
    out->points = 5;
}

START_TEST(keeps_to_its_limits)
{
    w = open_engine(16, (struct engine_options){ .limits = five_points });
    all_len = 5;
    for (int i = 0; i < 6; i++)
        all[i] = (struct named){ { i, 1, 1 } };
    put_all(0);
    parse(T0, NOW_MS, "sum:m");
    ck_assert_int_eq(run(), ST_OK);
    all_len = 6;
    put_all(0);
    ck_assert_int_eq(run(), ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(pe.message.text, "limit of 5 data points"));
}
END_TEST

/* 400 series of one point each: the series take the memory, not the points. */
START_TEST(series_take_memory)
{
    w = open_engine(
        16, (struct engine_options){ .threads = 1, .query_bytes = 80000 });
    for (all_len = 0; all_len < SERIES; all_len++)
        all[all_len] = (struct named){ { (int)all_len, 1, 1 } };
    put_all(0);
    parse(T0, NOW_MS, "sum:m");
    ck_assert_int_eq(run(), ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(pe.message.text, "do not fit into"));
}
END_TEST

#define MONTH_POINTS (30 * 144) /* each ten minutes */

/* Of a percentile rows are kept for the buckets that are not complete. */
START_TEST(percentiles_keep_a_bucket)
{
    static const struct {
        const char *m;
        enum status status;
    } cases[] = { { "sum:m", ST_LIMIT },
                  { "sum:0all-p99:m", ST_LIMIT },
                  { "sum:1d-p99:m", ST_OK },
                  { "none:7h-dev:m", ST_OK },
                  { "avg:1d-p50:m", ST_OK } };
    struct series_point *p = calloc(MONTH_POINTS, sizeof *p);
    uint64_t random = harness_seed(5);

    w = open_engine(
        16, (struct engine_options){ .threads = 1, .query_bytes = 200000 });
    for (int s = 0; s < 10; s++) {
        char text[16];
        struct tag tag = { slice_str("a"), slice_str("") };

        (void)snprintf(text, sizeof text, "v%d", s);
        tag.value = slice_str(text);
        ck_assert_int_eq(series_resolve(w.series, &rules,
                                        TEXT(0, slice_str("m"), &tag, 1),
                                        &p[0].series, &tsuid, &e),
                         ST_OK);
        for (int i = 0; i < MONTH_POINTS; i++)
            p[i] = (struct series_point){
                .series = p[0].series,
                .point = { T0 + i * INT64_C(600000),
                           { .d = (double)harness_random(&random) / 3 },
                           true }
            };
        ck_assert_int_eq(store_put(w.store, p, MONTH_POINTS, NULL, &e), ST_OK);
    }
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parse(T0, T0 + 30 * 24 * HOUR_MS - 1, cases[i].m);
        ck_assert_msg(run() == cases[i].status, "%s", cases[i].m);
        if (cases[i].status == ST_OK)
            ck_assert_uint_eq(r.stats[0].points, 10 * MONTH_POINTS);
    }
    free(p);
}
END_TEST

#define NEWEST_SERIES 20
#define NEWEST_POINTS 360 /* an hour, each 10 s */

static int64_t
whole_number(int i)
{
    return 50 + i % 7;
}

static int64_t
counter(int i)
{
    return 1000000 + (int64_t)i * 613 + i % 11 * 37;
}

static const struct {
    int64_t (*value)(int i);
    double unit; /* 0: integers */
    const char *m, *buckets;
    unsigned most; /* points of a series that are decoded while it is open */
} newest[] = {
    { whole_number, 0, "sum:m", "sum:1m-avg:m", 60 },
    { whole_number, 0, "max:m{a=*}", "max:1m-max:m", 60 },
    { whole_number, 0, "sum:rate:m", "sum:rate:1m-last:m", 60 },
    { counter, 0, "sum:rate:m", "sum:rate:1m-last:m", 60 },
    { counter, 0.01, "avg:m", "avg:1m-avg:m", 60 },
};

static void
put_hour(int64_t (*value)(int i), double unit)
{
    struct series_point p[NEWEST_POINTS];

    for (int s = 0; s < NEWEST_SERIES; s++) {
        char text[16];
        struct tag tag = { .key = slice_str("a") };

        (void)snprintf(text, sizeof text, "v%d", s);
        tag.value = slice_str(text);
        ck_assert_int_eq(series_resolve(w.series, &rules,
                                        TEXT(0, slice_str("m"), &tag, 1),
                                        &p[0].series, &tsuid, &e),
                         ST_OK);
        for (int i = 0; i < NEWEST_POINTS; i++) {
            int64_t v = value(i) + s;

            p[i] = (struct series_point){
                .series = p[0].series,
                .point = { T0 + i * 10000, { .i = v }, false }
            };
            if (unit > 0)
                p[i].point = (struct point){ T0 + i * 10000,
                                             { .d = (double)v * unit },
                                             true };
        }
        ck_assert_int_eq(store_put(w.store, p, NEWEST_POINTS, NULL, &e), ST_OK);
    }
}

/* Five minutes of open rows decode at most ten minutes of points a series, at
 * raw steps, and with two buckets before them as many more; flushed ones decode
 * whole hours, and none where summaries answer. */
START_TEST(minutes_decode_minutes)
{
    int64_t end_ms = T0 + (NEWEST_POINTS - 1) * 10000;
    int64_t start_ms = end_ms - 5 * 60 * 1000;
    uint64_t hour = (uint64_t)NEWEST_SERIES * NEWEST_POINTS;
    struct result_stats s;

    w = open_world(16, 0);
    put_hour(newest[_i].value, newest[_i].unit);
    for (int again = 0; again < 2; again++) {
        s = count_between(start_ms, end_ms, newest[_i].m);
        ck_assert_uint_ge(s.decoded, NEWEST_SERIES * 31);
        ck_assert_uint_le(s.decoded, NEWEST_SERIES * newest[_i].most);
        ck_assert_uint_eq(s.points, hour);
        s = count_between(start_ms, end_ms, newest[_i].buckets);
        ck_assert_uint_le(s.decoded, NEWEST_SERIES * (newest[_i].most + 12));
        ck_assert_uint_eq(s.points, hour);
    }
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    s = count_between(start_ms, end_ms, newest[_i].m);
    ck_assert_uint_eq(s.decoded, hour);
    s = count_between(T0, end_ms, newest[_i].buckets);
    ck_assert_uint_eq(s.decoded, hour);
    s = count_between(T0, end_ms, "max:1h-max:m");
    ck_assert_uint_eq(s.decoded, 0);
    ck_assert_uint_eq(s.points, hour);
}
END_TEST

/* The last byte of all rows' values. */
static void
damage_rows(void)
{
    struct kv *kv = store_kv(w.store);
    struct kv_batch *b = kv_batch_new();
    struct kv_iter *it = kv_iter_open(kv, KEY_TABLE(TABLE_ROWS));

    for (bool on = kv_iter_seek(it, KEY_TABLE(TABLE_ROWS)); on;
         on = kv_iter_next(it)) {
        struct slice value = kv_iter_value(it);
        uint8_t *bytes = arena_copy(a, value.data, value.size);

        bytes[value.size - 1] ^= 1;
        kv_batch_put(b, kv_iter_key(it), slice_of(bytes, value.size));
    }
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
    ck_assert_uint_gt(kv_batch_len(b), 0);
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    kv_batch_free(&b);
}

START_TEST(names_a_damaged_row)
{
    static const char *const queries[] = { "sum:m", "sum:1m-avg:m",
                                           "sum:1m-p50:m", "sum:7m-p50:m",
                                           "sum:1h-sum:m" };

    w = open_world(16, 0);
    put_hour(whole_number, 0);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
    damage_rows();
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        parse(T0, T0 + HOUR_MS - 1, queries[i]);
        ck_assert_msg(run() == ST_CORRUPT, "%s", queries[i]);
        ck_assert_msg(strstr(pe.message.text, "series 000001000001") != NULL &&
                          strstr(pe.message.text, "hour 1356998400") != NULL,
                      "%s: %s", queries[i], pe.message.text);
    }
}
END_TEST

static const struct {
    const char *m, *second; /* NULL: there is none */
    int hours;
    bool small;
} sizes[] = {
    { "sum:m{a=v3}", NULL, 1, true },
    { "sum:1m-avg:m{a=v3|v4}", NULL, 12, true },
    { "sum:m{a=v3}", NULL, 24 * 30, false },
    { "sum:m{a=*}", NULL, 1, true },
    { "sum:m", NULL, 1, true },
    { "sum:m", NULL, 6, true },
    { "sum:m", NULL, 24, false },
    { "sum:m{a=v3}", "max:m{a=v4}", 2, true },
    { "sum:m", "max:m", 1, true },
    { "sum:m", "max:m", 12, false },
    { "sum:m{a=v77}", NULL, 1, false }, /* there is no such value */
    { "sum:m{a=wildcard(*3)}", NULL, 1, true },
    { "sum:m{a=iwildcard(*V3)}", NULL, 1, true },
    { "sum:m{a=wildcard(v****************************************************"
      "************)}",
      NULL, 1, false }, /* takes as long as it is long */
    { "sum:m{a=regexp(v3)}", NULL, 1, false },
    { "sum:m{a=iliteral_or(v3)}", NULL, 1, false },
    { "sum:unknown", NULL, 1, false },
    { "sum:1s-sum-zero:m{a=v3}", NULL, 3, true },
    { "sum:10ms-sum-zero:m{a=v3}", NULL, 1, false }, /* so many to fill */
    { "sum:10ms-sum:m{a=v3}", NULL, 1, true },
    { "sum:1d-sum-zero:m{a=v3}", NULL, 3, true },
};

START_TEST(knows_small_queries)
{
    bool second = sizes[_i].second != NULL;
    struct query_param params[3] = { { .name = slice_str("start") },
                                     { .name = slice_str("m") },
                                     { .name = slice_str("m") } };
    struct parse_options po = { .now_ms = T0 + HOUR_MS };
    uint64_t points[2] = { 0 };
    char start[16];

    w = open_world(16, 0);
    put_hour(whole_number, 0);
    (void)snprintf(start, sizeof start, "%dh-ago", sizes[_i].hours);
    params[0].value = slice_str(start);
    params[1].value = slice_str(sizes[_i].m);
    if (second)
        params[2].value = slice_str(sizes[_i].second);
    ck_assert_int_eq(query_parse_uri(params, second ? 3 : 2, &po, a, &q, &pe),
                     ST_OK);
    ck_assert_int_eq(engine_is_small(w.engine, &q, a), sizes[_i].small);
    ck_assert_int_eq(q.subs[0].plan != NULL && !q.subs[0].plan->is_taken,
                     sizes[_i].small);
    /* A plan that is kept is used once, and answers as another. */
    for (int i = 0; i < 2 && sizes[_i].small; i++) {
        ck_assert_int_eq(run(), ST_OK);
        ck_assert(q.subs[0].plan->is_taken);
        points[i] = r.stats[0].points_out;
    }
    ck_assert_uint_eq(points[0], points[1]);
    ck_assert(!sizes[_i].small || points[0] > 0);
    plan_drop(&q);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "engine", LOOP(knows_small_queries, sizes),
               LOOP(agrees_with_brute_force, setups),
               TEST(groups_ascend_and_have_all_their_series),
               TEST(masked_queries_read_no_excluded_rows),
               TEST(the_planner_takes_the_cheapest),
               TEST(rows_of_other_tag_key_sets_are_not_walked),
               LOOP(stops_when_told, ms), TEST(keeps_to_its_limits),
               TEST(series_take_memory), TEST(percentiles_keep_a_bucket),
               TEST(names_a_damaged_row), LOOP(minutes_decode_minutes, newest))
