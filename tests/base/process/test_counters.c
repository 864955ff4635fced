#include "base/process/counters.h"

#include <pthread.h>
#include <string.h>

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

/* Each line has a name, tags of "k=v" or none, a text, and is told apart. */
START_TEST(texts)
{
    for (int c = 0; c < COUNTER_LEN; c++) {
        const struct counter_text *t = counter_text((enum counter)c);

        ck_assert_uint_gt(strlen(t->name), 0);
        ck_assert_uint_gt(strlen(t->text), 0);
        ck_assert(t->tags[0] == '\0' || strchr(t->tags, '=') != NULL);
        ck_assert(strncmp(t->name, "tsd.", 4) != 0);
        for (int other = 0; other < c; other++) {
            const struct counter_text *o = counter_text((enum counter)other);

            ck_assert_msg(strcmp(o->name, t->name) != 0 ||
                              strcmp(o->tags, t->tags) != 0,
                          "twice: %s %s", t->name, t->tags);
        }
    }
}
END_TEST

/* At /metrics: a name by Prometheus' rules; those of one name follow each other
 * and differ in the value of one label. */
START_TEST(metrics)
{
    for (int c = 0; c < COUNTER_LEN; c++) {
        const struct counter_text *t = counter_text((enum counter)c);
        size_t size = strlen(t->metric);
        size_t key = strcspn(t->label, "=");

        ck_assert_uint_eq(strspn(t->metric, "abcdefghijklmnopqrstuvwxyz_"),
                          size);
        ck_assert_msg(size > 6 && strcmp(t->metric + size - 6, "_total") == 0,
                      "%s", t->metric);
        for (int other = 0; other < c; other++) {
            const struct counter_text *o = counter_text((enum counter)other);
            const struct counter_text *next =
                counter_text((enum counter)(other + 1));

            if (strcmp(o->metric, t->metric) != 0)
                continue;
            ck_assert_msg(strcmp(next->metric, t->metric) == 0,
                          "%s: not together", t->metric);
            ck_assert_msg(key > 0 && t->label[key] == '=' &&
                              strncmp(o->label, t->label, key + 1) == 0 &&
                              strcmp(o->label, t->label) != 0,
                          "%s: %s and %s", t->metric, o->label, t->label);
        }
    }
}
END_TEST

TEST_MAIN("counters", TEST(each_counts_for_itself), TEST(threads_lose_nothing),
          TEST(texts), TEST(metrics))
