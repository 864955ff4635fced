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
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    lock_take(&d->lock);
    busy = d->purging;
    for (int kind = 0; kind < UID_KINDS && !busy; kind++)
        numbers_fini(&d->gone_ids[kind]);
    d->purging = true;
    lock_drop(&d->lock);
    if (busy)
        return error_set(e, ST_BUSY, "another purge is under way");
    st = series_begin_removals(d, e);
    if (st != ST_OK)
        end_purging(d);
    return st;
}

void
series_purge_end(struct series_directory *d)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    series_end_removals(d);
    end_purging(d);
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
