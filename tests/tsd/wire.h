/* Sockets for tests: send all, read until the end or until there is enough.
 * Every wait ends after a minute, with a failed test. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/harness.h"

#define WIRE_MS 60000

static inline void
wire_nonblocking(int fd)
{
    ck_assert_int_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static inline void
wire_wait(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };
    int n;

    while ((n = poll(&p, 1, WIRE_MS)) < 0 && errno == EINTR)
        ;
    ck_assert_msg(n == 1, "the other side does not move");
}

/* The other side may have hung up: the rest has no reader then. */
static inline void
wire_send(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EPIPE)
            return;
        if (n < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            wire_wait(fd, POLLOUT);
            continue;
        }
        p += n;
        size -= (size_t)n;
    }
}

/* Appends what comes until the other side closes, or until there are at least
 * 'enough' bytes; false when it closed. */
static inline bool
wire_read(int fd, struct buf *out, size_t enough)
{
    while (out->size < enough) {
        uint8_t *to = buf_reserve(out, 4096);
        ssize_t n;

        wire_wait(fd, POLLIN);
        n = recv(fd, to, 4096, 0);
        if (n < 0 && errno == EAGAIN)
            continue;
        if (n <= 0)
            return false;
        out->size += (size_t)n;
    }
    return true;
}
