/* See uid/series/series_index_priv.h.  Metrics lie in sets of four slots; one
 * that comes takes the slot of its set that was asked for least lately.
 *
 * Keys of a list have the metric in common and mostly the tagks, too: what is
 * kept of each is the number of its tag-key set, and its tagvs. */
#include "config.h"

#include "uid/series/series_index_priv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"

#define INDEX_MAGIC FOURCC('S', 'I', 'D', 'X')
#define LIST_MAGIC  FOURCC('S', 'I', 'D', 'L')

/* A list is made when scans have cost this part of it: most metrics that are
 * queried some times are queried often. */
#define EAGER 4

#define SETS       256
#define WAYS       4
#define BYTES_MAX  ((size_t)64 << 20)
#define LIST_BYTES (BYTES_MAX / 2)
#define IDLE_US    (INT64_C(10) * 1000 * 1000)

/* The values of one tagk, and for each the series that have it. */
struct index_tag {
    struct index_tag *next;
    uint64_t tagk;
    size_t len;
    uint64_t *values;
    uint32_t *from; /* len + 1 places in 'series' */
    uint32_t *series;
};

#define CACHES      256
#define CACHE_BYTES ((size_t)64 << 10)

struct cache {
    uint8_t *key;
    size_t key_size;
    uint64_t *ids;
    size_t len;
};

#define LIST_TAGK_SETS 255

/* Tagks that come together. */
struct list_tagk_set {
    size_t tags;
    uint8_t tagks[TSUID_MAX];
};

struct index_list {
    uint32_t magic;
    struct series_index *index;
    struct key_layout widths;
    uint64_t metric, count;
    size_t refs;             /* guarded by the index' lock */
    struct index_list *next; /* of the dead */
    struct list_tagk_set *tagk_sets;
    size_t tagk_sets_len;
    struct buf keys; /* <tag-key set:1> <tagv>... */
    uint32_t *ends;
    size_t len, cap;
    struct lock lock;
    struct index_tag *tags GUARDED_BY(lock);
    struct cache caches[CACHES] GUARDED_BY(lock);
    size_t next_cache GUARDED_BY(lock);
    size_t cache_bytes GUARDED_BY(lock);
};

/* Series that came after a list are looked through one by one. */
#define MORE_MAX   512
#define MORE_BYTES ((size_t)32 << 10)

struct slot {
    uint64_t metric;       /* 0: free */
    uint64_t spent;        /* keys that scans have looked at without a list */
    bool making;           /* a caller makes a list */
    bool too_large;        /* it never fits */
    int64_t not_before_us; /* no list is made earlier: there was no room */
    int64_t used_us;
    struct index_list *list;
    size_t bytes;
    struct buf later; /* <size:2> <key> of those that came since */
    size_t later_len;
    struct index_more *more; /* the same in order; NULL: not made yet */
};

