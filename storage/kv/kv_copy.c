/* Engines made of others: for backups, and for what is left of a damaged one.
 */
#include "storage/kv/engine.h"
#include "storage/kv/kv.h"

#define COPY_BYTES   ((size_t)1 << 20) /* in one batch */
#define WRITE_BUFFER ((size_t)16 << 20)

static enum status
copy_all(struct kv_iter *it, struct kv *to, bool (*gone)(void *ctx),
         void *gone_ctx, uint64_t *keys, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    enum status st = ST_OK;
    size_t bytes = 0;
    bool on = kv_iter_seek(it, slice_of("", 0));

    for (*keys = 0; on && st == ST_OK; on = kv_iter_next(it)) {
        kv_batch_put(b, kv_iter_key(it), kv_iter_value(it));
        bytes += kv_iter_key(it).size + kv_iter_value(it).size;
        ++*keys;
        if (bytes < COPY_BYTES)
            continue;
        st = kv_write(to, b, e);
        kv_batch_clear(b);
        bytes = 0;
        if (st == ST_OK && gone != NULL && gone(gone_ctx))
            st = error_set(e, ST_BUSY, "the copy was cancelled");
    }
    if (st == ST_OK)
        st = kv_write(to, b, e);
    if (st == ST_OK) {
        kv_settle(to, 0);
        st = kv_sync(to, e);
    }
    kv_batch_free(&b);
    return st;
}

enum status
kv_copy(struct kv *kv, struct kv_place to, bool (*gone)(void *ctx),
        void *gone_ctx, uint64_t *keys, struct error *e)
{
    const struct kv_options o = { .place = to,
                                  .create = true,
                                  .write_buffer_bytes = WRITE_BUFFER,
                                  .cache_bytes = 1 << 20 };
    struct kv_iter *it;
    struct kv *copy;
    enum status st = kv_open(&o, &copy, e), closed;

    if (st != ST_OK)
        return st;
    it = kv_iter_open(kv, slice_str(""));
    st = copy_all(it, copy, gone, gone_ctx, keys, e);
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    kv_close(&copy);
    return st == ST_OK ? closed : st;
}

enum status
kv_salvage(const char *from, const char *to, uint64_t *keys, struct error *e)
{
    const struct kv_options o = { .place = KV_LEVELDB(from) };
    struct kv *old;
    enum status st = kv_leveldb_repair(from, e);

    if (st == ST_OK)
        st = kv_open(&o, &old, e);
    if (st != ST_OK)
        return st;
    st = kv_copy(old, KV_LEVELDB(to), NULL, NULL, keys, e);
    kv_close(&old);
    return st;
}
