#include "uid/meta/tree.h"

#include "tests/uid/fixture.h"

static struct tree
named(const char *name)
{
    return (struct tree){ .name = slice_str(name), .created = 1356998400 };
}

START_TEST(a_tree_lasts)
{
    struct fixture f = fixture_new_on_disk();
    struct arena *a = arena_new(0);
    struct tree tree = named("one"), two = named("two"), got, *all;
    size_t len;
    bool changed;

    OK(tree_create(f.records, &tree, &e));
    OK(tree_create(f.records, &two, &e));
    ck_assert_int_eq(two.id, 2);
    FAILS(tree_create(f.records, &(struct tree){ .id = 7 }, &e), ST_INVALID,
          "Tree was missing the name");
    tree.notes = slice_str("n");
    tree.strict_match = true;
    OK(tree_put(f.records, &tree,
                &(struct record_change){ TREE_NOTES, false, a }, &changed, &e));
    ck_assert(changed);
    OK(tree_put(f.records, &tree, &(struct record_change){ 0, true, a },
                &changed, &e));
    ck_assert(!changed);
    fixture_close(&f);

    fixture_open(&f);
    OK(tree_get(f.records, 1, a, &got, &e));
    ck_assert(slice_eq_str(got.name, "one"));
    ck_assert(slice_eq_str(got.notes, "n"));
    ck_assert(!got.strict_match);
    ck_assert_int_eq(got.created, 1356998400);
    OK(tree_list(f.records, a, &all, &len, &e));
    ck_assert_uint_eq(len, 2);
    OK(tree_delete(f.records, 1, true, a, &e));
    FAILS(tree_get(f.records, 1, a, &got, &e), ST_NOT_FOUND,
          "Unable to locate tree: 1");
    FAILS(tree_get(f.records, 65536, a, &got, &e), ST_INVALID,
          "Invalid Tree ID");
    FAILS(tree_delete(f.records, 1, true, a, &e), ST_NOT_FOUND,
          "Unable to locate tree: 1");
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

START_TEST(deleted_branches_come_back_with_a_write)
{
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0);
    struct tree tree = named("one"), got;
    struct tree_rule rule = { .tree = 1, .type = TREE_RULE_METRIC };
    bool changed;

    OK(tree_create(f.records, &tree, &e));
    OK(tree_delete(f.records, 1, false, a, &e));
    OK(tree_get(f.records, 1, a, &got, &e));
    ck_assert(got.emptied);
    OK(tree_rule_put(f.records, &rule, false, a, &changed, &e));
    OK(tree_get(f.records, 1, a, &got, &e));
    ck_assert(!got.emptied);
    ck_assert_uint_eq(got.rules_len, 1);
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

/* One after the other, at level 1 and order 2. */
static const struct {
    enum tree_rule_type type;
    const char *field, *custom, *separator;
    int64_t group;
    bool overwrite, changed;
    const char
        *rejection; /* or what is stored then: field, custom, separator */
} steps[] = {
    { TREE_RULE_NONE, "", "", "", 0, false, false, "Missing rule type" },
    { TREE_RULE_TAGK, "", "", "", 0, false, false,
      "Missing field name required for TAGK rule" },
    { TREE_RULE_TAGV_CUSTOM, "f", "", "", 0, false, false,
      "Missing custom field name required for TAGV_CUSTOM rule" },
    { TREE_RULE_METRIC, "", "", "", -1, false, false,
      "Invalid regex group index. Cannot be less than 0" },
    { TREE_RULE_TAGK, "f", "", "s", 0, false, true, "f//s" },
    { TREE_RULE_TAGK, "f", "", "", 0, false, false, "f//s" },
    { TREE_RULE_NONE, "", "c", "", 0, false, true, "f/c/s" },
    { TREE_RULE_NONE, "", "", "", 0, false, false, "f/c/s" },
    { TREE_RULE_METRIC, "", "", "", 0, true, true, "//" },
};

START_TEST(rules_are_merged_and_checked)
{
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0);
    struct tree tree = named("one"), got;
    bool changed;

    OK(tree_create(f.records, &tree, &e));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct tree_rule rule = { .tree = 1,
                                  .level = 1,
                                  .order = 2,
                                  .type = steps[i].type,
                                  .group = steps[i].group,
                                  .field = slice_str(steps[i].field),
                                  .custom_field = slice_str(steps[i].custom),
                                  .separator = slice_str(steps[i].separator) };
        const struct tree_rule *at;
        struct error why;
        char text[100];
        enum status st = tree_rule_put(f.records, &rule, steps[i].overwrite, a,
                                       &changed, &why);

        ck_assert_int_eq(changed, steps[i].changed);
        if (st != ST_OK) {
            ck_assert_str_eq(why.text, steps[i].rejection);
            continue;
        }
        OK(tree_get(f.records, 1, a, &got, &e));
        at = tree_rule_at(&got, 1, 2);
        ck_assert_ptr_nonnull(at);
        (void)snprintf(text, sizeof text, "%.*s/%.*s/%.*s",
                       SLICE_ARG(at->field), SLICE_ARG(at->custom_field),
                       SLICE_ARG(at->separator));
        ck_assert_str_eq(text, steps[i].rejection);
    }
    OK(tree_rules_delete(f.records, 1, &e));
    OK(tree_get(f.records, 1, a, &got, &e));
    ck_assert_ptr_null(tree_rule_at(&got, 1, 2));
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

