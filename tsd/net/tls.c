/* The loops: see tsd/net/tls.h. */
#include "tsd/net/tls_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/process/log_throttle.h"
#include "base/address.h"
#include "base/mem.h"
#include "base/obj.h"

#define TLS_MAGIC FOURCC('T', 'L', 'S', ' ')
#define TICK_MS   1000
#define LINGER_US INT64_C(30000000)
/* What a client must take of an answer, as in web/mhd/http_conn.c. */
#define READ_BYTES_PER_MS 16

struct tls_loop {
    struct tls *tls;
    struct loop loop;
};

struct tls {
    uint32_t magic;
    struct tls_options o;
    char *cert, *key;
    gnutls_priority_t priority;
    struct lock lock;
    struct tls_keys *keys GUARDED_BY(lock);
    atomic_uint next; /* the loop for the next connection */
    atomic_size_t connections;
    struct log_throttle slow, stalled; /* handshakes, connections */
    unsigned loops_len;
    struct tls_loop *loops;
};

/* -- certificates ---------------------------------------------------------- */

void
tls_keys_unref(struct tls_keys **kp)
{
    struct tls_keys *k = *kp;

    *kp = NULL;
    if (k == NULL || atomic_fetch_sub(&k->refs, 1) > 1)
        return;
    gnutls_certificate_free_credentials(k->credentials);
    free(k);
}

enum status
tls_reload(struct tls *t, struct error *e)
{
    struct tls_keys *k = mem_new(sizeof *k), *old;
    int rc;

    OBJ_CHECK(t, TLS_MAGIC);
    atomic_init(&k->refs, 1);
    if (gnutls_certificate_allocate_credentials(&k->credentials) != 0) {
        free(k);
        return error_set(e, ST_IO, "no memory for a certificate");
    }
    rc = gnutls_certificate_set_x509_key_file(k->credentials, t->cert, t->key,
                                              GNUTLS_X509_FMT_PEM);
    if (rc < 0) {
        tls_keys_unref(&k);
        return error_set(e, ST_INVALID, "certificate %s with key %s: %s",
                         t->cert, t->key, gnutls_strerror(rc));
    }
    lock_take(&t->lock);
    old = t->keys;
    t->keys = k;
    lock_drop(&t->lock);
    tls_keys_unref(&old);
    return ST_OK;
}

/* -- the life of a connection ---------------------------------------------- */

enum status
tls_adopt_sockets(struct tls *t, int client, int backend, struct error *e)
{
    struct tls_conn *c = mem_new(sizeof *c);
    struct tls_loop *l;
    bool begun;

    OBJ_CHECK(t, TLS_MAGIC);
    l = &t->loops[atomic_fetch_add(&t->next, 1) % t->loops_len];
    c->client = (struct watch){ .fd = client, .data = (uintptr_t)c };
    c->backend = (struct watch){ .fd = backend, .data = (uintptr_t)c | 1 };
    lock_take(&t->lock);
    c->keys = t->keys;
    (void)atomic_fetch_add(&c->keys->refs, 1);
    lock_drop(&t->lock);
    c->deadline_us = clock_monotonic_us() + (int64_t)t->o.handshake_ms * 1000;
    begun = tls_conn_begin(c, t->priority);
    (void)atomic_fetch_add(&t->connections, 1);
    /* From here on it is the loop's.  A new socket can be written: the loop is
     * called at once, and watches the backend, too. */
    if (begun && loop_add(&l->loop, &c->link, &c->client, EPOLLIN | EPOLLOUT))
        return ST_OK;
    (void)atomic_fetch_sub(&t->connections, 1);
    tls_conn_fini(c);
    free(c);
    return begun ? error_set(e, ST_IO, "epoll_ctl: %m")
                 : error_set(e, ST_IO, "cannot begin with TLS");
}

size_t
tls_connections(const struct tls *t)
{
    OBJ_CHECK(t, TLS_MAGIC);
    return atomic_load(&t->connections);
}

static void
tls_end_conn(struct tls_loop *l, struct tls_conn *c)
{
    /* See telnet_end_conn() of tsd/net/telnet.c. */
    loop_watch(&l->loop, &c->client, 0);
    loop_watch(&l->loop, &c->backend, 0);
    tls_conn_fini(c);
    (void)atomic_fetch_sub(&l->tls->connections, 1);
    loop_end(&l->loop, &c->link);
}

/* Moves bytes, and watches for what the connection waits for. */
static void
tls_on_event(void *loop, uint64_t data, uint32_t events)
{
    struct tls_loop *l = loop;
    struct tls_conn *c = (struct tls_conn *)(uintptr_t)(data & ~UINT64_C(1));
    bool more;

    if (c == NULL || c->link.dead)
        return;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        if ((data & 1) == 0 || !c->handshake_done) {
            tls_end_conn(l, c);
            return;
        }
        /* epoll would tell again and again, while what is left of it waits
         * for the client. */
        loop_watch(&l->loop, &c->backend, 0);
        c->backend_hung = true;
    }
    more = tls_conn_move(c);
    if (c->closing) {
        tls_end_conn(l, c);
        return;
    }
    if (c->backend_end && c->deadline_us == 0)
        c->deadline_us = clock_monotonic_us() + LINGER_US;
    /* A socket that can be written calls us back at once.  EPOLLERR and
     * EPOLLHUP are always reported, while it is in epoll at all. */
    loop_watch(&l->loop, &c->client,
               EPOLLERR | tls_conn_client_events(c) | (more ? EPOLLOUT : 0));
    if (!c->backend_hung)
        loop_watch(&l->loop, &c->backend,
                   EPOLLERR | tls_conn_backend_events(c));
}

