/* Peers over real sockets: order, answers, ends, and servers that are none. */
#include "cluster/peer/peer.h"

#include "base/cursor.h"
#include "tests/cluster/cluster_rig.h"

static struct rig_port port;
static struct peer *p;

/* Also for a case that failed while something waited. */
static void
teardown(void)
{
    open_gates();
    peer_close(&p);
    rig_close(&port);
    notes_end();
}

static void
open_both(struct peer_options o)
{
    rig_open(&port, &server_defaults, 0);
    p = open_peer(port.address, o);
}

/* -- what works ------------------------------------------------------------ */

START_TEST(puts_in_order)
{
    uint64_t link, ticket = 0;
    struct buf want = BUF_INIT;
    struct error e;

    open_both(plain);
    link = wait_link(p);
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t record[] = { (uint8_t)(i >> 16), (uint8_t)(i >> 8),
                             (uint8_t)i };

        buf_put(&want, record, sizeof record);
        ck_assert_int_eq(
            peer_put(p, link, slice_of(record, sizeof record), &ticket, &e),
            ST_OK);
    }
    ck_assert_msg(wait_put(p, link, ticket, &e) == ST_OK, "%s", e.text);
    ck_assert(slice_eq(buf_slice(&notes.records), buf_slice(&want)));
    ck_assert_uint_eq(noted(&notes.committed), 20000);
    /* One request, and one commit. */
    ck_assert_uint_eq(peer_counts(p).sends, 1);
    ck_assert_uint_eq(peer_server_counts(port.server).puts, 20000);
    ck_assert_uint_eq(peer_server_counts(port.server).commits, 1);
    buf_fini(&want);
}
END_TEST

/* A PUT is answered when it is committed, and not before. */
START_TEST(answers_when_durable)
{
    uint64_t link, ticket;
    struct error e;

    notes.holds_commits = true;
    open_both(plain);
    link = wait_link(p);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    ck_assert_int_eq(
        wait_put_until(p, link, ticket, clock_monotonic_us() + 1000000, &e),
        ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "no answer in time"));
    ck_assert_uint_eq(noted(&notes.lsn), 1);
    /* The client was told so, and what comes after it is not taken later. */
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_MOVED);
    open_gates();
    ck_assert_uint_ne(wait_link(p), link);
    ck_assert_int_eq(put_one(p, "b", &e), ST_OK);
}
END_TEST

START_TEST(tells_which_puts_failed)
{
    static const char *const records[] = { "a", "!moved", "!moved", "b", "c" };
    uint64_t link, tickets[5];
    struct error e;

    open_both(plain);
    link = wait_link(p);
    for (int k = 0; k < 400; k++) {
        for (size_t i = 0; i < 5; i++)
            ck_assert_int_eq(
                peer_put(p, link, slice_str(records[i]), &tickets[i], &e),
                ST_OK);
        for (size_t i = 5; i-- > 0;) {
            enum status want = i == 1 || i == 2 ? ST_MOVED : ST_OK;

            ck_assert_int_eq(wait_put(p, link, tickets[i], &e), want);
            if (want != ST_OK)
                ck_assert_str_eq(e.text, "bucket 3 is not here");
        }
    }
    /* The disk's failure is that of all that waited for it. */
    lock_take(&notes.lock);
    notes.commit_fails = ST_IO;
    lock_drop(&notes.lock);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(
            peer_put(p, link, slice_str(records[i]), &tickets[i], &e), ST_OK);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(wait_put(p, link, tickets[i], &e),
                         i == 1 || i == 2 ? ST_MOVED : ST_IO);
    ck_assert_str_eq(e.text, "the disk is full");
    ck_assert_uint_eq(peer_link(p), link);
}
END_TEST

