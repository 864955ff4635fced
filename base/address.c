#include "base/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* False: not IPv4. */
static bool
address_v4(const struct sockaddr *peer, struct in_addr *out)
{
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;

    if (peer == NULL)
        return false;
    if (peer->sa_family == AF_INET)
        memcpy(out, &v4->sin_addr, sizeof *out);
    else if (peer->sa_family == AF_INET6 &&
             IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        memcpy(out, v6->sin6_addr.s6_addr + 12, sizeof *out);
    else
        return false;
    return true;
}

static bool
address_is_v6(const struct sockaddr *peer)
{
    return peer != NULL && peer->sa_family == AF_INET6;
}

uint64_t
address_key(const struct sockaddr *peer)
{
    const struct sockaddr_in6 *v6 = (const void *)peer;
    struct in_addr v4;
    uint64_t key = 0;

    if (address_v4(peer, &v4))
        return ntohl(v4.s_addr);
    if (address_is_v6(peer))
        memcpy(&key, &v6->sin6_addr, sizeof key);
    return key;
}

bool
address_is_loopback(const struct sockaddr *peer)
{
    const struct sockaddr_in6 *v6 = (const void *)peer;
    struct in_addr v4;

    if (address_v4(peer, &v4))
        return ntohl(v4.s_addr) >> 24 == 127;
    if (address_is_v6(peer))
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return peer != NULL && peer->sa_family == AF_UNIX;
}

void
address_name(const struct sockaddr *peer, char *out, size_t size)
{
    const struct sockaddr_in *in = (const void *)peer; /* the port's place */
    const struct sockaddr_in6 *v6 = (const void *)peer;
    char text[INET6_ADDRSTRLEN] = "";
    struct in_addr v4;

    if (address_v4(peer, &v4)) {
        (void)inet_ntop(AF_INET, &v4, text, sizeof text);
        (void)snprintf(out, size, "%s:%u", text, ntohs(in->sin_port));
    } else if (address_is_v6(peer)) {
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        (void)snprintf(out, size, "[%s]:%u", text, ntohs(v6->sin6_port));
    } else {
        (void)snprintf(out, size, "local:0");
    }
}
