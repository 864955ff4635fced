#include "uid/series/series_purge.h"

#include "storage/store/store.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_priv.h"
#include "uid/series/tagk_sets.h"

/* -- ids ------------------------------------------------------------------- */

bool
series_each_id(const struct key_layout *w, struct slice tsuid,
               bool (*f)(void *ctx, enum uid_kind kind, uint64_t id), void *ctx)
{
    if (!f(ctx, UID_METRIC, tsuid_metric_id(w, tsuid)))
        return false;
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        uint64_t tagk = tsuid_tagk_id(w, tsuid, i);

        if (tagk != 0 && /* a rollup's kind is no name of a client */
            (!f(ctx, UID_TAGK, tagk) ||
             !f(ctx, UID_TAGV, tsuid_tagv_id(w, tsuid, i))))
            return false;
    }
    return true;
}

static bool
id_is_there(void *ctx, enum uid_kind kind, uint64_t id) NO_TS_CHECK
{
    const struct series_directory *d = ctx;

    return !numbers_have(&d->gone_ids[kind], id);
}

static bool
note_id(void *ctx, enum uid_kind kind, uint64_t id) NO_TS_CHECK
{
    struct series_directory *d = ctx;

    numbers_add(&d->entered_ids[kind], id);
    return true;
}

bool
series_purge_admits(struct series_directory *d, struct slice tsuid)
{
    if (!series_each_id(&d->widths, tsuid, id_is_there, d))
        return false;
    if (d->purging)
        (void)series_each_id(&d->widths, tsuid, note_id, d);
    return true;
}

/* -- begin and end --------------------------------------------------------- */

static void
end_purging(struct series_directory *d)
{
    lock_take(&d->lock);
    for (int kind = 0; kind < UID_KINDS; kind++)
        numbers_fini(&d->entered_ids[kind]);
    d->purging = false;
    lock_drop(&d->lock);
}

/* Ids that lost their names in a purge are known until the next one begins:
 * no thread takes so long from the look-up of a name to the entry of a series.
 */
enum status
series_purge_begin(struct series_directory *d, struct error *e)
{
    bool busy;
    enum status st = ST_OK;

    OBJ_CHECK(d, SERIES_MAGIC);
    lock_take(&d->lock);
    busy = d->purging;
    for (int kind = 0; kind < UID_KINDS && !busy; kind++)
        numbers_fini(&d->gone_ids[kind]);
    d->purging = true;
    lock_drop(&d->lock);
    if (busy)
        return error_set(e, ST_BUSY, "another purge is under way");
    if (!d->shared)
        store_watch_series(d->store, INT64_MAX);
    else
        st = series_purge_begin_shared(d, e);
    if (st != ST_OK)
        end_purging(d);
    return st;
}

void
series_purge_end(struct series_directory *d)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    if (!d->shared)
        store_watch_series(d->store, 0);
    else
        series_purge_end_shared(d);
    end_purging(d);
}

/* -- series ---------------------------------------------------------------- */

/* Counts one more, or one less, of the tag-key set of a series. */
static uint64_t
count_series(struct series_directory *d, struct slice tsuid, bool more,
             struct kv_batch *b)
{
    uint8_t key[TAGK_SETS_KEY_MAX], count[8];
    struct slice set = tagk_sets_key(&d->widths, tsuid, key);
    uint64_t series = tagk_sets_get(d->tagk_sets, set);

    if (!more && series == 0)
        return UINT64_MAX;
    series += more ? 1 : (uint64_t)-1;
    tagk_sets_set(d->tagk_sets, set, series);
    key_put_uint(count, series, sizeof count);
    if (b != NULL && series == 0)
        kv_batch_delete(b, set);
    else if (b != NULL)
        kv_batch_put(b, set, slice_of(count, sizeof count));
    return series;
}

static enum status
drop_all(struct series_directory *d, const struct slice *tsuids, size_t len,
         bool *kept, uint64_t *lsn, struct error *e) REQUIRES(d->lock)
{
    uint8_t key[SERIES_KEY_MAX], meta[2 + TSUID_MAX] = { TABLE_META, 't' };
    struct kv_batch *b = kv_batch_new();
    enum status st = ST_OK;
    size_t done = 0;

    if (!store_forget_series(d->store, tsuids, len, kept)) {
        kv_batch_free(&b);
        return error_set(e, ST_BUSY,
                         "the purge ends early: so many new series came that "
                         "idle ones had to leave memory");
    }
    for (; done < len; done++) {
        struct slice tsuid = tsuids[done];

        if (kept[done])
            continue;
        if (count_series(d, tsuid, false, b) == UINT64_MAX) {
            st = error_set(e, ST_CORRUPT,
                           "the count of a tag-key set is damaged (see: halite "
                           "fsck)");
            break;
        }
        kv_batch_delete(b, slice_of(key, key_series(tsuid, key)));
        memcpy(meta + 2, tsuid.data, tsuid.size);
        kv_batch_delete(b, slice_of(meta, 2 + tsuid.size));
    }
    atomic_fetch_add(&d->purged, 1);
    if (st == ST_OK && kv_batch_len(b) > 0)
        st = store_write(d->store, b, lsn, e);
    for (size_t i = 0; i < done && st != ST_OK; i++) /* they stay */
        if (!kept[i])
            (void)count_series(d, tsuids[i], true, NULL);
    series_index_clear(d->index);
    kv_batch_free(&b);
    return st;
}

enum status
series_purge_series(struct series_directory *d, const struct slice *tsuids,
                    size_t len, bool *kept, struct error *e)
{
    uint64_t lsn = 0;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    if (d->shared)
        return series_purge_series_shared(d, tsuids, len, kept, e);
    lock_take(&d->lock);
    st = drop_all(d, tsuids, len, kept, &lsn, e);
    lock_drop(&d->lock);
    return st == ST_OK ? store_commit(d->store, lsn, false, e) : st;
}

/* -- names ----------------------------------------------------------------- */

enum status
series_purge_name(struct series_directory *d, enum uid_kind kind,
                  struct slice name, uint64_t id, bool *kept, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(d, SERIES_MAGIC);
    lock_take(&d->lock);
    *kept = numbers_have(&d->entered_ids[kind], id);
    if (!*kept) {
        numbers_add(&d->gone_ids[kind], id);
        st = uid_delete(d->uids, kind, name, e);
    }
    lock_drop(&d->lock);
    return st;
}
