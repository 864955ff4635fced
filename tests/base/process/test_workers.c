#include "base/process/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/process/lock.h"
#include "tests/harness.h"

#define TASKS 1000

struct tally {
    struct workers *workers;
    _Atomic unsigned times[TASKS];
};

static void
tick(void *ctx, size_t i)
{
    struct tally *t = ctx;

    atomic_fetch_add(&t->times[i], 1);
}

static const size_t thread_counts[] = { 0, 1, 2, 7 };

START_TEST(runs_each_once)
{
    static const size_t lens[] = { 0, 1, 2, 16, TASKS };
    struct tally t = { .workers = workers_new(thread_counts[_i]) };

    for (unsigned round = 1; round <= 20; round++) {
        for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
            memset(t.times, 0, sizeof t.times);
            workers_run(t.workers, lens[k], tick, &t);
            for (size_t i = 0; i < TASKS; i++)
                ck_assert_uint_eq(atomic_load(&t.times[i]), i < lens[k]);
        }
    }
    workers_free(&t.workers);
    ck_assert_ptr_null(t.workers);
    workers_free(&t.workers);
}
END_TEST

static void
run_more(void *ctx, size_t i)
{
    struct tally *t = ctx;

    (void)i;
    workers_run(t->workers, TASKS, tick, t);
}

/* A task may run tasks: its thread helps itself. */
START_TEST(runs_may_nest)
{
    struct tally t = { .workers = workers_new(thread_counts[_i]) };

    workers_run(t.workers, 20, run_more, &t);
    for (size_t i = 0; i < TASKS; i++)
        ck_assert_uint_eq(atomic_load(&t.times[i]), 20);
    workers_free(&t.workers);
}
END_TEST

static void *
run_from_thread(void *arg)
{
    struct tally *t = arg;

    for (int i = 0; i < 10; i++)
        workers_run(t->workers, TASKS, tick, t);
    return NULL;
}

START_TEST(many_may_run_at_once)
{
    struct tally t = { .workers = workers_new(thread_counts[_i]) };
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_from_thread, &t),
                         0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < TASKS; i++)
        ck_assert_uint_eq(atomic_load(&t.times[i]), 40);
    workers_free(&t.workers);
}
END_TEST

struct meeting {
    struct lock lock;
    struct cond all_here;
    size_t here, expected;
};

static void
meet(void *ctx, size_t i)
{
    struct meeting *m = ctx;

    (void)i;
    lock_take(&m->lock);
    if (++m->here == m->expected)
        cond_broadcast(&m->all_here);
    while (m->here < m->expected)
        cond_wait(&m->all_here, &m->lock);
    lock_drop(&m->lock);
}

/* Three threads and the caller: four tasks that wait for one another end. */
START_TEST(runs_side_by_side)
{
    struct workers *p = workers_new(3);
    struct meeting m = { .lock = LOCK_INIT, .expected = 4 };

    cond_init(&m.all_here);
    workers_run(p, 4, meet, &m);
    ck_assert_uint_eq(m.here, 4);
    cond_fini(&m.all_here);
    lock_fini(&m.lock);
    workers_free(&p);
}
END_TEST

TEST_MAIN("workers", LOOP(runs_each_once, thread_counts),
          LOOP(runs_may_nest, thread_counts),
          LOOP(many_may_run_at_once, thread_counts), TEST(runs_side_by_side))