struct series_index {
    uint32_t magic;
    struct key_layout widths;
    struct lock lock;
    struct slot slots[SETS][WAYS] GUARDED_BY(lock);
    size_t bytes GUARDED_BY(lock);
    struct index_list *dead GUARDED_BY(lock); /* freed when it is dropped */
    atomic_size_t lists;                      /* that slots have */
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

static void
free_list(struct index_list *l)
{
    OBJ_CHECK(l, LIST_MAGIC);
    while (l->tags != NULL) {
        struct index_tag *t = l->tags;

        l->tags = t->next;
        free(t->values);
        free(t->from);
        free(t->series);
        free(t);
    }
    for (size_t i = 0; i < CACHES; i++) {
        free(l->caches[i].key);
        free(l->caches[i].ids);
    }
    lock_fini(&l->lock);
    buf_fini(&l->keys);
    free(l->tagk_sets);
    free(l->ends);
    OBJ_CLEAR(l);
    free(l);
}

static void
unref(struct series_index *x, struct index_list *l) REQUIRES(x->lock)
{
    if (l == NULL || --l->refs > 0)
        return;
    l->next = x->dead;
    x->dead = l;
}

/* Frees what is not used any more behind the lock: it may be 100 MB. */
static void
unlock(struct series_index *x) RELEASE(x->lock)
{
    struct index_list *dead = x->dead;

    x->dead = NULL;
    lock_drop(&x->lock);
    while (dead != NULL) {
        struct index_list *l = dead;

        dead = l->next;
        free_list(l);
    }
}

static void
unref_more(struct index_more *m)
{
    if (m == NULL || --m->refs > 0)
        return;
    free(m->keys);
    free(m);
}

static void
clear_later(struct slot *s)
{
    unref_more(s->more);
    buf_fini(&s->later);
    s->more = NULL;
    s->later_len = 0;
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
    clear_later(s);
}

static void
clear_slot(struct series_index *x, struct slot *s) REQUIRES(x->lock)
{
    clear_list(x, s);
    *s = (struct slot){ 0 };
}

void
series_index_free(struct series_index **xp)
{
    struct series_index *x = *xp;

    *xp = NULL;
    if (x == NULL)
        return;
    OBJ_CHECK(x, INDEX_MAGIC);
    lock_take(&x->lock);
    for (size_t i = 0; i < SETS; i++)
        for (size_t k = 0; k < WAYS; k++)
            clear_slot(x, &x->slots[i][k]);
    unlock(x);
    lock_fini(&x->lock);
    OBJ_CLEAR(x);
    free(x);
}

/* -- slots ----------------------------------------------------------------- */

/* The metric's slot, or NULL. */
static struct slot *
find(struct series_index *x, uint64_t metric) REQUIRES(x->lock)
{
    struct slot *set = x->slots[metric % SETS];

    for (size_t k = 0; k < WAYS; k++)
        if (set[k].metric == metric)
            return &set[k];
    return NULL;
}

static struct slot *
replace(struct series_index *x, uint64_t metric) REQUIRES(x->lock)
{
    struct slot *set = x->slots[metric % SETS], *oldest = set;

    for (size_t k = 1; k < WAYS; k++)
        if (set[k].used_us < oldest->used_us)
            oldest = &set[k];
    clear_slot(x, oldest);
    oldest->metric = metric;
    return oldest;
}

/* -- those that come later ------------------------------------------------- */

static int
compare_keys(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;

    return slice_cmp(*x, *y);
}

/* What came later in order, and each once; the bytes lie behind the keys. */
static struct index_more *
make_more(const struct slot *s)
{
    struct index_more *m = mem_new(sizeof *m);
    struct cursor c;
    uint8_t *bytes;

    m->refs = 1;
    m->keys = mem_new(s->later_len * sizeof *m->keys + s->later.size);
    bytes = (uint8_t *)(m->keys + s->later_len);
    memcpy(bytes, s->later.data, s->later.size);
    c = cursor_of(slice_of(bytes, s->later.size));
    for (size_t i = 0; i < s->later_len; i++)
        m->keys[i] = cursor_bytes(&c, cursor_u16(&c));
    qsort(m->keys, s->later_len, sizeof *m->keys, compare_keys);
    for (size_t i = 0; i < s->later_len; i++)
        if (m->len == 0 || !slice_eq(m->keys[m->len - 1], m->keys[i]))
            m->keys[m->len++] = m->keys[i];
    return m;
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
    if (s != NULL && s->list != NULL) {
        unref_more(s->more);
        s->more = NULL;
        buf_put_u16(&s->later, (uint16_t)key.size);
        buf_put_slice(&s->later, key);
        if (++s->later_len > MORE_MAX || s->later.size > MORE_BYTES ||
            s->later.failed)
            clear_list(x, s);
    }
    unlock(x);
}

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
    s = find(x, metric);
    if (s == NULL)
        s = replace(x, metric);
    s->used_us = clock_monotonic_us();
    if (s->list != NULL && s->list->count + s->later_len == count) {
        l = s->list;
        l->refs++;
        if (s->more == NULL && s->later_len > 0)
            s->more = make_more(s);
        *more = s->more;
        if (*more != NULL)
            s->more->refs++;
    } else if (s->spent >= count / EAGER && count > 0 && s->spent > 0 &&
               !s->making && !s->too_large && s->used_us >= s->not_before_us) {
        *make = s->making = true;
        s->spent = 0;
    }
    unlock(x);
    return l;
}

