/* A datagram socket in the service manager's place: what it is told, and when.
 */
#include "tsd/service.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/tempdir.h"

static char *dir;
static int manager = -1;

/* 'name' is a path, or begins with '@'. */
static void
open_manager(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    socklen_t size = (socklen_t)(sizeof a.sun_family + strlen(name));

    memcpy(a.sun_path, name, strlen(name));
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&a, size), 0);
    (void)setenv("NOTIFY_SOCKET", name, 1);
}

static void
setup(void)
{
    char *path;

    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    dir = tempdir_new();
    path = tempdir_path(dir, "notify");
    open_manager(path);
    free(path);
}

static void
teardown(void)
{
    (void)close(manager);
    tempdir_free(&dir);
}

/* The next message within 'ms'; "" when there is none. */
static const char *
told(int ms)
{
    static char text[512];
    struct pollfd fd = { .fd = manager, .events = POLLIN };
    ssize_t n = poll(&fd, 1, ms) == 1
                    ? recv(manager, text, sizeof text - 1, MSG_DONTWAIT)
                    : 0;

    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Beats of the watchdog may come in between. */
static void
expect_told(const char *begin)
{
    const char *text = told(60000);

    while (strcmp(text, "WATCHDOG=1\n") == 0 && strcmp(text, begin) != 0)
        text = told(60000);
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "wanted %s, got %s",
                  begin, text);
}

START_TEST(tells_the_life_of_the_daemon)
{
    struct service s;
    const char *text;

    service_open(&s);
    ck_assert_str_eq(told(0), "");
    service_ready(&s, "127.0.0.1:4242");
    ck_assert_str_eq(told(0), "READY=1\nSTATUS=Listening on 127.0.0.1:4242\n");
    service_reloading(&s);
    text = told(0);
    ck_assert_ptr_eq(strstr(text, "RELOADING=1\nMONOTONIC_USEC="), text);
    service_stopping(&s);
    text = told(0);
    ck_assert_ptr_eq(strstr(text, "STOPPING=1\n"), text);
    /* Without a watchdog nothing is due, ever. */
    ck_assert_int_eq(service_wait_ms(&s), -1);
    service_watch(&s);
    ck_assert_int_eq(s.probe_fd, -1);
    service_close(&s);
    service_close(&s);
}
END_TEST

START_TEST(knows_abstract_names)
{
    struct service s;
    char name[40];

    (void)close(manager);
    (void)snprintf(name, sizeof name, "@halite-test-%d", (int)getpid());
    open_manager(name);
    service_open(&s);
    service_stopping(&s);
    ck_assert_str_ne(told(0), "");
    service_close(&s);
}
END_TEST

static const char *const bad_names[] = {
    "",
    "/",
    "/nowhere/to/be/found",
    ("/a/name/longer/than/an/address/of/a/socket/can/be/so/that/it/cannot/be/"
     "copied/there/whatever/is/tried/with/it/0123456789"),
};

/* A manager that cannot be reached keeps no daemon from working. */
START_TEST(works_alone)
{
    struct service s;

    (void)setenv("NOTIFY_SOCKET", bad_names[_i], 1);
    (void)setenv("WATCHDOG_USEC", "4000", 1);
    service_open(&s);
    ck_assert_int_eq(s.notify_fd, -1);
    service_ready(&s, "127.0.0.1:1");
    service_watch(&s);
    service_stopping(&s);
    ck_assert_int_eq(service_wait_ms(&s), -1);
    service_close(&s);
}
END_TEST

static const struct {
    const char *us, *pid; /* NULL: our own */
    int wait_ms;
} watchdogs[] = {
    { "60000000", NULL, 15000 },
    { "60000000", "1", -1 }, /* for another process */
    { "0", NULL, -1 },
    { "x", NULL, -1 },
    { "99999999999999999999", NULL, 60000 },
};

START_TEST(reads_the_watchdog)
{
    struct service s;
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)setenv("WATCHDOG_USEC", watchdogs[_i].us, 1);
    (void)setenv("WATCHDOG_PID",
                 watchdogs[_i].pid == NULL ? pid : watchdogs[_i].pid, 1);
    service_open(&s);
    ck_assert_int_eq(service_wait_ms(&s), watchdogs[_i].wait_ms);
    service_close(&s);
}
END_TEST

