/* Many clients at once, clients that hang up, and stopping in between. */
#include "web/mhd/http_priv.h"
#include "tests/web/rig.h"

/* -- many ------------------------------------------------------------------ */

enum { CLIENTS = 200, ROUNDS = 5 };

START_TEST(serves_many_at_once)
{
    int fds[CLIENTS];
    char text[256];

    rig_start(&(struct http_options){ .chunked = true, .threads = 3 });
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = rig_connect();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++) {
            (void)snprintf(
                text, sizeof text,
                "POST /api/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
                "<%03d.%03d>",
                i % 2 == 0 ? "work" : "echo", i, round);
            rig_send(fds[i], text);
        }
        for (int i = CLIENTS - 1; i >= 0; i--) {
            struct answer a = rig_read(fds[i]);

            ck_assert_uint_eq(a.status, 200);
            (void)snprintf(text, sizeof text, "\"<%03d.%03d>\"", i, round);
            ck_assert_msg(strstr(rig_body(&a), text) != NULL, "%s",
                          rig_body(&a));
            buf_fini(&a.body);
        }
    }
    ck_assert_uint_eq(rig_count(&rig.closed), 0);
    for (int i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);
    ck_assert(rig_wait(&rig.closed, CLIENTS));
}
END_TEST

struct talker {
    pthread_t thread;
    uint64_t seed;
};

/* Connects, talks, breaks off at odd places, again and again. */
static void *
talk(void *arg)
{
    static const char text[] =
        "POST /api/work?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "GET /api/large?n=70000 HTTP/1.1\r\nHost: x\r\nAccept-Encoding: "
        "gzip\r\n\r\n"
        "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\n";
    struct talker *t = arg;

    for (int i = 0; i < 60; i++) {
        size_t size = harness_random(&t->seed) % (2 * sizeof text);
        int fd = rig_connect();
        struct linger reset = { 1, 0 };

        if (size > sizeof text - 1)
            size = sizeof text - 1;
        rig_send_bytes(fd, text, size);
        for (int k = 0; k < 3 && size == sizeof text - 1; k++) {
            struct answer a = rig_read(fd);

            ck_assert_uint_eq(a.status, 200);
            buf_fini(&a.body);
        }
        if (harness_random(&t->seed) % 2 == 0)
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        (void)close(fd);
    }
    return NULL;
}

