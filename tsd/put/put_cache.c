/* An open-addressing table with linear probing.  Slots hold a hash, so that
 * most misses end without touching an entry; a look-up of many keys fetches
 * slots, entries and texts for 32 keys at once, because a large table lies far
 * from the CPU.
 *
 *     slots -> entries[id] -> text of the metric, text of the tags
 *
 * Texts are kept once: the metrics of a host share its tags, and the hosts
 * their metrics, which leaves some fifty bytes for each series.
 *
 * Before the table is asked, the entries that followed one another last time
 * are compared with the keys: where agents send the same series round after
 * round, nothing is hashed, and the entries, made in that order, lie in a row.
 *
 * When it is full, a hand goes round over the entries and removes every one
 * that was not looked up since the hand came by last (the "clock" algorithm).
 */
#include "config.h"

#include "tsd/put/put_cache.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "tsd/put/string_pool.h"

#define CACHE_MAGIC FOURCC('P', 'C', 'A', 'C')
#define FIRST_CAP   512
#define AT_ONCE     32

struct entry {
    series_ref ref;
    struct text *metric, *tags; /* NULL: free */
    uint32_t hash;
    uint8_t kind;
    atomic_uchar used; /* since the hand came by */
};

struct slot {
    uint32_t hash;
    uint32_t id; /* of an entry, + 1; 0: empty */
};

struct put_cache {
    uint32_t magic;
    uint64_t seed;
    size_t max_entries, max_bytes;
    struct rwlock lock;
    struct texts *texts GUARDED_BY(lock);
    struct entry *entries GUARDED_BY(lock); /* by id */
    /* By id: the id that followed, + 1; of a free one, the next free one. */
    atomic_uint *next GUARDED_BY(lock);
    struct slot *slots GUARDED_BY(lock); /* twice as many */
    uint32_t cap GUARDED_BY(lock);
    uint32_t ids GUARDED_BY(lock);     /* in use or free */
    uint32_t free_id GUARDED_BY(lock); /* + 1; 0: none */
    uint32_t len GUARDED_BY(lock);
    uint32_t hand GUARDED_BY(lock);
    uint64_t dropped GUARDED_BY(lock);
};

#define BYTES_EACH \
    (sizeof(struct entry) + sizeof(atomic_uint) + 2 * sizeof(struct slot))

static void
allocate(struct put_cache *c, uint32_t cap) REQUIRES(c->lock)
{
    c->cap = cap;
    c->entries = mem_resize(c->entries, cap, sizeof *c->entries);
    c->next = mem_resize(c->next, cap, sizeof *c->next);
    free(c->slots);
    c->slots = mem_new_array(2 * (size_t)cap, sizeof *c->slots);
}

struct put_cache *
put_cache_new(size_t max_entries, size_t max_bytes)
{
    struct put_cache *c = mem_new(sizeof *c);

    c->magic = CACHE_MAGIC;
    c->seed = hash_random_seed();
    c->max_entries = max_entries == 0 ? 1 : max_entries;
    if (c->max_entries > UINT32_MAX / 4)
        c->max_entries = UINT32_MAX / 4;
    c->max_bytes = max_bytes;
    rwlock_init(&c->lock);
    rwlock_take_write(&c->lock);
    c->texts = texts_new(c->seed);
    allocate(c, FIRST_CAP);
    rwlock_drop_write(&c->lock);
    return c;
}

void
put_cache_free(struct put_cache **cp)
{
    struct put_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_write(&c->lock);
    texts_free(&c->texts);
    free(c->entries);
    free(c->next);
    free(c->slots);
    rwlock_drop_write(&c->lock);
    rwlock_fini(&c->lock);
    OBJ_CLEAR(c);
    free(c);
}

static void
hash_key(const struct put_cache *c, struct put_key *key)
{
    key->hash = (uint32_t)hash_bytes(
        key->tags, key->tags_size,
        hash_bytes(key->metric, key->metric_size, c->seed + key->kind));
}

/* The slot that a hash asks for first. */
static size_t
home_of(const struct put_cache *c, uint32_t hash) REQUIRES_SHARED(c->lock)
{
    return (size_t)((uint64_t)hash * (2 * (uint64_t)c->cap) >> 32);
}

static bool
matches(const struct entry *x, const struct put_key *key)
{
    return x->kind == key->kind &&
           text_eq(x->metric, key->metric, key->metric_size) &&
           text_eq(x->tags, key->tags, key->tags_size);
}

