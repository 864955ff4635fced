/* The table holds indices into the entries; texts are kept once, in an arena:
 * the metrics of a host share its tags, and the hosts their metrics, which
 * leaves some fifty bytes for each series.
 *
 *     index -> entries[id] -> text of the metric, text of the tags
 *
 * Before the table is asked, the entries that followed one another last time
 * are compared with the keys: where agents send the same series round after
 * round, nothing is hashed, and the entries, made in that order, lie in a row.
 * What the table is asked for is fetched for 32 keys at once, because a large
 * table lies far from the CPU. */
#include "tsd/put/put_cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/table.h"

#define CACHE_MAGIC     FOURCC('P', 'C', 'A', 'C')
#define DEFAULT_ENTRIES ((size_t)2000000)
#define DEFAULT_BYTES   ((size_t)256 << 20)
#define AT_ONCE         32

struct text {
    uint32_t size;
    uint8_t bytes[];
};

struct entry {
    series_ref ref;
    const struct text *metric, *tags;
    uint8_t kind;
    atomic_uint next; /* the entry that followed last, + 1; 0: none */
};

struct put_cache {
    uint32_t magic;
    uint64_t seed;
    size_t max_entries, max_bytes;
    _Atomic uint64_t epoch; /* changes under the lock */
    struct rwlock lock;
    struct arena *arena GUARDED_BY(lock); /* of texts */
    const struct text **texts GUARDED_BY(lock);
    struct entry *entries GUARDED_BY(lock);
    struct hash_table text_index GUARDED_BY(lock);
    struct hash_table index GUARDED_BY(lock); /* of entries */
    size_t texts_len GUARDED_BY(lock), texts_cap GUARDED_BY(lock);
    size_t len GUARDED_BY(lock), cap GUARDED_BY(lock);
};

/* What one takes at most: arrays grow by half, an index by the double. */
#define INDEX_BYTES 22
#define ENTRY_BYTES (sizeof(struct entry) * 3 / 2 + INDEX_BYTES)
#define TEXT_BYTES  (sizeof(struct text *) * 3 / 2 + INDEX_BYTES)

static void
empty(struct put_cache *c) REQUIRES(c->lock)
{
    arena_free(&c->arena);
    table_fini(&c->text_index);
    table_fini(&c->index);
    free(c->texts);
    free(c->entries);
    c->texts = NULL;
    c->entries = NULL;
    c->texts_len = c->texts_cap = c->len = c->cap = 0;
}

struct put_cache *
put_cache_new(size_t max_entries, size_t max_bytes)
{
    struct put_cache *c = mem_new(sizeof *c);

    c->magic = CACHE_MAGIC;
    c->seed = hash_random_seed();
    c->max_entries = max_entries == 0 ? DEFAULT_ENTRIES : max_entries;
    c->max_bytes = max_bytes == 0 ? DEFAULT_BYTES : max_bytes;
    rwlock_init(&c->lock);
    return c;
}

void
put_cache_free(struct put_cache **cp)
{
    struct put_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    put_cache_clear(c);
    rwlock_fini(&c->lock);
    OBJ_FREE(c);
}

void
put_cache_clear(struct put_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_write(&c->lock);
    empty(c);
    atomic_fetch_add(&c->epoch, 1);
    rwlock_drop_write(&c->lock);
}

static uint32_t
hash_of(const struct put_cache *c, const struct put_key *key)
{
    return (uint32_t)hash_bytes(
        key->tags, key->tags_size,
        hash_bytes(key->metric, key->metric_size, c->seed + key->kind));
}

static inline bool
text_eq(const struct text *x, const uint8_t *data, size_t size)
{
    return x->size == size && memcmp(x->bytes, data, size) == 0;
}

static inline bool
matches(const struct entry *x, const struct put_key *key)
{
    return x->kind == key->kind &&
           text_eq(x->metric, key->metric, key->metric_size) &&
           text_eq(x->tags, key->tags, key->tags_size);
}

static bool
entry_is(const void *entries, uint32_t i, const void *key)
{
    return matches((const struct entry *)entries + i, key);
}

/* How many keys, from the first on, are those that came next last time. */
static size_t
find_as_before(struct put_cache *c, const struct put_key *keys, size_t len,
               series_ref *refs, struct put_guess *guess)
    REQUIRES_SHARED(c->lock)
{
    size_t hits = 0;

    for (; hits < len && guess->last > 0 && guess->last <= c->len; hits++) {
        uint32_t id = atomic_load_explicit(&c->entries[guess->last - 1].next,
                                           memory_order_relaxed);

        if (id == 0 || id > c->len ||
            !matches(&c->entries[id - 1], &keys[hits]))
            break;
        refs[hits] = c->entries[id - 1].ref;
        guess->last = id;
    }
    return hits;
}

