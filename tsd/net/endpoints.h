/* The sockets that a daemon listens on, one for each address.
 *
 * A place is the address or name that a setting gives, and a port. NULL, "",
 * "0.0.0.0" and "::" are all addresses of both families, as for Java; a name is
 * each of its addresses. An IPv6 address may be in brackets. All sockets of a
 * place have the same port.
 *
 * Owns:    struct endpoints the descriptors, until endpoints_close().
 * Threads: one at a time. */
#pragma once

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/process/loop.h"

/* Addresses of one place. A name may have more: these are not opened. */
#define ENDPOINT_ADDRESSES_MAX 16

struct endpoint {
    struct watch socket; /* its data is the address of this struct */
    bool ready;          /* in this turn of the loop */
    bool is_tls;
    char address[NI_MAXHOST + NI_MAXSERV + 4]; /* "[::1]:4242" */
};

struct endpoints {
    struct endpoint all[2 * ENDPOINT_ADDRESSES_MAX];
    size_t len;
};

struct endpoint_place {
    const char *bind;
    uint16_t port; /* 0: one that is free for all addresses */
    int backlog;   /* connections that wait for accept(); 0: 3072 */
    bool is_tls;
};

/* Appends the sockets of the place. There may be two places. */
MUST_CHECK enum status endpoints_open(struct endpoints *to,
                                      const struct endpoint_place *place,
                                      struct error *e);
/* Closes and removes those from the index 'from' on. */
void endpoints_close(struct endpoints *list, size_t from);

/* setsockopt() of an int. A failure is ignored: the socket works without it. */
void socket_set_option(int fd, int level, int option, int value);
