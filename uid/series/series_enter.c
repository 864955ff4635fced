/* New series, as many as come together, cost one logged batch: their entries
 * and the new counts of their tag-key sets, so that the counts are exact after
 * a crash and only they are read at the start.
 *
 * Whether a series is new, the engine need not say if it has a name that is
 * younger than the process: then it was entered since, and whatever was is in
 * the store's memory (store_series() comes after the entry), unless that has
 * forgotten some. */
#include "uid/series/series_priv.h"

#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/tagk_sets.h"

enum status
series_read_entry(struct series_directory *d, struct slice tsuid, bool *exists,
                  uint32_t *created_s, struct error *e)
{
    uint8_t key[SERIES_KEY_MAX];
    struct buf value = BUF_INIT;
    enum status st = kv_get(store_kv(d->store),
                            slice_of(key, key_series(tsuid, key)), &value, e);

    *exists = st == ST_OK;
    *created_s = 0;
    if (st == ST_NOT_FOUND)
        st = ST_OK;
    else if (st == ST_OK && value.size != 4)
        st = error_set(e, ST_CORRUPT, "series entry of %zu bytes, not 4",
                       value.size);
    else if (st == ST_OK)
        *created_s = (uint32_t)key_get_uint(value.data, 4);
    buf_fini(&value);
    return st;
}

/* The tag-key sets that a batch of entries counts up. */
struct counted {
    struct {
        uint8_t key[TAGK_SETS_KEY_MAX];
        size_t size;
        uint64_t series; /* new ones */
    } * sets;
    size_t len;
};

static void
count_tagk_set(struct series_directory *d, struct counted *c,
               struct slice tsuid)
{
    uint8_t key[TAGK_SETS_KEY_MAX];
    struct slice set = tagk_sets_key(&d->widths, tsuid, key);
    size_t i = 0;

    tagk_sets_set(d->tagk_sets, set, tagk_sets_get(d->tagk_sets, set) + 1);
    while (i < c->len &&
           !slice_eq(slice_of(c->sets[i].key, c->sets[i].size), set))
        i++;
    if (i == c->len) {
        memcpy(c->sets[i].key, key, set.size);
        c->sets[i].size = set.size;
        c->len++;
    }
    c->sets[i].series++;
}

/* They were not entered. */
static void
take_back(struct series_directory *d, const struct counted *c)
{
    for (size_t i = 0; i < c->len; i++) {
        struct slice set = slice_of(c->sets[i].key, c->sets[i].size);

        tagk_sets_set(d->tagk_sets, set,
                      tagk_sets_get(d->tagk_sets, set) - c->sets[i].series);
    }
}

static enum status
write_entries(struct series_directory *d, struct kv_batch *b,
              const struct counted *c, struct error *e) REQUIRES(d->lock)
{
    uint8_t count[8];

    for (size_t i = 0; i < c->len; i++) {
        struct slice set = slice_of(c->sets[i].key, c->sets[i].size);

        key_put_uint(count, tagk_sets_get(d->tagk_sets, set), 8);
        kv_batch_put(b, set, slice_of(count, sizeof count));
    }
    return store_write(d->store, b, NULL, e);
}

static bool
is_fresh_id(const struct series_directory *d, enum uid_kind kind,
            struct slice id)
{
    return uid_is_fresh(d->uids, kind,
                        key_get_uint(id.data, (unsigned)id.size));
}

/* Has the TSUID an id that was given out since the start? */
static bool
is_fresh(const struct series_directory *d, struct slice tsuid)
{
    const struct key_layout *w = &d->widths;
    bool rollup = series_has_kind(w, tsuid);

    if (is_fresh_id(d, UID_METRIC, tsuid_metric(w, tsuid)))
        return true;
    for (size_t i = tsuid_tags(w, tsuid); i-- > 0;)
        if (is_fresh_id(d, UID_TAGK, tsuid_tagk(w, tsuid, i)) ||
            is_fresh_id(d, rollup && i == 0 ? UID_ROLLUP : UID_TAGV,
                        tsuid_tagv(w, tsuid, i)))
            return true;
    return false;
}