/* The key's slot, or the empty one where it would go. */
static size_t
find_slot(const struct put_cache *c, const struct put_key *key)
    REQUIRES_SHARED(c->lock)
{
    size_t at = home_of(c, key->hash), len = 2 * (size_t)c->cap;

    for (;; at = at + 1 == len ? 0 : at + 1) {
        const struct slot *s = &c->slots[at];

        if (s->id == 0 ||
            (s->hash == key->hash && matches(&c->entries[s->id - 1], key)))
            return at;
    }
}

/* -- look-up --------------------------------------------------------------- */

static inline void
mark_used(struct entry *x)
{
    if (!atomic_load_explicit(&x->used, memory_order_relaxed))
        atomic_store_explicit(&x->used, 1, memory_order_relaxed);
}

/* Most tags lie within two lines; metrics are few, and near. */
static inline __attribute__((always_inline)) void
prefetch_tags(const struct entry *x)
{
    if (x->tags != NULL) {
        __builtin_prefetch(x->tags);
        __builtin_prefetch((const uint8_t *)x->tags + 64);
    }
}

/* How many keys, from the first on, are those that came next last time. */
static size_t
find_as_before(struct put_cache *c, const struct put_key *keys, size_t len,
               series_ref *refs, struct put_guess *guess)
    REQUIRES_SHARED(c->lock)
{
    uint32_t ids[AT_ONCE], id = guess->last;
    size_t n = 0, hits = 0;

    for (; n < len && id > 0 && id <= c->ids; n++) {
        id = atomic_load_explicit(&c->next[id - 1], memory_order_relaxed);
        if (id == 0 || id > c->ids)
            break;
        ids[n] = id - 1;
        __builtin_prefetch(&c->entries[id - 1]);
    }
    for (size_t i = 0; i < n; i++)
        prefetch_tags(&c->entries[ids[i]]);
    for (; hits < n; hits++) {
        struct entry *x = &c->entries[ids[hits]];

        if (x->tags == NULL || !matches(x, &keys[hits]))
            break;
        refs[hits] = x->ref;
        mark_used(x);
        guess->last = ids[hits] + 1;
    }
    return hits;
}

static void
prefetch_by_hash(struct put_cache *c, struct put_key *keys, size_t len)
    REQUIRES_SHARED(c->lock)
{
    const struct entry *entries[AT_ONCE];

    for (size_t i = 0; i < len; i++) {
        hash_key(c, &keys[i]);
        __builtin_prefetch(&c->slots[home_of(c, keys[i].hash)]);
    }
    for (size_t i = 0; i < len; i++) {
        const struct slot *s = &c->slots[home_of(c, keys[i].hash)];

        /* Where the first guess is another's, the search itself waits. */
        entries[i] = s->id == 0 ? NULL : &c->entries[s->id - 1];
        __builtin_prefetch(entries[i]);
    }
    for (size_t i = 0; i < len; i++)
        if (entries[i] != NULL)
            prefetch_tags(entries[i]);
}

static void
find_by_hash(struct put_cache *c, struct put_key *keys, size_t len,
             series_ref *refs, struct put_guess *guess) REQUIRES_SHARED(c->lock)
{
    prefetch_by_hash(c, keys, len);
    for (size_t i = 0; i < len; i++) {
        uint32_t id = c->slots[find_slot(c, &keys[i])].id;

        refs[i] = SERIES_REF_NONE;
        if (id == 0)
            continue;
        refs[i] = c->entries[id - 1].ref;
        mark_used(&c->entries[id - 1]);
        if (guess->last > 0 && guess->last <= c->ids &&
            c->entries[guess->last - 1].tags != NULL)
            atomic_store_explicit(&c->next[guess->last - 1], id,
                                  memory_order_relaxed);
        guess->last = id;
    }
}

void
put_cache_find(struct put_cache *c, struct put_key *keys, size_t len,
               series_ref *refs, struct put_guess *guess)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_read(&c->lock);
    for (size_t i = 0; i < len;) {
        size_t n = len - i < AT_ONCE ? len - i : AT_ONCE;
        size_t hits = find_as_before(c, keys + i, n, refs + i, guess);

        if (hits < n)
            find_by_hash(c, keys + i + hits, n - hits, refs + i + hits, guess);
        i += n;
    }
    rwlock_drop_read(&c->lock);
}

/* -- entries --------------------------------------------------------------- */

static size_t
bytes_of(const struct put_cache *c) REQUIRES_SHARED(c->lock)
{
    return c->cap * BYTES_EACH + texts_bytes(c->texts);
}

