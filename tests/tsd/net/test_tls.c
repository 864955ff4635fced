#include "tsd/net/tls.h"

#include <gnutls/gnutls.h>
#include <sys/time.h>

#include "tests/harness.h"
#include "tests/tempdir.h"
#include "tests/tsd/certificate.h"
#include "tests/tsd/rig.h"

/* Of the case that runs. */
static struct rig rig;
static char *dir, *cert, *key;

static void
setup(void)
{
    dir = tempdir_new();
    cert = tempdir_path(dir, "cert.pem");
    key = tempdir_path(dir, "key.pem");
}

static void
serve(const char *setting)
{
    char cert_is[300], key_is[300];
    const char *const words[] = { cert_is, key_is, "halite.tls.port=0", setting,
                                  NULL };

    make_certificate(cert, key, 1);
    (void)snprintf(cert_is, sizeof cert_is, "halite.tls.cert=%s", cert);
    (void)snprintf(key_is, sizeof key_is, "halite.tls.key=%s", key);
    rig_open(&rig, words);
}

static void
teardown(void)
{
    if (rig.daemon != NULL)
        rig_close(&rig);
    free(cert);
    free(key);
    tempdir_free(&dir);
}

/* -- a client -------------------------------------------------------------- */

struct client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    unsigned serial; /* of the server's certificate */
};

static int
dial(void)
{
    const char *colon = strrchr(daemon_tls_address(rig.daemon), ':');
    struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(colon + 1)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct timeval deadline = { .tv_sec = WIRE_MS / 1000 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline), 0);
    ck_assert_int_eq(
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline), 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void
read_serial(struct client *c)
{
    const gnutls_datum_t *chain;
    gnutls_x509_crt_t first;
    uint8_t serial[32];
    size_t size = sizeof serial;
    unsigned len;

    chain = gnutls_certificate_get_peers(c->session, &len);
    ck_assert_ptr_nonnull(chain);
    ck_assert_int_eq(gnutls_x509_crt_init(&first), 0);
    ck_assert_int_eq(
        gnutls_x509_crt_import(first, &chain[0], GNUTLS_X509_FMT_DER), 0);
    ck_assert_int_eq(gnutls_x509_crt_get_serial(first, serial, &size), 0);
    c->serial = serial[size - 1];
    gnutls_x509_crt_deinit(first);
}

/* The result of the handshake. */
static int
client_open(struct client *c, const char *priority)
{
    int rc;

    *c = (struct client){ .fd = dial() };
    ck_assert_int_eq(gnutls_certificate_allocate_credentials(&c->credentials),
                     0);
    ck_assert_int_eq(gnutls_certificate_set_x509_trust_file(
                         c->credentials, cert, GNUTLS_X509_FMT_PEM),
                     1);
    ck_assert_int_eq(gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL),
                     0);
    ck_assert_int_eq(gnutls_priority_set_direct(c->session, priority, NULL), 0);
    ck_assert_int_eq(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE,
                                            c->credentials),
                     0);
    gnutls_session_set_verify_cert(c->session, "localhost", 0);
    gnutls_transport_set_int(c->session, c->fd);
    while ((rc = gnutls_handshake(c->session)) < 0 &&
           gnutls_error_is_fatal(rc) == 0)
        ;
    if (rc == 0)
        read_serial(c);
    return rc;
}

static void
client_close(struct client *c)
{
    gnutls_deinit(c->session);
    gnutls_certificate_free_credentials(c->credentials);
    (void)close(c->fd);
}

static void
say(struct client *c, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = gnutls_record_send(c->session, text, size);

        ck_assert_msg(n > 0, "%s", gnutls_strerror((int)n));
        text += n;
        size -= (size_t)n;
    }
}

