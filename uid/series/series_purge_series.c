/* The removal of series (series_purge.h).
 *
 * Where other processes use the directory, too, a series is removed in these
 * steps:
 *
 *     mark     its entry holds the purge's mark, not its creation time
 *     ask      each process drops its handle of the series, or answers
 *              that it has used the series since the purge began
 *     remove   the entry, if it still holds the mark, and its count,
 *              in one guarded batch
 *
 * Whoever enters the series after it has answered reads the entry and replaces
 * the mark (series_enter.c), so that the guarded batch meets a conflict.
 * Marks are different for each purge.
 *
 * What a process notes since the purge began is worth something only while it
 * goes on to note: each answer says whether it still does, and none of those
 * that were there at the beginning may be missing.  Otherwise the purge ends
 * with ST_BUSY, and what it has marked stays as if it were not.
 *
 * Where no other process uses the directory, its lock is held meanwhile.  This
 * process asks itself, and needs no marks and no guards. */
#include "uid/series/series_priv.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/process/clock.h"
#include "storage/store/store.h"
#include "uid/names/uid_events.h"
#include "uid/names/uid_marks.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_purge.h"
#include "uid/series/tagk_sets.h"

#define ROUNDS_MAX                                            \
    100 /* in which others change the counts at the same time \
         */

/* -- asking ---------------------------------------------------------------- */

static void
put_head(struct series_directory *d, uint8_t what, struct buf *out)
{
    buf_put_u8(out, what);
    buf_put_varint(out, d->mark);
}

/* Asks all, or the only one; 'kept' (len) are raised by their answers. */
static enum status
ask(struct series_directory *d, const struct buf *payload, bool *kept,
    size_t len, size_t *members, struct error *e)
{
    struct buf answers = BUF_INIT, own = BUF_INIT;
    struct cursor all;
    enum status st = ST_OK;

    if (payload->failed) {
        st = error_set(e, ST_BUSY, "no memory for an event");
    } else if (d->shared) {
        st = uid_announce(d->uids, UID_EVENT_PURGE, buf_slice(payload),
                          &answers, e);
    } else {
        st = series_hear_purge(d, buf_slice(payload), &own, e);
        buf_put_sized(&answers, buf_slice(&own));
    }
    all = cursor_of(buf_slice(&answers));
    for (*members = 0; st == ST_OK && cursor_left(&all) > 0; ++*members) {
        struct cursor one = cursor_of(cursor_sized(&all));
        bool watched = cursor_u8(&one) == 1;

        for (size_t i = 0; i < len; i++)
            kept[i] |= cursor_u8(&one) != 0;
        if (!watched || one.failed || answers.failed)
            st = error_set(e, ST_BUSY, "%s",
                           d->shared
                               ? "another purge began, or servers of the pool "
                                 "joined or lost touch since this one began"
                               : "the purge ends early: so many new series "
                                 "came that idle ones had to leave memory");
    }
    buf_fini(&own);
    buf_fini(&answers);
    return st;
}

enum status
series_begin_removals(struct series_directory *d, struct error *e)
{
    struct buf payload = BUF_INIT;
    enum status st;

    d->mark = 1 + (uint32_t)(hash_random_seed() % (UID_MARKS_END - 1));
    d->mark_until_us = clock_monotonic_us() + UID_MARKS_US / 2;
    put_head(d, PURGE_BEGIN, &payload);
    st = ask(d, &payload, NULL, 0, &d->watchers, e);
    buf_fini(&payload);
    if (st != ST_OK)
        series_end_removals(d);
    return st;
}

/* A process that does not hear it goes on to note, and to look for marks, for
 * some hours; both only cost time. */
void
series_end_removals(struct series_directory *d)
{
    struct buf payload = BUF_INIT;

    put_head(d, PURGE_END, &payload);
    if (!payload.failed && d->shared)
        (void)!uid_announce(d->uids, UID_EVENT_PURGE, buf_slice(&payload), NULL,
                            NULL);
    else if (!payload.failed)
        (void)!series_hear_purge(d, buf_slice(&payload), NULL, NULL);
    buf_fini(&payload);
}

static enum status
ask_to_drop(struct series_directory *d, const struct slice *tsuids, size_t len,
            bool *kept, struct error *e)
{
    struct buf payload = BUF_INIT;
    size_t members;
    enum status st;

    put_head(d, PURGE_DROP, &payload);
    for (size_t i = 0; i < len; i++)
        buf_put_sized(&payload, tsuids[i]);
    st = ask(d, &payload, kept, len, &members, e);
    buf_fini(&payload);
    if (st == ST_OK && members != d->watchers)
        st = error_set(e, ST_BUSY,
                       "a server of the pool has left since this purge began");
    return st;
}