/* Empties a slot and moves back those behind it that had to evade. */
static void
empty_slot(struct put_cache *c, size_t at) REQUIRES(c->lock)
{
    size_t len = 2 * (size_t)c->cap, next = at;

    for (;;) {
        c->slots[at].id = 0;
        for (;;) {
            size_t home;

            next = next + 1 == len ? 0 : next + 1;
            if (c->slots[next].id == 0)
                return;
            home = home_of(c, c->slots[next].hash);
            /* May 'next' move to 'at'?  Not if its home lies behind 'at'. */
            if ((next + len - home) % len >= (next + len - at) % len)
                break;
        }
        c->slots[at] = c->slots[next];
        at = next;
    }
}

static void
remove_entry(struct put_cache *c, uint32_t id) REQUIRES(c->lock)
{
    struct entry *x = &c->entries[id];
    size_t at = home_of(c, x->hash), len = 2 * (size_t)c->cap;

    while (c->slots[at].id != id + 1)
        at = at + 1 == len ? 0 : at + 1;
    empty_slot(c, at);
    text_drop(c->texts, x->metric);
    text_drop(c->texts, x->tags);
    x->metric = x->tags = NULL;
    atomic_store_explicit(&c->next[id], c->free_id, memory_order_relaxed);
    c->free_id = id + 1;
    c->len--;
    c->dropped++;
}

static void
grow(struct put_cache *c, uint32_t cap) REQUIRES(c->lock)
{
    allocate(c, cap);
    for (uint32_t id = 0; id < c->ids; id++) {
        size_t at, len = 2 * (size_t)cap;

        if (c->entries[id].tags == NULL)
            continue;
        at = home_of(c, c->entries[id].hash);
        while (c->slots[at].id != 0)
            at = at + 1 == len ? 0 : at + 1;
        c->slots[at] = (struct slot){ c->entries[id].hash, id + 1 };
    }
}

/* Room for one entry with 'text' bytes: by more memory, else by removing, two
 * rounds at most: the second finds all of them unused. */
static void
make_room(struct put_cache *c, size_t text) REQUIRES(c->lock)
{
    uint32_t cap = c->cap + c->cap / 2;

    if (c->len == c->cap && c->len < c->max_entries &&
        bytes_of(c) + (cap - c->cap) * BYTES_EACH + text <= c->max_bytes)
        grow(c, cap);
    while (c->len > 0 && (c->len >= c->max_entries || c->len == c->cap ||
                          bytes_of(c) + text > c->max_bytes)) {
        struct entry *x = &c->entries[c->hand];

        if (x->tags != NULL &&
            !atomic_load_explicit(&x->used, memory_order_relaxed))
            remove_entry(c, c->hand);
        else
            atomic_store_explicit(&x->used, 0, memory_order_relaxed);
        c->hand = c->hand + 1 == c->ids ? 0 : c->hand + 1;
    }
}

static uint32_t
take_id(struct put_cache *c) REQUIRES(c->lock)
{
    uint32_t id = c->free_id;

    if (id == 0)
        return c->ids++;
    c->free_id = atomic_load_explicit(&c->next[id - 1], memory_order_relaxed);
    return id - 1;
}

void
put_cache_add(struct put_cache *c, struct put_key *key, series_ref ref)
{
    size_t text = texts_cost(key->metric_size) + texts_cost(key->tags_size), at;
    uint32_t id;

    OBJ_CHECK(c, CACHE_MAGIC);
    if (text > c->max_bytes / 4)
        return;
    hash_key(c, key);
    rwlock_take_write(&c->lock);
    at = find_slot(c, key);
    if (c->slots[at].id != 0) {
        c->entries[c->slots[at].id - 1].ref = ref;
        rwlock_drop_write(&c->lock);
        return;
    }
    make_room(c, text);
    id = take_id(c);
    c->entries[id] = (struct entry){
        .ref = ref,
        .metric = text_take(c->texts, slice_of(key->metric, key->metric_size)),
        .tags = text_take(c->texts, slice_of(key->tags, key->tags_size)),
        .hash = key->hash,
        .kind = key->kind,
    };
    atomic_init(&c->next[id], 0);
    at = find_slot(c, key);
    c->slots[at] = (struct slot){ key->hash, id + 1 };
    c->len++;
    rwlock_drop_write(&c->lock);
}

void
put_cache_clear(struct put_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_write(&c->lock);
    texts_free(&c->texts);
    c->texts = texts_new(c->seed);
    c->ids = c->free_id = c->len = c->hand = 0;
    allocate(c, FIRST_CAP);
    rwlock_drop_write(&c->lock);
}

struct put_cache_counts
put_cache_counts(struct put_cache *c)
{
    struct put_cache_counts n;

    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_read(&c->lock);
    n = (struct put_cache_counts){ c->len, bytes_of(c), c->dropped };
    rwlock_drop_read(&c->lock);
    return n;
}
