/* Series where several processes enter them: what one has entered, the others
 * hear of.
 *
 * They must know of a series before a point of it is acknowledged, or else
 * their queries pass it over.  So a process announces the series that it
 * entered.  It also announces series that it found entered, as long as the
 * process that entered them may not have been heard by all: if the count of the
 * tag-key set was not known here yet, or if something was heard or loaded
 * within the last minute.  To hear of a series twice changes nothing. */
#include "uid/series/series_enter_priv.h"

#include "base/process/clock.h"
#include "base/cursor.h"
#include "uid/names/uid_events.h"
#include "uid/series/series_index_priv.h"

/* Longer than others wait for a process that does not answer. */
#define RECENT_US (INT64_C(60) * 1000 * 1000)

/* An event is a sequence of tag-key sets, <'h'> <size> <key> <count>, each with
 * some of its series, <'s'> <size> <TSUID>. */
static void
put_item(struct buf *out, char what, struct slice bytes)
{
    buf_put_u8(out, (uint8_t)what);
    buf_put_sized(out, bytes);
}

static enum status
send_items(struct series_directory *d, struct buf *items, struct error *e)
{
    enum status st = items->failed
                         ? error_set(e, ST_BUSY, "no memory for new series")
                         : uid_announce(d->uids, UID_EVENT_SERIES,
                                        buf_slice(items), NULL, e);

    buf_clear(items);
    return st;
}

enum status
series_announce(const struct asking *q, struct error *e)
{
    struct series_directory *d = q->d;
    bool recent = clock_monotonic_us() < atomic_load(&d->recent_until_us);
    struct buf items = BUF_INIT;
    enum status st = ST_OK;

    for (size_t i = 0; i < q->sets_len && st == ST_OK; i++) {
        const struct asked_set *s = &q->sets[i];
        bool any = false;

        for (const struct asked *a = s->first; a != NULL && st == ST_OK;
             a = a->next) {
            /* What was found may be news. */
            bool found = a->state == FOUND && (s->news || recent);

            if (a->entry->rejected != ST_OK || (a->state != ENTERED && !found))
                continue;
            if (!any) {
                put_item(&items, 'h', a->set_key);
                buf_put_varint(&items, s->count);
            }
            any = true;
            put_item(&items, 's', a->entry->tsuid);
            series_index_enter(d->index, s->metric, a->key);
            if (items.size >= UID_EVENT_BYTES)
                st = send_items(d, &items, e);
        }
    }
    if (st == ST_OK && items.size > 0)
        st = send_items(d, &items, e);
    buf_fini(&items);
    return st;
}

void
series_was_recent(struct series_directory *d)
{
    atomic_store(&d->recent_until_us, clock_monotonic_us() + RECENT_US);
}

enum status
series_hear(struct series_directory *d, struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);
    const struct key_layout *w = &d->widths;
    uint8_t key[SERIES_KEY_MAX];

    OBJ_CHECK(d, SERIES_MAGIC);
    series_was_recent(d);
    while (cursor_left(&c) > 0) {
        uint8_t what = cursor_u8(&c);
        struct slice bytes = cursor_sized(&c);
        uint64_t count = what == 'h' ? cursor_varint(&c) : 0;

        if (!c.failed && what == 's' && bytes.size <= TSUID_MAX &&
            tsuid_is_valid(w, bytes) && tsuid_tags(w, bytes) > 0)
            series_index_enter(d->index, tsuid_metric_id(w, bytes),
                               slice_of(key, key_series(bytes, key)));
        else if (!c.failed && what == 'h' &&
                 tagk_sets_is_valid(w, bytes, count))
            tagk_sets_raise(d->tagk_sets, bytes, count);
        else
            return error_set(e, ST_CORRUPT,
                             "an event about series of %zu bytes is malformed",
                             payload.size);
    }
    return ST_OK;
}
