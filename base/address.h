/* The address of a connected client, from its struct sockaddr.  An IPv4 address
 * mapped into IPv6 counts as IPv4.
 *
 * Threads: any. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_NAME_SIZE (INET6_ADDRSTRLEN + 16)

/* Clients are told apart by this: the IPv4 address, or the first 64 bits of an
 * IPv6 address, since one client often has a whole /64.  0: a local socket. */
uint64_t address_key(const struct sockaddr *peer);
bool address_is_loopback(const struct sockaddr *peer);
/* "127.0.0.1:4711", "[::1]:4711", "local:0". */
void address_name(const struct sockaddr *peer, char *out, size_t size);
