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

/* A dial of a peer that says why it failed. */
static enum status
dial(const uint8_t *secret, uint16_t version, struct error *e)
{
    const struct channel_target t = { .address = port.address,
                                      .secret = secret,
                                      .version = version,
                                      .silence_ms = 10000 };
    struct channel *c = NULL;
    enum status st = channel_dial(&t, rig_end(), &c, e);

    channel_close(&c);
    return st;
}

START_TEST(rejects_another_secret)
{
    static const uint8_t other[FRAME_SECRET_SIZE] = { 1, 2, 3 };
    struct error e;

    ck_assert_int_eq(dial(other, 0, &e), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(e.text, "the server has another secret"));
    ck_assert_uint_eq(peer_server_counts(port.server).proven, 0);
    ck_assert_int_eq(dial(rig_secret, 0, &e), ST_OK);
}
END_TEST

START_TEST(rejects_another_version)
{
    uint64_t rejected = counter_get(CNT_PEER_REJECTED);
    struct error e;

    ck_assert_int_eq(dial(rig_secret, 7, &e), ST_CONFLICT);
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
put_frame(struct buf *out, uint8_t type, const char *const *records)
{
    struct buf frame = BUF_INIT;

    frame_begin(&frame);
    while (*records != NULL)
        buf_put_sized(&frame, slice_str(*records++));
    frame_end(&frame, type);
    buf_put_slice(out, buf_slice(&frame));
    buf_fini(&frame);
}

#define PUT_FRAME(out, ...) \
    put_frame(out, FRAME_PUT, (const char *const[]){ __VA_ARGS__, NULL })

static void
bad_frame(int kind, struct buf *out)
{
    switch (kind) {
    case 0: /* a record that is cut off */
        frame_begin(out);
        buf_put(out, "\4good\2x", 7);
        frame_end(out, FRAME_PUT);
        break;
    case 1: /* another request behind it, unasked */
        PUT_FRAME(out, "good");
        PUT_FRAME(out, "x");
        break;
    case 2: /* damaged */
        PUT_FRAME(out, "good");
        out->data[out->size - 1] ^= 1;
        break;
    case 3: /* no record */
        PUT_FRAME(out, "good", "!bad", "x");
        break;
    case 4: /* too large */
        buf_put(out, "\4\0\0\1\1", 5);
        break;
    default: /* garbage */
        buf_put_str(out, "put a.metric 1 2 host=a\r\n");
    }
}

/* Each ends the connection, and that alone. */
START_TEST(ends_for_bad_frames)
{
    struct buf bytes = BUF_INIT;
    struct error e;
    int fd;

    p = open_peer(port.address, plain);
    ck_assert_int_eq(put_one(p, "-", &e), ST_OK);
    fd = rig_dial(port.address);
    rig_hello(fd);
    bad_frame(_i, &bytes);
    rig_send(fd, buf_slice(&bytes));
    rig_expect_end(fd);
    ck_assert(records_are(_i == 0 || _i == 3 ? "-good" : "-"));
    ck_assert_int_eq(put_one(p, "!", &e), ST_OK);
    ck_assert_uint_eq(peer_counts(p).links, 1);
    buf_fini(&bytes);
}
END_TEST

/* A peer that dies within a frame: nothing of that counts. */
START_TEST(survives_a_death_within_a_frame)
{
    struct buf bytes = BUF_INIT;
    uint8_t answer[FRAME_HEAD_SIZE + 1 + FRAME_TAIL_SIZE];
    int fd;

    fd = rig_dial(port.address);
    rig_hello(fd);
    PUT_FRAME(&bytes, "one");
    rig_send(fd, buf_slice(&bytes));
    ck_assert(rig_read(fd, answer, sizeof answer));
    rig_send(fd, slice_of(bytes.data, bytes.size - 5));
    (void)close(fd);
    RIG_UNTIL(noted(&notes.sessions) == 0);
    ck_assert(records_are("one"));
    buf_fini(&bytes);
}
END_TEST

/* A record that waits, one behind it in the same request, and a peer that left:
 * it has told its client that nothing is stored. */
START_TEST(takes_nothing_of_one_who_left)
{
    struct buf bytes = BUF_INIT;
    int fd;

    notes.holds_puts = true;
    fd = rig_dial(port.address);
    rig_hello(fd);
    PUT_FRAME(&bytes, "!wait", "late");
    rig_send(fd, buf_slice(&bytes));
    RIG_UNTIL(noted(&notes.serving) == 1);
    (void)close(fd);
    (void)usleep(120000);
    open_gates();
    RIG_UNTIL(noted(&notes.sessions) == 0);
    ck_assert(slice_eq_str(buf_slice(&notes.records), "!wait"));
    ck_assert_uint_eq(notes.committed, 0);
    buf_fini(&bytes);
}
END_TEST

/* One that asks for much and reads nothing is ended, and others go on. */
START_TEST(ends_who_reads_nothing)
{
    struct peer_server_options o = server_defaults;
    struct buf bytes = BUF_INIT;
    struct peer_call call;
    struct error e;
    int fd, small = 4096;

    rig_close(&port);
    o.stall_ms = 200;
    rig_open(&port, &o, 0);
    p = open_peer(port.address, plain);
    fd = rig_dial(port.address);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    rig_hello(fd);
    frame_begin(&bytes);
    for (int i = 0; i < 1 << 23; i++)
        buf_put_u8(&bytes, 'x');
    frame_end(&bytes, FRAME_HEAD);
    rig_send(fd, buf_slice(&bytes));
    ck_assert_int_eq(ask(p, FRAME_HEAD, "x", 0, &call, &e), ST_OK);
    peer_call_fini(&call);
    RIG_UNTIL(noted(&notes.sessions) == 1);
    (void)close(fd);
    buf_fini(&bytes);
}
END_TEST

/* So is one that says nothing for long. */
START_TEST(ends_who_is_idle)
{
    struct peer_server_options o = server_defaults;
    int fd;

    rig_close(&port);
    o.idle_ms = 50;
    rig_open(&port, &o, 0);
    fd = rig_dial(port.address);
    rig_hello(fd);
    rig_expect_end(fd);
}
END_TEST

TEST_MAIN_FORKED_WITH(
    setup, teardown, "peer_server", TEST(rejects_another_secret),
    TEST(rejects_another_version), LOOP(rejects_garbage_for_a_hello, garbage),
    TEST(ends_who_says_no_hello), TIMES(ends_for_bad_frames, 6),
    TEST(survives_a_death_within_a_frame), TEST(takes_nothing_of_one_who_left),
    TEST(ends_who_reads_nothing), TEST(ends_who_is_idle))
