/* What a process does during a purge, its own or that of another process on a
 * shared engine (series_purge_series.c): from the beginning of the purge it
 * notes which series are used, drops handles when it is asked to, and, on a
 * shared engine, looks for marked names before it uses a series. */
#include "uid/series/series_priv.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/process/clock.h"
#include "storage/store/store.h"
#include "uid/names/uid_marks.h"
#include "uid/series/series_purge.h"

/* -- a process that is asked ----------------------------------------------- */

bool
series_end_watch(struct series_directory *d, uint64_t mark)
{
    bool ends;

    lock_take(&d->watch_lock);
    ends = d->watch_mark != 0 && (mark == 0 || mark == d->watch_mark);
    if (ends) {
        d->watch_mark = 0;
        store_watch_series(d->store, 0);
    }
    lock_drop(&d->watch_lock);
    return ends;
}

/* Answers <1>, and for each series whether it is in use here; or <0>: what was
 * used since the purge began is not known here. */
static void
drop_handles(struct series_directory *d, uint64_t mark,
             const struct slice *tsuids, size_t len, struct buf *answer)
{
    bool *kept = mem_new_array(len + 1, sizeof *kept);
    bool watched;

    /* First the number: see series_enter(). */
    if (len > 0)
        atomic_fetch_add(&d->purged, 1);
    lock_take(&d->watch_lock);
    watched = mark == d->watch_mark && clock_monotonic_us() < d->watch_until_us;
    if (watched)
        watched = store_forget_series(d->store, tsuids, len, kept);
    lock_drop(&d->watch_lock);
    buf_put_u8(answer, watched);
    for (size_t i = 0; i < len && watched; i++)
        buf_put_u8(answer, kept[i]);
    free(kept);
}

/* They are lent from the payload. */
static bool
read_tsuids(const struct series_directory *d, struct cursor *c,
            struct slice **tsuids, size_t *len)
{
    size_t cap = 0;

    while (cursor_left(c) > 0) {
        struct slice tsuid = cursor_sized(c);

        if (c->failed || tsuid.size > TSUID_MAX ||
            !tsuid_is_valid(&d->widths, tsuid) ||
            tsuid_tags(&d->widths, tsuid) == 0)
            return false;
        *tsuids = mem_grow(*tsuids, *len, &cap, sizeof **tsuids);
        (*tsuids)[(*len)++] = tsuid;
    }
    return true;
}

enum status
series_hear_purge(struct series_directory *d, struct slice payload,
                  struct buf *answer, struct error *e)
{
    struct cursor c = cursor_of(payload);
    uint8_t what = cursor_u8(&c);
    uint64_t mark = cursor_varint(&c);
    struct slice *tsuids = NULL;
    size_t len = 0;
    bool good;

    OBJ_CHECK(d, SERIES_MAGIC);
    good = !c.failed && mark != 0 && read_tsuids(d, &c, &tsuids, &len);
    if (good && what == PURGE_BEGIN) {
        int64_t until_us =
            d->shared ? clock_monotonic_us() + UID_MARKS_US : INT64_MAX;

        lock_take(&d->watch_lock);
        uid_expect_marks(d->uids, until_us);
        store_watch_series(d->store, until_us);
        d->watch_mark = mark;
        d->watch_until_us = until_us;
        lock_drop(&d->watch_lock);
        buf_put_u8(answer, 1);
    } else if (good && what == PURGE_DROP) {
        drop_handles(d, mark, tsuids, len, answer);
    } else if (good && what == PURGE_END) {
        if (d->shared) /* others may have removed names */
            uid_drop_caches(d->uids);
        /* Otherwise another purge may have begun, and marks names. */
        if (series_end_watch(d, mark))
            uid_expect_no_marks(d->uids);
        if (d->shared) /* else the counts in memory are exact */
            series_read_again(d);
    } else {
        good = false;
    }
    free(tsuids);
    return good ? ST_OK
                : error_set(e, ST_CORRUPT,
                            "an event about a purge of %zu bytes is malformed",
                            payload.size);
}

/* -- names ----------------------------------------------------------------- */

static bool
add_id(void *ctx, enum uid_kind kind, uint64_t id)
{
    struct numbers *ids = ctx;

    numbers_add(&ids[kind], id);
    return true;
}

static bool
is_not_gone(void *ctx, enum uid_kind kind, uint64_t id)
{
    struct numbers *gone = ctx;

    return !numbers_have(&gone[kind], id);
}

enum status
series_keep_names(struct series_directory *d, struct series_entry *entries,
                  size_t len, struct error *e)
{
    struct numbers ids[UID_KINDS] = { 0 }, gone[UID_KINDS] = { 0 };
    bool any_gone = false;
    enum status st = ST_OK;

    for (size_t i = 0; i < len; i++)
        if (entries[i].rejected == ST_OK)
            (void)series_each_id(&d->widths, entries[i].tsuid, add_id, ids);
    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++) {
        size_t n = ids[kind].table.len;
        bool *is_gone = mem_new_array(n + 1, sizeof *is_gone);

        if (n > 0)
            st = uid_keep_names(d->uids, (enum uid_kind)kind, ids[kind].list, n,
                                is_gone, e);
        for (size_t i = 0; i < n && st == ST_OK; i++)
            if (is_gone[i])
                numbers_add(&gone[kind], ids[kind].list[i]);
        free(is_gone);
    }
    for (size_t i = 0; i < len && st == ST_OK; i++)
        if (entries[i].rejected == ST_OK &&
            !series_each_id(&d->widths, entries[i].tsuid, is_not_gone, gone)) {
            entries[i].rejected = ST_CONFLICT;
            any_gone = true;
        }
    if (any_gone)
        uid_drop_caches(d->uids);
    for (int kind = 0; kind < UID_KINDS; kind++) {
        numbers_fini(&ids[kind]);
        numbers_fini(&gone[kind]);
    }
    return st;
}
