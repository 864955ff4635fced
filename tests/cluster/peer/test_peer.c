/* Peers over real sockets: order, answers, ends, and servers that are none. */
#include "cluster/peer/peer.h"

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

/* -- what works ------------------------------------------------------------ */

START_TEST(puts_in_order)
{
    uint64_t link, ticket = 0;
    struct buf want = BUF_INIT;
    struct error e;

    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
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
    /* Gathered: sends and commits are few. */
    ck_assert_uint_le(peer_counts(p).sends, 2000);
    ck_assert_uint_eq(peer_server_counts(port.server).puts, 20000);
    ck_assert_uint_le(peer_server_counts(port.server).commits, 2000);
    buf_fini(&want);
}
END_TEST

/* A PUT is answered when it is committed, and not before. */
START_TEST(answers_when_durable)
{
    uint64_t link, ticket;
    struct error e;

    notes.holds_commits = true;
    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    ck_assert_int_eq(peer_put_wait(p, link, ticket,
                                   clock_monotonic_us() + 1000000, NULL, NULL,
                                   &e),
                     ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "no answer in time"));
    ck_assert_uint_eq(noted(&notes.lsn), 1);
    /* The client was told so, and what is behind it is not taken later. */
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_MOVED);
    open_gates();
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &link, &e), ST_OK);
    ck_assert_int_eq(peer_put(p, link, slice_str("b"), &ticket, &e), ST_OK);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_OK);
}
END_TEST

START_TEST(tells_which_puts_failed)
{
    static const char *const records[] = { "a", "!moved", "!moved", "b", "c" };
    uint64_t link, tickets[5];
    struct error e;

    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
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
}
END_TEST

START_TEST(answers_requests)
{
    struct peer_call call;
    uint64_t link;
    struct error e;

    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
    ck_assert_int_eq(ask(p, link, FRAME_LAST, "hi", 0, &call, &e), ST_OK);
    ck_assert(slice_eq_str(buf_slice(&call.answer), "hi"));
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, link, FRAME_HEAD, "hi", 0, &call, &e), ST_OK);
    ck_assert_uint_eq(call.answer.size, 2 + (1 << 20));
    for (uint32_t i = 0; i < 1 << 18; i++) {
        const uint8_t *at = call.answer.data + 2 + i * 4;

        ck_assert_uint_eq((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                              (uint32_t)at[2] << 8 | at[3],
                          i * 2654435761u);
    }
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, link, FRAME_FLUSH, "x", 0, &call, &e),
                     ST_NOT_FOUND);
    ck_assert_str_eq(e.text, "no such thing: x");
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, link, FRAME_HEAD, "hi", 600000, &call, &e),
                     ST_LIMIT);
    peer_call_fini(&call);
    ck_assert_int_eq(ask(p, link, FRAME_LAST, "on", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
}
END_TEST

/* While a request waits, PUTs and other requests go on. */
START_TEST(slow_requests_hold_nothing_up)
{
    struct peer_call slow, behind[3], call;
    uint64_t link, ticket;
    struct error e;

    notes.holds_serving = true;
    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
    ck_assert_int_eq(
        peer_call_begin(p, link, FRAME_DELETE, slice_str("slow"), 0, &slow, &e),
        ST_OK);
    RIG_UNTIL(noted(&notes.serving) == 1);
    /* As many as there are threads, and they leave some for others. */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(peer_call_begin(p, link, FRAME_DELETE,
                                         slice_str("behind"), 0, &behind[i],
                                         &e),
                         ST_OK);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_OK);
    ck_assert_int_eq(ask(p, link, FRAME_LAST, "hi", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
    /* Who does not wait any longer is not harmed by the answer. */
    ck_assert_int_eq(
        peer_call_begin(p, link, FRAME_DELETE, slice_str("left"), 0, &call, &e),
        ST_OK);
    ck_assert_int_eq(peer_call_end(&call, clock_monotonic_us() + 20000, &e),
                     ST_BUSY);
    peer_call_fini(&call);
    open_gates();
    ck_assert_int_eq(peer_call_end(&slow, rig_end(), &e), ST_OK);
    ck_assert(slice_eq_str(buf_slice(&slow.answer), "slow"));
    peer_call_fini(&slow);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(peer_call_end(&behind[i], rig_end(), &e), ST_OK);
        peer_call_fini(&behind[i]);
    }
    ck_assert_uint_eq(peer_link(p), link);
}
END_TEST

struct writer {
    uint64_t link, done;
    pthread_t thread;
};

static void *
write_and_wait(void *arg)
{
    struct writer *w = arg;
    struct error e;

    for (int i = 0; i < 500; i++) {
        struct peer_call call;
        uint64_t ticket;

        ck_assert_int_eq(
            peer_put(p, w->link, slice_str("12345678"), &ticket, &e), ST_OK);
        ck_assert_int_eq(wait_put(p, w->link, ticket, &e), ST_OK);
        if (i % 50 == 0) {
            ck_assert_int_eq(ask(p, w->link, FRAME_HEAD, "x", 0, &call, &e),
                             ST_OK);
            peer_call_fini(&call);
        }
        w->done++;
    }
    return NULL;
}

START_TEST(many_threads_share_a_link)
{
    struct writer writers[8];
    static struct latency taken; /* the peer's, until it is closed */
    struct peer_options o = { .put_latency = &taken };
    uint64_t link;

    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, o, &link);
    for (size_t i = 0; i < 8; i++) {
        writers[i] = (struct writer){ .link = link };
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL,
                                        write_and_wait, &writers[i]),
                         0);
    }
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_uint_eq(writers[i].done, 500);
    }
    ck_assert_uint_eq(notes.records.size, 8 * 500 * 8);
    ck_assert_uint_gt(latency_below(&taken, 64), 0);
}
END_TEST