uint32_t
series_purge_mark(const struct series_directory *d)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    return d->mark;
}

enum status
series_purge_check(struct series_directory *d, struct error *e)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    if (clock_monotonic_us() > d->mark_until_us)
        return error_set(e, ST_BUSY, "the purge takes too long");
    return ask_to_drop(d, NULL, 0, NULL, e);
}

/* -- entries --------------------------------------------------------------- */

struct dying {
    struct slice tsuid;
    uint8_t key[SERIES_KEY_MAX], set[TAGK_SETS_KEY_MAX];
    size_t key_size, set_size;
    size_t at;             /* among the caller's */
    size_t part;           /* the batch that removes it, in the round at hand */
    struct slice metadata; /* as it was before the mark; in an arena */
    uint8_t metadata_key[2 + TSUID_MAX];
    enum { DYING, KEPT, REMOVED } state;
    bool is_there;          /* as read last .. */
    uint8_t now[4], old[4]; /* .. its entry; and that before the mark */
};

struct purging_series {
    struct series_directory *d;
    uint8_t mark[4]; /* what the entries hold when they are removed */
    struct dying *all;
    size_t len;
    uint64_t *counts; /* as read last, of the set of each */
    bool *counted;
    uint64_t lsn; /* of what was written last, where the engine is not shared */
};

static struct slice
key_of(const struct dying *x)
{
    return slice_of(x->key, x->key_size);
}

static struct slice
set_of(const struct dying *x)
{
    return slice_of(x->set, x->set_size);
}

static int
compare_dying(const void *a, const void *b)
{
    return slice_cmp(set_of(a), set_of(b));
}

/* Reads the entries, and the counts of their tag-key sets. */
static enum status
read_all(struct purging_series *p, struct error *e)
{
    struct slice *keys = mem_new_array(2 * p->len, sizeof *keys);
    struct slice *values = mem_new_array(2 * p->len, sizeof *values);
    struct arena *a = arena_new(0);
    enum status st;

    for (size_t i = 0; i < p->len; i++) {
        keys[i] = key_of(&p->all[i]);
        keys[p->len + i] = set_of(&p->all[i]);
    }
    st = kv_read_many(store_kv(p->d->store), keys, 2 * p->len, a, values, e);
    for (size_t i = 0; i < p->len && st == ST_OK; i++) {
        struct slice entry = values[i], count = values[p->len + i];

        p->all[i].is_there = entry.data != NULL;
        p->counted[i] = count.data != NULL;
        p->counts[i] = 0;
        if (p->all[i].is_there && entry.size != 4)
            st = error_set(e, ST_CORRUPT, "series entry of %zu bytes",
                           entry.size);
        else if (p->counted[i] && count.size != 8)
            st = error_set(e, ST_CORRUPT, "count of a tag-key set of %zu bytes",
                           count.size);
        if (st != ST_OK)
            break;
        if (p->all[i].is_there)
            memcpy(p->all[i].now, entry.data, 4);
        if (p->counted[i])
            p->counts[i] = key_get_uint(count.data, 8);
    }
    arena_free(&a);
    free(values);
    free(keys);
    return st;
}

/* Guarded batches on their way. */
struct guarded {
    struct kv_guarded *parts;
    struct kv_batch **batches;
    struct kv_expected *expected;
    struct slice *values;
    size_t len, used; /* parts; 'expected' and 'values' */
};

static void
guarded_init(struct guarded *g, size_t len)
{
    *g = (struct guarded){
        .parts = mem_new_array(len, sizeof *g->parts),
        .batches = mem_new_array(len, sizeof(struct kv_batch *)),
        .expected = mem_new_array(2 * len, sizeof *g->expected),
        .values = mem_new_array(2 * len, sizeof *g->values),
    };
}

static struct kv_batch *
guarded_begin(const struct purging_series *p, struct guarded *g,
              struct slice tsuid)
{
    struct kv_batch *b = kv_batch_new();

    if (p->d->shared)
        kv_batch_set_bucket(b, key_salt(&p->d->widths, tsuid));
    g->batches[g->len] = b;
    g->parts[g->len++] =
        (struct kv_guarded){ b, &g->expected[g->used], 0, ST_BUSY };
    return b;
}

static void
guarded_expect(struct guarded *g, struct slice key, struct slice value)
{
    g->values[g->used] = value;
    g->expected[g->used] = (struct kv_expected){ key, &g->values[g->used] };
    g->used++;
    g->parts[g->len - 1].len++;
}

