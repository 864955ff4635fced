/* Engines made of others: for backups, and for what is left of a damaged one.
 */
#include "storage/kv/engine.h"
#include "storage/kv/kv.h"

#define COPY_BYTES   ((size_t)1 << 20) /* in one batch */
#define SHARED_BYTES ((size_t)8 << 20) /* in one of many objects, far away */
#define WRITE_BUFFER ((size_t)16 << 20)

enum status
kv_copy(struct kv *kv, struct kv *to, struct kv_copying *c, struct error *e)
{
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));
    struct kv_batch *b = kv_batch_new();
    size_t bytes = 0;
    size_t most = kv_traits(to)->shared ? SHARED_BYTES : COPY_BYTES;
    bool on = kv_iter_seek(it, slice_of("", 0));
    enum status st = ST_OK;

    for (c->keys = 0; on && st == ST_OK; on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        if (c->recode != NULL)
            c->recode->put(c->recode->ctx, key, value, b);
        else
            kv_batch_put(b, key, value);
        bytes += key.size + value.size;
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
