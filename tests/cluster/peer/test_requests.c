/* cluster/peer/requests.h: order, who may begin, the end. */
#include "cluster/peer/requests.h"

#include <pthread.h>

#include "tests/harness.h"

#define WORKERS 3

static void
add(struct requests *q, uint8_t type, uint64_t number)
{
    struct frame f = { .type = type,
                       .number = number,
                       .payload = slice_str("payload") };

    requests_add(q, &f);
}

static struct request *
take(struct requests *q, uint64_t number)
{
    struct request *r = requests_take(q);

    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->number, number);
    ck_assert(slice_eq_str(r->payload, "payload"));
    return r;
}

START_TEST(one_worker_is_left_for_heads)
{
    struct request *first, *second;
    struct requests q;

    requests_init(&q, WORKERS, 1000);
    add(&q, FRAME_LAST, 1);
    add(&q, FRAME_LAST, 2);
    add(&q, FRAME_LAST, 3);
    add(&q, FRAME_HEAD, 4);
    first = take(&q, 1);
    second = take(&q, 2);
    requests_done(&q, take(&q, 4));
    requests_done(&q, first);
    requests_done(&q, take(&q, 3));
    requests_done(&q, second);
    requests_fini(&q);
}
END_TEST

START_TEST(one_that_takes_long_is_served_at_a_time)
{
    struct request *first;
    struct requests q;

    requests_init(&q, WORKERS, 1000);
    add(&q, FRAME_DELETE, 1);
    add(&q, FRAME_FLUSH, 2);
    add(&q, FRAME_LAST, 3);
    first = take(&q, 1);
    requests_done(&q, take(&q, 3));
    requests_done(&q, first);
    requests_done(&q, take(&q, 2));
    requests_fini(&q);
}
END_TEST

/* The last of the queue is taken out of its midst: the next one is behind what
 * is left. */
START_TEST(what_is_added_comes_last)
{
    struct request *first;
    struct requests q;

    requests_init(&q, WORKERS, 1000);
    add(&q, FRAME_DELETE, 1);
    first = take(&q, 1);
    add(&q, FRAME_FLUSH, 2);
    add(&q, FRAME_HEAD, 3);
    requests_done(&q, take(&q, 3));
    add(&q, FRAME_HEAD, 4);
    requests_done(&q, first);
    requests_done(&q, take(&q, 2));
    requests_done(&q, take(&q, 4));
    requests_fini(&q);
}
END_TEST

static void *
add_many(void *arg)
{
    for (uint64_t i = 1; i <= 10 * REQUESTS_MAX; i++)
        add(arg, FRAME_HEAD, i);
    return NULL;
}

START_TEST(who_adds_waits_for_room)
{
    static const size_t bounds[] = { 1, 20, 1000000 };
    struct requests q;
    pthread_t t;

    requests_init(&q, WORKERS, bounds[_i]);
    ck_assert_int_eq(pthread_create(&t, NULL, add_many, &q), 0);
    for (uint64_t i = 1; i <= 10 * REQUESTS_MAX; i++) {
        struct request *r = take(&q, i);

        lock_take(&q.lock);
        ck_assert_uint_le(q.len, REQUESTS_MAX);
        ck_assert(q.len <= 1 || q.bytes <= bounds[_i]);
        lock_drop(&q.lock);
        requests_done(&q, r);
    }
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    requests_fini(&q);
}
END_TEST

static void *
take_none(void *arg)
{
    return requests_take(arg);
}

START_TEST(the_end_wakes_workers)
{
    struct requests q;
    pthread_t t;
    void *taken;

    requests_init(&q, WORKERS, 1000);
    ck_assert_int_eq(pthread_create(&t, NULL, take_none, &q), 0);
    requests_end(&q);
    ck_assert_int_eq(pthread_join(t, &taken), 0);
    ck_assert_ptr_null(taken);
    add(&q, FRAME_HEAD, 1); /* freed with the queue */
    ck_assert_ptr_null(requests_take(&q));
    requests_fini(&q);
}
END_TEST

TEST_MAIN("requests", TEST(one_worker_is_left_for_heads),
          TEST(one_that_takes_long_is_served_at_a_time),
          TEST(what_is_added_comes_last), TIMES(who_adds_waits_for_room, 3),
          TEST(the_end_wakes_workers))
