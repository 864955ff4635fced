/* Every case runs on every engine; _i is which (tests/storage/engines.h). */
#include "storage/kv/kv.h"

#include <pthread.h>
#include <stdatomic.h>

#include "storage/row/mask.h"
#include "tests/harness.h"
#include "tests/storage/engines.h"
#include "tests/storage/kv/kv_calls.h"
#include "tests/tempdir.h"

/* Of the case that runs. */
static int engine;
static char *dir;
static struct kv *kv;
static struct kv_iter *it;

static void
open_engine(int i)
{
    engine = i;
    dir = tempdir_new();
    engine_open(engine, dir, &kv);
}

static void
reopen(void)
{
    kv_close(&kv);
    engine_open(engine, dir, &kv);
}

static void
teardown(void)
{
    (void)!kv_iter_close(&it, NULL);
    kv_close(&kv);
    ck_assert_ptr_null(kv);
    if (dir == NULL)
        return;
    engines_clean(dir);
    tempdir_free(&dir);
}

static size_t
count(void)
{
    size_t n = 0;

    it = kv_iter_open(kv, slice_str(""));
    for (bool on = kv_iter_seek(it, S("")); on; on = kv_iter_next(it))
        n++;
    close_iter(&it);
    return n;
}

START_TEST(puts_gets_deletes)
{
    open_engine(_i);
    ck_assert(lacks(kv, S("a")));
    put(kv, S("a"), S("1"));
    ck_assert(holds(kv, S("a"), S("1")));
    put(kv, S("a"), S("22"));
    ck_assert(holds(kv, S("a"), S("22")));
    put(kv, S("a\0b"), S("x\0y"));
    ck_assert(holds(kv, S("a\0b"), S("x\0y")));
    ck_assert(holds(kv, S("a"), S("22")));
    put(kv, S("b"), S(""));
    ck_assert(holds(kv, S("b"), S("")));
    put(kv, S(""), S("the empty key"));
    ck_assert(holds(kv, S(""), S("the empty key")));
    delete (kv, S("a"));
    delete (kv, S("never there"));
    ck_assert(lacks(kv, S("a")));
    ck_assert_uint_eq(count(), 3);
}
END_TEST

START_TEST(get_replaces_what_the_buffer_holds)
{
    struct buf out = BUF_INIT;

    open_engine(_i);
    buf_put_str(&out, "old text");
    put(kv, S("k"), S("v"));
    ck_assert_int_eq(kv_get(kv, S("k"), &out, NULL), ST_OK);
    ck_assert(slice_eq_str(buf_slice(&out), "v"));
    buf_fini(&out);
    buf_init(&out, 4);
    put(kv, S("k"), S("more than four"));
    ck_assert_int_eq(kv_get(kv, S("k"), &out, NULL), ST_LIMIT);
    buf_fini(&out);
}
END_TEST

/* In the order in which they must come. */
static const struct slice sorted[] = {
    { (const uint8_t *)"", 0 },         { (const uint8_t *)"\0", 1 },
    { (const uint8_t *)"\0\0", 2 },     { (const uint8_t *)"\0\xff", 2 },
    { (const uint8_t *)"\x01", 1 },     { (const uint8_t *)"\x7f", 1 },
    { (const uint8_t *)"\x80", 1 },     { (const uint8_t *)"\x80\0", 2 },
    { (const uint8_t *)"\xff", 1 },     { (const uint8_t *)"\xff\0", 2 },
    { (const uint8_t *)"\xff\xff", 2 }, { (const uint8_t *)"\xff\xff\0", 3 },
};
#define SORTED_LEN (sizeof sorted / sizeof sorted[0])

