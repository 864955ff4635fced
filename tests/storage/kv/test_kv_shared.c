/* The shared engine of tests keeps what it promises: several handles, the same
 * keys, groups, exclusive parts. */
#include "tests/storage/kv/kv_calls.h"
#include "tests/storage/kv/kv_shared.h"

#include <pthread.h>

#include "storage/row/key.h"
#include "tests/harness.h"

enum { THREADS = 4, ROUNDS = 500 };

static struct kv *
open_handle(void)
{
    const struct kv_options o = { .place = KV_MEMORY };
    struct error e = { 0 };
    struct kv *kv;

    ck_assert_msg(kv_open(&o, &kv, &e) == ST_OK, "%s", e.text);
    return kv;
}

static uint64_t
counter(struct kv *kv)
{
    struct buf value = BUF_INIT;
    struct error e;
    uint64_t n = 0;

    if (kv_get(kv, S("x"), &value, &e) == ST_OK)
        n = key_get_uint(value.data, 8);
    buf_fini(&value);
    return n;
}

START_TEST(handles_have_the_same_keys)
{
    struct kv *a = open_handle(), *b = open_handle();
    struct error e;

    ck_assert(kv_traits(a)->shared);
    ck_assert_int_eq(kv_swap(a, S("k"), NULL, S("1"), &e), ST_OK);
    ck_assert_int_eq(kv_swap(b, S("k"), NULL, S("2"), &e), ST_CONFLICT);
    ck_assert_uint_eq(kv_shared_conflicts(a), 1);
    kv_close(&a);
    ck_assert(holds(b, S("k"), S("1")));
    kv_close(&b);
    a = open_handle(); /* they went with the last handle */
    ck_assert(lacks(a, S("k")));
    kv_close(&a);
}
END_TEST

START_TEST(a_series_and_its_tagk_set_are_one_group)
{
    const struct key_layout w = KEY_LAYOUT_DEFAULT;
    struct kv *kv = open_handle();
    uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 2, 0, 0, 3 }, key[1 + TSUID_MAX];
    uint8_t set[] = { TABLE_TAGK_SETS, 0, 0, 1, 0, 0, 2, 0 };
    struct slice series = { key, key_series(slice_of(tsuid, 9), key) };
    struct slice sets = { set, sizeof set };

    set[7] = (uint8_t)key_salt(&w, slice_of(tsuid, 9));
    ck_assert_uint_eq(kv_group(kv, series), kv_group(kv, sets));
    set[7]++;
    ck_assert_uint_ne(kv_group(kv, series), kv_group(kv, sets));
    kv_close(&kv);
}
END_TEST

/* Read, changed and written without a guard: only the exclusive part keeps two
 * from doing so at once. */
static void *
count_up(void *arg)
{
    struct kv *kv = open_handle();
    uint8_t bytes[8];

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct kv_batch *b = kv_batch_new();
        struct error e;
        uint64_t ticket;

        ck_assert_int_eq(kv_exclusive_begin(kv, "x", &ticket, &e), ST_OK);
        key_put_uint(bytes, counter(kv) + 1, 8);
        kv_batch_put(b, S("x"), slice_of(bytes, 8));
        ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
        kv_exclusive_end(kv, "x", ticket);
        kv_batch_free(&b);
    }
    kv_close(&kv);
    return NULL;
}

START_TEST(one_at_a_time_is_in_an_exclusive_part)
{
    struct kv *kv = open_handle();
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(counter(kv), THREADS * ROUNDS);
    kv_close(&kv);
}
END_TEST

TEST_MAIN("kv_shared", TEST(handles_have_the_same_keys),
          TEST(a_series_and_its_tagk_set_are_one_group),
          TEST(one_at_a_time_is_in_an_exclusive_part))
