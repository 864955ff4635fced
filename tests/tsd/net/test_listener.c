#include "tsd/net/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "cluster/peer/channel.h"
#include "tests/harness.h"
#include "tests/tsd/fake_ingest.h"
#include "tests/tsd/wire.h"

/* Of the case that runs. */
static struct put_path *path;
static struct telnet *telnet;
static struct listener *listener;

/* Instead of web/: says a word, and closes. */
enum status
http_server_adopt_socket(struct http_server *s, int fd,
                         const struct sockaddr *peer, socklen_t peer_size,
                         struct error *e)
{
    (void)s;
    (void)e;
    ck_assert_uint_gt(peer_size, 0);
    ck_assert_int_eq(peer->sa_family, AF_INET);
    ck_assert_int_eq((int)send(fd, "http\n", 5, MSG_NOSIGNAL), 5);
    (void)close(fd);
    listener_http_closed(listener);
    return ST_OK;
}

static void
serve_version(void *ctx, struct telnet_call *call)
{
    const struct sockaddr_in *peer = (const void *)call->peer;

    (void)ctx;
    ck_assert_uint_eq(peer->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    buf_put_str(call->out, "telnet\n");
}

static const struct telnet_route routes[] = {
    { "version", serve_version, NULL, 0, false },
    { "exit", NULL, NULL, 0, false },
    { "put", NULL, NULL, HTTP_WRITES, false },
};

static void
set_up_idle(size_t max_connections, unsigned idle_ms)
{
    struct put_options po = { .rules = { true, true, true, 8, false } };
    struct listener_options lo = { .bind = "127.0.0.1",
                                   .max_connections = max_connections,
                                   .idle_ms = idle_ms };
    struct telnet_options to = { .routes = routes,
                                 .routes_len = 3,
                                 .closed = listener_telnet_closed };
    struct error e;

    fake_reset();
    path = put_path_new(NULL, NULL, NULL, &po);
    ck_assert_msg(listener_open(&lo, &listener, &e) == ST_OK, "%s", e.text);
    to.put = path;
    to.closed_ctx = listener;
    ck_assert_int_eq(telnet_start(&to, &telnet, &e), ST_OK);
    ck_assert_int_eq(listener_start(listener,
                                    (struct http_server *)(void *)&path, telnet,
                                    &e),
                     ST_OK);
}

static void
set_up(size_t max_connections)
{
    set_up_idle(max_connections, 0);
}

static void
tear_down(void)
{
    if (listener == NULL)
        return;
    listener_stop(listener);
    telnet_stop(&telnet, 1000);
    ck_assert_uint_eq(listener_counts(listener).open, 0);
    ck_assert_uint_eq(listener_counts(listener).http, 0);
    ck_assert_uint_eq(listener_counts(listener).telnet, 0);
    listener_close(&listener);
    put_path_free(&path);
    fake_reset();
}

static int
dial(void)
{
    const char *address = listener_address(listener);
    struct sockaddr_in a = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert(strncmp(address, "127.0.0.1:", 10) == 0);
    a.sin_port = htons((uint16_t)atoi(address + 10));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void
expect(int fd, const char *text)
{
    struct buf heard = BUF_INIT;

    (void)wire_read(fd, &heard, strlen(text) == 0 ? 1 : strlen(text));
    ck_assert_str_eq(buf_cstr(&heard), text);
    buf_fini(&heard);
}

static const struct {
    const char *said, *heard;
} firsts[] = {
    { "GET / HTTP/1.1\r\n\r\n", "http\n" },
    { "P", "http\n" },
    { "Z", "http\n" },
    { "GET \r\n\r\n", "http\n" },
    { "\r\nGET / HTTP/1.1\r\n\r\n", "http\n" },
    { "\n\r\n\nPOST /api/put HTTP/1.1\r\n\r\n", "http\n" },
    { "GET /\r\n\r\n", "http\n" },
    { "OPTIONS * HTTP/1.1\r\n\r\n", "http\n" },
    { "GET http://x/ HTTP/1.1\r\n\r\n", "http\n" },
    { "PUT m 1 1 a=b", "http\n" },
    { "CONNECT x:1 HTTP/1.1\r\n\r\n", "http\n" },
    { "version\n", "telnet\n" },
    { "@\n", "unknown command: @.  Try `help'.\n" },
    { "[\n", "unknown command: [.  Try `help'.\n" },
    { "\xff\xf1version\n", "telnet\n" },
    { "\n", "unknown command: .  Try `help'.\n" },
    { "\r\nversion\n", "unknown command: .  Try `help'.\ntelnet\n" },
    { "PUT m 1 1 a=b\n", "unknown command: PUT.  Try `help'.\n" },
    { "VERSION\r\n", "unknown command: VERSION.  Try `help'.\n" },
};

START_TEST(tells_by_the_first_byte)
{
    int fd, silent;

    set_up(0);
    silent = dial();
    fd = dial();
    wire_send(fd, firsts[_i].said, strlen(firsts[_i].said));
    expect(fd, firsts[_i].heard);
    (void)close(fd);
    /* Who was silent for a while is served as well. */
    wire_send(silent, "version\n", 8);
    expect(silent, "telnet\n");
    /* The end of the first is seen a little later. */
    while (listener_counts(listener).telnet != 1)
        (void)usleep(100);
    ck_assert_uint_eq(listener_counts(listener).tls, 0);
    (void)close(silent);
}
END_TEST

static void
count_rejections(void *ctx, const char *line)
{
    *(size_t *)ctx += strstr(line, "a connection was rejected") != NULL;
}

START_TEST(limits_connections)
{
    enum { LIMIT = 10 };
    int fds[LIMIT + 1];
    size_t told = 0;
    uint64_t rejected = counter_get(CNT_CONN_REJECTED),
             accepted = counter_get(CNT_CONN_TOTAL);

    set_up(LIMIT);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < LIMIT; i++) {
            fds[i] = dial();
            wire_send(fds[i], "version\n", 8);
            expect(fds[i], "telnet\n");
        }
        fds[LIMIT] = dial();
        expect(fds[LIMIT], ""); /* closed */
        (void)close(fds[LIMIT]);
        ck_assert_uint_eq(counter_get(CNT_CONN_REJECTED) - rejected, round + 1);
        for (size_t i = 0; i < LIMIT; i++) {
            wire_send(fds[i], "exit\n", 5);
            expect(fds[i], "");
            (void)close(fds[i]);
        }
        while (listener_counts(listener).open > 0)
            (void)usleep(100);
    }
    ck_assert_uint_eq(counter_get(CNT_CONN_TOTAL) - accepted, 3 * LIMIT);
    log_recent(count_rejections, &told);
    ck_assert_uint_eq(told, 1); /* not once each */
}
END_TEST

