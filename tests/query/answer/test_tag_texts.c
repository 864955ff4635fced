#include "query/answer/tag_texts.h"

#include "tests/harness.h"

#define SMALL ((size_t)4096)

static struct tag_texts *texts;
static struct arena *arena;

static void
set_up(void)
{
    texts = tag_texts_new(SMALL);
    arena = arena_new(0);
}

static void
tear_down(void)
{
    tag_texts_free(&texts);
    arena_free(&arena);
}

/* What is known of these pairs, NULL for nothing. */
static const char *
known(uint64_t epoch, const char *pairs)
{
    struct tag_text one = { .pairs = slice_str(pairs) };

    tag_texts_find(texts, epoch, &one, 1, arena);
    return one.text.size == 0 ? NULL : (const char *)one.text.data;
}

static void
learn(uint64_t epoch, const char *pairs, const char *text)
{
    struct tag_text one = { .pairs = slice_str(pairs) };

    tag_texts_find(texts, epoch, &one, 1, arena);
    one.text = slice_str(text);
    tag_texts_add(texts, epoch, &one, 1, 1);
}

START_TEST(finds_what_was_added)
{
    struct tag_text list[] = {
        { .pairs = slice_str("ab") },
        { .pairs = slice_str("") },
        { .pairs = slice_str("abc") },
        { .pairs = slice_str("never") },
    };

    tag_texts_find(texts, 0, list, 4, arena);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(list[i].text.size, 0);
    list[0].text = slice_str("one");
    list[1].text = slice_str("of several series");
    list[2].text = slice_str("two");
    tag_texts_add(texts, 0, list, 4, 4);
    tag_texts_add(texts, 0, list, 4, 4); /* as another thread would */
    tag_texts_find(texts, 0, list, 4, arena);
    ck_assert(slice_eq(list[0].text, slice_str("one")));
    ck_assert_uint_eq(list[1].text.size, 0);
    ck_assert(slice_eq(list[2].text, slice_str("two")));
    ck_assert_uint_eq(list[3].text.size, 0);
}
END_TEST

START_TEST(knows_nothing_of_another_epoch)
{
    learn(4, "ab", "old");
    ck_assert_str_eq(known(4, "ab"), "old");
    ck_assert_ptr_null(known(6, "ab"));
    learn(6, "ab", "new");
    ck_assert_ptr_null(known(4, "ab")); /* a query that began before */
    learn(4, "ab", "old");
    ck_assert_str_eq(known(6, "ab"), "new");
}
END_TEST

/* The newest are kept, and as many as there is room for. */
START_TEST(forgets_the_oldest)
{
    char pairs[100][32], text[100][64];
    size_t kept = 0;

    for (int i = 0; i < 100; i++) {
        (void)snprintf(pairs[i], sizeof pairs[i], "pairs of %d", i);
        (void)snprintf(text[i], sizeof text[i], "%050d", i);
        learn(1, pairs[i], text[i]);
    }
    for (int i = 100; i-- > 0;) {
        const char *found = known(1, pairs[i]);

        if (found == NULL)
            break;
        ck_assert_str_eq(found, text[i]);
        kept++;
    }
    for (size_t i = 0; i + kept < 100; i++)
        ck_assert_ptr_null(known(1, pairs[i]));
    ck_assert_uint_ge(kept, SMALL / 2 / 90);
    ck_assert_uint_le(kept, SMALL / 60);
}
END_TEST

START_TEST(keeps_no_long_text)
{
    char text[5000];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    tag_texts_free(&texts);
    texts = tag_texts_new(1 << 20);
    learn(0, "ab", text + 1000);
    ck_assert_str_eq(known(0, "ab"), text + 1000);
    learn(0, "cd", text);
    ck_assert_ptr_null(known(0, "cd"));
}
END_TEST

/* Groups whose texts do not all fit would drop each other's. */
START_TEST(keeps_what_fits_with_those_of_all_groups)
{
    struct tag_text list[] = {
        { .pairs = slice_str("ab") },
        { .pairs = slice_str("abc") },
    };

    tag_texts_find(texts, 0, list, 2, arena);
    list[0].text = slice_str("short");
    list[1].text = slice_str("longer");
    tag_texts_add(texts, 0, list, 2, SMALL / 8);
    ck_assert_str_eq(known(0, "ab"), "short");
    ck_assert_ptr_null(known(0, "abc"));
    tag_texts_add(texts, 0, list, 2, SMALL / 9);
    ck_assert_str_eq(known(0, "abc"), "longer");
    tag_texts_add(texts, 0, list, 2, SMALL + 1); /* none have room */
}
END_TEST

START_TEST(has_no_room_in_the_arena)
{
    struct arena *none = arena_new(1);
    struct tag_text one = { .pairs = slice_str("ab") };

    learn(0, "ab", "one");
    tag_texts_find(texts, 0, &one, 1, none);
    ck_assert_uint_eq(one.text.size, 0);
    arena_free(&none);
}
END_TEST

TEST_MAIN_WITH(set_up, tear_down, "tag_texts", TEST(finds_what_was_added),
               TEST(knows_nothing_of_another_epoch), TEST(forgets_the_oldest),
               TEST(keeps_no_long_text),
               TEST(keeps_what_fits_with_those_of_all_groups),
               TEST(has_no_room_in_the_arena))
