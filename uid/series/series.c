/* The directory's table of tag-key sets is small and read at the start; series
 * are looked for where they lie. */
#include "uid/series/series.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process/counters.h"
#include "base/mem.h"
#include "storage/row/key.h"
#include "storage/row/mask.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_priv.h"
#include "uid/series/tagk_sets.h"
#include "uid/series/tag_set.h"

/* Past so many steps over keys that do not match, seek. */
#define STEPS_MAX 8

#define READS_AGAIN 3

/* -- open ---------------------------------------------------------------- */

static enum status
load_tagk_sets(struct series_directory *d, struct tagk_sets *into,
               struct error *e)
{
    struct slice table = KEY_TABLE(TABLE_TAGK_SETS);
    struct kv_iter *it = kv_iter_open(store_kv(d->store), table);
    enum status st = ST_OK;

    for (bool on = kv_iter_seek(it, table); on && st == ST_OK;
         on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        if (value.size != 8 ||
            !tagk_sets_is_valid(&d->widths, key, key_get_uint(value.data, 8)))
            st = error_set(
                e, ST_CORRUPT,
                "tag-key set with a key of %zu and a value of %zu bytes",
                key.size, value.size);
        else
            tagk_sets_raise(into, key, key_get_uint(value.data, 8));
    }
    return kv_iter_end(&it, st, e);
}

/* Tag-key sets are derived from the directory: where some cannot be read, the
 * series are counted.  Others use them only later. */
static enum status
load_or_count_tagk_sets(struct series_directory *d, struct error *e)
{
    struct slice table = KEY_TABLE(TABLE_SERIES);
    struct kv_iter *it;
    struct error why;
    enum status st = load_tagk_sets(d, d->tagk_sets, &why);

    if (st != ST_CORRUPT)
        return st == ST_OK ? st : error_set(e, st, "%s", why.text);
    store_note_damage(d->store, "the table of tag-key sets",
                      "all series are counted", &why);
    tagk_sets_free(&d->tagk_sets);
    d->tagk_sets = tagk_sets_new(&d->widths);
    it = kv_iter_open(store_kv(d->store), table);
    for (bool on = kv_iter_seek(it, table); on; on = kv_iter_next(it)) {
        uint8_t bytes[TAGK_SETS_KEY_MAX];
        struct slice key = kv_iter_key(it), set;
        struct slice tsuid = slice_of(key.data + 1, key.size - 1);

        if (!tsuid_is_valid(&d->widths, tsuid))
            continue;
        set = tagk_sets_key(&d->widths, tsuid, bytes);
        tagk_sets_set(d->tagk_sets, set, tagk_sets_get(d->tagk_sets, set) + 1);
    }
    return kv_iter_close(&it, e);
}

void
series_missed(struct series_directory *d)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    series_was_recent(d);
    series_end_watch(d, 0);
    series_read_again(d);
}

void
series_read_again(struct series_directory *d)
{
    atomic_fetch_add(&d->missed, 1);
    series_index_clear(d->index);
}

enum status
series_refresh(struct series_directory *d, struct error *e)
{
    uint64_t missed = atomic_load(&d->missed);
    bool done;
    enum status st = ST_OK;

    if (atomic_load(&d->read_again) == missed)
        return ST_OK;
    lock_take(&d->refresh_lock); /* others wait: they need it, too */
    missed = atomic_load(&d->missed);
    done = atomic_load(&d->read_again) == missed;
    /* Counts may have become lower by a purge.  While others raise them, they
     * are only raised: a count that is too high costs a query some time, and
     * one that is too low costs series. */
    for (int i = 0; i < READS_AGAIN && st == ST_OK && !done; i++) {
        struct tagk_sets *fresh = tagk_sets_new(&d->widths);
        uint64_t changes = tagk_sets_changes(d->tagk_sets);

        st = load_tagk_sets(d, fresh, e);
        done = st == ST_OK && tagk_sets_replace(d->tagk_sets, fresh, changes);
        tagk_sets_free(&fresh);
    }
    if (st == ST_OK && !done)
        st = load_tagk_sets(d, d->tagk_sets, e);
    if (st == ST_OK)
        atomic_store(&d->read_again, missed);
    lock_drop(&d->refresh_lock);
    return st;
}

enum status
series_open(struct store *s, struct uid_table *u, struct series_directory **out,
            struct error *e)
{
    struct series_directory *d = mem_new(sizeof *d);
    enum status st;

