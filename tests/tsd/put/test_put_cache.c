#include "tsd/put/put_cache.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/harness.h"

#define NAMES 4000

/* "mN" and "h=N", as one of two kinds. */
static struct put_key
key_of(size_t n, char text[32])
{
    int metric = snprintf(text, 16, "m%zu", n % 1000000);
    int tags = snprintf(text + 16, 16, "h=%zu", n % 1000000 / 7);
    struct put_key key = { .metric = (uint8_t *)text,
                           .metric_size = (uint32_t)metric,
                           .tags = (uint8_t *)text + 16,
                           .tags_size = (uint32_t)tags,
                           .kind = n % 2 == 0 ? PUT_TELNET : PUT_JSON };

    return key;
}

static series_ref
find(struct put_cache *c, size_t n)
{
    char text[32];
    struct put_key key = key_of(n, text);
    struct put_guess guess = { 0 };
    series_ref ref;

    put_cache_find(c, &key, 1, &ref, &guess);
    return ref;
}

static void
add(struct put_cache *c, size_t n, series_ref ref)
{
    char text[32];
    struct put_key key = key_of(n, text);

    put_cache_add(c, &key, ref, put_cache_epoch(c));
}

/* As 'uid delete' does while a batch has looked up, and not added yet. */
START_TEST(adds_nothing_from_before_a_clear)
{
    struct put_cache *c = put_cache_new(NAMES, SIZE_MAX);
    char text[32];
    struct put_key key = key_of(3, text);
    uint64_t epoch = put_cache_epoch(c);

    put_cache_clear(c);
    put_cache_add(c, &key, 5, epoch);
    ck_assert_uint_eq(find(c, 3), SERIES_REF_NONE);
    put_cache_add(c, &key, 5, put_cache_epoch(c));
    ck_assert_uint_eq(find(c, 3), 5);
    put_cache_free(&c);
}
END_TEST

START_TEST(finds_what_was_added)
{
    struct put_cache *c = put_cache_new(NAMES, SIZE_MAX);

    for (size_t i = 0; i < NAMES; i++) {
        ck_assert_uint_eq(find(c, i), SERIES_REF_NONE);
        add(c, i, i + 1);
    }
    for (size_t i = 0; i < NAMES; i++)
        ck_assert_uint_eq(find(c, i), i + 1);
    add(c, 17, 99);
    ck_assert_uint_eq(find(c, 17), 99);
    put_cache_clear(c);
    ck_assert_uint_eq(find(c, 17), SERIES_REF_NONE);
    put_cache_free(&c);
}
END_TEST

START_TEST(tells_texts_apart)
{
    struct put_cache *c = put_cache_new(100, SIZE_MAX);
    /* The same bytes, cut elsewhere, or of the other kind. */
    struct put_key keys[] = {
        { (const uint8_t *)"ab", (const uint8_t *)"c", 2, 1, PUT_TELNET },
        { (const uint8_t *)"a", (const uint8_t *)"bc", 1, 2, PUT_TELNET },
        { (const uint8_t *)"ab", (const uint8_t *)"c", 2, 1, PUT_JSON },
        { (const uint8_t *)"ab", (const uint8_t *)"d", 2, 1, PUT_TELNET },
    };
    struct put_guess guess = { 0 };
    series_ref refs[4];

    for (size_t i = 0; i < 4; i++)
        put_cache_add(c, &keys[i], i + 1, put_cache_epoch(c));
    put_cache_find(c, keys, 4, refs, &guess);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(refs[i], i + 1);
    put_cache_free(&c);
}
END_TEST

/* A full cache is emptied, and filled again by what is still sent. */
START_TEST(empties_when_full)
{
    struct put_cache *c = put_cache_new(100, SIZE_MAX);

    for (size_t i = 0; i < 1000; i++) {
        add(c, i, i + 1);
        ck_assert_uint_eq(find(c, i), i + 1);
    }
    ck_assert_uint_eq(find(c, 899), SERIES_REF_NONE);
    ck_assert_uint_eq(find(c, 900), 901);
    put_cache_free(&c);
}
END_TEST

START_TEST(stays_within_its_bytes)
{
    enum { BYTES = 200000, ENTRY_BYTES = 60 }; /* one takes more */
    struct put_cache *c = put_cache_new(SIZE_MAX, BYTES);
    size_t found = 0;

    for (size_t i = 0; i < 50000; i++)
        add(c, i, i + 1);
    for (size_t i = 0; i < 50000; i++)
        found += find(c, i) != SERIES_REF_NONE;
    ck_assert_uint_gt(found, 100);
    ck_assert_uint_lt(found * ENTRY_BYTES, BYTES);
    put_cache_free(&c);
}
END_TEST

