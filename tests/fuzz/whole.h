/* A whole daemon in memory for fuzz targets, started at the first input and
 * stopped at the end; what an input stores stays for those behind it.
 *
 *     whole_say(bytes, fin, &answer);      on a connection of their own
 *
 * Nothing takes longer than WHOLE_MS, or the target fails. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/process/log.h"
#include "base/obj.h"
#include "tsd/daemon.h"

#define WHOLE_MS 20000

static struct {
    struct settings *settings;
    struct daemon *daemon;
    int stop_fd;
    struct sockaddr_in address;
} whole;

static void
whole_stop(void)
{
    struct error e;

    INSIST(daemon_stop(&whole.daemon, &e) == ST_OK);
    settings_free(&whole.settings);
    (void)close(whole.stop_fd);
}

/* Sends all, with 'fin' says that there is no more (who waits for an answer to
 * HTTP had better not), and reads to the end.  Closes with a
 * reset, since ports that wait for stray packets would soon be all there are.
 */
static void
whole_say(struct slice bytes, bool fin, struct buf *answer)
{
    struct linger reset = { .l_onoff = 1 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool told = false;

    INSIST(fd >= 0);
    INSIST(connect(fd, (const struct sockaddr *)&whole.address,
                   sizeof whole.address) == 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    buf_clear(answer);
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint8_t *to = buf_reserve(answer, 4096);
        ssize_t n;
        int ready;

        if (bytes.size > 0)
            p.events |= POLLOUT;
        else if (fin && !told)
            told = shutdown(fd, SHUT_WR) == 0 || true;
        ready = poll(&p, 1, WHOLE_MS);
        if (ready < 0 && errno == EINTR) /* libFuzzer's clock */
            continue;
        INSIST(ready == 1);
        if (bytes.size > 0 && (p.revents & POLLOUT) != 0) {
            n = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0)
                n = errno == EAGAIN ? 0 : (ssize_t)bytes.size;
            bytes = slice_of(bytes.data + n, bytes.size - (size_t)n);
        }
        if ((p.revents & (POLLIN | POLLHUP | POLLERR)) == 0)
            continue;
        n = recv(fd, to, 4096, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
        answer->size += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
}

/* Something of all kinds, so that there is something to be found. */
static void
whole_fill(void)
{
    static const char *const texts[] = {
        "put m 1356998400 1 host=a dc=x\nput m 1356998460 2.5 host=a dc=x\n"
        "put m 1356998400 7 host=b\nput n 1356998400000 -3 host=a\n"
        "put n 1356998500 1e3 host=b\n"
        "histogram h 1356998400 0:0:0,1=3:1,2=5 host=a\nversion\n",
        "POST /api/annotation HTTP/1.1\r\nConnection: close\r\n"
        "Content-Length: 45\r\n\r\n"
        "{\"startTime\":1356998400,\"description\":\"all\"} ",
        "GET /api/tree?name=t&enabled=true&method_override=post HTTP/1.1\r\n"
        "Connection: close\r\n\r\n",
        "GET /api/tree/rule?treeid=1&level=0&order=0&type=tagk&field=host&"
        "method_override=post HTTP/1.1\r\nConnection: close\r\n\r\n",
    };
    struct buf answer = BUF_INIT;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        whole_say(slice_str(texts[i]), i == 0, &answer);
    buf_fini(&answer);
}

static void
whole_start(void)
{
    static const char histograms[] =
        "tsd.core.histograms.config={\"net.opentsdb.core."
        "SimpleHistogramDecoder\":0}";
    static const char *const words[] = {
        "tsd.network.port=0",
        "tsd.network.bind=127.0.0.1",
        "halite.store=memory",
        "halite.http.idle_ms=100", /* half-closed ones end with it */
        "tsd.core.auto_create_metrics=true",
        histograms,
        "tsd.http.query.allow_delete=true",
        "tsd.http.request.cors_domains=http://a.example,b",
        "tsd.core.meta.enable_tsuid_tracking=true",
        "tsd.core.tree.enable_processing=true",
    };
    struct error e = { 0 };
    const char *colon;

    log_set_level(LOG_ERROR); /* GET /logs may have changed it */
    if (whole.daemon != NULL)
        return;
    (void)signal(SIGPIPE, SIG_IGN);
    whole.settings = settings_new();
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        INSIST(settings_set_word(whole.settings, words[i], &e) == ST_OK);
    INSIST(settings_check(whole.settings, &e) == ST_OK);
    whole.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    INSIST(whole.stop_fd >= 0);
    if (daemon_start(whole.settings, whole.stop_fd, &whole.daemon, &e) !=
        ST_OK) {
        (void)fprintf(stderr, "%s\n", e.text);
        abort();
    }
    INSIST(atexit(whole_stop) == 0);
    colon = strrchr(daemon_address(whole.daemon), ':');
    INSIST(colon != NULL);
    whole.address.sin_family = AF_INET;
    whole.address.sin_port = htons((uint16_t)atoi(colon + 1));
    whole.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    whole_fill();
}
