/* An open-addressing table with linear probing.  Slots hold the hash, so that
 * most misses end without touching an entry; a look-up of many keys fetches
 * slots and entries for 32 keys at once, because a large table lies far from
 * the CPU.
 *
 * Before the table is asked, the entries that followed one another last time
 * are compared with the keys: where agents send the same series round after
 * round, nothing is hashed, and the entries, made in that order, lie in a row.
 *
 * When it is full, a hand goes round over the slots and removes every entry
 * that was not looked up since the hand came by last (the "clock" algorithm).
 */
#include "config.h"

#include "tsd/put/put_cache.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"

#define CACHE_MAGIC FOURCC('P', 'C', 'A', 'C')
#define FIRST_SLOTS 1024
#define AT_ONCE     32

struct entry {
    series_ref ref;
    uint32_t id; /* its place in entries[] */
    uint32_t metric_size, tags_size;
    uint8_t kind;
    atomic_uchar used; /* since the hand came by */
    uint8_t text[];    /* metric, tags */
};

struct slot {
    uint64_t hash;
    struct entry *entry; /* NULL: empty */
};

struct put_cache {
    uint32_t magic;
    uint64_t seed;
    size_t max_entries, max_bytes;
    struct rwlock lock;
    struct slot *slots GUARDED_BY(lock);
    size_t mask GUARDED_BY(lock); /* slots - 1 */
    size_t len GUARDED_BY(lock);
    size_t bytes GUARDED_BY(lock);
    size_t hand GUARDED_BY(lock);
    struct entry **entries GUARDED_BY(lock); /* by id; NULL: free */
    /* By id: the id that followed, + 1; of a free one, the next free one. */
    atomic_uint *next GUARDED_BY(lock);
    uint32_t entries_len GUARDED_BY(lock), entries_cap GUARDED_BY(lock);
    uint32_t free_id GUARDED_BY(lock); /* + 1; 0: none */
    uint64_t dropped GUARDED_BY(lock);
};

struct put_cache *
put_cache_new(size_t max_entries, size_t max_bytes)
{
    struct put_cache *c = mem_new(sizeof *c);

    c->magic = CACHE_MAGIC;
    c->seed = hash_random_seed();
    c->max_entries = max_entries == 0 ? 1 : max_entries;
    c->max_bytes = max_bytes;
    rwlock_init(&c->lock);
    c->mask = FIRST_SLOTS - 1;
    c->slots = mem_new_array(FIRST_SLOTS, sizeof *c->slots);
    c->bytes = FIRST_SLOTS * sizeof *c->slots;
    return c;
}

void
put_cache_free(struct put_cache **c)
{
    if (*c == NULL)
        return;
    put_cache_clear(*c);
    rwlock_fini(&(*c)->lock);
    free((*c)->slots);
    free((*c)->entries);
    free((*c)->next);
    OBJ_CLEAR(*c);
    free(*c);
    *c = NULL;
}

static void
hash_key(const struct put_cache *c, struct put_key *key)
{
    key->hash = hash_bytes(
        key->tags, key->tags_size,
        hash_bytes(key->metric, key->metric_size, c->seed + key->kind));
}

static bool
matches(const struct entry *x, const struct put_key *key)
{
    return x->metric_size == key->metric_size &&
           x->tags_size == key->tags_size && x->kind == key->kind &&
           memcmp(x->text, key->metric, x->metric_size) == 0 &&
           memcmp(x->text + x->metric_size, key->tags, x->tags_size) == 0;
}

/* The key's slot, or the empty one where it would go. */
static size_t
find_slot(const struct put_cache *c, const struct put_key *key)
    REQUIRES_SHARED(c->lock)
{
    size_t at = key->hash & c->mask;

    for (;; at = (at + 1) & c->mask) {
        const struct slot *s = &c->slots[at];

        if (s->entry == NULL ||
            (s->hash == key->hash && matches(s->entry, key)))
            return at;
    }
}

/* -- look-up --------------------------------------------------------------- */

static void
mark_used(struct entry *x)
{
    if (!atomic_load_explicit(&x->used, memory_order_relaxed))
        atomic_store_explicit(&x->used, 1, memory_order_relaxed);
}

