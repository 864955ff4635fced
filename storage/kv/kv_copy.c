/* Engines made of others: for backups, and for what is left of a damaged one.
 */
#include "storage/kv/engine.h"
#include "storage/kv/kv.h"

#define COPY_BYTES   ((size_t)1 << 20) /* in one batch */
#define SHARED_BYTES ((size_t)8 << 20) /* in one of many objects, far away */
#define WRITE_BUFFER ((size_t)16 << 20)

static void
put_key(const struct kv_recode *how, struct kv_batch *b, struct slice key,
        struct slice value)
{
    if (how != NULL)
        how->put(how->ctx, key, value, b);
    else
        kv_batch_put(b, key, value);
}

static enum status
copy_all(struct kv_iter *it, struct kv *to, struct kv_copying *c,
         struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    enum status st = ST_OK;
    size_t bytes = 0;
    size_t most = kv_traits(to)->shared ? SHARED_BYTES : COPY_BYTES;
    bool on = kv_iter_seek(it, slice_of("", 0));

    for (c->keys = 0; on && st == ST_OK; on = kv_iter_next(it)) {
        put_key(c->recode, b, kv_iter_key(it), kv_iter_value(it));
        bytes += kv_iter_key(it).size + kv_iter_value(it).size;
        c->keys++;
        if (bytes < most)
            continue;
        st = kv_write(to, b, e);
        kv_batch_clear(b);
        bytes = 0;
        if (st == ST_OK && cancel_asked(c->cancel))
            st = error_set(e, ST_BUSY, "the copy was cancelled");
    }
    if (c->recode != NULL)
        c->recode->end(c->recode->ctx, b);
    if (st == ST_OK)
        st = kv_write(to, b, e);
    if (st == ST_OK)
        st = kv_sync(to, e);
    kv_batch_free(&b);
    return st;
}

enum status
kv_copy(struct kv *kv, struct kv *to, struct kv_copying *c, struct error *e)
{
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));
    enum status st = copy_all(it, to, c, e);

    return kv_iter_end(&it, st, e);
}

enum status
kv_copy_open(struct kv_place to, struct kv **out, struct error *e)
{
    const struct kv_options o = { .place = to,
                                  .create = true,
                                  .write_buffer_bytes = WRITE_BUFFER,
                                  .cache_bytes = 1 << 20 };

    return kv_open(&o, out, e);
}

enum status
kv_salvage(const char *from, const char *to, uint64_t *keys, struct error *e)
{
    const struct kv_options o = { .place = KV_LEVELDB(from) };
    struct kv_copying c = { .keys = 0 };
    struct kv *old = NULL, *new = NULL;
    enum status st = level_repair(from, e);

    if (st == ST_OK)
        st = kv_open(&o, &old, e);
    if (st == ST_OK)
        st = kv_copy_open(KV_LEVELDB(to), &new, e);
    if (st == ST_OK)
        st = kv_copy(old, new, &c, e);
    *keys = c.keys;
    kv_close(&new);
    kv_close(&old);
    return st;
}