/* -- those who take too long ----------------------------------------------- */

static bool
is_stalled(struct tls_conn *c, int64_t now, unsigned stall_ms)
{
    bool waits = c->handshake_done && c->is_http && c->tx->at < c->tx->size;
    uint64_t took = c->sent - c->check_sent;

    if (waits && c->check_us != 0 &&
        now - c->check_us < (int64_t)stall_ms * 1000)
        return false;
    if (waits && c->check_us != 0 &&
        took < (uint64_t)stall_ms * READ_BYTES_PER_MS)
        return true;
    c->check_us = waits ? now : 0;
    c->check_sent = c->sent;
    return false;
}

static void
log_slowness(struct tls *t, const struct tls_conn *c)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof address;
    char peer[ADDRESS_NAME_SIZE], more[LOG_MORE_SIZE];

    if (!log_throttle_pass(c->handshake_done ? &t->stalled : &t->slow, more))
        return;
    (void)getpeername(c->client.fd, (struct sockaddr *)&address, &size);
    address_name((const struct sockaddr *)&address, peer, sizeof peer);
    log_warn("tls", "cut off %s, which %s%s", peer,
             c->handshake_done
                 ? "did not take what was sent to it"
                 : "did not end its handshake within halite.tls.handshake_ms",
             more);
}

static void
close_slow(void *loop, int64_t now)
{
    struct tls_loop *l = loop;

    for (struct loop_conn *at = NULL; (at = loop_next(&l->loop, at)) != NULL;) {
        struct tls_conn *c = (struct tls_conn *)at;

        if ((c->deadline_us == 0 || now <= c->deadline_us) &&
            !is_stalled(c, now, l->tls->o.stall_ms))
            continue;
        counter_add(CNT_CONN_TIMEOUT, 1);
        log_slowness(l->tls, c);
        tls_end_conn(l, c);
    }
}

static void
tls_close_all(void *loop)
{
    struct tls_loop *l = loop;

    for (struct loop_conn *c; (c = loop_oldest(&l->loop)) != NULL;)
        tls_end_conn(l, (struct tls_conn *)c);
}

/* -- threads --------------------------------------------------------------- */

static const struct loop_calls tls_calls = {
    .event = tls_on_event,
    .tick = close_slow,
    .stop = tls_close_all,
    .lingers = true,
};

enum status
tls_start(const struct tls_options *o, struct tls **out, struct error *e)
{
    struct tls *t = mem_new(sizeof *t);
    const char *at = NULL;
    enum status st = ST_OK;
    int rc;

    t->magic = TLS_MAGIC;
    t->o = *o;
    t->o.threads = o->threads == 0 ? 2 : o->threads;
    t->o.handshake_ms = o->handshake_ms == 0 ? 10000 : o->handshake_ms;
    t->o.stall_ms = o->stall_ms == 0 ? 120000 : o->stall_ms;
    t->cert = mem_strdup(o->cert);
    t->key = mem_strdup(o->key);
    lock_init(&t->lock);
    t->loops = mem_new_array(t->o.threads, sizeof *t->loops);
    rc = gnutls_priority_init(&t->priority, t->o.priority, &at);
    if (rc != 0) {
        t->priority = NULL;
        st = error_set(e, ST_INVALID, "halite.tls.priority: at '%s': %s",
                       at == NULL ? "" : at, gnutls_strerror(rc));
    }
    if (st == ST_OK)
        st = tls_reload(t, e);
    while (t->loops_len < t->o.threads && st == ST_OK) {
        struct tls_loop *l = &t->loops[t->loops_len++];

        l->tls = t;
        st = loop_init(&l->loop, &tls_calls, l, TICK_MS, e);
        if (st == ST_OK)
            st = loop_start(&l->loop, e);
    }
    *out = t;
    if (st != ST_OK)
        tls_stop(out, 0);
    return st;
}

void
tls_stop(struct tls **tp, unsigned drain_ms)
{
    struct tls *t = OBJ_TAKE(tp, TLS_MAGIC);

    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->loops_len; i++)
        loop_ask_to_stop(&t->loops[i].loop, drain_ms);
    for (unsigned i = 0; i < t->loops_len; i++)
        loop_join(&t->loops[i].loop);
    for (unsigned i = 0; i < t->loops_len; i++)
        loop_fini(&t->loops[i].loop);
    free(t->loops);
    lock_take(&t->lock);
    tls_keys_unref(&t->keys);
    lock_drop(&t->lock);
    lock_fini(&t->lock);
    if (t->priority != NULL)
        gnutls_priority_deinit(t->priority);
    free(t->cert);
    free(t->key);
    OBJ_FREE(t);
}