static void
put_sorted(void)
{
    struct kv_batch *b = kv_batch_new();

    for (size_t i = 0; i < SORTED_LEN; i++) {
        uint8_t n = (uint8_t)i;

        kv_batch_put(b, sorted[i * 5 % SORTED_LEN],
                     slice_of(&n, 1)); /* 5 and 12 share no factor */
    }
    ck_assert_uint_eq(kv_batch_len(b), SORTED_LEN);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

START_TEST(keys_sort_as_unsigned_bytes)
{
    size_t n = 0;

    open_engine(_i);
    put_sorted();
    it = kv_iter_open(kv, slice_str(""));
    for (bool on = kv_iter_seek(it, S("")); on; on = kv_iter_next(it), n++)
        ck_assert(slice_eq(kv_iter_key(it), sorted[n]));
    ck_assert_uint_eq(n, SORTED_LEN);
    close_iter(&it);
}
END_TEST

START_TEST(an_iterator_that_stands_nowhere_stays_there)
{
    open_engine(_i);
    it = kv_iter_open(kv, slice_str(""));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_seek(it, S("")));
    ck_assert_uint_eq(kv_iter_key(it).size, 0);
    ck_assert_uint_eq(kv_iter_value(it).size, 0);
    close_iter(&it);
    put(kv, S("k"), S("v"));
    it = kv_iter_open(kv, slice_str(""));
    ck_assert(kv_iter_seek(it, S("a")));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_next(it));
    close_iter(&it);
    close_iter(&it); /* NULL is closed already */
}
END_TEST

START_TEST(iterators_count)
{
    struct kv_iter_counts c;

    open_engine(_i);
    put(kv, S("aa"), S("123"));
    put(kv, S("bb"), S("4567"));
    it = kv_iter_open(kv, slice_str(""));
    ck_assert(kv_iter_seek(it, S("a")));
    ck_assert(kv_iter_next(it));
    ck_assert(!kv_iter_next(it));
    ck_assert(kv_iter_seek(it, S("a")));
    c = kv_iter_counts(it);
    ck_assert_uint_eq(c.seeks, 2);
    ck_assert_uint_eq(c.steps, 2);
    ck_assert_uint_eq(c.bytes, 5 + 6 + 5);
    close_iter(&it);
}
END_TEST

static void
check_op(void *ctx, struct slice key, const struct slice *value)
{
    size_t *n = ctx;

    if (*n == 0)
        ck_assert(slice_eq_str(key, "k") && slice_eq_str(*value, "1"));
    if (*n == 1)
        ck_assert(slice_eq(key, S("q\0q")) && value == NULL);
    if (*n == 2)
        ck_assert(slice_eq_str(key, "") && value->size == 0);
    ++*n;
}

START_TEST(a_batch_tells_its_operations)
{
    struct kv_batch *b = kv_batch_new();
    size_t n = 0;

    kv_batch_put(b, S("k"), S("1"));
    kv_batch_delete(b, S("q\0q"));
    kv_batch_put(b, S(""), S(""));
    kv_batch_each(b, check_op, &n);
    ck_assert_uint_eq(n, 3);
    kv_batch_clear(b);
    ck_assert_uint_eq(kv_batch_len(b), 0);
    kv_batch_each(b, check_op, &n);
    ck_assert_uint_eq(n, 3);
    kv_batch_free(&b);
    ck_assert_ptr_null(b);
    kv_batch_free(&b);
}
END_TEST

