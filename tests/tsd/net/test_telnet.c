#include "tsd/net/telnet.h"

#include <netinet/in.h>
#include <stdatomic.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "tests/harness.h"
#include "tests/tsd/fake_ingest.h"
#include "tests/tsd/wire.h"

#define LINE_BYTES   200
#define OUTPUT_BYTES 1000

/* Of the case that runs; 'heard' is what its clients were told. */
static struct put_path *path;
static struct telnet *telnet;
static atomic_size_t closed;
static struct buf heard = BUF_INIT;

static void
serve_version(void *ctx, struct telnet_call *call)
{
    (void)ctx;
    buf_printf(call->out, "halite, %zu words\n", call->words_len);
}

static void
serve_bye(void *ctx, struct telnet_call *call)
{
    (void)ctx;
    buf_put_str(call->out, "bye\n");
    call->close = true;
}

static const struct telnet_route routes[] = {
    { "version", serve_version, NULL, 0, false },
    { "exit", NULL, NULL, 0, false },
    { "help", NULL, NULL, 0, false },
    { "put", NULL, NULL, HTTP_WRITES, false },
    { "bye", serve_bye, NULL, 0, false },
};

static void
on_closed(void *ctx)
{
    (void)ctx;
    (void)atomic_fetch_add(&closed, 1);
}

static struct telnet_options
options(unsigned threads)
{
    return (struct telnet_options){ .routes = routes,
                                    .routes_len =
                                        sizeof routes / sizeof *routes,
                                    .put = path,
                                    .threads = threads,
                                    .line_bytes = LINE_BYTES,
                                    .output_bytes = OUTPUT_BYTES,
                                    .closed = on_closed };
}

static void
start(const struct telnet_options *o)
{
    struct error e;

    ck_assert_msg(telnet_start(o, &telnet, &e) == ST_OK, "%s", e.text);
}

/* Over fake_ingest as it is. */
static void
set_up_over(unsigned threads)
{
    struct put_options po = { .rules = { true, true, true, 8, false } };
    struct telnet_options o;

    atomic_store(&closed, 0);
    path = put_path_new(NULL, NULL, NULL, &po);
    o = options(threads);
    start(&o);
}

static void
set_up(unsigned threads)
{
    fake_reset();
    set_up_over(threads);
}

static void
tear_down(void)
{
    telnet_stop(&telnet, 1000);
    put_path_free(&path);
    fake_reset();
    buf_fini(&heard);
}

static int
join_as(const struct sockaddr *peer, socklen_t peer_size)
{
    int fds[2];
    struct error e;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    wire_nonblocking(fds[1]);
    ck_assert_int_eq(telnet_adopt_socket(telnet, fds[1], peer, peer_size, &e),
                     ST_OK);
    return fds[0];
}

static int
join(void)
{
    struct sockaddr peer = { .sa_family = AF_UNIX };

    return join_as(&peer, sizeof peer);
}

/* Says goodbye, and hears all that is said to it. */
static void
part(int fd)
{
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    ck_assert(!wire_read(fd, &heard, SIZE_MAX));
    (void)close(fd);
}

static void
expect(const char *text)
{
    ck_assert_str_eq(buf_cstr(&heard), text);
    buf_clear(&heard);
}

/* -- conversations --------------------------------------------------------- */

#define UNKNOWN(x) "unknown command: " x ".  Try `help'.\n"
#define TOO_LONG   "line too long: skipped, the limit is 200 bytes\n"
#define X50        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X200       X50 X50 X50 X50