static bool
is_accepted(const void *entries, uint32_t i, const void *tsuid)
{
    const struct series_entry *x = (const struct series_entry *)entries + i;

    return x->rejected == ST_OK &&
           slice_eq(x->tsuid, *(const struct slice *)tsuid);
}

/* Is it among those before, in the table, that are new?  Where memory does not
 * tell.  Adds it if it is not. */
static bool
repeats(struct hash_table *new, const struct series_entry *entries, size_t i)
{
    uint64_t hash = hash_slice(entries[i].tsuid, 0);

    if (table_find(new, hash, is_accepted, entries, &entries[i].tsuid) !=
        TABLE_NONE)
        return true;
    table_add(new, hash, (uint32_t)i);
    return false;
}

/* Sets 'missing' to whether the series is new, for sure.  'entered' is how many
 * there were before the engine was asked.  Series with ids from before others
 * left memory may be among these, so only younger ids are fresh from then on.
 */
static enum status
find_if_missing(struct series_directory *d, struct series_entry *x,
                uint64_t entered, struct error *e) REQUIRES(d->lock)
{
    uint32_t created_s;
    uint64_t evictions;
    bool exists =
        store_has_series(d->store, x->tsuid, &evictions) && !d->failed;
    bool sure;
    enum status st = ST_OK;

    if (evictions != d->evictions) {
        d->evictions = evictions;
        uid_age_ids(d->uids);
    }
    sure = !d->failed && (is_fresh(d, x->tsuid) ||
                          (x->asked && entered == atomic_load(&d->entered)));
    if (!exists && !sure)
        st = series_read_entry(d, x->tsuid, &exists, &created_s, e);
    x->missing = !exists;
    return st;
}

uint64_t
series_metric(const struct series_directory *d, struct slice tsuid)
{
    return tsuid_metric_id(&d->widths, tsuid);
}

bool
series_has_room_for(struct series_directory *d, uint64_t metric, uint64_t all,
                    uint64_t of_metric)
{
    const struct series_limits *l = &d->limits;

    return (l->all == 0 || tagk_sets_total(d->tagk_sets) + all < l->all) &&
           (l->of_metric == 0 || metric == 0 ||
            tagk_sets_count(d->tagk_sets, metric) + of_metric < l->of_metric);
}

enum status
series_reject(struct series_directory *d, struct error *e)
{
    const struct series_limits *l = &d->limits;

    if (l->all != 0 && tagk_sets_total(d->tagk_sets) >= l->all)
        return error_set(e, ST_LIMIT,
                         "Too many series: the limit is %llu "
                         "(halite.series.limit)",
                         (unsigned long long)l->all);
    return error_set(e, ST_LIMIT,
                     "Too many series of this metric: the limit is %llu "
                     "(halite.series.limit_per_metric)",
                     (unsigned long long)l->of_metric);
}

static enum status
enter_locked(struct series_directory *d, struct series_entry *entries,
             size_t len, uint64_t entered, struct error *e) REQUIRES(d->lock)
{
    uint8_t key[SERIES_KEY_MAX], created[4];
    struct kv_batch *b = kv_batch_new();
    struct counted counted = { mem_new_array(len, sizeof *counted.sets), 0 };
    struct hash_table new = { 0 };
    size_t new_len = 0;
    enum status st = ST_OK;

    key_put_uint(created, clock_now_s(&clock_system), 4);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct series_entry *x = &entries[i];

        if (x->missing)
            st = find_if_missing(d, x, entered, e);
        if (x->missing && d->failed)
            x->missing = !repeats(&new, entries, i);
        if (st != ST_OK || !x->missing)
            continue;
        if (!series_purge_admits(d, x->tsuid)) {
            x->rejected = ST_CONFLICT;
            continue;
        }
        if (!series_has_room(d, series_metric(d, x->tsuid))) {
            x->rejected = ST_LIMIT;
            continue;
        }
        kv_batch_put(b, slice_of(key, key_series(x->tsuid, key)),
                     slice_of(created, sizeof created));
        count_tagk_set(d, &counted, x->tsuid);
        new_len++;
        /* Known from here on: it may repeat. */
        st = store_series(d->store, x->tsuid, true, &x->ref, e);
    }
    if (new_len > 0) {
        if (st == ST_OK)
            st = write_entries(d, b, &counted, e);
        d->failed |= st != ST_OK;
    }
    if (st != ST_OK)
        take_back(d, &counted);
    else
        atomic_fetch_add(&d->entered, new_len);
    for (size_t i = 0; i < len && st == ST_OK && new_len > 0; i++)
        if (entries[i].missing && entries[i].rejected == ST_OK)
            series_index_enter(
                d->index, series_metric(d, entries[i].tsuid),
                slice_of(key, key_series(entries[i].tsuid, key)));
    table_fini(&new);
    free(counted.sets);
    kv_batch_free(&b);
    return st;
}