/* Whoever has something to say is let in, the oldest of the silent goes. */
START_TEST(lets_silent_ones_give_way)
{
    enum { LIMIT = 4 };
    int silent[LIMIT], fds[2];
    uint64_t rejected = counter_get(CNT_CONN_REJECTED),
             slow = counter_get(CNT_CONN_TIMEOUT);

    set_up(LIMIT);
    for (size_t i = 0; i < LIMIT; i++)
        silent[i] = dial();
    for (size_t i = 0; i < 2; i++) {
        fds[i] = dial();
        wire_send(fds[i], "version\n", 8);
        expect(fds[i], "telnet\n");
        expect(silent[i], ""); /* closed */
        (void)close(silent[i]);
    }
    /* The younger ones are served as well. */
    wire_send(silent[2], "version\n", 8);
    expect(silent[2], "telnet\n");
    ck_assert_uint_eq(counter_get(CNT_CONN_REJECTED) - rejected, 2);
    ck_assert_uint_eq(counter_get(CNT_CONN_TIMEOUT) - slow, 0);
    (void)close(silent[2]);
    (void)close(silent[3]);
    (void)close(fds[0]);
    (void)close(fds[1]);
}
END_TEST

START_TEST(ends_who_says_nothing)
{
    int a, c;

    set_up_idle(0, 20);
    a = dial();
    c = dial();
    expect(a, "");
    expect(c, "");
    (void)close(a);
    (void)close(c);
}
END_TEST

