/* See uid/series/series_index_priv.h.  A metric has one slot, by its id; one
 * that comes takes the slot of the one before.
 *
 * Keys of a list have the metric in common and mostly the tagks, too: what is
 * kept of each is the number of its tag-key set, and its tagvs. */
#include "uid/series/series_index_priv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/process/clock.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/mem.h"

#define INDEX_MAGIC FOURCC('S', 'I', 'D', 'X')
#define LIST_MAGIC  FOURCC('S', 'I', 'D', 'L')

/* A list is made when scans have cost this part of it: most metrics that are
 * queried some times are queried often. */
#define EAGER 4

#define SLOTS      1024
#define BYTES_MAX  ((size_t)96 << 20)
#define LIST_BYTES (BYTES_MAX / 2)
#define IDLE_US    (INT64_C(10) * 1000 * 1000)
#define NEVER      INT64_MAX

/* Series that came after a list are looked through one by one. */
#define MORE_MAX   512
#define MORE_BYTES ((size_t)32 << 10)

/* Results that are kept with a list.  A dashboard repeats its filters: with
 * 4,000 values a query that finds its result takes a third of the time. */
#define CACHES      256
#define CACHE_BYTES ((size_t)64 << 10)

struct cache {
    uint64_t *ids; /* the key lies behind them; NULL: none */
    size_t len, key_size;
};

struct index_list {
    uint32_t magic;
    struct series_index *index;
    struct key_layout widths;
    uint64_t metric, count;
    size_t refs; /* guarded by the index' lock */
    struct buf keys;
    struct buf ends; /* uint32_t: where in 'keys' each one ends */
    size_t len;
    struct lock lock;
    struct index_tag *tags GUARDED_BY(lock);
    struct cache caches[CACHES] GUARDED_BY(lock);
    size_t cache_bytes GUARDED_BY(lock);
};

struct slot {
    uint64_t metric;       /* 0: free */
    uint64_t spent;        /* keys that scans have looked at without a list */
    bool making;           /* a caller makes a list */
    int64_t not_before_us; /* no list is made earlier: there was no room */
    int64_t used_us;
    struct index_list *list;
    size_t bytes;
    struct index_more *more; /* that came since; NULL: none */
};

struct series_index {
    uint32_t magic;
    struct key_layout widths;
    struct lock lock;
    struct slot slots[SLOTS] GUARDED_BY(lock);
    size_t bytes GUARDED_BY(lock);
    atomic_size_t lists; /* that slots have */
};

struct series_index *
series_index_new(const struct key_layout *widths)
{
    struct series_index *x = mem_new(sizeof *x);

    x->magic = INDEX_MAGIC;
    x->widths = *widths;
    lock_init(&x->lock);
    return x;
}

/* Frees a list that is not used any more. */
static void
unref(struct series_index *x, struct index_list *l) REQUIRES(x->lock)
{
    if (l == NULL || --l->refs > 0)
        return;
    OBJ_CHECK(l, LIST_MAGIC);
    while (l->tags != NULL) {
        struct index_tag *t = l->tags;

        l->tags = t->next;
        free(t->values);
        free(t->from);
        free(t->series);
        free(t);
    }
    for (size_t i = 0; i < CACHES; i++)
        free(l->caches[i].ids);
    lock_fini(&l->lock);
    buf_fini(&l->keys);
    buf_fini(&l->ends);
    OBJ_FREE(l);
}

static void
clear_list(struct series_index *x, struct slot *s) REQUIRES(x->lock)
{
    if (s->list != NULL)
        (void)atomic_fetch_sub(&x->lists, 1);
    unref(x, s->list);
    x->bytes -= s->bytes;
    s->list = NULL;
    s->bytes = 0;
    free(s->more);
    s->more = NULL;
}

void
series_index_free(struct series_index **xp)
{
    struct series_index *x = OBJ_TAKE(xp, INDEX_MAGIC);

    if (x == NULL)
        return;
    series_index_clear(x);
    lock_fini(&x->lock);
    OBJ_FREE(x);
}

