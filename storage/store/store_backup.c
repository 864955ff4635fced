/* A copy of a store that is at work.  All rows that are open are flushed first,
 * so whatever was acknowledged before the call is in the engine; then all keys
 * are copied, which reads and so checks every block.  Rows are copied before
 * the directory, and that before the names, so a copy has what it refers to
 * also where it is not of one moment; cuts are copied again behind all.  The
 * copy has no WAL: it is made when the copy is opened. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file/durable.h"
#include "storage/place/datadir.h"
#include "storage/place/format.h"
#include "storage/store/store_priv.h"

enum status
store_flush_owners(struct store *s, struct error *e)
{
    enum status st = store_flush(s, e);

    return st == ST_OK && s->remote != NULL
               ? s->remote->flush(s->remote->ctx, e)
               : st;
}

static bool
has_series(const struct store *s, struct kv *kv, struct slice metric)
{
    uint8_t key[1 + TSUID_MAX] = { TABLE_SERIES };
    struct slice prefix = slice_of(key, 1 + metric.size);
    struct kv_iter *it;
    bool any = false;

    if (metric.size != s->layout.metric_width)
        return false;
    memcpy(key + 1, metric.data, metric.size);
    it = kv_iter_open(kv, prefix);
    any = kv_iter_seek(it, prefix);
    return kv_iter_close(&it, NULL) == ST_OK && any;
}

enum status
store_copy(struct store *s, struct kv *to, struct kv_copying *c,
           struct error *e)
{
    struct kv_iter *it;
    struct kv_batch *b;
    enum status st;

    OBJ_CHECK(s, STORE_MAGIC);
    st = store_flush_owners(s, e);
    if (st == ST_OK)
        st = kv_copy(s->kv, to, c, e);
    if (st != ST_OK)
        return st;
    /* Cuts once more, of metrics that the copy knows: behind one that rose
     * meanwhile rows may have gone that were not read yet, and entries of weeks
     * alone have their points. */
    it = kv_iter_open(s->kv, KEY_TABLE(TABLE_RETENTION));
    b = kv_batch_new();
    for (bool on = kv_iter_seek(it, KEY_TABLE(TABLE_RETENTION)); on;
         on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it);

        if (has_series(s, to, slice_of(key.data + 1, key.size - 1)))
            kv_batch_put(b, key, kv_iter_value(it));
    }
    st = kv_iter_close(&it, e);
    if (st == ST_OK)
        st = kv_write(to, b, e);
    kv_batch_free(&b);
    return st == ST_OK ? kv_sync(to, e) : st;
}

enum status
store_backup(struct store *s, const char *dest, const struct key_layout *layout,
             struct kv_copying *c, struct error *e)
{
    struct format f;
    struct kv *copy = NULL;
    uint64_t bytes, have, least;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    if (s->dir != NULL && folder_is_in(dest, s->dir))
        st = error_set(e, ST_INVALID,
                       "%s is in the data folder itself: a backup belongs on "
                       "another disk",
                       dest);
    else if (mkdir(dest, 0700) != 0 && errno != EEXIST)
        st = error_set(e, ST_IO, "make %s: %m", dest);
    bytes = kv_approximate_bytes(s->kv, slice_str(""), slice_str("\xff\xff"));
    have = store_free_bytes(dest);
    least = s->options.min_free_bytes;
    if (st == ST_OK && have / 2 < bytes / 2 + least / 2)
        st = error_set(e, ST_BUSY,
                       "%s has room for %llu MB, and the copy needs about "
                       "%llu MB, with %llu MB to spare",
                       dest, (unsigned long long)(have >> 20),
                       (unsigned long long)(bytes >> 20),
                       (unsigned long long)(least >> 20));
    format_new(&f, layout);
    if (st == ST_OK)
        st = format_write(dest, &f, e);
    if (st == ST_OK) {
        char *engine = files_path(dest, "engine");

        st = kv_copy_open(KV_LEVELDB(engine), &copy, e);
        if (st == ST_OK)
            st = store_copy(s, copy, c, e);
        kv_close(&copy);
        free(engine);
    }
    f.complete = true;
    if (st == ST_OK)
        st = format_write(dest, &f, e);
    return st == ST_OK ? files_sync_parent(dest, e) : st;
}