START_TEST(the_last_operation_on_a_key_wins)
{
    struct kv_batch *b = kv_batch_new();

    open_engine(_i);
    put(kv, S("old"), S("0"));
    kv_batch_put(b, S("a"), S("1"));
    kv_batch_delete(b, S("a"));
    kv_batch_put(b, S("b"), S("1"));
    kv_batch_delete(b, S("b"));
    kv_batch_put(b, S("b"), S("2"));
    kv_batch_delete(b, S("old"));
    kv_batch_put(b, S("old"), S("1"));
    kv_batch_delete(b, S("old"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
        ck_assert(lacks(kv, S("a")));
        ck_assert(holds(kv, S("b"), S("2")));
        ck_assert(lacks(kv, S("old")));
        ck_assert_uint_eq(count(), 1);
    }
    kv_batch_clear(b);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}
END_TEST

START_TEST(what_is_over_the_limits_changes_nothing)
{
    struct kv_batch *b = kv_batch_new();
    struct error e = { 0 };
    uint8_t *big = calloc(1, KV_VALUE_MAX + 1);

    open_engine(_i);
    /* What does not fit counts: such a batch must not pass for an empty one. */
    kv_batch_put(b, slice_of(big, KV_KEY_MAX + 1), S("1"));
    ck_assert_uint_eq(kv_batch_len(b), 1);
    kv_batch_clear(b);
    kv_batch_put(b, S("a"), S("1"));
    kv_batch_put(b, slice_of(big, KV_KEY_MAX + 1), S("1"));
    ck_assert_int_eq(kv_write(kv, b, &e), ST_LIMIT);
    kv_batch_clear(b);
    kv_batch_put(b, S("a"), slice_of(big, KV_VALUE_MAX + 1));
    ck_assert_int_eq(kv_write(kv, b, &e), ST_LIMIT);
    ck_assert_uint_eq(count(), 0);
    kv_batch_clear(b);
    kv_batch_put(b, slice_of(big, KV_KEY_MAX), slice_of(big, 1 << 20));
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    ck_assert(holds(kv, slice_of(big, KV_KEY_MAX), slice_of(big, 1 << 20)));
    kv_batch_free(&b);
    free(big);
}
END_TEST

/* Whether an iterator sees what comes after its opening is the engine's. */
START_TEST(an_iterator_goes_on_while_keys_change)
{
    open_engine(_i);
    put(kv, S("a"), S("1"));
    put(kv, S("c"), S("1"));
    put(kv, S("e"), S("1"));
    it = kv_iter_open(kv, slice_str(""));
    ck_assert(kv_iter_seek(it, S("")));
    put(kv, S("b"), S("2"));
    put(kv, S("a"), S("2"));
    delete (kv, S("a"));
    delete (kv, S("c"));
    ck_assert(slice_eq_str(kv_iter_key(it), "a"));
    ck_assert(slice_eq_str(kv_iter_value(it), "1"));
    ck_assert(kv_iter_next(it));
    if (slice_eq_str(kv_iter_key(it), "b"))
        ck_assert(slice_eq_str(kv_iter_value(it), "2"));
    else
        ck_assert(slice_eq_str(kv_iter_key(it), "c"));
    ck_assert(kv_iter_next(it));
    ck_assert(slice_eq_str(kv_iter_key(it), "e"));
    ck_assert(!kv_iter_next(it));
    close_iter(&it);
    ck_assert_uint_eq(count(), 2);
}
END_TEST

START_TEST(an_iterator_ends_with_its_prefix)
{
    open_engine(_i);
    put(kv, S("a1"), S("1"));
    put(kv, S("b1"), S("2"));
    put(kv, S("b2"), S("3"));
    put(kv, S("c1"), S("4"));
    it = kv_iter_open(kv, S("b"));
    ck_assert(kv_iter_seek(it, S("b")));
    ck_assert(slice_eq_str(kv_iter_key(it), "b1"));
    ck_assert(kv_iter_next(it));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_seek(it, S("b3")));
    close_iter(&it);
}
END_TEST

START_TEST(an_iterator_ends_before_its_bound)
{
    open_engine(_i);
    for (unsigned i = 0; i < 40; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "b%02u", i);
        put(kv, slice_str(key), S("1"));
    }
    it = kv_iter_open(kv, S("b"));
    kv_iter_bound(it, S("b02"));
    ck_assert(kv_iter_seek(it, S("b00")));
    ck_assert(kv_iter_next(it));
    ck_assert(slice_eq_str(kv_iter_key(it), "b01"));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_next(it));
    ck_assert(!kv_iter_seek(it, S("b02")));
    ck_assert(!kv_iter_seek(it, S("b3")));
    ck_assert(kv_iter_seek(it, S("b01")));
    kv_iter_bound(it, S("c"));
    ck_assert(kv_iter_seek(it, S("b02")));
    ck_assert(slice_eq_str(kv_iter_key(it), "b02"));
    for (unsigned i = 3; i < 40; i++)
        ck_assert(kv_iter_next(it));
    ck_assert(slice_eq_str(kv_iter_key(it), "b39"));
    ck_assert(!kv_iter_next(it));
    close_iter(&it);
}
END_TEST

