/* A million names must fit into some tens of megabytes, so records are packed
 * one behind the other.  Each shard has two generations of them: a young one
 * that grows, and the one before.  A young one that is full becomes the old
 * one, and what was old goes. */
#include "uid/names/uid_cache_priv.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "base/table.h"

#define CACHE_MAGIC FOURCC('U', 'C', 'A', 'C')

#define SHARDS_MAX  16 /* a direction */
#define SHARD_MIN   64 /* entries; with fewer, fewer shards */
#define NAME_MAX    1000
#define RECORD_MAX  (1 + 2 * VARINT_MAX + NAME_MAX)
#define RECORD_MEAN 64 /* bytes */
#define ENTRIES_MAX ((size_t)1 << 29)
#define IDS_SHIFT   4  /* that many bits' ids in a row share a shard */
#define FINDS_MOST  64 /* under one lock */

enum direction { BY_NAME, BY_ID };

struct generation {
    struct hash_table table; /* of records, by where they start */
    struct buf records;
    size_t kinds[UID_KINDS_ALL];
};

struct shard {
    struct lock lock;
    struct generation young GUARDED_BY(lock);
    struct generation old GUARDED_BY(lock);
};

struct uid_cache {
    uint32_t magic;
    _Atomic uint64_t epoch;
    uint64_t seed;
    size_t shards_len; /* a direction */
    size_t max;        /* records of a generation */
    struct shard shards[2 * SHARDS_MAX];
};

struct record {
    enum uid_kind kind;
    uint64_t id;
    struct slice name;
};

/* What a search is for: the half of the record that its direction knows. */
struct wanted {
    enum direction direction;
    struct record record;
    uint64_t hash;
    struct shard *shard;
};

static inline struct record
record_at(const struct generation *g, uint32_t at)
{
    struct cursor c =
        cursor_of(slice_of(g->records.data + at, g->records.size - at));
    struct record r;

    r.kind = (enum uid_kind)cursor_u8(&c);
    r.id = cursor_varint(&c);
    r.name = cursor_sized(&c);
    INSIST(!c.failed);
    return r;
}

static bool
record_is(const void *generation, uint32_t at, const void *key)
{
    const struct wanted *w = key;
    struct record r = record_at(generation, at);

    return r.kind == w->record.kind &&
           (w->direction == BY_NAME ? slice_eq(r.name, w->record.name)
                                    : r.id == w->record.id);
}

/* Of names by high bits of the hash, whose low bits choose the slot; of ids so
 * that those given out one after the other are found under one lock. */
static struct wanted
want(struct uid_cache *c, enum direction d, struct record r)
{
    struct wanted w = { .direction = d, .record = r };
    size_t shard;

    w.hash = d == BY_NAME ? hash_slice(r.name, c->seed + (uint64_t)r.kind)
                          : hash_u64(r.id * UID_KINDS_ALL + (uint64_t)r.kind);
    shard = d == BY_NAME ? w.hash >> 60 : r.id >> IDS_SHIFT;
    w.shard = &c->shards[d * c->shards_len + (shard & (c->shards_len - 1))];
    return w;
}

/* The generation that has it, or NULL. */
static struct generation *
find(struct shard *s, const struct wanted *w, uint32_t *at) REQUIRES(s->lock)
{
    struct generation *both[] = { &s->young, &s->old };

    for (int i = 0; i < 2; i++) {
        *at = table_find(&both[i]->table, w->hash, record_is, both[i], w);
        if (*at != TABLE_NONE)
            return both[i];
    }
    return NULL;
}

/* The young one becomes the old one. */
static void
shard_age(struct shard *s) REQUIRES(s->lock)
{
    table_fini(&s->old.table);
    buf_fini(&s->old.records);
    s->old = s->young;
    s->young = (struct generation){ 0 };
}

static void
add(const struct uid_cache *c, const struct wanted *w) REQUIRES(w->shard->lock)
{
    struct generation *g = &w->shard->young;
    uint8_t *start, *at;
    uint32_t found;

    if (find(w->shard, w, &found) != NULL)
        return;
    if (g->table.len >= c->max || g->records.size > c->max * RECORD_MEAN ||
        g->records.failed)
        shard_age(w->shard);
    start = at = buf_reserve(&g->records, RECORD_MAX);
    if (start == NULL)
        return;
    *at++ = (uint8_t)w->record.kind;
    at = varint_put(at, w->record.id);
    at = varint_put(at, w->record.name.size);
    memcpy(at, w->record.name.data, w->record.name.size);
    table_add(&g->table, w->hash, (uint32_t)g->records.size);
    g->records.size += (size_t)(at - start) + w->record.name.size;
    g->kinds[w->record.kind]++;
}

/* -- the cache ----------------------------------------------------------- */