START_TEST(answers_requests)
{
    struct peer_call call;
    struct error e;

    open_both(plain);
    ck_assert_int_eq(ask(p, FRAME_LAST, "hi", 0, &call, &e), ST_OK);
    ck_assert(slice_eq_str(call.answer, "hi"));
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, FRAME_HEAD, "hi", 0, &call, &e), ST_OK);
    ck_assert_uint_eq(call.answer.size, 2 + (1 << 20));
    for (uint32_t i = 0; i < 1 << 18; i++) {
        const uint8_t *at = call.answer.data + 2 + i * 4;

        ck_assert_uint_eq((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                              (uint32_t)at[2] << 8 | at[3],
                          i * 2654435761u);
    }
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, FRAME_FLUSH, "x", 0, &call, &e), ST_NOT_FOUND);
    ck_assert_str_eq(e.text, "no such thing: x");
    peer_call_fini(&call);
    /* All of them on one connection. */
    ck_assert_uint_eq(peer_server_counts(port.server).open, 1);
    ck_assert_int_eq(ask(p, FRAME_HEAD, "hi", 600000, &call, &e), ST_LIMIT);
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, FRAME_LAST, "on", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
}
END_TEST

/* While requests wait, PUTs and other requests go on. */
START_TEST(slow_requests_hold_nothing_up)
{
    struct peer_call slow[20], call = { 0 };
    struct error e;

    notes.holds_serving = true;
    open_both(plain);
    for (int i = 0; i < 20; i++) {
        slow[i].max = 0;
        ck_assert_int_eq(begin_call(p, FRAME_DELETE, "slow", &slow[i], &e),
                         ST_OK);
    }
    RIG_UNTIL(noted(&notes.serving) == 20);
    ck_assert_int_eq(put_one(p, "a", &e), ST_OK);
    ck_assert_int_eq(ask(p, FRAME_LAST, "hi", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
    /* Who does not wait any longer is not harmed by the answer. */
    ck_assert_int_eq(begin_call(p, FRAME_DELETE, "left", &call, &e), ST_OK);
    call.end_us = clock_monotonic_us() + 20000;
    ck_assert_int_eq(peer_call_end(&call, &e), ST_BUSY);
    peer_call_fini(&call);
    open_gates();
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(peer_call_end(&slow[i], &e), ST_OK);
        ck_assert(slice_eq_str(slow[i].answer, "slow"));
        peer_call_fini(&slow[i]);
    }
    /* Few of their connections are kept. */
    RIG_UNTIL(peer_server_counts(port.server).open < 20);
}
END_TEST

struct writer {
    uint64_t done;
    pthread_t thread;
};

static void *
write_and_wait(void *arg)
{
    struct writer *w = arg;
    struct error e;

    for (int i = 0; i < 500; i++) {
        struct peer_call call;

        ck_assert_int_eq(put_one(p, "12345678", &e), ST_OK);
        if (i % 50 == 0) {
            ck_assert_int_eq(ask(p, FRAME_HEAD, "x", 0, &call, &e), ST_OK);
            peer_call_fini(&call);
        }
        w->done++;
    }
    return NULL;
}

START_TEST(many_threads_share_a_link)
{
    struct writer writers[8] = { 0 };
    static struct latency taken; /* the peer's, until it is closed */
    struct peer_options o = { .put_latency = &taken };

    open_both(o);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL,
                                        write_and_wait, &writers[i]),
                         0);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_uint_eq(writers[i].done, 500);
    }
    ck_assert_uint_eq(notes.records.size, 8 * 500 * 8);
    ck_assert_uint_gt(latency_below(&taken, 64), 0);
    ck_assert_uint_eq(peer_counts(p).links, 1);
}
END_TEST

/* -- ends ------------------------------------------------------------------ */