/* A listening socket of this machine, and its address. */
static int
open_server(int family, char address[64])
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in four = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr *a =
        family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t size = family == AF_INET6 ? sizeof six : sizeof four;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, a, size) != 0)
        return -1;
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, a, &size), 0);
    (void)snprintf(address, 64, "%s:%d",
                   family == AF_INET6 ? "[::1]" : "127.0.0.1",
                   ntohs(family == AF_INET6 ? six.sin6_port : four.sin_port));
    return fd;
}

static const int families[] = { AF_INET, AF_INET6 };

START_TEST(an_answer_feeds_the_watchdog)
{
    struct service s;
    char address[64], request[200] = "";
    int server = open_server(families[_i], address), client;

    if (server < 0) /* no IPv6 here */
        return;
    /* A probe that is not answered in a quarter of it makes way for another. */
    (void)setenv("WATCHDOG_USEC", "240000000", 1);
    service_open(&s);
    service_watch(&s); /* not served yet: no probe */
    ck_assert_int_eq(s.probe_fd, -1);
    service_ready(&s, address);
    (void)told(0);
    service_watch(&s);
    ck_assert_int_ge(s.probe_fd, 0);
    client = accept(server, NULL, NULL);
    ck_assert_int_gt(read(client, request, sizeof request - 1), 0);
    ck_assert_ptr_eq(strstr(request, "GET /health HTTP/1.1\r\n"), request);
    service_watch(&s);
    ck_assert_str_eq(told(0), "");
    ck_assert_int_eq(write(client, "HTTP/1.1 200", 12), 12);
    ck_assert_int_eq(
        poll(&(struct pollfd){ .fd = s.probe_fd, .events = POLLIN }, 1, 60000),
        1);
    service_watch(&s);
    ck_assert_str_eq(told(0), "WATCHDOG=1\n");
    (void)close(client);
    (void)close(server);
    service_close(&s);
}
END_TEST

/* One that accepts and says nothing is given up, and asked anew; one that is
 * not there is asked anew, too. */
START_TEST(silence_does_not)
{
    struct service s;
    char address[64];
    int server = open_server(AF_INET, address), first, second;

    (void)setenv("WATCHDOG_USEC", "4000", 1);
    service_open(&s);
    service_ready(&s, address);
    (void)told(0);
    service_watch(&s);
    first = accept(server, NULL, NULL);
    ck_assert_int_ge(first, 0);
    s.next_us = 0;
    service_watch(&s);
    second = accept(server, NULL, NULL);
    ck_assert_int_ge(second, 0);
    (void)close(server);
    s.next_us = 0;
    service_watch(&s);
    ck_assert_int_eq(s.probe_fd, -1);
    ck_assert_str_eq(told(0), "");
    (void)close(first);
    (void)close(second);
    service_close(&s);
}
END_TEST

/* $halite from start to end, as systemd would run it. */
START_TEST(the_program_tells)
{
    const char *program = getenv("halite");
    int status = -1;
    pid_t child;

    if (program == NULL)
        return; /* started by hand */
    (void)setenv("WATCHDOG_USEC", "400000", 1);
    child = fork();
    if (child == 0) {
        (void)execl(program, "halite", "tsd", "--memory", "--bind=127.0.0.1",
                    "--port=0", (char *)NULL);
        _exit(127);
    }
    expect_told("READY=1\nSTATUS=Listening on 127.0.0.1:");
    expect_told("WATCHDOG=1\n");
    expect_told("WATCHDOG=1\n");
    ck_assert_int_eq(kill(child, SIGHUP), 0);
    expect_told("RELOADING=1\n");
    expect_told("READY=1\n");
    ck_assert_int_eq(kill(child, SIGTERM), 0);
    expect_told("STOPPING=1\n");
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

TEST_MAIN_FORKED_WITH(setup, teardown, "service",
                      TEST(tells_the_life_of_the_daemon),
                      TEST(the_program_tells), TEST(knows_abstract_names),
                      LOOP(works_alone, bad_names),
                      LOOP(reads_the_watchdog, watchdogs),
                      LOOP(an_answer_feeds_the_watchdog, families),
                      TEST(silence_does_not))
