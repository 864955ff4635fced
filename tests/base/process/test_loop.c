#include "base/process/loop.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/harness.h"

/* Echoes bytes. */
struct echo_conn {
    struct loop_conn link;
    struct watch socket;
};

struct echo {
    struct loop loop;
    atomic_int woken, ticks, stopped, seen_dead;
};

static void
end_one(struct echo *x, struct echo_conn *c)
{
    loop_watch(&x->loop, &c->socket, 0);
    (void)close(c->socket.fd);
    loop_end(&x->loop, &c->link);
}

/* "x" ends the connection and the one that is older. */
static void
on_event(void *ctx, uint64_t data, uint32_t events)
{
    struct echo *x = ctx;
    struct echo_conn *c = (struct echo_conn *)(uintptr_t)data;
    char byte = 0;

    if (c == NULL) {
        (void)atomic_fetch_add(&x->woken, 1);
        return;
    }
    if (c->link.dead) {
        (void)atomic_fetch_add(&x->seen_dead, 1);
        return;
    }
    ck_assert((events & EPOLLIN) != 0);
    ck_assert_int_eq(recv(c->socket.fd, &byte, 1, 0), 1);
    if (byte != 'x') {
        ck_assert_int_eq(send(c->socket.fd, &byte, 1, 0), 1);
        return;
    }
    if (c->link.next != NULL)
        end_one(x, (struct echo_conn *)c->link.next);
    end_one(x, c);
}

static void
on_tick(void *ctx, int64_t now_us)
{
    (void)now_us;
    (void)atomic_fetch_add(&((struct echo *)ctx)->ticks, 1);
}

static void
on_stop(void *ctx)
{
    struct echo *x = ctx;
    struct loop_conn *c;

    (void)atomic_fetch_add(&x->stopped, 1);
    while ((c = loop_oldest(&x->loop)) != NULL)
        end_one(x, (struct echo_conn *)c);
}

static const struct loop_calls calls = { .event = on_event,
                                         .tick = on_tick,
                                         .stop = on_stop };
static const struct loop_calls lingering = {
    .event = on_event, .tick = on_tick, .stop = on_stop, .lingers = true
};

static void
start(struct echo *x, const struct loop_calls *c)
{
    struct error e;

    *x = (struct echo){ .woken = 0 };
    ck_assert_int_eq(loop_init(&x->loop, c, x, 10, &e), ST_OK);
    ck_assert_int_eq(loop_start(&x->loop, &e), ST_OK);
}

/* A socket that could not be watched is one that is not, until it can be. */
START_TEST(watches_again_after_a_failure)
{
    struct echo x;
    struct watch w = { .fd = -1, .data = 1 };
    struct epoll_event ev;
    int pair[2];

    ck_assert_int_eq(loop_init(&x.loop, &calls, &x, 10, NULL), ST_OK);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    loop_watch(&x.loop, &w, EPOLLIN);
    ck_assert_uint_eq(w.events, 0);
    w.fd = pair[0];
    loop_watch(&x.loop, &w, EPOLLIN);
    ck_assert_uint_eq(w.events, EPOLLIN);
    ck_assert_int_eq(send(pair[1], "a", 1, 0), 1);
    ck_assert_int_eq(epoll_wait(x.loop.epoll, &ev, 1, 60000), 1);
    ck_assert_uint_eq(ev.data.u64, w.data);
    w.fd = -1;
    loop_watch(&x.loop, &w, EPOLLOUT);
    ck_assert_uint_eq(w.events, EPOLLIN);
    (void)close(pair[0]);
    (void)close(pair[1]);
    loop_fini(&x.loop);
}
END_TEST

/* Returns the other end. */
static int
add(struct echo *x)
{
    struct echo_conn *c = mem_new(sizeof *c);
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    c->socket = (struct watch){ .fd = pair[0], .data = (uintptr_t)c };
    ck_assert(loop_add(&x->loop, &c->link, &c->socket, EPOLLIN));
    return pair[1];
}

static char
exchange(int fd, char byte)
{
    ck_assert_int_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
    return recv(fd, &byte, 1, 0) == 1 ? byte : '\0';
}

static void
wait_until(atomic_int *n, int most)
{
    for (int i = 0; atomic_load(n) < most && i < 10000; i++)
        (void)usleep(1000);
    ck_assert_int_ge(atomic_load(n), most);
}

START_TEST(calls_for_events_wakes_and_ticks)
{
    struct echo x;
    int a, b;

    start(&x, &calls);
    a = add(&x);
    b = add(&x);
    ck_assert_int_eq(exchange(a, 'a'), 'a');
    ck_assert_int_eq(exchange(b, 'b'), 'b');
    loop_wake(&x.loop);
    wait_until(&x.woken, 1);
    wait_until(&x.ticks, 2);
    loop_stop(&x.loop);
    ck_assert_int_eq(atomic_load(&x.stopped), 1);
    ck_assert_ptr_null(loop_next(&x.loop, NULL));
    loop_fini(&x.loop);
    ck_assert_int_eq(recv(a, &(char){ 0 }, 1, 0), 0);
    (void)close(a);
    (void)close(b);
}
END_TEST

START_TEST(frees_what_ended_after_the_turn)
{
    struct echo x;

    start(&x, &calls);
    for (int i = 0; i < 100; i++) {
        int a = add(&x), b = add(&x);

        /* The older one may have an event in the same turn. */
        ck_assert_int_eq(send(a, "y", 1, MSG_NOSIGNAL), 1);
        ck_assert_int_eq(exchange(b, 'x'), '\0');
        (void)close(a);
        (void)close(b);
    }
    loop_stop(&x.loop);
    ck_assert_ptr_null(loop_next(&x.loop, NULL));
    ck_assert_ptr_null(loop_oldest(&x.loop));
    loop_fini(&x.loop);
}
END_TEST

START_TEST(lingers_until_none_is_left)
{
    struct echo x;
    int a;

    start(&x, &lingering);
    a = add(&x);
    loop_ask_to_stop(&x.loop, 60000);
    ck_assert_int_eq(exchange(a, 'a'), 'a');
    ck_assert_int_eq(exchange(a, 'x'), '\0');
    loop_join(&x.loop);
    loop_fini(&x.loop);
    (void)close(a);
    start(&x, &lingering);
    a = add(&x);
    loop_ask_to_stop(&x.loop, 1);
    loop_join(&x.loop);
    loop_fini(&x.loop);
    ck_assert_int_eq(recv(a, &(char){ 0 }, 1, 0), 0);
    (void)close(a);
}
END_TEST

TEST_MAIN("loop", TEST(watches_again_after_a_failure),
          TEST(calls_for_events_wakes_and_ticks),
          TEST(frees_what_ended_after_the_turn),
          TEST(lingers_until_none_is_left))
