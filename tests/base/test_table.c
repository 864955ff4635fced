#include "base/table.h"

#include "base/hash.h"
#include "tests/harness.h"

enum { KEYS = 400 };

static bool
is_key(const void *ctx, uint32_t i, const void *key)
{
    return ((const uint64_t *)ctx)[i] == *(const uint64_t *)key;
}

/* Few hashes: keys evade each other, and around the end of the table. */
static uint64_t
hash_of(uint64_t key, uint64_t classes)
{
    return (hash_bytes(&key, sizeof key, 0) % classes) - classes / 2;
}

/* Against a plain array of which keys are there. */
START_TEST(does_what_a_plain_array_does)
{
    static const uint64_t classes[] = { 1, 7, 64, UINT32_MAX };
    uint64_t state = harness_seed((unsigned long)_i), keys[KEYS];
    struct hash_table t = { 0 };
    bool there[KEYS] = { false };
    size_t len = 0;

    for (size_t i = 0; i < KEYS; i++)
        keys[i] = i * 1000;
    for (int n = 0; n < harness_rounds(4000); n++) {
        uint32_t i = (uint32_t)(harness_random(&state) % KEYS);
        uint64_t h = hash_of(keys[i], classes[_i]);

        ck_assert_uint_eq(table_find(&t, h, is_key, keys, &keys[i]),
                          there[i] ? i : TABLE_NONE);
        if (there[i])
            table_remove(&t, h, i);
        else if (n % 2 == 0)
            table_add(&t, h, i);
        else
            ck_assert(table_try_add(&t, h, i));
        there[i] = !there[i];
        len += there[i] ? 1 : SIZE_MAX;
        ck_assert_uint_eq(t.len, len);
    }
    for (uint32_t i = 0; i < KEYS; i++)
        ck_assert_uint_eq(table_find(&t, hash_of(keys[i], classes[_i]), is_key,
                                     keys, &keys[i]),
                          there[i] ? i : TABLE_NONE);
    table_fini(&t);
    ck_assert_uint_eq(table_find(&t, 0, is_key, keys, &keys[0]), TABLE_NONE);
}
END_TEST

TEST_MAIN("table", TIMES(does_what_a_plain_array_does, 4))