/* Under the directory's lock what is expected holds. */
static enum status
guarded_write(struct purging_series *p, struct guarded *g, struct error *e)
{
    enum status st = ST_OK;

    if (p->d->shared)
        return kv_write_if_many(store_kv(p->d->store), g->parts, g->len, e);
    for (size_t i = 0; i < g->len && st == ST_OK; i++)
        st = g->parts[i].status =
            store_write(p->d->store, g->batches[i], &p->lsn, e);
    return st;
}

static void
guarded_fini(struct guarded *g)
{
    for (size_t i = 0; i < g->len; i++)
        kv_batch_free(&g->batches[i]);
    free(g->batches);
    free(g->parts);
    free(g->expected);
    free(g->values);
}

/* Marks the entries as they were read, or gives those that are kept back what
 * was there before the mark. */
static enum status
swap_marks(struct purging_series *p, bool marks, struct error *e)
{
    struct guarded g;
    size_t *of = mem_new_array(p->len, sizeof *of);
    enum status st;

    guarded_init(&g, p->len);
    for (size_t i = 0; i < p->len; i++) {
        struct dying *x = &p->all[i];
        struct kv_batch *b;

        if (x->state != (marks ? DYING : KEPT))
            continue;
        of[g.len] = i;
        b = guarded_begin(p, &g, x->tsuid);
        guarded_expect(&g, key_of(x), slice_of(marks ? x->old : p->mark, 4));
        kv_batch_put(b, key_of(x), slice_of(marks ? p->mark : x->old, 4));
    }
    st = guarded_write(p, &g, e);
    for (size_t i = 0; i < g.len && marks; i++)
        if (g.parts[i].status != ST_OK)
            p->all[of[i]].state = KEPT;
    guarded_fini(&g);
    free(of);
    return st;
}

/* One round, with a batch for each tag-key set and salt bucket; those that
 * others change at the same time come again. */
static enum status
remove_once(struct purging_series *p, struct error *e)
{
    uint8_t(*counts)[8] = mem_new_array(p->len, sizeof *counts), left[8];
    struct guarded g;
    enum status st = ST_OK;
    bool writes;

    guarded_init(&g, p->len);
    for (size_t from = 0, to; from < p->len && st == ST_OK; from = to) {
        struct slice set = set_of(&p->all[from]);
        struct kv_batch *b = NULL;
        uint64_t n = 0;

        for (to = from; to < p->len && slice_eq(set, set_of(&p->all[to]));
             to++) {
            struct dying *x = &p->all[to];

            if (x->state != DYING)
                continue;
            if (b == NULL)
                b = guarded_begin(p, &g, x->tsuid);
            x->part = g.len - 1;
            guarded_expect(&g, key_of(x), slice_of(x->now, 4));
            kv_batch_delete(b, key_of(x));
            n++;
        }
        if (n == 0)
            continue;
        key_put_uint(counts[from], p->counts[from], 8);
        guarded_expect(&g, set, slice_of(counts[from], 8));
        key_put_uint(left, p->counts[from] - n, 8);
        if (p->counts[from] == n)
            kv_batch_delete(b, set);
        else
            kv_batch_put(b, set, slice_of(left, 8));
        if (!p->counted[from] || p->counts[from] < n)
            st = error_set(e, ST_CORRUPT,
                           "the count of a tag-key set is damaged (see: halite "
                           "fsck)");
    }
    writes = st == ST_OK;
    if (writes)
        st = guarded_write(p, &g, e);
    for (size_t i = 0; i < p->len && writes; i++) {
        struct dying *x = &p->all[i];

        if (x->state != DYING || g.parts[x->part].status != ST_OK)
            continue;
        x->state = REMOVED;
        if (!p->d->shared)
            tagk_sets_set(p->d->tagk_sets, set_of(x),
                          tagk_sets_get(p->d->tagk_sets, set_of(x)) - 1);
    }
    guarded_fini(&g);
    free(counts);
    return st;
}

static enum status
remove_marked(struct purging_series *p, struct error *e)
{
    enum status st = ST_OK;

    for (int i = 0; st == ST_OK && i < ROUNDS_MAX; i++) {
        size_t left = 0;

        st = read_all(p, e);
        for (size_t k = 0; k < p->len && st == ST_OK; k++) {
            struct dying *x = &p->all[k];

            /* Those whose entries do not hold the mark any more are in use. */
            if (x->state == DYING &&
                (!x->is_there ||
                 (p->d->shared && memcmp(x->now, p->mark, 4) != 0)))
                x->state = KEPT;
            left += x->state == DYING;
        }
        if (st == ST_OK && left == 0)
            return ST_OK;
        if (st == ST_OK)
            st = remove_once(p, e);
    }
    return st != ST_OK
               ? st
               : error_set(e, ST_BUSY, "too many series are entered now");
}

