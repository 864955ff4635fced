/* A copy of a store that is at work.  All rows that are open are flushed first,
 * so whatever was acknowledged before the call is in the engine; then all keys
 * are copied, which reads and so checks every block.  Rows are copied before
 * the directory, and that before the names, so a copy has what it refers to
 * also where it is not of one moment.  The copy has no WAL: it is made when
 * the copy is opened. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/durable.h"
#include "storage/store/datadir.h"
#include "storage/store/format.h"
#include "storage/store/store_priv.h"

static enum status
check_room(const struct store *s, const char *dest, struct error *e)
{
    uint64_t bytes =
        kv_approximate_bytes(s->kv, slice_str(""), slice_str("\xff\xff"));
    uint64_t have = store_free_bytes(dest);

    if (have / 2 < bytes / 2 + s->options.min_free_bytes / 2)
        return error_set(e, ST_BUSY,
                         "%s has room for %llu MB, and the copy needs about "
                         "%llu MB, with %llu MB to spare",
                         dest, (unsigned long long)(have >> 20),
                         (unsigned long long)(bytes >> 20),
                         (unsigned long long)(s->options.min_free_bytes >> 20));
    return ST_OK;
}

enum status
store_backup(struct store *s, const char *dest, bool (*gone)(void *ctx),
             void *gone_ctx, uint64_t *keys, struct error *e)
{
    char *engine = files_path(dest, "engine");
    struct format f;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    if (s->dir != NULL && folder_is_in(dest, s->dir))
        st = error_set(e, ST_INVALID,
                       "%s is in the data folder itself: a backup belongs on "
                       "another disk",
                       dest);
    else if (mkdir(dest, 0700) != 0 && errno != EEXIST)
        st = error_set(e, ST_IO, "make %s: %m", dest);
    if (st == ST_OK)
        st = check_room(s, dest, e);
    format_new(&f, &s->layout);
    if (st == ST_OK)
        st = format_write(dest, &f, e);
    if (st == ST_OK)
        st = store_flush(s, e);
    if (st == ST_OK)
        st = kv_copy(s->kv, KV_LEVELDB(engine), gone, gone_ctx, keys, e);
    f.complete = true;
    if (st == ST_OK)
        st = format_write(dest, &f, e);
    if (st == ST_OK)
        st = files_sync_parent(dest, e);
    free(engine);
    return st;
}
