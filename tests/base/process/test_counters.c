#include "base/process/counters.h"

#include <pthread.h>

#include "tests/harness.h"

START_TEST(each_counts_for_itself)
{
    counter_add(CNT_RPC_PUT, 3);
    counter_add(CNT_RPC_PUT, 4);
    for (int c = 0; c < COUNTER_LEN; c++)
        ck_assert_uint_eq(counter_get((enum counter)c),
                          c == CNT_RPC_PUT ? 7 : 0);
}
END_TEST

static void *
add(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10000; i++)
        counter_add(CNT_POINTS_ADDED, 1);
    return NULL;
}

START_TEST(threads_lose_nothing)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(counter_get(CNT_POINTS_ADDED), 40000);
}
END_TEST

TEST_MAIN("counters", TEST(each_counts_for_itself), TEST(threads_lose_nothing))