static const struct {
    const char *said, *heard, *stored;
} talks[] = {
    { "put m 1 1 a=b\n", "", "m{a=b} 1000 1\n" },
    { "put m 1 1 a=b\r\nput m 2 2 a=b\r\n", "",
      "m{a=b} 1000 1\nm{a=b} 2000 2\n" },
    { "put m 1 1 a=b\nput m 2 x a=b\njunk\nversion 1\nput m 3 3 a=b\nput\n",
      "put: invalid value: Invalid character 'x' in x\n" UNKNOWN(
          "junk") "halite, 2 words\n"
                  "put: illegal argument: not enough arguments (need least 4, "
                  "got 0)\n",
      "m{a=b} 1000 1\nm{a=b} 3000 3\n" },
    { "\n \nPUT m 1 1 a=b\nputx m 1 1 a=b\n put m 1 1 a=b\nput\tm 1 1 a=b\n",
      UNKNOWN("") UNKNOWN("") UNKNOWN("PUT") UNKNOWN("putx") UNKNOWN("")
          UNKNOWN("put\tm"),
      "" },
    { "PUT m 1 1 a=b\nput m 1 1 a=b\nversion\n",
      UNKNOWN("PUT") "halite, 1 words\n", "m{a=b} 1000 1\n" },
    { "\xef\xbb\xbfput m 1 1 a=b\nversion\n", "halite, 1 words\n",
      "m{a=b} 1000 1\n" },
    { "version\n\xef\xbb\xbfversion\n",
      "halite, 1 words\n" UNKNOWN("\xef\xbb\xbfversion"), "" },
    { "help me\n", "available commands: version exit help put bye \n", "" },
    { "caf\xe9\n", UNKNOWN("caf\xc3\xa9"), "" },
    { "\xff\xfb\x1f\xff\xf1version\n", "halite, 1 words\n", "" },
    { "put m 1 1 a=b\nexit\nput m 2 2 a=b\nversion\n", "", "m{a=b} 1000 1\n" },
    { "bye\nversion\n", "bye\n", "" },
    /* What ends without a newline may be cut off: it does not count. */
    { "put m 1 1 a=b\nput m 2 1 a=bcd", "", "m{a=b} 1000 1\n" },
    { "version", "", "" },
    { "version\nput m 1 1 a=" X200 "\nversion\n",
      "halite, 1 words\n" TOO_LONG "halite, 1 words\n", "" },
    { "put m 1 1 a=" X200 X200 X200, TOO_LONG, "" },
    { X200 "x\nversion\n", TOO_LONG "halite, 1 words\n", "" },
};

static void
talk(size_t i, const size_t *cuts, size_t cuts_len)
{
    const char *said = talks[i].said;
    size_t size = strlen(said), at = 0;
    int fd = join();

    lock_take(&fake.lock);
    buf_clear(&fake.log);
    lock_drop(&fake.lock);
    for (size_t k = 0; k <= cuts_len; k++) {
        size_t to = k < cuts_len ? cuts[k] : size;

        wire_send(fd, said + at, to - at);
        at = to;
    }
    part(fd);
    expect(talks[i].heard);
    lock_take(&fake.lock);
    ck_assert_str_eq(fake_log(), talks[i].stored);
    ck_assert_uint_eq(fake.committed_points, fake.points);
    lock_drop(&fake.lock);
}

START_TEST(talks_in_one_chunk)
{
    set_up(1);
    talk((size_t)_i, NULL, 0);
    telnet_stop(&telnet, 1000);
    ck_assert_uint_eq(atomic_load(&closed), 1);
}
END_TEST

START_TEST(talks_cut_anywhere)
{
    set_up(1);
    for (size_t cut = 1; cut < strlen(talks[_i].said); cut++)
        talk((size_t)_i, &cut, 1);
}
END_TEST

START_TEST(talks_byte_by_byte)
{
    size_t cuts[1024], n = 0;

    set_up(1);
    for (size_t cut = 1; cut < strlen(talks[_i].said); cut++)
        cuts[n++] = cut;
    talk((size_t)_i, cuts, n);
}
END_TEST

/* -- what an answer means -------------------------------------------------- */

START_TEST(answers_after_the_commit)
{
    int fd;

    set_up(2);
    fd = join();
    for (size_t i = 1; i <= 200; i++) {
        char text[80];
        int n = snprintf(text, sizeof text, "put m %zu 1 a=b\nversion\n", i);

        wire_send(fd, text, (size_t)n);
        ck_assert(wire_read(fd, &heard, 16));
        expect("halite, 1 words\n");
        lock_take(&fake.lock);
        ck_assert_uint_eq(fake.committed_points, i);
        lock_drop(&fake.lock);
    }
    part(fd);
}
END_TEST

START_TEST(stops_answering_when_commits_fail)
{
    int fd;

    set_up(1);
    lock_take(&fake.lock);
    fake.commit_fails = "no space";
    lock_drop(&fake.lock);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\nversion\n", 22);
    ck_assert(!wire_read(fd, &heard, SIZE_MAX));
    expect("put: storage error: no space\n");
    (void)close(fd);
}
END_TEST

/* It is soon committed unasked, but not line by line. */
START_TEST(commits_points_that_wait)
{
    enum { LINES = 200 };
    int64_t from_us = clock_monotonic_us();
    size_t commits = 0, committed = 0;
    int fd;

    set_up(1);
    fd = join();
    for (int i = 0; i < LINES; i++) {
        wire_send(fd, "put m 1 1 a=b\n", 14);
        (void)usleep(200);
    }
    while (committed < LINES) {
        (void)usleep(1000);
        lock_take(&fake.lock);
        committed = fake.committed_points;
        commits = fake.commits;
        lock_drop(&fake.lock);
    }
    ck_assert_int_le((int64_t)commits,
                     (clock_monotonic_us() - from_us) / 50000 + 1);
    part(fd);
}
END_TEST