/* The bytes of docs/FORMAT.md. */
START_TEST(bytes_are_as_documented)
{
    static const uint8_t tree_bytes[] = { 1,    0,    1,    0,    0, 0x80,
                                          0xd2, 0x88, 0x87, 0x05, 4, 'n',
                                          'e',  't',  1,    1 };
    static const uint8_t rule_bytes[] = { 1,   3, 0, 5, 'h', 'o', 's',
                                          't', 1, 1, 1, 1,   1,   1 };
    uint8_t key[TREE_RULE_KEY_SIZE];
    struct tree tree = { .created = 1356998912,
                         .enabled = true,
                         .name = slice_str("net") };
    struct tree_rule rule = { .type = TREE_RULE_TAGK,
                              .field = slice_str("host") };
    struct buf b = BUF_INIT;
    bool is_rule;

    ck_assert(slice_eq(tree_key(1, key), slice_of("t\0\1", 3)));
    ck_assert(slice_eq(tree_rule_key(1, 2, 3, key),
                       slice_of("t\0\1\0\0\0\2\0\0\0\3", 11)));
    OK(tree_key_parse(slice_of(key, 11), &is_rule, &rule, &e));
    ck_assert(is_rule);
    ck_assert_int_eq(rule.level, 2);
    ck_assert_int_eq(tree_key_parse(slice_of(key, 5), &is_rule, &rule, NULL),
                     ST_CORRUPT);
    record_encode(&tree_format, &tree, &b);
    ck_assert_mem_eq(b.data, tree_bytes, sizeof tree_bytes);
    ck_assert_uint_eq(b.size, sizeof tree_bytes);
    for (size_t i = 0; i < b.size; i++)
        ck_assert_int_eq(
            record_decode(&tree_format, slice_of(b.data, i), NULL, &tree, NULL),
            ST_CORRUPT);
    buf_clear(&b);
    record_encode(&tree_rule_format, &rule, &b);
    ck_assert_uint_eq(b.size, sizeof rule_bytes);
    ck_assert_mem_eq(b.data, rule_bytes, sizeof rule_bytes);
    for (size_t i = 0; i < b.size; i++)
        ck_assert_int_eq(tree_rule_decode(slice_of(b.data, i), &rule, NULL),
                         ST_CORRUPT);
    buf_fini(&b);
}
END_TEST

TEST_MAIN("tree", TEST(a_tree_lasts),
          TEST(deleted_branches_come_back_with_a_write),
          TEST(rules_are_merged_and_checked), TEST(bytes_are_as_documented))
