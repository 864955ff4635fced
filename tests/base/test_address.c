#include "base/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "tests/harness.h"

static const struct {
    int family;
    const char *address, *name;
    uint64_t key; /* 0: not compared */
    bool loopback;
} peers[] = {
    { AF_INET, "127.0.0.1", "127.0.0.1:4711", 0x7f000001, true },
    { AF_INET, "127.9.0.1", "127.9.0.1:4711", 0x7f090001, true },
    { AF_INET, "10.1.2.3", "10.1.2.3:4711", 0x0a010203, false },
    { AF_INET6, "::1", "[::1]:4711", 0, true },
    { AF_INET6, "2001:db8::1", "[2001:db8::1]:4711", 0, false },
    { AF_INET6, "::ffff:127.0.0.1", "127.0.0.1:4711", 0x7f000001, true },
    { AF_INET6, "::ffff:10.1.2.3", "10.1.2.3:4711", 0x0a010203, false },
    { AF_UNIX, NULL, "local:0", 0, true },
};

static void
make(int family, const char *address, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(4711) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_port = htons(4711) };

    memset(out, 0, sizeof *out);
    out->ss_family = (sa_family_t)family;
    if (family == AF_INET) {
        ck_assert_int_eq(inet_pton(family, address, &v4.sin_addr), 1);
        memcpy(out, &v4, sizeof v4);
    } else if (family == AF_INET6) {
        ck_assert_int_eq(inet_pton(family, address, &v6.sin6_addr), 1);
        memcpy(out, &v6, sizeof v6);
    }
}

START_TEST(describes_peers)
{
    struct sockaddr_storage all;
    const struct sockaddr *peer = (const void *)&all;
    char name[ADDRESS_NAME_SIZE];

    make(peers[_i].family, peers[_i].address, &all);
    address_name(peer, name, sizeof name);
    ck_assert_str_eq(name, peers[_i].name);
    ck_assert(address_is_loopback(peer) == peers[_i].loopback);
    ck_assert(peers[_i].key == 0 || address_key(peer) == peers[_i].key);
}
END_TEST

START_TEST(counts_a_net_as_one_client)
{
    struct sockaddr_storage a, b, c;
    const void *x = &a, *y = &b, *z = &c;

    make(AF_INET6, "2001:db8:0:1::1", &a);
    make(AF_INET6, "2001:db8:0:1:ffff::2", &b);
    make(AF_INET6, "2001:db8:0:2::1", &c);
    ck_assert_uint_eq(address_key(x), address_key(y));
    ck_assert_uint_ne(address_key(x), address_key(z));
}
END_TEST

TEST_MAIN("peer", LOOP(describes_peers, peers),
          TEST(counts_a_net_as_one_client))
