/* The worker pool: requests of routes that may block wait here for one of a
 * fixed number of threads, while libmicrohttpd holds their connections
 * suspended.
 *
 *     http_work_admit() -> http_mhd_suspend() -> http_work_push()
 *         -> a worker: http_serve_now() -> http_mhd_resume()
 *
 * Room is taken before the connection is suspended, so that a full queue is an
 * answer, and stop can wait until nothing is suspended: libmicrohttpd panics if
 * it is stopped earlier.
 *
 * Clients, told apart by their address, take turns: each has a queue, and who
 * may be served stands in a ring.  There is a thread more than one client may
 * have at work, so that a client whose requests never end, or who asks a
 * thousand things at once, does not keep the others waiting:
 *
 *     absent -admit-> known -push-> in the ring <-> (as many at work as may be)
 *        ^                                 |
 *        `--- nothing pending any more ----+
 *
 * Of idle threads the one is woken that was at work last: its memory is still
 * in the processor's caches, and what it freed is still its allocator's. */
#include "web/mhd/http_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

/* All clients together may have so many times more waiting than one. */
#define CLIENTS_QUEUE 4

struct work_thread {
    pthread_t id;
    struct http_server *server;
    struct cond wake;          /* a job, or the end */
    struct work_thread *below; /* was idle before it */
    bool awake;
};

struct work_client {
    struct work_client *next; /* of its hash */
    struct work_client *turn; /* behind it in the ring */
    uint64_t address;
    struct http_request *first, *last;
    size_t pending; /* admitted, not yet resumed */
    size_t running;
    bool in_ring;
};

static struct work_client **
work_place_of(struct work *w, uint64_t address) REQUIRES(w->lock)
{
    uint64_t hash = hash_u64(address);
    struct work_client **p = &w->clients[hash % WORK_HASHES];

    while (*p != NULL && (*p)->address != address)
        p = &(*p)->next;
    return p;
}

/* Who is to be woken, best without the lock, for which it would wait again; or
 * NULL. */
static struct cond *
pop_idle(struct work *w) REQUIRES(w->lock)
{
    struct work_thread *t = w->idle;

    if (t == NULL)
        return NULL;
    w->idle = t->below;
    t->awake = true;
    return &t->wake;
}

static void
wake(struct cond *called)
{
    if (called != NULL)
        cond_signal(called);
}

/* At the end of the ring, if it has something to do and may: 'most' at once.
 * Returns whom to wake for it. */
static struct cond *
enqueue_client(struct work *w, struct work_client *c, size_t most)
    REQUIRES(w->lock)
{
    if (c->in_ring || c->first == NULL || c->running >= most)
        return NULL;
    c->in_ring = true;
    c->turn = NULL;
    if (w->last == NULL)
        w->first = c;
    else
        w->last->turn = c;
    w->last = c;
    return pop_idle(w);
}

static struct http_request *
work_take(struct work_thread *t)
{
    struct http_server *s = t->server;
    struct work *w = &s->work;
    struct http_request *r = NULL;
    struct work_client *c;
    struct cond *called = NULL;

    lock_take(&w->lock);
    while (w->first == NULL && !w->stop) {
        t->awake = false;
        t->below = w->idle;
        w->idle = t;
        while (!t->awake)
            cond_wait(&t->wake, &w->lock);
    }
    c = w->first;
    if (c != NULL) {
        w->first = c->turn;
        if (w->first == NULL)
            w->last = NULL;
        c->in_ring = false;
        r = c->first;
        c->first = r->next;
        r->next = NULL;
        c->running++;
        called = enqueue_client(w, c, s->o.workers);
    }
    lock_drop(&w->lock);
    wake(called);
    return r;
}

static void *
work(void *arg)
{
    struct work_thread *t = arg;
    struct http_server *s = t->server;
    struct work *w = &s->work;
    struct http_request *r;

    while ((r = work_take(t)) != NULL) {
        struct MHD_Connection *mhd = r->mhd;
        uint64_t address = r->conn->address;
        struct work_client **p, *c;
        struct cond *called = NULL;

        if (atomic_load(&s->aborting) && !r->answered)
            http_reject(r, 503, "The server is stopping", NULL);
        http_serve_now(r);
        /* From here on the request is its connection's again. */
        http_mhd_resume(mhd);
        lock_take(&w->lock);
        p = work_place_of(w, address);
        c = *p;
        INSIST(c != NULL && c->running > 0);
        c->running--;
        if (--c->pending == 0) {
            *p = c->next;
            free(c);
        } else {
            called = enqueue_client(w, c, s->o.workers);
        }
        if (--w->pending == 0)
            cond_broadcast(&w->settled);
        lock_drop(&w->lock);
        wake(called);
    }
    return NULL;
}

enum status
http_work_start(struct http_server *s, struct error *e)
{
    struct work *w = &s->work;

    lock_init(&w->lock);
    cond_init(&w->settled);
    w->threads = mem_new_array(s->o.workers + 1, sizeof *w->threads);
    for (unsigned i = 0; i <= s->o.workers; i++) {
        struct work_thread *t = &w->threads[i];
        int rc;

        t->server = s;
        cond_init(&t->wake);
        rc = pthread_create(&t->id, NULL, work, t);

        if (rc != 0) {
            cond_fini(&t->wake);
            http_work_stop(s);
            return error_set(e, ST_IO, "start a thread: %s", strerror(rc));
        }
        w->threads_len++;
    }
    return ST_OK;
}

bool
http_work_admit(struct http_server *s, uint64_t address)
{
    struct work *w = &s->work;
    size_t most = s->o.workers + s->o.workers_queue;
    struct work_client **p;
    bool room;

    lock_take(&w->lock);
    p = work_place_of(w, address);
    room = !w->closed && w->pending < most * CLIENTS_QUEUE &&
           (*p == NULL || (*p)->pending < most);
    if (room) {
        if (*p == NULL) {
            *p = mem_new(sizeof **p);
            (*p)->address = address;
        }
        (*p)->pending++;
        w->pending++;
    }
    lock_drop(&w->lock);
    return room;
}

void
http_work_push(struct http_request *r)
{
    struct http_server *s = r->server;
    struct work *w = &s->work;
    struct work_client *c;
    struct cond *called;

    lock_take(&w->lock);
    c = *work_place_of(w, r->conn->address);
    INSIST(c != NULL);
    if (c->first == NULL)
        c->first = r;
    else
        c->last->next = r;
    c->last = r;
    called = enqueue_client(w, c, s->o.workers);
    lock_drop(&w->lock);
    wake(called);
}

void
http_work_close(struct http_server *s)
{
    struct work *w = &s->work;

    lock_take(&w->lock);
    w->closed = true;
    while (w->pending > 0)
        cond_wait(&w->settled, &w->lock);
    lock_drop(&w->lock);
}

void
http_work_stop(struct http_server *s)
{
    struct work *w = &s->work;

    lock_take(&w->lock);
    w->stop = true;
    for (struct cond *called; (called = pop_idle(w)) != NULL;)
        cond_signal(called);
    lock_drop(&w->lock);
    for (unsigned i = 0; i < w->threads_len; i++)
        (void)pthread_join(w->threads[i].id, NULL);
    for (unsigned i = 0; i < w->threads_len; i++)
        cond_fini(&w->threads[i].wake);
    free(w->threads);
    cond_fini(&w->settled);
    lock_fini(&w->lock);
}
