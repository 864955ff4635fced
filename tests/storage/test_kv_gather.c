#include "config.h"

#include "storage/kv_gather_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "storage/kv_priv.h"
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

/* -- an iterator over both ------------------------------------------------- */

#define KEYS 24

static struct kv *
memory(void)
{
    struct kv *kv;

    ck_assert_int_eq(kv_open(&(struct kv_options){ 0 }, &kv, NULL), ST_OK);
    return kv;
}

static void
apply(struct kv *kv, struct slice key, const struct slice *value)
{
    struct kv_batch *b = kv_batch_new();

    if (value == NULL)
        kv_batch_delete(b, key);
    else
        kv_batch_put(b, key, *value);
    ck_assert_int_eq(kv_write(kv, b, false, NULL), ST_OK);
    kv_batch_free(&b);
}

/* A move, the same on both. */
static bool
move(struct kv_iter *it, unsigned how, struct slice key)
{
    switch (how % 8) {
    case 0:
        return kv_iter_seek(it, key);
    case 1:
        return kv_iter_before(it, key);
    case 2:
        return kv_iter_last(it);
    case 3:
    case 4:
        return kv_iter_prev(it);
    default:
        return kv_iter_next(it);
    }
}

static void
compare_walks(struct kv_iter *a, struct kv_iter *b, unsigned *random)
{
    for (int i = 0; i < 200; i++) {
        uint8_t key = (uint8_t)(rand_r(random) % (2 * KEYS));
        unsigned how = (unsigned)rand_r(random);
        bool on = move(a, how, slice_of(&key, 1));

        ck_assert_int_eq(on, move(b, how, slice_of(&key, 1)));
        ck_assert(slice_eq(kv_iter_key(a), kv_iter_key(b)));
        ck_assert(slice_eq(kv_iter_value(a), kv_iter_value(b)));
        if (!on)
            ck_assert_int_eq(kv_iter_seek(a, slice_of("", 0)),
                             kv_iter_seek(b, slice_of("", 0)));
    }
}

START_TEST(lies_over_an_engine)
{
    unsigned random = (unsigned)_i;
    struct kv *below = memory(), *all = memory();
    struct kv_gather *g = gather_new();
    struct kv_iter *over, *plain;

    for (unsigned i = 0; i < 60; i++) {
        uint8_t key = (uint8_t)(rand_r(&random) % KEYS * 2 + 1);
        struct slice k = { &key, 1 }, v = { (uint8_t *)&i, i % 4 };
        bool delete = rand_r(&random) % 3 == 0;

        if (i < 30)
            apply(below, k, delete ? NULL : &v);
        else
            gather_add(g, k, delete ? NULL : &v);
        apply(all, k, delete ? NULL : &v);
    }
    gather_sort(g);
    over = kv_overlay_new(kv_iter_open(below, NULL), g);
    over->magic = KV_ITER_MAGIC;
    plain = kv_iter_open(all, NULL);
    compare_walks(over, plain, &random);
    ck_assert_int_eq(kv_iter_close(&over, NULL), ST_OK);
    ck_assert_int_eq(kv_iter_close(&plain, NULL), ST_OK);
    gather_free(&g);
    kv_close(&below);
    kv_close(&all);
}
END_TEST

TEST_MAIN("kv_gather", TEST(the_last_of_each_key_in_order),
          TEST(takes_what_comes), TEST(large_values_make_it_full),
          TIMES(lies_over_an_engine, 50))
