#include "query/exp/join.h"

#include "base/text/java.h"
#include "tests/harness.h"

/* Series by their tags "1=1 2=3" and the keys on which they do not agree. */
struct sketch {
    const char *tags, *aggregated;
};

static struct series_meta
make_meta(struct arena *a, struct sketch s, uint64_t metric)
{
    struct series_meta m = { 0 };
    const char *p = s.tags;
    unsigned key, value;
    int n;

    m.metrics = arena_array(a, 1, sizeof *m.metrics);
    m.metrics[m.metrics_len++].id = metric;
    m.tags = arena_array(a, 8, sizeof *m.tags);
    m.aggregate_tags = arena_array(a, 8, sizeof *m.aggregate_tags);
    for (; sscanf(p, " %u=%u%n", &key, &value, &n) == 2; p += n) {
        m.tags[m.tags_len].key.id = key;
        m.tags[m.tags_len++].value.id = value;
    }
    for (p = s.aggregated == NULL ? "" : s.aggregated;
         sscanf(p, " %u%n", &key, &n) == 1; p += n)
        m.aggregate_tags[m.aggregate_tags_len++].id = key;
    return m;
}

static const struct {
    struct sketch a[4], b[4];
    struct join_options o;
    const char *picks; /* of each result: series of a, series of b */
} cases[] = {
    { { { "1=1", NULL }, { "1=2", NULL } },
      { { "1=2", NULL }, { "1=3", NULL } },
      { .include_agg_tags = true },
      "0- 10 -1" },
    { { { "1=1", NULL }, { "1=2", NULL } },
      { { "1=2", NULL }, { "1=3", NULL } },
      { .include_agg_tags = true, .intersection = true },
      "10" },
    /* In the order of ids, not as they came; no tags come first. */
    { { { "1=2", NULL }, { "1=1", NULL } },
      { { "", "1" } },
      { .include_agg_tags = true },
      "-0 1- 0-" },
    /* What they aggregate counts, if asked; not without tags. */
    { { { "1=1", "2" } },
      { { "1=1", NULL } },
      { .include_agg_tags = true },
      "-0 0-" },
    { { { "1=1", "2" } }, { { "1=1", NULL } }, { 0 }, "00" },
    { { { "", "2" } }, { { "", NULL } }, { .include_agg_tags = true }, "00" },
    /* Only tags that a query names: here 1. */
    { { { "1=1 2=5", NULL } },
      { { "1=1 2=6", NULL } },
      { .use_query_tags = true },
      "00" },
    { { { "1=1 2=5", NULL } }, { { "1=1 2=6", NULL } }, { 0 }, "0- -0" },
    /* The last of those that cannot be told apart. */
    { { { "1=1 2=5", NULL }, { "1=1 2=6", NULL } },
      { { "1=1", NULL } },
      { .use_query_tags = true },
      "10" },
};

static size_t
make_operand(struct arena *a, const struct sketch *sketches, uint64_t metric,
             struct join_operand *out)
{
    static const uint64_t tagks[] = { 1 };
    struct exp_series *list = arena_array(a, 4, sizeof *list);
    size_t len = 0;

    while (len < 4 && sketches[len].tags != NULL) {
        list[len].meta = make_meta(a, sketches[len], metric);
        len++;
    }
    *out = (struct join_operand){ { list, len }, tagks, 1 };
    return len;
}

START_TEST(joins)
{
    struct arena *a = arena_new(0);
    struct join_operand operands[2];
    struct deadline d = { 0 };
    struct join_options o = cases[_i].o;
    struct joined j;
    char text[64] = "";

    o.deadline = &d;
    make_operand(a, cases[_i].a, 1, &operands[0]);
    make_operand(a, cases[_i].b, 2, &operands[1]);
    ck_assert_int_eq(join_series(operands, 2, &o, a, &j, NULL), ST_OK);
    for (size_t i = 0; i < j.list.len; i++)
        for (size_t k = 0; k < 2; k++) {
            size_t pick = j.picks[i * 2 + k], at = strlen(text);

            if (i > 0 && k == 0)
                text[at++] = ' ';
            text[at] = pick == JOIN_NONE ? '-' : (char)('0' + pick);
        }
    ck_assert_str_eq(text, cases[_i].picks);
    arena_free(&a);
}
END_TEST