START_TEST(a_rewind_undoes_what_was_too_large)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t *big = calloc(1, KV_VALUE_MAX);
    struct kv_batch_mark mark;

    open_engine(_i);
    kv_batch_put(b, S("a"), S("1"));
    mark = kv_batch_mark(b);
    kv_batch_put(b, slice_of(big, KV_KEY_MAX + 1), S(""));
    kv_batch_rewind(b, mark);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    /* Half a gigabyte, which no engine sees. */
    for (size_t i = 0; i <= KV_BATCH_MAX / KV_VALUE_MAX && _i == 0; i++)
        kv_batch_put(b, S("b"), slice_of(big, KV_VALUE_MAX));
    ck_assert_int_eq(kv_write(kv, b, NULL), _i == 0 ? ST_LIMIT : ST_OK);
    kv_batch_rewind(b, mark);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    ck_assert_uint_eq(count(), 1);
    kv_batch_free(&b);
    free(big);
}
END_TEST

/* A writer puts the same generation under all keys, batch after batch, and
 * deletes some in between: a scan must see one generation. */
#define WRITER_KEYS 100

static void *
write_generations(void *arg)
{
    atomic_bool *stop = arg;
    struct kv_batch *b = kv_batch_new();
    uint8_t value[300] = { 0 };

    for (unsigned g = 0; g < 30000 && !atomic_load(stop); g++) {
        memcpy(value, &g, sizeof g);
        kv_batch_clear(b);
        for (uint8_t i = 0; i < WRITER_KEYS; i++) {
            if (i % 3 == 0 && g % 2 == 1)
                kv_batch_delete(b, slice_of(&i, 1));
            else
                kv_batch_put(b, slice_of(&i, 1), slice_of(value, 300));
        }
        if (kv_write(kv, b, NULL) != ST_OK)
            abort();
    }
    kv_batch_free(&b);
    return NULL;
}

/* Keys ascend, none is there twice, and each has a whole value. */
static void
check_scan(void)
{
    struct buf last = BUF_INIT;

    it = kv_iter_open(kv, slice_str(""));
    for (bool on = kv_iter_seek(it, S("")); on; on = kv_iter_next(it)) {
        ck_assert_uint_eq(kv_iter_value(it).size, 300);
        ck_assert(last.size == 0 ||
                  slice_cmp(buf_slice(&last), kv_iter_key(it)) < 0);
        buf_clear(&last);
        buf_put_slice(&last, kv_iter_key(it));
    }
    buf_fini(&last);
    close_iter(&it);
}

START_TEST(scans_while_another_thread_writes)
{
    atomic_bool stop = false;
    pthread_t thread;
    struct buf out = BUF_INIT;

    open_engine(_i);
    ck_assert(!pthread_create(&thread, NULL, write_generations, &stop));
    while (lacks(kv, S("\x01")))
        ;
    for (int i = 0; i < 200; i++) {
        check_scan();
        ck_assert_int_eq(kv_get(kv, S("\x01"), &out, NULL), ST_OK);
        ck_assert_uint_eq(out.size, 300);
    }
    atomic_store(&stop, true);
    ck_assert(!pthread_join(thread, NULL));
    buf_fini(&out);
}
END_TEST

