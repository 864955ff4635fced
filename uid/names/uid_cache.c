/* A million names must fit into some tens of megabytes, so records are packed
 * into chunks, and a slot of the table is four bytes: a chunk and an offset.
 * The oldest chunk is emptied first; that makes it a queue without links. */
#include "config.h"

#include "uid/names/uid_cache_priv.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"

#define CACHE_MAGIC FOURCC('U', 'C', 'A', 'C')

#define SHARDS_MAX  16
#define SHARD_MIN   64 /* entries; with fewer, fewer shards */
#define NAME_MAX    1000
#define RECORD_MAX  (1 + 10 + 2 + NAME_MAX)
#define RECORD_MEAN 64 /* bytes */
#define CHUNK_BITS  14
#define CHUNK_BYTES ((size_t)1 << CHUNK_BITS)
#define ENTRIES_MAX ((size_t)1 << 29)

/* An offset counts from the chunk's start, so no reference is 0. */
struct chunk {
    uint32_t used; /* where the next record goes */
    uint32_t head; /* the oldest record that is still there */
    uint8_t bytes[CHUNK_BYTES - 8];
};

enum direction { BY_NAME, BY_ID };

struct shard {
    struct lock lock;
    enum direction direction;
    uint64_t seed;
    size_t max;                       /* records */
    uint32_t *slots GUARDED_BY(lock); /* 0: free */
    size_t slots_len GUARDED_BY(lock);
    size_t len GUARDED_BY(lock);
    size_t kinds[UID_KINDS] GUARDED_BY(lock);
    struct chunk **chunks GUARDED_BY(lock); /* a ring */
    size_t chunks_max;
    size_t first GUARDED_BY(lock);
    size_t chunks_len GUARDED_BY(lock);
};

struct uid_cache {
    uint32_t magic;
    _Atomic uint64_t epoch;
    uint64_t seed;
    size_t shards_len;
    struct shard shards[2][SHARDS_MAX];
};

struct record {
    enum uid_kind kind;
    uint64_t id;
    struct slice name;
    size_t size; /* in its chunk */
};

/* -- records ------------------------------------------------------------- */

static struct record
record_at(const struct shard *s, uint32_t ref) REQUIRES(s->lock)
{
    const struct chunk *chunk = s->chunks[ref >> CHUNK_BITS];
    const uint8_t *start = (const uint8_t *)chunk + (ref & (CHUNK_BYTES - 1));
    const uint8_t *end = (const uint8_t *)chunk + chunk->used;
    struct cursor c = cursor_of(slice_of(start, (size_t)(end - start)));
    struct record r;

    r.kind = (enum uid_kind)cursor_u8(&c);
    r.id = cursor_varint(&c);
    r.name = cursor_bytes(&c, cursor_varint(&c));
    r.size = (size_t)(c.at - start);
    INSIST(!c.failed);
    return r;
}

static size_t
put_varint(uint8_t *out, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

static size_t
record_write(const struct record *r, uint8_t *out)
{
    size_t n = 0;

    out[n++] = (uint8_t)r->kind;
    n += put_varint(out + n, r->id);
    n += put_varint(out + n, r->name.size);
    memcpy(out + n, r->name.data, r->name.size);
    return n + r->name.size;
}

static uint64_t
record_hash(enum direction d, uint64_t seed, const struct record *r)
{
    seed += (uint64_t)r->kind;
    return d == BY_NAME ? hash_slice(r->name, seed)
                        : hash_bytes(&r->id, sizeof r->id, seed);
}

/* Is 'r' what a search for 'key' asks for? */
static bool
record_is(enum direction d, const struct record *r, const struct record *key)
{
    if (r->kind != key->kind)
        return false;
    return d == BY_NAME ? slice_eq(r->name, key->name) : r->id == key->id;
}

/* -- the table of a shard ------------------------------------------------ */

static size_t
slot_home(const struct shard *s, uint32_t ref) REQUIRES(s->lock)
{
    struct record r = record_at(s, ref);

    return record_hash(s->direction, s->seed, &r) & (s->slots_len - 1);
}

/* The slot of the record that 'key' names, or the free one for it. */
static size_t
slot_find(const struct shard *s, uint64_t hash, const struct record *key,
          struct record *found) REQUIRES(s->lock)
{
    size_t i = hash & (s->slots_len - 1);

    for (; s->slots[i] != 0; i = (i + 1) & (s->slots_len - 1)) {
        *found = record_at(s, s->slots[i]);
        if (record_is(s->direction, found, key))
            break;
    }
    return i;
}

static void
slots_grow(struct shard *s) REQUIRES(s->lock)
{
    uint32_t *old = s->slots;
    size_t old_len = s->slots_len;

    s->slots_len = old_len == 0 ? 64 : old_len * 2;
    s->slots = mem_new_array(s->slots_len, sizeof *s->slots);
    for (size_t i = 0; i < old_len; i++) {
        size_t k;

        if (old[i] == 0)
            continue;
        k = slot_home(s, old[i]);
        while (s->slots[k] != 0)
            k = (k + 1) & (s->slots_len - 1);
        s->slots[k] = old[i];
    }
    free(old);
}

/* Frees slot 'hole', moving up those that stand behind it only because it was
 * taken. */
static void
slot_erase(struct shard *s, size_t hole) REQUIRES(s->lock)
{
    size_t mask = s->slots_len - 1;
    struct record r = record_at(s, s->slots[hole]);

    s->len--;
    s->kinds[r.kind]--;
    for (size_t i = (hole + 1) & mask; s->slots[i] != 0; i = (i + 1) & mask) {
        size_t home = slot_home(s, s->slots[i]);

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->slots[hole] = s->slots[i];
            hole = i;
        }
    }
    s->slots[hole] = 0;
}