static struct slice
metadata_key_of(struct dying *x)
{
    x->metadata_key[0] = TABLE_META;
    x->metadata_key[1] = 't';
    memcpy(x->metadata_key + 2, x->tsuid.data, x->tsuid.size);
    return slice_of(x->metadata_key, 2 + x->tsuid.size);
}

static enum status
remove_metadata(struct purging_series *p, struct error *e)
{
    struct guarded g;
    enum status st;

    guarded_init(&g, p->len);
    for (size_t i = 0; i < p->len; i++) {
        struct dying *x = &p->all[i];
        struct slice key = metadata_key_of(x);

        if (x->state != REMOVED || x->metadata.size == 0)
            continue;
        kv_batch_delete(guarded_begin(p, &g, x->tsuid), key);
        guarded_expect(&g, key, x->metadata);
    }
    st = guarded_write(p, &g, e);
    guarded_fini(&g);
    return st;
}

/* -- all together ---------------------------------------------------------- */

static enum status
mark_and_ask(struct purging_series *p, struct error *e)
{
    struct slice *tsuids = mem_new_array(p->len, sizeof *tsuids);
    bool *kept = mem_new_array(p->len, sizeof *kept);
    enum status st = read_all(p, e);

    for (size_t i = 0; i < p->len && st == ST_OK; i++) {
        struct dying *x = &p->all[i];

        tsuids[i] = x->tsuid;
        memcpy(x->old, x->now, 4);
        if (!x->is_there)
            x->state = KEPT;
    }
    if (st == ST_OK && p->d->shared)
        st = swap_marks(p, true, e);
    if (st == ST_OK)
        st = ask_to_drop(p->d, tsuids, p->len, kept, e);
    for (size_t i = 0; i < p->len; i++)
        if (st != ST_OK || kept[i])
            p->all[i].state = KEPT;
    free(kept);
    free(tsuids);
    return st;
}

static void
purging_init(struct purging_series *p, struct series_directory *d,
             const struct slice *tsuids, size_t len, uint32_t mark)
{
    *p = (struct purging_series){
        .d = d,
        .all = mem_new_array(len, sizeof *p->all),
        .len = len,
        .counts = mem_new_array(len, sizeof *p->counts),
        .counted = mem_new_array(len, sizeof *p->counted),
    };
    key_put_uint(p->mark, mark, 4);
    for (size_t i = 0; i < len; i++) {
        struct dying *x = &p->all[i];

        x->tsuid = tsuids[i];
        x->at = i;
        x->key_size = key_series(tsuids[i], x->key);
        x->set_size = tagk_sets_key(&d->widths, tsuids[i], x->set).size;
    }
    qsort(p->all, len, sizeof *p->all, compare_dying);
}

static void
purging_fini(struct purging_series *p)
{
    free(p->counted);
    free(p->counts);
    free(p->all);
}

enum status
series_purge_series(struct series_directory *d, const struct slice *tsuids,
                    size_t len, bool *kept, struct error *e) NO_TS_CHECK
{
    struct slice *keys = mem_new_array(len, sizeof *keys);
    struct slice *values = mem_new_array(len, sizeof *values);
    struct arena *a = arena_new(0);
    struct purging_series p;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    purging_init(&p, d, tsuids, len, d->mark);
    if (!d->shared)
        lock_take(&d->lock);
    for (size_t i = 0; i < len; i++)
        keys[i] = metadata_key_of(&p.all[i]);
    st = kv_read_many(store_kv(d->store), keys, len, a, values, e);
    for (size_t i = 0; i < len; i++)
        p.all[i].metadata = values[i];
    if (st == ST_OK)
        st = mark_and_ask(&p, e);
    if (st == ST_OK)
        st = remove_marked(&p, e);
    if (st == ST_OK)
        st = remove_metadata(&p, e);
    if (d->shared) /* entries whose marks stay are as good as others */
        (void)!swap_marks(&p, false, NULL);
    series_index_clear(d->index);
    if (!d->shared) {
        /* A thread that waits for the lock may have read an entry before it was
         * deleted: it asks again. */
        atomic_fetch_add(&d->purged, 1);
        lock_drop(&d->lock);
    }
    for (size_t i = 0; i < len; i++)
        kept[p.all[i].at] = p.all[i].state != REMOVED;
    purging_fini(&p);
    arena_free(&a);
    free(values);
    free(keys);
    return st == ST_OK ? store_commit(d->store, p.lsn, false, e) : st;
}

enum status
series_take_back(struct series_directory *d, const struct slice *tsuids,
                 size_t len, uint32_t created_s, struct error *e)
{
    struct purging_series p;
    enum status st;

    purging_init(&p, d, tsuids, len, created_s);
    st = remove_marked(&p, e);
    purging_fini(&p);
    series_read_again(d); /* memory counts these series */
    return st;
}
