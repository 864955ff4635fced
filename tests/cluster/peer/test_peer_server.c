/* Whom the server for peers lets in, and what bad ones do to it and to others:
 * nothing. */
#include "cluster/peer/peer_server.h"

#include "base/process/counters.h"
#include "tests/cluster/cluster_rig.h"

static struct rig_port port;
static struct peer *p;

static void
setup(void)
{
    notes_begin();
    rig_open(&port, &server_defaults, 0);
}

/* Also for a case that failed while something waited. */
static void
teardown(void)
{
    open_gates();
    peer_close(&p);
    rig_close(&port);
    notes_end();
}

/* -- who is let in --------------------------------------------------------- */

START_TEST(rejects_another_secret)
{
    static const uint8_t other[FRAME_SECRET_SIZE] = { 1, 2, 3 };
    struct peer_options o = { .secret = other };
    uint64_t link;
    struct error e;

    p = connect_peer(port.address, o, NULL);
    ck_assert_int_eq(
        peer_wait_link(p, clock_monotonic_us() + 300000, &link, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "the server has another secret"));
    ck_assert_uint_eq(peer_server_counts(port.server).proven, 0);
}
END_TEST

START_TEST(rejects_another_version)
{
    struct peer_options o = { .version = 7 };
    uint64_t rejected = counter_get(CNT_PEER_REJECTED), link;
    struct error e;

    p = connect_peer(port.address, o, NULL);
    ck_assert_int_eq(
        peer_wait_link(p, clock_monotonic_us() + 300000, &link, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "speaks version 3 of frames"));
    ck_assert_ptr_nonnull(strstr(e.text, "this daemon version 7"));
    RIG_UNTIL(counter_get(CNT_PEER_REJECTED) > rejected);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
} garbage[] = {
    { "GET / HTTP/1.1\r\n\r\n", 18 },
    { "\2HALT\0\1................................", 39 },
    { "\2HALP\0\1................................"
      "................................",
      71 },
};

START_TEST(rejects_garbage_for_a_hello)
{
    int fd;

    fd = rig_dial(port.address);
    rig_send(fd, slice_of(garbage[_i].bytes, garbage[_i].size));
    rig_expect_end(fd);
    ck_assert_uint_eq(notes.sessions, 0);
}
END_TEST

/* Silent ones are ended, in time or when there are too many of them. */
START_TEST(ends_who_says_no_hello)
{
    struct peer_server_options o = server_defaults;
    int fds[6];

    rig_close(&port);
    o.hello_ms = 100;
    rig_open(&port, &o, 0);
    fds[0] = rig_dial(port.address);
    rig_send(fds[0], slice_str("\2HA"));
    rig_expect_end(fds[0]);
    rig_close(&port);
    o.hello_ms = 60000;
    o.max_unproven = 3;
    rig_open(&port, &o, 0);
    for (int i = 0; i < 6; i++)
        fds[i] = rig_dial(port.address);
    for (int i = 0; i < 3; i++)
        rig_expect_end(fds[i]);
    rig_hello(fds[5]);
    for (int i = 3; i < 6; i++)
        (void)close(fds[i]);
}
END_TEST

/* -- bad frames ------------------------------------------------------------ */

static void
bad_frame(int kind, struct buf *out)
{
    frame_put(out, FRAME_PUT, 5, slice_str("good"));
    switch (kind) {
    case 0: /* of an answer */
        frame_put(out, FRAME_PUT | FRAME_ANSWER, 6, slice_str("x"));
        break;
    case 1: /* a number again */
        frame_put(out, FRAME_PUT, 5, slice_str("x"));
        break;
    case 2: /* damaged */
        frame_put(out, FRAME_PUT, 6, slice_str("x"));
        out->data[out->size - 1] ^= 1;
        break;
    case 3: /* no record */
        frame_put(out, FRAME_PUT, 6, slice_str("!bad"));
        break;
    default: /* garbage */
        buf_put_str(out, "put a.metric 1 2 host=a\r\n");
    }
}

/* Each ends the connection, and that alone. */
START_TEST(ends_for_bad_frames)
{
    struct buf bytes = BUF_INIT;
    uint64_t link, ticket;
    struct error e;
    int fd;

    p = connect_peer(port.address, plain, &link);
    fd = rig_dial(port.address);
    rig_hello(fd);
    bad_frame(_i, &bytes);
    rig_send(fd, buf_slice(&bytes));
    rig_expect_end(fd);
    ck_assert(records_are("good"));
    ck_assert_int_eq(peer_put(p, link, slice_str("!"), &ticket, &e), ST_OK);
    ck_assert_int_eq(wait_put(p, link, ticket, &e), ST_OK);
    buf_fini(&bytes);
}
END_TEST

/* A peer that dies within a frame: what was whole counts. */
START_TEST(survives_a_death_within_a_frame)
{
    struct buf bytes = BUF_INIT;
    int fd;

    fd = rig_dial(port.address);
    rig_hello(fd);
    frame_put(&bytes, FRAME_PUT, 1, slice_str("one"));
    frame_put(&bytes, FRAME_PUT, 2, slice_str("two"));
    rig_send(fd, slice_of(bytes.data, bytes.size - 5));
    RIG_UNTIL(noted(&notes.lsn) == 1);
    (void)close(fd);
    RIG_UNTIL(noted(&notes.sessions) == 0);
    ck_assert(records_are("one"));
    buf_fini(&bytes);
}
END_TEST

/* A PUT that waits, one behind it in the same bytes, and a peer that left: it
 * has told its client that nothing is stored. */
START_TEST(takes_nothing_of_one_who_left)
{
    struct buf bytes = BUF_INIT;
    int fd;

    notes.holds_puts = true;
    fd = rig_dial(port.address);
    rig_hello(fd);
    frame_put(&bytes, FRAME_PUT, 5, slice_str("!wait"));
    frame_put(&bytes, FRAME_PUT, 6, slice_str("late"));
    rig_send(fd, buf_slice(&bytes));
    RIG_UNTIL(noted(&notes.serving) == 1);
    (void)close(fd);
    (void)usleep(120000);
    open_gates();
    RIG_UNTIL(noted(&notes.sessions) == 0);
    ck_assert(slice_eq_str(buf_slice(&notes.records), "!wait"));
    buf_fini(&bytes);
}
END_TEST

/* One that asks for much and reads nothing is ended, and others go on. */
START_TEST(ends_who_reads_nothing)
{
    struct peer_server_options o = server_defaults;
    struct buf bytes = BUF_INIT;
    struct peer_call call;
    uint64_t link;
    struct error e;
    int fd;

    rig_close(&port);
    o.stall_ms = 200;
    rig_open(&port, &o, 0);
    p = connect_peer(port.address, plain, &link);
    fd = rig_dial(port.address);
    rig_hello(fd);
    for (uint64_t i = 1; i <= 40; i++)
        frame_put(&bytes, FRAME_HEAD, i, slice_str("x"));
    rig_send(fd, buf_slice(&bytes));
    ck_assert_int_eq(ask(p, link, FRAME_HEAD, "x", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
    RIG_UNTIL(noted(&notes.sessions) == 1);
    (void)close(fd);
    buf_fini(&bytes);
}
END_TEST

TEST_MAIN_FORKED_WITH(
    setup, teardown, "peer_server", TEST(rejects_another_secret),
    TEST(rejects_another_version), LOOP(rejects_garbage_for_a_hello, garbage),
    TEST(ends_who_says_no_hello), TIMES(ends_for_bad_frames, 5),
    TEST(survives_a_death_within_a_frame), TEST(takes_nothing_of_one_who_left),
    TEST(ends_who_reads_nothing))