START_TEST(survives_disorder)
{
    uint64_t seed = harness_seed(4242);
    struct talker talkers[4];

    /* a short tick of the watchdog, for those that hung up */
    rig_start(&(struct http_options){ .chunked = true, .head_ms = 400 });
    for (size_t i = 0; i < 4; i++) {
        talkers[i] = (struct talker){ .seed = seed + i };
        ck_assert_int_eq(
            pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        (void)pthread_join(talkers[i].thread, NULL);
    ck_assert(rig_wait(&rig.closed, 4 * 60));
    ck_assert_uint_eq(budget_used(&rig.server->bodies), 0);
}
END_TEST

/* -- hanging up ------------------------------------------------------------ */

/* The endpoint learns that its client left: by FIN, by a reset, with bytes of a
 * next request unread. */
START_TEST(notices_hang_up)
{
    struct linger reset = { 1, 0 };
    int fd;

    rig_start(&(struct http_options){ .chunked = true });
    fd = rig_connect();
    rig_send(fd, "GET /api/hold HTTP/1.1\r\nHost: x\r\n\r\n");
    if (_i == 2)
        rig_send(fd, "GET /api/echo HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(rig_wait(&rig.inside, 1));
    ck_assert_uint_eq(rig_count(&rig.gone), 0);
    if (_i == 1)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    (void)close(fd);
    ck_assert(rig_wait(&rig.gone, 1));
    ck_assert(rig_wait(&rig.closed, 1));
}
END_TEST

/* Bytes and FIN in one: nothing is left behind, whatever state it was in. */
START_TEST(forgets_half_closed)
{
    static const char *const texts[] = {
        "G", "GET /api/echo HTTP/1.1\r\nHost: x\r\nX:",
        "GET /api/work HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab", ""
    };
    int fds[5];

    /* the times are far away, but for the tick that comes from them */
    rig_start(&(struct http_options){
        .head_ms = 400, .body_ms = 100000, .idle_ms = 100000 });
    for (int i = 0; i < 5; i++) {
        fds[i] = rig_connect();
        rig_send(fds[i], texts[i]);
        (void)shutdown(fds[i], SHUT_WR);
    }
    ck_assert(rig_wait(&rig.closed, 5));
    for (int i = 0; i < 5; i++)
        (void)close(fds[i]);
}
END_TEST

/* ... but one that waits for its answer gets it. */
START_TEST(answers_half_closed)
{
    struct answer a;
    int fd;

    rig_start(&(struct http_options){ .head_ms = 40 });
    fd = rig_connect();
    rig_send(fd, "GET /api/slow?stay HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)shutdown(fd, SHUT_WR);
    ck_assert(rig_wait(&rig.inside, 1));
    (void)poll(NULL, 0, 100); /* ten ticks of the watchdog */
    rig_open_gate();
    a = rig_read(fd);
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
    (void)close(fd);
}
END_TEST

/* -- stopping -------------------------------------------------------------- */

static void *
stop(void *arg)
{
    http_server_stop(&rig.server, 3000);
    return NULL;
}

/* What is under way is finished and its answer sent; idle connections go. */
START_TEST(stops_gently)
{
    struct answer a;
    pthread_t thread;
    int busy, idle, half;

    rig_start(&(struct http_options){ .workers = 1 });
    idle = rig_connect();
    rig_send(idle, "GET /api/echo HTTP/1.1\r\nHost: x\r\n\r\n");
    a = rig_read(idle);
    buf_fini(&a.body);
    half = rig_connect();
    rig_send(half, "GET /api");
    busy = rig_connect();
    rig_send(busy, "GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(rig_wait(&rig.inside, 1));
    ck_assert_int_eq(pthread_create(&thread, NULL, stop, NULL), 0);
    (void)poll(NULL, 0, 30);
    rig_open_gate();
    a = rig_read(busy);
    ck_assert_uint_eq(a.status, 200);
    ck_assert_str_eq(rig_body(&a), "\"slow\"");
    ck_assert_ptr_nonnull(strcasestr(a.head, "\r\nConnection: close\r\n"));
    ck_assert(rig_is_closed(busy));
    ck_assert(rig_is_closed(idle));
    ck_assert(rig_is_closed(half));
    (void)pthread_join(thread, NULL);
    ck_assert_uint_eq(rig_count(&rig.closed), 3);
    buf_fini(&a.body);
    (void)close(busy);
    (void)close(idle);
    (void)close(half);
}
END_TEST

/* Without deadline: running ones are told, waiting ones rejected, and so are
 * new sockets. */
START_TEST(stops_at_once)
{
    enum { N = 6 };
    int fds[N];

    rig_start(&(struct http_options){ .workers = 2 });
    for (int i = 0; i < N; i++) {
        fds[i] = rig_connect();
        rig_send(fds[i], "GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    ck_assert(rig_wait(&rig.inside, 2));
    http_server_stop(&rig.server, 0);
    ck_assert_uint_eq(rig_count(&rig.closed), N);
    ck_assert_uint_eq(rig.served, 2);
    for (int i = 0; i < N; i++) {
        struct answer a = rig_read(fds[i]);

        ck_assert(a.status == 200 || a.status == 503 || a.status == 0);
        buf_fini(&a.body);
        (void)close(fds[i]);
    }
}
END_TEST

/* Stop at any moment of many requests: every connection ends, once. */
START_TEST(stops_in_the_middle)
{
    for (int round = 0; round < 20; round++) {
        int fds[30];

        rig_start(&(struct http_options){ .workers = 2 });
        for (int i = 0; i < 30; i++) {
            fds[i] = rig_connect();
            rig_send(fds[i],
                     i % 3 == 0 ? "GET /api/work HTTP/1.1\r\nHost: x\r\n\r\n"
                     : i % 3 == 1
                         ? "GET /api/large?n=9999 HTTP/1.1\r\nHost: x\r\n\r\n"
                         : "POST /api/work HTTP/1.1\r\nHost: x\r\n"
                           "Content-Length: 9\r\n\r\nab");
            if (i == round)
                (void)poll(NULL, 0, 1);
        }
        http_server_stop(&rig.server, round % 2 == 0 ? 0 : 20);
        ck_assert_uint_eq(rig_count(&rig.closed), 30);
        for (int i = 0; i < 30; i++)
            (void)close(fds[i]);
    }
}
END_TEST

/* One thread is a case of its own for libmicrohttpd. */
START_TEST(works_with_few_threads)
{
    struct http_server *s = NULL;

    rig_start(&(struct http_options){ .threads = 1, .workers = 1 });
    for (int i = 0; i < 20; i++) {
        struct answer a =
            rig_ask(i % 2 == 0 ? "GET /api/work HTTP/1.1\r\nHost: x\r\n\r\n"
                               : "GET /api/echo HTTP/1.1\r\nHost: x\r\n\r\n");

        ck_assert_uint_eq(a.status, 200);
        buf_fini(&a.body);
    }
    http_server_stop(&s, 0); /* NULL is stopped already */
}
END_TEST

/* The server may count the last request for a while after its answer came: so
 * what another request's absence brings is waited for. */
static void
quick_is(const char *request, const char *want)
{
    int64_t end_us = clock_monotonic_us() + 60000000;
    bool same;

    do {
        struct answer a = rig_ask(request);

        ck_assert_uint_eq(a.status, 200);
        same = strcmp(rig_body(&a), want) == 0;
        buf_fini(&a.body);
    } while (!same && strcmp(want, "later") != 0 &&
             clock_monotonic_us() < end_us);
    ck_assert_msg(same, "not %s", want);
}

/* On the connection's thread, unless another request waits, or it is not quick.
 */
START_TEST(serves_what_is_quick_at_once)
{
    int slow;

    rig_start(&(struct http_options){ .workers = 2 });
    quick_is("GET /api/quick HTTP/1.1\r\nHost: x\r\n\r\n", "here");
    quick_is(
        "POST /api/quick HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
        "here");
    quick_is("GET /api/quick?no HTTP/1.1\r\nHost: x\r\n\r\n", "kept");
    slow = rig_connect();
    rig_send(slow, "GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(rig_wait(&rig.inside, 1));
    quick_is("GET /api/quick HTTP/1.1\r\nHost: x\r\n\r\n", "later");
    rig_open_gate();
    (void)close(slow);
}
END_TEST

/* Others would have to wait for the next one, too. */
START_TEST(what_was_not_quick_is_a_workers_for_a_while)
{
    rig_start(&(struct http_options){ .workers = 2 });
    quick_is("GET /api/quick HTTP/1.1\r\nHost: x\r\n\r\n", "here");
    quick_is("GET /api/quick?slow HTTP/1.1\r\nHost: x\r\n\r\n", "here");
    quick_is("GET /api/quick HTTP/1.1\r\nHost: x\r\n\r\n", "later");
    (void)usleep(1000000);
    quick_is("GET /api/quick HTTP/1.1\r\nHost: x\r\n\r\n", "here");
}
END_TEST

TEST_MAIN_WITH(NULL, rig_stop, "http_life",
               TEST(what_was_not_quick_is_a_workers_for_a_while),
               TEST(serves_many_at_once), TEST(survives_disorder),
               TIMES(notices_hang_up, 3), TEST(forgets_half_closed),
               TEST(answers_half_closed), TEST(stops_gently),
               TEST(stops_at_once), TEST(stops_in_the_middle),
               TEST(works_with_few_threads), TEST(serves_what_is_quick_at_once))