/* What the end, or the want of more, looks like: 0, or GnuTLS' error. */
static int
hear(struct client *c, struct buf *out, size_t enough)
{
    while (out->size < enough) {
        uint8_t *to = buf_reserve(out, 16384);
        ssize_t n = gnutls_record_recv(c->session, to, 16384);

        if (n == GNUTLS_E_INTERRUPTED)
            continue;
        if (n <= 0)
            return (int)n;
        out->size += (size_t)n;
    }
    return 1;
}

static void
ask(struct client *c, const char *request, const char *wanted)
{
    struct buf got = BUF_INIT;

    say(c, request, strlen(request));
    while (strstr(buf_cstr(&got), wanted) == NULL)
        ck_assert_msg(hear(c, &got, got.size + 1) == 1, "no '%s' in '%s'",
                      wanted, buf_cstr(&got));
    buf_fini(&got);
}

#define ASK_VERSION "GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define NORMAL      "NORMAL"

/* -- tests ----------------------------------------------------------------- */

static const char *const versions[] = {
    NORMAL,
    "NORMAL:-VERS-ALL:+VERS-TLS1.3",
    "NORMAL:-VERS-ALL:+VERS-TLS1.2",
};

START_TEST(carries_http_and_telnet)
{
    struct client c;
    struct buf got = BUF_INIT;

    serve(NULL);
    ck_assert_int_eq(client_open(&c, versions[_i]), 0);
    ask(&c, ASK_VERSION, "\"version\"");
    ask(&c, ASK_VERSION, "\"version\""); /* the same connection */
    client_close(&c);

    ck_assert_int_eq(client_open(&c, versions[_i]), 0);
    ask(&c, "put m 1356998400 1 host=a\nversion\n", "Built on");
    ask(&c, "put m 1356998401 2 host=a\nput m 1356998402 x host=a\n",
        "put: invalid value");
    ck_assert_int_eq(gnutls_bye(c.session, GNUTLS_SHUT_WR), 0);
    /* It ends with a goodbye, and nothing is left out. */
    ck_assert_int_eq(hear(&c, &got, SIZE_MAX), 0);
    client_close(&c);

    ck_assert_int_eq(client_open(&c, versions[_i]), 0);
    ask(&c,
        "GET /api/query?start=1356998400&end=1356998500&m=sum:m HTTP/1.1\r\n"
        "Host: localhost\r\n\r\n",
        "\"dps\":{\"1356998400\":1,\"1356998401\":2}");
    client_close(&c);
    buf_fini(&got);
}
END_TEST

static const char *const rejected[] = {
    "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT",
    "NORMAL:-VERS-ALL:+VERS-TLS1.0:%COMPAT",
    "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA",
    "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+3DES-CBC",
};

START_TEST(rejects_what_is_old)
{
    struct client c;

    serve(NULL);
    ck_assert_int_lt(client_open(&c, rejected[_i]), 0);
    client_close(&c);
    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    ask(&c, ASK_VERSION, "\"version\"");
    client_close(&c);
}
END_TEST

static const char *const noises[] = {
    ASK_VERSION,
    "put m 1 1 a=b\n",
    "\x16\x03\x01\x02",
    "\x16\x03\x01\xff\xff\x01\xff\xff\xff",
    "",
};

START_TEST(ends_what_is_no_tls)
{
    struct client c;
    struct buf got = BUF_INIT;
    int fd;

    serve(NULL);
    fd = dial();
    wire_send(fd, noises[_i], strlen(noises[_i]));
    (void)shutdown(fd, SHUT_WR);
    while (wire_read(fd, &got, got.size + 1))
        ck_assert_uint_lt(got.size, 100); /* an alert, at most */
    ck_assert(memmem(got.data, got.size, "HTTP", 4) == NULL);
    (void)close(fd);
    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    ask(&c, ASK_VERSION, "\"version\"");
    client_close(&c);
    buf_fini(&got);
}
END_TEST