struct uid_cache *
uid_cache_new(size_t entries)
{
    struct uid_cache *c = mem_new(sizeof *c);

    if (entries > ENTRIES_MAX)
        entries = ENTRIES_MAX;
    c->magic = CACHE_MAGIC;
    c->seed = hash_random_seed();
    c->shards_len = 1;
    while (c->shards_len < SHARDS_MAX &&
           entries / (c->shards_len * 2) >= SHARD_MIN)
        c->shards_len *= 2;
    c->max = entries / c->shards_len / 2;
    if (c->max == 0)
        c->max = 1;
    for (size_t i = 0; i < 2 * c->shards_len; i++)
        lock_init(&c->shards[i].lock);
    return c;
}

void
uid_cache_shrink(struct uid_cache *c)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    for (size_t i = 0; i < 2 * c->shards_len; i++) {
        lock_take(&c->shards[i].lock);
        shard_age(&c->shards[i]);
        shard_age(&c->shards[i]);
        lock_drop(&c->shards[i].lock);
    }
}

void
uid_cache_clear(struct uid_cache *c)
{
    /* As in uid_cache_forget(). */
    atomic_fetch_add(&c->epoch, 1);
    uid_cache_shrink(c);
    atomic_fetch_add(&c->epoch, 1);
}

void
uid_cache_free(struct uid_cache **cp)
{
    struct uid_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    uid_cache_clear(c);
    for (size_t i = 0; i < 2 * c->shards_len; i++)
        lock_fini(&c->shards[i].lock);
    OBJ_FREE(c);
}

bool
uid_cache_find_id(struct uid_cache *c, enum uid_kind kind, struct slice name,
                  uint64_t *id)
{
    struct wanted w =
        want(c, BY_NAME, (struct record){ .kind = kind, .name = name });
    const struct generation *g;
    uint32_t at;

    lock_take(&w.shard->lock);
    g = find(w.shard, &w, &at);
    if (g != NULL)
        *id = record_at(g, at).id;
    lock_drop(&w.shard->lock);
    return g != NULL;
}

bool
uid_cache_find_name(struct uid_cache *c, enum uid_kind kind, uint64_t id,
                    struct buf *out)
{
    struct wanted w = want(c, BY_ID, (struct record){ .kind = kind, .id = id });
    const struct generation *g;
    uint32_t at;

    lock_take(&w.shard->lock);
    g = find(w.shard, &w, &at);
    if (g != NULL)
        buf_put_slice(out, record_at(g, at).name);
    lock_drop(&w.shard->lock);
    return g != NULL;
}

bool
uid_cache_find_names(struct uid_cache *c, enum uid_kind kind,
                     const uint64_t *ids, size_t len, struct arena *a,
                     struct slice *names)
{
    bool fits = true;

    for (size_t i = 0; i < len && fits;) {
        struct wanted w =
            want(c, BY_ID, (struct record){ .kind = kind, .id = ids[i] });
        struct shard *shard = w.shard;

        lock_take(&shard->lock);
        do {
            uint32_t at;
            const struct generation *g = find(shard, &w, &at);

            names[i] = g == NULL ? (struct slice){ 0 } : record_at(g, at).name;
            fits = g == NULL || arena_keep(a, &names[i]);
            if (++i < len)
                w = want(c, BY_ID,
                         (struct record){ .kind = kind, .id = ids[i] });
        } while (i < len && i % FINDS_MOST != 0 && fits && w.shard == shard);
        lock_drop(&shard->lock);
    }
    return fits;
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
    OBJ_CHECK(c, CACHE_MAGIC);
    if (name.size > NAME_MAX)
        return;
    for (int d = BY_NAME; d <= BY_ID; d++) {
        struct wanted w =
            want(c, (enum direction)d, (struct record){ kind, id, name });

        lock_take(&w.shard->lock);
        if (atomic_load(&c->epoch) == epoch)
            add(c, &w);
        lock_drop(&w.shard->lock);
    }
}

void
uid_cache_forget(struct uid_cache *c, enum uid_kind kind, struct slice name,
                 uint64_t id)
{
    OBJ_CHECK(c, CACHE_MAGIC);
    /* First the epoch: what was read before the change is not added after the
     * pair is removed here. */
    atomic_fetch_add(&c->epoch, 1);
    for (int d = BY_NAME; d <= BY_ID; d++) {
        struct wanted w =
            want(c, (enum direction)d, (struct record){ kind, id, name });
        struct generation *g;
        uint32_t at;

        lock_take(&w.shard->lock);
        g = find(w.shard, &w, &at);
        if (g != NULL) { /* its bytes stay until the generation goes */
            table_remove(&g->table, w.hash, at);
            g->kinds[kind]--;
        }
        lock_drop(&w.shard->lock);
    }
    /* Then again: what was concluded from the old pair has an epoch of its own.
     */
    atomic_fetch_add(&c->epoch, 1);
}

size_t
uid_cache_len(struct uid_cache *c, enum uid_kind kind)
{
    size_t len = 0;

    OBJ_CHECK(c, CACHE_MAGIC);
    for (size_t i = 0; i < 2 * c->shards_len; i++) {
        struct shard *s = &c->shards[i];

        lock_take(&s->lock);
        len += s->young.kinds[kind] + s->old.kinds[kind];
        lock_drop(&s->lock);
    }
    return len;
}
