/* The memory engine: a lock around kv_map.  A batch gets one sequence number,
 * which becomes visible when the whole batch is in. */
#include "config.h"

#include "storage/kv/kv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/kv/mem/kv_map_priv.h"
#include "storage/kv/engine.h"

struct mem {
    struct kv kv;
    struct rwlock lock;
    uint64_t seq GUARDED_BY(lock); /* of the last batch */
    struct kv_map map GUARDED_BY(lock);
};

struct mem_snapshot {
    struct kv_snapshot snapshot;
    struct kv_pin pin;
};

struct mem_iter {
    struct kv_iter it;
    struct mem *mem;
    struct kv_pin pin;
    struct kv_node *node; /* where it stands while it.valid */
};

static struct mem *
mem_of(struct kv *kv)
{
    return (struct mem *)kv;
}

static void
mem_close(struct kv *kv)
{
    struct mem *m = mem_of(kv);

    kv_map_fini(&m->map);
    rwlock_fini(&m->lock);
    free(m);
}

static enum status
mem_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct mem *m = mem_of(kv);
    const struct kv_node *n;
    const struct kv_version *v = NULL;

    rwlock_take_read(&m->lock);
    n = kv_map_seek(&m->map, key);
    if (n != NULL && slice_eq(kv_node_key(n), key))
        v = kv_node_version(n, m->seq);
    if (v != NULL)
        buf_put(out, v->data, v->size);
    rwlock_drop_read(&m->lock);
    if (v == NULL)
        return error_set(e, ST_NOT_FOUND, "no such key");
    if (out->failed)
        return error_set(e, ST_LIMIT, "no memory for a value");
    return ST_OK;
}

/* The values are copied before the lock is taken, so that a batch that finds
 * no memory changes nothing. */
struct prepared {
    struct kv_version *first, **end; /* linked by 'older', in their order */
    bool failed;
    struct mem *mem;
};

static void
prepare(void *ctx, struct slice key, const struct slice *value)
{
    struct prepared *p = ctx;
    struct kv_version *v;

    (void)key;
    if (value == NULL || p->failed)
        return;
    v = kv_version_new(*value);
    if (v == NULL) {
        p->failed = true;
        return;
    }
    *p->end = v;
    p->end = &v->older;
}

static void
apply(void *ctx, struct slice key, const struct slice *value) NO_TS_CHECK
{
    struct prepared *p = ctx;
    struct kv_version *v = NULL;

    if (value != NULL) {
        v = p->first;
        p->first = v->older;
        v->older = NULL;
    }
    kv_map_apply(&p->mem->map, p->mem->seq, key, v);
}

static enum status
mem_write(struct kv *kv, const struct kv_batch *b, bool sync, struct error *e)
{
    struct mem *m = mem_of(kv);
    struct prepared p = { .mem = m };

    (void)sync;
    p.end = &p.first;
    kv_batch_each(b, prepare, &p);
    if (p.failed) {
        while (p.first != NULL) {
            struct kv_version *v = p.first;

            p.first = v->older;
            free(v);
        }
        return error_set(e, ST_IO, "out of memory for a batch of %zu",
                         kv_batch_len(b));
    }
    rwlock_take_write(&m->lock);
    m->seq++;
    kv_batch_each(b, apply, &p);
    rwlock_drop_write(&m->lock);
    return ST_OK;
}

static enum status
mem_sync(struct kv *kv, struct error *e)
{
    (void)kv;
    (void)e;
    return ST_OK;
}

static struct kv_snapshot *
mem_snapshot_take(struct kv *kv)
{
    struct mem *m = mem_of(kv);
    struct mem_snapshot *s = mem_new(sizeof *s);

    rwlock_take_write(&m->lock);
    kv_map_pin(&m->map, &s->pin, m->seq, NULL);
    rwlock_drop_write(&m->lock);
    return &s->snapshot;
}

static void
mem_snapshot_release(struct kv *kv, struct kv_snapshot *snapshot)
{
    struct mem *m = mem_of(kv);
    struct mem_snapshot *s = (struct mem_snapshot *)snapshot;

    rwlock_take_write(&m->lock);
    kv_map_unpin(&m->map, &s->pin);
    rwlock_drop_write(&m->lock);
    free(s);
}

static uint64_t
mem_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    struct mem *m = mem_of(kv);
    uint64_t bytes;

    rwlock_take_read(&m->lock);
    bytes = kv_map_estimate(&m->map, from, to);
    rwlock_drop_read(&m->lock);
    return bytes;
}

/* -- iterators ------------------------------------------------------------ */

static struct mem_iter *
iter_of(struct kv_iter *it)
{
    return (struct mem_iter *)it;
}

/* Goes on from 'n', which may be NULL, to a node that the pin sees. */
static void
settle(struct mem_iter *i, struct kv_node *n)
{
    const struct kv_version *v = NULL;

    while (n != NULL && (v = kv_node_version(n, i->pin.seq)) == NULL)
        n = n->next[0];
    i->it.valid = n != NULL;
    i->node = n;
    if (n != NULL) {
        i->it.key = kv_node_key(n);
        i->it.value = slice_of(v->data, v->size);
    }
}

static void
mem_iter_seek(struct kv_iter *it, struct slice key)
{
    struct mem_iter *i = iter_of(it);

    rwlock_take_read(&i->mem->lock);
    settle(i, kv_map_seek(&i->mem->map, key));
    rwlock_drop_read(&i->mem->lock);
}

static void
mem_iter_next(struct kv_iter *it)
{
    struct mem_iter *i = iter_of(it);

    rwlock_take_read(&i->mem->lock);
    settle(i, i->node->next[0]);
    rwlock_drop_read(&i->mem->lock);
}

static void
mem_iter_close(struct kv_iter *it)
{
    struct mem_iter *i = iter_of(it);

    rwlock_take_write(&i->mem->lock);
    kv_map_unpin(&i->mem->map, &i->pin);
    rwlock_drop_write(&i->mem->lock);
}

static void
mem_iter_free(struct kv_iter *it)
{
    free(iter_of(it));
}

static const struct kv_iter_engine mem_iter_engine = {
    .close = mem_iter_close,
    .seek = mem_iter_seek,
    .next = mem_iter_next,
    .free = mem_iter_free,
};

static struct kv_iter *
mem_iter_open(struct kv *kv, struct kv_snapshot *s, struct slice prefix)
{
    struct mem *m = mem_of(kv);
    struct mem_iter *i = mem_new(sizeof *i);
    struct kv_pin *at = s == NULL ? NULL : &((struct mem_snapshot *)s)->pin;

    (void)prefix;
    i->it.engine = &mem_iter_engine;
    i->mem = m;
    rwlock_take_write(&m->lock);
    kv_map_pin(&m->map, &i->pin, at == NULL ? m->seq : at->seq, at);
    rwlock_drop_write(&m->lock);
    return &i->it;
}

static const struct kv_engine mem_engine = {
    .traits = { .seek_price = 4 },
    .close = mem_close,
    .get = mem_get,
    .write = mem_write,
    .sync = mem_sync,
    .snapshot_take = mem_snapshot_take,
    .snapshot_release = mem_snapshot_release,
    .iter_open = mem_iter_open,
    .approximate_bytes = mem_approximate_bytes,
};

struct kv *
kv_mem_open(void)
{
    struct mem *m = mem_new(sizeof *m);

    m->kv.engine = &mem_engine;
    rwlock_init(&m->lock);
    kv_map_init(&m->map);
    return &m->kv;
}