static void
prefetch_entry(const struct entry *x)
{
    __builtin_prefetch(x);
    __builtin_prefetch((const uint8_t *)x + 64);
    __builtin_prefetch((const uint8_t *)x + 128);
}

/* How many keys, from the first on, are those that came next last time. */
static size_t
find_as_before(struct put_cache *c, const struct put_key *keys, size_t len,
               series_ref *refs, struct put_guess *guess)
    REQUIRES_SHARED(c->lock)
{
    struct entry *guesses[AT_ONCE];
    uint32_t id = guess->last;
    size_t n = 0, hits = 0;

    for (; n < len && id > 0 && id <= c->entries_len; n++) {
        id = atomic_load_explicit(&c->next[id - 1], memory_order_relaxed);
        if (id == 0 || id > c->entries_len || c->entries[id - 1] == NULL)
            break;
        guesses[n] = c->entries[id - 1];
        prefetch_entry(guesses[n]);
    }
    for (; hits < n && matches(guesses[hits], &keys[hits]); hits++) {
        refs[hits] = guesses[hits]->ref;
        mark_used(guesses[hits]);
        guess->last = guesses[hits]->id + 1;
    }
    return hits;
}

static void
find_by_hash(struct put_cache *c, struct put_key *keys, size_t len,
             series_ref *refs, struct put_guess *guess) REQUIRES_SHARED(c->lock)
{
    for (size_t i = 0; i < len; i++) {
        hash_key(c, &keys[i]);
        __builtin_prefetch(&c->slots[keys[i].hash & c->mask]);
    }
    for (size_t i = 0; i < len; i++) {
        const struct slot *s = &c->slots[keys[i].hash & c->mask];

        /* Where the first guess is another's, the search below waits. */
        if (s->entry != NULL)
            prefetch_entry(s->entry);
    }
    for (size_t i = 0; i < len; i++) {
        struct entry *x = c->slots[find_slot(c, &keys[i])].entry;

        refs[i] = x == NULL ? SERIES_REF_NONE : x->ref;
        if (x == NULL)
            continue;
        mark_used(x);
        if (guess->last > 0 && guess->last <= c->entries_len &&
            c->entries[guess->last - 1] != NULL)
            atomic_store_explicit(&c->next[guess->last - 1], x->id + 1,
                                  memory_order_relaxed);
        guess->last = x->id + 1;
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

        find_by_hash(c, keys + i + hits, n - hits, refs + i + hits, guess);
        i += n;
    }
    rwlock_drop_read(&c->lock);
}

/* -- entries --------------------------------------------------------------- */

static size_t
entry_bytes(const struct entry *x)
{
    /* What malloc() adds, too; and its place in the order. */
    return (sizeof *x + x->metric_size + x->tags_size + 8 + 15) / 16 * 16 +
           sizeof(struct entry *) + sizeof(atomic_uint);
}

static void
take_id(struct put_cache *c, struct entry *x) REQUIRES(c->lock)
{
    if (c->free_id > 0) {
        x->id = c->free_id - 1;
        c->free_id =
            atomic_load_explicit(&c->next[x->id], memory_order_relaxed);
    } else {
        if (c->entries_len == c->entries_cap) {
            c->entries_cap = c->entries_cap == 0 ? 1024 : c->entries_cap * 2;
            c->entries =
                mem_resize(c->entries, c->entries_cap, sizeof(struct entry *));
            c->next = mem_resize(c->next, c->entries_cap, sizeof *c->next);
        }
        x->id = c->entries_len++;
    }
    c->entries[x->id] = x;
    atomic_init(&c->next[x->id], 0);
}

static void
drop_entry(struct put_cache *c, struct entry *x) REQUIRES(c->lock)
{
    c->entries[x->id] = NULL;
    atomic_store_explicit(&c->next[x->id], c->free_id, memory_order_relaxed);
    c->free_id = x->id + 1;
    free(x);
}