/* -- ends ------------------------------------------------------------------ */

/* All that was asked on a link ends with it; the next link is another one. */
START_TEST(reconnects)
{
    struct peer_call slow;
    uint64_t link, next, ticket, none;
    uint16_t number;
    struct error e;

    notes.holds_serving = true;
    rig_open(&port, &server_defaults, 0);
    number = rig_number(&port);
    p = connect_peer(port.address, plain, &link);
    ck_assert_int_eq(
        peer_call_begin(p, link, FRAME_DELETE, slice_str("slow"), 0, &slow, &e),
        ST_OK);
    RIG_UNTIL(noted(&notes.serving) == 1);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_OK);
    open_gates();
    rig_close(&port);
    ck_assert(peer_call_end(&slow, rig_end(), &e) != ST_BUSY);
    peer_call_fini(&slow);
    RIG_UNTIL(peer_link(p) == 0);
    ck_assert_int_eq(peer_put(p, link, slice_str("b"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_MOVED);
    ck_assert_int_eq(peer_put(p, 0, slice_str("b"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(
        peer_wait_link(p, clock_monotonic_us() + 100000, &none, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "cannot be reached"));
    rig_open(&port, &server_defaults, number);
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &next, &e), ST_OK);
    ck_assert_uint_ne(next, link);
    ck_assert_int_eq(peer_put(p, link, slice_str("c"), &ticket, &e), ST_MOVED);
    ck_assert_int_eq(peer_put(p, next, slice_str("d"), &ticket, &e), ST_OK);
    ck_assert_int_eq(wait_put(p, next, ticket, &e), ST_OK);
    ck_assert(records_are("ad"));
    ck_assert_uint_eq(peer_counts(p).links, 2);
}
END_TEST

static bool
is_true(void *ctx)
{
    return atomic_load((atomic_bool *)ctx);
}

static void *
move_it(void *arg)
{
    RIG_UNTIL(noted(&notes.lsn) == 1);
    atomic_store((atomic_bool *)arg, true);
    peer_wake(p);
    return NULL;
}

/* Who waits for a PUT of a bucket that has moved is told at once. */
START_TEST(stops_waiting_for_what_moved)
{
    atomic_bool moved = false;
    uint64_t link, ticket;
    pthread_t thread;
    struct error e;

    notes.holds_commits = true;
    rig_open(&port, &server_defaults, 0);
    p = connect_peer(port.address, plain, &link);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, move_it, &moved), 0);
    ck_assert_int_eq(
        peer_put_wait(p, link, ticket, rig_end(), is_true, &moved, &e),
        ST_MOVED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
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
    struct slice ok = slice_str("\1why");

    switch (kind) {
    case 0: /* of what was never asked */
        frame_put(out, FRAME_PUT | FRAME_ANSWER, 99, slice_of("", 1));
        break;
    case 1: /* no status */
        frame_put(out, FRAME_PUT | FRAME_ANSWER, 1, slice_str(""));
        break;
    case 2: /* a status that there is not */
        frame_put(out, FRAME_PUT | FRAME_ANSWER, 1, slice_str("\x70"));
        break;
    case 3: /* a request */
        frame_put(out, FRAME_PUT, 1, ok);
        break;
    case 4: /* a part of what has no parts */
        frame_put(out, FRAME_PUT | FRAME_ANSWER | FRAME_MORE, 1, ok);
        break;
    case 5:
        buf_put_str(out, "HTTP/1.1 400 Bad Request\r\n\r\n");
        break;
    default: /* cut off */
        frame_put(out, FRAME_PUT | FRAME_ANSWER, 1, slice_of("", 1));
        out->size -= 3;
    }
}

START_TEST(ends_for_bad_answers)
{
    struct buf bytes = BUF_INIT;
    uint64_t link, next, ticket;
    uint8_t frame[64];
    struct error e;
    int fd;

    rig_listen(&port, 0);
    p = connect_peer(port.address, plain, NULL);
    fd = accept_one();
    rig_hear_hello(fd);
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &link, &e), ST_OK);
    ck_assert_int_eq(peer_put(p, link, slice_str("a"), &ticket, &e), ST_OK);
    bad_answer(_i, &bytes);
    ck_assert_int_eq(peer_put_wait(p, link, ticket, 0, NULL, NULL, &e),
                     ST_BUSY);
    ck_assert(rig_read(fd, frame, FRAME_HEAD_SIZE + 1 + FRAME_TAIL_SIZE));
    rig_send(fd, buf_slice(&bytes));
    (void)shutdown(fd, SHUT_WR);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_MOVED);
    (void)close(fd);
    /* And it tries again. */
    fd = accept_one();
    rig_hear_hello(fd);
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &next, &e), ST_OK);
    ck_assert_uint_gt(next, link);
    (void)close(fd);
    buf_fini(&bytes);
}
END_TEST

