/* Series where several processes enter them: any does, whoever has the salt
 * bucket.  Entries of a bucket and the counts of its tag-key sets are one
 * guarded batch: the entries absent, the counts as they were read.  What meets
 * a conflict is read again.
 *
 * The others must know of a series before a point of it is acknowledged, or
 * their queries pass it over.  So what was entered is announced; and what is
 * found entered, too, while whoever did that may not have been heard by all:
 * its count is not known here yet, or something was heard, or loaded, a short
 * time ago.  To hear of a series twice changes nothing. */
#include "uid/series/series_priv.h"

#include <stdlib.h>

#include "base/process/clock.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "uid/names/uid_events.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/tagk_sets.h"

/* Longer than a process that does not answer is waited for. */
#define RECENT_US (INT64_C(60) * 1000 * 1000)

struct asked_set;

/* A series that is asked for; they are in the order of bucket, tag-key set,
 * TSUID; what is the SAME as the one before is passed over. */
struct asked {
    struct series_entry *entry;
    enum { ASKED, SAME, FOUND, ENTERED } state;
    bool is_there; /* as read last */
    unsigned bucket;
    struct asked_set *set;
    size_t key_size, set_size;
    uint8_t key[SERIES_KEY_MAX], set_key[TAGK_SETS_KEY_MAX];
};

/* A tag-key set in a bucket, of some of them. */
struct asked_set {
    struct asked *first, *end;
    bool news;    /* it counted more than was known here */
    bool counted; /* it has an entry, as read last, which says 'count' */
    uint64_t count, added;
    uint8_t old[8];
    struct slice old_value;
};

struct asking {
    struct series_directory *d;
    struct asked *all;
    struct asked **by_entry; /* in the caller's order */
    size_t len;
    struct asked_set *sets;
    size_t sets_len;
};

static struct slice
key_of(const struct asked *a)
{
    return slice_of(a->key, a->key_size);
}

static struct slice
set_of(const struct asked *a)
{
    return slice_of(a->set_key, a->set_size);
}

static int
compare_asked(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    int order;

    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    order = slice_cmp(set_of(x), set_of(y));
    return order != 0 ? order : slice_cmp(key_of(x), key_of(y));
}

/* Sorts what is asked for, and finds the sets. */
static void
asking_init(struct asking *q, struct series_directory *d,
            struct series_entry *entries, size_t len)
{
    *q = (struct asking){ .d = d, .len = len };
    q->all = mem_new_array(len, sizeof *q->all);
    q->by_entry = mem_new_array(len, sizeof(struct asked *));
    q->sets = mem_new_array(len, sizeof *q->sets);
    for (size_t i = 0; i < len; i++) {
        struct asked *a = &q->all[i];

        a->entry = &entries[i];
        a->bucket = key_salt(&d->widths, entries[i].tsuid);
        a->key_size = key_series(entries[i].tsuid, a->key);
        a->set_size =
            tagk_sets_key(&d->widths, entries[i].tsuid, a->set_key).size;
    }
    qsort(q->all, len, sizeof *q->all, compare_asked);
    for (size_t i = 0; i < len; i++) {
        struct asked *a = &q->all[i];

        if (i == 0 || a->bucket != a[-1].bucket ||
            !slice_eq(set_of(a), set_of(a - 1)))
            q->sets[q->sets_len++].first = a;
        else if (slice_eq(key_of(a), key_of(a - 1)))
            a->state = SAME;
        a->set = &q->sets[q->sets_len - 1];
        a->set->end = a + 1;
        q->by_entry[a->entry - entries] = a;
    }
}

static void
asking_fini(struct asking *q)
{
    free(q->sets);
    free(q->by_entry);
    free(q->all);
}

/* -- reading --------------------------------------------------------------- */

struct reading {
    struct asked **entries; /* of the first keys */
    size_t len;
    struct asked_set **sets; /* of those behind them */
    enum status st;
    struct error *e;
};

static void
note_read(void *ctx, size_t i, const struct slice *value)
{
    struct reading *r = ctx;
    bool is_entry = i < r->len;

    if (value != NULL && value->size != (is_entry ? 4 : 8)) {
        r->st = error_set(r->e, ST_CORRUPT, "%s of %zu bytes",
                          is_entry ? "series entry" : "count of a tag-key set",
                          value->size);
    } else if (is_entry) {
        r->entries[i]->is_there = value != NULL;
    } else {
        struct asked_set *s = r->sets[i - r->len];

        s->counted = value != NULL;
        s->count = value == NULL ? 0 : key_get_uint(value->data, 8);
    }
}

