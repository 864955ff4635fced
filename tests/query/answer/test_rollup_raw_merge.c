#include "query/answer/rollup_raw_merge.h"

#include "base/buf.h"
#include "tests/harness.h"

static struct error e;

static const struct {
    int64_t delay_s;
    bool enabled, rollups;
    int64_t start_ms, end_ms;
    bool wanted;
    int64_t at_ms;
} cases[] = {
    { 600, true, true, 0, 1000000, true, 400000 },
    { 600, true, true, 500000, 1000000, true, 400000 },
    { 600, true, true, 0, 400124, true, 400000 },
    { 600, true, true, 0, 400123, false, 0 }, /* now is 1000.123 s */
    { 600, true, true, 0, 2000000, true, 400000 },
    { 2000, true, true, 0, 1000000, true, -1000000 },
    { 600, false, true, 0, 1000000, false, 0 },
    { 600, true, false, 0, 1000000, false, 0 },
    { 0, true, true, 0, 1000000, false, 0 },
};

START_TEST(knows_where_to_split)
{
    const struct rollup_interval i = { .delay_s = cases[_i].delay_s };
    const struct rollups r = { .split = cases[_i].enabled };
    const struct rollup_candidate t = { .rollups = &r,
                                        .sub.rollup.interval =
                                            cases[_i].rollups ? &i : NULL };
    const struct query q = { .start_ms = cases[_i].start_ms,
                             .end_ms = cases[_i].end_ms,
                             .now_ms = 1000123 };
    int64_t at_ms = 0;

    ck_assert_int_eq(rollup_raw_merge_wanted(&t, &q, &at_ms), cases[_i].wanted);
    if (cases[_i].wanted)
        ck_assert_int_eq(at_ms, cases[_i].at_ms);
}
END_TEST

/* "key tag=value aggregate tsuid ts.." of each group; '-': none. */
static struct subquery_result
make_part(const char *const *groups, size_t len, struct arena *a)
{
    struct subquery_result p = { arena_array(a, len + 1, sizeof *p.groups),
                                 len };

    for (size_t i = 0; i < len; i++) {
        struct result_group *g = &p.groups[i];
        char key[8], tag[8], aggregate[8], tsuid[8];
        int at = 0, more = 0;
        long long ts;

        ck_assert_int_eq(sscanf(groups[i], "%7s %7s %7s %7s%n", key, tag,
                                aggregate, tsuid, &at),
                         4);
        *g = (struct result_group){ .metric = slice_str("m") };
        g->key = slice_str(arena_strdup(a, slice_str(key)));
        g->tag_keys = arena_array(a, 1, sizeof(struct slice));
        g->tag_values = arena_array(a, 1, sizeof(struct slice));
        g->aggregate_tags = arena_array(a, 1, sizeof(struct slice));
        g->tsuids = arena_array(a, 1, sizeof(struct slice));
        g->tag_keys[0] = slice_str("k");
        g->tag_values[0] = slice_str(arena_strdup(a, slice_str(tag)));
        g->tags_len = tag[0] != '-';
        g->aggregate_tags[0] = slice_str(arena_strdup(a, slice_str(aggregate)));
        g->aggregate_tags_len = aggregate[0] != '-';
        g->tsuids[0] = slice_str(arena_strdup(a, slice_str(tsuid)));
        g->tsuids_len = 1;
        g->dps.ts_ms = arena_array(a, 16, sizeof(int64_t));
        g->dps.v = arena_array(a, 16, sizeof(union number));
        g->dps.kind = arena_array(a, 16, 1);
        while (sscanf(groups[i] + at, "%lld%n", &ts, &more) == 1) {
            g->dps.kind[g->dps.len] = DP_INT;
            g->dps.v[g->dps.len].i = -ts;
            g->dps.ts_ms[g->dps.len++] = ts;
            at += more;
        }
    }
    return p;
}

