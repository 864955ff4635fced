#include "tsd/api/tree/tree_build.h"

#include "tests/harness.h"

/* Rules as text: "level order TYPE field custom regex group separator format",
 * '-' for none; parted by ';'. */
struct rules {
    struct tree tree;
    struct tree_rule all[8];
    char text[8][9][64];
};

static struct slice
word_of(const char *w)
{
    return slice_str(strcmp(w, "-") == 0 ? "" : w);
}

static void
read_rules(const char *text, bool strict, struct rules *r)
{
    *r = (struct rules){ .tree = { .id = 1, .strict_match = strict } };
    r->tree.rules = r->all;
    while (text != NULL && *text != 0) {
        struct tree_rule *rule = &r->all[r->tree.rules_len];
        char(*w)[64] = r->text[r->tree.rules_len++];

        ck_assert_int_eq(sscanf(text,
                                " %63s %63s %63s %63s %63s %63s %63s %63s "
                                "%63[^;]",
                                w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                                w[8]),
                         9);
        rule->tree = 1;
        rule->level = atoi(w[0]);
        rule->order = atoi(w[1]);
        ck_assert_int_eq(
            tree_rule_type_parse(slice_str(w[2]), &rule->type, NULL), ST_OK);
        rule->field = word_of(w[3]);
        rule->custom_field = word_of(w[4]);
        rule->regex = word_of(w[5]);
        rule->group = atoi(w[6]);
        rule->separator = word_of(w[7]);
        rule->display_format = word_of(w[8]);
        text = strchr(text, ';');
        text = text == NULL ? NULL : text + 1;
    }
}

/* The metadata: "owner" of the metric is "ops", of tag keys "key", of tag
 * values "value". */
static bool
custom(void *ctx, enum uid_kind kind, size_t i, struct slice name,
       struct slice *out)
{
    static const char *const values[] = { "ops", "key", "value" };

    (void)ctx;
    (void)i;
    *out = slice_str(values[kind]);
    return slice_eq_str(name, "owner");
}

static const struct tag tags[] = {
    { { (const uint8_t *)"host", 4 }, { (const uint8_t *)"web01", 5 } },
    { { (const uint8_t *)"dc", 2 }, { (const uint8_t *)"lga", 3 } },
};

static struct tree_series
series_of(const char *metric)
{
    return (struct tree_series){ .tsuid = slice_str("0A"),
                                 .metric = slice_str(metric),
                                 .tags = tags,
                                 .tags_len = 2,
                                 .custom = custom };
}

