/* A watch of the object "events", made anew by a thread when it breaks. */
#include "storage/lease/events.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/process/signals.h"
#include "base/process/thread.h"
#include "base/mem.h"
#include "base/obj.h"
#include "storage/rados/ceph_watch.h"

#define OBJECT       "events"
#define EVENTS_MAGIC FOURCC('E', 'V', 'T', 'S')
#define LISTENERS    16

struct listener {
    unsigned kind;
    events_fn *f;
    void *ctx;
};

struct events {
    uint32_t magic;
    struct ceph *c;
    unsigned timeout_ms;
    struct thread thread;
    atomic_bool broken;

    struct lock listeners_lock; /* held while one is called */
    struct listener listeners[LISTENERS] GUARDED_BY(listeners_lock);
    size_t listeners_len GUARDED_BY(listeners_lock);

    struct lock lock;
    struct cond tick; /* 'stopping' */
    bool stopping GUARDED_BY(lock);
    struct ceph_watch *watch GUARDED_BY(lock); /* NULL: none now */
};

/* -- hearing --------------------------------------------------------------- */

static void
deliver(struct events *ev, unsigned kind, struct slice payload,
        struct buf *answer)
{
    lock_take(&ev->listeners_lock);
    for (size_t i = 0; i < ev->listeners_len; i++) {
        const struct listener *l = &ev->listeners[i];

        if (kind == EVENTS_MISSED || l->kind == kind)
            l->f(l->ctx, kind, payload, answer);
    }
    lock_drop(&ev->listeners_lock);
}

/* One that cannot be read was sent by a later version. */
static void
on_heard(void *ctx, struct slice bytes, struct buf *answer)
{
    struct cursor c = cursor_of(bytes);
    uint64_t kind = cursor_varint(&c);

    if (!c.failed && kind != EVENTS_MISSED && kind <= UINT_MAX)
        deliver(ctx, (unsigned)kind, cursor_bytes(&c, cursor_left(&c)), answer);
}

static void
on_broken(void *ctx)
{
    atomic_store(&((struct events *)ctx)->broken, true);
}

bool
events_are_heard(struct events *ev)
{
    unsigned age_ms = 0;
    bool heard;

    OBJ_CHECK(ev, EVENTS_MAGIC);
    if (atomic_load(&ev->broken))
        return false;
    lock_take(&ev->lock);
    heard = ev->watch != NULL &&
            ceph_watch_check(ev->watch, &age_ms, NULL) == ST_OK &&
            age_ms < ev->timeout_ms - ev->timeout_ms / 4;
    lock_drop(&ev->lock);
    return heard && !atomic_load(&ev->broken);
}

/* -- the watch ------------------------------------------------------------- */

static struct ceph_watch *
watch_take(struct events *ev) EXCLUDES(ev->lock)
{
    struct ceph_watch *w;

    lock_take(&ev->lock);
    w = ev->watch;
    ev->watch = NULL;
    lock_drop(&ev->lock);
    return w;
}

static enum status
watch_begin(struct events *ev, struct error *e)
{
    static const struct ceph_watch_calls calls = { on_heard, on_broken };
    struct ceph_watch *w;
    enum status st;

    atomic_store(&ev->broken, false);
    st = ceph_watch_open(ev->c, OBJECT, ev->timeout_ms / 1000, &calls, ev, &w,
                         e);
    if (st != ST_OK)
        return st;
    /* What was sent before the new watch is dropped before it counts. */
    deliver(ev, EVENTS_MISSED, slice_of(NULL, 0), NULL);
    lock_take(&ev->lock);
    ev->watch = w;
    lock_drop(&ev->lock);
    return ST_OK;
}

