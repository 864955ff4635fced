/* What does not depend on the engine: checks and counts. */
#include "config.h"

#include "storage/kv/kv.h"

#include "storage/kv/engine.h"

enum status
kv_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    *out = NULL;
    if (o->dir == NULL)
        *out = kv_mem_open();
    else {
        enum status st = kv_leveldb_open(o, out, e);

        if (st != ST_OK)
            return st;
    }
    (*out)->magic = KV_MAGIC;
    return ST_OK;
}

void
kv_close(struct kv **kv)
{
    if (*kv == NULL)
        return;
    OBJ_CHECK(*kv, KV_MAGIC);
    OBJ_CLEAR(*kv);
    (*kv)->engine->close(*kv);
    *kv = NULL;
}

const struct kv_traits *
kv_traits(const struct kv *kv)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return &kv->engine->traits;
}

enum status
kv_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    OBJ_CHECK(kv, KV_MAGIC);
    buf_clear(out);
    return kv->engine->get(kv, key, out, e);
}

enum status
kv_write(struct kv *kv, const struct kv_batch *b, bool sync, struct error *e)
{
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    st = kv_batch_check(b, e);
    return st == ST_OK ? kv->engine->write(kv, b, sync, e) : st;
}

enum status
kv_gather(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    st = kv_batch_check(b, e);
    if (st != ST_OK)
        return st;
    return kv->engine->gather == NULL ? kv->engine->write(kv, b, false, e)
                                      : kv->engine->gather(kv, b, e);
}

enum status
kv_sync(struct kv *kv, struct error *e)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return kv->engine->sync(kv, e);
}

void
kv_settle(struct kv *kv, size_t least)
{
    OBJ_CHECK(kv, KV_MAGIC);
    if (kv->engine->settle != NULL)
        kv->engine->settle(kv, least);
}

struct kv_iter *
kv_iter_open(struct kv *kv, struct slice prefix)
{
    struct kv_iter *it;

    OBJ_CHECK(kv, KV_MAGIC);
    INSIST(prefix.size <= KV_PREFIX_MAX);
    it = kv->engine->iter_open(kv, prefix);
    it->magic = KV_ITER_MAGIC;
    it->prefix_size = (uint8_t)prefix.size;
    if (prefix.size > 0)
        memcpy(it->prefix, prefix.data, prefix.size);
    return it;
}

enum status
kv_iter_close(struct kv_iter **it, struct error *e)
{
    enum status st;

    if (*it == NULL)
        return ST_OK;
    OBJ_CHECK(*it, KV_ITER_MAGIC);
    (*it)->engine->close(*it);
    st = (*it)->error.status;
    if (st != ST_OK && e != NULL)
        *e = (*it)->error;
    OBJ_CLEAR(*it);
    (*it)->engine->free(*it);
    *it = NULL;
    return st;
}

/* What every move ends with. */
static bool
stand(struct kv_iter *it)
{
    /* An engine at its end leaves a key that is no longer there. */
    it->valid = it->valid && it->error.status == ST_OK &&
                slice_starts(it->key, slice_of(it->prefix, it->prefix_size));
    if (it->valid)
        it->counts.bytes += it->key.size + it->value.size;
    else
        it->key = it->value = (struct slice){ NULL, 0 };
    return it->valid;
}

static bool
may_seek(struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->counts.seeks++;
    return it->error.status == ST_OK;
}

static bool
may_step(struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->counts.steps++;
    return it->valid;
}

bool
kv_iter_seek(struct kv_iter *it, struct slice key)
{
    if (may_seek(it))
        it->engine->seek(it, key);
    return stand(it);
}

bool
kv_iter_next(struct kv_iter *it)
{
    if (may_step(it))
        it->engine->next(it);
    return stand(it);
}

struct slice
kv_iter_key(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->key;
}

struct slice
kv_iter_value(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->value;
}

struct kv_iter_counts
kv_iter_counts(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->counts;
}

uint64_t
kv_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return slice_cmp(from, to) < 0 ? kv->engine->approximate_bytes(kv, from, to)
                                   : 0;
}
