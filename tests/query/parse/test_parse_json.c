/* Bodies of POST /api/query, and what OpenTSDB 2.4 makes of them. */
#include "base/buf.h"
#include "query/parse/parse.h"
#include "tests/query/parse/parse_case.h"

#define FAILED "Unable to parse the given JSON"
#define SUB(members)                                               \
    "{\"start\":1,\"end\":9,\"queries\":[{\"aggregator\":\"sum\"," \
    "\"metric\":\"x\"," members "}]}"

static const struct parse_options options = { .now_ms = 1795298406358 };

static const struct {
    const char *body, *message;
} rejected[] = {
    { "", "Missing message content" },
    { " ", FAILED },
    { "{", FAILED },
    { "[]", FAILED },
    { "5", FAILED },
    { "null", FAILED },
    { "\"x\"", FAILED },
    { "{}", "Missing start time" },
    { "{\"start\":null,\"queries\":[]}", "Missing start time" },
    { "{\"start\":\"\",\"queries\":[]}", "Missing start time" },
    { "{\"start\":{}}", FAILED },
    { "{\"start\":1}", "Missing queries" },
    { "{\"start\":1,\"queries\":[]}", "Missing queries" },
    { "{\"start\":1,\"queries\":null}", "Missing queries" },
    { "{\"start\":1,\"queries\":{}}", FAILED },
    { "{\"start\":1,\"queries\":[null]}", FAILED },
    { "{\"start\":1,\"queries\":[5]}", FAILED },
    { "{\"start\":1,\"queries\":[{}]}", "Missing the aggregation function" },
    { "{\"start\":true,\"queries\":[{}]}",
      "Invalid time: true. Invalid character 't' in true" },
    { "{\"start\":9,\"end\":8,\"queries\":[{}]}",
      "End time [8000] must be greater than the start time [9000]" },
    { "{\"start\":1,\"queries\":[{\"aggregator\":\"sum\",\"tsuids\":[]}]}",
      "Missing the metric or tsuids, provide at least one" },
    { "{\"start\":1,\"msResolution\":1.5}", FAILED },
    { "{\"start\":1,\"padding\":\"yes\"}", FAILED },
    { "{\"start\":1,\"options\":[]}", FAILED },
    { "{\"start\":NaN}", FAILED },
    { "{\"queries\":[{}],\"end\":\"1.3569984e9\\\"1\",\"start\":1.3569984e9}",
      "Invalid time: 1.3569984e9. Millisecond timestamps must be in the format "
      "<seconds>.<ms> where the milliseconds are limited to 3 digits" },
    { "{\"queries\":[{}],\"start\":1e9}",
      "Invalid time: 1e9. Invalid character 'e' in 1e9" },
    { "{\"queries\":[{}],\"start\":-1356998400.5}",
      "Invalid time: -1356998400.5. Millisecond timestamps must be in the "
      "format "
      "<seconds>.<ms> where the milliseconds are limited to 3 digits" },
    { SUB("\"rateOptions\":{\"bogus\":1}"), FAILED },
    { SUB("\"rateOptions\":{\"counterMax\":\"x\"}"), FAILED },
    { SUB("\"rateOptions\":{\"counterMax\":1e30}"), FAILED },
    { SUB("\"rateOptions\":[]"), FAILED },
    { SUB("\"tags\":\"x\""), FAILED },
    { SUB("\"tags\":[\"h\"]"), FAILED },
    { SUB("\"tags\":{\"h\":\"\"}"), FAILED },
    { SUB("\"tags\":{\"h\":null}"), FAILED },
    { SUB("\"filters\":{}"), FAILED },
    { SUB("\"filters\":\"x\""), FAILED },
    { SUB("\"filters\":[null]"), FAILED },
    { SUB("\"filters\":[{\"tagk\":\"h\",\"filter\":\"x\"}]"), FAILED },
    { SUB("\"filters\":[{\"type\":\"LITERAL_OR\",\"tagk\":\"h\","
          "\"filter\":\"x\"}]"),
      FAILED },
    { SUB("\"filters\":[{\"type\":\"regexp\",\"tagk\":\"h\","
          "\"filter\":\"[\"}]"),
      FAILED },
    { SUB("\"tsuids\":[null]"), FAILED },
    { SUB("\"percentiles\":[\"x\"]"), FAILED },
    { SUB("\"index\":\"x\""), FAILED },
    { SUB("\"downsample\":\"1m-\""),
      "Invalid downsampling specifier '1m-': must provide at least interval "
      "and function" },
};

START_TEST(rejects)
{
    struct parse_error e;

    ck_assert_int_eq(
        query_parse_json(slice_str(rejected[_i].body), &options, a, &q, &e),
        ST_INVALID);
    ck_assert_str_eq(e.message.text, rejected[_i].message);
    ck_assert_str_ne(e.details, "");
}
END_TEST