static void
show_group(const struct result_group *g, struct buf *b)
{
    buf_printf(b, "{");
    for (size_t i = 0; i < g->tags_len; i++)
        buf_printf(b, "%.*s ", SLICE_ARG(g->tag_values[i]));
    for (size_t i = 0; i < g->aggregate_tags_len; i++)
        buf_printf(b, "(%.*s) ", SLICE_ARG(g->aggregate_tags[i]));
    for (size_t i = 0; i < g->tsuids_len; i++)
        buf_printf(b, "%s%.*s ", i < g->split_tsuids ? "r" : "p",
                   SLICE_ARG(g->tsuids[i]));
    for (size_t i = 0; i < g->dps.len; i++) {
        ck_assert(g->dps.v[i].i == -g->dps.ts_ms[i]);
        ck_assert_int_eq(g->dps.kind[i], DP_INT);
        buf_printf(b, "%lld ", (long long)g->dps.ts_ms[i]);
    }
    buf_printf(b, "}");
}

static const struct {
    const char *before[3], *after[3];
    bool each_alone;
    const char *merged; /* split at 100 */
} merges[] = {
    { { "x a - T 10 20" },
      { "x a - T 100 110" },
      false,
      "{a rT pT 10 20 100 110 }" },
    { { "x a - T 90 100" },
      { "x b - T 100 110" },
      false,
      "{b rT pT 90 100 110 }" },
    { { "x a - T 90 100" }, { "x a - T 110" }, false, "{a rT pT 90 100 110 }" },
    { { "x a - T 90 120" },
      { "x a - T 80 110 120" },
      false,
      "{a rT pT 80 90 110 120 }" },
    { { "x a - T 4 5 120" },
      { "x a - T 3 200 201" },
      false,
      "{a rT pT 5 120 200 }" },
    { { "x - k T 10" }, { "x a k T" }, false, "{a (k) (k) rT pT 10 }" },
    { { "x a - T 10", "z c - V 30" },
      { "w d - S 110", "x a - T 120", "y b - U 130" },
      false,
      "{d pS 110 }{a rT pT 10 120 }{b pU 130 }{c rV 30 }" },
    { { "- a - T 10", "- b - V 20" },
      { "- b - V 120" },
      true,
      "{a rT 10 }{b rV pV 20 120 }" },
    { { NULL }, { NULL }, false, "" },
    { { NULL }, { "x a - T 110" }, false, "{a pT 110 }" },
};

static size_t
count(const char *const texts[3])
{
    size_t n = 0;

    while (n < 3 && texts[n] != NULL)
        n++;
    return n;
}

START_TEST(joins_groups_with_one_key)
{
    struct arena *a = arena_new(1 << 20);
    struct subquery_result before =
        make_part(merges[_i].before, count(merges[_i].before), a);
    struct subquery_result after =
        make_part(merges[_i].after, count(merges[_i].after), a);
    struct subquery_result out;
    const struct query q = { .start_ms = 5, .end_ms = 200 };
    struct buf b = BUF_INIT;

    ck_assert_int_eq(
        rollup_raw_merge(&(struct rollup_raw){ &before, &after,
                                               merges[_i].each_alone, &q, 100 },
                         a, &out, &e),
        ST_OK);
    for (size_t i = 0; i < out.len; i++) {
        ck_assert(slice_eq_str(out.groups[i].metric, "m"));
        ck_assert_int_eq(out.groups[i].split_ms, 100);
        show_group(&out.groups[i], &b);
    }
    ck_assert_str_eq(buf_cstr(&b), merges[_i].merged);
    buf_fini(&b);
    arena_free(&a);
}
END_TEST

START_TEST(says_when_there_is_no_room)
{
    struct arena *a = arena_new(1 << 20);
    struct arena *small = arena_new(100);
    struct subquery_result one = make_part(merges[0].before, 1, a), out;

    const struct query q = { .start_ms = 5, .end_ms = 200 };

    ck_assert_int_eq(
        rollup_raw_merge(&(struct rollup_raw){ &one, &one, false, &q, 100 },
                         small, &out, &e),
        ST_LIMIT);
    arena_free(&small);
    arena_free(&a);
}
END_TEST

TEST_MAIN("split", LOOP(knows_where_to_split, cases),
          LOOP(joins_groups_with_one_key, merges),
          TEST(says_when_there_is_no_room))