/* Entries and counts of all that is still asked for, by one read. */
static enum status
read_asked(struct asking *q, struct error *e)
{
    struct slice *keys = mem_new_array(q->len + q->sets_len, sizeof *keys);
    struct reading r = { mem_new_array(q->len, sizeof(struct asked *)), 0,
                         mem_new_array(q->sets_len, sizeof(struct asked_set *)),
                         ST_OK, e };
    size_t n = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < q->len; i++)
        if (q->all[i].state == ASKED) {
            keys[r.len] = key_of(&q->all[i]);
            r.entries[r.len++] = &q->all[i];
        }
    for (size_t i = 0; i < r.len; i++)
        if (i == 0 || r.entries[i]->set != r.entries[i - 1]->set) {
            keys[r.len + n] = set_of(r.entries[i]);
            r.sets[n++] = r.entries[i]->set;
        }
    if (r.len > 0)
        st = kv_get_many(store_kv(q->d->store), keys, r.len + n, note_read, &r,
                         e);
    for (size_t i = 0; i < r.len && st == ST_OK; i++)
        if (r.entries[i]->is_there)
            r.entries[i]->state = FOUND;
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        struct slice set = set_of(r.sets[i]->first);

        if (tagk_sets_get(q->d->tagk_sets, set) < r.sets[i]->count) {
            tagk_sets_raise(q->d->tagk_sets, set, r.sets[i]->count);
            r.sets[i]->news = true;
        }
    }
    free(keys);
    free(r.entries);
    free(r.sets);
    return st == ST_OK ? r.st : st;
}

static bool
any_asked(const struct asking *q)
{
    for (size_t i = 0; i < q->len; i++)
        if (q->all[i].state == ASKED && q->all[i].entry->rejected == ST_OK)
            return true;
    return false;
}

/* -- writing --------------------------------------------------------------- */

/* Adds what is asked for of a set to its bucket's guarded batch. */
static size_t
put_set(struct asked_set *s, struct kv_batch *b, struct kv_expected *expected)
{
    uint8_t created[4], count[8];
    size_t n = 0;

    key_put_uint(created, clock_now_s(&clock_system), 4);
    for (struct asked *a = s->first; a < s->end; a++)
        if (a->state == ASKED && a->entry->rejected == ST_OK) {
            expected[n++] = (struct kv_expected){ key_of(a), NULL };
            kv_batch_put(b, key_of(a), slice_of(created, 4));
        }
    s->added = n;
    if (n == 0)
        return 0;
    key_put_uint(s->old, s->count, 8);
    s->old_value = slice_of(s->old, 8);
    key_put_uint(count, s->count + s->added, 8);
    expected[n++] = (struct kv_expected){ set_of(s->first),
                                          s->counted ? &s->old_value : NULL };
    kv_batch_put(b, set_of(s->first), slice_of(count, 8));
    return n;
}

/* The set's series are in the engine: they are known here from now on. */
static void
know_set(struct series_directory *d, struct asked_set *s)
{
    s->count += s->added;
    tagk_sets_raise(d->tagk_sets, set_of(s->first), s->count);
    for (struct asked *a = s->first; a < s->end; a++)
        if (a->state == ASKED && a->entry->rejected == ST_OK)
            a->state = ENTERED;
}

/* Buckets that meet a conflict stay asked for. */
static enum status
write_asked(struct asking *q, struct error *e)
{
    struct kv_expected *expected =
        mem_new_array(q->len + q->sets_len, sizeof *expected);
    struct kv_guarded *parts = mem_new_array(q->sets_len, sizeof *parts);
    struct kv_batch **batches =
        mem_new_array(q->sets_len, sizeof(struct kv_batch *));
    size_t n = 0, len = 0, at = 0;
    unsigned bucket = 0;
    enum status st;

    for (size_t i = 0; i < q->sets_len; i++) {
        struct asked_set *s = &q->sets[i];
        size_t put;

        if (len == 0 || s->first->bucket != bucket) {
            bucket = s->first->bucket;
            batches[len] = kv_batch_new();
            kv_batch_set_bucket(batches[len], bucket);
            parts[len] =
                (struct kv_guarded){ batches[len], &expected[n], 0, ST_OK };
            len++;
        }
        put = put_set(s, batches[len - 1], &expected[n]);
        parts[len - 1].len += put;
        n += put;
    }
    st = kv_write_if_many(store_kv(q->d->store), parts, len, e);
    for (size_t i = 0; i < q->sets_len; i++) {
        at += i > 0 && q->sets[i].first->bucket != q->sets[i - 1].first->bucket;
        if (parts[at].status == ST_OK && q->sets[i].added > 0)
            know_set(q->d, &q->sets[i]);
    }
    for (size_t i = 0; i < len; i++)
        kv_batch_free(&batches[i]);
    free(batches);
    free(parts);
    free(expected);
    return st;
}