static void
find_by_hash(struct put_cache *c, const struct put_key *keys, size_t len,
             series_ref *refs, struct put_guess *guess) REQUIRES_SHARED(c->lock)
{
    const struct table_slot *slots[AT_ONCE];
    uint32_t hashes[AT_ONCE];

    for (size_t i = 0; i < len; i++) {
        hashes[i] = hash_of(c, &keys[i]);
        slots[i] = &c->index.slots[hashes[i] & c->index.mask];
        __builtin_prefetch(slots[i]);
    }
    /* Where the first slot is another's, the search itself waits. */
    for (size_t i = 0; i < len; i++)
        if (slots[i]->value != 0)
            __builtin_prefetch(&c->entries[slots[i]->value - 1]);
    for (size_t i = 0; i < len; i++) {
        uint32_t id =
            table_find(&c->index, hashes[i], entry_is, c->entries, &keys[i]);

        refs[i] = SERIES_REF_NONE;
        if (id == TABLE_NONE)
            continue;
        refs[i] = c->entries[id].ref;
        if (guess->last > 0 && guess->last <= c->len)
            atomic_store_explicit(&c->entries[guess->last - 1].next, id + 1,
                                  memory_order_relaxed);
        guess->last = id + 1;
    }
}

void
put_cache_find(struct put_cache *c, const struct put_key *keys, size_t len,
               series_ref *refs, struct put_guess *guess)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    rwlock_take_read(&c->lock);
    for (size_t i = 0; i < len && c->len == 0; i++)
        refs[i] = SERIES_REF_NONE;
    for (size_t i = 0; i < len && c->len > 0;) {
        /* A caller without a guess has one after its first key. */
        size_t most = guess->last == 0 ? 1 : AT_ONCE;
        size_t n = len - i < most ? len - i : most;
        size_t hits = find_as_before(c, keys + i, n, refs + i, guess);

        if (hits < n)
            find_by_hash(c, keys + i + hits, n - hits, refs + i + hits, guess);
        i += n;
    }
    rwlock_drop_read(&c->lock);
}

static bool
text_is(const void *texts, uint32_t i, const void *key)
{
    const struct slice *s = key;

    return text_eq(((const struct text *const *)texts)[i], s->data, s->size);
}

/* NULL: no memory. */
static const struct text *
keep_text(struct put_cache *c, struct slice s) REQUIRES(c->lock)
{
    uint64_t hash = hash_slice(s, c->seed);
    uint32_t i = table_find(&c->text_index, hash, text_is, c->texts, &s);
    struct text *x;
    const struct text **texts;
    size_t cap;

    if (i != TABLE_NONE)
        return c->texts[i];
    x = arena_alloc(c->arena, sizeof *x + s.size);
    if (x == NULL)
        return NULL;
    x->size = (uint32_t)s.size;
    memcpy(x->bytes, s.data, s.size);
    if (c->texts_len == c->texts_cap) {
        cap = c->texts_cap + c->texts_cap / 2 + 16;
        texts = mem_try_resize(c->texts, cap * sizeof(struct text *));
        if (texts == NULL)
            return NULL;
        c->texts = texts;
        c->texts_cap = cap;
    }
    if (!table_try_add(&c->text_index, hash, (uint32_t)c->texts_len))
        return NULL;
    c->texts[c->texts_len++] = x;
    return x;
}

static size_t
bytes_of(const struct put_cache *c) REQUIRES_SHARED(c->lock)
{
    return c->len * ENTRY_BYTES + c->texts_len * TEXT_BYTES +
           (c->arena == NULL ? 0 : arena_used(c->arena));
}

static void
enter(struct put_cache *c, const struct put_key *key, uint32_t hash,
      series_ref ref) REQUIRES(c->lock)
{
    size_t text = key->metric_size + key->tags_size + 2 * 32;
    const struct text *metric, *tags;
    struct entry *entries;
    size_t cap;

    if (c->len >= c->max_entries ||
        bytes_of(c) + ENTRY_BYTES + 2 * TEXT_BYTES + text > c->max_bytes)
        empty(c);
    if (c->arena == NULL)
        c->arena = arena_new(0);
    metric = keep_text(c, slice_of(key->metric, key->metric_size));
    tags = keep_text(c, slice_of(key->tags, key->tags_size));
    if (metric == NULL || tags == NULL)
        return;
    if (c->len == c->cap) {
        cap = c->cap + c->cap / 2 + 16;
        entries = mem_try_resize(c->entries, cap * sizeof *entries);
        if (entries == NULL)
            return; /* it is parsed again the next time */
        c->entries = entries;
        c->cap = cap;
    }
    if (!table_try_add(&c->index, hash, (uint32_t)c->len))
        return;
    c->entries[c->len++] = (struct entry){
        .ref = ref, .metric = metric, .tags = tags, .kind = key->kind
    };
}

uint64_t
put_cache_epoch(const struct put_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    return atomic_load(&c->epoch);
}

void
put_cache_add(struct put_cache *c, const struct put_key *key, series_ref ref,
              uint64_t epoch)
{
    uint32_t hash, id;

    OBJ_CHECK(c, CACHE_MAGIC);
    hash = hash_of(c, key);
    rwlock_take_write(&c->lock);
    if (atomic_load(&c->epoch) == epoch) {
        id = table_find(&c->index, hash, entry_is, c->entries, key);
        if (id != TABLE_NONE)
            c->entries[id].ref = ref;
        else
            enter(c, key, hash, ref);
    }
    rwlock_drop_write(&c->lock);
}
