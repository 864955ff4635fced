/* The loops: see tsd/net/tls.h. */
#include "config.h"

#include "tsd/net/tls_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/net/poller.h"

#define TLS_MAGIC     FOURCC('T', 'L', 'S', ' ')
#define EVENTS_MAX    64
#define SWEEP_MS      1000
#define LAST_WORDS_US INT64_C(30000000)
/* What a client must take of an answer, as in web/mhd/http_conn.c. */
#define READ_BYTES_PER_MS 16

struct tls_loop {
    struct tls *tls;
    struct poller poller;
    struct lock lock;
    struct tls_conn *all GUARDED_BY(lock);
    struct tls_conn *dead; /* the thread's own */
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
    atomic_bool stopping;
    int64_t stop_us; /* set before 'stopping' */
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

static struct tls_keys *
keys_ref(struct tls *t)
{
    struct tls_keys *k;

    lock_take(&t->lock);
    k = t->keys;
    (void)atomic_fetch_add(&k->refs, 1);
    lock_drop(&t->lock);
    return k;
}

/* -- the life of a connection ---------------------------------------------- */

/* Events of the pair's end are told by the pointer's lowest bit. */
static uint64_t
tag(const struct tls_conn *c, bool pair)
{
    return (uint64_t)(uintptr_t)c | (pair ? 1 : 0);
}

static void
watch(struct tls_loop *l, int fd, uint64_t data, uint32_t *now, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.u64 = data };

    if (*now == events)
        return;
    if (epoll_ctl(l->poller.epoll, EPOLL_CTL_MOD, fd, &ev) != 0)
        log_warn("tls", "epoll_ctl: %s", strerror(errno));
    *now = events;
}

enum status
tls_give(struct tls *t, int client, int pair, struct error *e)
{
    struct tls_conn *c = mem_new(sizeof *c);
    struct epoll_event of_client = { .events = EPOLLIN };
    struct epoll_event of_pair = { .events = 0 };
    struct tls_loop *l;
    bool done;

    OBJ_CHECK(t, TLS_MAGIC);
    l = &t->loops[atomic_fetch_add(&t->next, 1) % t->loops_len];
    c->client = client;
    c->pair = pair;
    c->keys = keys_ref(t);
    c->client_events = EPOLLIN;
    c->deadline_us = clock_monotonic_us() + (int64_t)t->o.handshake_ms * 1000;
    if (!tls_conn_begin(c, t->priority)) {
        tls_conn_free(c);
        return error_set(e, ST_IO, "cannot begin with TLS");
    }
    of_client.data.u64 = tag(c, false);
    of_pair.data.u64 = tag(c, true);
    lock_take(&l->lock);
    done = epoll_ctl(l->poller.epoll, EPOLL_CTL_ADD, pair, &of_pair) == 0;
    if (done) {
        /* From here on it is the loop's; let the sweep find it at once. */
        if (epoll_ctl(l->poller.epoll, EPOLL_CTL_ADD, client, &of_client) != 0)
            c->deadline_us = 1;
        c->next = l->all;
        if (c->next != NULL)
            c->next->prev = c;
        l->all = c;
        (void)atomic_fetch_add(&t->connections, 1);
    }
    lock_drop(&l->lock);
    if (done)
        return ST_OK;
    tls_conn_free(c);
    return error_set(e, ST_IO, "epoll_ctl: %s", strerror(errno));
}

size_t
tls_connections(const struct tls *t)
{
    OBJ_CHECK(t, TLS_MAGIC);
    return atomic_load(&t->connections);
}

static void
bury(struct tls_loop *l, struct tls_conn *c)
{
    c->dead = true;
    c->next_dead = l->dead;
    l->dead = c;
}

static void
free_dead(struct tls_loop *l)
{
    struct tls_conn *next;

    for (struct tls_conn *c = l->dead; c != NULL; c = next) {
        next = c->next_dead;
        lock_take(&l->lock);
        if (c->prev != NULL)
            c->prev->next = c->next;
        else
            l->all = c->next;
        if (c->next != NULL)
            c->next->prev = c->prev;
        lock_drop(&l->lock);
        /* See end() of tsd/net/telnet.c. */
        (void)epoll_ctl(l->poller.epoll, EPOLL_CTL_DEL, c->client, NULL);
        if (!c->pair_hung)
            (void)epoll_ctl(l->poller.epoll, EPOLL_CTL_DEL, c->pair, NULL);
        tls_conn_free(c);
        (void)atomic_fetch_sub(&l->tls->connections, 1);
    }
    l->dead = NULL;
}

/* Moves bytes, and says what the connection waits for. */
static void
run(struct tls_loop *l, struct tls_conn *c)
{
    bool more = tls_conn_move(c);

    if (c->dead) {
        bury(l, c);
        return;
    }
    if (c->pair_end && c->deadline_us == 0)
        c->deadline_us = clock_monotonic_us() + LAST_WORDS_US;
    /* A socket that can be written calls us back at once. */
    watch(l, c->client, tag(c, false), &c->client_events,
          tls_conn_client_events(c) | (more ? EPOLLOUT : 0));
    if (!c->pair_hung)
        watch(l, c->pair, tag(c, true), &c->pair_events,
              tls_conn_pair_events(c));
}

static void
handle(struct tls_loop *l, const struct epoll_event *ev)
{
    struct tls_conn *c =
        (struct tls_conn *)(uintptr_t)(ev->data.u64 & ~UINT64_C(1));

    if (c == NULL) {
        poller_heard(&l->poller);
        return;
    }
    if (c->dead)
        return;
    if ((ev->events & (EPOLLHUP | EPOLLERR)) != 0) {
        if ((ev->data.u64 & 1) == 0 || !c->shaken) {
            bury(l, c);
            return;
        }
        /* epoll would tell again and again, while what is left of it waits
         * for the client. */
        if (!c->pair_hung)
            (void)epoll_ctl(l->poller.epoll, EPOLL_CTL_DEL, c->pair, NULL);
        c->pair_hung = true;
    }
    run(l, c);
}