/* -- the queue of a shard ------------------------------------------------ */

/* Takes the oldest record off its chunk, and frees a chunk that is used up. */
static void
drop_oldest(struct shard *s) REQUIRES(s->lock)
{
    struct chunk *chunk = s->chunks[s->first];
    uint32_t ref = (uint32_t)(s->first << CHUNK_BITS | chunk->head);
    struct record r, found;
    size_t i;

    if (chunk->head < chunk->used) {
        r = record_at(s, ref);
        i = slot_find(s, record_hash(s->direction, s->seed, &r), &r, &found);
        /* Not there, or another: it was forgotten meanwhile. */
        if (s->slots[i] == ref)
            slot_erase(s, i);
        chunk->head += (uint32_t)r.size;
    }
    if (chunk->head == chunk->used) {
        free(chunk);
        s->chunks[s->first] = NULL;
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): it has a chunk */
        s->first = (s->first + 1) % s->chunks_max;
        s->chunks_len--;
    }
}

/* The chunk that has room for 'size' bytes, and its number. */
static struct chunk *
chunk_for(struct shard *s, size_t size, size_t *number) REQUIRES(s->lock)
{
    struct chunk *chunk;

    if (s->chunks_len > 0) {
        *number = (s->first + s->chunks_len - 1) % s->chunks_max;
        chunk = s->chunks[*number];
        if (chunk->used + size <= CHUNK_BYTES)
            return chunk;
    }
    while (s->chunks_len == s->chunks_max)
        drop_oldest(s);
    *number = (s->first + s->chunks_len) % s->chunks_max;
    chunk = mem_new(sizeof *chunk);
    chunk->used = chunk->head = (uint32_t)offsetof(struct chunk, bytes);
    s->chunks[*number] = chunk;
    s->chunks_len++;
    return chunk;
}

static void
shard_add(struct shard *s, uint64_t hash, const struct record *r)
    REQUIRES(s->lock)
{
    uint8_t bytes[RECORD_MAX];
    struct record found;
    struct chunk *chunk;
    size_t number, size, slot;

    if (s->len * 3 >= s->slots_len * 2)
        slots_grow(s);
    slot = slot_find(s, hash, r, &found);
    if (s->slots[slot] != 0)
        return;
    while (s->len >= s->max)
        drop_oldest(s);
    size = record_write(r, bytes);
    chunk = chunk_for(s, size, &number);
    /* Dropping may have moved the free slot. */
    slot = slot_find(s, hash, r, &found);
    s->slots[slot] = (uint32_t)(number << CHUNK_BITS | chunk->used);
    memcpy((uint8_t *)chunk + chunk->used, bytes, size);
    chunk->used += (uint32_t)size;
    s->len++;
    s->kinds[r->kind]++;
}

static void
shard_init(struct shard *s, enum direction d, uint64_t seed, size_t max)
{
    lock_init(&s->lock);
    s->direction = d;
    s->seed = seed;
    s->max = max;
    s->chunks_max = max * RECORD_MEAN / CHUNK_BYTES + 2;
    s->chunks = mem_new_array(s->chunks_max, sizeof(struct chunk *));
}

static void
shard_clear(struct shard *s) REQUIRES(s->lock)
{
    for (size_t i = 0; i < s->chunks_max; i++) {
        free(s->chunks[i]);
        s->chunks[i] = NULL;
    }
    free(s->slots);
    s->slots = NULL;
    s->slots_len = s->len = s->first = s->chunks_len = 0;
    memset(s->kinds, 0, sizeof s->kinds);
}

/* -- the cache ----------------------------------------------------------- */

struct uid_cache *
uid_cache_new(size_t entries)
{
    struct uid_cache *c = mem_new(sizeof *c);
    size_t each;

    entries = entries == 0 ? 1 : entries > ENTRIES_MAX ? ENTRIES_MAX : entries;
    c->magic = CACHE_MAGIC;
    c->seed = hash_random_seed();
    c->shards_len = 1;
    while (c->shards_len < SHARDS_MAX &&
           entries / (c->shards_len * 2) >= SHARD_MIN)
        c->shards_len *= 2;
    each = entries / c->shards_len;
    for (size_t i = 0; i < c->shards_len; i++) {
        shard_init(&c->shards[BY_NAME][i], BY_NAME, c->seed, each);
        shard_init(&c->shards[BY_ID][i], BY_ID, c->seed, each);
    }
    return c;
}

