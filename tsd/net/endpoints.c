/* See tsd/net/endpoints.h. */
#include "tsd/net/endpoints.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"

#define BACKLOG       3072
#define PORT_ATTEMPTS 20 /* to find a port that is free for all addresses */

void
socket_set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* "127.0.0.1:4242", "[::1]:4242" */
static enum status
name_address(struct endpoint *d, struct error *e)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(d->socket.fd, (struct sockaddr *)&a, &size) != 0 ||
        getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return error_set(e, ST_IO, "cannot name the address: %m");
    (void)snprintf(d->address, sizeof d->address,
                   strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
    return ST_OK;
}

static void
set_port(struct sockaddr *a, uint16_t port)
{
    struct sockaddr_in *v4 = (void *)a;
    struct sockaddr_in6 *v6 = (void *)a;

    if (a->sa_family == AF_INET6)
        v6->sin6_port = htons(port);
    else
        v4->sin_port = htons(port);
}

static int
open_socket(const struct addrinfo *a, int backlog)
{
    int fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err;

    if (fd < 0)
        return -1;
    socket_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (a->ai_family == AF_INET6)
        socket_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(fd, backlog == 0 ? BACKLOG : backlog) == 0)
        return fd;
    err = errno;
    (void)close(fd);
    errno = err;
    return -1;
}

/* Is it an address that was opened before?  Names are listed for more than one
 * socket type or from more than one source. */
static bool
is_repeated(const struct addrinfo *all, const struct addrinfo *a)
{
    for (; all != a; all = all->ai_next)
        if (all->ai_addrlen == a->ai_addrlen &&
            memcmp(all->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
            return true;
    return false;
}

void
endpoints_close(struct endpoints *list, size_t from)
{
    while (list->len > from)
        (void)close(list->all[--list->len].socket.fd);
}

/* Opens all of these addresses. If the place has no port, all get the one that
 * the first gets. Returns 0, or the errno of the address that failed. */
static int
open_addresses(struct endpoints *to, const struct endpoint_place *p,
               struct addrinfo *all, struct error *e)
{
    size_t from = to->len;
    uint16_t port = p->port;
    int absent = 0;

    for (struct addrinfo *a = all; a != NULL; a = a->ai_next) {
        struct endpoint *d = &to->all[to->len];

        if (is_repeated(all, a) || to->len - from == ENDPOINT_ADDRESSES_MAX)
            continue;
        set_port(a->ai_addr, port);
        *d = (struct endpoint){ .is_tls = p->is_tls };
        d->socket = (struct watch){ .fd = open_socket(a, p->backlog),
                                    .data = (uintptr_t)d };
        /* Not an error where there is another address: the machine has no
         * IPv6, or none of its interfaces has the address. */
        if (d->socket.fd < 0 &&
            (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
            absent = errno;
            continue;
        }
        if (d->socket.fd < 0)
            return errno;
        to->len++;
        if (name_address(d, e) != ST_OK)
            return EIO;
        port = (uint16_t)atoi(strrchr(d->address, ':') + 1);
    }
    return to->len == from ? absent : 0;
}

enum status
endpoints_open(struct endpoints *to, const struct endpoint_place *p,
               struct error *e)
{
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    struct slice host = slice_str(p->bind == NULL ? "" : p->bind);
    size_t from = to->len;
    struct addrinfo *all = NULL, *v6 = NULL;
    bool is_any;
    char *text;
    int err;

    if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_of(host.data + 1, host.size - 2);
    is_any = host.size == 0 || slice_eq_str(host, "0.0.0.0") ||
             slice_eq_str(host, "::");
    text = mem_strndup(host.data, host.size);
    err = getaddrinfo(is_any ? "0.0.0.0" : text, "0", &hints, &all);
    free(text);
    /* All addresses of the machine are two sockets, so that clients of IPv4
     * keep their addresses as they are. */
    if (err == 0 && is_any && getaddrinfo("::", "0", &hints, &v6) == 0)
        all->ai_next = v6;
    if (err != 0)
        return error_set(e, ST_INVALID, "cannot listen on '%s': %s", p->bind,
                         gai_strerror(err));
    /* A port that is free for one address need not be free for the others. */
    for (int i = 0; i < PORT_ATTEMPTS; i++) {
        err = open_addresses(to, p, all, e);
        if (err == 0 || err != EADDRINUSE || p->port != 0)
            break;
        endpoints_close(to, from);
    }
    freeaddrinfo(all);
    return err == 0 ? ST_OK
                    : error_set(e, ST_IO, "cannot listen on %s port %u: %s",
                                is_any ? "all addresses" : p->bind,
                                (unsigned)p->port, strerror(err));
}