static void
set_up_owners(size_t busy, const char *reject)
{
    fake_reset();
    fake.has_owners = true;
    fake.owners_busy = busy;
    fake.owners_reject = reject;
    set_up_over(1);
}

START_TEST(an_answer_waits_for_the_owners)
{
    int fd;

    set_up_owners(5, NULL);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\nversion\n", 22);
    ck_assert(wire_read(fd, &heard, 16));
    expect("halite, 1 words\n");
    lock_take(&fake.lock);
    ck_assert_uint_eq(fake.owners_busy, 0);
    ck_assert_uint_eq(fake.committed_points, 1);
    lock_drop(&fake.lock);
    part(fd);
}
END_TEST

/* In front of the answer, which would say that all is well. */
START_TEST(what_owners_reject_is_said_first)
{
    int fd;

    set_up_owners(0, "1 points: the pool is full");
    fd = join();
    for (int i = 0; i < 3; i++) {
        static const char said[] =
            "put: storage error: 1 points: the pool is full\nhalite, 1 words\n";

        wire_send(fd, "put m 1 1 a=b\nversion\n", 22);
        ck_assert(wire_read(fd, &heard, sizeof said - 1));
        expect(said);
    }
    part(fd);
}
END_TEST

static void
set_owners(size_t busy, const char *reject)
{
    lock_take(&fake.lock);
    fake.owners_busy = busy;
    fake.owners_reject = reject;
    fake.is_busy = false;
    lock_drop(&fake.lock);
}

/* Who waits for owners does not hold up who does not. */
START_TEST(others_do_not_wait_for_owners)
{
    int fd, other;

    set_up_owners(SIZE_MAX, NULL);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\nversion\n", 22);
    other = join();
    for (int i = 0; i < 20; i++) {
        wire_send(other, "version\n", 8);
        ck_assert(wire_read(other, &heard, 16));
        expect("halite, 1 words\n");
    }
    set_owners(0, NULL);
    ck_assert(wire_read(fd, &heard, 16));
    expect("halite, 1 words\n");
    part(fd);
    part(other);
}
END_TEST

/* Owners have a part of a batch whose rest waits for room: what they reject is
 * said before the answer. */
START_TEST(a_batch_that_waits_is_told_what_was_rejected)
{
    static const char said[] = "put: storage error: 1 points: full\n";
    int fd;

    set_up_owners(0, "1 points: full");
    lock_take(&fake.lock);
    fake.is_busy = true;
    fake.busy = 1;
    lock_drop(&fake.lock);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\nput m 2 2 a=b\nversion\n", 36);
    ck_assert(wire_read(fd, &heard, sizeof said - 1));
    ck_assert(strncmp(buf_cstr(&heard), said, sizeof said - 1) == 0);
    set_owners(0, NULL);
    part(fd);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&heard), "halite, 1 words\n"));
}
END_TEST

START_TEST(a_stop_does_not_wait_for_owners)
{
    int fd;

    set_up_owners(SIZE_MAX, NULL);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\nversion\n", 22);
    (void)usleep(20000);
    telnet_stop(&telnet, 1000);
    ck_assert(!wire_read(fd, &heard, SIZE_MAX));
    expect("put: storage error: no owner now\n");
    (void)close(fd);
}
END_TEST

START_TEST(waits_while_the_store_is_busy)
{
    struct buf lines = BUF_INIT;
    int fds[3], other;

    set_up(1);
    for (size_t k = 0; k < 1000; k++)
        buf_put_str(&lines, "put m 1 1 a=b\n");
    buf_put_str(&lines, "version\n");
    lock_take(&fake.lock);
    fake.is_busy = true;
    lock_drop(&fake.lock);
    for (size_t i = 0; i < 3; i++) {
        fds[i] = join();
        wire_send(fds[i], lines.data, lines.size);
        ck_assert_int_eq(shutdown(fds[i], SHUT_WR), 0);
    }
    /* Who does not put is not kept waiting. */
    other = join();
    for (int i = 0; i < 20; i++) {
        wire_send(other, "version\n", 8);
        ck_assert(wire_read(other, &heard, 16));
        expect("halite, 1 words\n");
    }
    lock_take(&fake.lock);
    ck_assert_uint_eq(fake.points, 0);
    fake.is_busy = false;
    lock_drop(&fake.lock);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(!wire_read(fds[i], &heard, SIZE_MAX));
        expect("halite, 1 words\n");
        (void)close(fds[i]);
    }
    lock_take(&fake.lock);
    ck_assert_uint_eq(fake.committed_points, 3000);
    lock_drop(&fake.lock);
    (void)close(other);
    buf_fini(&lines);
}
END_TEST

