/* The memory engine: a skip list under a lock.
 *
 * A node is never changed: a put takes the place of the key's old one.  An
 * iterator holds a copy of the entry that it stands on, so no reader keeps a
 * node alive; it goes on from its node while nothing was written, and looks its
 * key up again otherwise. */
#include "storage/kv/kv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/kv/engine.h"

#define LEVELS 14 /* of four times as many keys each */

struct node {
    uint32_t levels;
    uint32_t key_size;
    size_t value_size;
    struct node *next[]; /* 'levels' of them, then the key, then the value */
};

struct mem {
    struct kv kv;
    struct rwlock lock;
    struct node *heads[LEVELS] GUARDED_BY(lock);
    uint64_t writes GUARDED_BY(lock);
    uint64_t seed;
};

struct mem_iter {
    struct kv_iter it;
    struct mem *mem;
    const struct node *node; /* where it stands, as of 'writes' */
    uint64_t writes;
    struct buf entry; /* its key and value, lent */
};

static struct mem *
mem_of(struct kv *kv)
{
    return (struct mem *)kv;
}

/* -- the skip list --------------------------------------------------------- */

static struct slice
key_of(const struct node *n)
{
    return slice_of((const uint8_t *)(n->next + n->levels), n->key_size);
}

/* The first node at or behind the key.  'path' (or NULL) gets the link to
 * follow, or to change, on each level. */
static struct node *
search(struct mem *m, struct slice key, struct node ***path)
    REQUIRES_SHARED(m->lock)
{
    struct node **links = m->heads;

    for (size_t level = LEVELS; level-- > 0;) {
        while (links[level] != NULL && slice_cmp(key_of(links[level]), key) < 0)
            links = links[level]->next;
        if (path != NULL)
            path[level] = &links[level];
    }
    return links[0];
}

static bool
is_at(const struct node *n, struct slice key)
{
    return n != NULL && slice_eq(key_of(n), key);
}

static void
free_nodes(struct node *n)
{
    while (n != NULL) {
        struct node *next = n->next[0];

        free(n);
        n = next;
    }
}

static void
mem_close(struct kv *kv)
{
    struct mem *m = mem_of(kv);

    free_nodes(m->heads[0]);
    rwlock_fini(&m->lock);
    kv_fini(&m->kv);
    free(m);
}

/* -- reading and writing --------------------------------------------------- */

static enum status
mem_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct mem *m = mem_of(kv);
    const struct node *n;
    bool found;

    rwlock_take_read(&m->lock);
    n = search(m, key, NULL);
    found = is_at(n, key);
    if (found)
        buf_put(out, key_of(n).data + n->key_size, n->value_size);
    rwlock_drop_read(&m->lock);
    if (!found)
        return error_set(e, ST_NOT_FOUND, "no such key");
    return out->failed ? error_set(e, ST_LIMIT, "no memory for a value")
                       : ST_OK;
}

/* The nodes of a batch are made before the lock is taken, so that one that
 * finds no memory changes nothing. */
struct prepared {
    struct mem *mem;
    struct node *first, **end; /* linked by next[0], in their order */
    bool failed;
};

static void
prepare(void *ctx, struct slice key, const struct slice *value)
{
    struct prepared *p = ctx;
    uint32_t levels;
    struct node *n;
    uint64_t h;

    if (value == NULL || p->failed)
        return;
    /* A quarter of the keys of a level are on the next one, too. */
    levels = 1;
    h = hash_slice(key, p->mem->seed);
    for (; levels < LEVELS && (h & 3) == 0; h >>= 2)
        levels++;
    n = malloc(sizeof *n + levels * sizeof n->next[0] + key.size + value->size);
    if (n == NULL) {
        p->failed = true;
        return;
    }
    *n = (struct node){ .levels = levels,
                        .key_size = (uint32_t)key.size,
                        .value_size = value->size };
    n->next[0] = NULL;
    if (key.size > 0)
        memcpy(n->next + levels, key.data, key.size);
    if (value->size > 0)
        memcpy((uint8_t *)(n->next + levels) + key.size, value->data,
               value->size);
    *p->end = n;
    p->end = &n->next[0];
}

