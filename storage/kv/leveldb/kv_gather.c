/* An array of operations over a string of bytes, and a hash table of the
 * array's indices.  Sorting the array spoils the table, which is made anew when
 * it is needed once more. */
#include "config.h"

#include "storage/kv/leveldb/kv_gather_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"

#define GATHER_MAGIC FOURCC('G', 'A', 'T', 'H')
#define FULL_OPS     16384
#define FULL_BYTES   ((size_t)4 << 20)
#define KEPT_BYTES   ((size_t)2 << 20)
#define SLOTS        (2 * FULL_OPS) /* a power of two */

struct op {
    const uint8_t *key; /* set for sorting */
    size_t at;          /* of the key in 'bytes'; the value is behind it */
    uint32_t key_size;
    uint32_t value_size;
    bool deleted;
};

struct kv_gather {
    uint32_t magic;
    uint64_t seed;
    uint8_t *bytes;
    size_t size, cap;
    struct op *ops;
    size_t ops_len, ops_cap;
    bool sorted;
    uint32_t *slots; /* of index + 1; 0: empty */
    size_t slots_len;
};

struct kv_gather *
gather_new(void)
{
    struct kv_gather *g = mem_new(sizeof *g);

    g->magic = GATHER_MAGIC;
    g->seed = hash_random_seed();
    return g;
}

void
gather_free(struct kv_gather **gp)
{
    struct kv_gather *g = *gp;

    *gp = NULL;
    if (g == NULL)
        return;
    OBJ_CHECK(g, GATHER_MAGIC);
    free(g->bytes);
    free(g->ops);
    free(g->slots);
    OBJ_CLEAR(g);
    free(g);
}

static struct slice
key_of(const struct kv_gather *g, const struct op *o)
{
    return slice_of(g->bytes + o->at, o->key_size);
}

/* The slot of the key, or the empty one where it would go. */
static size_t
slot_of(const struct kv_gather *g, struct slice key)
{
    size_t at = hash_slice(key, g->seed) & (g->slots_len - 1);

    while (g->slots[at] != 0 &&
           !slice_eq(key_of(g, &g->ops[g->slots[at] - 1]), key))
        at = (at + 1) & (g->slots_len - 1);
    return at;
}

static void
make_slots(struct kv_gather *g, size_t len)
{
    free(g->slots);
    g->slots = mem_new_array(len, sizeof *g->slots);
    g->slots_len = len;
    for (size_t i = 0; i < g->ops_len; i++)
        g->slots[slot_of(g, key_of(g, &g->ops[i]))] = (uint32_t)i + 1;
}

/* A batch is taken as a whole, so there may be more than is full. */
static void
make_room(struct kv_gather *g, size_t size)
{
    if (g->ops_len == g->ops_cap) {
        g->ops_cap = g->ops_cap == 0 ? 1024 : g->ops_cap * 2;
        g->ops = mem_resize(g->ops, g->ops_cap, sizeof *g->ops);
    }
    if (g->cap - g->size < size || g->bytes == NULL) {
        g->cap = g->cap * 2 > g->size + size ? g->cap * 2 : g->size + size + 1;
        g->bytes = mem_resize(g->bytes, g->cap, 1);
    }
}

/* Half of them are free, at least. */
static void
need_slots(struct kv_gather *g)
{
    size_t len = g->slots_len == 0 ? SLOTS : g->slots_len;

    while (g->ops_len * 2 >= len)
        len *= 2;
    if (len > g->slots_len)
        make_slots(g, len);
}

static void
drop_slots(struct kv_gather *g)
{
    free(g->slots);
    g->slots = NULL;
    g->slots_len = 0;
}

void
gather_add(struct kv_gather *g, struct slice key, const struct slice *value)
{
    struct slice v = value == NULL ? slice_of("", 0) : *value;
    struct op *o;
    size_t slot;

    OBJ_CHECK(g, GATHER_MAGIC);
    make_room(g, key.size + v.size);
    need_slots(g);
    slot = slot_of(g, key);
    if (g->slots[slot] == 0) {
        g->ops[g->ops_len] = (struct op){ .value_size = UINT32_MAX };
        g->slots[slot] = (uint32_t)++g->ops_len;
    }
    g->sorted = false;
    o = &g->ops[g->slots[slot] - 1];
    if (o->value_size != v.size) {
        o->at = g->size;
        o->key_size = (uint32_t)key.size;
        o->value_size = (uint32_t)v.size;
        g->size += key.size + v.size;
        memcpy(g->bytes + o->at, key.data, key.size);
    }
    if (v.size > 0)
        memcpy(g->bytes + o->at + key.size, v.data, v.size);
    o->deleted = value == NULL;
}

static struct slice
value_of(const struct kv_gather *g, const struct op *o)
{
    return slice_of(g->bytes + o->at + o->key_size, o->value_size);
}

bool
gather_find(struct kv_gather *g, struct slice key, struct slice *value)
{
    const struct op *o;
    size_t slot;

    OBJ_CHECK(g, GATHER_MAGIC);
    if (g->ops_len == 0)
        return false;
    need_slots(g);
    slot = slot_of(g, key);
    if (g->slots[slot] == 0)
        return false;
    o = &g->ops[g->slots[slot] - 1];
    *value = o->deleted ? (struct slice){ NULL, 0 } : value_of(g, o);
    return true;
}

size_t
gather_len(const struct kv_gather *g)
{
    return g->ops_len;
}

bool
gather_is_full(const struct kv_gather *g)
{
    return g->ops_len >= FULL_OPS || g->size >= FULL_BYTES;
}

static int
compare_ops(const void *a, const void *b)
{
    const struct op *x = a, *y = b;

    return slice_cmp(slice_of(x->key, x->key_size),
                     slice_of(y->key, y->key_size));
}

static void
sort(struct kv_gather *g)
{
    if (g->sorted || g->ops_len == 0)
        return;
    drop_slots(g);
    for (size_t i = 0; i < g->ops_len; i++)
        g->ops[i].key = g->bytes + g->ops[i].at;
    qsort(g->ops, g->ops_len, sizeof *g->ops, compare_ops);
    g->sorted = true;
}

void
gather_each(struct kv_gather *g,
            void (*f)(void *ctx, struct slice key, const struct slice *value),
            void *ctx)
{
    OBJ_CHECK(g, GATHER_MAGIC);
    sort(g);
    for (size_t i = 0; i < g->ops_len; i++) {
        struct slice value = value_of(g, &g->ops[i]);

        f(ctx, key_of(g, &g->ops[i]), g->ops[i].deleted ? NULL : &value);
    }
}

void
gather_clear(struct kv_gather *g)
{
    OBJ_CHECK(g, GATHER_MAGIC);
    g->ops_len = 0;
    g->size = 0;
    if (g->cap > KEPT_BYTES) {
        free(g->bytes);
        g->bytes = NULL;
        g->cap = 0;
    }
    drop_slots(g);
}