/* -- clients as they are --------------------------------------------------- */

START_TEST(never_blocks_on_who_does_not_read)
{
    static const char bad[] = "put m 1 x a=b\n";
    uint64_t before = counter_get(CNT_ERR_BLOCKED);
    int fd;

    set_up(1);
    fd = join();
    for (size_t i = 0; i < 50000; i++)
        wire_send(fd, bad, sizeof bad - 1);
    wire_send(fd, "put m 1 1 a=b\n", 14);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    /* The lines are all taken before a single answer is read. */
    for (bool done = false; !done;) {
        lock_take(&fake.lock);
        done = fake.committed_points == 1;
        lock_drop(&fake.lock);
        (void)usleep(1000);
    }
    ck_assert(!wire_read(fd, &heard, SIZE_MAX));
    ck_assert_uint_gt(heard.size, OUTPUT_BYTES);
    ck_assert_uint_gt(counter_get(CNT_ERR_BLOCKED), before);
    (void)close(fd);
}
END_TEST

START_TEST(takes_many_at_once)
{
    enum { CLIENTS = 500, LINES = 20 };
    static int fds[CLIENTS];

    set_up(2);
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = join();
    for (size_t k = 0; k < LINES; k++) {
        for (size_t i = 0; i < CLIENTS; i++) {
            char text[80];
            int n = snprintf(text, sizeof text, "put m %zu 1 host=h%zu\n",
                             k + 1, i);

            wire_send(fds[i], text, (size_t)n / 2);
            wire_send(fds[i], text + n / 2, (size_t)(n - n / 2));
        }
    }
    for (size_t i = 0; i < CLIENTS; i++)
        part(fds[i]);
    expect("");
    lock_take(&fake.lock);
    ck_assert_uint_eq(fake.committed_points, CLIENTS * LINES);
    ck_assert_uint_eq(fake.series_len, CLIENTS);
    lock_drop(&fake.lock);
}
END_TEST

START_TEST(keeps_what_arrived_before_the_stop)
{
    int fds[20];

    set_up(2);
    for (size_t i = 0; i < 20; i++) {
        fds[i] = join();
        for (size_t k = 0; k < 5000; k++)
            wire_send(fds[i], "put m 1 1 a=b\n", 14);
        wire_send(fds[i], "version\n", 8);
    }
    telnet_stop(&telnet, 5000);
    ck_assert_uint_eq(fake.committed_points, 20 * 5000);
    ck_assert_uint_eq(atomic_load(&closed), 20);
    for (size_t i = 0; i < 20; i++) {
        ck_assert(!wire_read(fds[i], &heard, SIZE_MAX));
        expect("halite, 1 words\n");
        (void)close(fds[i]);
    }
}
END_TEST

START_TEST(can_do_without_puts)
{
    struct telnet_options o;
    int fd;

    set_up(1);
    telnet_stop(&telnet, 0);
    o = options(1);
    o.routes_len = 3;
    o.put = NULL;
    start(&o);
    fd = join();
    wire_send(fd, "put m 1 1 a=b\n", 14);
    part(fd);
    expect(UNKNOWN("put"));
    telnet_stop(&telnet, 0);
    o = options(1);
    o.silent = true;
    start(&o);
    fd = join();
    wire_send(fd, "put m 1 x a=b\nversion\n", 22);
    part(fd);
    expect("halite, 1 words\n");
}
END_TEST

/* Beginnings of lines, of clients that never end them, count in one budget;
 * those that are short do not, so others can work meanwhile. */
