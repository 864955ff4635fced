/* Series are entered many at a time, by one algorithm for local and shared
 * engines:
 *
 *     read    which of them have an entry
 *     admit   those that a purge and the limits let through
 *     write   the entries, and the new counts of their tag-key sets
 *     retry   what another process changed between the read and the write
 *
 * The entries of a salt bucket and the counts of its tag-key sets are one
 * batch, so that the counts are exact after a crash, and only counts are read
 * when a store is opened.
 *
 * On a shared engine the batch is guarded: it is applied if the entries are
 * absent and the counts are those that were read.  On a local engine the lock
 * does the same, and the engine is seldom read: the counts are in memory, and a
 * series with an id that is younger than the process is in the head if it was
 * entered (store_series() follows each entry), unless series have left it. */
#include "uid/series/series_enter_priv.h"

#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/mem.h"
#include "uid/series/series_index_priv.h"

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

/* -- limits ---------------------------------------------------------------- */

bool
series_has_room(struct series_directory *d, uint64_t metric, uint64_t all,
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

/* -- what is asked for ----------------------------------------------------- */

/* By salt bucket, by tag-key set, by TSUID, and in the caller's order. */
static int
compare_asked(const void *a, const void *b)
{
    const struct asked *x = *(struct asked *const *)a;
    const struct asked *y = *(struct asked *const *)b;
    int c = (x->bucket > y->bucket) - (x->bucket < y->bucket);

    if (c == 0)
        c = slice_cmp(x->set_key, y->set_key);
    if (c == 0)
        c = slice_cmp(x->entry->tsuid, y->entry->tsuid);
    return c != 0 ? c : (x > y) - (x < y);
}

static void
asking_init(struct asking *q, struct series_directory *d,
            struct series_entry *entries, size_t len)
{
    const struct key_layout *w = &d->widths;
    struct asked **sorted = mem_new_array(len, sizeof(struct asked *));
    struct asked *last = NULL;
    struct asked_set *s = NULL;
    uint8_t bytes[SERIES_KEY_MAX > TAGK_SETS_KEY_MAX ? SERIES_KEY_MAX
                                                     : TAGK_SETS_KEY_MAX];

    *q = (struct asking){ .d = d,
                          .bytes = arena_new(0),
                          .all = mem_new_array(len, sizeof *q->all),
                          .len = len,
                          .sets = mem_new_array(len, sizeof *q->sets),
                          .created_s = clock_now_s(&clock_system),
                          .entered = atomic_load(&d->entered),
                          .purged = atomic_load(&d->purged) };
    for (size_t i = 0; i < len; i++) {
        struct slice tsuid = entries[i].tsuid;
        struct asked *a = sorted[i] = &q->all[i];

        entries[i].ref = SERIES_REF_NONE;
        entries[i].rejected = ST_OK;
        a->entry = &entries[i];
        a->key = slice_of(bytes, key_series(tsuid, bytes));
        a->key.data = arena_copy(q->bytes, bytes, a->key.size);
        a->set_key = tagk_sets_key(w, tsuid, bytes);
        a->set_key.data = arena_copy(q->bytes, bytes, a->set_key.size);
        a->bucket = a->set_key.data[a->set_key.size - 1];
    }
    qsort(sorted, len, sizeof *sorted, compare_asked);
    for (size_t i = 0; i < len; i++) {
        struct asked *a = sorted[i];

        if (last != NULL && slice_eq(last->key, a->key)) {
            a->state = SAME;
            a->same = last;
            continue;
        }
        if (last == NULL || !slice_eq(last->set_key, a->set_key)) {
            s = &q->sets[q->sets_len++];
            s->metric = tsuid_metric_id(w, a->entry->tsuid);
        }
        a->set = s;
        a->next = s->first;
        s->first = last = a;
    }
    free(sorted);
}

static bool
is_wanted(const struct asked *a)
{
    return a->state == ASKED && a->entry->rejected == ST_OK;
}

static bool
any_wanted(const struct asking *q)
{
    for (size_t i = 0; i < q->len; i++)
        if (is_wanted(&q->all[i]))
            return true;
    return false;
}

/* -- reading --------------------------------------------------------------- */

/* Was one of the ids given out since the start?  Then the series is in the head
 * if it was entered. */
static bool
is_fresh(const struct series_directory *d, struct slice tsuid)
{
    const struct key_layout *w = &d->widths;
    bool rollup = series_has_kind(w, tsuid);

    if (uid_is_fresh(d->uids, UID_METRIC, tsuid_metric_id(w, tsuid)))
        return true;
    for (size_t i = tsuid_tags(w, tsuid); i-- > 0;)
        if (uid_is_fresh(d->uids, UID_TAGK, tsuid_tagk_id(w, tsuid, i)) ||
            uid_is_fresh(d->uids, rollup && i == 0 ? UID_ROLLUP : UID_TAGV,
                         tsuid_tagv_id(w, tsuid, i)))
            return true;
    return false;
}

/* What is read from the engine: the entry of a series, or the count of a set.
 */
struct asked_key {
    struct asked *series;
    struct asked_set *set;
};

static enum status
note_read(struct series_directory *d, const struct asked_key *what,
          const struct slice *values, size_t len, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct asked *a = what[i].series;
        struct asked_set *s = what[i].set;
        size_t size = a != NULL ? 4 : 8;
        uint64_t value = 0;

        if (values[i].data != NULL && values[i].size != size)
            st =
                error_set(e, ST_CORRUPT, "%s of %zu bytes",
                          a != NULL ? "series entry" : "count of a tag-key set",
                          values[i].size);
        else if (values[i].data != NULL)
            value = key_get_uint(values[i].data, (unsigned)size);
        if (st == ST_OK && a != NULL) {
            a->is_absent = values[i].data == NULL;
            a->is_marked =
                !a->is_absent && d->shared && uid_is_mark((uint32_t)value);
            a->state = a->is_absent || a->is_marked ? ASKED : FOUND;
            a->mark = values[i];
        } else if (st == ST_OK) {
            s->counted = values[i].data != NULL;
            s->count = value;
            s->news |= tagk_sets_get(d->tagk_sets, s->first->set_key) < value;
            tagk_sets_raise(d->tagk_sets, s->first->set_key, value);
        }
    }
    return st;
}