/* "a/b/c=leaf"; "=leaf" of the root; "!" before what did not match. */
static const char *
print(const struct tree_path *p)
{
    static char text[512];
    size_t at = 0;

#define ADD(...) \
    (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
    text[0] = 0;
    if (p->unmatched)
        ADD("!");
    if (p->root_leaf.data != NULL)
        ADD("=%.*s", SLICE_ARG(p->root_leaf));
    for (const struct tree_node *n = p->top; n != NULL; n = n->child) {
        ADD("%s%.*s", n == p->top ? "" : "/", SLICE_ARG(n->name));
        if (n->leaf.data != NULL)
            ADD("=%.*s", SLICE_ARG(n->leaf));
    }
#undef ADD
    return text;
}

static const struct {
    const char *rules, *metric, *path;
} builds[] = {
    { "0 0 METRIC - - - 0 - -", "a.b", "=a.b" },
    { "0 0 METRIC - - - 0 - -; 1 0 TAGK host - - 0 - -", "a.b", "a.b=web01" },
    { "0 0 METRIC - - - 0 \\. -", "a.b.c", "a/b=c" },
    { "0 0 METRIC - - - 0 \\. -", "abc", "=abc" },
    { "0 0 METRIC - - - 0 \\. -; 5 0 TAGK dc - - 0 - -", "a.b", "a/b=lga" },
    /* Java's split: what is empty at the end counts for nothing. */
    { "0 0 METRIC - - - 0 \\. -; 1 0 TAGK dc - - 0 - -", "a.b..", "a/b=lga" },
    /* What is empty within is a level that is left out. */
    { "0 0 METRIC - - - 0 \\. -; 1 0 TAGK dc - - 0 - -", "a..b", "!a/b=lga" },
    { "0 0 METRIC - - - 0 | -", "abc", "a/b=c" },
    { "0 0 METRIC - - - 0 b* -", "abbc", "!a=c" },
    /* All that there is is a separator. */
    { "0 0 METRIC - - - 0 . -; 1 0 TAGK host - - 0 - -", "a.b", "!=web01" },
    { "0 0 METRIC - - - 0 . -; 1 0 TAGK host - - 0 - -; "
      "2 0 TAGK dc - - 0 - -",
      "a.b", "!web01=lga" },
    /* A level in the middle, or at the end, that gives no name. */
    { "0 0 METRIC - - - 0 - -; 1 0 TAGK no - - 0 - -; 2 0 TAGK dc - - 0 - -",
      "m", "!m=lga" },
    { "0 0 METRIC - - - 0 - -; 1 0 TAGK dc - - 0 - -; 2 0 TAGK no - - 0 - -",
      "m", "!m=lga" },
    { "0 0 TAGK no - - 0 - -", "m", "!" },
    /* The first rule of a level that gives a name. */
    { "0 0 TAGK no - - 0 - -; 0 1 TAGK dc - - 0 - -; 0 2 METRIC - - - 0 - -; "
      "1 0 TAGK host - - 0 - -",
      "m", "lga=web01" },
    /* The same name twice is one branch. */
    { "0 0 METRIC - - - 0 - -; 1 0 METRIC - - - 0 - -; 2 0 TAGK dc - - 0 - -",
      "m", "m=lga" },
    { "0 0 METRIC - - ^(\\w+)\\.(\\w+) 1 - -; 1 0 TAGK dc - - 0 - -", "a.b.c",
      "b=lga" },
    { "0 0 METRIC - - ^(\\w+)\\. 1 - -; 1 0 TAGK dc - - 0 - -", "a.b",
      "!=lga" },
    { "0 0 METRIC - - x(y)? 0 - -; 1 0 TAGK dc - - 0 - -", "x", "!=lga" },
    { "0 0 METRIC - - z 0 - -; 1 0 TAGK dc - - 0 - -", "x", "!=lga" },
    { "0 0 METRIC - - - 0 \\. {ovalue}:{value}{value}; "
      "1 0 TAGK dc - - 0 - {tag_name}={value},{tsuid}",
      "a.b", "a.b:aa/a.b:bb=dc=lga,0A" },
    { "0 0 METRIC - - - 0 - {tag_name}x; 1 0 TAGK dc - - 0 - -", "m", "x=lga" },
    { "0 0 METRIC_CUSTOM f owner - 0 - -; 1 0 TAGK_CUSTOM dc owner - 0 - -; "
      "2 0 TAGV_CUSTOM web01 owner - 0 - {tag_name}-{value}",
      "m", "ops/key=owner-value" },
    { "0 0 METRIC_CUSTOM f no - 0 - -; 1 0 TAGV_CUSTOM host owner - 0 - -; "
      "2 0 METRIC - - - 0 - -; 3 0 TAGK dc - - 0 - -",
      "m", "!m=lga" },
};

START_TEST(builds_paths)
{
    struct arena *arena = arena_new(0);
    struct tree_series s = series_of(builds[_i].metric);
    struct tree_plan *plan;
    struct tree_path path;
    struct rules rules;

    read_rules(builds[_i].rules, false, &rules);
    ck_assert_int_eq(tree_plan_new(&rules.tree, &plan, NULL), ST_OK);
    ck_assert_int_eq(tree_build(plan, &s, arena, NULL, &path, NULL), ST_OK);
    ck_assert_str_eq(print(&path), builds[_i].path);
    tree_plan_free(&plan);
    arena_free(&arena);
}
END_TEST

START_TEST(tells_what_it_does)
{
    struct arena *arena = arena_new(0);
    struct tree_series s = series_of("a.b");
    struct buf messages = BUF_INIT;
    struct tree_plan *plan;
    struct tree_path path;
    struct rules rules;

    read_rules("0 0 METRIC - - - 0 . -; 1 0 TAGK no - - 0 - -; "
               "1 1 TAGV_CUSTOM no owner - 0 - -; 1 2 TAGK host - - 0 - -",
               true, &rules);
    ck_assert_int_eq(tree_plan_new(&rules.tree, &plan, NULL), ST_OK);
    ck_assert_int_eq(tree_build(plan, &s, arena, &messages, &path, NULL),
                     ST_OK);
    ck_assert_str_eq(
        buf_cstr(&messages),
        "\"Processing rule: [1:0:0:METRIC]\","
        "\"Separator did not match, created an empty list on rule: "
        "[1:0:0:METRIC]\","
        "\"Processing rule: [1:1:0:TAGK]\","
        "\"No match on tagk [no] for rule: [1:1:0:TAGK]\","
        "\"Processing rule: [1:1:1:TAGV_CUSTOM]\","
        "\"No match on tagv [no] for rule: [1:1:1:TAGV_CUSTOM]\","
        "\"Processing rule: [1:1:2:TAGK]\","
        "\"Matched tagk [host] for rule: [1:1:2:TAGK]\","
        "\"Depth [3] Parent branch was empty, rolling back\","
        "\"Depth [2] Adding leaf [name: web01 tsuid: 0A] to parent branch "
        "[ID: [0001] Name: [ROOT]]\","
        "\"TSUID failed to match one or more rule levels, will not add: 0A\"");
    buf_fini(&messages);
    tree_plan_free(&plan);
    arena_free(&arena);
}
END_TEST

START_TEST(rejects_bad_separators_when_they_are_needed)
{
    struct arena *arena = arena_new(0), *small = arena_new(100);
    struct tree_series s = series_of("a.b");
    struct tree_plan *plan;
    struct tree_path path;
    struct rules rules;

    read_rules("0 0 TAGK host - - 0 - -; 0 1 METRIC - - - 0 ( -", false,
               &rules);
    ck_assert_int_eq(tree_plan_new(&rules.tree, &plan, NULL), ST_OK);
    ck_assert_int_eq(tree_build(plan, &s, arena, NULL, &path, NULL), ST_OK);
    s.tags_len = 0;
    ck_assert_int_eq(tree_build(plan, &s, arena, NULL, &path, NULL),
                     ST_INVALID);
    tree_plan_free(&plan);

    read_rules("0 0 METRIC - - - 0 | -", false, &rules);
    ck_assert_int_eq(tree_plan_new(&rules.tree, &plan, NULL), ST_OK);
    ck_assert_int_eq(tree_build(plan, &s, small, NULL, &path, NULL), ST_LIMIT);
    tree_plan_free(&plan);
    arena_free(&arena);
    arena_free(&small);
}
END_TEST

TEST_MAIN("tree_build", LOOP(builds_paths, builds), TEST(tells_what_it_does),
          TEST(rejects_bad_separators_when_they_are_needed))