static void
apply(void *ctx, struct slice key, const struct slice *value) NO_TS_CHECK
{
    struct prepared *p = ctx;
    struct node *n = NULL;
    struct node **path[LEVELS];
    struct node *old;

    if (value != NULL) {
        n = p->first;
        p->first = n->next[0];
    }
    /* 'n', or NULL for a deletion, takes the place of what there is of the key.
     */
    old = search(p->mem, key, path);
    if (is_at(old, key)) {
        for (size_t i = 0; i < old->levels; i++)
            *path[i] = old->next[i];
        free(old);
    }
    for (size_t i = 0; n != NULL && i < n->levels; i++) {
        n->next[i] = *path[i];
        *path[i] = n;
    }
}

static enum status
mem_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct mem *m = mem_of(kv);
    struct prepared p = { .mem = m };

    p.end = &p.first;
    kv_batch_each(b, prepare, &p);
    if (p.failed) {
        free_nodes(p.first);
        return error_set(e, ST_IO, "out of memory for a batch of %zu",
                         kv_batch_len(b));
    }
    rwlock_take_write(&m->lock);
    m->writes++;
    kv_batch_each(b, apply, &p);
    rwlock_drop_write(&m->lock);
    return ST_OK;
}

static uint64_t
mem_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    struct mem *m = mem_of(kv);
    uint64_t bytes = 0;

    rwlock_take_read(&m->lock);
    for (const struct node *n = search(m, from, NULL);
         n != NULL && slice_cmp(key_of(n), to) < 0; n = n->next[0])
        bytes += n->key_size + n->value_size;
    rwlock_drop_read(&m->lock);
    return bytes;
}

/* -- iterators ------------------------------------------------------------- */

static struct mem_iter *
iter_of(struct kv_iter *it)
{
    return (struct mem_iter *)it;
}

/* Copies the node where it stands from now on; NULL: the end. */
static void
stand_on(struct mem_iter *i, const struct node *n) REQUIRES_SHARED(i->mem->lock)
{
    i->node = n;
    i->writes = i->mem->writes;
    i->it.valid = n != NULL;
    if (n == NULL)
        return;
    buf_clear(&i->entry);
    buf_put(&i->entry, key_of(n).data, n->key_size + n->value_size);
    if (i->entry.failed)
        (void)error_set(&i->it.error, ST_LIMIT, "no memory for a value");
    i->it.key = slice_of(i->entry.data, n->key_size);
    i->it.value = slice_of(i->entry.data + n->key_size, n->value_size);
}

static void
mem_iter_seek(struct kv_iter *it, struct slice key)
{
    struct mem_iter *i = iter_of(it);

    rwlock_take_read(&i->mem->lock);
    stand_on(i, search(i->mem, key, NULL));
    rwlock_drop_read(&i->mem->lock);
}

static void
mem_iter_next(struct kv_iter *it)
{
    struct mem_iter *i = iter_of(it);
    const struct node *n = i->node;

    rwlock_take_read(&i->mem->lock);
    if (i->writes != i->mem->writes)
        n = search(i->mem, it->key, NULL);
    if (is_at(n, it->key))
        n = n->next[0];
    stand_on(i, n);
    rwlock_drop_read(&i->mem->lock);
}

static void
mem_iter_free(struct kv_iter *it)
{
    buf_fini(&iter_of(it)->entry);
    free(iter_of(it));
}

static const struct kv_iter_engine mem_iter_engine = {
    .seek = mem_iter_seek,
    .next = mem_iter_next,
    .free = mem_iter_free,
};

static struct kv_iter *
mem_iter_open(struct kv *kv, struct slice prefix)
{
    struct mem_iter *i = mem_new(sizeof *i);

    (void)prefix;
    i->it.engine = &mem_iter_engine;
    i->mem = mem_of(kv);
    return &i->it;
}

static const struct kv_engine mem_engine = {
    .traits = { .seek_price = 4 },
    .close = mem_close,
    .get = mem_get,
    .write = mem_write,
    .iter_open = mem_iter_open,
    .approximate_bytes = mem_approximate_bytes,
};

enum status
kv_mem_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    struct mem *m = mem_new(sizeof *m);

    (void)o;
    (void)e;
    kv_init(&m->kv, &mem_engine);
    m->seed = hash_random_seed();
    rwlock_init(&m->lock);
    *out = &m->kv;
    return ST_OK;
}
