/* 'import' to a server whose store is busy: a worker is soon free again, and
 * the client sends what was not taken until it was. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/store/store_priv.h"
#include "tests/tsd/tool/workbench.h"
#include "tsd/put/put.h"
#include "tsd/tool/import/api_import.h"
#include "tsd/client/client.h"

#define LINES      24000
#define BAD        3 /* of these lines */
#define HEAD_BYTES (4u << 20)
#define ROOM       (400u << 10) /* for less than these lines */

struct server {
    struct workbench *bench;
    struct http_server *http;
    int listener;
    char address[40];
    pthread_t acceptor, holder;
    atomic_uint requests;
    atomic_bool held;
    unsigned busy_requests;
};

static void
serve_import(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct server *s = ctx;

    atomic_fetch_add(&s->requests, 1);
    api_tool_import(&s->bench->db.api, r, out);
}

static void *
accept_all(void *arg)
{
    struct server *s = arg;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    struct error e;
    int fd;

    while ((fd = accept4(s->listener, (struct sockaddr *)&peer, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        ck_assert_int_eq(http_server_adopt_socket(
                             s->http, fd, (struct sockaddr *)&peer, size, &e),
                         ST_OK);
    return NULL;
}

static void
server_start(struct server *s, struct workbench *w)
{
    const struct http_route route = { .path = "/api/tool",
                                      .methods = HTTP_POST,
                                      .worker = true,
                                      .serve = serve_import,
                                      .ctx = s };
    const struct http_options o = { .routes = &route, .routes_len = 1 };
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    struct error e;

    *s = (struct server){ .bench = w };
    ck_assert_int_eq(http_server_start(&o, &s->http, &e), ST_OK);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(s->listener, 16), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&at, &size),
                     0);
    (void)snprintf(s->address, sizeof s->address, "127.0.0.1:%d",
                   ntohs(at.sin_port));
    ck_assert_int_eq(pthread_create(&s->acceptor, NULL, accept_all, s), 0);
}

static void
server_stop(struct server *s)
{
    (void)shutdown(s->listener, SHUT_RDWR);
    (void)pthread_join(s->acceptor, NULL);
    http_server_stop(&s->http, 2000);
    (void)close(s->listener);
}

/* Puts points until the head has room for some batches only. */
static void
fill_head(struct workbench *w)
{
    struct put_batch *b = put_batch_new(w->db.api.put, NULL, NULL);
    struct store *store = w->db.api.store;
    size_t stored = 0;
    char line[64];

    for (unsigned i = 0; head_bytes(store->head) + ROOM < HEAD_BYTES; i++) {
        (void)snprintf(line, sizeof line, "full.m 1356998400 1 h=%u", i);
        put_batch_line(b, slice_str(line), i, false);
        ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
    }
    put_batch_free(&b);
}

/* Keeps the flusher from its work until so many requests came. */
static void *
hold_store(void *arg)
{
    struct server *s = arg;
    struct lock *flush = &s->bench->db.api.store->flush_lock;
    const struct timespec nap = { 0, 5000000 };

    lock_take(flush);
    atomic_store(&s->held, true);
    while (atomic_load(&s->requests) < s->busy_requests)
        (void)nanosleep(&nap, NULL);
    lock_drop(flush);
    return NULL;
}

static void
write_lines(const char *path, bool json)
{
    struct buf text = BUF_INIT;
    FILE *f = fopen(path, "we");

    for (int i = 0; i < LINES; i++) {
        if (i % (LINES / BAD) == 7)
            buf_put_str(&text, "no line at all\n");
        else if (json)
            buf_printf(&text,
                       "{\"type\":\"points\",\"metric\":\"i.m\",\"tags\":{"
                       "\"h\":\"%d\"},\"times\":[1356998400],\"values\":[1]}\n",
                       i);
        else
            buf_printf(&text, "i.m 1356998400 1 h=%d\n", i);
    }
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text.data, 1, text.size, f), text.size);
    ck_assert_int_eq(fclose(f), 0);
    buf_fini(&text);
}

/* As a client: without a store of its own. */
static int
import_there(struct workbench *w, const struct server *s,
             const char *const *words)
{
    const struct client_options o = { .address = s->address };
    struct tool_args args;
    struct tool t = {
        .command = tool_command_find("import"),
        .args = &args,
        .settings = w->settings,
        .zone = w->db.api.zone,
        .out = { .write = workbench_keep, .ctx = &w->out },
        .err = { .write = workbench_keep, .ctx = &w->err },
        .cancel = { w->is_cancelled, w },
    };
    size_t len = 0;
    struct error e;
    int rc;

    while (words[len] != NULL)
        len++;
    ck_assert_int_eq(client_open(&o, &t.remote, &e), ST_OK);
    ck_assert_int_eq(tool_args_parse(&args, t.command->options,
                                     tool_common_options, len, words, &e),
                     ST_OK);
    rc = tool_run(&t);
    tool_args_fini(&args);
    client_close(&t.remote);
    return rc;
}

/* Each is there once. */
static void
count_points(struct workbench *w)
{
    char expected[40];

    ck_assert_int_eq(
        RUN(w, "query", "--exact", "1356998400", "1356998500", "sum", "i.m"),
        0);
    (void)snprintf(expected, sizeof expected, " %d {", LINES - BAD);
    ck_assert_msg(strstr(buf_cstr(&w->out), expected) != NULL, "%s",
                  buf_cstr(&w->out));
}

/* The requests of which the last one finds the store as it should be: the first
 * asks which store it is, the second has a part taken, the third none. */
static const struct {
    bool json;
    unsigned requests;
} cases[] = { { false, 4 }, { true, 3 } };

START_TEST(nothing_is_lost_or_counted_twice)
{
    char *dir = tempdir_new(), *data = tempdir_path(dir, "data"),
         *lines = tempdir_path(dir, "lines");
    const char *const words[] = { "--skip-errors", lines,
                                  cases[_i].json ? "--json" : NULL, NULL };
    const struct timespec nap = { 0, 1000000 };
    char expected[80];
    struct workbench w;
    struct server s;

    workbench_open(&w, data);
    w.db.api.store->options.head_bytes = HEAD_BYTES;
    server_start(&s, &w);
    s.busy_requests = cases[_i].requests;
    write_lines(lines, cases[_i].json);
    ck_assert_int_eq(pthread_create(&s.holder, NULL, hold_store, &s), 0);
    while (!atomic_load(&s.held))
        (void)nanosleep(&nap, NULL);
    fill_head(&w);
    ck_assert_int_eq(import_there(&w, &s, words), 0);
    (void)pthread_join(s.holder, NULL);
    ck_assert_uint_ge(atomic_load(&s.requests), cases[_i].requests);
    (void)snprintf(expected, sizeof expected, "%d points in", LINES - BAD);
    ck_assert_msg(strstr(buf_cstr(&w.err), expected) != NULL, "%s",
                  buf_cstr(&w.err));
    (void)snprintf(expected, sizeof expected, ", %d bad lines", BAD);
    ck_assert_msg(strstr(buf_cstr(&w.err), expected) != NULL, "%s",
                  buf_cstr(&w.err));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&w.err), "lines:16008: "));
    count_points(&w);
    server_stop(&s);
    workbench_close(&w);
    free(lines);
    free(data);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("import_busy", LOOP(nothing_is_lost_or_counted_twice, cases))
