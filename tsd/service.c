/* See tsd/service.h.  The protocol is a datagram of "KEY=value" lines, too
 * little for a library. */
#include "tsd/service.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"

/* Four probes in the watchdog's time: three may be lost. */
#define PROBES      4
#define BEAT_MAX_MS 60000

/* From here on TimeoutStopSec alone limits the stop, not the watchdog. */
#define STOP_TEXT "STOPPING=1\nWATCHDOG_USEC=86400000000\n"

static const char probe_request[] =
    "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/* "/run/systemd/notify"; a '@' stands for the zero byte of an abstract name. */
static int
open_notify_socket(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t size = strlen(path);
    int fd;

    if (size < 2 || size >= sizeof a.sun_path)
        return -1;
    memcpy(a.sun_path, path, size);
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                       size)) == 0)
        return fd;
    log_warn("service", "cannot reach $NOTIFY_SOCKET %s: %m",
             log_quote(slice_str(path)));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* The journal takes a line's priority from "<6>" in front of it. */
static bool
stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat s;

    return stream != NULL &&
           sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &s) == 0 && s.st_dev == device &&
           s.st_ino == inode;
}

void
service_open(struct service *s)
{
    const char *path = getenv("NOTIFY_SOCKET");
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    unsigned long long ms;

    *s = (struct service){ .notify_fd = -1, .probe_fd = -1 };
    log_set_priorities(stderr_is_journal());
    if (path == NULL)
        return;
    s->notify_fd = open_notify_socket(path);
    /* The watchdog may be meant for another process. */
    if (s->notify_fd < 0 || us == NULL ||
        (pid != NULL && strtol(pid, NULL, 10) != getpid()))
        return;
    ms = strtoull(us, NULL, 10) / 1000 / PROBES;
    s->beat_ms = ms < BEAT_MAX_MS ? (unsigned)ms : BEAT_MAX_MS;
}

void
service_close(struct service *s)
{
    if (s->probe_fd >= 0)
        (void)close(s->probe_fd);
    if (s->notify_fd >= 0)
        (void)close(s->notify_fd);
    s->probe_fd = s->notify_fd = -1;
    s->beat_ms = 0;
}

static void
service_tell(const struct service *s, const char *text)
{
    if (s->notify_fd >= 0 &&
        send(s->notify_fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        log_warn("service", "cannot tell the service manager: %m");
}

void
service_ready(struct service *s, const char *address)
{
    char text[400];

    s->address = address;
    (void)snprintf(text, sizeof text, "READY=1\nSTATUS=Listening on %s\n",
                   address);
    service_tell(s, text);
}

void
service_reloading(struct service *s)
{
    char text[80];

    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
                   (long long)clock_monotonic_us());
    service_tell(s, text);
}

void
service_stopping(struct service *s)
{
    service_tell(s, STOP_TEXT);
}

int
service_wait_ms(const struct service *s)
{
    return s->beat_ms == 0 ? -1 : (int)s->beat_ms;
}

/* -1: no connection within a second. */
static int
open_probe(const char *address)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICHOST };
    const struct timeval second = { .tv_sec = 1 };
    const char *colon = strrchr(address, ':');
    bool brackets = address[0] == '[';
    struct addrinfo *a = NULL;
    char host[256];
    int fd = -1;

    if (colon == NULL)
        return -1;
    (void)snprintf(host, sizeof host, "%.*s",
                   (int)(colon - address) - 2 * brackets, address + brackets);
    if (getaddrinfo(host, colon + 1, &hints, &a) != 0)
        return -1;
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second) != 0 ||
         connect(fd, a->ai_addr, a->ai_addrlen) != 0 ||
         send(fd, probe_request, sizeof probe_request - 1, MSG_NOSIGNAL) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(a);
    return fd;
}

void
service_watch(struct service *s)
{
    int64_t now = clock_monotonic_us();
    char answer[512];

    if (s->beat_ms == 0 || s->address == NULL)
        return;
    if (s->probe_fd >= 0 &&
        (recv(s->probe_fd, answer, sizeof answer, MSG_DONTWAIT) >= 0 ||
         errno != EAGAIN)) {
        service_tell(s, "WATCHDOG=1\n");
        (void)close(s->probe_fd);
        s->probe_fd = -1;
    }
    if (now < s->next_us)
        return;
    s->next_us = now + (int64_t)s->beat_ms * 1000;
    if (s->probe_fd >= 0) {
        log_warn("service", "no answer from %s for %u ms", s->address,
                 s->beat_ms);
        (void)close(s->probe_fd);
    }
    s->probe_fd = open_probe(s->address);
}