void
series_index_clear(struct series_index *x)
{
    lock_take(&x->lock);
    for (size_t i = 0; i < SLOTS; i++)
        clear_list(x, &x->slots[i]);
    lock_drop(&x->lock);
}

/* The metric's slot, or NULL. */
static struct slot *
find(struct series_index *x, uint64_t metric) REQUIRES(x->lock)
{
    struct slot *s = &x->slots[metric % SLOTS];

    return s->metric == metric ? s : NULL;
}

/* -- those that come later ------------------------------------------------- */

static void
append_key(struct index_more *m, uint8_t **at, struct slice key)
{
    if (m->len > 0 && slice_eq(key, m->keys[m->len - 1]))
        return;
    memcpy(*at, key.data, key.size);
    m->keys[m->len++] = slice_of(*at, key.size);
    m->size += key.size;
    *at += key.size;
}

/* A copy, with one key more in its order, if there is one. */
static struct index_more *
copy_more(const struct index_more *old, struct slice key)
{
    size_t len = old == NULL ? 0 : old->len, i = 0;
    size_t bytes = key.size + (old == NULL ? 0 : old->size);
    struct index_more *m =
        mem_new(sizeof *m + (len + 1) * sizeof *m->keys + bytes);
    uint8_t *at = (uint8_t *)(m->keys + len + 1);

    while (i < len && (key.size == 0 || slice_cmp(old->keys[i], key) < 0))
        append_key(m, &at, old->keys[i++]);
    if (key.size > 0)
        append_key(m, &at, key);
    while (i < len)
        append_key(m, &at, old->keys[i++]);
    return m;
}

static bool
list_has(const struct index_list *l, struct slice key)
{
    size_t from = 0, to = l->len;

    while (from < to) {
        size_t at = from + (to - from) / 2;
        int order = slice_cmp(index_list_key(l, at), key);

        if (order == 0)
            return true;
        if (order < 0)
            from = at + 1;
        else
            to = at;
    }
    return false;
}

void
series_index_enter(struct series_index *x, uint64_t metric, struct slice key)
{
    struct slot *s;

    OBJ_CHECK(x, INDEX_MAGIC);
    if (atomic_load(&x->lists) == 0)
        return;
    lock_take(&x->lock);
    s = find(x, metric);
    if (s != NULL && s->list != NULL && !list_has(s->list, key)) {
        struct index_more *more = copy_more(s->more, key);

        free(s->more);
        s->more = more;
        if (more->len > MORE_MAX || more->size > MORE_BYTES)
            clear_list(x, s);
    }
    lock_drop(&x->lock);
}

/* -- lists of metrics ------------------------------------------------------ */

void
series_index_spend(struct series_index *x, uint64_t metric, uint64_t steps)
{
    struct slot *s;

    OBJ_CHECK(x, INDEX_MAGIC);
    lock_take(&x->lock);
    s = find(x, metric);
    if (s != NULL)
        s->spent += steps;
    lock_drop(&x->lock);
}

struct index_list *
series_index_take(struct series_index *x, uint64_t metric, uint64_t count,
                  struct index_more **more, bool *make)
{
    struct index_list *l = NULL;
    struct slot *s;

    OBJ_CHECK(x, INDEX_MAGIC);
    *more = NULL;
    *make = false;
    lock_take(&x->lock);
    s = &x->slots[metric % SLOTS];
    if (s->metric != metric) {
        clear_list(x, s);
        *s = (struct slot){ .metric = metric };
    }
    s->used_us = clock_monotonic_us();
    if (s->list != NULL &&
        s->list->count + (s->more == NULL ? 0 : s->more->len) == count) {
        l = s->list;
        l->refs++;
        if (s->more != NULL)
            *more = copy_more(s->more, slice_str(""));
    } else if (s->spent >= count / EAGER && count > 0 && s->spent > 0 &&
               !s->making && s->used_us >= s->not_before_us) {
        *make = s->making = true;
        s->spent = 0;
    }
    lock_drop(&x->lock);
    return l;
}