/* All that was put on a link ends with it; the next link is another one. */
START_TEST(reconnects)
{
    struct peer_call slow = { .max = 0 };
    uint64_t link, next, ticket;
    uint16_t number;
    struct error e;

    notes.holds_serving = true;
    open_both(plain);
    number = rig_number(&port);
    ck_assert_int_eq(begin_call(p, FRAME_DELETE, "slow", &slow, &e), ST_OK);
    RIG_UNTIL(noted(&notes.serving) == 1);
    link = wait_link(p);
    ck_assert_int_eq(put_one(p, "a", &e), ST_OK);
    open_gates();
    rig_close(&port);
    ck_assert(peer_call_end(&slow, &e) != ST_BUSY);
    peer_call_fini(&slow);
    /* It is found out by the next PUT. */
    ck_assert_int_eq(put_one(p, "b", &e), ST_MOVED);
    ck_assert_int_eq(peer_put(p, link, slice_str("b"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(wait_put(p, link, 1, &e), ST_MOVED);
    ck_assert_int_eq(peer_put(p, 0, slice_str("b"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(put_one(p, "b", &e), ST_MOVED);
    ck_assert_int_eq(ask(p, FRAME_LAST, "x", 0, &slow, &e), ST_MOVED);
    peer_call_fini(&slow);
    rig_open(&port, &server_defaults, number);
    next = wait_link(p);
    ck_assert_uint_gt(next, link);
    ck_assert_int_eq(peer_put(p, link, slice_str("c"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(put_one(p, "d", &e), ST_OK);
    ck_assert_int_eq(ask(p, FRAME_LAST, "x", 0, &slow, &e), ST_OK);
    peer_call_fini(&slow);
    ck_assert(records_are("ad"));
    ck_assert_uint_eq(peer_counts(p).links, 2);
}
END_TEST

static bool
is_true(void *ctx)
{
    return atomic_load((atomic_bool *)ctx);
}

/* The one who sends. */
static void *
put_first(void *arg)
{
    *(enum status *)arg = put_one(p, "a", NULL);
    return NULL;
}

static void *
move_it(void *arg)
{
    (void)usleep(20000);
    atomic_store((atomic_bool *)arg, true);
    peer_wake(p);
    return NULL;
}

/* Who waits for a PUT of a bucket that has moved, and does not send, is told at
 * once; all are when the peer is stopped. */
START_TEST(stops_waiting_for_what_moved)
{
    atomic_bool moved = false;
    struct peer_waiter w = { .moved = is_true, .ctx = &moved };
    pthread_t sender, mover;
    enum status first = ST_OK;
    struct error e;

    notes.holds_commits = true;
    open_both(plain);
    w.link = wait_link(p);
    w.end_us = rig_end();
    ck_assert_int_eq(pthread_create(&sender, NULL, put_first, &first), 0);
    RIG_UNTIL(noted(&notes.lsn) == 1);
    ck_assert_int_eq(peer_put(p, w.link, slice_str("b"), &w.ticket, &e), ST_OK);
    ck_assert_int_eq(pthread_create(&mover, NULL, move_it, &moved), 0);
    ck_assert_int_eq(peer_put_wait(p, &w, &e), ST_MOVED);
    ck_assert_int_eq(pthread_join(mover, NULL), 0);
    peer_stop(p);
    ck_assert_int_eq(pthread_join(sender, NULL), 0);
    ck_assert_int_eq(first, ST_MOVED);
    ck_assert_uint_eq(peer_link(p), 0);
    open_gates();
}
END_TEST

/* -- bad servers ----------------------------------------------------------- */

static int
accept_one(void)
{
    int fd = accept(port.fd, NULL, NULL);
    struct timeval limit = { .tv_sec = 60 };

    ck_assert_int_ge(fd, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void
bad_answer(int kind, struct buf *out)
{
    frame_begin(out);
    switch (kind) {
    case 0: /* without the commit's sentence */
        frame_end(out, 0);
        break;
    case 1: /* a status that there is not */
        buf_put_u8(out, 0);
        frame_end(out, 0x70);
        break;
    case 2: /* half of a failure */
        buf_put(out, "\0\1", 2);
        frame_end(out, 0);
        break;
    case 3: /* twice */
        buf_put_u8(out, 0);
        frame_end(out, 0);
        buf_put_slice(out, buf_slice(out));
        break;
    case 4: /* damaged */
        buf_put_u8(out, 0);
        frame_end(out, 0);
        out->data[out->size - 1] ^= 1;
        break;
    case 5:
        buf_clear(out);
        buf_put_str(out, "HTTP/1.1 400 Bad Request\r\n\r\n");
        break;
    default: /* cut off */
        buf_put_u8(out, 0);
        frame_end(out, 0);
        out->size -= 3;
    }
}

static void *
answer_badly(void *arg)
{
    struct buf bytes = BUF_INIT;
    uint8_t frame[16];
    int fd = accept_one();

    rig_hear_hello(fd);
    ck_assert(rig_read(fd, frame, FRAME_HEAD_SIZE + 2 + FRAME_TAIL_SIZE));
    bad_answer(*(int *)arg, &bytes);
    rig_send(fd, buf_slice(&bytes));
    (void)shutdown(fd, SHUT_WR);
    rig_expect_end(fd);
    buf_fini(&bytes);
    return NULL;
}

START_TEST(ends_for_bad_answers)
{
    uint64_t link;
    pthread_t server;
    struct error e;
    int kind = _i;

    rig_listen(&port, 0);
    p = open_peer(port.address, plain);
    link = wait_link(p);
    ck_assert_int_eq(pthread_create(&server, NULL, answer_badly, &kind), 0);
    ck_assert_int_eq(put_one(p, "a", &e), ST_MOVED);
    ck_assert_int_eq(pthread_join(server, NULL), 0);
    ck_assert_uint_gt(wait_link(p), link);
}
END_TEST

/* A server that stands still: a call ends in time. */
START_TEST(notices_silence)
{
    struct peer_options o = { .connect_ms = 100 };
    struct peer_call call = { .end_us = rig_end() };
    struct error e;

    rig_listen(&port, 0);
    p = open_peer(port.address, o);
    /* No hello comes: it could be another one the next time. */
    ck_assert_int_eq(peer_call_begin(p, &call, FRAME_LAST, slice_str("x"), &e),
                     ST_MOVED);
    call.end_us = clock_monotonic_us();
    ck_assert_int_eq(peer_call_begin(p, &call, FRAME_LAST, slice_str("x"), &e),
                     ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "no answer in time"));
}
END_TEST

/* What waits while another request is under way has a bound. */
START_TEST(bounds_what_waits)
{
    struct peer_options o = { .out_bytes = 1 << 20 };
    uint8_t *record = mem_new(1 << 18);
    uint64_t link, ticket, sent = 0;
    enum status st;
    struct error e;

    open_both(o);
    link = wait_link(p);
    while ((st = peer_put(p, link, slice_of(record, 1 << 18), &ticket, &e)) ==
           ST_OK)
        ck_assert_uint_lt(++sent, 4);
    ck_assert_int_eq(st, ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "more slowly than they come"));
    ck_assert_int_eq(put_one(p, "x", &e), ST_OK);
    ck_assert_uint_eq(notes.records.size, sent << 18 | 1);
    free(record);
}
END_TEST

START_TEST(rejects_bad_addresses)
{
    static const char *const addresses[] = { "", "host", ":1",
                                             "host:", "127.0.0.1:1" };
    struct error e;

    p = open_peer(addresses[_i], plain);
    ck_assert_int_eq(put_one(p, "a", &e), ST_MOVED);
}
END_TEST

TEST_MAIN_FORKED_WITH(notes_begin, teardown, "peer", TEST(puts_in_order),
                      TEST(answers_when_durable), TEST(tells_which_puts_failed),
                      TEST(answers_requests),
                      TEST(slow_requests_hold_nothing_up),
                      TEST(many_threads_share_a_link), TEST(reconnects),
                      TEST(stops_waiting_for_what_moved),
                      TIMES(ends_for_bad_answers, 7), TEST(notices_silence),
                      TEST(bounds_what_waits), TIMES(rejects_bad_addresses, 5))