/* The entries that the engine is asked for. */
struct lookup {
    struct series_entry **entries;
    enum status st;
    struct error *e;
};

static void
note_entry(void *ctx, size_t i, const struct slice *value)
{
    struct lookup *a = ctx;

    a->entries[i]->missing = value == NULL;
    if (value != NULL && value->size != 4)
        a->st = error_set(a->e, ST_CORRUPT, "series entry of %zu bytes, not 4",
                          value->size);
}

/* Sets 'missing' of each, with one read of the engine. */
static enum status
find_missing(struct series_directory *d, struct series_entry *entries,
             size_t len, struct error *e)
{
    struct slice *keys = mem_new_array(len, sizeof *keys);
    struct lookup a = { mem_new_array(len, sizeof *a.entries), ST_OK, e };
    uint8_t *bytes = mem_new_array(len, SERIES_KEY_MAX);
    size_t n = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < len; i++) {
        uint8_t *key = bytes + n * SERIES_KEY_MAX;

        entries[i].missing = true;
        entries[i].asked = !is_fresh(d, entries[i].tsuid);
        if (!entries[i].asked)
            continue;
        keys[n] = slice_of(key, key_series(entries[i].tsuid, key));
        a.entries[n++] = &entries[i];
    }
    if (n > 0)
        st = kv_get_many(store_kv(d->store), keys, n, note_entry, &a, e);
    free(keys);
    free(a.entries);
    free(bytes);
    return st == ST_OK ? a.st : st;
}

static enum status
give_handles(struct series_directory *d, struct series_entry *entries,
             size_t len, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++)
        if (entries[i].rejected == ST_OK && entries[i].ref == SERIES_REF_NONE)
            st = store_series(d->store, entries[i].tsuid, false,
                              &entries[i].ref, e);
    return st;
}

static bool
any_missing(const struct series_entry *entries, size_t len)
{
    bool missing = false;

    for (size_t i = 0; i < len; i++)
        missing |= entries[i].missing;
    return missing;
}

static enum status
enter_here(struct series_directory *d, struct series_entry *entries, size_t len,
           struct error *e)
{
    uint64_t entered = atomic_load(&d->entered);
    uint64_t purged = atomic_load(&d->purged);
    enum status st = find_missing(d, entries, len, e);

    /* An entry may be found before its writer has counted it: after the lock
     * queries see the series. */
    if (st == ST_OK && len > 0) {
        lock_take(&d->lock);
        if (purged != atomic_load(&d->purged)) /* what was found may be gone */
            st = find_missing(d, entries, len, e);
        if (st == ST_OK && any_missing(entries, len))
            st = enter_locked(d, entries, len, entered, e);
        if (st == ST_OK) /* a purge knows from now on that they are used */
            st = give_handles(d, entries, len, e);
        lock_drop(&d->lock);
    }
    return st;
}

enum status
series_enter(struct series_directory *d, struct series_entry *entries,
             size_t len, struct error *e)
{
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    for (size_t i = 0; i < len; i++) {
        entries[i].ref = SERIES_REF_NONE;
        entries[i].rejected = ST_OK;
    }
    st = (d->shared ? series_enter_shared : enter_here)(d, entries, len, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        counter_add(CNT_SERIES_REJECTED, entries[i].rejected == ST_LIMIT);
    return st == ST_OK ? give_handles(d, entries, len, e) : st;
}
