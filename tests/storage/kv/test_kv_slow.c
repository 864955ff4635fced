/* What the slow engine needs of kv.c: trying again, and when to give up. */
#include "tests/storage/kv/kv_slow.h"

#include <unistd.h>

#include "base/process/clock.h"
#include "tests/harness.h"
#include "tests/storage/kv/kv_calls.h"
#include "tests/tempdir.h"

static struct kv *
open_slow(const char *at, unsigned timeout_ms)
{
    struct kv_options o = { .place = { "slow", at },
                            .create = true,
                            .timeout_ms = timeout_ms };
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    return kv;
}

/* Before or after they did something. */
START_TEST(timeouts_are_tried_again)
{
    struct kv *kv = open_slow(NULL, 0);
    struct kv_iter *it;
    struct slice last;
    uint8_t value[60];
    uint8_t n = 0;

    kv_slow_set_timeouts(kv, 5);
    for (; n < sizeof value; n++) {
        value[n] = n;
        last = slice_of(&value[n == 0 ? 0 : n - 1], 1);
        ck_assert_int_eq(kv_swap(kv, S("n"), n == 0 ? NULL : &last,
                                 slice_of(&value[n], 1), NULL),
                         ST_OK);
        put(kv, slice_of(&value[n], 1), S("v"));
        ck_assert(holds(kv, slice_of(&value[n], 1), S("v")));
    }
    it = kv_iter_open(kv, slice_str(""));
    n = 0;
    for (bool on = kv_iter_seek(it, S("")); on && n < sizeof value;
         on = kv_iter_next(it))
        ck_assert_uint_eq(kv_iter_key(it).data[0], n++);
    ck_assert_uint_eq(n, sizeof value);
    close_iter(&it);
    ck_assert_uint_gt(kv_slow_timeouts(kv), 20);
    kv_close(&kv);
}
END_TEST

START_TEST(a_timeout_that_lasts_is_told)
{
    struct kv *kv = open_slow(NULL, 20);
    struct kv_batch *b = kv_batch_new();
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));
    struct buf out = BUF_INIT;
    struct error e = { 0 };

    kv_batch_put(b, S("k"), S("v"));
    put(kv, S("j"), S("v"));
    kv_slow_set_timeouts(kv, 1);
    ck_assert_int_eq(kv_get(kv, S("j"), &out, &e), ST_TIMEOUT);
    ck_assert_int_eq(kv_swap(kv, S("j"), NULL, S("v"), &e), ST_TIMEOUT);
    ck_assert_int_eq(kv_write(kv, b, &e), ST_TIMEOUT);
    ck_assert_int_eq(kv_sync(kv, &e), ST_TIMEOUT);
    ck_assert(!kv_iter_seek(it, S("")));
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_TIMEOUT);
    kv_slow_set_timeouts(kv, 0);
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    ck_assert_int_eq(kv_sync(kv, &e), ST_OK);
    /* An iterator has its own. */
    it = kv_iter_open(kv, slice_str(""));
    kv_iter_deadline(it, clock_monotonic_us() + 100);
    ck_assert(kv_iter_seek(it, S("j")));
    kv_slow_set_timeouts(kv, 1);
    ck_assert(!kv_iter_seek(it, S("j")));
    ck_assert(!kv_iter_seek(it, S("j")));
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_TIMEOUT);
    /* What the WAL has and the engine perhaps not is the last. */
    ck_assert_int_eq(kv_gather(kv, b, &e), ST_TIMEOUT);
    kv_slow_set_timeouts(kv, 0);
    ck_assert_int_eq(kv_gather(kv, b, &e), ST_TIMEOUT);
    ck_assert_int_eq(kv_sync(kv, &e), ST_TIMEOUT);
    ck_assert(holds(kv, S("j"), S("v")));
    buf_fini(&out);
    kv_batch_free(&b);
    kv_close(&kv);
}
END_TEST

/* Writes rounds of a batch in each of four buckets and in none, and ends as a
 * kill does: in another process. */
static void
write_and_die(const char *at)
{
    struct kv *kv = open_slow(at, 0);
    struct kv_batch *b = kv_batch_new();

    for (uint8_t round = 1; round <= 200; round++)
        for (uint8_t bucket = 0; bucket < 5; bucket++) {
            kv_batch_clear(b);
            kv_batch_set_bucket(b, bucket == 4 ? KV_NO_BUCKET : bucket);
            kv_batch_put(b, slice_of(&bucket, 1), slice_of(&round, 1));
            if (kv_write(kv, b, NULL) != ST_OK)
                _exit(1);
            if (round == 100 && kv_sync(kv, NULL) != ST_OK)
                _exit(1);
        }
    harness_die();
}

START_TEST(a_kill_keeps_order_within_a_bucket_only)
{
    char *at = tempdir_new();
    struct buf value = BUF_INIT;
    uint8_t rounds[5];
    struct kv *kv;
    pid_t pid = fork();

    if (pid == 0)
        write_and_die(at);
    harness_wait_dead(pid);
    kv = open_slow(at, 0);
    for (uint8_t i = 0; i < 5; i++) {
        ck_assert_int_eq(kv_get(kv, slice_of(&i, 1), &value, NULL), ST_OK);
        rounds[i] = value.data[0];
        ck_assert_uint_ge(rounds[i], 100);
    }
    ck_assert_uint_eq(rounds[4], 200);
    ck_assert(rounds[0] != rounds[1] || rounds[1] != rounds[2] ||
              rounds[2] != rounds[3]);
    buf_fini(&value);
    kv_close(&kv);
    tempdir_free(&at);
}
END_TEST

TEST_MAIN_FORKED("kv_slow", TEST(timeouts_are_tried_again),
                 TEST(a_timeout_that_lasts_is_told),
                 TEST(a_kill_keeps_order_within_a_bucket_only))
