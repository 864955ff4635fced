#include "config.h"

#include "tsd/put/string_pool.h"

#include "tests/harness.h"

#define NAMES 500

static struct slice
name_of(size_t n, char text[64])
{
    int size = snprintf(text, 64, "%zu%.*s", n, (int)(n % 40),
                        "........................................");

    return slice_of(text, (size_t)size);
}

/* Against an array of counters: equal texts are one text, and go with the last
 * who held them. */
START_TEST(keeps_each_once)
{
    static struct text *held[NAMES];
    static size_t times[NAMES];
    uint64_t state = harness_seed(11);
    struct texts *t = texts_new(state);
    size_t empty = texts_bytes(t), most = 0;
    char text[64];

    for (int i = 0; i < 200000; i++) {
        size_t n = harness_random(&state) % NAMES;
        struct slice s = name_of(n, text);

        /* Ever fewer, then ever more. */
        if (times[n] > 0 &&
            harness_random(&state) % 4 < 1 + (size_t)i / 5000 % 3) {
            text_drop(t, held[n]);
            times[n]--;
        } else {
            struct text *x = text_take(t, s);

            ck_assert(text_eq(x, s.data, s.size));
            ck_assert(times[n] == 0 || x == held[n]);
            held[n] = x;
            times[n]++;
        }
        if (texts_bytes(t) > most)
            most = texts_bytes(t);
    }
    for (size_t n = 0; n < NAMES; n++)
        while (times[n]-- > 0) {
            struct slice s = name_of(n, text);

            ck_assert(text_eq(held[n], s.data, s.size));
            text_drop(t, held[n]);
        }
    ck_assert_uint_gt(most, empty + NAMES * 16);
    /* The table stays as large as it was. */
    ck_assert_uint_le(texts_bytes(t), empty + NAMES * 4 * sizeof(void *));
    texts_free(&t);
}
END_TEST

START_TEST(frees_what_is_held)
{
    struct texts *t = texts_new(1);

    (void)text_take(t, slice_str("a"));
    (void)text_take(t, slice_str(""));
    texts_free(&t);
    ck_assert_ptr_null(t);
}
END_TEST

TEST_MAIN("texts", TEST(keeps_each_once), TEST(frees_what_is_held))