START_TEST(ends_a_slow_handshake)
{
    struct buf got = BUF_INIT;
    int fd;

    serve("halite.tls.handshake_ms=100");
    fd = dial();
    ck_assert(!wire_read(fd, &got, 1));
    (void)close(fd);
    buf_fini(&got);
}
END_TEST

/* Megabytes both ways, more than all buffers hold; the answer is taken only
 * after the server had to wait. */
START_TEST(carries_much)
{
    struct client c;
    struct buf body = BUF_INIT, all = BUF_INIT;
    size_t points = 40000, found = 0;

    serve(NULL);
    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    buf_put_str(&body, "[");
    for (size_t i = 0; i < points; i++)
        buf_printf(&body,
                   "%s{\"metric\":\"m\",\"timestamp\":%zu,\"value\":%zu,"
                   "\"tags\":{\"host\":\"a\"}}",
                   i == 0 ? "" : ",", 1356998400 + i, i);
    buf_put_str(&body, "]");
    buf_printf(&all,
               "POST /api/put HTTP/1.1\r\nHost: localhost\r\n"
               "Content-Length: %zu\r\n\r\n",
               body.size);
    buf_put_slice(&all, buf_slice(&body));
    say(&c, (const char *)all.data, all.size);
    buf_clear(&all);
    ck_assert_int_eq(hear(&c, &all, 20), 1);
    ck_assert_msg(strncmp(buf_cstr(&all), "HTTP/1.1 204", 12) == 0, "%s",
                  buf_cstr(&all));
    client_close(&c);

    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    for (int i = 0; i < 8; i++) {
        static const char query[] =
            "GET /api/query?start=1356998000&end=1357998400&m=sum:m HTTP/1.1"
            "\r\nHost: localhost\r\n\r\n";

        say(&c, query, strlen(query));
    }
    buf_clear(&all);
    for (size_t at = 0; found < 8 * points;) {
        ck_assert_int_eq(hear(&c, &all, all.size + 1), 1);
        for (; at + 13 < all.size; at++)
            found += memcmp(all.data + at, "\"13569", 6) == 0 ||
                     memcmp(all.data + at, "\"13570", 6) == 0;
    }
    ck_assert_uint_eq(found, 8 * points);
    client_close(&c);
    buf_fini(&body);
    buf_fini(&all);
}
END_TEST

/* Who goes without a word has said what he has said. */
START_TEST(keeps_what_came_before_a_cut)
{
    struct client c;
    struct buf got = BUF_INIT;
    static const char lines[] = "put m 1356998400 1 host=a\n"
                                "put m 1356998401 2 host=a\nput m 13569984";

    serve(NULL);
    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    say(&c, lines, strlen(lines));
    ck_assert_int_eq(shutdown(c.fd, SHUT_WR), 0);
    ck_assert_int_eq(hear(&c, &got, SIZE_MAX), 0);
    client_close(&c);
    rig_ask(&rig, "GET", "/api/query?start=1356998400&end=1356998500&m=sum:m",
            NULL, &got);
    ck_assert(strstr(buf_cstr(&got), "{\"1356998400\":1,\"1356998401\":2}") !=
              NULL);
    buf_fini(&got);
}
END_TEST

static void
write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(takes_a_new_certificate)
{
    struct client old, new;

    serve(NULL);
    ck_assert_int_eq(client_open(&old, NORMAL), 0);
    ck_assert_uint_eq(old.serial, 1);
    make_certificate(cert, key, 2);
    ck_assert(daemon_reload(rig.daemon));
    ck_assert_int_eq(client_open(&new, NORMAL), 0);
    ck_assert_uint_eq(new.serial, 2);
    ask(&new, ASK_VERSION, "\"version\"");
    client_close(&new);
    ask(&old, ASK_VERSION, "\"version\"");
    client_close(&old);
    /* A bad one changes nothing. */
    write_text(key, "");
    ck_assert(!daemon_reload(rig.daemon));
    ck_assert_int_eq(client_open(&new, NORMAL), 0);
    ck_assert_uint_eq(new.serial, 2);
    client_close(&new);
}
END_TEST

