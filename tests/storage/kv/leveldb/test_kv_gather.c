#include "config.h"

#include "storage/kv/leveldb/kv_gather_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "tests/harness.h"

#define S(text) slice_str(text)

static void
put(struct kv_gather *g, const char *key, const char *value)
{
    struct slice v = slice_str(value == NULL ? "" : value);

    gather_add(g, slice_str(key), value == NULL ? NULL : &v);
}

static void
note(void *ctx, struct slice key, const struct slice *value)
{
    struct slice v = value == NULL ? slice_str("(gone)") : *value;

    buf_printf(ctx, "%.*s=%.*s ", SLICE_ARG(key), SLICE_ARG(v));
}

static void
expect(struct kv_gather *g, const char *text)
{
    struct buf b = BUF_INIT;

    gather_each(g, note, &b);
    ck_assert_str_eq(buf_cstr(&b), text);
    buf_fini(&b);
}

START_TEST(the_last_of_each_key_in_order)
{
    struct kv_gather *g = gather_new();
    struct slice v;

    expect(g, "");
    ck_assert(!gather_find(g, S("a"), &v));
    put(g, "m", "1");
    put(g, "b", "22");
    put(g, "z", NULL);
    put(g, "bb", "");
    put(g, "m", "2");   /* of the same size */
    put(g, "b", "333"); /* of another one */
    put(g, "bb", NULL);
    put(g, "", "");
    put(g, "z", "there");
    ck_assert_uint_eq(gather_len(g), 5);
    for (int pass = 0; pass < 2; pass++) {
        ck_assert(gather_find(g, S("b"), &v) && slice_eq_str(v, "333"));
        ck_assert(gather_find(g, S("bb"), &v) && v.data == NULL);
        ck_assert(gather_find(g, S(""), &v) && v.data != NULL && v.size == 0);
        ck_assert(!gather_find(g, S("c"), &v));
        expect(g, "= b=333 bb=(gone) m=2 z=there ");
        put(g, "b", "333"); /* after it was put in order */
    }
    gather_clear(g);
    ck_assert_uint_eq(gather_len(g), 0);
    ck_assert(!gather_find(g, S("b"), &v));
    expect(g, "");
    put(g, "b", "4");
    expect(g, "b=4 ");
    gather_free(&g);
    ck_assert_ptr_null(g);
}
END_TEST

struct ascent {
    char last[16];
    size_t len;
};

static void
ascend(void *ctx, struct slice key, const struct slice *value)
{
    struct ascent *a = ctx;

    ck_assert(slice_cmp(slice_str(a->last), key) < 0);
    ck_assert(slice_eq(key, *value));
    (void)snprintf(a->last, sizeof a->last, "%.*s", SLICE_ARG(key));
    a->len++;
}

/* Many more than make it full. */
START_TEST(takes_what_comes)
{
    enum { MANY = 50000 };
    struct kv_gather *g = gather_new();
    struct ascent a = { "", 0 };
    struct slice v;
    bool full = false;

    for (uint32_t i = 0; i < MANY; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "%u", i * 2654435761u);
        put(g, key, key);
        ck_assert(gather_is_full(g) || !full);
        full = gather_is_full(g);
        ck_assert(full == (i + 1 >= 16384));
    }
    for (uint32_t i = 0; i < MANY; i += 7) {
        char key[16];

        (void)snprintf(key, sizeof key, "%u", i * 2654435761u);
        ck_assert(gather_find(g, S(key), &v) && slice_eq(v, S(key)));
    }
    gather_each(g, ascend, &a);
    ck_assert_uint_eq(a.len, MANY);
    gather_clear(g);
    ck_assert(!gather_is_full(g));
    gather_free(&g);
}
END_TEST

START_TEST(large_values_make_it_full)
{
    static const uint8_t large[5 << 20];
    struct kv_gather *g = gather_new();
    struct slice v = { large, sizeof large };

    gather_add(g, S("k"), &v);
    ck_assert(gather_is_full(g));
    ck_assert(gather_find(g, S("k"), &v) && v.size == sizeof large);
    gather_clear(g);
    put(g, "k", "small");
    expect(g, "k=small ");
    gather_free(&g);
}
END_TEST

TEST_MAIN("kv_gather", TEST(the_last_of_each_key_in_order),
          TEST(takes_what_comes), TEST(large_values_make_it_full))