/* Reads at once whether the wanted series have entries, except those that are
 * known to be absent, and on a shared engine the counts of their tag-key sets;
 * those of a local store are in memory. */
static enum status
read_asked(struct asking *q, struct error *e)
{
    size_t n = 0, max = q->len + q->sets_len;
    struct series_directory *d = q->d;
    struct slice *keys = mem_new_array(max, sizeof *keys);
    struct slice *values = mem_new_array(max, sizeof *values);
    struct asked_key *what = mem_new_array(max, sizeof *what);
    enum status st = ST_OK;

    for (size_t i = 0; i < q->sets_len; i++) {
        struct asked_set *s = &q->sets[i];
        size_t first = n;

        for (struct asked *a = s->first; a != NULL; a = a->next)
            if (is_wanted(a) && !a->is_absent &&
                !is_fresh(q->d, a->entry->tsuid)) {
                keys[n] = a->key;
                what[n++].series = a;
            }
        if (n > first && q->d->shared) {
            keys[n] = s->first->set_key;
            what[n++].set = s;
        }
    }
    if (n > 0)
        st = kv_read_many(store_kv(d->store), keys, n, q->bytes, values, e);
    if (st == ST_OK)
        st = note_read(d, what, values, n, e);
    free(keys);
    free(values);
    free(what);
    return st;
}

/* Takes back what other threads of this process may have changed since it was
 * read, and finds the series that are in the head.  If series have left the
 * head, only ids that are given out from now on are fresh. */
static void
ask_memory(struct asking *q) REQUIRES(q->d->lock)
{
    struct series_directory *d = q->d;
    bool entered = q->entered != atomic_load(&d->entered);
    bool purged = q->purged != atomic_load(&d->purged);
    uint64_t evictions = d->evictions;

    for (size_t i = 0; i < q->len; i++) {
        struct asked *a = &q->all[i];

        if (a->state == FOUND && purged)
            a->state = ASKED;
        if (entered || purged)
            a->is_absent = false;
        if (a->state == ASKED &&
            store_has_series(d->store, a->entry->tsuid, &evictions))
            a->state = FOUND;
    }
    if (evictions != d->evictions) {
        d->evictions = evictions;
        uid_age_ids(d->uids);
    }
}

/* -- admitting ------------------------------------------------------------- */

