/* Daemons of one store speak through TLS: whom a peer trusts, and much at once.
 */
#include "tsd/net/tls.h"

#include <netdb.h>

#include "tests/cluster/cluster_rig.h"
#include "tests/tempdir.h"
#include "tests/tsd/certificate.h"

/* A port for TLS in front of a server for peers, one connection at a time. */
struct tls_port {
    struct rig_port port; /* 'server' is behind TLS */
    struct tls *tls;
    char *dir, *cert, *key;
    pthread_t thread;
};

static void *
accept_tls(void *arg)
{
    struct tls_port *p = arg;
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    struct error e;
    int fd, pair[2];

    while ((fd = accept4(p->port.fd, (struct sockaddr *)&a, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        ck_assert_int_eq(socketpair(AF_UNIX,
                                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                    0, pair),
                         0);
        (void)!tls_adopt_sockets(p->tls, fd, pair[1], &e);
        (void)!peer_server_adopt(p->port.server, pair[0], (struct sockaddr *)&a,
                                 &e);
    }
    return NULL;
}

static void
port_open(struct tls_port *p)
{
    struct tls_options o = { .priority = "NORMAL" };
    struct error e;

    notes_begin();
    p->dir = tempdir_new();
    o.cert = p->cert = tempdir_path(p->dir, "cert");
    o.key = p->key = tempdir_path(p->dir, "key");
    make_certificate(p->cert, p->key, 1);
    ck_assert_msg(tls_start(&o, &p->tls, &e) == ST_OK, "%s", e.text);
    rig_listen(&p->port, 0);
    p->port.server = peer_server_open(&server_defaults);
    ck_assert_int_eq(pthread_create(&p->thread, NULL, accept_tls, p), 0);
}

static void
port_close(struct tls_port *p)
{
    (void)shutdown(p->port.fd, SHUT_RDWR);
    ck_assert_int_eq(pthread_join(p->thread, NULL), 0);
    (void)close(p->port.fd);
    peer_server_close(&p->port.server);
    tls_stop(&p->tls, 0);
    free(p->cert);
    free(p->key);
    tempdir_free(&p->dir);
    notes_end();
}

/* The certificate is for "localhost", and signed by itself. */
static const struct {
    const char *host;
    bool ca, any, good;
} trusts[] = {
    { "localhost", true, false, true },
    { "127.0.0.1", true, false, false },  /* another name */
    { "localhost", false, false, false }, /* not the system's */
    { "127.0.0.1", false, true, true },
};

/* "localhost" is unknown where there is no /etc/hosts, as in a new chroot. */
static bool
is_known(const char *host)
{
    struct addrinfo *found = NULL;
    bool is = getaddrinfo(host, NULL, NULL, &found) == 0;

    if (is)
        freeaddrinfo(found);
    return is;
}

START_TEST(trusts_whom_it_is_told)
{
    struct tls_port port;
    struct channel_tls *tls = NULL;
    char address[64];
    struct error e;

    if (!is_known(trusts[_i].host))
        return;
    port_open(&port);
    (void)snprintf(address, sizeof address, "%s:%u", trusts[_i].host,
                   (unsigned)rig_number(&port.port));
    if (channel_tls_new(trusts[_i].ca ? port.cert : NULL, trusts[_i].any, &tls,
                        &e) == ST_OK) {
        const struct channel_target t = { .address = address,
                                          .secret = rig_secret,
                                          .tls = tls,
                                          .silence_ms = 10000 };
        struct channel *c = NULL;

        ck_assert_int_eq(channel_dial(&t, rig_end(), &c, &e),
                         trusts[_i].good ? ST_OK : ST_IO);
        if (!trusts[_i].good)
            ck_assert_msg(strstr(e.text, "no TLS") != NULL, "%s", e.text);
        channel_close(&c);
    } else { /* a machine without any certificates */
        ck_assert(!trusts[_i].ca && !trusts[_i].any);
    }
    channel_tls_free(&tls);
    port_close(&port);
}
END_TEST

START_TEST(carries_much)
{
    struct tls_port port;
    struct channel_tls *tls;
    uint8_t *record = mem_new(100000);
    uint64_t link, ticket = 0;
    struct peer_call call;
    struct error e;
    struct peer *p;

    port_open(&port);
    ck_assert_int_eq(channel_tls_new(NULL, true, &tls, &e), ST_OK);
    p = open_peer(port.port.address, (struct peer_options){ .tls = tls });
    link = wait_link(p);
    for (size_t i = 0; i < 100000; i++)
        record[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(
            peer_put(p, link, slice_of(record, 100000), &ticket, &e), ST_OK);
    ck_assert_int_eq(ask(p, FRAME_HEAD, "hi", 0, &call, &e), ST_OK);
    ck_assert_uint_eq(call.answer.size, 2 + (1 << 20));
    peer_call_fini(&call);
    ck_assert_msg(wait_put(p, link, ticket, &e) == ST_OK, "%s", e.text);
    lock_take(&notes.lock);
    ck_assert_uint_eq(notes.records.size, 200 * 100000);
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(
            memcmp(notes.records.data + i * 100000, record, 100000), 0);
    lock_drop(&notes.lock);
    ck_assert_uint_eq(peer_link(p), link);
    peer_close(&p);
    channel_tls_free(&tls);
    port_close(&port);
    free(record);
}
END_TEST

START_TEST(wants_certificates_to_trust)
{
    struct channel_tls *tls;
    struct error e;

    ck_assert_int_eq(channel_tls_new("/no/such/file", false, &tls, &e),
                     ST_INVALID);
    ck_assert_ptr_null(tls);
    ck_assert_ptr_nonnull(strstr(e.text, "/no/such/file"));
}
END_TEST

TEST_MAIN("tls_peers", LOOP(trusts_whom_it_is_told, trusts), TEST(carries_much),
          TEST(wants_certificates_to_trust))