void
series_index_drop(struct series_index *x, struct index_list **lp,
                  struct index_more **more)
{
    struct index_list *l = *lp;

    *lp = NULL;
    OBJ_CHECK(x, INDEX_MAGIC);
    lock_take(&x->lock);
    unref_more(*more);
    *more = NULL;
    unref(x, l);
    unlock(x);
}

/* Takes lists that are idle until there is room. */
static bool
make_room(struct series_index *x, size_t bytes, const struct slot *keep)
    REQUIRES(x->lock)
{
    int64_t before_us = clock_monotonic_us() - IDLE_US;

    for (size_t i = 0; i < SETS && x->bytes + bytes > BYTES_MAX; i++)
        for (size_t k = 0; k < WAYS; k++) {
            struct slot *s = &x->slots[i][k];

            if (s != keep && s->list != NULL && s->used_us < before_us)
                clear_slot(x, s);
        }
    return x->bytes + bytes <= BYTES_MAX;
}

/* Nothing is added any more. */
static void
trim(struct index_list *l)
{
    if (l->len == 0)
        return;
    l->ends = mem_resize(l->ends, l->len, sizeof *l->ends);
    l->cap = l->len;
    l->keys.data = mem_resize(l->keys.data, l->keys.size, 1);
    l->keys.cap = l->keys.size;
}

/* Books bytes of a slot's list; without room for them the list goes. */
static void
book(struct series_index *x, struct slot *s, size_t bytes) REQUIRES(x->lock)
{
    if (make_room(x, bytes, s)) {
        x->bytes += bytes;
        s->bytes += bytes;
        return;
    }
    clear_list(x, s);
    s->not_before_us = clock_monotonic_us() + IDLE_US;
}

struct index_list *
series_index_made(struct series_index *x, struct index_list *l, bool fits,
                  bool whole)
{
    struct slot *s;
    bool good = fits && whole && l->len == l->count;

    OBJ_CHECK(x, INDEX_MAGIC);
    OBJ_CHECK(l, LIST_MAGIC);
    trim(l);
    lock_take(&x->lock);
    s = find(x, l->metric);
    if (s != NULL) {
        s->making = false;
        s->too_large = !fits;
    }
    if (s != NULL && good) {
        clear_list(x, s);
        (void)atomic_fetch_add(&x->lists, 1);
        s->list = l;
        l->refs++;
        book(x, s,
             l->keys.cap + l->cap * sizeof *l->ends + CACHE_BYTES + MORE_BYTES);
    }
    if (!good) {
        unref(x, l);
        l = NULL;
    }
    unlock(x);
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

/* The tag-key set of a TSUID, found or added; LIST_TAGK_SETS: there are too
 * many. */
static size_t
tagk_set_of(struct index_list *l, struct slice tsuid)
{
    const struct key_layout *w = &l->widths;
    struct list_tagk_set tagk_set = { .tags = tsuid_tags(w, tsuid) };
    size_t size = tagk_set.tags * w->tagk_width;

    for (size_t i = 0; i < tagk_set.tags; i++)
        memcpy(tagk_set.tagks + i * w->tagk_width, tsuid_tagk(w, tsuid, i).data,
               w->tagk_width);
    /* The newest one is most likely. */
    for (size_t i = l->tagk_sets_len; i-- > 0;)
        if (l->tagk_sets[i].tags == tagk_set.tags &&
            memcmp(l->tagk_sets[i].tagks, tagk_set.tagks, size) == 0)
            return i;
    if (l->tagk_sets_len == LIST_TAGK_SETS)
        return LIST_TAGK_SETS;
    l->tagk_sets =
        mem_resize(l->tagk_sets, l->tagk_sets_len + 1, sizeof *l->tagk_sets);
    l->tagk_sets[l->tagk_sets_len] = tagk_set;
    return l->tagk_sets_len++;
}

bool
index_list_add(struct index_list *l, struct slice key)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);
    size_t tagk_set;

    if (l->len == l->cap) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        uint32_t *ends = realloc(l->ends, cap * sizeof *ends);

        if (ends == NULL)
            return false;
        l->ends = ends;
        l->cap = cap;
    }
    if (!tsuid_is_valid(&l->widths, tsuid))
        return false;
    tagk_set = tagk_set_of(l, tsuid);
    if (tagk_set == LIST_TAGK_SETS)
        return false;
    buf_put_u8(&l->keys, (uint8_t)tagk_set);
    for (size_t i = 0; i < l->tagk_sets[tagk_set].tags; i++)
        buf_put_slice(&l->keys, tsuid_tagv(&l->widths, tsuid, i));
    if (l->keys.failed || l->keys.size > LIST_BYTES)
        return false;
    l->ends[l->len++] = (uint32_t)l->keys.size;
    return true;
}