START_TEST(limits_what_all_keep)
{
    static const char too_long[] =
        "line too long: skipped, the memory for lines of all telnet "
        "connections is used up (halite.telnet.total_bytes)\n";
    char half[3000];
    struct telnet_options o;
    int fds[5];

    set_up(1);
    telnet_stop(&telnet, 0);
    o = options(1);
    o.line_bytes = 4000;
    o.total_bytes = 13334; /* 10,000 for one address */
    start(&o);
    memset(half, 'x', sizeof half);
    memcpy(half, "version\nput m 1 1 a=", 20);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5; i++) {
            fds[i] = join();
            wire_send(fds[i], half, sizeof half);
            ck_assert(wire_read(fds[i], &heard, 16));
            if (i < 3) {
                expect("halite, 1 words\n");
                continue;
            }
            ck_assert(wire_read(fds[i], &heard, 16 + sizeof too_long - 1));
            ck_assert_int_eq(memcmp(heard.data, "halite, 1 words\n", 16), 0);
            heard.size -= 16;
            memmove(heard.data, heard.data + 16, heard.size);
            ck_assert(wire_read(fds[i], &heard, sizeof too_long - 1));
            expect(too_long);
            /* The rest of the line is skipped; the next line counts. */
            wire_send(fds[i], half + 20, sizeof half - 20);
            wire_send(fds[i], "\nversion\n", 9);
            ck_assert(wire_read(fds[i], &heard, 16));
            expect("halite, 1 words\n");
        }
        /* A line that ends is taken, though the budget is exhausted. */
        wire_send(fds[0], "\nversion\n", 9);
        ck_assert(wire_read(fds[0], &heard, 16));
        expect("halite, 1 words\n");
        for (int i = 0; i < 5; i++)
            part(fds[i]);
        buf_clear(&heard);
    }
}
END_TEST

/* One address cannot use up the budget: what another one begins is kept. */
START_TEST(leaves_room_for_other_addresses)
{
    struct sockaddr_in other = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0x0a000001) };
    char half[3000];
    struct telnet_options o;
    int fds[5], fd;

    set_up(1);
    telnet_stop(&telnet, 0);
    o = options(1);
    o.line_bytes = 4000;
    o.total_bytes = 13334;
    start(&o);
    memset(half, 'x', sizeof half);
    memcpy(half, "version\n", 8);
    for (int i = 0; i < 5; i++) {
        fds[i] = join();
        wire_send(fds[i], half, sizeof half);
        ck_assert(wire_read(fds[i], &heard, 16));
    }
    buf_clear(&heard);
    fd = join_as((const struct sockaddr *)&other, sizeof other);
    wire_send(fd, half, sizeof half);
    ck_assert(wire_read(fd, &heard, 16));
    wire_send(fd, "\nversion\n", 9);
    part(fd);
    /* The line of 2,992 bytes was read as a whole. */
    ck_assert_ptr_nonnull(
        memmem(heard.data, heard.size, "unknown command", 15));
    ck_assert_ptr_null(memmem(heard.data, heard.size, "too long", 8));
    for (int i = 0; i < 5; i++)
        part(fds[i]);
    buf_clear(&heard);
}
END_TEST

/* So do answers that are not read. */
START_TEST(limits_answers_that_are_not_read)
{
    struct telnet_options o;
    struct buf asks = BUF_INIT;
    int fd;

    set_up(1);
    telnet_stop(&telnet, 0);
    o = options(1);
    o.output_bytes = 8 << 20;
    o.total_bytes = 100000;
    start(&o);
    for (size_t i = 0; i < 100000; i++)
        buf_put_str(&asks, "version\n");
    fd = join();
    wire_send(fd, (const char *)asks.data, asks.size);
    /* It is cut off before it has heard all of them. */
    ck_assert(!wire_read(fd, &heard, SIZE_MAX));
    ck_assert_uint_lt(heard.size, 100000 * strlen("halite, 1 words\n"));
    (void)close(fd);
    buf_fini(&asks);
}
END_TEST

TEST_MAIN_WITH(
    NULL, tear_down, "telnet", TEST(limits_what_all_keep),
    TEST(leaves_room_for_other_addresses),
    TEST(limits_answers_that_are_not_read), LOOP(talks_in_one_chunk, talks),
    LOOP(talks_cut_anywhere, talks), LOOP(talks_byte_by_byte, talks),
    TEST(answers_after_the_commit), TEST(commits_points_that_wait),
    TEST(an_answer_waits_for_the_owners),
    TEST(what_owners_reject_is_said_first), TEST(others_do_not_wait_for_owners),
    TEST(a_batch_that_waits_is_told_what_was_rejected),
    TEST(a_stop_does_not_wait_for_owners),
    TEST(stops_answering_when_commits_fail),
    TEST(waits_while_the_store_is_busy),
    TEST(never_blocks_on_who_does_not_read), TEST(takes_many_at_once),
    TEST(keeps_what_arrived_before_the_stop), TEST(can_do_without_puts))