/* -- those who take too long ----------------------------------------------- */

static bool
is_stalled(struct tls_conn *c, int64_t now, unsigned stall_ms)
{
    bool waits = c->shaken && c->is_http && c->down->at < c->down->size;
    uint64_t took = c->sent - c->looked_sent;

    if (waits && c->looked_us != 0 &&
        now - c->looked_us < (int64_t)stall_ms * 1000)
        return false;
    if (waits && c->looked_us != 0 &&
        took < (uint64_t)stall_ms * READ_BYTES_PER_MS)
        return true;
    c->looked_us = waits ? now : 0;
    c->looked_sent = c->sent;
    return false;
}

static struct tls_conn *
first(struct tls_loop *l)
{
    struct tls_conn *c;

    lock_take(&l->lock);
    c = l->all;
    lock_drop(&l->lock);
    return c;
}

static void
sweep(struct tls_loop *l)
{
    int64_t now = clock_monotonic_us();

    for (struct tls_conn *c = first(l); c != NULL; c = c->next) {
        if (c->dead || ((c->deadline_us == 0 || now <= c->deadline_us) &&
                        !is_stalled(c, now, l->tls->o.stall_ms)))
            continue;
        counter_add(CNT_CONN_TIMEOUT, 1);
        bury(l, c);
    }
}

/* -- threads --------------------------------------------------------------- */

static bool
may_go_on(struct tls_loop *l)
{
    return !atomic_load(&l->tls->stopping) ||
           (first(l) != NULL && clock_monotonic_us() < l->tls->stop_us);
}

static void *
run_loop(void *arg)
{
    struct tls_loop *l = arg;
    struct epoll_event events[EVENTS_MAX];
    int64_t swept = clock_monotonic_us();

    while (may_go_on(l)) {
        int n = epoll_wait(l->poller.epoll, events, EVENTS_MAX,
                           atomic_load(&l->tls->stopping) ? 20 : SWEEP_MS);

        INSIST(n >= 0 || errno == EINTR);
        for (int i = 0; i < n; i++)
            handle(l, &events[i]);
        if (clock_monotonic_us() - swept > SWEEP_MS * INT64_C(1000)) {
            sweep(l);
            swept = clock_monotonic_us();
        }
        free_dead(l);
    }
    for (struct tls_conn *c = first(l); c != NULL; c = c->next)
        bury(l, c);
    free_dead(l);
    return NULL;
}

static enum status
start_loop(struct tls *t, struct tls_loop *l, struct error *e)
{
    enum status st;

    l->tls = t;
    st = poller_start(&l->poller, run_loop, l, e);
    t->loops_len += st == ST_OK;
    return st;
}

static enum status
read_priority(struct tls *t, struct error *e)
{
    const char *at = NULL;
    int rc = gnutls_priority_init(&t->priority, t->o.priority, &at);

    if (rc == 0)
        return ST_OK;
    t->priority = NULL;
    return error_set(e, ST_INVALID, "halite.tls.priority: at '%s': %s",
                     at == NULL ? "" : at, gnutls_strerror(rc));
}

enum status
tls_start(const struct tls_options *o, struct tls **out, struct error *e)
{
    struct tls *t = mem_new(sizeof *t);
    enum status st;

    t->magic = TLS_MAGIC;
    t->o = *o;
    t->o.threads = o->threads == 0 ? 2 : o->threads;
    t->o.handshake_ms = o->handshake_ms == 0 ? 10000 : o->handshake_ms;
    t->o.stall_ms = o->stall_ms == 0 ? 120000 : o->stall_ms;
    t->cert = mem_strdup(o->cert);
    t->key = mem_strdup(o->key);
    lock_init(&t->lock);
    t->loops = mem_new_array(t->o.threads, sizeof *t->loops);
    for (unsigned i = 0; i < t->o.threads; i++) {
        lock_init(&t->loops[i].lock);
        t->loops[i].poller = (struct poller)POLLER_INIT;
    }
    st = read_priority(t, e);
    if (st == ST_OK)
        st = tls_reload(t, e);
    for (unsigned i = 0; i < t->o.threads && st == ST_OK; i++)
        st = start_loop(t, &t->loops[i], e);
    *out = t;
    if (st != ST_OK)
        tls_stop(out, 0);
    return st;
}

static void
free_loop(struct tls_loop *l)
{
    poller_fini(&l->poller);
    lock_fini(&l->lock);
}

void
tls_stop(struct tls **tp, unsigned drain_ms)
{
    struct tls *t = *tp;

    *tp = NULL;
    if (t == NULL)
        return;
    OBJ_CHECK(t, TLS_MAGIC);
    t->stop_us = clock_monotonic_us() + (int64_t)drain_ms * 1000;
    atomic_store(&t->stopping, true);
    for (unsigned i = 0; i < t->loops_len; i++)
        poller_wake(&t->loops[i].poller);
    for (unsigned i = 0; i < t->loops_len; i++)
        poller_join(&t->loops[i].poller);
    for (unsigned i = 0; i < t->o.threads; i++)
        free_loop(&t->loops[i]);
    free(t->loops);
    lock_take(&t->lock);
    tls_keys_unref(&t->keys);
    lock_drop(&t->lock);
    lock_fini(&t->lock);
    if (t->priority != NULL)
        gnutls_priority_deinit(t->priority);
    free(t->cert);
    free(t->key);
    OBJ_CLEAR(t);
    free(t);
}