START_TEST(survives_a_lack_of_descriptors)
{
    struct rlimit old, limit;
    int full[64], fd, n = 0;
    uint64_t rejected = counter_get(CNT_CONN_REJECTED);

    set_up(0);
    fd = dial();
    wire_send(fd, "version\n", 8);
    expect(fd, "telnet\n");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit = old;
    limit.rlim_cur = 40;
    /* Sockets for the clients first, then all that are left. */
    for (int i = 0; i < 3; i++)
        full[n++] = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (n < 64 && (full[n] = dup(fd)) >= 0)
        n++;
    for (int i = 0; i < 3; i++) {
        struct sockaddr_in a = { .sin_family = AF_INET };

        a.sin_port = htons((uint16_t)atoi(listener_address(listener) + 10));
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ck_assert_int_eq(connect(full[i], (struct sockaddr *)&a, sizeof a), 0);
        expect(full[i], "");
    }
    if (!harness_is_valgrind()) /* which closes them before we see them */
        ck_assert_uint_eq(counter_get(CNT_CONN_REJECTED) - rejected, 3);
    while (n > 0)
        (void)close(full[--n]);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    wire_send(fd, "version\n", 8);
    expect(fd, "telnet\n");
    (void)close(fd);
    fd = dial();
    wire_send(fd, "version\n", 8);
    expect(fd, "telnet\n");
    (void)close(fd);
}
END_TEST

/* statsd sends its lines at once and is gone: none of them may get lost,
 * whatever our answers run into. */
START_TEST(keeps_the_lines_of_who_is_gone)
{
    struct buf lines = BUF_INIT;

    set_up(0);
    for (size_t k = 0; k < 20; k++)
        buf_put_str(&lines, "put m 1 1 a=b\nput m 1 x a=b\nversion\n");
    for (size_t i = 0; i < 100; i++) {
        int fd = dial();

        wire_send(fd, lines.data, lines.size);
        (void)close(fd);
    }
    for (bool done = false; !done;) {
        lock_take(&fake.lock);
        done = fake.committed_points == 100 * 20;
        lock_drop(&fake.lock);
        (void)usleep(1000);
    }
    buf_fini(&lines);
}
END_TEST

/* -- peers ----------------------------------------------------------------- */

static void *
peer_session(void *ctx)
{
    return ctx;
}

static void
peer_session_end(void *ctx, void *session)
{
    ck_assert_ptr_eq(ctx, session);
}

/* A daemon of the same store finds the server behind the common port; without
 * one such a first byte is telnet's. */
START_TEST(hands_peers_over)
{
    static const uint8_t secret[FRAME_SECRET_SIZE] = { 1 };
    struct channel_target t = { .secret = secret, .silence_ms = 10000 };
    struct peer_server_options so = { .secret = secret };
    struct peer_server *server;
    struct channel *c;
    struct error e;
    int fd;

    set_up(0);
    fd = dial();
    wire_send(fd, "\2\n", 2);
    expect(fd, "unknown command: \2.  Try `help'.\n");
    (void)close(fd);
    so.handlers.session_open = peer_session;
    so.handlers.session_close = peer_session_end;
    so.closed = listener_peer_closed;
    so.closed_ctx = listener;
    server = peer_server_open(&so);
    listener_serve_peers(listener, server);
    t.address = listener_address(listener);
    ck_assert_msg(channel_dial(&t, clock_monotonic_us() + 60000000, &c, &e) ==
                      ST_OK,
                  "%s", e.text);
    ck_assert_uint_ge(listener_counts(listener).open, 1);
    channel_close(&c);
    while (listener_counts(listener).open > 0)
        (void)usleep(100);
    listener_stop(listener);
    peer_server_close(&server);
}
END_TEST

/* Does something listen there, on the port of 'address'? */
static bool
is_reached(const char *address, const char *host, const char *port)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *a;
    bool reached;
    int fd;

    if (port == NULL)
        port = strrchr(address, ':') + 1;
    ck_assert_int_eq(getaddrinfo(host, port, &hints, &a), 0);
    fd = socket(a->ai_family, SOCK_STREAM, 0);
    reached = fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0;
    (void)close(fd);
    freeaddrinfo(a);
    return reached;
}

static bool
has_ipv6(void)
{
    struct listener_options o = { .bind = "::1" };
    struct listener *l;

    if (listener_open(&o, &l, NULL) != ST_OK)
        return false;
    listener_close(&l);
    return true;
}

