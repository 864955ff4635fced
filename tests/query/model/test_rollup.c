#include "query/model/rollup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "query/parse/parse.h"
#include "query/plan/rollup_candidates.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

static struct error e;

#define IDS "\"aggregationIds\":{\"sum\":0,\"COUNT\":1,\"min\":2,\"max\":3}"
#define INTERVAL(name, span, more)                                        \
    "{\"table\":\"t\",\"preAggregationTable\":\"g\",\"interval\":\"" name \
    "\",\"rowSpan\":\"" span "\"" more "}"
#define DEFAULT      INTERVAL("1m", "1h", ",\"defaultInterval\":true")
#define CONFIG(more) "{" IDS ",\"intervals\":[" DEFAULT more "]}"

static const char config[] = CONFIG("," INTERVAL("1h", "1d", "") "," INTERVAL(
    "10m", "6h",
    ",\"delaySla\":\"2h\"") "," INTERVAL("1d", "1n",
                                         "") "," INTERVAL("7d", "1y",
                                                          "") "," INTERVAL("10"
                                                                           "s",
                                                                           "1h",
                                                                           ""));

static struct rollups *
open_config(const char *text)
{
    struct rollups *r = NULL;

    ck_assert_msg(rollups_open(text, &r, &e) == ST_OK, "%s", e.text);
    return r;
}

static const struct {
    const char *config, *rejection;
} rejected[] = {
    { "", "Rollups were enabled but 'tsd.rollups.config' is null or empty." },
    { "{", "no JSON" },
    { "/nonexistent/rollups.json", "Failed to open conf file" },
    { "{}", "Rollup config given but no intervals were found." },
    { "{\"intervals\":[" DEFAULT "]}", "no aggegation ID mappings found." },
    { "{" IDS ",\"intervals\":[" INTERVAL("1h", "1d", "") "]}",
      "None of the rollup intervals were marked as the \"default\"." },
    { CONFIG("," DEFAULT), "Only one interval of each type" },
    { CONFIG("," INTERVAL("1h", "1d", ",\"defaultInterval\":true")),
      "Multiple default intervals" },
    { CONFIG("," INTERVAL("1h", "1h", "")), "is too large for the span [h]" },
    { CONFIG("," INTERVAL("10m", "1h", "")), "Not enough intervals [6]" },
    { CONFIG("," INTERVAL("1s", "1d", "")), "Too many intervals [86400]" },
    { CONFIG("," INTERVAL("1h", "2d", "")), "Multipliers are only usable" },
    { CONFIG("," INTERVAL("10m", "7h", "")), "must be 1 or an even value" },
    { CONFIG("," INTERVAL("1h", "1w", "")), "Unrecogznied span '1w'" },
    { CONFIG("," INTERVAL("1h", "1day", "")), "Invalid duration (suffix)" },
    { CONFIG("," INTERVAL("1h", "9223372036854775807h", "")),
      "must be < Long.MAX_VALUE" },
    { CONFIG("," INTERVAL("5min", "1d", "")), "Invalid duration (suffix)" },
    { CONFIG("," INTERVAL("1h", "1d", ",\"delaySla\":\"2hours\"")),
      "Invalid duration (suffix): 2hours" },
    { CONFIG("," INTERVAL("500ms", "1h", "")), "Milliseconds" },
    { CONFIG("," INTERVAL("x", "1d", "")), "Invalid duration" },
    { CONFIG("," INTERVAL("1h", "", "")), "Invalid row span" },
    { CONFIG("," INTERVAL("1h", "1d", ",\"delaySla\":\"1ms\"")), "delay" },
    { CONFIG(",{\"interval\":\"1h\",\"rowSpan\":\"1d\"}"), "rollup table" },
    { "{\"aggregationIds\":{\"sum\":128},\"intervals\":[" DEFAULT "]}",
      "between 0 and 127" },
    { "{\"aggregationIds\":{\"sum\":1,\"max\":1},\"intervals\":[" DEFAULT "]}",
      "Multiple mappings for the ID '1'" },
    { "{\"aggregationIds\":{\"nosuch\":1},\"intervals\":[" DEFAULT "]}",
      "No such aggregator found for nosuch" },
};

