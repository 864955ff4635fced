/* A socket that a peer has connected to this daemon, non-blocking: calls that
 * wait for it, and the hello.
 *
 * Threads: receive and hello: one at a time; send: one at a time; is_left: any.
 * Fails:   ST_IO: closed or lost; ST_TIMEOUT; and what frame.h says of a
 *          hello. */
#pragma once

#include "cluster/peer/frame.h"

/* False: the peer has read nothing for 'stall_ms', or is not there any more. */
MUST_CHECK bool peer_socket_send(int fd, struct slice bytes, unsigned stall_ms);

/* At least one byte and at most 'size', by 'end_us' (monotonic). */
MUST_CHECK enum status peer_socket_receive(int fd, uint8_t *to, size_t size,
                                           int64_t end_us, size_t *got,
                                           struct error *e);

/* Hears the peer's hello and answers it; 'h' comes from hello_init(). */
MUST_CHECK enum status peer_socket_hello(int fd, struct hello *h,
                                         int64_t end_us, unsigned stall_ms,
                                         struct error *e);

/* Has the peer ended its side?  Then it has told its clients that what it sent
 * and was not answered is not stored: nothing more of it is. */
bool peer_socket_is_left(int fd);