size_t
index_list_len(const struct index_list *l)
{
    return l->len;
}

/* <tag-key set:1> <tagv>... of a series. */
static const uint8_t *
record_of(const struct index_list *l, size_t i)
{
    return l->keys.data + (i == 0 ? 0 : l->ends[i - 1]);
}

struct slice
index_list_key(const struct index_list *l, size_t i, uint8_t *to)
{
    const struct key_layout *w = &l->widths;
    const uint8_t *record = record_of(l, i), *tagv = record + 1;
    const struct list_tagk_set *tagk_set = &l->tagk_sets[*record];
    uint8_t *at = to;

    *at++ = TABLE_SERIES;
    key_put_uint(at, l->metric, w->metric_width);
    at += w->metric_width;
    for (size_t k = 0; k < tagk_set->tags; k++) {
        memcpy(at, tagk_set->tagks + k * w->tagk_width, w->tagk_width);
        at += w->tagk_width;
        memcpy(at, tagv, w->tagv_width);
        at += w->tagv_width;
        tagv += w->tagv_width;
    }
    return slice_of(to, (size_t)(at - to));
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

/* Where in each tag-key set's records the values of the tagk are; 0: nowhere.
 */
static size_t *
places_of(const struct index_list *l, uint64_t tagk)
{
    const struct key_layout *w = &l->widths;
    size_t *places = mem_new_array(l->tagk_sets_len + 1, sizeof *places);

    for (size_t i = 0; i < l->tagk_sets_len; i++)
        for (size_t k = l->tagk_sets[i].tags; k-- > 0;)
            if (key_get_uint(l->tagk_sets[i].tagks + k * w->tagk_width,
                             w->tagk_width) == tagk)
                places[i] = 1 + k * w->tagv_width;
    return places;
}

static size_t
list_pairs(const struct index_list *l, uint64_t tagk, struct pair *out)
{
    size_t *places = places_of(l, tagk), len = 0;

    for (size_t i = 0; i < l->len; i++) {
        const uint8_t *record = record_of(l, i);
        size_t at = places[*record];

        if (at > 0)
            out[len++] =
                (struct pair){ key_get_uint(record + at, l->widths.tagv_width),
                               (uint32_t)i };
    }
    free(places);
    return len;
}

static struct index_tag *
make_tag(const struct index_list *l, uint64_t tagk)
{
    struct index_tag *t = mem_new(sizeof *t);
    struct pair *pairs = mem_new_array(l->len + 1, sizeof *pairs);
    size_t len = list_pairs(l, tagk, pairs), values = 0;

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

/* The bytes count while the list is its metric's. */
static void
book_tag(struct index_list *l, const struct index_tag *t)
{
    struct series_index *x = l->index;
    struct slot *s;

    lock_take(&x->lock);
    s = find(x, l->metric);
    if (s != NULL && s->list == l)
        book(x, s,
             sizeof *t + t->len * (sizeof *t->values + sizeof *t->from) +
                 t->from[t->len] * sizeof *t->series);
    unlock(x);
}

/* Tags are made when they are first asked for, and then stay. */
static const struct index_tag *
tag_of(struct index_list *l, uint64_t tagk)
{
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
    if (made)
        book_tag(l, t);
    return t;
}

void
index_list_values(struct index_list *l, uint64_t tagk, const uint64_t **values,
                  size_t *len)
{
    const struct index_tag *t = tag_of(l, tagk);

    *values = t->values;
    *len = t->len;
}

void
index_list_with(struct index_list *l, uint64_t tagk, uint64_t tagv,
                const uint32_t **series, size_t *len)
{
    const struct index_tag *t = tag_of(l, tagk);
    size_t from = 0, to = t->len;

    *series = NULL;
    *len = 0;
    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (t->values[middle] < tagv)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == t->len || t->values[from] != tagv)
        return;
    *series = t->series + t->from[from];
    *len = t->from[from + 1] - t->from[from];
}

/* -- caches -----------------------------------------------------------------
 */

static struct cache *
find_cache(struct index_list *l, struct slice key) REQUIRES(l->lock)
{
    for (size_t i = 0; i < CACHES; i++)
        if (l->caches[i].key != NULL &&
            slice_eq(slice_of(l->caches[i].key, l->caches[i].key_size), key))
            return &l->caches[i];
    return NULL;
}

static size_t
cache_bytes(size_t key_size, size_t len)
{
    return key_size + len * sizeof(uint64_t) + 64;
}

static void
drop_cache(struct index_list *l, struct cache *m) REQUIRES(l->lock)
{
    if (m->key == NULL)
        return;
    l->cache_bytes -= cache_bytes(m->key_size, m->len);
    free(m->key);
    free(m->ids);
    *m = (struct cache){ 0 };
}

/* Drops the oldest ones until there is room. */
static struct cache *
next_cache(struct index_list *l, size_t bytes) REQUIRES(l->lock)
{
    size_t at = l->next_cache++ % CACHES;

    drop_cache(l, &l->caches[at]);
    for (size_t i = at; l->cache_bytes + bytes > CACHE_BYTES;) {
        i = (i + 1) % CACHES;
        drop_cache(l, &l->caches[i]);
    }
    l->cache_bytes += bytes;
    return &l->caches[at];
}

void
index_list_remember(struct index_list *l, struct slice key, const uint64_t *ids,
                    size_t len)
{
    size_t bytes = cache_bytes(key.size, len);

    OBJ_CHECK(l, LIST_MAGIC);
    if (key.size == 0 || bytes > CACHE_BYTES / 4)
        return;
    lock_take(&l->lock);
    if (find_cache(l, key) == NULL) {
        struct cache *m = next_cache(l, bytes);

        m->key = mem_new(key.size);
        m->key_size = key.size;
        memcpy(m->key, key.data, key.size);
        m->ids = mem_new_array(len + 1, sizeof *m->ids);
        m->len = len;
        if (len > 0)
            memcpy(m->ids, ids, len * sizeof *m->ids);
    }
    lock_drop(&l->lock);
}

bool
index_list_recall(struct index_list *l, struct slice key, struct arena *a,
                  uint64_t **ids, size_t *len)
{
    const struct cache *m;

    OBJ_CHECK(l, LIST_MAGIC);
    *ids = NULL;
    lock_take(&l->lock);
    m = find_cache(l, key);
    if (m != NULL &&
        (*ids = arena_array(a, m->len + 1, sizeof **ids)) != NULL) {
        memcpy(*ids, m->ids, m->len * sizeof **ids);
        *len = m->len;
    }
    lock_drop(&l->lock);
    return *ids != NULL;
}