/* Rejects series that may not be entered.  If there is no room for all, the
 * first ones of the caller's order are admitted.  On a shared engine the limits
 * are compared with what is known here: if others enter series at the same
 * time, there may be a few more. */
static void
admit_asked(struct asking *q) REQUIRES(q->d->lock)
{
    struct series_directory *d = q->d;
    bool limited = d->limits.of_metric != 0;
    uint64_t added = 0;

    for (size_t i = 0; i < q->sets_len; i++)
        q->sets[i].added = q->sets[i].marked = 0;
    for (size_t i = 0; i < q->len; i++) {
        struct asked *a = &q->all[i];
        struct asked_set *s = a->set;
        uint64_t of_metric = 0; /* that were admitted before */

        if (!is_wanted(a))
            continue;
        for (size_t k = 0; k < q->sets_len && limited; k++)
            if (q->sets[k].metric == s->metric)
                of_metric += q->sets[k].added;
        if (a->is_marked) {
            s->marked++;
        } else if (!series_purge_admits(q->d, a->entry->tsuid)) {
            a->entry->rejected = ST_CONFLICT;
        } else if (!series_has_room(d, s->metric, added, of_metric)) {
            a->entry->rejected = ST_LIMIT;
        } else {
            s->added++;
            added++;
        }
    }
}

/* -- writing --------------------------------------------------------------- */

/* Adds the wanted series of a set to a batch, and what the batch expects of the
 * engine to 'expected'.  Returns how many keys that is. */
static size_t
put_set(const struct asking *q, struct asked_set *s, struct kv_batch *b,
        struct kv_expected *expected)
{
    uint8_t created[4], count[8];
    size_t n = 0;

    key_put_uint(created, q->created_s, 4);
    for (struct asked *a = s->first; a != NULL; a = a->next)
        if (is_wanted(a)) {
            expected[n++] =
                (struct kv_expected){ a->key, a->is_marked ? &a->mark : NULL };
            kv_batch_put(b, a->key, slice_of(created, 4));
        }
    if (s->added == 0)
        return n;
    if (!q->d->shared)
        s->count = tagk_sets_get(q->d->tagk_sets, s->first->set_key);
    key_put_uint(s->old, s->count, 8);
    s->old_value = slice_of(s->old, 8);
    expected[n++] = (struct kv_expected){ s->first->set_key,
                                          s->counted ? &s->old_value : NULL };
    key_put_uint(count, s->count + s->added, 8);
    kv_batch_put(b, s->first->set_key, slice_of(count, 8));
    return n;
}

/* Notes what became of the batch with the set's series.  After a conflict,
 * which means that another process changed what the batch expected, they are
 * read again. */
static void
note_written(struct series_directory *d, struct asked_set *s, enum status st)
{
    if (st == ST_OK) {
        s->count += s->added;
        tagk_sets_raise(d->tagk_sets, s->first->set_key, s->count);
        atomic_fetch_add(&d->entered, s->added);
    }
    for (struct asked *a = s->first; a != NULL; a = a->next) {
        if (!is_wanted(a))
            continue;
        a->is_absent = a->is_marked = false;
        if (st != ST_OK)
            continue;
        a->state = ENTERED;
        series_index_enter(d->index, s->metric, a->key);
    }
}

/* Writes the wanted series.  Those that meet a conflict stay wanted. */
static enum status
write_asked(struct asking *q, struct error *e) REQUIRES(q->d->lock)
{
    struct kv_expected *expected =
        mem_new_array(q->len + q->sets_len, sizeof *expected);
    struct kv_guarded *parts = mem_new_array(q->sets_len, sizeof *parts);
    struct kv_batch **batches =
        mem_new_array(q->sets_len, sizeof(struct kv_batch *));
    struct asked_set *last = NULL;
    size_t n = 0, len = 0;
    enum status st;

    for (size_t i = 0; i < q->sets_len; i++) {
        struct asked_set *s = &q->sets[i];
        size_t put;

        if (s->added + s->marked == 0)
            continue;
        if (last == NULL ||
            (q->d->shared && s->first->bucket != last->first->bucket)) {
            batches[len] = kv_batch_new();
            if (q->d->shared)
                kv_batch_set_bucket(batches[len], s->first->bucket);
            parts[len] =
                (struct kv_guarded){ batches[len], &expected[n], 0, ST_BUSY };
            len++;
        }
        put = put_set(q, s, batches[len - 1], &expected[n]);
        parts[len - 1].len += put;
        n += put;
        s->part = len - 1;
        last = s;
    }
    if (q->d->shared)
        st = kv_write_if_many(store_kv(q->d->store), parts, len, e);
    else /* all parts are one batch, which the lock guards */
        st = parts[0].status = store_write(q->d->store, batches[0], NULL, e);
    for (size_t i = 0; i < q->sets_len; i++)
        if (q->sets[i].added + q->sets[i].marked > 0)
            note_written(q->d, &q->sets[i], parts[q->sets[i].part].status);
    for (size_t i = 0; i < len; i++)
        kv_batch_free(&batches[i]);
    free(batches);
    free(parts);
    free(expected);
    return st;
}

