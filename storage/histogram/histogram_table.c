/* See storage/histogram/histogram_table.h.  The TSUID's size leads its bytes in
 * the key, so that one TSUID being a prefix of another cannot mix their
 * histograms. */
#include "storage/histogram/histogram_table.h"

#include "base/obj.h"

size_t
histogram_key(struct slice tsuid, int64_t ms, uint8_t *out)
{
    size_t n = 0;

    INSIST(tsuid.size > 0 && tsuid.size <= TSUID_MAX);
    out[n++] = TABLE_HISTOGRAMS;
    key_put_uint(out + n, tsuid.size, 2);
    n += 2;
    memcpy(out + n, tsuid.data, tsuid.size);
    n += tsuid.size;
    key_put_uint(out + n, (uint64_t)ms, 8);
    return n + 8;
}

void
histogram_put(struct kv_batch *b, struct slice tsuid, int64_t ms,
              struct slice value)
{
    uint8_t key[HISTOGRAM_KEY_MAX];

    kv_batch_put(b, slice_of(key, histogram_key(tsuid, ms, key)), value);
}

enum status
histogram_each(struct kv_iter *it, struct slice tsuid, int64_t from_ms,
               int64_t to_ms, histogram_visit *f, void *ctx, struct error *e)
{
    uint8_t first[HISTOGRAM_KEY_MAX], last[HISTOGRAM_KEY_MAX];
    size_t size = histogram_key(tsuid, from_ms, first);
    struct slice end = slice_of(last, histogram_key(tsuid, to_ms, last));
    bool more = kv_iter_seek(it, slice_of(first, size));
    enum status st = ST_OK;

    for (; more && st == ST_OK; more = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        if (slice_cmp(key, end) > 0)
            break;
        if (key.size != size || value.size == 0)
            return error_set(e, ST_CORRUPT,
                             "histogram of %zu bytes under a key of %zu",
                             value.size, key.size);
        st = f(ctx, (int64_t)key_get_uint(key.data + size - 8, 8),
               value.data[0], slice_of(value.data + 1, value.size - 1), e);
    }
    return st;
}

struct deletion {
    struct kv_batch *batch;
    struct slice tsuid;
};

static enum status
delete_one(void *ctx, int64_t ms, uint8_t codec, struct slice bytes,
           struct error *e)
{
    struct deletion *d = ctx;
    uint8_t key[HISTOGRAM_KEY_MAX];

    (void)codec;
    (void)bytes;
    (void)e;
    kv_batch_delete(d->batch, slice_of(key, histogram_key(d->tsuid, ms, key)));
    return ST_OK;
}

enum status
histogram_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                 int64_t to_ms, uint64_t *deleted, uint64_t *lsn,
                 struct error *e)
{
    struct deletion d = { kv_batch_new(), tsuid };
    struct kv_iter *it = kv_iter_open(store_kv(s), KEY_TABLE(TABLE_HISTOGRAMS));
    enum status st;

    *deleted = 0;
    st = histogram_each(it, tsuid, from_ms < 0 ? 0 : from_ms, to_ms, delete_one,
                        &d, e);
    st = kv_iter_end(&it, st, e);
    if (st == ST_OK && kv_batch_len(d.batch) > 0)
        st = store_write(s, d.batch, lsn, e);
    if (st == ST_OK)
        *deleted = kv_batch_len(d.batch);
    kv_batch_free(&d.batch);
    return st;
}