static void
parse(const char *body)
{
    struct parse_error e = { 0 };

    ck_assert_msg(query_parse_json(slice_str(body), &options, a, &q, &e) ==
                      ST_OK,
                  "%s: %s (%s)", body, e.message.text, e.details);
}

static const struct {
    const char *start;
    int64_t ms;
} starts[] = {
    { "1356998400", 1356998400000 },
    { "\"1356998400\"", 1356998400000 },
    { "1356998400000", 1356998400000 },
    { "1356998400.5", 1356998400500 },
    { "1356998400.50", 1356998400500 },
    { "1356998400.0", 1356998400000 },
    { "1356998400.125", 1356998400125 },
    { "\"2013/01/01\"", 1356998400000 },
    { "0", 0 },
};

START_TEST(takes_numbers_for_texts)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"start\":%s,\"queries\":[{\"aggregator\":\"sum\","
                   "\"metric\":7}]} trailing",
                   starts[_i].start);
    parse(body);
    ck_assert_int_eq(q.start_ms, starts[_i].ms);
    ck_assert_int_eq(q.end_ms, options.now_ms);
    ck_assert(slice_eq_str(q.subs[0].metric, "7"));
}
END_TEST

START_TEST(takes_texts_for_others)
{
    parse("{\"start\":1,\"msResolution\":\"true\",\"padding\":1,"
          "\"showQuery\":\"\",\"delete\":null,\"useCalendar\":\"False\","
          "\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"x\","
          "\"rate\":\"TRUE\",\"rateOptions\":{\"isCounter\":true,"
          "\"counterMax\":\"5\",\"resetValue\":1.9,\"dropResets\":0}}]}");
    ck_assert(q.ms_resolution && q.padding);
    ck_assert(!q.show_query && !q.delete_points && !q.use_calendar);
    ck_assert(q.subs[0].rate && q.subs[0].rate_options.counter);
    ck_assert(!q.subs[0].rate_options.drop_resets);
    ck_assert_int_eq(q.subs[0].rate_options.counter_max, 5);
    ck_assert_int_eq(q.subs[0].rate_options.reset_value, 1);
}
END_TEST

START_TEST(ignores_unknown_members)
{
    parse("{\"start\":1,\"bogus\":[{}],\"queries\":[{\"aggregator\":\"sum\","
          "\"metric\":\"x\",\"refId\":\"A\",\"filters\":[{\"type\":"
          "\"literal_or\",\"tagk\":\"h\",\"filter\":\"a\",\"extra\":1,"
          "\"groupBy\":\"true\"}]}]}");
    ck_assert_uint_eq(q.subs[0].filters_len, 1);
    ck_assert(q.subs[0].filters[0].group_by);
}
END_TEST

START_TEST(the_later_of_tags_and_filters_counts)
{
    parse(SUB("\"tags\":{\"h\":\"regexp(x)\"},\"filters\":[{\"type\":\"regexp\""
              ",\"tagk\":\"d\",\"filter\":\"b\"}]"));
    ck_assert_uint_eq(q.subs[0].filters_len, 1);
    ck_assert(slice_eq_str(q.subs[0].filters[0].tagk, "d"));
    query_fini(&q);
    parse(SUB("\"filters\":[{\"type\":\"regexp\",\"tagk\":\"d\",\"filter\":"
              "\"b\"}],\"tags\":{\"h\":\"a*\",\"i\":5}"));
    ck_assert_uint_eq(q.subs[0].filters_len, 2);
    ck_assert(slice_eq_str(q.subs[0].filters[1].text, "5"));
}
END_TEST

START_TEST(null_tags_and_filters_are_none)
{
    parse(SUB("\"tags\":null"));
    ck_assert_uint_eq(q.subs[0].filters_len, 0);
    parse(SUB("\"tags\":null,\"filters\":null"));
    ck_assert_uint_eq(q.subs[0].filters_len, 0);
    parse(SUB("\"filters\":[{\"type\":\"regexp\",\"tagk\":\"d\",\"filter\":"
              "\"b\"}],\"tags\":null"));
    ck_assert_uint_eq(q.subs[0].filters_len, 1);
    query_fini(&q);
    parse(SUB("\"tags\":{\"h\":\"a\"},\"filters\":null"));
    ck_assert_uint_eq(q.subs[0].filters_len, 1);
}
END_TEST

/* Two sub-queries that differ in one member. */
#define PAIR(x, y)                                                          \
    "{\"start\":1,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"m\"," x \
    "},{\"aggregator\":\"sum\",\"metric\":\"m\"," y "}]}"
#define FILTER(more)                                                           \
    "\"filters\":[{\"type\":\"wildcard\",\"tagk\":\"h\",\"filter\":\"*\"" more \
    "}]"

