/* The worker pool: requests of routes that may block wait here, in order, for
 * one of a fixed number of threads, while libmicrohttpd holds their connections
 * suspended.
 *
 *     http_work_admit() -> MHD_suspend_connection() -> http_work_push()
 *         -> a worker: http_serve_now() -> MHD_resume_connection()
 *
 * Room is taken before the connection is suspended, so that a full queue is an
 * answer, and stop can wait until nothing is suspended: libmicrohttpd panics if
 * it is stopped earlier. */
#include "config.h"

#include "web/http_priv.h"

#include "base/mem.h"

static struct http_request *
take(struct work *w)
{
    struct http_request *r;

    lock_take(&w->lock);
    while (w->first == NULL && !w->stop)
        cond_wait(&w->wake, &w->lock);
    r = w->first;
    if (r != NULL) {
        w->first = r->next;
        if (w->first == NULL)
            w->last = NULL;
        r->next = NULL;
    }
    lock_drop(&w->lock);
    return r;
}

static void
settle(struct work *w)
{
    lock_take(&w->lock);
    if (--w->pending == 0)
        cond_broadcast(&w->settled);
    lock_drop(&w->lock);
}

static void *
work(void *arg)
{
    struct http_server *s = arg;
    struct http_request *r;

    while ((r = take(&s->work)) != NULL) {
        struct MHD_Connection *mhd = r->mhd;

        if (atomic_load(&s->aborting) && !r->answered) {
            http_reply_error(&r->reply, 503, "The server is stopping", NULL);
            r->answered = true;
        }
        http_serve_now(r);
        /* From here on the request is its connection's again. */
        MHD_resume_connection(mhd);
        settle(&s->work);
    }
    return NULL;
}

enum status
http_work_start(struct http_server *s, struct error *e)
{
    struct work *w = &s->work;

    lock_init(&w->lock);
    cond_init(&w->wake);
    cond_init(&w->settled);
    w->threads = mem_new_array(s->o.workers, sizeof *w->threads);
    for (unsigned i = 0; i < s->o.workers; i++) {
        int rc = pthread_create(&w->threads[i], NULL, work, s);

        if (rc != 0) {
            http_work_stop(s);
            return error_set(e, ST_IO, "start a thread: %s", strerror(rc));
        }
        w->threads_len++;
    }
    return ST_OK;
}

bool
http_work_admit(struct http_server *s)
{
    struct work *w = &s->work;
    bool room;

    lock_take(&w->lock);
    room = !w->closed && w->pending < s->o.workers + s->o.workers_queue;
    if (room)
        w->pending++;
    lock_drop(&w->lock);
    return room;
}

void
http_work_push(struct http_request *r)
{
    struct work *w = &r->server->work;

    lock_take(&w->lock);
    if (w->last == NULL)
        w->first = r;
    else
        w->last->next = r;
    w->last = r;
    cond_signal(&w->wake);
    lock_drop(&w->lock);
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
    cond_broadcast(&w->wake);
    lock_drop(&w->lock);
    for (unsigned i = 0; i < w->threads_len; i++)
        (void)pthread_join(w->threads[i], NULL);
    free(w->threads);
    cond_fini(&w->settled);
    cond_fini(&w->wake);
    lock_fini(&w->lock);
}