static void
shard_fini(struct shard *s)
{
    lock_take(&s->lock);
    shard_clear(s);
    free(s->chunks);
    lock_drop(&s->lock);
    lock_fini(&s->lock);
}

void
uid_cache_free(struct uid_cache **cp)
{
    struct uid_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    OBJ_CHECK(c, CACHE_MAGIC);
    for (size_t i = 0; i < c->shards_len; i++) {
        shard_fini(&c->shards[BY_NAME][i]);
        shard_fini(&c->shards[BY_ID][i]);
    }
    OBJ_CLEAR(c);
    free(c);
}

/* High bits choose the shard, low bits the slot. */
static struct shard *
shard_of(struct uid_cache *c, enum direction d, const struct record *key,
         uint64_t *hash)
{
    *hash = record_hash(d, c->seed, key);
    return &c->shards[d][*hash >> 60 & (c->shards_len - 1)];
}

bool
uid_cache_find_id(struct uid_cache *c, enum uid_kind kind, struct slice name,
                  uint64_t *id)
{
    struct record key = { .kind = kind, .name = name }, found = { 0 };
    struct shard *s;
    uint64_t hash;
    bool ok = false;

    OBJ_CHECK(c, CACHE_MAGIC);
    s = shard_of(c, BY_NAME, &key, &hash);
    lock_take(&s->lock);
    if (s->len > 0 && s->slots[slot_find(s, hash, &key, &found)] != 0) {
        *id = found.id;
        ok = true;
    }
    lock_drop(&s->lock);
    return ok;
}

bool
uid_cache_find_name(struct uid_cache *c, enum uid_kind kind, uint64_t id,
                    struct buf *out)
{
    struct record key = { .kind = kind, .id = id }, found = { 0 };
    struct shard *s;
    uint64_t hash;
    bool ok = false;

    OBJ_CHECK(c, CACHE_MAGIC);
    s = shard_of(c, BY_ID, &key, &hash);
    lock_take(&s->lock);
    if (s->len > 0 && s->slots[slot_find(s, hash, &key, &found)] != 0) {
        buf_put_slice(out, found.name);
        ok = true;
    }
    lock_drop(&s->lock);
    return ok;
}

uint64_t
uid_cache_epoch(const struct uid_cache *c)
{
    return atomic_load(&c->epoch);
}

void
uid_cache_add(struct uid_cache *c, enum uid_kind kind, struct slice name,
              uint64_t id, uint64_t epoch)
{
    struct record r = { .kind = kind, .id = id, .name = name };

    OBJ_CHECK(c, CACHE_MAGIC);
    if (name.size > NAME_MAX)
        return;
    for (int d = BY_NAME; d <= BY_ID; d++) {
        uint64_t hash;
        struct shard *s = shard_of(c, (enum direction)d, &r, &hash);

        lock_take(&s->lock);
        if (atomic_load(&c->epoch) == epoch)
            shard_add(s, hash, &r);
        lock_drop(&s->lock);
    }
}

void
uid_cache_forget(struct uid_cache *c, enum uid_kind kind, struct slice name,
                 uint64_t id)
{
    struct record key = { .kind = kind, .id = id, .name = name }, found;

    OBJ_CHECK(c, CACHE_MAGIC);
    /* First the epoch: what was read before the change is not added after the
     * pair is removed here. */
    atomic_fetch_add(&c->epoch, 1);
    for (int d = BY_NAME; d <= BY_ID; d++) {
        uint64_t hash;
        struct shard *s = shard_of(c, (enum direction)d, &key, &hash);

        lock_take(&s->lock);
        if (s->len > 0) {
            size_t i = slot_find(s, hash, &key, &found);

            if (s->slots[i] != 0)
                slot_erase(s, i);
        }
        lock_drop(&s->lock);
    }
    /* Then again: what was concluded from the old pair has an epoch of its own.
     */
    atomic_fetch_add(&c->epoch, 1);
}

void
uid_cache_clear(struct uid_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    for (int d = BY_NAME; d <= BY_ID; d++) {
        for (size_t i = 0; i < c->shards_len; i++) {
            struct shard *s = &c->shards[d][i];

            lock_take(&s->lock);
            shard_clear(s);
            lock_drop(&s->lock);
        }
    }
}

size_t
uid_cache_len(struct uid_cache *c, enum uid_kind kind)
{
    size_t len = 0;

    OBJ_CHECK(c, CACHE_MAGIC);
    for (int d = BY_NAME; d <= BY_ID; d++) {
        for (size_t i = 0; i < c->shards_len; i++) {
            struct shard *s = &c->shards[d][i];

            lock_take(&s->lock);
            len += s->kinds[kind];
            lock_drop(&s->lock);
        }
    }
    return len;
}
