#include "base/process/log_throttle.h"

#include <pthread.h>

#include "tests/harness.h"

/* The throttle's minute is over. */
static void
end_minute(struct log_throttle *t)
{
    atomic_store(&t->next_us, 0);
}

START_TEST(the_first_and_then_a_count)
{
    struct log_throttle t = { 0 };
    char more[LOG_MORE_SIZE];

    ck_assert(log_throttle_pass(&t, more));
    ck_assert_str_eq(more, "");
    for (int i = 0; i < 12; i++)
        ck_assert(!log_throttle_pass(&t, more));
    end_minute(&t);
    ck_assert(log_throttle_pass(&t, more));
    ck_assert_str_eq(more, " (12 more of this kind before it)");
    end_minute(&t);
    ck_assert(log_throttle_pass(&t, more));
    ck_assert_str_eq(more, "");
    ck_assert(!log_throttle_pass(&t, more));
}
END_TEST

static atomic_uint passed;

static void *
pass_often(void *throttle)
{
    char more[LOG_MORE_SIZE];

    for (int i = 0; i < 1000; i++)
        passed += log_throttle_pass(throttle, more);
    return NULL;
}

START_TEST(one_thread_logs)
{
    struct log_throttle t = { 0 };
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pass_often, &t), 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(passed, 1);
    /* Those which came before the line are part of it. */
    ck_assert_uint_le(atomic_load(&t.events), 3999);
}
END_TEST

TEST_MAIN("log_throttle", TEST(the_first_and_then_a_count),
          TEST(one_thread_logs))
