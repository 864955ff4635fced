#include "tsd/api/query/query_json.h"

#include <math.h>

#include "tests/harness.h"

struct fixture {
    struct query q;
    struct sub_query sub;
    struct result_group g;
    struct result_stats stats;
    int64_t ts[4];
    union number v[4];
    uint8_t kind[4];
    struct arena *arena;
    struct buf b;
};

static void
set_up(struct fixture *f)
{
    *f = (struct fixture){ 0 };
    f->arena = arena_new(0);
    f->sub.aggregator_name = slice_str("sum");
    f->sub.metric = slice_str("m");
    f->q.subs = &f->sub;
    f->q.subs_len = 1;
    f->q.start_ms = 1000;
    f->q.end_ms = 10000;
    f->g.sub = &f->sub;
    f->g.metric = slice_str("m");
    f->g.dps = (struct dps){ f->ts, f->v, f->kind, 0 };
}

static void
add(struct fixture *f, int64_t ts_ms, enum dp_kind kind, double v)
{
    size_t i = f->g.dps.len++;

    f->ts[i] = ts_ms;
    f->kind[i] = (uint8_t)kind;
    if (kind == DP_INT)
        f->v[i].i = (int64_t)v;
    else
        f->v[i].d = v;
}

/* The answer's bytes, and the end of the fixture. */
static void
expect(struct fixture *f, struct notes notes, struct notes globals,
       const char *json)
{
    const struct group_json j = { .q = &f->q,
                                  .group = &f->g,
                                  .notes = notes,
                                  .globals = globals,
                                  .stats = &f->stats };

    (void)query_json_group(&f->b, &j, NULL);
    ck_assert_str_eq(buf_cstr(&f->b), json);
    buf_fini(&f->b);
    arena_free(&f->arena);
}

static const struct notes none = { .list = NULL };

START_TEST(writes_points)
{
    struct fixture f;

    set_up(&f);
    add(&f, 1000, DP_INT, -7);
    add(&f, 2000, DP_DOUBLE, 7);
    add(&f, 3000, DP_DOUBLE, NAN);
    add(&f, 4000, DP_NULL, 0);
    expect(&f, none, none,
           "{\"metric\":\"m\",\"tags\":{},\"aggregateTags\":[],\"dps\":"
           "{\"1\":-7,\"2\":7.0,\"3\":\"NaN\",\"4\":null}}");
}
END_TEST

START_TEST(writes_arrays)
{
    struct fixture f;

    set_up(&f);
    f.q.arrays = f.q.ms_resolution = true;
    add(&f, 1000, DP_INT, 1);
    add(&f, 1001, DP_DOUBLE, NAN);
    expect(&f, none, none,
           "{\"metric\":\"m\",\"tags\":{},\"aggregateTags\":[],\"dps\":"
           "[[1000,1],[1001,\"NaN\"]]}");
}
END_TEST

/* What lies outside of the range is not shown; of equal seconds the last is. */
START_TEST(cuts_and_covers)
{
    struct fixture f;

    set_up(&f);
    add(&f, 999, DP_INT, 1);
    add(&f, 5000, DP_INT, 2);
    add(&f, 5999, DP_INT, 3);
    add(&f, 10001, DP_INT, 4);
    expect(&f, none, none,
           "{\"metric\":\"m\",\"tags\":{},\"aggregateTags\":[],\"dps\":"
           "{\"5\":3}}");
}
END_TEST

START_TEST(writes_names_and_tsuids)
{
    struct slice keys[] = { slice_str("k\"") }, values[] = { slice_str("v") };
    struct slice aggregated[] = { slice_str("a"), slice_str("b") };
    struct slice tsuids[] = { slice_of("\x0b\x01", 2),
                              slice_of("\x0a\xff", 2) };
    struct fixture f;

    set_up(&f);
    f.q.show_tsuids = true;
    f.g.tag_keys = keys;
    f.g.tag_values = values;
    f.g.tags_len = 1;
    f.g.aggregate_tags = aggregated;
    f.g.aggregate_tags_len = 2;
    f.g.tsuids = tsuids;
    f.g.tsuids_len = 2;
    expect(&f, none, none,
           "{\"metric\":\"m\",\"tags\":{\"k\\\"\":\"v\"},"
           "\"aggregateTags\":[\"a\",\"b\"],"
           "\"tsuids\":[\"0AFF\",\"0B01\"],\"dps\":{}}");
}
END_TEST

START_TEST(writes_annotations)
{
    struct annotation list[] = {
        { .start = 0, .description = slice_str("early") },
        { .start = 5, .end = 6, .description = slice_str("in") },
    };
    struct notes notes = { .list = list, .len = 2 };
    struct fixture f;

    list[0].notes = list[1].notes = slice_str("");
    set_up(&f);
    expect(&f, notes, (struct notes){ .list = list, .len = 1 },
           "{\"metric\":\"m\",\"tags\":{},\"aggregateTags\":[],"
           "\"annotations\":[{\"tsuid\":\"\",\"description\":\"in\","
           "\"notes\":\"\",\"startTime\":5,\"endTime\":6}],"
           "\"globalAnnotations\":[],\"dps\":{}}");
}
END_TEST

START_TEST(writes_the_query)
{
    struct fixture f;

    set_up(&f);
    f.q.show_query = true;
    expect(&f, none, none,
           "{\"metric\":\"m\",\"tags\":{},\"aggregateTags\":[],\"query\":"
           "{\"aggregator\":\"sum\",\"metric\":\"m\",\"tsuids\":null,"
           "\"downsample\":null,\"rate\":false,\"filters\":[],"
           "\"percentiles\":null,\"index\":0,\"rollupTable\":\"raw\","
           "\"rateOptions\":null,\"filterTagKs\":null,"
           "\"explicitTags\":false,\"useFuzzyFilter\":true,"
           "\"preAggregate\":false,\"rollupUsage\":null,"
           "\"showHistogramBuckets\":false,\"useMultiGets\":true,"
           "\"tags\":{},\"histogramQuery\":false},\"dps\":{}}");
}
END_TEST

TEST_MAIN("query_json", TEST(writes_points), TEST(writes_arrays),
          TEST(cuts_and_covers), TEST(writes_names_and_tsuids),
          TEST(writes_annotations), TEST(writes_the_query))