START_TEST(names_results)
{
    const struct sketch first[] = { { "1=1", "7 9" } },
                        second[] = { { "1=1", "8 9" }, { "1=2", NULL } };
    struct arena *a = arena_new(0);
    struct join_operand operands[2];
    struct deadline d = { 0 };
    struct join_options o = { .deadline = &d };
    struct joined j;

    operands[0].list = operands[1].list = (struct exp_list){ NULL, 0 };
    make_operand(a, (struct sketch[4]){ first[0] }, 5, &operands[0]);
    make_operand(a, (struct sketch[4]){ second[0], second[1] }, 3,
                 &operands[1]);
    ck_assert_int_eq(join_series(operands, 2, &o, a, &j, NULL), ST_OK);
    ck_assert_uint_eq(j.list.len, 2);
    ck_assert_uint_eq(j.list.series[0].meta.metrics_len, 2);
    ck_assert_uint_eq(j.list.series[0].meta.metrics[0].id, 3);
    ck_assert_uint_eq(j.list.series[0].meta.metrics[1].id, 5);
    ck_assert_uint_eq(j.list.series[0].meta.tags_len, 1);
    ck_assert_uint_eq(j.list.series[0].meta.aggregate_tags_len, 3);
    /* The first operand has no such series: so there are no tags. */
    ck_assert_uint_eq(j.list.series[1].meta.tags_len, 0);
    ck_assert_uint_eq(j.list.series[1].meta.metrics[0].id, 3);
    arena_free(&a);
}
END_TEST

START_TEST(no_intersection_is_an_error)
{
    struct arena *a = arena_new(0);
    struct join_operand operands[2];
    struct deadline d = { 0 };
    struct join_options o = { .intersection = true,
                              .name = slice_str("e"),
                              .deadline = &d };
    struct joined j;
    struct error e;

    make_operand(a, (struct sketch[4]){ { "1=1", NULL } }, 1, &operands[0]);
    make_operand(a, (struct sketch[4]){ { "1=2", NULL } }, 2, &operands[1]);
    ck_assert_int_eq(join_series(operands, 2, &o, a, &j, &e), ST_INVALID);
    ck_assert_str_eq(e.text, "No intersections found: e");
    /* Where no operand has series nothing is intersected. */
    operands[0].list.len = operands[1].list.len = 0;
    ck_assert_int_eq(join_series(operands, 2, &o, a, &j, &e), ST_OK);
    ck_assert_uint_eq(j.list.len, 0);
    arena_free(&a);
}
END_TEST

/* As java.util.HashMap lists them; seen with a JVM's hashes: "a" is 97, and a
 * map of 16 has it in bucket 1. */
static const struct {
    const char *names[6];
    size_t initial;
    const char *order;
} orders[] = {
    { { "a", "b", "c" }, 16, "012" },
    { { "c", "b", "a" }, 16, "210" },
    { { "o", "p", "q" }, 16, "120" },
    { { "cpu1", "b" }, 16, "10" },
    { { "e", "e2" }, 2, "01" },
    { { "e2", "e" }, 2, "01" },
    { { "Aa", "BB" }, 16, "01" }, /* the same hash: as they came */
    { { "BB", "Aa" }, 16, "01" },
    { { "é", "a" }, 16, "10" },
    { { NULL }, 16, "" },
};

START_TEST(lists_as_java)
{
    struct slice names[6] = { 0 };
    size_t order[6] = { 0 }, len = 0;

    for (; len < 6 && orders[_i].names[len] != NULL; len++) {
        names[len] = slice_str(orders[_i].names[len]);
        order[len] = len;
    }
    java_order(names, orders[_i].initial, order, len);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_eq((int)order[i], orders[_i].order[i] - '0');
}
END_TEST

START_TEST(names_the_first_of_a_set)
{
    struct slice names[] = { slice_str("191"), slice_str("web11"),
                             slice_str("10"), slice_str("no.such") };
    const size_t all[] = { 0, 1, 2, 3 };

    /* Buckets 9, 8, 15 and 1 of 16. */
    ck_assert_uint_eq(java_set_first(names, 4, all, 4), 3);
    ck_assert_uint_eq(java_set_first(names, 4, all, 3), 1);
    ck_assert_uint_eq(java_set_first(names, 4, all, 1), 0);
    ck_assert_uint_eq(java_set_first(names, 4, &all[2], 2), 3);
}
END_TEST

START_TEST(an_empty_result_has_no_series)
{
    struct arena *a = arena_new(0);
    struct exp_list s;
    struct error e;

    ck_assert_int_eq(exp_list_read(&(struct query_result){ .groups_len = 0 },
                                   NULL, NULL, NULL, a, &s, &e),
                     ST_OK);
    ck_assert_uint_eq(s.len, 0);
    arena_free(&a);
}
END_TEST

TEST_MAIN("join", LOOP(joins, cases), TEST(names_results),
          TEST(no_intersection_is_an_error), LOOP(lists_as_java, orders),
          TEST(names_the_first_of_a_set), TEST(an_empty_result_has_no_series))