START_TEST(rejects_a_bad_configuration)
{
    struct rollups *r;

    ck_assert_int_ne(rollups_open(rejected[_i].config, &r, &e), ST_OK);
    ck_assert_ptr_null(r);
    ck_assert_msg(strstr(e.text, rejected[_i].rejection) != NULL, "%s", e.text);
}
END_TEST

START_TEST(reads_a_file)
{
    char *dir = tempdir_new(), *path = tempdir_path(dir, "rollups.json");
    struct rollups *r;
    FILE *f;

    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(config, f);
    (void)fclose(f);
    r = open_config(path);
    ck_assert_uint_eq(r->len, 6);
    ck_assert_int_eq(rollups_find(r, slice_str("10m"))->delay_s, 7200);
    ck_assert_ptr_null(rollups_find(r, slice_str("60m")));
    ck_assert_ptr_nonnull(rollups_aggregator(r, slice_str("Count")));
    ck_assert_ptr_null(rollups_aggregator(r, slice_str("avg")));
    ck_assert_ptr_null(rollups_aggregator(r, slice_str("su")));
    rollups_close(&r);
    free(path);
    tempdir_free(&dir);
}
END_TEST

START_TEST(finds_the_best_intervals)
{
    static const struct {
        int64_t seconds;
        const char *best;
    } cases[] = {
        { 86400, "1d 1h 10m 1m 10s " },
        { 7200, "1h 10m 1m 10s " },
        { 3600, "1h 10m 1m 10s " },
        { 1800, "10m 1m 10s " },
        { 60, "1m 10s " },
        { 90, "10s " },
        { 7, "" },
        { 604800, "7d 1d 1h 10m 1m 10s " },
    };
    struct rollups *r = open_config(config);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rollup_interval *best[ROLLUP_INTERVALS_MAX];
        size_t len = rollups_best(r, cases[i].seconds, best);
        struct buf text = BUF_INIT;

        for (size_t k = 0; k < len; k++)
            buf_printf(&text, "%s ", best[k]->text);
        ck_assert_str_eq(buf_cstr(&text), cases[i].best);
        buf_fini(&text);
    }
    rollups_close(&r);
}
END_TEST

/* 2013-01-01 is a Tuesday; spans begin at 00:00 UTC. */
static const struct {
    const char *interval;
    int64_t s, base, start, stored_ms;
    const char *kind;
} times[] = {
    { "1h", 1357002017, 1356998400, 1357002000, 376945 * 60000LL, "3600i-sum" },
    { "10m", 1357021999, 1357020000, 1357021800, 2261703 * 60000LL,
      "600i-sum" },
    { "1d", 1359676799, 1356998400, 1359590400, 15736 * 60000LL, "86400i-sum" },
    { "1d", 1330473600, 1328054400, 1330473600, 15399 * 60000LL, "86400i-sum" },
    { "7d", 1357603200, 1356998400, 1357603200, 1357603200000, "604800s-sum" },
    { "10s", 1356998419, 1356998400, 1356998410, 1356998410000, "10s-sum" },
};

START_TEST(knows_when_a_rollup_is)
{
    struct rollups *r = open_config(config);
    const struct rollup_interval *i =
        rollups_find(r, slice_str(times[_i].interval));
    char kind[ROLLUP_NAME_MAX];
    int64_t stored, slot;

    ck_assert_int_eq(rollup_base_s(i, times[_i].s), times[_i].base);
    ck_assert(rollup_store_ms(i, times[_i].s, &stored, &slot));
    ck_assert_int_eq(stored, times[_i].stored_ms);
    ck_assert_int_eq(rollup_real_ms(i, stored), times[_i].start * 1000);
    rollup_kind_name(i, aggregator_find(slice_str("sum")), false, kind);
    ck_assert_str_eq(kind, times[_i].kind);
    rollups_close(&r);
}
END_TEST

