/* Watch and notify. */
#include "storage/rados/ceph_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/obj.h"
#include "storage/rados/ceph_op.h"
#include "storage/rados/ceph_priv.h"

#define WATCH_MAGIC FOURCC('C', 'E', 'W', 'A')

struct ceph_watch {
    uint32_t magic;
    struct ceph *c;
    struct ceph_watch_calls calls;
    void *ctx;
    uint64_t cookie;
    char object[128];
    atomic_bool broken;
};

static void
on_notify(void *ctx, uint64_t id, uint64_t cookie, uint64_t notifier,
          void *data, size_t size)
{
    struct ceph_watch *w = ctx;
    struct buf answer = BUF_INIT;

    (void)notifier;
    w->calls.heard(w->ctx, slice_of(data, size), &answer);
    if (answer.failed)
        buf_clear(&answer);
    (void)librados.notify_ack(w->c->pool, w->object, id, cookie,
                              (const char *)answer.data, (int)answer.size);
    buf_fini(&answer);
}

static void
on_error(void *ctx, uint64_t cookie, int error)
{
    struct ceph_watch *w = ctx;

    (void)cookie;
    (void)error;
    atomic_store(&w->broken, true);
    w->calls.broken(w->ctx);
}

enum status
ceph_watch_open(struct ceph *c, const char *object, unsigned timeout_s,
                const struct ceph_watch_calls *calls, void *ctx,
                struct ceph_watch **out, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);
    struct ceph_watch *w;
    enum status st;
    int fault, r = 0;

    *out = NULL;
    ceph_write_create(op, false);
    st = ceph_op_run(op, object, e);
    if (st != ST_OK)
        return st;
    INSIST(strlen(object) < sizeof w->object);
    w = mem_new(sizeof *w);
    w->magic = WATCH_MAGIC;
    w->c = c;
    w->calls = *calls;
    w->ctx = ctx;
    memcpy(w->object, object, strlen(object) + 1);
    fault = ceph_enter(c, CEPH_CALL_WATCH, object);
    if (fault >= 0)
        r = librados.watch3(c->pool, object, &w->cookie, on_notify, on_error,
                            timeout_s, w);
    if (fault > 0 && r >= 0)
        (void)librados.unwatch2(c->pool, w->cookie);
    r = ceph_leave(fault, r);
    if (r < 0) {
        (void)librados.watch_flush(c->cluster);
        OBJ_FREE(w);
        return ceph_status(c, r, "watch", object, e);
    }
    *out = w;
    return ST_OK;
}

enum status
ceph_watch_check(struct ceph_watch *w, unsigned *age_ms, struct error *e)
{
    int fault, r = 0;

    OBJ_CHECK(w, WATCH_MAGIC);
    fault = ceph_enter(w->c, CEPH_CALL_WATCH, w->object);
    if (fault >= 0)
        r = librados.watch_check(w->c->pool, w->cookie);
    r = ceph_leave(fault, r);
    if (age_ms != NULL)
        *age_ms = r < 0 ? 0 : (unsigned)r;
    if (r >= 0 && !atomic_load(&w->broken))
        return ST_OK;
    if (r == -ESHUTDOWN)
        return ceph_status(w->c, r, "watch", w->object, e);
    return error_set(e, ST_IO, "watch %s: it is broken: %s", w->object,
                     strerror(r < 0 ? -r : ENOTCONN));
}

void
ceph_watch_close(struct ceph_watch **owner)
{
    struct ceph_watch *w = OBJ_TAKE(owner, WATCH_MAGIC);

    if (w == NULL)
        return;
    (void)librados.unwatch2(w->c->pool, w->cookie);
    (void)librados.watch_flush(w->c->cluster);
    OBJ_FREE(w);
}

/* A little-endian number at the start of '*left', which moves behind it. */
static uint64_t
take_le(struct slice *left, size_t size)
{
    uint64_t n = 0;

    if (left->size < size) {
        left->size = 0;
        return 0;
    }
    for (size_t i = size; i-- > 0;)
        n = n << 8 | left->data[i];
    left->data += size;
    left->size -= size;
    return n;
}

/* As librados documents it: <how many:4>, then for each watcher <client:8>
 * <cookie:8> <size:4> <answer>. */
static void
put_answers(struct slice reply, struct buf *out)
{
    uint64_t len = take_le(&reply, 4);

    for (; len > 0 && reply.size > 0; len--) {
        uint64_t size;

        (void)take_le(&reply, 8);
        (void)take_le(&reply, 8);
        size = take_le(&reply, 4);
        if (size > reply.size)
            return;
        buf_put_sized(out, slice_of(reply.data, (size_t)size));
        reply.data += size;
        reply.size -= (size_t)size;
    }
}

enum status
ceph_notify(struct ceph *c, const char *object, struct slice payload,
            unsigned timeout_ms, struct buf *answers, struct error *e)
{
    int fault = ceph_enter(c, CEPH_CALL_NOTIFY, object), r = 0;
    char *reply = NULL;
    size_t size = 0;

    if (fault >= 0)
        r = librados.notify2(c->pool, object, (const char *)payload.data,
                             (int)payload.size, timeout_ms, &reply, &size);
    r = ceph_leave(fault, r);
    if (r >= 0 && answers != NULL && reply != NULL)
        put_answers(slice_of(reply, size), answers);
    librados.buffer_free(reply);
    return ceph_status(c, r, "notify the watchers of", object, e);
}
