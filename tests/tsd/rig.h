/* A whole daemon in memory, on a free port of this machine, to be asked over
 * HTTP. */
#pragma once

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "tests/tsd/wire.h"
#include "tsd/daemon.h"

struct rig {
    struct settings *settings;
    struct daemon *daemon;
    int stop_fd;
};

/* 'words' are "key=value", with NULL behind them; or NULL. */
static inline void
rig_open(struct rig *g, const char *const *words)
{
    struct error e;

    (void)signal(SIGPIPE, SIG_IGN);
    g->settings = settings_new();
    settings_set(g->settings, "tsd.network.port", "0");
    settings_set(g->settings, "tsd.network.bind", "127.0.0.1");
    settings_set(g->settings, "halite.store", "memory");
    for (; words != NULL && *words != NULL; words++)
        ck_assert_int_eq(settings_set_word(g->settings, *words, &e), ST_OK);
    g->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(g->stop_fd, 0);
    ck_assert_msg(daemon_start(g->settings, g->stop_fd, &g->daemon, &e) ==
                      ST_OK,
                  "%s", e.text);
}

static inline void
rig_close(struct rig *g)
{
    struct error e;

    ck_assert_int_eq(daemon_stop(&g->daemon, &e), ST_OK);
    ck_assert_ptr_null(g->daemon);
    settings_free(&g->settings);
    (void)close(g->stop_fd);
}

static inline int
rig_connect(const struct rig *g)
{
    const char *colon = strrchr(daemon_address(g->daemon), ':');
    struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(colon + 1)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Sends a request; the answer is not read. 'body' may be NULL. */
static inline int
rig_send(const struct rig *g, const char *method, const char *path,
         const char *body)
{
    struct buf head = BUF_INIT;
    int fd = rig_connect(g);

    buf_printf(&head,
               "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
               method, path);
    if (body != NULL)
        buf_printf(&head, "Content-Length: %zu\r\n", strlen(body));
    buf_put_str(&head, "\r\n");
    if (body != NULL)
        buf_put_str(&head, body);
    wire_send(fd, head.data, head.size);
    buf_fini(&head);
    return fd;
}

/* The whole answer, head and body. */
static inline void
rig_ask(const struct rig *g, const char *method, const char *path,
        const char *body, struct buf *out)
{
    int fd = rig_send(g, method, path, body);

    buf_clear(out);
    while (wire_read(fd, out, out->size + 1))
        continue;
    (void)close(fd);
}
