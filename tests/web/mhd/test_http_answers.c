/* What an answer may take: bytes of one, of all together, and time. */
#include <poll.h>

#include "tests/web/rig.h"
#include "web/mhd/http_priv.h"

/* Replies that no client reads are held within one budget. */
START_TEST(limits_all_answers)
{
    struct answer a;
    int fds[3];

    rig_start(&(struct http_options){ .answers_bytes = 67 << 20 });
    for (int i = 0; i < 3; i++) {
        struct pollfd begun;

        fds[i] = rig_connect();
        rig_send(fds[i],
                 "GET /api/large?n=24000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        begun = (struct pollfd){ .fd = fds[i], .events = POLLIN };
        ck_assert_int_eq(poll(&begun, 1, 60000), 1);
    }
    for (int i = 2; i >= 0; i--) {
        a = rig_read(fds[i]);
        ck_assert_uint_eq(a.status, i == 2 ? 503 : 200);
        ck_assert((strstr(rig_body(&a), "halite.answers.bytes") != NULL) ==
                  (i == 2));
        buf_fini(&a.body);
    }
    /* They were read: there is room again. */
    a = rig_ask("GET /api/large?n=24000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]);
}
END_TEST

/* One reply has a limit, whatever endpoint makes it. */
START_TEST(limits_an_answer)
{
    struct answer a;

    rig_start(&(struct http_options){ .reply_bytes = 1 << 20 });
    a = rig_ask("GET /api/large?n=2000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 413);
    ck_assert_ptr_nonnull(
        strstr(rig_body(&a), "The answer is larger than 1048576 bytes"));
    ck_assert_ptr_nonnull(strstr(rig_body(&a), "halite.query.answer_bytes"));
    buf_fini(&a.body);
    a = rig_ask("GET /api/large?n=1000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
}
END_TEST

/* A reply counts while it grows, not only when it is complete; small ones are
 * always sent. */
START_TEST(answers_count_while_they_grow)
{
    struct answer a;

    rig_start(&(struct http_options){ .answers_bytes = 4 << 20 });
    a = rig_ask("GET /api/large?n=9000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 503);
    ck_assert_ptr_nonnull(strstr(rig_body(&a), "halite.answers.bytes"));
    buf_fini(&a.body);
    ck_assert(budget_take(&rig.server->answers, 4 << 20));
    a = rig_ask("GET /api/large?n=4000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
    a = rig_ask("GET /api/large?n=5000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 503);
    buf_fini(&a.body);
    budget_return(&rig.server->answers, 4 << 20);
}
END_TEST

/* Who reads is told when its time is over; who changes something goes on, and a
 * route that keeps its time does so itself. */
START_TEST(ends_long_reads)
{
    struct answer a;

    rig_start(&(struct http_options){ .read_ms = 30 });
    a = rig_ask("GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 413);
    ck_assert_ptr_nonnull(
        strstr(rig_body(&a), "Sorry, your query timed out. Time limit: 30 ms"));
    buf_fini(&a.body);
    a = rig_ask("GET /api/large?n=100 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
}
END_TEST

/* One address has three quarters of a budget; another one has the rest. */
START_TEST(leaves_room_for_other_addresses)
{
    struct http_share *mine = NULL;
    struct answer a;

    rig_start(&(struct http_options){ .answers_bytes = 4 << 20 });
    a = rig_ask("GET /api/large?n=3000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
    a = rig_ask("GET /api/large?n=3500000 HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(a.status, 503);
    buf_fini(&a.body);
    /* Another address takes all that it may have. */
    for (size_t i = 0; i < HTTP_SHARES && mine == NULL; i++) {
        struct budget *other = &rig.server->shares[i].answers;

        ck_assert(budget_take(other, 3 << 20));
        ck_assert(!budget_take(other, 1));
        a = rig_ask("GET /api/large?n=900000 HTTP/1.1\r\nHost: x\r\n\r\n");
        budget_return(other, 3 << 20);
        if (a.status == 503)
            mine = &rig.server->shares[i]; /* it was our own */
        else
            ck_assert_uint_eq(a.status, 200);
        buf_fini(&a.body);
    }
    ck_assert_ptr_nonnull(mine);
}
END_TEST

/* What is made of bodies has three quarters of their budget, half of it for one
 * address: so bodies have the rest.  What is small is free. */
START_TEST(limits_what_is_made_of_bodies)
{
    static const struct {
        size_t held, n;
        unsigned status;
    } asks[] = { { 0, 600000, 413 },      { 0, 500000, 200 },
                 { 400000, 200000, 200 }, { 600000, 200000, 503 },
                 { 600000, 100000, 200 }, { 786432, 70000, 503 },
                 { 786432, 65536, 200 } };
    char request[200];

    rig_start(&(struct http_options){ .bodies_bytes = 1 << 20 });
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        struct answer a;

        ck_assert(budget_take(&rig.server->derived, asks[i].held));
        (void)snprintf(request, sizeof request,
                       "POST /api/charge?n=%zu HTTP/1.1\r\nHost: x\r\n"
                       "Content-Length: 1\r\n\r\nx",
                       asks[i].n);
        a = rig_ask(request);
        budget_return(&rig.server->derived, asks[i].held);
        ck_assert_uint_eq(a.status, asks[i].status);
        ck_assert_uint_eq(budget_used(&rig.server->bodies), 0);
        buf_fini(&a.body);
    }
}
END_TEST

TEST_MAIN_WITH(NULL, rig_stop, "http_answers", TEST(limits_all_answers),
               TEST(limits_an_answer), TEST(leaves_room_for_other_addresses),
               TEST(limits_what_is_made_of_bodies),
               TEST(answers_count_while_they_grow), TEST(ends_long_reads))