/* A server that stands still: pings go unanswered, and the link ends. */
START_TEST(notices_silence)
{
    struct peer_options o = { .silence_ms = 300 };
    struct peer_call call;
    uint64_t link;
    struct error e;
    int fd;

    rig_listen(&port, 0);
    p = connect_peer(port.address, o, NULL);
    fd = accept_one();
    rig_hear_hello(fd);
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &link, &e), ST_OK);
    ck_assert_int_eq(ask(p, link, FRAME_LAST, "x", 0, &call, &e), ST_MOVED);
    peer_call_fini(&call);
    (void)close(fd);
}
END_TEST

/* A link lives on pings where nothing is asked. */
START_TEST(stays_while_idle)
{
    struct peer_server_options so = server_defaults;
    struct peer_options o = { .silence_ms = 2000 };
    uint64_t link;
    int64_t until_us;

    so.idle_ms = 2000;
    rig_open(&port, &so, 0);
    p = connect_peer(port.address, o, &link);
    until_us = clock_monotonic_us() + 4000000;
    RIG_UNTIL(clock_monotonic_us() > until_us);
    ck_assert_uint_eq(peer_link(p), link);
}
END_TEST

/* The socket takes no more: the rest goes later; beyond the bound it is told.
 */
START_TEST(bounds_what_waits)
{
    struct peer_options o = { .out_bytes = 1 << 20 };
    uint8_t *record = mem_new(1 << 20);
    uint64_t link, ticket, sent = 0;
    struct frame_reader r;
    struct frame f;
    enum status st;
    struct error e;
    int fd;

    rig_listen(&port, 0);
    p = connect_peer(port.address, o, NULL);
    fd = accept_one();
    rig_hear_hello(fd);
    ck_assert_int_eq(peer_wait_link(p, rig_end(), &link, &e), ST_OK);
    while ((st = peer_put(p, link, slice_of(record, 1 << 20), &ticket, &e)) ==
           ST_OK)
        ck_assert_uint_lt(++sent, 100);
    ck_assert_int_eq(st, ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "more slowly than they come"));
    frame_reader_init(&r);
    while (r.frames < sent) {
        size_t size;
        uint8_t *to = frame_reader_room(&r, &size);
        ssize_t n = recv(fd, to, size, 0);

        ck_assert_int_gt((int)n, 0);
        frame_reader_added(&r, (size_t)n);
        while (frame_reader_next(&r, &f))
            ck_assert_uint_eq(f.payload.size, 1 << 20);
    }
    frame_reader_fini(&r);
    ck_assert_int_eq(peer_put(p, link, slice_str("x"), &ticket, &e), ST_OK);
    (void)close(fd);
    free(record);
}
END_TEST

START_TEST(rejects_bad_addresses)
{
    static const char *const addresses[] = { "", "host", ":1",
                                             "host:", "127.0.0.1:1" };
    struct error e;
    uint64_t link;

    p = connect_peer(addresses[_i], plain, NULL);
    ck_assert_int_eq(peer_wait_link(p, clock_monotonic_us() + 50000, &link, &e),
                     ST_BUSY);
}
END_TEST

TEST_MAIN_FORKED_WITH(notes_begin, teardown, "peer", TEST(puts_in_order),
                      TEST(answers_when_durable), TEST(tells_which_puts_failed),
                      TEST(answers_requests),
                      TEST(slow_requests_hold_nothing_up),
                      TEST(many_threads_share_a_link), TEST(reconnects),
                      TEST(stops_waiting_for_what_moved),
                      TIMES(ends_for_bad_answers, 7), TEST(notices_silence),
                      TEST(stays_while_idle), TEST(bounds_what_waits),
                      TIMES(rejects_bad_addresses, 5))