/* -- all together ---------------------------------------------------------- */

static enum status
give_handles(struct asking *q, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < q->len && st == ST_OK; i++) {
        struct series_entry *x = q->all[i].entry;

        if (x->rejected == ST_OK && x->ref == SERIES_REF_NONE)
            st = store_series(q->d->store, x->tsuid, q->all[i].state == ENTERED,
                              &x->ref, e);
    }
    return st;
}

static enum status
enter_asked(struct asking *q, struct error *e)
{
    enum status st = ST_OK;

    lock_take(&q->d->lock);
    if (!q->d->shared)
        ask_memory(q);
    while (st == ST_OK && any_wanted(q)) {
        st = read_asked(q, e);
        if (st != ST_OK)
            break;
        admit_asked(q);
        if (any_wanted(q))
            st = write_asked(q, e);
    }
    for (size_t i = 0; i < q->len; i++)
        if (q->all[i].state == SAME)
            q->all[i].entry->rejected = q->all[i].same->entry->rejected;
    if (st == ST_OK) /* a purge knows from now on that they are used */
        st = give_handles(q, e);
    lock_drop(&q->d->lock);
    return st;
}

/* Series that were entered by ids whose names are gone leave the directory
 * again: the caller enters them by other ids. */
static enum status
keep_names(struct asking *q, struct series_entry *entries, struct error *e)
{
    struct slice *gone = mem_new_array(q->len, sizeof *gone);
    size_t n = 0;
    enum status st = series_keep_names(q->d, entries, q->len, e);

    for (size_t i = 0; i < q->len && st == ST_OK; i++)
        if (q->all[i].state == ENTERED && entries[i].rejected != ST_OK)
            gone[n++] = entries[i].tsuid;
    if (n > 0)
        st = series_take_back(q->d, gone, n, q->created_s, e);
    free(gone);
    return st;
}

/* An entry may be found before the thread that wrote it has counted it: after
 * the lock queries see the series.  '*again': a purge of another process may
 * have dropped a handle before it was given here. */
static enum status
enter_once(struct series_directory *d, struct series_entry *entries, size_t len,
           bool *again, struct error *e)
{
    struct asking q;
    enum status st = series_refresh(d, e);

    *again = false;
    if (st != ST_OK || len == 0)
        return st;
    asking_init(&q, d, entries, len);
    st = read_asked(&q, e);
    if (st == ST_OK && (!d->shared || any_wanted(&q)))
        st = enter_asked(&q, e);
    if (d->shared && st == ST_OK && uid_expects_marks(d->uids))
        st = keep_names(&q, entries, e);
    if (d->shared && st == ST_OK)
        st = series_announce(&q, e);
    if (d->shared && st != ST_OK) /* some may be entered, and not announced */
        series_was_recent(d);
    if (st == ST_OK)
        st = give_handles(&q, e);
    *again = d->shared && st == ST_OK && q.purged != atomic_load(&d->purged);
    free(q.sets);
    free(q.all);
    arena_free(&q.bytes);
    return st;
}

enum status
series_enter(struct series_directory *d, struct series_entry *entries,
             size_t len, struct error *e)
{
    bool again = true;
    enum status st = ST_OK;

    OBJ_CHECK(d, SERIES_MAGIC);
    for (unsigned i = 0; st == ST_OK && again; i++)
        st = i == SERIES_ATTEMPTS ? series_is_being_purged(e)
                                  : enter_once(d, entries, len, &again, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        counter_add(CNT_SERIES_REJECTED, entries[i].rejected == ST_LIMIT);
    return st;
}