/* Against an array: what is found is what was added last, whatever went away
 * in between. */
START_TEST(never_answers_wrong)
{
    static series_ref model[NAMES];
    uint64_t state = harness_seed(3);
    struct put_cache *c = put_cache_new(NAMES / 2, SIZE_MAX);
    size_t hits = 0;

    for (int i = 0; i < harness_rounds(300000); i++) {
        size_t n = harness_random(&state) % NAMES;
        series_ref ref;

        if (harness_random(&state) % 3 == 0) {
            model[n] = 1 + harness_random(&state) % 1000;
            add(c, n, model[n]);
            ck_assert_uint_eq(find(c, n), model[n]);
            continue;
        }
        ref = find(c, n);
        ck_assert(ref == SERIES_REF_NONE || ref == model[n]);
        hits += ref != SERIES_REF_NONE;
    }
    ck_assert_uint_gt(hits, (size_t)harness_rounds(50000));
    put_cache_free(&c);
}
END_TEST

/* Rounds of batches, in one order, then in another, with callers in between
 * and entries that go away: the guess is never believed. */
START_TEST(guesses_and_checks)
{
    enum { ROUND = 300 };
    static char texts[ROUND][32];
    static struct put_key keys[ROUND];
    static size_t names[ROUND];
    static series_ref refs[ROUND], model[NAMES];
    uint64_t state = harness_seed(5);
    struct put_cache *c = put_cache_new(NAMES / 2, SIZE_MAX);
    struct put_guess guesses[2] = { { 0 }, { 0 } };
    size_t hits = 0;

    for (size_t i = 0; i < ROUND; i++)
        names[i] = i;
    for (int round = 0; round < 400; round++) {
        size_t from = harness_random(&state) % ROUND;

        for (size_t i = 0; i < ROUND; i++) {
            size_t n = names[(from + i) % ROUND];

            refs[i] = 77;
            keys[i] = key_of(n, texts[i]);
        }
        put_cache_find(c, keys, ROUND, refs, &guesses[round % 2]);
        for (size_t i = 0; i < ROUND; i++) {
            size_t n = names[(from + i) % ROUND];

            ck_assert(refs[i] == SERIES_REF_NONE || refs[i] == model[n]);
            hits += refs[i] != SERIES_REF_NONE;
        }
        for (size_t i = 0; i < ROUND; i++) {
            size_t n = names[(from + i) % ROUND];

            if (refs[i] == SERIES_REF_NONE || harness_random(&state) % 50 == 0)
                put_cache_add(c, &keys[i], model[n] = (series_ref)round + 1,
                              put_cache_epoch(c));
        }
        for (size_t i = 0; i < harness_random(&state) % 8; i++)
            names[harness_random(&state) % ROUND] =
                harness_random(&state) % NAMES;
        if (harness_random(&state) % 100 == 0)
            put_cache_clear(c);
        for (size_t i = 0; i < harness_random(&state) % 100; i++) {
            size_t n = harness_random(&state) % NAMES;

            model[n] = (series_ref)round + 1;
            add(c, n, model[n]);
        }
    }
    ck_assert_uint_gt(hits, 50000);
    put_cache_free(&c);
}
END_TEST

struct crowd {
    struct put_cache *cache;
    atomic_size_t wrong, hits;
    atomic_uint next;
};

static void *
read_and_write(void *arg)
{
    struct crowd *x = arg;
    uint64_t state = atomic_fetch_add(&x->next, 1);

    for (int i = 0; i < 30000; i++) {
        size_t n = harness_random(&state) % NAMES;
        series_ref ref = find(x->cache, n);

        if (ref == SERIES_REF_NONE)
            add(x->cache, n, n + 1);
        else if (ref == n + 1)
            (void)atomic_fetch_add(&x->hits, 1);
        else
            (void)atomic_fetch_add(&x->wrong, 1);
        if (i % 10000 == 9999)
            put_cache_clear(x->cache);
    }
    return NULL;
}

START_TEST(serves_many_threads)
{
    struct crowd x = { .cache = put_cache_new(NAMES / 2, SIZE_MAX) };
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_and_write, &x),
                         0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(x.wrong, 0);
    ck_assert_uint_gt(x.hits, 1000);
    put_cache_free(&x.cache);
}
END_TEST

TEST_MAIN("put_cache", TEST(finds_what_was_added),
          TEST(adds_nothing_from_before_a_clear), TEST(tells_texts_apart),
          TEST(empties_when_full), TEST(stays_within_its_bytes),
          TEST(never_answers_wrong), TEST(guesses_and_checks),
          TEST(serves_many_threads))