void
series_index_drop(struct series_index *x, struct index_list **l,
                  struct index_more **more)
{
    OBJ_CHECK(x, INDEX_MAGIC);
    free(*more);
    *more = NULL;
    lock_take(&x->lock);
    unref(x, *l);
    *l = NULL;
    lock_drop(&x->lock);
}

/* Books bytes of a slot's list.  Lists that are idle make room for them; if
 * that does not do, the list goes itself. */
static void
book(struct series_index *x, struct slot *s, size_t bytes) REQUIRES(x->lock)
{
    int64_t now_us = clock_monotonic_us();

    for (size_t i = 0; i < SLOTS && x->bytes + bytes > BYTES_MAX; i++)
        if (&x->slots[i] != s && x->slots[i].used_us < now_us - IDLE_US)
            clear_list(x, &x->slots[i]);
    if (x->bytes + bytes <= BYTES_MAX) {
        x->bytes += bytes;
        s->bytes += bytes;
        return;
    }
    clear_list(x, s);
    s->not_before_us = now_us + IDLE_US;
}

struct index_list *
series_index_made(struct series_index *x, struct index_list *l, bool fits,
                  bool whole)
{
    struct slot *s;
    bool good = fits && whole && l->len == l->count;

    OBJ_CHECK(x, INDEX_MAGIC);
    OBJ_CHECK(l, LIST_MAGIC);
    lock_take(&x->lock);
    s = find(x, l->metric);
    if (s != NULL) {
        s->making = false;
        if (!fits)
            s->not_before_us = NEVER;
    }
    if (s != NULL && good) {
        clear_list(x, s);
        (void)atomic_fetch_add(&x->lists, 1);
        s->list = l;
        l->refs++;
        book(x, s, l->keys.size + l->ends.size + CACHE_BYTES + MORE_BYTES);
    }
    if (!good) {
        unref(x, l);
        l = NULL;
    }
    lock_drop(&x->lock);
    return l;
}

/* -- a list ---------------------------------------------------------------- */

struct index_list *
index_list_new(struct series_index *x, uint64_t metric, uint64_t count)
{
    struct index_list *l = mem_new(sizeof *l);

    l->magic = LIST_MAGIC;
    l->index = x;
    l->widths = x->widths;
    l->metric = metric;
    l->count = count;
    l->refs = 1;
    lock_init(&l->lock);
    return l;
}

bool
index_list_add(struct index_list *l, struct slice key)
{
    uint32_t end;

    if (!tsuid_is_valid(&l->widths, slice_of(key.data + 1, key.size - 1)))
        return false;
    buf_put_slice(&l->keys, key);
    end = (uint32_t)l->keys.size;
    buf_put(&l->ends, &end, sizeof end);
    l->len++;
    return !l->keys.failed && !l->ends.failed && l->keys.size <= LIST_BYTES;
}

size_t
index_list_len(const struct index_list *l)
{
    return l->len;
}

struct slice
index_list_key(const struct index_list *l, size_t i)
{
    const uint32_t *ends = (const void *)l->ends.data;
    uint32_t start = i == 0 ? 0 : ends[i - 1];

    return slice_of(l->keys.data + start, ends[i] - start);
}

bool
series_value_of(const struct key_layout *w, struct slice key, uint64_t tagk,
                uint64_t *out)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);

    for (size_t i = tsuid_tags(w, tsuid); i-- > 0;)
        if (tsuid_tagk_id(w, tsuid, i) == tagk) {
            *out = tsuid_tagv_id(w, tsuid, i);
            return true;
        }
    return false;
}

/* -- tags ------------------------------------------------------------------ */

struct pair {
    uint64_t value;
    uint32_t series;
};

static int
compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->series > y->series) - (x->series < y->series);
}