static const struct {
    const char *body;
    size_t subs;
} pairs[] = {
    { PAIR("\"rate\":false", "\"explicitTags\":false"), 1 },
    { PAIR(FILTER(""), FILTER(",\"groupBy\":false")), 1 },
    { PAIR(FILTER(""), FILTER(",\"groupBy\":true")), 2 },
    { PAIR("\"tags\":{\"h\":\"a\"}",
           "\"filters\":[{\"type\":\"literal_or\",\"tagk\":\"h\",\"filter\":"
           "\"a\",\"groupBy\":true}]"),
      1 },
    { PAIR("\"rollupUsage\":\"ROLLUP_RAW\"",
           "\"rollupUsage\":\"ROLLUP_NOFALLBACK\""),
      2 },
    { PAIR("\"rollupUsage\":\"ROLLUP_RAW\"", "\"rate\":false"), 2 },
    { PAIR("\"rate\":true", "\"rate\":false"), 2 },
    { PAIR("\"rateOptions\":{\"counterMax\":5}",
           "\"rateOptions\":{\"resetValue\":5}"),
      2 },
    { PAIR("\"rateOptions\":{\"dropResets\":true}",
           "\"rateOptions\":{\"counter\":true}"),
      2 },
    { PAIR("\"downsample\":\"1m-avg\"", "\"downsample\":\"1m-max\""), 2 },
    { PAIR("\"percentiles\":[50]", "\"percentiles\":[50,99]"), 2 },
    { PAIR("\"percentiles\":[50]", "\"showHistogramBuckets\":true"), 2 },
    { PAIR("\"explicitTags\":true", "\"preAggregate\":true"), 2 },
    { PAIR("\"tsuids\":[\"01\"]", "\"tsuids\":[\"02\"]"), 2 },
    { PAIR("\"tsuids\":[\"01\",\"02\"]", "\"tsuids\":[\"0102\"]"), 2 },
};

START_TEST(tells_sub_queries_apart)
{
    parse(pairs[_i].body);
    ck_assert_uint_eq(q.subs_len, pairs[_i].subs);
}
END_TEST

START_TEST(drops_equal_sub_queries)
{
    parse("{\"start\":1,\"queries\":["
          "{\"aggregator\":\"sum\",\"metric\":\"x\",\"tags\":{\"h\":\"a|b\"}},"
          "{\"aggregator\":\"max\",\"metric\":\"x\",\"tags\":{\"h\":\"a|b\"}},"
          "{\"aggregator\":\"sum\",\"metric\":\"x\",\"tags\":{\"h\":\"b|a\"}},"
          "{\"aggregator\":\"sum\",\"metric\":\"x\",\"rate\":true,"
          "\"tags\":{\"h\":\"b|a\"}}]}");
    ck_assert_uint_eq(q.subs_len, 3);
    ck_assert(slice_eq_str(q.subs[1].aggregator_name, "max"));
    ck_assert_uint_eq(q.subs[2].index, 2);
}
END_TEST

START_TEST(limits_are_told)
{
    struct parse_error e;
    struct buf b = BUF_INIT;

    buf_put_str(&b, "{\"start\":1,\"queries\":[{}");
    for (int i = 0; i < QUERY_SUBS_MAX; i++)
        buf_put_str(&b, ",{}");
    buf_put_str(&b, "]}");
    ck_assert_int_eq(query_parse_json(buf_slice(&b), &options, a, &q, &e),
                     ST_LIMIT);
    ck_assert_str_eq(e.message.text, "more than 4096 queries");
    query_fini(&q);
    buf_clear(&b);
    for (int i = 0; i < 65; i++)
        buf_put_u8(&b, '[');
    ck_assert_int_eq(query_parse_json(buf_slice(&b), &options, a, &q, &e),
                     ST_INVALID);
    ck_assert_str_eq(e.details, "nested deeper than 64");
    buf_clear(&b);
    for (int i = 0; i < 250000; i++)
        buf_put_str(&b, "{,");
    ck_assert_int_ne(query_parse_json(buf_slice(&b), &options, a, &q, &e),
                     ST_OK);
    buf_fini(&b);
}
END_TEST

START_TEST(small_arenas_are_a_limit)
{
    static const char body[] =
        SUB("\"downsample\":\"1m-avg\",\"tags\":{\"h\":\"a|b\",\"d\":\"A*\"},"
            "\"percentiles\":[],\"tsuids\":[\"00\"]");

    for (size_t cap = 1; cap < 4000; cap += 7) {
        struct arena *small = arena_new(cap);
        struct parse_error e;
        enum status st =
            query_parse_json(slice_str(body), &options, small, &q, &e);

        ck_assert(st == ST_OK || st == ST_LIMIT);
        query_fini(&q);
        arena_free(&small);
    }
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "parse_json", LOOP(rejects, rejected),
               LOOP(takes_numbers_for_texts, starts),
               TEST(takes_texts_for_others), TEST(ignores_unknown_members),
               TEST(the_later_of_tags_and_filters_counts),
               TEST(null_tags_and_filters_are_none),
               LOOP(tells_sub_queries_apart, pairs),
               TEST(drops_equal_sub_queries), TEST(limits_are_told),
               TEST(small_arenas_are_a_limit))