/* Those that come first are entered.  Limits are those of what is known here:
 * with others at the same time there may be some more. */
static void
reject_asked(struct asking *q)
{
    struct series_directory *d = q->d;
    uint64_t added = 0;

    for (size_t i = 0; i < q->len; i++) {
        struct asked *a = q->by_entry[i];
        uint64_t metric = series_metric(d, a->entry->tsuid), same = 0;

        if (a->state != ASKED)
            continue;
        for (size_t k = 0; k < i && d->limits.of_metric != 0; k++)
            same += q->by_entry[k]->state == ASKED &&
                    q->by_entry[k]->entry->rejected == ST_OK &&
                    series_metric(d, q->by_entry[k]->entry->tsuid) == metric;
        if (!series_has_room_for(d, metric, added, same))
            a->entry->rejected = ST_LIMIT;
        else
            added++;
    }
}

/* What was read last may be a conflict; from the second time on no other thread
 * of this process comes between. */
static enum status
enter_asked(struct asking *q, struct error *e)
{
    enum status st = ST_OK;

    lock_take(&q->d->lock);
    reject_asked(q);
    for (bool again = false; st == ST_OK && any_asked(q); again = true) {
        if (again)
            st = read_asked(q, e);
        if (st == ST_OK && any_asked(q))
            st = write_asked(q, e);
    }
    lock_drop(&q->d->lock);
    return st;
}

/* -- events ---------------------------------------------------------------- */

/* <'h'> <size> <key> <how many>, and then some of the tag-key set's series,
 * <'s'> <size> <TSUID>. */
static void
put_item(struct buf *out, char what, struct slice bytes)
{
    buf_put_u8(out, (uint8_t)what);
    buf_put_sized(out, bytes);
}

static enum status
send_items(struct series_directory *d, struct buf *items, struct error *e)
{
    enum status st =
        items->failed
            ? error_set(e, ST_BUSY, "no memory for new series")
            : uid_announce(d->uids, UID_EVENT_SERIES, buf_slice(items), e);

    buf_clear(items);
    return st;
}

/* Of a set: what was entered, and what was found and may be news. */
static enum status
announce_set(struct series_directory *d, const struct asked_set *s, bool recent,
             struct buf *items, struct error *e)
{
    bool any = false;
    enum status st = ST_OK;

    for (const struct asked *a = s->first; a < s->end && st == ST_OK; a++) {
        if (a->state != ENTERED && (a->state != FOUND || (!s->news && !recent)))
            continue;
        if (!any) {
            put_item(items, 'h', set_of(s->first));
            buf_put_varint(items, s->count);
        }
        any = true;
        put_item(items, 's', a->entry->tsuid);
        series_index_enter(d->index, series_metric(d, a->entry->tsuid),
                           key_of(a));
        if (items->size >= UID_EVENT_BYTES)
            st = send_items(d, items, e);
    }
    return st;
}

static enum status
announce(struct asking *q, struct error *e)
{
    struct series_directory *d = q->d;
    bool recent = clock_monotonic_us() < atomic_load(&d->recent_until_us);
    struct buf items = BUF_INIT;
    enum status st = ST_OK;

    for (size_t i = 0; i < q->sets_len && st == ST_OK; i++)
        st = announce_set(d, &q->sets[i], recent, &items, e);
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
            series_index_enter(d->index, series_metric(d, bytes),
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

/* -- all together ---------------------------------------------------------- */

enum status
series_enter_shared(struct series_directory *d, struct series_entry *entries,
                    size_t len, struct error *e)
{
    struct asking q;
    enum status st = series_refresh(d, e);

    if (st != ST_OK)
        return st;
    asking_init(&q, d, entries, len);
    st = read_asked(&q, e);
    if (st == ST_OK && any_asked(&q))
        st = enter_asked(&q, e);
    for (size_t i = 1; i < q.len; i++)
        if (q.all[i].state == SAME)
            q.all[i].entry->rejected = q.all[i - 1].entry->rejected;
    if (st == ST_OK)
        st = announce(&q, e);
    /* Some of it may be in the engine, and not heard of. */
    if (st != ST_OK)
        series_was_recent(d);
    asking_fini(&q);
    return st;
}