    d->magic = SERIES_MAGIC;
    d->store = s;
    d->uids = u;
    d->widths = *store_layout(s);
    d->shared = kv_traits(store_kv(s))->shared;
    d->tagk_sets = tagk_sets_new(&d->widths);
    d->index = series_index_new(&d->widths);
    lock_init(&d->lock);
    lock_init(&d->refresh_lock);
    lock_init(&d->watch_lock);
    series_was_recent(d);
    st = load_or_count_tagk_sets(d, e);
    if (st != ST_OK)
        series_close(&d);
    *out = d;
    return st;
}

void
series_close(struct series_directory **dp)
{
    struct series_directory *d = OBJ_TAKE(dp, SERIES_MAGIC);

    if (d == NULL)
        return;
    for (int kind = 0; kind < UID_KINDS; kind++) {
        numbers_fini(&d->entered_ids[kind]);
        numbers_fini(&d->gone_ids[kind]);
    }
    series_index_free(&d->index);
    tagk_sets_free(&d->tagk_sets);
    lock_fini(&d->lock);
    lock_fini(&d->refresh_lock);
    lock_fini(&d->watch_lock);
    OBJ_FREE(d);
}

void
series_limit(struct series_directory *d, struct series_limits limits)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    d->limits = limits;
}

/* -- kinds --------------------------------------------------------------- */

enum status
series_kind(struct series_directory *d, const char *name, bool create,
            uint64_t *kind, struct error *e)
{
    struct slice text = slice_str(name);
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    st = create ? uid_get_or_create(d->uids, UID_ROLLUP, text, kind, e)
                : uid_find(d->uids, UID_ROLLUP, text, kind, e);
    if (st != ST_NOT_FOUND)
        return st;
    /* The highest number: so many kinds never come. */
    *kind = UINT64_MAX >> (64 - 8 * d->widths.tagv_width);
    return ST_OK;
}

bool
series_has_kind(const struct key_layout *w, struct slice tsuid)
{
    return tsuid_tags(w, tsuid) > 0 && tsuid_tagk_id(w, tsuid, 0) == 0;
}

size_t
series_add_kind(const struct key_layout *w, struct slice tsuid, uint64_t kind,
                uint8_t *out)
{
    size_t head = w->metric_width, pair = (size_t)w->tagk_width + w->tagv_width;

    if (tsuid_tags(w, tsuid) >= KEY_MAX_TAGS)
        return 0;
    /* 'out' may be the TSUID itself. */
    memmove(out + head + pair, tsuid.data + head, tsuid.size - head);
    memmove(out, tsuid.data, head);
    key_put_uint(out + head, 0, w->tagk_width);
    key_put_uint(out + head + w->tagk_width, kind, w->tagv_width);
    return tsuid.size + pair;
}

size_t
series_drop_kind(const struct key_layout *w, struct slice tsuid, uint8_t *out)
{
    size_t head = w->metric_width, pair = (size_t)w->tagk_width + w->tagv_width;

    memmove(out, tsuid.data, head);
    memmove(out + head, tsuid.data + head + pair, tsuid.size - head - pair);
    return tsuid.size - pair;
}

/* -- names to ids -------------------------------------------------------- */

static enum status
name_to_id(struct series_directory *d, const struct series_rules *rules,
           enum uid_kind kind, struct slice name, uint8_t *out, struct error *e)
{
    bool create = kind == UID_METRIC ? rules->create_metrics
                  : kind == UID_TAGK ? rules->create_tagks
                                     : rules->create_tagvs;
    uint64_t id = 0;
    enum status st =
        rules->cached
            ? uid_find_cached(d->uids, kind, name, &id) ? ST_OK : ST_CONFLICT
        : create ? uid_get_or_create(d->uids, kind, name, &id, e)
                 : uid_find(d->uids, kind, name, &id, e);

    if (st == ST_OK)
        key_put_uint(out, id, uid_width(d->uids, kind));
    else if (st == ST_NOT_FOUND && kind == UID_METRIC)
        counter_add(CNT_UID_REJECTED, 1);
    return st;
}

/* Sorts pairs by tagk id, which no two of them share. */
static void
sort_pairs(uint8_t *pairs, size_t len, size_t size)
{
    uint8_t pair[16];

    for (size_t i = 1; i < len; i++) {
        size_t at = i;

        memcpy(pair, pairs + i * size, size);
        for (; at > 0 && memcmp(pairs + (at - 1) * size, pair, size) > 0; at--)
            memcpy(pairs + at * size, pairs + (at - 1) * size, size);
        memcpy(pairs + at * size, pair, size);
    }
}