/* A mistake in the auth file does not keep a certificate from being renewed. */
START_TEST(takes_a_new_certificate_beside_a_bad_file)
{
    char *auth = tempdir_path(dir, "auth");
    char word[300];
    struct client c;

    write_text(auth, "anonymous read\n");
    (void)snprintf(word, sizeof word, "halite.auth.file=%s", auth);
    serve(word);
    make_certificate(cert, key, 2);
    write_text(auth, "what is this\n");
    ck_assert(!daemon_reload(rig.daemon));
    ck_assert_int_eq(client_open(&c, NORMAL), 0);
    ck_assert_uint_eq(c.serial, 2);
    client_close(&c);
    free(auth);
}
END_TEST

START_TEST(wants_a_good_certificate)
{
    char *other = tempdir_path(dir, "other");
    struct tls_options o = { .cert = cert, .key = key, .priority = "NORMAL" };
    struct tls *t;
    struct error e;

    ck_assert_int_eq(tls_start(&o, &t, &e), ST_INVALID);
    make_certificate(cert, key, 1);
    make_certificate(cert, other, 1);
    ck_assert_int_eq(tls_start(&o, &t, &e), ST_INVALID); /* another's key */
    ck_assert(strstr(e.text, cert) != NULL);
    o.key = other;
    o.priority = "NORMAL:+NOSUCH";
    ck_assert_int_eq(tls_start(&o, &t, &e), ST_INVALID);
    ck_assert(strstr(e.text, "NOSUCH") != NULL);
    o.priority = "NORMAL";
    ck_assert_int_eq(tls_start(&o, &t, &e), ST_OK);
    tls_stop(&t, 0);
    ck_assert_ptr_null(t);
    free(other);
}
END_TEST

START_TEST(counts_connections)
{
    struct client a, b, c;

    serve("tsd.core.connections.limit=2");
    ck_assert_int_eq(client_open(&a, NORMAL), 0);
    ck_assert_int_eq(client_open(&b, NORMAL), 0);
    ck_assert_int_lt(client_open(&c, NORMAL), 0);
    client_close(&c);
    ask(&a, ASK_VERSION, "\"version\"");
    client_close(&a);
    client_close(&b);
    /* Sooner or later there is room again. */
    while (client_open(&c, NORMAL) != 0)
        client_close(&c);
    ask(&c, ASK_VERSION, "\"version\"");
    client_close(&c);
}
END_TEST

/* Some have shaken hands, some have not, some were served; all end. */
START_TEST(stops_with_clients)
{
    struct client clients[6];
    struct buf got = BUF_INIT;
    int silent[4];

    serve(NULL);
    for (int i = 0; i < 4; i++)
        silent[i] = dial();
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(client_open(&clients[i], NORMAL), 0);
    for (int i = 0; i < 4; i++)
        ask(&clients[i], i % 2 == 0 ? ASK_VERSION : "version\n",
            i % 2 == 0 ? "\"version\"" : "Built on");
    rig_close(&rig);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_le(hear(&clients[i], &got, SIZE_MAX), 0);
        buf_clear(&got);
    }
    for (int i = 0; i < 6; i++)
        client_close(&clients[i]);
    for (int i = 0; i < 4; i++) {
        ck_assert(!wire_read(silent[i], &got, 1));
        (void)close(silent[i]);
    }
    buf_fini(&got);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "tls", LOOP(carries_http_and_telnet, versions),
               LOOP(rejects_what_is_old, rejected),
               LOOP(ends_what_is_no_tls, noises), TEST(ends_a_slow_handshake),
               TEST(carries_much), TEST(keeps_what_came_before_a_cut),
               TEST(takes_a_new_certificate),
               TEST(takes_a_new_certificate_beside_a_bad_file),
               TEST(wants_a_good_certificate), TEST(counts_connections),
               TEST(stops_with_clients))