static void
note_value(void *ctx, size_t i, const struct slice *value)
{
    struct buf *out = ctx;

    buf_clear(&out[i]);
    if (value != NULL)
        buf_put_slice(&out[i], *value);
    else
        buf_put_str(&out[i], "(absent)");
}

START_TEST(many_keys_are_read_in_one_call)
{
    const struct slice keys[] = { S("b"), S("nowhere"), S(""), S("b"), S("a") };
    const char *const expected[] = { "2", "(absent)", "0", "2", "1" };
    struct buf values[5] = { BUF_INIT };

    open_engine(_i);
    put(kv, S(""), S("0"));
    put(kv, S("a"), S("1"));
    put(kv, S("b"), S("2"));
    ck_assert_int_eq(kv_get_many(kv, keys, 0, note_value, values, NULL), ST_OK);
    ck_assert_int_eq(kv_get_many(kv, keys, 5, note_value, values, NULL), ST_OK);
    for (size_t i = 0; i < 5; i++) {
        ck_assert(slice_eq_str(buf_slice(&values[i]), expected[i]));
        buf_fini(&values[i]);
    }
}
END_TEST

START_TEST(a_swap_sees_what_it_expects)
{
    struct slice one = S("1"), two = S("2"), empty = S("");
    struct error e = { 0 };

    open_engine(_i);
    ck_assert_int_eq(kv_swap(kv, S("k"), &one, S("2"), &e), ST_CONFLICT);
    ck_assert_int_eq(kv_swap(kv, S("k"), &empty, S("2"), &e), ST_CONFLICT);
    ck_assert(lacks(kv, S("k")));
    ck_assert_int_eq(kv_swap(kv, S("k"), NULL, S("1"), &e), ST_OK);
    ck_assert(holds(kv, S("k"), S("1")));
    ck_assert_int_eq(kv_swap(kv, S("k"), NULL, S("2"), &e), ST_CONFLICT);
    ck_assert_int_eq(kv_swap(kv, S("k"), &two, S("3"), &e), ST_CONFLICT);
    ck_assert(holds(kv, S("k"), S("1")));
    ck_assert_int_eq(kv_swap(kv, S("k"), &one, S("2"), &e), ST_OK);
    ck_assert(holds(kv, S("k"), S("2")));
}
END_TEST

START_TEST(a_guarded_batch_is_applied_only_as_expected)
{
    struct slice one = S("1"), two = S("2");
    struct kv_expected expected[] = { { S("ka"), &one },
                                      { S("kb"), NULL },
                                      { S("kc"), &two } };
    struct kv_batch *b = kv_batch_new();

    open_engine(_i);
    put(kv, S("ka"), S("1"));
    put(kv, S("kc"), S("3"));
    kv_batch_put(b, S("kb"), S("new"));
    kv_batch_delete(b, S("ka"));
    kv_batch_put(b, S("kc"), S("4"));
    ck_assert_uint_eq(kv_group(kv, S("ka")), kv_group(kv, S("kb")));
    ck_assert_int_eq(write_if(kv, b, expected, 3), ST_CONFLICT);
    ck_assert(holds(kv, S("ka"), S("1")));
    ck_assert(lacks(kv, S("kb")));
    put(kv, S("kc"), S("2"));
    ck_assert_int_eq(write_if(kv, b, expected, 3), ST_OK);
    ck_assert(lacks(kv, S("ka")));
    ck_assert(holds(kv, S("kb"), S("new")));
    ck_assert(holds(kv, S("kc"), S("4")));
    ck_assert_int_eq(write_if(kv, b, expected, 3), ST_CONFLICT);
    ck_assert_int_eq(write_if(kv, b, NULL, 0), ST_OK);
    kv_batch_free(&b);
}
END_TEST

