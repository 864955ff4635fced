/* What does not depend on the engine: checks, counts, and the calls that are
 * made of others. */
#include "config.h"

#include "storage/kv.h"

#include "base/cursor.h"
#include "storage/kv_priv.h"

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
    lock_init(&(*out)->create_lock);
    return ST_OK;
}

void
kv_close(struct kv **kv)
{
    if (*kv == NULL)
        return;
    OBJ_CHECK(*kv, KV_MAGIC);
    lock_fini(&(*kv)->create_lock);
    OBJ_CLEAR(*kv);
    (*kv)->engine->close(*kv);
    *kv = NULL;
}

enum status
kv_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    OBJ_CHECK(kv, KV_MAGIC);
    buf_clear(out);
    return kv->engine->get(kv, key, out, e);
}

static enum status
put_one(struct kv *kv, struct slice key, struct slice value, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    enum status st;

    kv_batch_put(b, key, value);
    st = kv_write(kv, b, false, e);
    kv_batch_free(&b);
    return st;
}

enum status
kv_create(struct kv *kv, struct slice key, struct slice value, bool *created,
          struct error *e)
{
    struct buf old = BUF_INIT;
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    *created = false;
    lock_take(&kv->create_lock);
    st = kv_get(kv, key, &old, e);
    if (st == ST_NOT_FOUND) {
        st = put_one(kv, key, value, e);
        *created = st == ST_OK;
    }
    lock_drop(&kv->create_lock);
    buf_fini(&old);
    return st;
}

static enum status
increment(struct kv *kv, struct slice key, int64_t by, int64_t *now,
          struct error *e)
{
    uint8_t bytes[8];
    struct buf old = BUF_INIT;
    uint64_t n = 0;
    enum status st = kv_get(kv, key, &old, e);

    if (st == ST_OK && old.size != 8)
        st =
            error_set(e, ST_CORRUPT, "a counter of %zu bytes, not 8", old.size);
    else if (st == ST_OK) {
        struct cursor c = cursor_of(buf_slice(&old));

        n = cursor_u64(&c);
    } else if (st == ST_NOT_FOUND)
        st = ST_OK;
    buf_fini(&old);
    if (st != ST_OK)
        return st;
    if (__builtin_add_overflow((int64_t)n, by, now))
        return error_set(e, ST_LIMIT, "a counter would exceed 63 bits");
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)*now >> (56 - 8 * i));
    return put_one(kv, key, slice_of(bytes, 8), e);
}

enum status
kv_increment(struct kv *kv, struct slice key, int64_t by, int64_t *now,
             struct error *e)
{
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    lock_take(&kv->create_lock);
    st = increment(kv, key, by, now, e);
    lock_drop(&kv->create_lock);
    return st;
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

enum status
kv_delete_range(struct kv *kv, struct slice from, struct slice to,
                struct error *e)
{
    enum { PIECE = 1000 };
    struct kv_batch *b = kv_batch_new();
    struct kv_iter *it = kv_iter_open(kv, NULL);
    enum status st = ST_OK, end;
    bool on = kv_iter_seek(it, from);

    while (st == ST_OK && on && slice_cmp(kv_iter_key(it), to) < 0) {
        kv_batch_delete(b, kv_iter_key(it));
        on = kv_iter_next(it);
        if (kv_batch_len(b) == PIECE) {
            st = kv_write(kv, b, false, e);
            kv_batch_clear(b);
        }
    }
    if (st == ST_OK && kv_batch_len(b) > 0)
        st = kv_write(kv, b, false, e);
    end = kv_iter_close(&it, st == ST_OK ? e : NULL);
    kv_batch_free(&b);
    return st == ST_OK ? end : st;
}

struct kv_snapshot *
kv_snapshot_take(struct kv *kv)
{
    struct kv_snapshot *s;

    OBJ_CHECK(kv, KV_MAGIC);
    s = kv->engine->snapshot_take(kv);
    s->magic = KV_SNAPSHOT_MAGIC;
    s->kv = kv;
    return s;
}

void
kv_snapshot_release(struct kv *kv, struct kv_snapshot **s)
{
    if (*s == NULL)
        return;
    OBJ_CHECK(kv, KV_MAGIC);
    OBJ_CHECK(*s, KV_SNAPSHOT_MAGIC);
    INSIST((*s)->kv == kv);
    OBJ_CLEAR(*s);
    kv->engine->snapshot_release(kv, *s);
    *s = NULL;
}

struct kv_iter *
kv_iter_open(struct kv *kv, struct kv_snapshot *s)
{
    struct kv_iter *it;

    OBJ_CHECK(kv, KV_MAGIC);
    if (s != NULL) {
        OBJ_CHECK(s, KV_SNAPSHOT_MAGIC);
        INSIST(s->kv == kv);
    }
    it = kv->engine->iter_open(kv, s);
    it->magic = KV_ITER_MAGIC;
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
    if (it->error.status != ST_OK)
        it->valid = false;
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
kv_iter_before(struct kv_iter *it, struct slice key)
{
    if (may_seek(it))
        it->engine->before(it, key);
    return stand(it);
}

bool
kv_iter_last(struct kv_iter *it)
{
    if (may_seek(it))
        it->engine->last(it);
    return stand(it);
}

bool
kv_iter_next(struct kv_iter *it)
{
    if (may_step(it))
        it->engine->next(it);
    return stand(it);
}

bool
kv_iter_prev(struct kv_iter *it)
{
    if (may_step(it))
        it->engine->prev(it);
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

void
kv_describe(struct kv *kv, struct buf *out)
{
    OBJ_CHECK(kv, KV_MAGIC);
    kv->engine->describe(kv, out);
    (void)buf_cstr(out);
}