static void *
events_main(void *ctx)
{
    struct events *ev = ctx;

    signals_block();
    lock_take(&ev->lock);
    while (!ev->stopping) {
        if (atomic_load(&ev->broken) || ev->watch == NULL ||
            ceph_watch_check(ev->watch, NULL, NULL) != ST_OK) {
            struct ceph_watch *w;
            struct error e;

            lock_drop(&ev->lock);
            w = watch_take(ev);
            if (w != NULL)
                log_warn("events",
                         "the watch of \"" OBJECT "\" broke: caches are "
                         "dropped, and it is watched again");
            ceph_watch_close(&w);
            if (watch_begin(ev, &e) == ST_OK)
                log_info("events", "\"" OBJECT "\" is watched again");
            else
                log_debug("events", "%s", e.text);
            lock_take(&ev->lock);
        }
        if (!ev->stopping)
            cond_wait_ms(&ev->tick, &ev->lock, ev->timeout_ms / 8);
    }
    lock_drop(&ev->lock);
    return NULL;
}

/* -- life ------------------------------------------------------------------ */

static void
events_free(struct events *ev) NO_TS_CHECK
{
    ceph_watch_close(&ev->watch);
    cond_fini(&ev->tick);
    lock_fini(&ev->lock);
    lock_fini(&ev->listeners_lock);
    OBJ_FREE(ev);
}

enum status
events_open(struct ceph *c, unsigned timeout_ms, struct events **out,
            struct error *e)
{
    struct events *ev = mem_new(sizeof *ev);
    enum status st;

    *out = NULL;
    INSIST(timeout_ms >= 1000 && timeout_ms % 1000 == 0);
    ev->magic = EVENTS_MAGIC;
    ev->c = c;
    ev->timeout_ms = timeout_ms;
    lock_init(&ev->listeners_lock);
    lock_init(&ev->lock);
    cond_init(&ev->tick);
    st = watch_begin(ev, e);
    if (st == ST_OK)
        st = thread_start(&ev->thread, events_main, ev, "events", e);
    if (st != ST_OK) {
        events_free(ev);
        return st;
    }
    *out = ev;
    return ST_OK;
}

void
events_close(struct events **owner)
{
    struct events *ev = OBJ_TAKE(owner, EVENTS_MAGIC);

    if (ev == NULL)
        return;
    lock_take(&ev->lock);
    ev->stopping = true;
    cond_signal(&ev->tick);
    lock_drop(&ev->lock);
    thread_join(&ev->thread);
    events_free(ev);
}

void
events_on(struct events *ev, unsigned kind, events_fn *f, void *ctx)
{
    OBJ_CHECK(ev, EVENTS_MAGIC);
    lock_take(&ev->listeners_lock);
    INSIST(kind != EVENTS_MISSED && ev->listeners_len < LISTENERS);
    ev->listeners[ev->listeners_len++] = (struct listener){ kind, f, ctx };
    lock_drop(&ev->listeners_lock);
}

/* -- sending --------------------------------------------------------------- */

static enum status
notify(struct ceph *c, unsigned timeout_ms, unsigned kind, struct slice payload,
       struct buf *answers, struct error *e)
{
    struct buf bytes = BUF_INIT;
    enum status st;

    INSIST(kind != EVENTS_MISSED);
    buf_put_varint(&bytes, kind);
    buf_put_slice(&bytes, payload);
    st = bytes.failed ? error_set(e, ST_BUSY, "no memory for an event")
                      : ceph_notify(c, OBJECT, buf_slice(&bytes), timeout_ms,
                                    answers, e);
    buf_fini(&bytes);
    return st;
}

/* Who is silent for 'timeout_ms' trusts its events no more, and is no watcher
 * any more soon after; so the second time only others can be silent. */
enum status
events_send(struct ceph *c, unsigned timeout_ms, unsigned kind,
            struct slice payload, struct error *e)
{
    enum status st = ST_TIMEOUT;

    for (int i = 0; i < 3 && st == ST_TIMEOUT; i++)
        st = notify(c, timeout_ms, kind, payload, NULL, e);
    return st == ST_NOT_FOUND ? ST_OK : st; /* none has listened yet */
}

enum status
events_ask(struct ceph *c, unsigned timeout_ms, unsigned kind,
           struct slice payload, struct buf *answers, struct error *e)
{
    enum status st = notify(c, timeout_ms, kind, payload, answers, e);

    return st == ST_NOT_FOUND ? ST_OK : st;
}