START_TEST(of_many_guarded_batches_each_is_for_itself)
{
    enum { LEN = 20 };
    struct kv_guarded all[LEN];
    struct kv_batch *batches[LEN];
    struct kv_expected expected[LEN];
    uint8_t keys[LEN];
    struct error e = { 0 };

    open_engine(_i);
    put(kv, S("d"), S("there"));
    for (size_t i = 0; i < LEN; i++) {
        batches[i] = kv_batch_new();
        keys[i] = (uint8_t)('a' + i);
        expected[i] = (struct kv_expected){ slice_of(&keys[i], 1), NULL };
        kv_batch_put(batches[i], expected[i].key, S("new"));
        all[i] = (struct kv_guarded){ batches[i], &expected[i], 1, ST_IO };
    }
    ck_assert_int_eq(kv_write_if_many(kv, all, LEN, &e), ST_OK);
    for (size_t i = 0; i < LEN; i++) {
        ck_assert_int_eq(all[i].status, keys[i] == 'd' ? ST_CONFLICT : ST_OK);
        ck_assert(
            holds(kv, expected[i].key, keys[i] == 'd' ? S("there") : S("new")));
        kv_batch_free(&batches[i]);
    }
}
END_TEST

START_TEST(an_exclusive_part_begins_and_ends)
{
    struct error e = { 0 };
    uint64_t ticket;

    open_engine(_i);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kv_exclusive_begin(kv, "trees", &ticket, &e), ST_OK);
        kv_exclusive_end(kv, "trees", ticket);
    }
}
END_TEST

#define SWAPPERS 4
#define SWAPS(i) ((i) == RADOS ? 100 : 2000) /* round trips */

/* Counts up: what it read last is what it expects. */
static void *
count_up(void *ctx)
{
    uint64_t swaps = SWAPS(engine);
    struct buf value = BUF_INIT;

    for (uint64_t n = 0; n < swaps;) {
        uint64_t now = 0;
        enum status st = kv_get(kv, S("n"), &value, NULL);
        struct slice old = buf_slice(&value);

        if (st == ST_OK)
            memcpy(&now, old.data, sizeof now);
        now++;
        st = kv_swap(kv, S("n"), st == ST_OK ? &old : NULL,
                     slice_of((const uint8_t *)&now, sizeof now), NULL);
        n += st == ST_OK;
        ck_assert(st == ST_OK || st == ST_CONFLICT);
    }
    buf_fini(&value);
    return NULL;
}

START_TEST(swaps_of_many_threads_lose_none)
{
    pthread_t threads[SWAPPERS];
    uint64_t sum = SWAPPERS * SWAPS(_i);

    open_engine(_i);
    if (_i == SLOW) /* two threads may swap in the same value: see kv_swap() */
        kv_slow_set_timeouts(kv, 0);
    for (int i = 0; i < SWAPPERS; i++)
        ck_assert(!pthread_create(&threads[i], NULL, count_up, NULL));
    for (int i = 0; i < SWAPPERS; i++)
        ck_assert(!pthread_join(threads[i], NULL));
    ck_assert(holds(kv, S("n"), slice_of((const uint8_t *)&sum, sizeof sum)));
}
END_TEST

START_TEST(estimates)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t value[92];
    uint64_t state = 1, all, half;
    char key[16];

    open_engine(_i);
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof key, "k%07d", i);
        for (size_t j = 0; j < sizeof value; j++)
            value[j] = (uint8_t)harness_random(&state);
        kv_batch_put(b, slice_str(key), slice_of(value, sizeof value));
    }
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    put(kv, S("another"), S("makes LevelDB write a table"));
    kv_batch_free(&b);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    ck_assert_uint_eq(kv_approximate_bytes(kv, S("z"), S("a")), 0);
    if (engines[_i].counts_tails) { /* the others: what is in tables */
        all = kv_approximate_bytes(kv, S("k"), S("l"));
        half = kv_approximate_bytes(kv, S("k001"), S("l"));
        ck_assert(all > 1000000 && all < 4000000);
        ck_assert(half > all / 4 && half < all);
        half = kv_approximate_bytes(kv, S("k0000010"), S("k0000013"));
        ck_assert(half > 250 && half < 350);
    }
}
END_TEST