static enum status
make_tsuid(struct series_directory *d, const struct series_rules *rules,
           struct slice metric, const struct tag_set *set, struct tsuid *tsuid,
           struct error *e)
{
    const struct key_layout *w = &d->widths;
    size_t pair = (size_t)w->tagk_width + w->tagv_width;
    uint8_t *at = tsuid->bytes + w->metric_width;
    enum status st = name_to_id(d, rules, UID_METRIC, metric, tsuid->bytes, e);

    for (size_t i = 0; i < set->len && st == ST_OK; i++, at += pair) {
        const struct tag *t = set->tags[i];

        st = name_to_id(d, rules, UID_TAGK, t->key, at, e);
        if (st == ST_OK)
            st =
                name_to_id(d, rules, UID_TAGV, t->value, at + w->tagk_width, e);
    }
    if (st == ST_OK)
        sort_pairs(tsuid->bytes + w->metric_width, set->len, pair);
    tsuid->size = w->metric_width + set->len * pair;
    return st;
}

/* -- the directory ------------------------------------------------------- */

bool
series_is_full(struct series_directory *d, struct slice metric)
{
    uint64_t id = 0;

    if (d->limits.of_metric != 0 &&
        uid_find(d->uids, UID_METRIC, metric, &id, NULL) != ST_OK)
        id = 0;
    return !series_has_room(d, id, 0, 0);
}

enum status
series_identify(struct series_directory *d, const struct series_rules *rules,
                const struct series_text *x, struct tsuid *tsuid,
                struct error *e)
{
    struct tag_set set;
    struct series_rules known_names = { .max_tags = rules->max_tags,
                                        .cached = rules->cached };
    enum status st;
    bool full;

    OBJ_CHECK(d, SERIES_MAGIC);
    st = series_check(d->uids, rules, x, &set, e);
    if (st != ST_OK)
        return st;
    /* What is there already has all of its names. */
    full = series_is_full(d, x->metric);
    st = make_tsuid(d, full ? &known_names : rules, x->metric, &set, tsuid, e);
    if (full && st == ST_NOT_FOUND &&
        (rules->create_metrics || rules->create_tagks || rules->create_tagvs)) {
        counter_add(CNT_SERIES_REJECTED, 1);
        st = series_reject(d, e);
    }
    if (st == ST_OK && x->kind != 0)
        tsuid->size = series_add_kind(&d->widths, tsuid_slice(tsuid), x->kind,
                                      tsuid->bytes);
    return tsuid->size > 0 || st != ST_OK
               ? st
               : error_set(e, ST_INVALID, "Too many tags of a rollup");
}

bool
series_of_metric(struct series_directory *d, struct slice metric,
                 struct slice tsuid, uint8_t *out)
{
    unsigned width;
    uint64_t id;

    OBJ_CHECK(d, SERIES_MAGIC);
    width = d->widths.metric_width;
    if (uid_validate_name(d->uids, "", metric, NULL) != ST_OK ||
        !uid_find_cached(d->uids, UID_METRIC, metric, &id))
        return false;
    key_put_uint(out, id, width);
    memcpy(out + width, tsuid.data + width, tsuid.size - width);
    return true;
}

enum status
series_is_being_purged(struct error *e)
{
    return error_set(e, ST_BUSY,
                     "a name of the series is being purged: try again later");
}

enum status
series_resolve(struct series_directory *d, const struct series_rules *rules,
               const struct series_text *x, series_ref *ref,
               struct tsuid *tsuid, struct error *e)
{
    struct series_entry entry = { .ref = SERIES_REF_NONE };
    unsigned attempts = 0;
    enum status st;

    do { /* again where a purge took a name away meanwhile */
        if (attempts++ == SERIES_ATTEMPTS)
            return series_is_being_purged(e);
        st = series_identify(d, rules, x, tsuid, e);
        if (st != ST_OK)
            return st;
        entry.tsuid = tsuid_slice(tsuid);
        st = series_enter(d, &entry, 1, e);
    } while (st == ST_OK && entry.rejected == ST_CONFLICT);
    if (st == ST_OK && entry.rejected != ST_OK)
        st = series_reject(d, e);
    *ref = entry.ref;
    return st;
}