/* Empties a slot and moves back those behind it that had to evade. */
static void
remove_slot(struct put_cache *c, size_t at) REQUIRES(c->lock)
{
    struct slot *slots = c->slots;
    size_t next = at;

    c->bytes -= entry_bytes(slots[at].entry);
    c->len--;
    c->dropped++;
    drop_entry(c, slots[at].entry);
    for (;;) {
        slots[at].entry = NULL;
        for (;;) {
            size_t home;

            next = (next + 1) & c->mask;
            if (slots[next].entry == NULL)
                return;
            home = slots[next].hash & c->mask;
            /* May 'next' move to 'at'?  Not if its home lies behind 'at'. */
            if (((next - home) & c->mask) >= ((next - at) & c->mask))
                break;
        }
        slots[at] = slots[next];
        at = next;
    }
}

static bool
is_full(const struct put_cache *c, size_t more) REQUIRES_SHARED(c->lock)
{
    return c->len >= c->max_entries ||
           (c->len > 0 && c->bytes + more > c->max_bytes);
}

/* Two rounds at most: the second finds all of them unused. */
static void
make_room(struct put_cache *c, size_t more) REQUIRES(c->lock)
{
    while (is_full(c, more)) {
        struct entry *x = c->slots[c->hand].entry;

        if (x != NULL && !atomic_load_explicit(&x->used, memory_order_relaxed))
            remove_slot(c, c->hand);
        else if (x != NULL)
            atomic_store_explicit(&x->used, 0, memory_order_relaxed);
        c->hand = (c->hand + 1) & c->mask;
    }
}

static void
grow(struct put_cache *c) REQUIRES(c->lock)
{
    size_t len = 2 * (c->mask + 1);
    struct slot *old = c->slots;
    struct slot *slots = mem_new_array(len, sizeof *slots);

    for (size_t i = 0; i <= c->mask; i++) {
        size_t at = old[i].hash & (len - 1);

        if (old[i].entry == NULL)
            continue;
        while (slots[at].entry != NULL)
            at = (at + 1) & (len - 1);
        slots[at] = old[i];
    }
    free(old);
    c->slots = slots;
    c->bytes += (len - c->mask - 1) * sizeof *slots;
    c->mask = len - 1;
    c->hand = 0;
}

void
put_cache_add(struct put_cache *c, struct put_key *key, series_ref ref)
{
    size_t text = (size_t)key->metric_size + key->tags_size, at;
    struct entry *x;

    OBJ_CHECK(c, CACHE_MAGIC);
    if (text > c->max_bytes / 4)
        return;
    hash_key(c, key);
    rwlock_take_write(&c->lock);
    at = find_slot(c, key);
    if (c->slots[at].entry != NULL) {
        c->slots[at].entry->ref = ref;
        rwlock_drop_write(&c->lock);
        return;
    }
    x = mem_new(sizeof *x + text);
    x->ref = ref;
    x->metric_size = key->metric_size;
    x->tags_size = key->tags_size;
    x->kind = key->kind;
    memcpy(x->text, key->metric, key->metric_size);
    memcpy(x->text + key->metric_size, key->tags, key->tags_size);
    make_room(c, entry_bytes(x));
    if (c->len >= (c->mask + 1) / 4 * 3)
        grow(c);
    at = find_slot(c, key);
    take_id(c, x);
    c->slots[at] = (struct slot){ key->hash, x };
    c->len++;
    c->bytes += entry_bytes(x);
    rwlock_drop_write(&c->lock);
}

void
put_cache_clear(struct put_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_write(&c->lock);
    for (size_t i = 0; i <= c->mask; i++)
        free(c->slots[i].entry);
    free(c->slots);
    c->mask = FIRST_SLOTS - 1;
    c->slots = mem_new_array(FIRST_SLOTS, sizeof *c->slots);
    c->bytes = FIRST_SLOTS * sizeof *c->slots;
    c->len = 0;
    c->hand = 0;
    free(c->entries);
    free(c->next);
    c->entries = NULL;
    c->next = NULL;
    c->entries_len = c->entries_cap = c->free_id = 0;
    rwlock_drop_write(&c->lock);
}

struct put_cache_counts
put_cache_counts(struct put_cache *c)
{
    struct put_cache_counts n;

    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_read(&c->lock);
    n = (struct put_cache_counts){ c->len, c->bytes, c->dropped };
    rwlock_drop_read(&c->lock);
    return n;
}