/* What was written and synced is there again, in order, deletions too. */
START_TEST(comes_back)
{
    struct kv_batch *b = kv_batch_new();

    open_engine(_i);
    put_sorted();
    put(kv, S("c"), S(""));
    delete (kv, sorted[3]);
    kv_batch_put(b, S("synced"), S("1"));
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    ck_assert_uint_eq(count(), SORTED_LEN + 1);
    reopen();
    if (engines[_i].keeps) {
        ck_assert_uint_eq(count(), SORTED_LEN + 1);
        ck_assert(holds(kv, S("c"), S("")));
        ck_assert(holds(kv, S("synced"), S("1")));
        ck_assert(lacks(kv, sorted[3]));
    } else {
        ck_assert_uint_eq(count(), 0);
    }
    kv_batch_free(&b);
}
END_TEST

/* Keys of two bytes of 0, 1, 0x7f and 0xff: a mask's hints lead an iterator to
 * exactly those that match, as looking at all of them would. */
START_TEST(masks_lead_through_it)
{
    static const uint8_t bytes[] = { 0, 1, 0x7f, 0xff };
    struct mask *m = mask_new();
    uint8_t hint[2];
    size_t found = 0, wanted = 0;
    bool more = true;

    open_engine(_i);
    for (size_t i = 0; i < 16; i++) {
        uint8_t key[2] = { bytes[i / 4], bytes[i % 4] };

        put(kv, slice_of(key, 2), S(""));
        wanted += key[1] >= 1 && key[1] <= 0x7f;
    }
    mask_add_any(m, 1);
    mask_add_steps(m, 0x01, 0x7f, 1, 1);
    it = kv_iter_open(kv, S(""));
    for (bool on = kv_iter_seek(it, S("")); on && more;) {
        more = mask_hint(m, kv_iter_key(it), hint) > 0;
        if (more && slice_eq(kv_iter_key(it), slice_of(hint, 2))) {
            found++;
            on = kv_iter_next(it);
        } else if (more) {
            on = kv_iter_seek(it, slice_of(hint, 2));
        }
    }
    ck_assert_uint_eq(found, wanted);
    ck_assert_uint_ge(kv_iter_counts(it).seeks, 4);
    close_iter(&it);
    mask_free(&m);
}
END_TEST

#define EACH(name) TIMES(name, engines_len())

/* In memory nothing is compressed: padding would only take room. */
START_TEST(engines_have_traits)
{
    open_engine(_i);
    ck_assert_uint_ge(kv_traits(kv)->seek_price, 1);
    ck_assert_int_eq(kv_traits(kv)->wants_padding, engines[_i].pads);
}
END_TEST

TEST_MAIN_WITH(
    NULL, teardown, "kv", EACH(puts_gets_deletes), EACH(engines_have_traits),
    EACH(get_replaces_what_the_buffer_holds), EACH(keys_sort_as_unsigned_bytes),
    EACH(an_iterator_that_stands_nowhere_stays_there), EACH(iterators_count),
    EACH(many_keys_are_read_in_one_call), EACH(a_swap_sees_what_it_expects),
    EACH(a_guarded_batch_is_applied_only_as_expected),
    EACH(of_many_guarded_batches_each_is_for_itself),
    EACH(an_exclusive_part_begins_and_ends),
    EACH(swaps_of_many_threads_lose_none), TEST(a_batch_tells_its_operations),
    EACH(the_last_operation_on_a_key_wins),
    EACH(what_is_over_the_limits_changes_nothing),
    EACH(an_iterator_goes_on_while_keys_change),
    EACH(an_iterator_ends_with_its_prefix),
    EACH(an_iterator_ends_before_its_bound),
    EACH(a_rewind_undoes_what_was_too_large),
    EACH(scans_while_another_thread_writes), EACH(estimates), EACH(comes_back),
    EACH(masks_lead_through_it))