enum status
series_created(struct series_directory *d, struct slice tsuid,
               uint32_t *created_s, struct error *e)
{
    bool exists = false;
    enum status st = ST_OK;

    OBJ_CHECK(d, SERIES_MAGIC);
    if (tsuid_is_valid(&d->widths, tsuid))
        st = series_read_entry(d, tsuid, &exists, created_s, e);
    if (st == ST_OK && !exists)
        return error_set(e, ST_NOT_FOUND, "no such series");
    return st;
}

enum status
series_tagk_sets(struct series_directory *d, uint64_t metric, bool kinds,
                 struct arena *a, struct series_tagk_set **out, size_t *len,
                 struct error *e)
{
    size_t all = 0;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    *len = 0;
    st = series_refresh(d, e);
    if (st == ST_OK)
        st = tagk_sets_list(d->tagk_sets, metric, a, out, &all, e);
    for (size_t i = 0; i < all && st == ST_OK; i++) {
        const struct series_tagk_set *s = &(*out)[i];

        if ((s->tagks_len > 0 && s->tagks[0] == 0) == kinds)
            (*out)[(*len)++] = *s;
    }
    return st;
}

uint64_t
series_total(struct series_directory *d)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    (void)!series_refresh(d, NULL);
    return tagk_sets_total(d->tagk_sets);
}

uint64_t
series_total_of(struct series_directory *d, uint64_t metric)
{
    OBJ_CHECK(d, SERIES_MAGIC);
    (void)!series_refresh(d, NULL);
    return tagk_sets_count(d->tagk_sets, metric);
}

/* -- each ---------------------------------------------------------------- */

/* A scan of the directory: its masks, and how many keys it has looked at. */
struct scan {
    struct kv_iter *it;
    const struct mask_set *masks; /* NULL: all */
    const struct series_visit *visit;
    uint64_t steps, checked;
};

static bool
is_cancelled(struct scan *s, uint64_t steps)
{
    s->steps += steps;
    if (s->steps - s->checked < KEYS_UNCHECKED)
        return false;
    s->checked = s->steps;
    return cancel_asked(s->visit->cancel);
}

/* Moves to the first key that matches, from where the iterator stands on. */
static bool
next_match(struct scan *s)
{
    uint8_t hint[ROW_KEY_MAX];
    struct kv_iter *it = s->it;
    bool on = true;

    while (on && !mask_set_match(s->masks, kv_iter_key(it))) {
        size_t size = mask_set_hint(s->masks, kv_iter_key(it), hint);

        if (size == 0 || is_cancelled(s, 1))
            return false;
        for (int i = 0; i < STEPS_MAX; i++) {
            s->steps++;
            on = kv_iter_next(it);
            if (!on || slice_cmp(kv_iter_key(it), slice_of(hint, size)) >= 0)
                break;
        }
        if (on && slice_cmp(kv_iter_key(it), slice_of(hint, size)) < 0)
            on = kv_iter_seek(it, slice_of(hint, size));
    }
    return on;
}

enum status
series_scan(struct series_directory *d, uint64_t metric,
            const struct mask_set *masks, const struct series_visit *visit,
            uint64_t *steps, struct error *e)
{
    uint8_t start[1 + 8];
    struct slice prefix =
        slice_of(start, key_series_of(&d->widths, metric, start));
    struct scan s = { .masks = masks, .visit = visit };
    uint8_t hint[ROW_KEY_MAX];
    struct slice first = prefix;
    bool on;

    OBJ_CHECK(d, SERIES_MAGIC);
    s.it = kv_iter_open(store_kv(d->store), prefix);
    if (masks != NULL)
        first = slice_of(hint, mask_set_hint(masks, prefix, hint));
    on = first.size > 0 && kv_iter_seek(s.it, first);
    for (on = on && (masks == NULL || next_match(&s)); on;
         on = kv_iter_next(s.it) && (masks == NULL || next_match(&s))) {
        struct slice key = kv_iter_key(s.it);
        struct slice tsuid = { key.data + 1, key.size - 1 };

        if (is_cancelled(&s, 1))
            break;
        if (masks == NULL && series_has_kind(&d->widths, tsuid))
            continue;
        if (!visit->series(visit->ctx, tsuid))
            break;
    }
    *steps = s.steps;
    return kv_iter_close(&s.it, e);
}

enum status
series_each(struct series_directory *d, uint64_t metric,
            const struct mask_set *masks,
            bool (*f)(void *ctx, struct slice tsuid), void *ctx,
            struct error *e)
{
    uint64_t steps;

    return series_scan(d, metric, masks,
                       &(struct series_visit){ f, ctx, CANCEL_NEVER }, &steps,
                       e);
}