START_TEST(listens_on_all_addresses)
{
    static const struct {
        const char *bind;
        bool v4, v6;
        const char *address; /* how it begins */
    } cases[] = {
        { NULL, true, true, "0.0.0.0:" },
        { "", true, true, "0.0.0.0:" },
        { "0.0.0.0", true, true, "0.0.0.0:" },
        { "::", true, true, "0.0.0.0:" },
        { "[::]", true, true, "0.0.0.0:" },
        { "127.0.0.1", true, false, "127.0.0.1:" },
        { "::1", false, true, "[::1]:" },
        { "[::1]", false, true, "[::1]:" },
    };
    bool ipv6 = has_ipv6();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct listener_options o = { .bind = cases[i].bind };
        struct listener *l;
        struct error e;

        if (!cases[i].v4 && !ipv6)
            continue;
        ck_assert_msg(listener_open(&o, &l, &e) == ST_OK, "%s", e.text);
        ck_assert(slice_starts(slice_str(listener_address(l)),
                               slice_str(cases[i].address)));
        ck_assert_int_eq(is_reached(listener_address(l), "127.0.0.1", NULL),
                         cases[i].v4);
        if (ipv6)
            ck_assert_int_eq(is_reached(listener_address(l), "::1", NULL),
                             cases[i].v6);
        listener_close(&l);
    }
}
END_TEST

/* A name is each of its addresses, once. */
START_TEST(listens_on_addresses_of_a_name)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all;
    struct listener_options o = { .bind = "localhost" };
    struct listener *l;
    struct error e;

    if (getaddrinfo("localhost", NULL, &hints, &all) != 0)
        return;
    ck_assert_msg(listener_open(&o, &l, &e) == ST_OK, "%s", e.text);
    for (struct addrinfo *a = all; a != NULL; a = a->ai_next) {
        char host[NI_MAXHOST];

        ck_assert_int_eq(getnameinfo(a->ai_addr, a->ai_addrlen, host,
                                     sizeof host, NULL, 0, NI_NUMERICHOST),
                         0);
        if (a->ai_family == AF_INET || has_ipv6())
            ck_assert(is_reached(listener_address(l), host, NULL));
    }
    listener_close(&l);
    freeaddrinfo(all);
}
END_TEST

/* A port that is taken is an error, also where one family has it free. */
START_TEST(rejects_a_port_in_use)
{
    static const char *const first[] = { "127.0.0.1", "::1" };

    for (size_t i = 0; i < 2 && (i == 0 || has_ipv6()); i++) {
        struct listener_options o = { .bind = first[i] };
        struct listener *one, *two;
        struct error e;

        ck_assert_int_eq(listener_open(&o, &one, &e), ST_OK);
        o.bind = NULL;
        o.port = (uint16_t)atoi(strrchr(listener_address(one), ':') + 1);
        ck_assert_int_eq(listener_open(&o, &two, &e), ST_IO);
        ck_assert(strstr(e.text, "cannot listen on all addresses") != NULL);
        listener_close(&one);
    }
}
END_TEST

START_TEST(rejects_bad_addresses)
{
    static const char *const bad[] = { "999.1.1.1", "192.0.2.1" };
    struct listener_options o = { 0 };
    struct listener *l;
    struct error e;

    for (size_t i = 0; i < 2; i++) {
        o.bind = bad[i];
        ck_assert_int_ne(listener_open(&o, &l, &e), ST_OK);
        ck_assert_ptr_null(l);
        ck_assert(strncmp(e.text, "cannot listen on ", 17) == 0);
    }
}
END_TEST

TEST_MAIN_WITH(NULL, tear_down, "listener",
               LOOP(tells_by_the_first_byte, firsts), TEST(limits_connections),
               TEST(lets_silent_ones_give_way), TEST(ends_who_says_nothing),
               TEST(survives_a_lack_of_descriptors),
               TEST(keeps_the_lines_of_who_is_gone), TEST(hands_peers_over),
               TEST(listens_on_all_addresses),
               TEST(listens_on_addresses_of_a_name),
               TEST(rejects_a_port_in_use), TEST(rejects_bad_addresses))
