/* See cluster/peer/peer_socket.h. */
#include "cluster/peer/peer_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/process/clock.h"
#include "base/process/counters.h"

bool
peer_socket_send(int fd, struct slice bytes, unsigned stall_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    while (bytes.size > 0) {
        ssize_t n =
            send(fd, bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n < 0 && poll(&p, 1, (int)stall_ms) == 0)
            return false;
        if (n > 0) {
            counter_add(CNT_PEER_BYTES_SENT, (uint64_t)n);
            bytes = slice_of(bytes.data + n, bytes.size - (size_t)n);
        }
    }
    return true;
}

enum status
peer_socket_receive(int fd, uint8_t *to, size_t size, int64_t end_us,
                    size_t *got, struct error *e)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    for (;;) {
        ssize_t n = recv(fd, to, size, MSG_DONTWAIT);
        int64_t left_us;

        if (n > 0) {
            *got = (size_t)n;
            return ST_OK;
        }
        if (n == 0)
            return error_set(e, ST_IO, "closed by the peer");
        if (errno != EAGAIN && errno != EINTR)
            return error_set(e, ST_IO, "lost: %m");
        left_us = end_us - clock_monotonic_us();
        if (left_us <= 0)
            return error_set(e, ST_TIMEOUT, "silent for too long");
        (void)poll(&p, 1, (int)(left_us / 1000) + 1);
    }
}

static enum status
receive_all(int fd, uint8_t *to, size_t size, int64_t end_us, struct error *e)
{
    enum status st = ST_OK;
    size_t got;

    for (; size > 0 && st == ST_OK; size -= got, to += got) {
        got = 0;
        st = peer_socket_receive(fd, to, size, end_us, &got, e);
    }
    return st;
}

enum status
peer_socket_hello(int fd, struct hello *h, int64_t end_us, unsigned stall_ms,
                  struct error *e)
{
    uint8_t ask[HELLO_ASK_SIZE], answer[HELLO_ANSWER_SIZE],
        proof[HELLO_PROOF_SIZE];
    struct slice reply = slice_of(answer, sizeof answer);
    enum status st, sent;

    st = receive_all(fd, ask, HELLO_MARK_SIZE, end_us, e);
    if (st != ST_OK)
        return st;
    st = hello_check_mark(h, slice_of(ask, HELLO_MARK_SIZE), e);
    if (st == ST_OK || st == ST_CONFLICT) {
        sent = receive_all(fd, ask + HELLO_MARK_SIZE, HELLO_NONCE_SIZE, end_us,
                           st == ST_OK ? e : NULL);
        st = st == ST_OK ? sent : st;
    }
    if (st == ST_OK || st == ST_CONFLICT)
        st = hello_answer(h, slice_of(ask, sizeof ask), answer, e);
    if (st == ST_CONFLICT) /* so that it can name the versions, too */
        reply.size = HELLO_MARK_SIZE;
    if ((st == ST_OK || st == ST_CONFLICT) &&
        !peer_socket_send(fd, reply, stall_ms) && st == ST_OK)
        st = error_set(e, ST_IO, "lost: %m");
    if (st == ST_OK)
        st = receive_all(fd, proof, sizeof proof, end_us, e);
    return st == ST_OK ? hello_check(h, slice_of(proof, sizeof proof), e) : st;
}

bool
peer_socket_is_left(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0 &&
           (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}