START_TEST(stored_times_ascend_and_come_back)
{
    struct rollups *r = open_config(config);
    uint64_t state = harness_seed(2);

    for (int n = 0; n < 20000; n++) {
        const struct rollup_interval *i =
            &r->intervals[harness_random(&state) % r->len];
        int64_t s = (int64_t)(harness_random(&state) % 4294967296U);
        int64_t stored, slot, from, to, real;

        if (!rollup_store_ms(i, s, &stored, &slot))
            continue;
        real = rollup_real_ms(i, stored);
        ck_assert_int_le(real, s * 1000);
        ck_assert_int_gt(real + i->seconds * 1000, s * 1000);
        ck_assert_int_ge(stored, 0);
        ck_assert_int_lt(stored, INT64_C(4294967296) * 1000);
        rollup_stored_range(i, real, real, &from, &to);
        ck_assert(from == stored && to == stored);
        rollup_stored_range(i, real + 1, real + i->seconds * 1000 - 1, &from,
                            &to);
        ck_assert(from > to || !i->dense);
    }
    rollups_close(&r);
}
END_TEST

static const struct {
    const char *downsample, *usage, *tables; /* one after the other */
} tries[] = {
    { NULL, "ROLLUP_FALLBACK", "raw" },
    { "1h-sum", "ROLLUP_RAW", "raw" },
    { "1h-sum", "ROLLUP_NOFALLBACK", "1h" },
    { "1h-sum", "", "1h" },
    { "1h-sum", "ROLLUP_FALLBACK", "1h 10m raw" },
    { "1h-sum", "ROLLUP_FALLBACK_RAW", "1h raw" },
    { "2h-avg", "ROLLUP_NOFALLBACK", "1h" },
    { "1m-sum", "ROLLUP_FALLBACK", "raw" },
    { "7s-sum", "ROLLUP_FALLBACK", "raw" },
    { "0all-sum", "ROLLUP_FALLBACK", "raw" },
    { "1h-mimmax", "ROLLUP_NOFALLBACK", "1h" },
    { "1h-dev", "", "No ID found mapping to aggregator: dev" },
    { "500ms-sum", "", "Interval cannot be null or empty" },
};

START_TEST(tries_one_after_the_other)
{
    struct store_options so = { .layout = KEY_LAYOUT_DEFAULT };
    struct uid_options uo = { 0 };
    struct rollups *r = open_config(config);
    struct arena *a = arena_new(1 << 20);
    struct store *store;
    struct uid_table *uids;
    struct series_directory *d;
    struct sub_query sq = { .rollup_usage = slice_str(tries[_i].usage) };
    struct rollup_candidate t;
    struct buf text = BUF_INIT;
    bool again = true;
    enum status st;

    ck_assert_int_eq(store_open(&so, &store, &e), ST_OK);
    ck_assert_int_eq(uid_open(store, &uo, &uids, &e), ST_OK);
    ck_assert_int_eq(series_open(store, uids, &d, &e), ST_OK);
    r->agg_tag_key = "_aggregate";
    r->raw_tag_value = "RAW";
    if (tries[_i].downsample != NULL)
        ck_assert_int_eq(parse_downsample(slice_str(tries[_i].downsample), a,
                                          &sq.downsample, &e),
                         ST_OK);
    st = rollup_candidate_first(&t, r, d, &sq, &e);
    while (st == ST_OK && t.missing.status == ST_OK && again) {
        buf_printf(&text, "%s%s", text.size == 0 ? "" : " ",
                   rollup_candidate_table(&t));
        st = rollup_candidate_next(&t, &again, &e);
    }
    ck_assert_str_eq(st != ST_OK                 ? e.text
                     : t.missing.status != ST_OK ? t.missing.text
                                                 : buf_cstr(&text),
                     tries[_i].tables);
    buf_fini(&text);
    arena_free(&a);
    series_close(&d);
    uid_close(&uids);
    ck_assert_int_eq(store_close(&store, &e), ST_OK);
    rollups_close(&r);
}
END_TEST

TEST_MAIN("rollup", LOOP(rejects_a_bad_configuration, rejected),
          TEST(reads_a_file), TEST(finds_the_best_intervals),
          LOOP(knows_when_a_rollup_is, times),
          TEST(stored_times_ascend_and_come_back),
          LOOP(tries_one_after_the_other, tries))