static struct index_tag *
make_tag(const struct index_list *l, uint64_t tagk)
{
    struct index_tag *t = mem_new(sizeof *t);
    struct pair *pairs = mem_new_array(l->len + 1, sizeof *pairs);
    size_t len = 0, values = 0;

    for (size_t i = 0; i < l->len; i++) {
        pairs[len].series = (uint32_t)i;
        len += series_value_of(&l->widths, index_list_key(l, i), tagk,
                               &pairs[len].value);
    }
    qsort(pairs, len, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < len; i++)
        values += i == 0 || pairs[i - 1].value != pairs[i].value;
    t->tagk = tagk;
    t->values = mem_new_array(values + 1, sizeof *t->values);
    t->from = mem_new_array(values + 1, sizeof *t->from);
    t->series = mem_new_array(len + 1, sizeof *t->series);
    for (size_t i = 0; i < len; i++) {
        if (i == 0 || pairs[i - 1].value != pairs[i].value) {
            t->from[t->len] = (uint32_t)i;
            t->values[t->len++] = pairs[i].value;
        }
        t->series[i] = pairs[i].series;
    }
    t->from[t->len] = (uint32_t)len;
    free(pairs);
    return t;
}

/* Tags are made when they are first asked for, and then stay. */
const struct index_tag *
index_list_tag(struct index_list *l, uint64_t tagk)
{
    struct series_index *x = l->index;
    struct slot *s;
    struct index_tag *t;
    bool made;

    OBJ_CHECK(l, LIST_MAGIC);
    lock_take(&l->lock);
    for (t = l->tags; t != NULL && t->tagk != tagk; t = t->next)
        continue;
    made = t == NULL;
    if (made) {
        t = make_tag(l, tagk);
        t->next = l->tags;
        l->tags = t;
    }
    lock_drop(&l->lock);
    if (!made)
        return t;
    /* The bytes count while the list is its metric's. */
    lock_take(&x->lock);
    s = find(x, l->metric);
    if (s != NULL && s->list == l)
        book(x, s,
             sizeof *t + t->len * (sizeof *t->values + sizeof *t->from) +
                 t->from[t->len] * sizeof *t->series);
    lock_drop(&x->lock);
    return t;
}

/* -- caches ---------------------------------------------------------------- */

static void
clear_cache(struct index_list *l, struct cache *c) REQUIRES(l->lock)
{
    l->cache_bytes -= c->len * sizeof *c->ids + c->key_size;
    free(c->ids);
    *c = (struct cache){ 0 };
}

static struct cache *
cache_of(struct index_list *l, struct slice key) REQUIRES(l->lock)
{
    return &l->caches[hash_slice(key, 0) % CACHES];
}

void
index_list_remember(struct index_list *l, struct slice key, const uint64_t *ids,
                    size_t len)
{
    size_t bytes = len * sizeof *ids + key.size;
    struct cache *c;

    OBJ_CHECK(l, LIST_MAGIC);
    if (key.size == 0 || bytes > CACHE_BYTES / 4)
        return;
    lock_take(&l->lock);
    c = cache_of(l, key);
    clear_cache(l, c);
    for (size_t i = 0; l->cache_bytes + bytes > CACHE_BYTES; i++)
        clear_cache(l, &l->caches[i]);
    *c = (struct cache){ mem_new(bytes), len, key.size };
    if (len > 0)
        memcpy(c->ids, ids, len * sizeof *ids);
    memcpy(c->ids + len, key.data, key.size);
    l->cache_bytes += bytes;
    lock_drop(&l->lock);
}

bool
index_list_recall(struct index_list *l, struct slice key, struct arena *a,
                  uint64_t **ids, size_t *len)
{
    const struct cache *c;

    OBJ_CHECK(l, LIST_MAGIC);
    *ids = NULL;
    lock_take(&l->lock);
    c = cache_of(l, key);
    if (c->ids != NULL && slice_eq(slice_of(c->ids + c->len, c->key_size), key))
        *ids = arena_array(a, c->len + 1, sizeof **ids);
    if (*ids != NULL) {
        memcpy(*ids, c->ids, c->len * sizeof **ids);
        *len = c->len;
    }
    lock_drop(&l->lock);
    return *ids != NULL;
}
